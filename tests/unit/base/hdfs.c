/*
 * hdfs.c - HDFS's own protocol: the bytes of requests against known ones, which were made apart
 * from this code; answers and packets that are whole, cut anywhere, or changed in any byte; and
 * what an open file does when the world changes. Bytes come from a script, not from a network.
 */
#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include "base/crc32c.h"
#include "base/fs_list.h"
#include "harness.h"
#include "store/hdfs.h"
#include "store/hdfs_blocks.h"
#include "store/hrpc.h"
#include "store/tcp.h"

#define ID "crank-0123456789"
/* the published bytes of user alice and getFileInfo("/train/part-0.parquet") */
#define HELLO                                                                                      \
    "68727063090000000000531808021000180522106372616e6b2d303132333435363738393912070a05616c69"     \
    "63651a2e6f72672e6170616368652e6861646f6f702e686466732e70726f746f636f6c2e436c69656e745072"     \
    "6f746f636f6c"
#define CALL                                                                                       \
    "000000711808021000180022106372616e6b2d303132333435363738393f0a0b67657446696c65496e666f12"     \
    "2e6f72672e6170616368652e6861646f6f702e686466732e70726f746f636f6c2e436c69656e7450726f746f"     \
    "636f6c1801170a152f747261696e2f706172742d302e70617271756574"
/* of another encoder: a block of 1500 bytes in pool BP-1, and the question for 600 from 700 on */
#define LOCATED                                                                                    \
    "0a120a0442502d3110818080800418e90720dc0b1080201a1f0a1b0a0831302e302e302e371203646e371a01"     \
    "75208a4d28884d308b4d100520002a1f0a056964656e74120270771a10484446535f424c4f434b5f544f4b45"     \
    "4e22003800"
#define READ                                                                                       \
    "001c51460a3e0a350a120a0442502d3110818080800418e90720dc0b121f0a056964656e74120270771a1048"     \
    "4446535f424c4f434b5f544f4b454e220012056372616e6b10bc0518d804"

static void unhex(cr_buf *out, const char *hex) {
    cr_buf_init(out);
    for (; *hex; hex += 2) {
        char two[3] = {hex[0], hex[1], 0};
        cr_buf_char(out, (char)strtol(two, NULL, 16));
    }
}

static bool equals(const cr_buf *b, const char *hex) {
    cr_buf want;
    unhex(&want, hex);
    bool same = b->n == want.n && memcmp(b->data, want.data, b->n) == 0;
    cr_buf_clear(&want);
    return same;
}

/* ---- a network that follows a script ---- */

static struct {
    cr_buf in, out; /* what will come, what was sent */
    size_t at;
    size_t marks[16]; /* an answer ends here: nobody reads on into the next one */
    int n_marks;
    int n_open, refuse; /* connections; how many are refused first */
    bool silent;        /* at its end the script waits instead of closing */
} net;

static int net_open(void **c, const char *host, int port, int limit_ms, cr_fs_why *why) {
    (void)limit_ms;
    (void)why;
    CHECK(host[0] && port > 0);
    *c = &net;
    net.n_open++;
    if (net.refuse > 0) {
        net.refuse--;
        return ECONNREFUSED;
    }
    return 0;
}

static int net_recv(void *c, void *p, size_t n, size_t *got, int limit_ms) {
    size_t left = net.in.n - net.at;
    (void)c;
    if (left == 0 && net.silent) {
        if (limit_ms > 0) usleep((useconds_t)limit_ms * 1000);
        return ETIMEDOUT;
    }
    if (n > 700) n = 700; /* in pieces */
    for (int i = 0; i < net.n_marks; i++)
        if (net.marks[i] > net.at && net.marks[i] - net.at < left) left = net.marks[i] - net.at;
    *got = n < left ? n : left;
    memcpy(p, net.in.data + net.at, *got);
    net.at += *got;
    return 0;
}

static int net_send(void *c, const void *p, size_t n, int limit_ms) {
    (void)c;
    (void)limit_ms;
    cr_buf_add(&net.out, p, n);
    return 0;
}

static void net_close(void *c) {
    (void)c;
}

static const cr_tcp_plug script = {20, 20, net_open, net_recv, net_send, net_close};

