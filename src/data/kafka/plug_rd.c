/*
 * plug_rd.c - librdkafka behind the table of kafka.h; the plug-in kafka-rdkafka.so. The only file
 * that includes rdkafka.h.
 *
 * Every partition is fetched into a queue of its own, so that the caller decides which one is read
 * next. No consumer group is joined: nobody is thrown out of it while a long evaluation runs.
 */
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/kafka/kafka.h"

typedef struct client {
    rd_kafka_t *rk;
    rd_kafka_topic_t *topic;
    const char *name;
    rd_kafka_queue_t **queues; /* per partition; NULL: it is not fetched */
    int n_queues;
    pthread_mutex_t lock;
    char trouble[200]; /* what the client said last about brokers */
} client;

static bool wrong(char *why, size_t size, const client *c, const char *text) {
    client *m = (client *)(uintptr_t)c;
    pthread_mutex_lock(&m->lock);
    snprintf(why, size, "%s%s%s", text, m->trouble[0] ? ": " : "", m->trouble);
    pthread_mutex_unlock(&m->lock);
    return false;
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *ctx) {
    client *c = ctx;
    (void)rk;
    (void)code;
    pthread_mutex_lock(&c->lock);
    snprintf(c->trouble, sizeof c->trouble, "%s", reason ? reason : "");
    pthread_mutex_unlock(&c->lock);
}

/* The library's lines would mix with those of crank; errors come through on_error. */
static void no_log(const rd_kafka_t *rk, int level, const char *fac, const char *text) {
    (void)rk;
    (void)level;
    (void)fac;
    (void)text;
}

static bool set(rd_kafka_conf_t *conf, const char *key, const char *value, char *why, size_t size) {
    char text[300];
    if (rd_kafka_conf_set(conf, key, value, text, sizeof text) == RD_KAFKA_CONF_OK) return true;
    /* the text of the library may hold the value, which may be a password */
    snprintf(why, size, "librdkafka does not take the key '%s' with this value", key);
    return false;
}

static void close_client(void *ctx) {
    client *c = ctx;
    if (!c) return;
    for (int i = 0; i < c->n_queues; i++)
        if (c->queues[i]) {
            rd_kafka_consume_stop(c->topic, i);
            rd_kafka_queue_destroy(c->queues[i]);
        }
    free(c->queues);
    if (c->topic) rd_kafka_topic_destroy(c->topic);
    if (c->rk) rd_kafka_destroy(c->rk);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static bool open_client(void **out, const cr_kafka_url *u, char *why, size_t size) {
    client *c = calloc(1, sizeof *c);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char text[300];
    if (!c) {
        rd_kafka_conf_destroy(conf);
        snprintf(why, size, "no memory");
        return false;
    }
    pthread_mutex_init(&c->lock, NULL);
    c->name = u->topic;
    bool fine = set(conf, "bootstrap.servers", u->brokers, why, size) &&
                set(conf, "enable.auto.commit", "false", why, size);
    for (int i = 0; fine && i < u->n; i++)
        fine = set(conf, u->keys[i], u->values[i], why, size);
    /* an offset that is not there must never become another one silently */
    fine = fine && set(conf, "auto.offset.reset", "error", why, size) &&
           set(conf, "enable.partition.eof", "true", why, size);
    rd_kafka_conf_set_opaque(conf, c);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, no_log);
    if (!fine) {
        rd_kafka_conf_destroy(conf);
        close_client(c);
        return false;
    }
    c->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
    if (!c->rk) {
        rd_kafka_conf_destroy(conf);
        snprintf(why, size, "%s", text);
        close_client(c);
        return false;
    }
    c->topic = rd_kafka_topic_new(c->rk, u->topic, NULL);
    if (!c->topic) {
        snprintf(why, size, "%s", rd_kafka_err2str(rd_kafka_last_error()));
        close_client(c);
        return false;
    }
    *out = c;
    return true;
}

static bool partitions(void *ctx, int wait, int *n, char *why, size_t size) {
    client *c = ctx;
    const struct rd_kafka_metadata *m;
    rd_kafka_resp_err_t e = rd_kafka_metadata(c->rk, 0, c->topic, &m, wait);
    rd_kafka_poll(c->rk, 0);
    if (e) return wrong(why, size, c, rd_kafka_err2str(e));
    e = m->topic_cnt == 1 ? m->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    *n = m->topic_cnt == 1 ? m->topics[0].partition_cnt : 0;
    rd_kafka_metadata_destroy(m);
    if (e || *n == 0)
        return wrong(why, size, c,
                     rd_kafka_err2str(e ? e : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART));
    if (c->queues) return true;
    c->queues = calloc((size_t)*n, sizeof *c->queues);
    c->n_queues = c->queues ? *n : 0;
    return c->queues || wrong(why, size, c, "no memory");
}

