/*
 * fuzz_store.c - any bytes as what comes from outside when data lies far away: XML answers of
 * object stores and Hadoop's files, Hadoop's file of tokens, encoded names, addresses of topics,
 * and the places of a stream in a checkpoint. Nothing may crash; places that are understood are
 * written as the same text again.
 *
 * The first byte chooses which of them; the rest is the input.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/kafka/kafka.h"
#include "data/kafka/places.h"
#include "store/hdfs_conf.h"
#include "store/http.h"
#include "store/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* a listing, as object_read.c takes it apart */
static void xml(const char *text, size_t n) {
    cr_xml all = {text, text + n}, x, in;
    char key[64];
    if (!cr_xml_next(&all, "ListBucketResult", &x)) return;
    cr_xml_text(x, "NextContinuationToken", key, sizeof key);
    for (cr_xml at = x; cr_xml_next(&at, "Contents", &in);) {
        size_t k = cr_xml_text(in, "Key", key, sizeof key);
        if (k < sizeof key && cr_http_decode(key, k) > k) abort();
        cr_xml_text(in, "ETag", key, 1);
        if (key[0]) abort();
    }
    for (cr_xml at = x; cr_xml_next(&at, "CommonPrefixes", &in);)
        cr_xml_text(in, "Prefix", key, sizeof key);
}

static void token(const char *text, size_t n) {
    char *t = cr_hdfs_token(text, n);
    for (const char *p = t; p && *p; p++)
        if (strchr("+/=", *p)) abort();
    free(t);
}

static void topic(const char *text) {
    cr_arena a;
    cr_kafka_url u;
    cr_err err;
    cr_arena_init(&a, 0);
    if (cr_kafka_parse(text, &a, &u, &err) == CR_OK && (!*u.brokers || u.n < 1)) abort();
    cr_arena_clear(&a);
}

static void places(const char *text) {
    cr_arena a;
    cr_kafka_places p;
    cr_err err;
    cr_buf out;
    cr_arena_init(&a, 0);
    cr_buf_init(&out);
    cr_kafka_places_init(&p, "t", 2, &a);
    if (cr_kafka_places_read(&p, text, 7, &err) == CR_OK) {
        /* numbers may have zeros in front */
        if (!cr_kafka_places_mark(&p, 7, &out) || out.n > strlen(text)) abort();
        cr_kafka_places_step(&p, 1, 5);
        if (cr_kafka_places_mark(&p, 9, &out)) abort();
    }
    cr_kafka_places_clear(&p);
    cr_buf_clear(&out);
    cr_arena_clear(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    size_t n = size - 1;
    char *text = malloc(n + 1); /* its own block, so that a byte too far is seen */
    if (!text) return 0;
    memcpy(text, data + 1, n);
    text[n] = 0;
    switch (data[0] % 5) {
    case 0: xml(text, n); break;
    case 1: token(text, n); break;
    case 2: topic(text); break;
    case 3: places(text); break;
    default:
        if (cr_http_decode(text, n) > n) abort();
    }
    free(text);
    return 0;
}