static void begin(void) {
    cr_tcp_use(&script);
    cr_buf_clear(&net.in);
    cr_buf_clear(&net.out);
    net.at = 0;
    net.n_marks = 0;
    net.n_open = net.refuse = 0;
    net.silent = false;
    setenv("CRANK_HDFS", "native", 1);
    setenv("HADOOP_USER_NAME", "alice", 1);
    unsetenv("HADOOP_CONF_DIR");
    unsetenv("HADOOP_HOME");
}

static void add_u32(cr_buf *out, size_t n) {
    for (int shift = 24; shift >= 0; shift -= 8)
        cr_buf_char(out, (char)(unsigned char)(n >> shift));
}

static void sub(cr_buf *out, unsigned number, cr_buf *m) {
    cr_pb_add_bytes(out, number, m->data, m->n);
    cr_buf_reset(m);
}

/* ---- requests ---- */

TEST(known_requests) {
    cr_buf out, path;
    cr_buf_init(&out);
    cr_buf_init(&path);
    cr_hrpc_hello(&out, "alice", ID);
    CHECK(equals(&out, HELLO));
    cr_buf_reset(&out);
    cr_pb_add_str(&path, 1, "/train/part-0.parquet");
    cr_hrpc_request(&out, 0, ID, "getFileInfo", &path);
    CHECK(equals(&out, CALL));
    cr_buf_clear(&out);
    cr_buf_clear(&path);
}

TEST(known_block) {
    cr_buf m, out;
    cr_block *b = cr_alloc(sizeof *b, "a block");
    unhex(&m, LOCATED);
    cr_buf_init(&out);
    CHECK(cr_block_parse(b, cr_pb_of(m.data, m.n), false));
    CHECK_STR(b->pool, "BP-1");
    CHECK_INT(b->id, 1073741825);
    CHECK_INT(b->stamp, 1001);
    CHECK_INT(b->at, 4096);
    CHECK_INT(b->size, 1500);
    CHECK_INT(b->n_nodes, 1);
    CHECK_STR(b->nodes[0].host, "10.0.0.7");
    CHECK_INT(b->nodes[0].port, 9866);
    cr_block_request(&out, b, "crank", 700, 600);
    CHECK(equals(&out, READ));
    CHECK(cr_block_parse(b, cr_pb_of(m.data, m.n), true));
    CHECK_STR(b->nodes[0].host, "dn7");
    /* cut anywhere inside of a field it is none; between fields it may be one without them */
    int n = 0;
    for (size_t k = 0; k < m.n; k++)
        n += cr_block_parse(b, cr_pb_of(m.data, k), false);
    CHECK_INT(n, 5);
    cr_buf_clear(&m);
    cr_buf_clear(&out);
    cr_free(b);
}

/* ---- answers of name nodes ---- */

static void add_answer(cr_buf *out, int call, int status, const char *name, const char *text,
                       const cr_buf *body) {
    cr_buf head, packet;
    cr_buf_init(&head);
    cr_buf_init(&packet);
    cr_pb_add_num(&head, 1, (uint32_t)call);
    cr_pb_add_num(&head, 2, (uint64_t)status);
    cr_pb_add_num(&head, 3, 9);
    if (name) cr_pb_add_str(&head, 4, name);
    if (text) cr_pb_add_str(&head, 5, text);
    cr_pb_add_part(&packet, &head);
    if (status == 0) cr_pb_add_part(&packet, body);
    add_u32(out, packet.n);
    cr_buf_add(out, packet.data, packet.n);
    cr_buf_clear(&head);
    cr_buf_clear(&packet);
}

static bool parse(cr_hrpc_answer *a, int call, int status, const char *name, const char *text) {
    cr_buf packet, body;
    cr_buf_init(&packet);
    cr_buf_init(&body);
    cr_buf_str(&body, "body");
    memset(a, 0, sizeof *a);
    cr_buf_init(&a->packet);
    add_answer(&packet, call, status, name, text, &body);
    cr_buf_add(&a->packet, packet.data + 4, packet.n - 4);
    cr_buf_clear(&packet);
    cr_buf_clear(&body);
    return cr_hrpc_parse(a, 3);
}

