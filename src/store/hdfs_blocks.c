/*
 * hdfs_blocks.c - see hdfs_blocks.h.
 *
 * What a data node says is not believed: packets must follow each other without a gap, their
 * lengths must agree with one another and with what was asked for, and every chunk must have its
 * checksum before a byte of it is given on. Data begins and ends at the borders of chunks, so what
 * lies before and behind the range is checked and thrown away.
 *
 * A node that could not be reached is asked last for a minute, by all files: each read would
 * otherwise wait for it anew.
 */
#include "store/hdfs_blocks.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "base/crc32c.h"
#include "store/tcp.h"

#define MOST_ANSWER 65536    /* bytes of the answer before the packets */
#define MOST_PACKET 16777216 /* as Hadoop's own client has it */
#define AVOID_S     60
#define N_AVOIDED   32

enum { NO_SUM = 0, CRC32 = 1, CRC32C = 2 };

/* ---- messages ---- */

static bool parse_node(cr_block *b, cr_pb m, bool by_name) {
    cr_pb_field f, g;
    char *host = b->nodes[b->n_nodes].host;
    uint64_t port = 0;
    host[0] = 0;
    while (cr_pb_next(&m, &f)) {
        if (!cr_pb_is(&f, 1, CR_PB_BYTES)) continue;
        while (cr_pb_next(&f.b, &g)) {
            if (cr_pb_is(&g, by_name ? 2 : 1, CR_PB_BYTES) &&
                !cr_pb_text(g.b, host, sizeof b->nodes[0].host))
                return false;
            if (cr_pb_is(&g, 4, CR_PB_VARINT)) port = g.x;
        }
        if (f.b.bad) return false;
    }
    if (m.bad || !host[0] || port < 1 || port > 65535) return false;
    b->nodes[b->n_nodes++].port = (int)port;
    return true;
}

static bool parse_name(cr_block *b, cr_pb m) {
    cr_pb_field f;
    uint64_t size = 0;
    while (cr_pb_next(&m, &f)) {
        if (cr_pb_is(&f, 1, CR_PB_BYTES) && !cr_pb_text(f.b, b->pool, sizeof b->pool)) return false;
        if (cr_pb_is(&f, 2, CR_PB_VARINT)) b->id = f.x;
        if (cr_pb_is(&f, 3, CR_PB_VARINT)) b->stamp = f.x;
        if (cr_pb_is(&f, 4, CR_PB_VARINT)) size = f.x;
    }
    b->size = (int64_t)size;
    return !m.bad && b->pool[0] && size <= INT64_MAX;
}

bool cr_block_parse(cr_block *b, cr_pb m, bool by_name) {
    cr_pb_field f;
    uint64_t at = 0;
    bool named = false;
    b->pool[0] = 0;
    b->id = b->stamp = 0;
    b->n_nodes = 0;
    b->n_token = 0;
    b->corrupt = false;
    while (cr_pb_next(&m, &f)) {
        if (cr_pb_is(&f, 1, CR_PB_BYTES)) {
            named = parse_name(b, f.b);
            if (!named) return false;
        } else if (cr_pb_is(&f, 2, CR_PB_VARINT)) {
            at = f.x;
        } else if (cr_pb_is(&f, 3, CR_PB_BYTES) && b->n_nodes < CR_BLOCK_NODES) {
            if (!parse_node(b, f.b, by_name)) return false;
        } else if (cr_pb_is(&f, 4, CR_PB_VARINT)) {
            b->corrupt = f.x != 0;
        } else if (cr_pb_is(&f, 5, CR_PB_BYTES)) {
            b->n_token = cr_pb_len(f.b);
            if (b->n_token > sizeof b->token) return false;
            memcpy(b->token, f.b.at, b->n_token);
        }
    }
    b->at = (int64_t)at;
    return !m.bad && named && at <= INT64_MAX && b->size <= INT64_MAX - b->at;
}

