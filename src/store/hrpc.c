/*
 * hrpc.c - see hrpc.h.
 *
 * A connection serves one call at a time; threads that call at once have one each. A connection
 * that waited may have been closed by the name node, which shows at the next call only: that call
 * is made again on a new connection, so only calls that change nothing may be made here.
 */
#include "store/hrpc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "store/tcp.h"

#define PROTOCOL  "org.apache.hadoop.hdfs.protocol.ClientProtocol"
#define MOST      ((uint32_t)64 << 20) /* bytes of an answer */
#define MOST_IDLE 32                   /* connections that wait */

typedef struct channel {
    cr_tcp *tcp;
    int call; /* number of the next call */
    char id[CR_HRPC_ID];
    char key[460]; /* address and user */
} channel;

/* ---- messages ---- */

static void add_u32(cr_buf *out, size_t n) {
    for (int shift = 24; shift >= 0; shift -= 8)
        cr_buf_char(out, (char)(unsigned char)(n >> shift));
}

static void add_header(cr_buf *out, int call, const char *id) {
    cr_buf h;
    cr_buf_init(&h);
    cr_pb_add_num(&h, 1, 2); /* the kind: protobuf */
    cr_pb_add_num(&h, 2, 0); /* the operation: a whole packet */
    cr_pb_add_num(&h, 3, (uint64_t)(call < 0 ? -2 * (int64_t)call - 1 : 2 * (int64_t)call));
    cr_pb_add_bytes(&h, 4, id, CR_HRPC_ID);
    cr_pb_add_part(out, &h);
    cr_buf_clear(&h);
}

void cr_hrpc_hello(cr_buf *out, const char *user, const char id[CR_HRPC_ID]) {
    static const char begin[] = {'h', 'r', 'p', 'c', 9, 0, 0}; /* version, class, no SASL */
    cr_buf who, context, packet;
    cr_buf_init(&who);
    cr_buf_init(&context);
    cr_buf_init(&packet);
    cr_pb_add_str(&who, 1, user);
    cr_pb_add_bytes(&context, 2, who.data, who.n);
    cr_pb_add_str(&context, 3, PROTOCOL);
    add_header(&packet, -3, id); /* the number of a connection's first message */
    cr_pb_add_part(&packet, &context);
    cr_buf_add(out, begin, sizeof begin);
    add_u32(out, packet.n);
    cr_buf_add(out, packet.data, packet.n);
    cr_buf_clear(&who);
    cr_buf_clear(&context);
    cr_buf_clear(&packet);
}

void cr_hrpc_request(cr_buf *out, int call, const char id[CR_HRPC_ID], const char *method,
                     const cr_buf *request) {
    cr_buf what, packet;
    cr_buf_init(&what);
    cr_buf_init(&packet);
    cr_pb_add_str(&what, 1, method);
    cr_pb_add_str(&what, 2, PROTOCOL);
    cr_pb_add_num(&what, 3, 1); /* version of the protocol */
    add_header(&packet, call, id);
    cr_pb_add_part(&packet, &what);
    cr_pb_add_part(&packet, request);
    add_u32(out, packet.n);
    cr_buf_add(out, packet.data, packet.n);
    cr_buf_clear(&what);
    cr_buf_clear(&packet);
}

/* Copies the first line of a text, as much as fits, without signs that a terminal obeys. */
static void first_line(cr_pb b, char *out, size_t size) {
    size_t n = 0;
    while (n + 1 < size && b.at < b.end && *b.at != '\n' && *b.at) {
        out[n++] = *b.at < 32 || *b.at == 127 ? ' ' : (char)*b.at;
        b.at++;
    }
    out[n] = 0;
}

bool cr_hrpc_parse(cr_hrpc_answer *a, int call) {
    cr_pb packet = cr_pb_of(a->packet.data, a->packet.n), head;
    cr_pb_field f;
    uint64_t number = ~(uint64_t)0, status = 3;
    char name[200] = "";
    a->exception[0] = a->text[0] = 0;
    a->body = cr_pb_of(NULL, 0);
    if (!cr_pb_part(&packet, &head)) return false;
    while (cr_pb_next(&head, &f)) {
        if (cr_pb_is(&f, 1, CR_PB_VARINT)) number = f.x;
        if (cr_pb_is(&f, 2, CR_PB_VARINT)) status = f.x;
        if (cr_pb_is(&f, 4, CR_PB_BYTES)) first_line(f.b, name, sizeof name);
        if (cr_pb_is(&f, 5, CR_PB_BYTES)) first_line(f.b, a->text, sizeof a->text);
    }
    a->fatal = status == 2;
    if (head.bad || status > 2) return false;
    if (status != 0) { /* a refusal of the connection itself has a number of its own */
        const char *dot = strrchr(name, '.');
        snprintf(a->exception, sizeof a->exception, "%.79s", dot ? dot + 1 : name);
        if (!a->exception[0]) snprintf(a->exception, sizeof a->exception, "unknown exception");
        return a->fatal || (uint32_t)number == (uint32_t)call;
    }
    return (uint32_t)number == (uint32_t)call && cr_pb_part(&packet, &a->body);
}

/* ---- connections ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static channel *idle[MOST_IDLE]; /* the one that was used last is at the end */
static int n_idle;