TEST(answers) {
    cr_hrpc_answer a;
    CHECK(parse(&a, 3, 0, NULL, NULL));
    CHECK_INT(cr_pb_len(a.body), 4);
    CHECK_STR(a.exception, "");
    for (size_t n = a.packet.n; n-- > 0;) { /* cut anywhere, it is none */
        a.packet.n = n;
        CHECK(!cr_hrpc_parse(&a, 3));
    }
    cr_hrpc_clear(&a);
    CHECK(!parse(&a, 4, 0, NULL, NULL));
    cr_hrpc_clear(&a);
    CHECK(!parse(&a, 3, 5, NULL, NULL));
    cr_hrpc_clear(&a);
    CHECK(parse(&a, 3, 1, "org.apache.hadoop.ipc.StandbyException", "not\033now\n\tat A.java:1"));
    CHECK_STR(a.exception, "StandbyException");
    CHECK_STR(a.text, "not now");
    CHECK(!a.fatal);
    cr_hrpc_clear(&a);
    CHECK(parse(&a, -1, 2, NULL, NULL)); /* of the connection */
    CHECK_STR(a.exception, "unknown exception");
    CHECK(a.fatal);
    cr_hrpc_clear(&a);
}

/* ---- packets of data nodes ---- */

enum { CHUNK = 512, SIZE = 1500, FROM = 700, N = 600 };
static unsigned char content[SIZE];

static void add_packet(cr_buf *out, int type, int64_t at, size_t n, bool last) {
    cr_buf sums, head;
    cr_buf_init(&sums);
    cr_buf_init(&head);
    for (size_t k = 0; type && k < n; k += CHUNK) {
        size_t m = n - k < CHUNK ? n - k : CHUNK;
        add_u32(&sums, type == 2 ? cr_crc32c(0, content + at + k, m)
                                 : (uint32_t)crc32(0, content + at + k, (uInt)m));
    }
    cr_buf_char(&head, 1 << 3 | 1);
    cr_buf_add(&head, &at, 8);
    cr_buf_char(&head, 2 << 3 | 1);
    cr_buf_add(&head, &at, 8); /* the number of the packet does not matter */
    cr_pb_add_num(&head, 3, last);
    cr_buf_char(&head, 4 << 3 | 5);
    uint32_t size = (uint32_t)n;
    cr_buf_add(&head, &size, 4);
    add_u32(out, 4 + sums.n + n);
    cr_buf_char(out, 0);
    cr_buf_char(out, (char)head.n);
    cr_buf_add(out, head.data, head.n);
    cr_buf_add(out, sums.data, sums.n);
    cr_buf_add(out, content + at, n);
    cr_buf_clear(&sums);
    cr_buf_clear(&head);
}

/* Everything that a data node sends for [700, 1300) of the block. */
static void add_read(cr_buf *out, int type) {
    cr_buf sum, info, all;
    cr_buf_init(&sum);
    cr_buf_init(&info);
    cr_buf_init(&all);
    for (size_t i = 0; i < SIZE; i++)
        content[i] = (unsigned char)(i * 7 ^ i >> 3);
    cr_pb_add_num(&sum, 1, (uint64_t)type);
    cr_pb_add_num(&sum, 2, CHUNK);
    sub(&info, 1, &sum);
    cr_pb_add_num(&info, 2, 512);
    cr_pb_add_num(&all, 1, 0);
    sub(&all, 4, &info);
    cr_pb_add_part(out, &all);
    add_packet(out, type, 512, 512, false);
    add_packet(out, type, 1024, SIZE - 1024, false);
    add_packet(out, type, SIZE, 0, true);
    cr_buf_clear(&sum);
    cr_buf_clear(&info);
    cr_buf_clear(&all);
}

static int read_block(unsigned char *to, size_t *got, int n_nodes) {
    cr_block *b = cr_alloc(sizeof *b, "a block");
    cr_fs_why why = {0};
    snprintf(b->pool, sizeof b->pool, "BP-1");
    b->id = 7;
    b->size = SIZE;
    for (b->n_nodes = 0; b->n_nodes < n_nodes; b->n_nodes++) {
        snprintf(b->nodes[b->n_nodes].host, sizeof b->nodes[0].host, "dn%d", b->n_nodes);
        b->nodes[b->n_nodes].port = 9866;
    }
    memset(to, 0xee, N);
    int e = cr_block_read(b, FROM, to, N, got, &why);
    CHECK((e != 0) == (why.text[0] != 0));
    CHECK(*got == N || e != 0);
    cr_free(b);
    return e;
}

