/*
 * fuzz_answers.c - any bytes as what stores answer, and as files of keys: the clients of HDFS, S3,
 * OSS and MaxCompute make their requests, and each answer, with its status, headers and body, is
 * the next part of the input. Nothing may crash, read beyond its bytes, or go on for ever.
 *
 * The first byte chooses the client. An answer is a line "STATUS Header: value|Header: value", and
 * then its body up to a byte 0xff, or of the length that a header "Length: N" gives. Failures that
 * would be waited for are left out: they are the same code. The readers of tables get the sessions
 * of a checkpoint first, up to a byte 0xff, and then answers with sessions and rows.
 *
 * 'N' and 'B' as the first byte are HDFS without HTTP: the whole client, and a data node alone.
 * What comes from the network is then pieces of a length (two bytes, high one first) and so many
 * bytes; an empty piece closes the connection.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fs_list.h"
#include "data/reader.h"
#include "store/creds.h"
#include "store/hdfs_blocks.h"
#include "store/hrpc.h"
#include "store/http.h"
#include "store/odps.h"
#include "store/tcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *input, *input_end;
static int n_calls;

/* The length that a line of an answer gives; -1: none. */
static long length_of(const char *line, const char *eol) {
    const char *p = memmem(line, (size_t)(eol - line), "Length: ", 8);
    long n = -1;
    if (p) n = strtol(p + 8, NULL, 10); /* the line has an end */
    return n;
}

/* Takes the next answer from the input. */
static int next_answer(cr_http_call *c) {
    const char *line = input, *eol = memchr(input, '\n', (size_t)(input_end - input));
    if (++n_calls > 50 || !eol) {
        snprintf(c->why, sizeof c->why, "nothing is left");
        return EIO;
    }
    const char *body = eol + 1, *end = memchr(body, 0xff, (size_t)(input_end - body));
    if (!end) end = input_end;
    long length = length_of(line, eol);
    if (length >= 0) end = length < input_end - body ? body + length : input_end;
    input = end < input_end && length < 0 ? end + 1 : end;
    char text[16];
    size_t n = (size_t)(eol - line), k = n < 3 ? n : 3;
    memcpy(text, line, k);
    text[k] = 0;
    c->status = atoi(text);
    if (c->status < 200 || c->status >= 500 || c->status == 408 || c->status == 409 ||
        c->status == 429)
        c->status = 200;
    for (const char *h = line + k; h < eol;) {
        const char *stop = memchr(h, '|', (size_t)(eol - h));
        if (!stop) stop = eol;
        c->head(c->ctx, h, (size_t)(stop - h));
        h = stop + 1;
    }
    for (const char *p = body; p < end;) { /* in two pieces */
        size_t m = (size_t)(end - p) > 7 ? (size_t)(end - p) / 2 + 1 : (size_t)(end - p);
        if (!c->data(c->ctx, p, m, c->status)) return EIO;
        p += m;
    }
    return 0;
}

/* Rows are read ahead by other threads. */
static int answer(cr_http_call *c) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int e = next_answer(c);
    pthread_mutex_unlock(&lock);
    return e;
}

static const cr_http_plug fake = {.abi = CR_HTTP_ABI, .call = answer};

/* ---- a network ---- */

static size_t piece; /* what is left of it */

static int net_open(void **c, const char *host, int port, int limit_ms, cr_fs_why *why) {
    (void)limit_ms;
    (void)why;
    if (!*host || port < 1 || port > 65535) abort();
    *c = &piece;
    return ++n_calls > 50 ? ECONNREFUSED : 0;
}

static int net_recv(void *c, void *p, size_t n, size_t *got, int limit_ms) {
    size_t left = (size_t)(input_end - input);
    (void)c;
    (void)limit_ms;
    *got = 0;
    if (n == 0) abort(); /* nobody asks for nothing */
    if (piece == 0) {
        if (left < 2) return 0;
        piece = (size_t)(unsigned char)input[0] << 8 | (unsigned char)input[1];
        input += 2;
        left -= 2;
    }
    if (piece > left) piece = left;
    *got = n < piece ? n : piece;
    memcpy(p, input, *got);
    input += *got;
    piece -= *got;
    return 0;
}

