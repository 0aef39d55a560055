/*
 * feed.h - feeding metrics for tests: rows in batches of any size, against golden values, and the
 * same bits for every split.
 */
#ifndef TESTS_METRIC_FEED_H
#define TESTS_METRIC_FEED_H

#include "golden/golden.h"
#include "harness.h"

#include "base/rng.h"
#include "metric/metric.h"

static golden G;
static float *Gf(const char *name) {
    if (!G.n) golden_load(&G, "metric.txt");
    return golden_f32(golden_get(&G, name));
}

/* Feeds n rows in batches of `batch` (0: sizes 1, 2, 3 …). */
static double feed(const cr_metric_type *type, const void *conf, int64_t K, const float *pred,
                   const float *label, const int64_t *group, int64_t n, int64_t batch) {
    cr_metric *m = NULL;
    cr_err err;
    CHECK_INT(type->new_(&m, conf, K, &err), CR_OK);
    double value = NAN;
    for (int round = 0; round < 2; round++) { /* twice: reset must forget everything */
        type->reset(m);
        for (int64_t i = 0, size = 1; i < n; i += size, size = batch ? batch : size + 1) {
            if (batch) size = batch;
            if (size > n - i) size = n - i;
            cr_metric_in in = {.n_rows = size,
                               .K = K,
                               .pred = pred + i * K,
                               .pred_stride = K,
                               .label = label + i,
                               .group = group ? group + i : NULL};
            CHECK_INT(type->update(m, &in, &err), CR_OK);
            if (i == 0) (void)type->value(m); /* asking early changes nothing */
        }
        value = type->value(m);
    }
    type->free_(m);
    return value;
}

/* sizes of batches that look random: 1 .. 97 */
static double feed_randomly(const cr_metric_type *type, const void *conf, int64_t K,
                            const float *pred, const float *label, const int64_t *group, int64_t n,
                            uint64_t seed) {
    cr_metric *m = NULL;
    cr_err err;
    CHECK_INT(type->new_(&m, conf, K, &err), CR_OK);
    for (int64_t i = 0, size; i < n; i += size) {
        size = 1 + (int64_t)cr_rng_below(seed, (uint64_t)i, 97);
        if (size > n - i) size = n - i;
        cr_metric_in in = {.n_rows = size,
                           .K = K,
                           .pred = pred + i * K,
                           .pred_stride = K,
                           .label = label + i,
                           .group = group ? group + i : NULL};
        CHECK_INT(type->update(m, &in, &err), CR_OK);
        if (size % 5 == 0) (void)type->value(m);
    }
    double value = type->value(m);
    type->free_(m);
    return value;
}

/* each row goes to one of four metrics by chance, in another order; then their states are merged */
static double feed_divided(const cr_metric_type *type, const void *conf, int64_t K,
                           const float *pred, const float *label, const int64_t *group, int64_t n,
                           uint64_t seed) {
    enum { PARTS = 4 };
    cr_metric *m[PARTS] = {NULL};
    cr_err err;
    for (int k = 0; k < PARTS; k++)
        CHECK_INT(type->new_(&m[k], conf, K, &err), CR_OK);
    for (int64_t j = 0; j < n; j++) {
        int64_t i = seed & 1 ? n - 1 - j : j;
        cr_metric_in in = {.n_rows = 1,
                           .K = K,
                           .pred = pred + i * K,
                           .pred_stride = K,
                           .label = label + i,
                           .group = group ? group + i : NULL};
        CHECK_INT(type->update(m[cr_rng_below(seed, (uint64_t)i, PARTS)], &in, &err), CR_OK);
    }
    cr_buf state;
    cr_buf_init(&state);
    for (int k = 1; k < PARTS; k++) {
        cr_buf_reset(&state);
        type->pack(m[k], &state);
        CHECK_INT(type->merge(m[0], state.data, state.n, &err), CR_OK);
        CHECK_INT(type->merge(m[k], state.data, state.n + 3, &err), CR_ERUN);
    }
    double value = type->value(m[0]);
    cr_buf_clear(&state);
    for (int k = 0; k < PARTS; k++)
        type->free_(m[k]);
    return value;
}

static void golden_case(const cr_metric_type *type, const void *conf, int64_t K, const char *pred,
                        const char *label, const int64_t *group, const char *want) {
    float *p = Gf(pred), *y = Gf(label);
    int64_t n = golden_get(&G, label)->n;
    double first = feed(type, conf, K, p, y, group, n, n);
    CHECK_NEAR(first, golden_get(&G, want)->v[0], 1e-12, 1e-12);
    static const int64_t batches[] = {0, 1, 7, 64, 399};
    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        double v = feed(type, conf, K, p, y, group, n, batches[b]);
        CHECK(memcmp(&v, &first, sizeof v) == 0);
    }
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double v = feed_randomly(type, conf, K, p, y, group, n, seed);
        CHECK(memcmp(&v, &first, sizeof v) == 0);
        v = feed_divided(type, conf, K, p, y, group, n, seed);
        CHECK(memcmp(&v, &first, sizeof v) == 0);
    }
    free(p);
    free(y);
}

static inline int64_t *keys(const char *name) {
    free(Gf(name));
    const golden_tensor *t = golden_get(&G, name);
    int64_t *group = calloc((size_t)t->n, sizeof *group);
    for (int64_t i = 0; i < t->n; i++) {
        group[i] = (int64_t)t->v[i];
    }
    return group;
}

#endif