static bool bounds(void *ctx, int partition, int wait, int64_t *low, int64_t *high, char *why,
                   size_t size) {
    client *c = ctx;
    rd_kafka_resp_err_t e =
        rd_kafka_query_watermark_offsets(c->rk, c->name, partition, low, high, wait);
    rd_kafka_poll(c->rk, 0);
    return !e || wrong(why, size, c, rd_kafka_err2str(e));
}

static bool at_time(void *ctx, int from, int n, int64_t ms, int wait, int64_t *out, char *why,
                    size_t size) {
    client *c = ctx;
    rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(n);
    for (int i = 0; i < n; i++)
        rd_kafka_topic_partition_list_add(l, c->name, from + i)->offset = ms;
    rd_kafka_resp_err_t e = rd_kafka_offsets_for_times(c->rk, l, wait);
    for (int i = 0; !e && i < n; i++) {
        e = l->elems[i].err;
        out[l->elems[i].partition - from] = l->elems[i].offset >= 0 ? l->elems[i].offset : -1;
    }
    rd_kafka_topic_partition_list_destroy(l);
    return !e || wrong(why, size, c, rd_kafka_err2str(e));
}

static bool committed(void *ctx, int n, int wait, int64_t *out, char *why, size_t size) {
    client *c = ctx;
    rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(n);
    for (int i = 0; i < n; i++)
        rd_kafka_topic_partition_list_add(l, c->name, i);
    rd_kafka_resp_err_t e = rd_kafka_committed(c->rk, l, wait);
    for (int i = 0; !e && i < n; i++) {
        e = l->elems[i].err;
        out[l->elems[i].partition] = l->elems[i].offset >= 0 ? l->elems[i].offset : -1;
    }
    rd_kafka_topic_partition_list_destroy(l);
    return !e || wrong(why, size, c, rd_kafka_err2str(e));
}

static void stop(void *ctx, int partition) {
    client *c = ctx;
    if (!c->queues[partition]) return;
    rd_kafka_consume_stop(c->topic, partition);
    rd_kafka_queue_destroy(c->queues[partition]);
    c->queues[partition] = NULL;
}

static bool start(void *ctx, int partition, int64_t offset, char *why, size_t size) {
    client *c = ctx;
    stop(ctx, partition);
    rd_kafka_queue_t *q = rd_kafka_queue_new(c->rk);
    if (rd_kafka_consume_start_queue(c->topic, partition, offset, q) != 0) {
        rd_kafka_queue_destroy(q);
        return wrong(why, size, c, rd_kafka_err2str(rd_kafka_last_error()));
    }
    c->queues[partition] = q;
    return true;
}

static cr_kafka_got next(void *ctx, int partition, int wait, cr_kafka_msg *msg, char *why,
                         size_t size) {
    client *c = ctx;
    rd_kafka_message_t *m = rd_kafka_consume_queue(c->queues[partition], wait);
    rd_kafka_poll(c->rk, 0);
    if (!m) return CR_KAFKA_NONE;
    rd_kafka_resp_err_t e = m->err;
    rd_kafka_timestamp_type_t type;
    *msg = (cr_kafka_msg){.offset = m->offset,
                          .time_ms = e ? -1 : rd_kafka_message_timestamp(m, &type),
                          .data = m->payload,
                          .n = m->len,
                          .handle = m};
    if (!e) return CR_KAFKA_MSG;
    /* an error may carry a text instead of a name */
    const char *text = m->payload && m->len ? rd_kafka_message_errstr(m) : rd_kafka_err2str(e);
    wrong(why, size, c, text);
    rd_kafka_message_destroy(m);
    msg->handle = NULL;
    switch (e) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF: return CR_KAFKA_END;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE: return CR_KAFKA_GONE;
    /* the library goes on by itself after these */
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION: return CR_KAFKA_NONE;
    default: return CR_KAFKA_FAILED;
    }
}

static void give_back(cr_kafka_msg *msg) {
    if (msg->handle) rd_kafka_message_destroy(msg->handle);
    msg->handle = NULL;
}

const cr_kafka_plug cr_kafka_plug_of = {.abi = CR_KAFKA_ABI,
                                        .open = open_client,
                                        .close = close_client,
                                        .partitions = partitions,
                                        .bounds = bounds,
                                        .at_time = at_time,
                                        .committed = committed,
                                        .start = start,
                                        .stop = stop,
                                        .next = next,
                                        .give_back = give_back};