static int net_send(void *c, const void *p, size_t n, int limit_ms) {
    (void)c;
    (void)limit_ms;
    return p && n > 0 ? 0 : EINVAL;
}

static void net_close(void *c) {
    *(size_t *)c = 0;
}

static const cr_tcp_plug fake_net = {10, 10, net_open, net_recv, net_send, net_close};

static void data_node(void) {
    cr_block *b = cr_alloc(sizeof *b, "a block");
    cr_fs_why why = {0};
    size_t got = 0;
    char *to = malloc(600);
    snprintf(b->pool, sizeof b->pool, "BP-1");
    b->size = 1500;
    b->n_nodes = 3;
    for (int i = 0; i < 3; i++) {
        snprintf(b->nodes[i].host, sizeof b->nodes[i].host, "dn%d", i);
        b->nodes[i].port = 9866;
    }
    int e = to ? cr_block_read(b, 700, to, 600, &got, &why) : ENOMEM;
    if (got > 600 || (e == 0) != (got == 600) || !memchr(why.text, 0, sizeof why.text)) abort();
    free(to);
    cr_free(b);
}

/* ---- stores ---- */

static void name(void *ctx, const char *text, cr_fs_kind kind) {
    if (kind <= CR_FS_OTHER) *(size_t *)ctx += strlen(text);
}

/* Everything that a store is asked for, once each. */
static void store(const cr_store *s, const char *path) {
    cr_fs_stat st;
    cr_fs_why why = {0};
    size_t sum = 0, got = 0;
    char *buf = malloc(100);
    void *f;
    if (!buf) return;
    (void)s->stat(path, true, &st, &why);
    (void)s->list(path, name, &sum, &why);
    if (s->list_tree) (void)s->list_tree(path, name, &sum, &why);
    if (s->open(&f, path, false, &st, &why) == 0) {
        (void)s->pread(f, 5, buf, 100, &got, &why);
        if (got > 100) abort();
        if (s->restat) (void)s->restat(f, &st, &why);
        s->close(f);
    }
    if (s->put(&f, path, 0, &why) == 0) {
        int e = s->write(f, "abc", 3, &why);
        if (e == 0) (void)s->commit(f, true, &why);
        s->end(f);
    }
    if (s->move) (void)s->move(path, path, CR_MOVE_NEW, &why);
    (void)s->remove(path, true, &why);
    if (!memchr(why.text, 0, sizeof why.text) || !memchr(why.cure, 0, sizeof why.cure)) abort();
    free(buf);
}

static void maxcompute(void) {
    static const char path[] = "odps://p/tables/t/dt=1";
    cr_odps *o;
    cr_err err;
    cr_arena a;
    cr_buf b;
    cr_odps_table t;
    char **parts;
    int n;
    cr_buf_init(&b);
    cr_arena_init(&a, 0);
    if (cr_odps_parse(&t, path, &a, &err) != CR_OK) abort();
    if (cr_odps_open(&o, "p", "", &err) == CR_OK) {
        (void)!cr_odps_schema(o, &t, path, &b, &err);
        if (cr_odps_partitions(o, &t, path, &a, &parts, &n, &err) == CR_OK && n < 0) abort();
        cr_odps_close(o);
    }
    cr_buf_clear(&b);
    cr_arena_clear(&a);
}