TEST(packets) {
    unsigned char to[N];
    size_t got;
    for (int type = 0; type <= 2; type++) {
        begin();
        add_read(&net.in, type);
        CHECK_INT(read_block(to, &got, 1), 0);
        CHECK_INT(got, N);
        CHECK(memcmp(to, content + FROM, N) == 0);
        CHECK(net.at == net.in.n);
        CHECK(net.out.n > 3 && memcmp(net.out.data + net.out.n - 3, "\2\10\6", 3) == 0);
    }
}

/* Cut anywhere, or changed in any byte: the right bytes or an error, never wrong bytes. */
TEST(damaged_packets) {
    unsigned char to[N];
    size_t got, whole, n_errors = 0;
    begin();
    add_read(&net.in, 2);
    whole = net.in.n;
    cr_buf all = net.in;
    cr_buf_init(&net.in);
    for (size_t n = 0; n < whole; n++) {
        begin();
        cr_buf_add(&net.in, all.data, n);
        int e = read_block(to, &got, 1);
        CHECK(e == 0 ? got == N : e == ECONNRESET);
        CHECK(memcmp(to, content + FROM, got) == 0);
        n_errors += e != 0;
    }
    CHECK(n_errors > whole - 60); /* all but the last packet are needed */
    for (size_t i = 0; i < whole; i++)
        for (int bit = 0; bit < 8; bit++) {
            begin();
            cr_buf_add(&net.in, all.data, whole);
            net.in.data[i] = (char)(net.in.data[i] ^ 1 << bit);
            int e = read_block(to, &got, 1);
            CHECK(e != 0 || got == N);
            CHECK(memcmp(to, content + FROM, got) == 0);
        }
    cr_buf_clear(&all);
}

/* The first node gives the first chunk and then fails; the second one goes on from there. */
TEST(next_replica) {
    unsigned char to[N];
    size_t got;
    cr_buf again;
    begin();
    cr_buf_init(&again);
    add_read(&again, 1);
    cr_buf_add(&net.in, again.data, again.n);
    net.in.data[net.in.n - 100] ^= 1; /* in the second packet */
    net.in.n -= 29;                   /* without the last one */
    cr_buf_add(&net.in, again.data, again.n);
    /* the second answer begins at 512 though 1024 was asked for: it is refused, the third is not */
    CHECK(read_block(to, &got, 2) != 0);
    CHECK_INT(got, 1024 - FROM);
    CHECK(memcmp(to, content + FROM, got) == 0);
    CHECK_INT(net.n_open, 2);
    begin();
    net.refuse = 1;
    add_read(&net.in, 2);
    CHECK_INT(read_block(to, &got, 2), 0);
    CHECK_INT(net.n_open, 2);
    begin(); /* both are asked, the one that failed comes last */
    CHECK_INT(read_block(to, &got, 2), ECONNRESET);
    CHECK_INT(net.n_open, 2);
    cr_buf_clear(&again);
}

TEST(silence_ends) {
    unsigned char to[N];
    size_t got;
    begin();
    add_read(&net.in, 2);
    net.in.n -= 300;
    net.silent = true;
    CHECK_INT(read_block(to, &got, 1), ETIMEDOUT);
}

/* ---- the store ---- */

static void add_status(cr_buf *out, int type, const char *name, int64_t size, int64_t changed) {
    cr_pb_add_num(out, 1, (uint64_t)type);
    cr_pb_add_str(out, 2, name);
    cr_pb_add_num(out, 3, (uint64_t)size);
    cr_pb_add_num(out, 7, (uint64_t)changed);
    cr_pb_add_num(out, 13, 16400);
}

static void add_info(int call, int type, int64_t size, unsigned extra) {
    cr_buf fs, body;
    cr_buf_init(&fs);
    cr_buf_init(&body);
    add_status(&fs, type, "", size, 1700000000123);
    if (extra) cr_pb_add_str(&fs, extra, "x");
    sub(&body, 1, &fs);
    add_answer(&net.in, call, 0, NULL, NULL, &body);
    net.marks[net.n_marks++] = net.in.n;
    cr_buf_clear(&fs);
    cr_buf_clear(&body);
}

