/*
 * kafka.h - a topic of Kafka: its address, and the library that talks to the brokers.
 *
 *   kafka://broker1:9092,broker2:9092/topic?group.id=G&KEY=VALUE&start.timestamp.ms=MS
 *
 * The library (librdkafka) is a plug-in of its own, kafka-rdkafka.so, which is loaded when the
 * first topic is opened; plug_rd.c is the only file that includes its header. Partitions are read
 * one by one, each from a place that the caller names: a consumer group would deal them out by who
 * came first, and no run could be repeated.
 */
#ifndef CR_DATA_KAFKA_KAFKA_H
#define CR_DATA_KAFKA_KAFKA_H

#include "base/buf.h"
#include "base/mem.h"

/* ---- addresses (url.c) ---- */

typedef struct cr_kafka_url {
    const char *brokers, *topic;
    /* what librdkafka is told, in the order of the address; secrets are among it */
    const char **keys, **values;
    int n;
    bool earliest;        /* auto.offset.reset: where there is no other place to begin */
    int64_t start_ms;     /* start.timestamp.ms; -1: not given */
    int64_t stop_ms;      /* stop.timestamp.ms; -1: not given */
    bool stop_at_end;     /* stop.at.end */
    int64_t skip_idle_ms; /* skip.idle.ms: a partition that is silent so long is passed over; 0:
                             never */
} cr_kafka_url;

/* cr_kafka_is_url: does a path name a topic? */
bool cr_kafka_is_url(const char *path);
/* cr_kafka_parse takes an address apart; what it makes lives in the arena. */
CR_CHECKED cr_code cr_kafka_parse(const char *url, cr_arena *a, cr_kafka_url *out, cr_err *err);

/* cr_kafka_look asks the brokers for the first offset of each partition and the one behind the last
 * message. */
typedef struct cr_kafka_bounds {
    int64_t low, high;
} cr_kafka_bounds;
CR_CHECKED cr_code cr_kafka_look(const char *path, cr_arena *a, cr_kafka_bounds **out, int *n,
                                 cr_err *err);

/* ---- the plug-in ---- */

#define CR_KAFKA_ABI 1

typedef struct cr_kafka_msg {
    int64_t offset, time_ms;
    const void *data;
    size_t n;
    void *handle; /* for give_back */
} cr_kafka_msg;

/* How a wait for a message ended. */
typedef enum cr_kafka_got {
    CR_KAFKA_MSG,
    CR_KAFKA_NONE,   /* nothing came in time */
    CR_KAFKA_END,    /* the end of the partition as it is now; msg.offset is the next one */
    CR_KAFKA_GONE,   /* the broker has no such offset any more */
    CR_KAFKA_FAILED, /* why tells it */
} cr_kafka_got;

/* Functions return false with the cause in why. Only `next` is called from several threads, one per
 * partition at most. Times are in milliseconds. */
typedef struct cr_kafka_plug {
    int abi;
    bool (*open)(void **c, const cr_kafka_url *u, char *why, size_t size);
    void (*close)(void *c);
    bool (*partitions)(void *c, int wait, int *n, char *why, size_t size);
    /* the first offset that is there, and the one that comes next */
    bool (*bounds)(void *c, int partition, int wait, int64_t *low, int64_t *high, char *why,
                   size_t size);
    /* the first offsets of partitions [from, from + n) whose time is not before ms; -1: none */
    bool (*at_time)(void *c, int from, int n, int64_t ms, int wait, int64_t *out, char *why,
                    size_t size);
    /* the offsets that the group has committed; -1: none */
    bool (*committed)(void *c, int n, int wait, int64_t *out, char *why, size_t size);
    /* start begins to fetch a partition from an offset; stop ends that */
    bool (*start)(void *c, int partition, int64_t offset, char *why, size_t size);
    void (*stop)(void *c, int partition);
    cr_kafka_got (*next)(void *c, int partition, int wait, cr_kafka_msg *msg, char *why,
                         size_t size);
    void (*give_back)(cr_kafka_msg *msg);
} cr_kafka_plug;
extern const cr_kafka_plug cr_kafka_plug_of; /* what crank looks for in the library */

#endif
