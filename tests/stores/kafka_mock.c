/*
 * kafka_mock.c - brokers of Kafka on loopback, for tests: the mock cluster of librdkafka, with the
 * rows of a Parquet file as Arrow messages.
 *
 *   kafka_mock FILE.parquet TOPIC PARTITIONS ROWS_OF_A_MESSAGE FIRST stream|bare
 *
 * Message i goes to partition i mod PARTITIONS, and its time is 1,700,000,000,000 ms and i seconds.
 * It writes FIRST messages, prints "brokers HOST:PORT" and then obeys lines of standard input, each
 * of which it answers with "ok":
 *
 *   more N     writes N more messages
 *   bad TEXT   writes a message that is no Arrow data
 *   fail N     the next N answers to fetches are errors that pass
 *   down, up   the broker goes away, and comes back
 *
 * It ends with standard input.
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/arrow/sink.h"
#include "data/load/loader.h"

#define MOST_COLUMNS 64
#define FIRST_MS     INT64_C(1700000000000)

static void die(const char *what, const char *why) {
    fprintf(stderr, "kafka_mock: %s: %s\n", what, why);
    exit(1);
}

static cr_code carry(void *ctx, const cr_chunk *chunk, cr_chunk_rows *to, cr_bad *bad,
                     cr_err *err) {
    (void)ctx;
    (void)bad;
    (void)err;
    to->rows.n_rows = chunk->n_rows;
    to->rows.n_reserved = chunk->n_cols;
    to->rows.reserved = chunk->cols;
    return CR_OK;
}

/* The rows of the file, a message at a time. */
static struct {
    cr_loader *loader;
    cr_arrow_enc *enc;
    int n_columns;
    bool bare, done;
} rows;

static void open_rows(const char *path, int64_t n_rows, bool bare) {
    static cr_want want[MOST_COLUMNS];
    static cr_data_conf conf;
    const cr_reader_type *r = cr_reader_find("ParquetDataset");
    cr_source *s;
    cr_diag diag;
    cr_err err = {0};
    const char *const *names;
    cr_diag_init(&diag);
    if (r->open(&s, &conf, path, NULL, 0, &diag) != CR_OK) die(path, diag.v[0].msg);
    rows.n_columns = r->columns(s, &names);
    if (rows.n_columns > MOST_COLUMNS) die(path, "it has too many columns");
    for (int i = 0; i < rows.n_columns; i++)
        want[i] = (cr_want){.name = strdup(names[i]), .type = -1};
    r->close(s);
    cr_loader_opts o = {.conf = &conf,
                        .reader = r,
                        .paths = path,
                        .want = want,
                        .n_want = rows.n_columns,
                        .encode = carry,
                        .batch_size = n_rows,
                        .n_threads = 1,
                        .n_epochs = 1};
    if (cr_loader_new(&rows.loader, &o, &diag) != CR_OK) die(path, diag.v[0].msg);
    cr_colkind kinds[MOST_COLUMNS];
    cr_sink_col cols[MOST_COLUMNS];
    cr_loader_kinds(rows.loader, kinds);
    for (int i = 0; i < rows.n_columns; i++)
        cols[i] = (cr_sink_col){.name = want[i].name, .kind = kinds[i]};
    rows.enc = cr_arrow_enc_new(cols, rows.n_columns, bare ? CR_ARROW_PLAIN : CR_ARROW_LZ4);
    rows.bare = bare;
    (void)err;
    cr_diag_clear(&diag);
}

/* Makes the next message; false: there are no more rows. */
static bool next_message(cr_buf *out) {
    cr_err err = {0};
    cr_batch *b = NULL;
    const cr_column *v[MOST_COLUMNS];
    if (rows.done) return false;
    if (cr_loader_next(rows.loader, &b, &rows.done, &err) != CR_OK) die("rows", err.msg);
    if (!b) return false;
    for (int i = 0; i < rows.n_columns; i++)
        v[i] = &b->reserved[i];
    cr_buf_reset(out);
    if (!rows.bare) cr_arrow_enc_begin(rows.enc, out);
    if (cr_arrow_enc_batch(rows.enc, v, b->n_rows, out, &err) != CR_OK) die("rows", err.msg);
    if (!rows.bare) cr_arrow_enc_end(out);
    cr_loader_release(rows.loader, b);
    return true;
}

static rd_kafka_t *producer;
static const char *topic;
static int n_partitions, n_sent;

static void send_message(const void *data, size_t n) {
    /* the array in the place of librdkafka's macros, which are no standard C */
    const rd_kafka_vu_t v[] = {{.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = topic},
                               {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = n_sent % n_partitions},
                               {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
                               {.vtype = RD_KAFKA_VTYPE_VALUE,
                                .u.mem = {(void *)(uintptr_t)data, n}},
                               {.vtype = RD_KAFKA_VTYPE_TIMESTAMP,
                                .u.i64 = FIRST_MS + 1000 * (int64_t)n_sent}};
    rd_kafka_error_t *e = rd_kafka_produceva(producer, v, sizeof v / sizeof *v);
    if (e) die("produce", rd_kafka_error_string(e));
    n_sent++;
}

static void send_rows(int n) {
    cr_buf text;
    cr_buf_init(&text);
    for (int i = 0; i < n && next_message(&text); i++)
        send_message(text.data, text.n);
    rd_kafka_flush(producer, 30000);
    cr_buf_clear(&text);
}

static void obey(rd_kafka_mock_cluster_t *cluster, const char *line) {
    int n = 0;
    if (sscanf(line, "more %d", &n) == 1) {
        send_rows(n);
    } else if (strncmp(line, "bad ", 4) == 0) {
        send_message(line + 4, strcspn(line + 4, "\n"));
        rd_kafka_flush(producer, 30000);
    } else if (sscanf(line, "fail %d", &n) == 1) {
        for (int i = 0; i < n; i++)
            rd_kafka_mock_push_request_errors(cluster, 1 /* Fetch */, 1,
                                              RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT);
    } else if (strncmp(line, "down", 4) == 0) {
        rd_kafka_mock_broker_set_down(cluster, 1);
    } else if (strncmp(line, "up", 2) == 0) {
        rd_kafka_mock_broker_set_up(cluster, 1);
    } else {
        die("unknown command", line);
    }
    printf("ok\n");
    fflush(stdout);
}

int main(int argc, char **argv) {
    char text[300], line[300];
    if (argc != 7) die("usage", "see the head of kafka_mock.c");
    topic = argv[2];
    n_partitions = atoi(argv[3]);
    if (n_partitions < 1) die("PARTITIONS", argv[3]);
    open_rows(argv[1], atoi(argv[4]), strcmp(argv[6], "bare") == 0);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    if (!producer) die("librdkafka", text);
    rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(producer, 1);
    if (!cluster) die("librdkafka", "no mock cluster");
    rd_kafka_mock_topic_create(cluster, topic, n_partitions, 1);
    const char *brokers = rd_kafka_mock_cluster_bootstraps(cluster);
    /* a producer of its own: the one that holds the cluster is not connected to it */
    rd_kafka_t *holder = producer;
    conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers, text, sizeof text);
    producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    if (!producer) die("librdkafka", text);
    send_rows(atoi(argv[5]));
    printf("brokers %s\n", brokers);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        obey(cluster, line);
    rd_kafka_destroy(producer);
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(holder);
    cr_arrow_enc_free(rows.enc);
    cr_loader_free(rows.loader);
    return 0;
}
