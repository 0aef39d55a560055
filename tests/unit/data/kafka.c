/*
 * kafka.c - addresses of topics, and the places of their partitions. Whole runs on brokers are in
 * tests/cli/cases/kafka.sh.
 */
#include <string.h>

#include "data/kafka/kafka.h"
#include "data/kafka/places.h"
#include "harness.h"

TEST(addresses) {
    cr_arena a;
    cr_kafka_url u;
    cr_err err;
    cr_arena_init(&a, 0);
    CHECK_INT(cr_kafka_parse("kafka://b1:9092,b2:9092/clicks?group.id=g&start.timestamp.ms=17&"
                             "sasl.password=a%26b+c&auto.offset.reset=earliest&stop.at.end=true",
                             &a, &u, &err),
              0);
    CHECK_STR(u.brokers, "b1:9092,b2:9092");
    CHECK_STR(u.topic, "clicks");
    CHECK_INT(u.n, 2);
    CHECK_STR(u.keys[1], "sasl.password");
    CHECK_STR(u.values[1], "a&b c");
    CHECK_INT(u.start_ms, 17);
    CHECK_INT(u.stop_ms, -1);
    CHECK(u.earliest && u.stop_at_end);
    static const struct {
        const char *url, *says;
    } wrong[] = {
        {"http://b/t?group.id=g", "kafka://"},
        {"kafka:///t?group.id=g", "names no broker"},
        {"kafka://b/?group.id=g", "names no topic"},
        {"kafka://b/t", "has no group.id"},
        {"kafka://b/t?group.id=", "has no group.id"},
        {"kafka://b/t?group.id=g&x", "not KEY=VALUE"},
        {"kafka://b/t?group.id=g&start.timestamp.ms=-1", "milliseconds"},
        {"kafka://b/t?group.id=g&start.timestamp.ms=9&stop.timestamp.ms=8", "stops before"},
        {"kafka://b/t?group.id=g&auto.offset.reset=none", "earliest or latest"},
        {"kafka://b/t?group.id=g&stop.at.end=1", "true or false"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(cr_kafka_parse(wrong[i].url, &a, &u, &err) != CR_OK);
        CHECK(strstr(err.msg, wrong[i].says) != NULL);
    }
    cr_arena_clear(&a);
}

/* one message of each partition in turn; what a checkpoint keeps leads back to the same places */
TEST(places_come_back) {
    cr_arena a;
    cr_kafka_places p, q;
    cr_buf text, again;
    cr_err err;
    cr_arena_init(&a, 0);
    cr_buf_init(&text);
    cr_buf_init(&again);
    cr_kafka_places_init(&p, "t", 2, &a);
    p.v[0] = (cr_kafka_place){10, 10, 30};
    p.v[1] = (cr_kafka_place){0, 0, -1};
    cr_kafka_places_rewind(&p);
    cr_kafka_places_step(&p, 0, 10);
    cr_kafka_places_step(&p, 1, 4);  /* offsets have gaps */
    cr_kafka_places_step(&p, 0, -1); /* passed over */
    cr_kafka_places_step(&p, 1, 5);
    CHECK_INT(p.block, 3);
    CHECK(cr_kafka_places_mark(&p, 2, &text));
    CHECK_STR(text.data, "t:0=10,11,30 t:1=0,5,- turn=0");
    cr_buf_reset(&text);
    CHECK(cr_kafka_places_mark(&p, 3, &text));
    CHECK_STR(text.data, "t:0=10,11,30 t:1=0,6,- turn=0");
    CHECK(!cr_kafka_places_mark(&p, 4, &again));
    cr_kafka_places_init(&q, "t", 2, &a);
    CHECK_INT(cr_kafka_places_read(&q, text.data, 3, &err), 0);
    CHECK(cr_kafka_places_mark(&q, 3, &again));
    CHECK_STR(again.data, text.data);
    CHECK(!cr_kafka_places_mark(&q, 2, &again));
    /* the beginning of an epoch is always known */
    cr_buf_reset(&again);
    CHECK(cr_kafka_places_mark(&q, 0, &again));
    CHECK_STR(again.data, "t:0=10,10,30 t:1=0,0,- turn=0");
    q.v[0].next = 30;
    CHECK(cr_kafka_places_over(&q, 0) && !cr_kafka_places_over(&q, 1));
    CHECK(cr_kafka_places_read(&q, "other:0=10,11,30 other:1=0,6,- turn=0", 3, &err) != CR_OK);
    CHECK(cr_kafka_places_read(&q, "t:0=10,11,30 turn=0", 3, &err) != CR_OK);
    cr_kafka_places_clear(&p);
    cr_kafka_places_clear(&q);
    cr_buf_clear(&text);
    cr_buf_clear(&again);
    cr_arena_clear(&a);
}

/* millions of messages: old ones are forgotten, recent ones are not */
TEST(long_runs_forget) {
    cr_arena a;
    cr_kafka_places p;
    cr_buf text;
    cr_arena_init(&a, 0);
    cr_buf_init(&text);
    cr_kafka_places_init(&p, "t", 1, &a);
    p.v[0] = (cr_kafka_place){0, 0, -1};
    cr_kafka_places_rewind(&p);
    for (int64_t i = 0; i < 3000000; i++)
        cr_kafka_places_step(&p, 0, i);
    CHECK(!cr_kafka_places_mark(&p, 1000, &text));
    CHECK(cr_kafka_places_mark(&p, 2999000, &text));
    CHECK_STR(text.data, "t:0=0,2999000,- turn=0");
    cr_kafka_places_clear(&p);
    cr_buf_clear(&text);
    cr_arena_clear(&a);
}

TEST_MAIN(CASE(addresses), CASE(places_come_back), CASE(long_runs_forget))
