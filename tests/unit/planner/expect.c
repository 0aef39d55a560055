/* Distinct ids: against the plain sum over all ids. */
#include "harness.h"
#include "planner/planner.h"

static double plain(double n, int V, double s, int below) {
    double H = 0, sum = 0;
    for (int k = 1; k <= V; k++)
        H += pow(k, -s);
    for (int k = 1; k <= below; k++)
        sum += 1 - pow(1 - pow(k, -s) / H, n);
    return sum;
}

TEST(distinct) {
    static const double s[] = {0, 0.3, 0.8, 1, 1.05, 1.6, 2.5};
    static const int V[] = {1, 7, 100, 5000, 60000};
    static const double n[] = {1, 30, 1000, 40000};
    for (int i = 0; i < 7; i++)
        for (int v = 0; v < 5; v++)
            for (int k = 0; k < 4; k++)
                CHECK_NEAR(cr_expect_distinct(n[k], V[v], s[i]), plain(n[k], V[v], s[i], V[v]),
                           1e-9, 0.002);
    CHECK_NEAR(cr_expect_distinct(0, 10, 1), 0, 0, 0);
    /* a table of 10^11 rows: nearly every draw is another id when all are alike */
    CHECK_NEAR(cr_expect_distinct(1e6, 1e11, 0), 1e6, 6, 0);
    double d = cr_expect_distinct(1e6, 1e11, 1.05);
    CHECK(d > 1e5 && d < 9e5);
}

TEST(below) {
    cr_expect e;
    cr_expect_init(&e, 3000, 20000, 1.05);
    static const int x[] = {0, 1, 10, 300, 4999, 20000};
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(cr_expect_below(&e, x[i]), plain(3000, 20000, 1.05, x[i]), 1e-9, 0.005);
}

TEST(zipf) {
    static const double s[] = {0, 0.4, 1, 1.7};
    for (int i = 0; i < 4; i++) {
        double d = cr_expect_distinct(8192, 100000, s[i]);
        CHECK_NEAR(cr_expect_zipf(8192, 100000, d), s[i], 0.001, 0);
    }
    CHECK_NEAR(cr_expect_zipf(100, 1000, 100), 0, 0, 0); /* more than even draws would have */
    CHECK(cr_expect_zipf(8192, 100000, 1) > 2.9);
}

TEST_MAIN(CASE(distinct), CASE(below), CASE(zipf))