static void add_blocks(int call, uint64_t id, int64_t at, int64_t size) {
    cr_buf b, one, list, body, node;
    cr_buf_init(&b);
    cr_buf_init(&one);
    cr_buf_init(&list);
    cr_buf_init(&body);
    cr_buf_init(&node);
    cr_pb_add_str(&b, 1, "BP-1");
    cr_pb_add_num(&b, 2, id);
    cr_pb_add_num(&b, 3, 1001);
    cr_pb_add_num(&b, 4, (uint64_t)size);
    sub(&one, 1, &b);
    cr_pb_add_num(&one, 2, (uint64_t)at);
    cr_pb_add_str(&node, 1, "127.0.0.1");
    cr_pb_add_num(&node, 4, 9866);
    sub(&b, 1, &node);
    sub(&one, 3, &b);
    cr_pb_add_num(&list, 1, (uint64_t)size);
    sub(&list, 2, &one);
    sub(&body, 1, &list);
    add_answer(&net.in, call, 0, NULL, NULL, &body);
    net.marks[net.n_marks++] = net.in.n;
    cr_buf_clear(&b);
    cr_buf_clear(&one);
    cr_buf_clear(&list);
    cr_buf_clear(&body);
    cr_buf_clear(&node);
}

static const char *fresh(void) { /* a place to which no connection is open */
    static char path[60];
    static int n;
    snprintf(path, sizeof path, "hdfs://nn%d:8020/a//b/", ++n);
    return path;
}

TEST(files) {
    const cr_store *s = &cr_store_hdfs;
    cr_fs_stat st;
    cr_fs_why why = {0};
    void *f;
    unsigned char to[N];
    size_t got;
    begin();
    add_info(0, 2, SIZE, 0);
    add_blocks(1, 7, 0, SIZE);
    add_read(&net.in, 2);
    CHECK_INT(s->open(&f, fresh(), false, &st, &why), 0);
    CHECK_INT(st.kind, CR_FS_FILE);
    CHECK_INT(st.size, SIZE);
    CHECK_INT(st.changed, 1700000000123000000);
    CHECK(st.version != 0);
    /* the path went out without its doubled slash and the one at its end */
    CHECK(memmem(net.out.data, net.out.n, "\n\004/a/b", 6) != NULL);
    CHECK_INT(s->pread(f, FROM, to, N, &got, &why), 0);
    CHECK_INT(got, N);
    CHECK(memcmp(to, content + FROM, N) == 0);
    CHECK_INT(net.n_open, 2); /* the name node once, the data node once */
    CHECK_INT(s->pread(f, SIZE, to, N, &got, &why), 0);
    CHECK_INT(got, 0);
    /* nobody gives the block: the next try asks the name node, and the file has other blocks */
    CHECK_INT(s->pread(f, FROM, to, N, &got, &why), ECONNRESET);
    add_blocks(2, 8, 0, SIZE);
    CHECK_INT(s->pread(f, FROM, to, N, &got, &why), ESTALE);
    CHECK_STR(why.text, "the file was replaced since it was opened");
    s->close(f);
}

static int open_and_read(unsigned extra, int64_t at, int64_t size, cr_fs_why *why) {
    cr_fs_stat st;
    void *f;
    char to[8];
    size_t got;
    begin();
    *why = (cr_fs_why){0};
    add_info(0, 2, SIZE, extra);
    add_blocks(1, 7, at, size);
    if (cr_store_hdfs.open(&f, fresh(), false, &st, why) != 0) return -1;
    int e = cr_store_hdfs.pread(f, 0, to, sizeof to, &got, why);
    cr_store_hdfs.close(f);
    return e;
}

