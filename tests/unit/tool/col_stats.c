/*
 * col_stats.c - the statistics of `crank check` against plain sums, and their memory's limits.
 */
#include "tool/col_stats.h"

#include <math.h>

#include "base/rng.h"
#include "harness.h"

static cr_arena arena;

TEST(numbers) {
    col_stats s;
    cr_stats_init(&s, true, &arena);
    for (int i = 1; i <= 101; i++)
        cr_stats_number(&s, (float)i);
    double q[3] = {0.25, 0.5, 0.75}, v[3];
    bool exact;
    cr_stats_quantiles(&s, q, 3, v);
    CHECK_INT(s.n, 101);
    CHECK_NEAR(s.mean, 51, 1e-12, 0);
    CHECK_NEAR(cr_stats_sd(&s), sqrt(850), 1e-9, 0);
    CHECK_NEAR(cr_stats_scale(&s), sqrt(51 * 51 + 850), 1e-9, 0);
    CHECK_NEAR(s.min, 1, 0, 0);
    CHECK_NEAR(s.max, 101, 0, 0);
    CHECK_NEAR(v[0], 26, 0, 0);
    CHECK_NEAR(v[1], 51, 0, 0);
    CHECK_NEAR(v[2], 76, 0, 0);
    CHECK_NEAR(cr_stats_distinct(&s, &exact), 101, 0, 0);
    CHECK(exact);
}

/* a long stream: an even sample, an estimate of distinct values, no more memory */
TEST(long_stream) {
    col_stats s;
    cr_stats_init(&s, true, &arena);
    const int n = 500000;
    for (int i = 0; i < n; i++)
        cr_stats_number(&s, (float)(i % 50000));
    double q[3] = {0.1, 0.5, 0.9}, v[3];
    bool exact;
    cr_stats_quantiles(&s, q, 3, v);
    CHECK(s.n_kept <= CR_STATS_KEPT && s.n_kept >= CR_STATS_KEPT / 2);
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(v[i], q[i] * 50000, 1000, 0);
    CHECK_NEAR(cr_stats_distinct(&s, &exact), 50000, 5000, 0);
    CHECK(!exact);
    CHECK_NEAR(s.mean, 24999.5, 1e-6, 0);
}

TEST(cuts) {
    col_stats s;
    double v[9];
    cr_stats_init(&s, true, &arena);
    for (int i = 0; i < 900; i++)
        cr_stats_number(&s, 0);
    for (int i = 1; i <= 90; i++)
        cr_stats_number(&s, (float)i);
    CHECK_INT(cr_stats_cuts(&s, 10, v), 9);
    CHECK_NEAR(v[0], 1, 0, 0); /* the zeros are one part */
    CHECK_NEAR(v[8], 81, 0, 0);
    cr_stats_init(&s, true, &arena);
    for (int i = 0; i < 100; i++)
        cr_stats_number(&s, (float)i);
    CHECK_INT(cr_stats_cuts(&s, 10, v), 9);
    CHECK_NEAR(v[0], 10, 0, 0);
    CHECK_NEAR(v[8], 90, 0, 0);
}

TEST(against_labels) {
    col_joint copy = {0}, line = {0}, noise = {0};
    for (int i = 0; i < 1000; i++) {
        float y = (float)(cr_rng_u64(7, (uint64_t)i) & 1);
        cr_joint_add(&copy, y == 1 ? 5 : 9, 0, y);
        cr_joint_add(&line, (uint64_t)i, 3 - 2 * (double)i, (float)i);
        cr_joint_add(&noise, (uint64_t)i % 3, i % 3, y);
    }
    CHECK(!copy.mixed && copy.n_pairs == 2);
    CHECK(line.mixed); /* too many values to remember */
    CHECK_NEAR(cr_joint_correlation(&line), -1, 1e-12, 0);
    CHECK(noise.mixed);
    CHECK(fabs(cr_joint_correlation(&noise)) < 0.2);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(numbers), CASE(long_stream), CASE(cuts),
                                   CASE(against_labels)};
    cr_arena_init(&arena, 0);
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    cr_arena_clear(&arena);
    return rc;
}