void cr_block_request(cr_buf *out, const cr_block *b, const char *client, int64_t from, size_t n) {
    static const char op[] = {0, 28, 81}; /* version of the transfer protocol; read a block */
    cr_buf name, base, head, whole;
    cr_buf_init(&name);
    cr_buf_init(&base);
    cr_buf_init(&head);
    cr_buf_init(&whole);
    cr_pb_add_str(&name, 1, b->pool);
    cr_pb_add_num(&name, 2, b->id);
    cr_pb_add_num(&name, 3, b->stamp);
    cr_pb_add_num(&name, 4, (uint64_t)b->size);
    cr_pb_add_bytes(&base, 1, name.data, name.n);
    if (b->n_token) cr_pb_add_bytes(&base, 2, b->token, b->n_token);
    cr_pb_add_bytes(&head, 1, base.data, base.n);
    cr_pb_add_str(&head, 2, client);
    cr_pb_add_bytes(&whole, 1, head.data, head.n);
    cr_pb_add_num(&whole, 2, (uint64_t)from);
    cr_pb_add_num(&whole, 3, n);
    cr_buf_add(out, op, sizeof op);
    cr_pb_add_part(out, &whole);
    explicit_bzero(base.data, base.n);
    explicit_bzero(head.data, head.n);
    explicit_bzero(whole.data, whole.n);
    cr_buf_clear(&name);
    cr_buf_clear(&base);
    cr_buf_clear(&head);
    cr_buf_clear(&whole);
}

/* ---- one data node ---- */

/* A read that is under way. */
typedef struct flow {
    cr_tcp *tcp;
    const cr_block *b;
    uint64_t type;  /* of checksums */
    uint64_t chunk; /* bytes that have one checksum */
    int64_t next;   /* place in the block where the next packet must begin */
    int64_t from;   /* the range that is wanted, of the block */
    size_t n, got;
    char *to;
    cr_buf sums, data;
    cr_fs_why *why;
} flow;

static int wrong(const flow *f, const char *text) {
    snprintf(f->why->text, sizeof f->why->text, "%.60s: %.96s", cr_tcp_name(f->tcp), text);
    return EPROTO;
}

static bool read_sums(flow *f, cr_pb m, uint64_t *begins) {
    cr_pb_field g, h;
    bool typed = false;
    *begins = ~(uint64_t)0;
    while (cr_pb_next(&m, &g)) {
        if (cr_pb_is(&g, 2, CR_PB_VARINT)) *begins = g.x;
        if (!cr_pb_is(&g, 1, CR_PB_BYTES)) continue;
        while (cr_pb_next(&g.b, &h)) {
            if (cr_pb_is(&h, 1, CR_PB_VARINT)) f->type = h.x;
            if (cr_pb_is(&h, 2, CR_PB_VARINT)) f->chunk = h.x;
        }
        typed = !g.b.bad;
    }
    return typed && !m.bad;
}

/* The refusal of a data node; *text: its own words. */
static int refused(const flow *f, uint64_t status, const char *text) {
    static const char *const names[] = {"SUCCESS",       "ERROR",        "ERROR_CHECKSUM",
                                        "ERROR_INVALID", "ERROR_EXISTS", "ERROR_ACCESS_TOKEN"};
    char number[32];
    snprintf(number, sizeof number, "status %llu", (unsigned long long)status);
    snprintf(f->why->text, sizeof f->why->text, "%.60s answers %.20s%s%.64s", cr_tcp_name(f->tcp),
             status < sizeof names / sizeof *names ? names[status] : number, text[0] ? ", " : "",
             text);
    return EAGAIN; /* the name node may know better by then */
}

/* Asks for the range, and reads what comes before the packets. */
static int begin(flow *f) {
    cr_buf m;
    cr_pb_field g;
    uint64_t size, status = ~(uint64_t)0, begins = ~(uint64_t)0;
    char text[160] = "";
    bool sums = false;
    cr_buf_init(&m);
    cr_block_request(&m, f->b, "crank", f->from, f->n);
    int e = cr_tcp_send(f->tcp, m.data, m.n, f->why);
    explicit_bzero(m.data, m.n);
    if (e == 0) e = cr_tcp_varint(f->tcp, &size, f->why);
    if (e == ECONNRESET) /* a node that wants SASL does not say so */
        snprintf(f->why->cure, sizeof f->why->cure,
                 "; where dfs.data.transfer.protection or encryption is set, use WebHDFS");
    if (e == 0 && size > MOST_ANSWER) e = wrong(f, "its answer has no length that can be");
    if (e == 0) e = cr_tcp_take(f->tcp, &m, (size_t)size, f->why);
    cr_pb answer = cr_pb_of(m.data, m.n);
    while (e == 0 && cr_pb_next(&answer, &g)) {
        if (cr_pb_is(&g, 1, CR_PB_VARINT)) status = g.x;
        if (cr_pb_is(&g, 4, CR_PB_BYTES)) sums = read_sums(f, g.b, &begins);
        if (cr_pb_is(&g, 5, CR_PB_BYTES)) {
            size_t k = cr_pb_len(g.b) < sizeof text ? cr_pb_len(g.b) : sizeof text - 1;
            memcpy(text, g.b.at, k);
            text[k] = 0;
            for (char *p = text; *p; p++)
                if ((unsigned char)*p < 32 || *p == 127) *p = ' ';
        }
    }
    cr_buf_clear(&m);
    if (e != 0) return e;
    if (answer.bad || status == ~(uint64_t)0) return wrong(f, "its answer is none");
    if (status != 0) return refused(f, status, text);
    if (!sums || f->type > CRC32C || f->chunk < 1 || f->chunk > INT32_MAX)
        return wrong(f, "its checksums are of a kind that nobody knows");
    if (begins > (uint64_t)f->from || (uint64_t)f->from - begins >= f->chunk)
        return wrong(f, "its data begins elsewhere than asked for");
    f->next = (int64_t)begins;
    return 0;
}