TEST(what_it_cannot) {
    cr_fs_why why;
    cr_fs_stat st;
    void *f;
    CHECK_INT(open_and_read(17, 0, SIZE, &why), ENOTSUP);
    CHECK(strstr(why.text, "erasure-coded") && strstr(why.cure, "WebHDFS"));
    CHECK_INT(open_and_read(15, 0, SIZE, &why), ENOTSUP);
    CHECK(strstr(why.text, "encryption zone") && strstr(why.cure, "WebHDFS"));
    CHECK_INT(open_and_read(0, 1, SIZE, &why), EPROTO); /* a gap */
    CHECK_INT(open_and_read(0, 0, SIZE - 1, &why), ESTALE);
    CHECK_INT(open_and_read(0, INT64_MAX, INT64_MAX, &why), EPROTO);
    begin();
    CHECK_INT(cr_store_hdfs.put(&f, fresh(), 0, &why), EROFS);
    CHECK(strstr(why.text, "does not write") != NULL);
    CHECK_INT(cr_store_hdfs.can_write(fresh()), EROFS);
    setenv("CRANK_HDFS", "rpc", 1);
    CHECK_INT(cr_store_hdfs.stat(fresh(), true, &st, &why), EINVAL);
    CHECK_STR(why.text, "CRANK_HDFS is 'rpc', which is no way to HDFS");
    CHECK_STR(why.cure, "; set it to web or to native");
    begin();
    CHECK_INT(cr_store_hdfs.stat("hdfs:///a", true, &st, &why), EINVAL);
    CHECK_STR(why.cure, "; set HADOOP_CONF_DIR, or write hdfs://host:8020/path");
    CHECK_INT(cr_store_hdfs.stat("hdfs://nn:0/a", true, &st, &why), EINVAL);
}

static void count(void *ctx, const char *name, cr_fs_kind kind) {
    cr_buf_printf(ctx, "%s%s ", name, kind == CR_FS_DIR ? "/" : "");
}

static void add_page(int call, const char *a, const char *b, uint64_t left) {
    cr_buf fs, list, body;
    cr_buf_init(&fs);
    cr_buf_init(&list);
    cr_buf_init(&body);
    add_status(&fs, 1, a, 0, 5);
    sub(&list, 1, &fs);
    add_status(&fs, 2, b, 9, 5);
    sub(&list, 1, &fs);
    cr_pb_add_num(&list, 2, left);
    sub(&body, 1, &list);
    add_answer(&net.in, call, 0, NULL, NULL, &body);
    net.marks[net.n_marks++] = net.in.n;
    cr_buf_clear(&fs);
    cr_buf_clear(&list);
    cr_buf_clear(&body);
}

TEST(pages) {
    cr_fs_why why = {0};
    cr_buf names;
    cr_buf_init(&names);
    begin();
    add_info(0, 1, 0, 0);
    add_page(1, "a", "b", 2);
    add_page(2, "c", "d", 0);
    CHECK_INT(cr_store_hdfs.list(fresh(), count, &names, &why), 0);
    CHECK_STR(names.data, "a/ b c/ d ");
    CHECK(memmem(net.out.data, net.out.n, "\022\001b\030", 4) != NULL); /* after b */
    begin();
    add_info(0, 1, 0, 0);
    add_page(1, "a", "b", 2);
    add_page(2, "a", "b", 2);
    CHECK_INT(cr_store_hdfs.list(fresh(), count, &names, &why), EPROTO);
    begin();
    add_info(0, 2, 0, 0);
    CHECK_INT(cr_store_hdfs.list(fresh(), count, &names, &why), ENOTDIR);
    cr_buf_clear(&names);
}

/* A connection that the name node closed while it waited is no failure; a new one that is closed
 * is. */
TEST(old_connections) {
    cr_fs_why why = {0};
    cr_fs_stat st;
    char path[60];
    snprintf(path, sizeof path, "%s", fresh());
    begin();
    add_info(0, 2, 5, 0);
    CHECK_INT(cr_store_hdfs.stat(path, true, &st, &why), 0);
    add_info(1, 2, 6, 0);
    CHECK_INT(cr_store_hdfs.stat(path, true, &st, &why), 0);
    CHECK_INT(st.size, 6);
    CHECK_INT(net.n_open, 1);
    CHECK_INT(cr_store_hdfs.stat(path, true, &st, &why), ECONNRESET);
    CHECK_INT(net.n_open, 2);
}

TEST_MAIN(CASE(known_requests), CASE(known_block), CASE(answers), CASE(packets),
          CASE(damaged_packets), CASE(next_replica), CASE(silence_ends), CASE(files),
          CASE(what_it_cannot), CASE(pages), CASE(old_connections))