static void read_table(const cr_reader_type *r, const cr_data_conf *conf, const char *paths,
                       const cr_want *want, int n_want) {
    cr_diag diag;
    cr_source *s;
    cr_err err = {0};
    cr_diag_init(&diag);
    if (r->open(&s, conf, paths, want, n_want, &diag) == CR_OK) {
        cr_raw raw = {0};
        cr_chunk chunk = {0};
        cr_bad bad = {0};
        cr_buf kept;
        bool end = false;
        cr_arena_init(&chunk.arena, 0);
        cr_buf_init(&kept);
        for (int64_t f = 0, n = 0; f < r->n_files(s); f++) {
            if (r->n_blocks(s, f, &n, &err) != CR_OK || n < 0) abort();
            for (int64_t b = 0; b < n && b < 20; b++) {
                cr_block_rows rows;
                r->block_rows(s, f, b, &rows);
                raw.from = 0;
                raw.n_rows = rows.n_rows;
                if (r->cut(s, f, b, &raw, &end, &err) != CR_OK || end) break;
                cr_bad_reset(&bad);
                if (r->parse(s, &raw, &chunk, &bad, &err) != CR_OK) break;
                if (chunk.n_rows > rows.n_rows) abort();
            }
        }
        r->kept(s, &kept);
        r->raw_clear(s, &raw);
        cr_buf_clear(&kept);
        cr_arena_clear(&chunk.arena);
        cr_bad_clear(&bad);
        r->close(s);
    } else if (diag.n_errors == 0) {
        abort(); /* refused without a word */
    }
    cr_diag_clear(&diag);
}

/* A table, from the sessions of a checkpoint on. */
static void table(const char *reader) {
    static const char path[] = "odps://p/tables/t/dt=1";
    static const cr_want want[] = {{.name = "a", .type = -1}, {.name = "b", .type = -1}};
    const cr_reader_type *r = cr_reader_find(reader);
    cr_data_conf conf = {.batch_size = 10,
                         .odps_data_quota_name = "q",
                         .odps_data_compression = "LZ4_FRAME"};
    const char *end = memchr(input, 0xff, (size_t)(input_end - input));
    size_t n = end ? (size_t)(end - input) : 0;
    char *kept = malloc(n + 1);
    cr_buf text;
    cr_err err = {0};
    if (!kept ||
        memmem(input, (size_t)(input_end - input), "INIT", 4)) { /* it would be waited for */
        free(kept);
        return;
    }
    memcpy(kept, input, n);
    kept[n] = 0;
    if (end) input = end + 1;
    cr_buf_init(&text);
    cr_buf_char(&text, '+');
    if (r->prepare(&text, &conf, path, want, 2, n ? kept : NULL, &err) == CR_OK)
        read_table(r, &conf, text.data, want, 2);
    else if (!err.msg[0])
        abort(); /* refused without a word */
    cr_buf_clear(&text);
    free(kept);
}

/* Writes a file without waiting for the disk, which is what a fuzzer would do most of the time. */
static void put(const char *path, const char *text, size_t n) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text, 1, n, f) != n || fclose(f) != 0) abort();
}

