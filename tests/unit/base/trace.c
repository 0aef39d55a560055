/*
 * trace.c - spans of several threads: each in its row, in order; off means nothing; no room means
 * dropped and counted; the pool's threads record what they are told they do.
 */
#include "base/trace.h"

#include <pthread.h>

#include "base/mem.h"
#include "base/pool.h"
#include "harness.h"

TEST(off_costs_nothing) {
    CHECK(cr_trace_begin(NULL) == 0);
    CHECK(cr_trace_end(NULL, 0, CR_STAGE_READ, 0) == 0);
    CHECK_INT(cr_trace_row(NULL, "a", 0), -1);
    cr_trace_switch(NULL, true);
    cr_trace *t = cr_trace_new(1, 4);
    int row = cr_trace_row(t, "a", 0);
    CHECK(cr_trace_begin(t) == 0);
    CHECK(cr_trace_end(t, row, CR_STAGE_READ, cr_trace_begin(t)) == 0);
    int64_t n;
    cr_trace_spans(t, row, &n);
    CHECK_INT(n, 0);
    cr_trace_free(t);
    cr_trace_free(NULL);
}

TEST(spans_in_order) {
    cr_trace *t = cr_trace_new(2, 3);
    int a = cr_trace_row(t, "main", 0), b = cr_trace_row(t, "data", 2);
    CHECK_INT(cr_trace_row(t, "more", 1), -1);
    CHECK_INT(cr_trace_rows(t), 2);
    CHECK_STR(cr_trace_row_name(t, a), "main");
    CHECK_STR(cr_trace_row_name(t, b), "data 2");
    cr_trace_switch(t, true);
    uint64_t before = cr_alloc_count();
    double t0 = cr_trace_begin(t);
    CHECK(t0 > 0);
    t0 = cr_trace_end(t, a, CR_STAGE_FORWARD, t0);
    cr_trace_end(t, a, CR_STAGE_BACKWARD, t0);
    cr_trace_step(t, b, 77, t0);
    cr_trace_end(t, -1, CR_STAGE_WAIT, t0);
    int64_t n;
    const cr_span *s = cr_trace_spans(t, a, &n);
    CHECK_INT(n, 2);
    CHECK(s[0].stage == CR_STAGE_FORWARD && s[1].stage == CR_STAGE_BACKWARD);
    CHECK(s[0].t0 <= s[0].t1 && s[0].t1 == s[1].t0 && s[1].t0 <= s[1].t1);
    s = cr_trace_spans(t, b, &n);
    CHECK(n == 1 && s[0].stage == CR_STAGE_STEP && s[0].number == 77);
    CHECK_INT(cr_trace_dropped(t), 0);
    for (int i = 0; i < 3; i++)
        cr_trace_end(t, a, CR_STAGE_WAIT, t0);
    cr_trace_spans(t, a, &n);
    CHECK_INT(n, 3);
    CHECK_INT(cr_trace_dropped(t), 2);
    CHECK_INT(cr_alloc_count() - before, 0);
    cr_trace_free(t);
}

TEST(stage_names) {
    for (int s = CR_STAGE_NONE + 1; s < CR_STAGES; s++)
        CHECK(*cr_stage_name((cr_stage)s));
    CHECK_STR(cr_stage_name(CR_STAGE_WAIT), "wait");
    CHECK_STR(cr_stage_name(CR_STAGES), "");
}

static void item(void *ctx, int64_t i, int thread) {
    (void)thread;
    ((int64_t *)ctx)[i] = i;
}

TEST(pool_threads) {
    cr_pool *p;
    int64_t v[64];
    CHECK_INT(cr_pool_new(&p, 3, NULL), 0);
    cr_trace *t = cr_trace_new(3, 1000);
    cr_pool_trace(p, t);
    CHECK_STR(cr_trace_row_name(t, 0), "main");
    CHECK_STR(cr_trace_row_name(t, 2), "compute 2");
    cr_pool_stage(p, CR_STAGE_UPDATE);
    cr_pool_run(p, 64, item, v);
    cr_trace_switch(t, true);
    for (int i = 0; i < 20; i++)
        cr_pool_run(p, 64, item, v);
    cr_pool_stage(p, CR_STAGE_NONE);
    for (int i = 0; i < 20; i++)
        cr_pool_run(p, 64, item, v);
    cr_trace_switch(t, false);
    cr_pool_run(p, 64, item, v);
    int64_t n, updates = 0;
    const cr_span *s = cr_trace_spans(t, 0, &n);
    for (int64_t i = 0; i < n; i++) {
        CHECK(s[i].stage == CR_STAGE_UPDATE || s[i].stage == CR_STAGE_WAIT);
        CHECK(s[i].t1 >= s[i].t0 && (i == 0 || s[i].t0 >= s[i - 1].t1));
        updates += s[i].stage == CR_STAGE_UPDATE;
    }
    CHECK_INT(updates, 20);
    int row;
    CHECK(cr_pool_get_trace(p, 2, &row) == t && row == 2);
    cr_pool_trace(p, NULL);
    CHECK(cr_pool_get_trace(p, 2, &row) == NULL);
    cr_pool_free(p);
    cr_trace_free(t);
}

static void *many(void *arg) {
    cr_trace *t = arg;
    int row = cr_trace_row(t, "thread", 1);
    for (int i = 0; i < 500; i++)
        cr_trace_end(t, row, CR_STAGE_PARSE, cr_trace_begin(t));
    return NULL;
}

TEST(read_while_written) {
    cr_trace *t = cr_trace_new(4, 1000);
    cr_trace_switch(t, true);
    pthread_t th[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&th[i], NULL, many, t);
    for (int k = 0; k < 100; k++)
        for (int r = 0; r < cr_trace_rows(t); r++) {
            int64_t n;
            const cr_span *s = cr_trace_spans(t, r, &n);
            if (n > 0) CHECK(s[n - 1].stage == CR_STAGE_PARSE && s[n - 1].t1 >= s[n - 1].t0);
        }
    for (int i = 0; i < 4; i++)
        pthread_join(th[i], NULL);
    for (int r = 0; r < 4; r++) {
        int64_t n;
        cr_trace_spans(t, r, &n);
        CHECK_INT(n, 500);
    }
    cr_trace_free(t);
}

TEST_MAIN(CASE(off_costs_nothing), CASE(spans_in_order), CASE(stage_names), CASE(pool_threads),
          CASE(read_while_written))
