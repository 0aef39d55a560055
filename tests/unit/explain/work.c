/*
 * work.c - the number of rows that are probed by default: all of small data, never more than the
 * share of features x an evaluation that is promised, and never fewer than a third of a second's
 * worth.
 */
#include "explain/explain_int.h"
#include "harness.h"

TEST(small_data_is_done_in_full) {
    cr_work_count w = {.eval = 25e3, .read = 15e3, .probes = 450e3};
    CHECK_INT(cr_probes_rows(&w, 14, 1), 1);
    CHECK_INT(cr_probes_rows(&w, 14, 50000), 50000);
}

TEST(large_data_keeps_the_share) {
    cr_work_count w = {.eval = 440e3, .read = 47e3, .probes = 17e6};
    for (int64_t n = 50000; n <= 200000; n += 50000) {
        int64_t rows = cr_probes_rows(&w, 39, n);
        double all = (double)rows * w.probes + (double)n * w.read,
               aim = CR_PROBE_SHARE * 39 * w.eval * (double)n;
        CHECK(rows < n && all <= aim && all > 0.99 * aim);
    }
}

TEST(some_time_is_always_spent) {
    cr_work_count w = {.eval = 100e3, .read = 90e3, .probes = 25e6};
    CHECK_INT(cr_probes_rows(&w, 4, 2000), 1000);
    CHECK_INT(cr_probes_rows(&w, 4, 900), 900);
    w.probes = 1e15;
    CHECK_INT(cr_probes_rows(&w, 4, 2000), 1);
}

/* A model whose probes cost less than the share takes all rows. */
TEST(cheap_probes_take_all) {
    cr_work_count w = {.eval = 1e6, .read = 1e3, .probes = 1.1e6};
    CHECK_INT(cr_probes_rows(&w, 39, 10000000), 10000000);
}

TEST_MAIN(CASE(small_data_is_done_in_full), CASE(large_data_keeps_the_share),
          CASE(some_time_is_always_spent), CASE(cheap_probes_take_all))