/* Are all chunks of the packet as they were written? */
static int check(const flow *f) {
    const unsigned char *sum = (const unsigned char *)f->sums.data;
    for (size_t at = 0; f->type != NO_SUM && at < f->data.n; at += (size_t)f->chunk, sum += 4) {
        size_t k = f->data.n - at < f->chunk ? f->data.n - at : (size_t)f->chunk;
        const char *p = f->data.data + at;
        uint32_t want = (uint32_t)sum[0] << 24 | (uint32_t)sum[1] << 16 | (uint32_t)sum[2] << 8 |
                        sum[3],
                 found = f->type == CRC32C ? cr_crc32c(0, p, k)
                                           : (uint32_t)crc32(0, (const Bytef *)p, (uInt)k);
        if (found == want) continue;
        char text[120];
        snprintf(text, sizeof text, "byte %lld of block %llu does not have its checksum",
                 (long long)(f->next + (int64_t)at), (unsigned long long)f->b->id);
        snprintf(f->why->cure, sizeof f->why->cure,
                 "; replicas are damaged: hdfs fsck PATH -files -blocks -locations shows which");
        return wrong(f, text);
    }
    return 0;
}

/* Gives on what the packet has of the range. */
static void give(flow *f) {
    int64_t want = f->from + (int64_t)f->got, end = f->next + (int64_t)f->data.n;
    if (want < end && want >= f->next && f->got < f->n) {
        size_t k = (size_t)(end - want);
        if (k > f->n - f->got) k = f->n - f->got;
        memcpy(f->to + f->got, f->data.data + (want - f->next), k);
        f->got += k;
    }
    f->next = end;
}

static int packet(flow *f, bool *last) {
    unsigned char h[6];
    char header[256];
    cr_pb_field g;
    uint64_t at = ~(uint64_t)0, size = ~(uint64_t)0;
    int e = cr_tcp_read(f->tcp, h, sizeof h, f->why);
    if (e != 0) return e;
    uint32_t total = (uint32_t)h[0] << 24 | (uint32_t)h[1] << 16 | (uint32_t)h[2] << 8 | h[3],
             n = (uint32_t)h[4] << 8 | h[5];
    if (total < 4 || total > MOST_PACKET || n > sizeof header)
        return wrong(f, "a packet has no length that can be");
    e = cr_tcp_read(f->tcp, header, n, f->why);
    if (e != 0) return e;
    *last = false;
    cr_pb m = cr_pb_of(header, n);
    while (cr_pb_next(&m, &g)) {
        if (cr_pb_is(&g, 1, CR_PB_64)) at = g.x;
        if (cr_pb_is(&g, 3, CR_PB_VARINT)) *last = g.x != 0;
        if (cr_pb_is(&g, 4, CR_PB_32)) size = g.x;
    }
    total -= 4; /* the length counts itself */
    if (m.bad || size > total) return wrong(f, "a packet has no length that can be");
    uint64_t n_sums = f->type == NO_SUM ? 0 : (size + f->chunk - 1) / f->chunk * 4;
    if (n_sums + size != total) return wrong(f, "a packet has another length than its parts");
    if (*last && size == 0) return 0; /* its place may be anything behind the data */
    if (size == 0) return wrong(f, "a packet in between is empty");
    if (at != (uint64_t)f->next) return wrong(f, "a packet has another place than the next one");
    e = cr_tcp_take(f->tcp, &f->sums, (size_t)n_sums, f->why);
    if (e == 0) e = cr_tcp_take(f->tcp, &f->data, (size_t)size, f->why);
    if (e == 0) e = check(f);
    if (e == 0) give(f);
    return e;
}

