/*
 * bench.c - how benchmarks take times: the best is never worse than the median, slow calls are not
 * repeated for their number's sake.
 */
#include <unistd.h>

#include "harness.h"
#include "tool/bench_int.h"

/* ctx: how long the calls numbered 0 (not timed), 1 and the rest take, microseconds */
static cr_code sleepy(void *ctx, int64_t call, cr_err *err) {
    const unsigned *us = ctx;
    (void)err;
    unsigned t = us[call < 2 ? call : 2];
    if (t) usleep(t);
    return CR_OK;
}

TEST(best_is_not_below_median) {
    cr_bench_time t;
    unsigned one_slow[] = {0, 30000, 0}; /* it would spoil the mean of a run without a window */
    CHECK_INT(cr_bench_repeat(0.06, sleepy, one_slow, &t, NULL), CR_OK);
    CHECK(t.best <= t.median);
}

TEST(calls_are_bound_by_time) {
    cr_bench_time t;
    unsigned slow[] = {300000, 20000, 20000};
    CHECK_INT(cr_bench_repeat(0.001, sleepy, slow, &t, NULL), CR_OK);
    CHECK_INT(t.calls, 1);
    CHECK(t.best >= 0.02);
}

TEST(windows_have_a_median) {
    static cr_bench_windows w;
    double best, median;
    w = (cr_bench_windows){.v = {5, 1, 2}, .n = 3};
    cr_bench_window_rates(&w, &best, &median);
    CHECK(best == 5 && median == 2);
    w = (cr_bench_windows){.v = {4, 10, 1, 2}, .n = 4};
    cr_bench_window_rates(&w, &best, &median);
    CHECK(best == 10 && median == 3);
    cr_bench_window_begin(&w, 1e-9); /* each addition is a window of its own */
    for (int i = 0; i < 3; i++) {
        usleep(10);
        cr_bench_window_add(&w, 1);
    }
    CHECK_INT(w.n, 3);
    cr_bench_window_begin(&w, 3600); /* none ends */
    usleep(10);
    cr_bench_window_add(&w, 1);
    CHECK_INT(w.n, 0);
    cr_bench_window_rates(&w, &best, &median);
    CHECK(best > 0 && best == median);
}

TEST_MAIN(CASE(best_is_not_below_median), CASE(calls_are_bound_by_time),
          CASE(windows_have_a_median))