static channel *take(const char *key) {
    channel *l = NULL;
    pthread_mutex_lock(&lock);
    for (int i = n_idle - 1; i >= 0 && !l; i--)
        if (strcmp(idle[i]->key, key) == 0) {
            l = idle[i];
            memmove(&idle[i], &idle[i + 1], (size_t)(n_idle - i - 1) * sizeof *idle);
            n_idle--;
        }
    pthread_mutex_unlock(&lock);
    return l;
}

static void drop(channel *l) {
    if (!l) return;
    cr_tcp_close(l->tcp);
    cr_free(l);
}

static void give(channel *l) {
    channel *oldest = NULL;
    pthread_mutex_lock(&lock);
    if (n_idle == MOST_IDLE) {
        oldest = idle[0];
        memmove(&idle[0], &idle[1], (size_t)(--n_idle) * sizeof *idle);
    }
    idle[n_idle++] = l;
    pthread_mutex_unlock(&lock);
    drop(oldest);
}

/* A name that no other connection has: of the clock, the process and a counter. */
static void name_self(char *id) {
    static _Atomic uint64_t counter;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t key = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec,
             who = (uint64_t)getpid() << 32 | (atomic_fetch_add(&counter, 1) & 0xffffffffu),
             v[2] = {cr_mix64(key), cr_mix64(key ^ cr_mix64(who))};
    memcpy(id, v, CR_HRPC_ID);
}

static int begin(channel **out, const char *address, const char *user, const char *key,
                 cr_fs_why *why) {
    char host[300];
    const char *colon = strrchr(address, ':');
    int64_t port = 0;
    snprintf(host, sizeof host, "%.*s", colon ? (int)(colon - address) : 0, address);
    size_t n = strlen(host);
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') { /* an address of IPv6 */
        memmove(host, host + 1, n - 2);
        host[n - 2] = 0;
    }
    if (!colon || !host[0] || !cr_parse_i64(colon + 1, strlen(colon + 1), &port) || port < 1 ||
        port > 65535) {
        snprintf(why->text, sizeof why->text, "'%.100s' is no host:port of a name node", address);
        snprintf(why->cure, sizeof why->cure,
                 "; correct dfs.namenode.rpc-address in hdfs-site.xml, or the path");
        return EINVAL;
    }
    channel *l = cr_alloc(sizeof *l, "a connection");
    int e = cr_tcp_open(&l->tcp, host, (int)port, why);
    if (e != 0) {
        cr_free(l);
        return e;
    }
    cr_buf hello;
    cr_buf_init(&hello);
    name_self(l->id);
    snprintf(l->key, sizeof l->key, "%s", key);
    cr_hrpc_hello(&hello, user, l->id);
    e = cr_tcp_send(l->tcp, hello.data, hello.n, why);
    cr_buf_clear(&hello);
    if (e != 0)
        drop(l);
    else
        *out = l;
    return e;
}

/* ---- calls ---- */

static int no_answer(const channel *l, cr_fs_why *why, const char *text) {
    snprintf(why->text, sizeof why->text, "%.60s: %.90s", cr_tcp_name(l->tcp), text);
    return EPROTO;
}

static int ask(channel *l, const char *method, const cr_buf *request, cr_hrpc_answer *a,
               cr_fs_why *why) {
    cr_buf out;
    unsigned char n[4];
    int call = l->call;
    l->call = call == INT32_MAX ? 0 : call + 1;
    cr_buf_init(&out);
    cr_hrpc_request(&out, call, l->id, method, request);
    int e = cr_tcp_send(l->tcp, out.data, out.n, why);
    cr_buf_clear(&out);
    if (e == 0) e = cr_tcp_read(l->tcp, n, sizeof n, why);
    if (e != 0) return e;
    uint32_t size = (uint32_t)n[0] << 24 | (uint32_t)n[1] << 16 | (uint32_t)n[2] << 8 | n[3];
    if (memcmp(n, "HTTP", 4) == 0) {
        no_answer(l, why, "a web server answers, and no name node");
        snprintf(why->cure, sizeof why->cure,
                 "; CRANK_HDFS=native needs the port of RPC, 8020 on most clusters");
        return EINVAL;
    }
    if (size > MOST) return no_answer(l, why, "the answer has no length that can be");
    e = cr_tcp_take(l->tcp, &a->packet, size, why);
    if (e != 0) return e;
    return cr_hrpc_parse(a, call) ? 0 : no_answer(l, why, "the answer is none to what was asked");
}

int cr_hrpc_call(const char *address, const char *user, const char *method, const cr_buf *request,
                 cr_hrpc_answer *a, cr_fs_why *why) {
    char key[460];
    snprintf(key, sizeof key, "%.300s %.127s", address, user);
    memset(a, 0, sizeof *a);
    cr_buf_init(&a->packet);
    for (;;) {
        channel *l = take(key);
        bool old = l != NULL;
        int e = old ? 0 : begin(&l, address, user, key, why);
        if (e != 0) return e;
        e = ask(l, method, request, a, why);
        if (e == 0 && !a->fatal)
            give(l);
        else
            drop(l);
        bool closed = e == ECONNRESET || e == EPIPE || e == ENOTCONN;
        if (!old || !closed) return e;
        why->text[0] = why->cure[0] = 0; /* it was closed while it waited */
    }
}

void cr_hrpc_clear(cr_hrpc_answer *a) {
    if (a->packet.data) explicit_bzero(a->packet.data, a->packet.n); /* it may have tokens */
    cr_buf_clear(&a->packet);
}