/* Reads from one node; *got counts what came and was right. */
static int read_from(const cr_block *b, int node, int64_t from, void *buf, size_t n, size_t *got,
                     cr_fs_why *why) {
    flow f = {.b = b, .from = from, .n = n, .to = buf, .why = why};
    bool last = false;
    int e = cr_tcp_open(&f.tcp, b->nodes[node].host, b->nodes[node].port, why);
    if (e != 0) return e;
    cr_buf_init(&f.sums);
    cr_buf_init(&f.data);
    e = begin(&f);
    /* the end of the range lies in a chunk at most, and then comes the empty packet */
    while (e == 0 && !last) {
        if (f.got == n && f.next >= f.from + (int64_t)n + (int64_t)f.chunk)
            e = wrong(&f, "it sends more than was asked for");
        else
            e = packet(&f, &last);
    }
    if (e == 0 && f.got < n) e = wrong(&f, "its data ended before the range did");
    if (f.got == n) e = 0; /* what went wrong behind it does not matter */
    if (e == 0) {
        static const char fine[] = {2, 8, 6}; /* length; status: the checksums are right */
        cr_fs_why none = {0};
        (void)cr_tcp_send(f.tcp, fine, sizeof fine, &none); /* the node only counts it */
    }
    *got = f.got;
    cr_tcp_close(f.tcp);
    cr_buf_clear(&f.sums);
    cr_buf_clear(&f.data);
    return e;
}

/* ---- which node ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char host[256];
    int port;
    int64_t until; /* seconds */
} avoided[N_AVOIDED];
static int n_avoided;

static int64_t now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec;
}

/* The place of a node in the list; -1: it is not there. The caller holds the lock. */
static int find(const char *host, int port) {
    for (int i = 0; i < n_avoided && i < N_AVOIDED; i++)
        if (avoided[i].port == port && strcmp(avoided[i].host, host) == 0) return i;
    return -1;
}

static void mark(const cr_block *b, int node, bool works) {
    pthread_mutex_lock(&lock);
    int i = find(b->nodes[node].host, b->nodes[node].port);
    if (i < 0 && !works) {
        i = n_avoided % N_AVOIDED;
        n_avoided = n_avoided + 1 < 2 * N_AVOIDED ? n_avoided + 1 : N_AVOIDED;
        snprintf(avoided[i].host, sizeof avoided[i].host, "%s", b->nodes[node].host);
        avoided[i].port = b->nodes[node].port;
    }
    if (i >= 0) avoided[i].until = works ? 0 : now_s() + AVOID_S;
    pthread_mutex_unlock(&lock);
}

static bool is_avoided(const cr_block *b, int node) {
    pthread_mutex_lock(&lock);
    int i = find(b->nodes[node].host, b->nodes[node].port);
    bool yes = i >= 0 && avoided[i].until > now_s();
    pthread_mutex_unlock(&lock);
    return yes;
}

int cr_block_read(const cr_block *b, int64_t from, void *buf, size_t n, size_t *got,
                  cr_fs_why *why) {
    int e = EAGAIN;
    bool asked[CR_BLOCK_NODES] = {false};
    *got = 0;
    snprintf(why->text, sizeof why->text, "no data node has block %llu of %.80s",
             (unsigned long long)b->id, b->pool);
    snprintf(why->cure, sizeof why->cure,
             "; hdfs fsck PATH -files -blocks -locations shows what the cluster knows of it");
    if (b->corrupt && b->n_nodes == 0) return EIO;
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < b->n_nodes && *got < n; i++) {
            if (asked[i] || (!last && is_avoided(b, i))) continue;
            size_t k = 0;
            asked[i] = true;
            why->text[0] = why->cure[0] = 0;
            e = read_from(b, i, from + (int64_t)*got, (char *)buf + *got, n - *got, &k, why);
            *got += k;
            mark(b, i, e == 0);
        }
    if (*got == n) {
        why->text[0] = why->cure[0] = 0;
        e = 0;
    }
    return e;
}