/* The bytes as each of the files in which keys may stand, and then as a path of a table. */
static void files(const char *home, const char *text, size_t n) {
    static const char *const names[] = {".aws/credentials", ".aws/config", ".aliyun/config.json",
                                        ".alibabacloud/credentials", "odps_config"};
    cr_arena a;
    cr_creds c;
    cr_fs_why why = {0};
    cr_odps_table t;
    cr_odps *o;
    cr_err err;
    char found[10];
    cr_arena_init(&a, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put(cr_path_join(&a, home, names[i]), text, n);
    const char *ini = cr_path_join(&a, home, names[0]);
    if (cr_ini_get(ini, "default", "aws_access_key_id", found, sizeof found) &&
        !memchr(found, 0, sizeof found))
        abort();
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("OSS_ACCESS_KEY_ID");
    if (cr_creds_aws(&c, true, &why) == 0 && !c.id[0]) abort();
    if (cr_creds_alibaba(&c, true, &why) == 0 && !c.id[0]) abort();
    setenv("ODPS_CONFIG_FILE_PATH", cr_path_join(&a, home, "odps_config"), 1);
    if (cr_odps_open(&o, "p", "", &err) == CR_OK) cr_odps_close(o);
    unsetenv("ODPS_CONFIG_FILE_PATH");
    char *path = cr_arena_printf(&a, "odps://%s", text);
    if (cr_odps_parse(&t, path, &a, &err) == CR_OK && (!*t.project || !*t.table)) abort();
    cr_arena_clear(&a);
}

static const char *begin(void) {
    static char home[64];
    if (home[0]) return home;
    cr_arena a;
    cr_arena_init(&a, 0);
    snprintf(home, sizeof home, "/tmp/crank-fuzz-answers.%d", (int)getpid());
    static const char *const dirs[] = {".aws", ".aliyun", ".alibabacloud"};
    for (int i = 0; i < 3; i++)
        if (cr_mkdirs(cr_path_join(&a, home, dirs[i]), NULL) != CR_OK) abort();
    cr_arena_clear(&a);
    setenv("HOME", home, 1);
    setenv("AWS_REGION", "us-east-1", 1);
    setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9", 1);
    setenv("OSS_ENDPOINT", "http://127.0.0.1:9", 1);
    setenv("OSS_REGION", "cn-hangzhou", 1);
    setenv("ODPS_ENDPOINT", "http://127.0.0.1:9/api", 1);
    setenv("HADOOP_USER_NAME", "u", 1);
    setenv("CRANK_HDFS", "native", 1); /* of hdfs:// alone */
    unsetenv("HADOOP_CONF_DIR");
    unsetenv("HADOOP_HOME");
    cr_tcp_use(&fake_net);
    cr_http_use(&fake);
    return home;
}

static void forget(void) {
    char home[64];
    snprintf(home, sizeof home, "/tmp/crank-fuzz-answers.%d", (int)getpid());
    (void)!cr_rmtree(home, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int begun;
    const char *home = begin();
    if (!begun++) atexit(forget);
    if (size == 0) return 0;
    size_t n = size - 1;
    char *text = malloc(n + 1); /* its own block, so that a byte too far is seen */
    if (!text) return 0;
    memcpy(text, data + 1, n);
    text[n] = 0;
    input = text;
    input_end = text + n;
    n_calls = 0;
    piece = 0;
    if (data[0] == 'N' || data[0] == 'B') {
        static unsigned host; /* connections of an input before this one stay open */
        char path[60];
        snprintf(path, sizeof path, "hdfs://nn%u:9/a", ++host);
        if (data[0] == 'N')
            store(&cr_store_hdfs, path);
        else
            data_node();
        free(text);
        return 0;
    }
    setenv("AWS_ACCESS_KEY_ID", "id", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    setenv("OSS_ACCESS_KEY_ID", "id", 1);
    setenv("OSS_ACCESS_KEY_SECRET", "secret", 1);
    setenv("ALIBABA_CLOUD_ACCESS_KEY_ID", "id", 1);
    setenv("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "secret", 1);
    setenv("ALIBABA_CLOUD_SECURITY_TOKEN", "t", 1);
    switch (data[0] % 8) {
    case 0: store(&cr_store_webhdfs, "webhdfs://127.0.0.1:9/a/b"); break;
    case 1: store(&cr_store_s3, "s3://bucket/a/b"); break;
    case 2: store(&cr_store_oss, "oss://bucket/a/b"); break;
    case 3: maxcompute(); break;
    case 4: { /* keys that a machine or a container gives */
        cr_creds c;
        cr_fs_why why = {0};
        unsetenv("AWS_ACCESS_KEY_ID");
        unsetenv("OSS_ACCESS_KEY_ID");
        unsetenv("ALIBABA_CLOUD_ACCESS_KEY_ID");
        (void)cr_creds_aws(&c, true, &why);
        setenv("ALIBABA_CLOUD_CREDENTIALS_URI", "http://127.0.0.1:9/", 1);
        (void)cr_creds_alibaba(&c, true, &why);
        unsetenv("ALIBABA_CLOUD_CREDENTIALS_URI");
        break;
    }
    case 5: files(home, text, n); break;
    case 6: table("OdpsDataset"); break;
    default: table("OdpsDatasetV1");
    }
    free(text);
    return 0;
}
