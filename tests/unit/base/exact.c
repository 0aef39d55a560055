/*
 * exact.c - exact sums: known values, every order and division the same bits, the nearest double.
 */
#include "base/exact.h"

#include <float.h>

#include "harness.h"

static double sum_of(const double *v, int n) {
    cr_exact s = {0};
    for (int i = 0; i < n; i++)
        cr_exact_add(&s, v[i]);
    return cr_exact_value(&s);
}
#define SUM(...) sum_of((double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / 8))

TEST(known_sums) {
    CHECK(SUM(0.0) == 0);
    CHECK(SUM(1, 2, 3) == 6);
    CHECK(SUM(-1, -2, 0.5) == -2.5);
    CHECK(SUM(1e308, 1, -1e308) == 1);
    CHECK(SUM(1e308, 1e308, -1e308, -1e308, 3e-310) == 3e-310);
    CHECK(SUM(DBL_MAX) == DBL_MAX);
    CHECK(isinf(SUM(DBL_MAX, DBL_MAX)));
    CHECK(SUM(-DBL_MIN) == -DBL_MIN);
    CHECK(SUM(DBL_TRUE_MIN) == DBL_TRUE_MIN);
    CHECK(SUM(DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN) == 3 * DBL_TRUE_MIN);
    CHECK(SUM(0.1, 0.2, -0.3) == 0x1p-55); /* of these three doubles, not of the decimal numbers */
    CHECK(SUM(1, -DBL_TRUE_MIN) == 1);
}

TEST(rounds_to_the_nearest) {
    double ulp = 0x1p-52;
    CHECK(SUM(1, ulp / 2) == 1); /* a tie goes to the even one */
    CHECK(SUM(1, ulp, ulp / 2) == 1 + 2 * ulp);
    CHECK(SUM(1, ulp / 2, DBL_TRUE_MIN) == 1 + ulp); /* any more is more than a tie */
    CHECK(SUM(1, ulp / 2, -DBL_TRUE_MIN) == 1);
    CHECK(SUM(-1, -ulp / 2, -DBL_TRUE_MIN) == -1 - ulp);
    CHECK(SUM(2, -ulp / 2) == 2 - 0.0);
    CHECK(SUM(2, -ulp) == 2 - ulp);
    CHECK(SUM(0x1.fffffffffffffp0, ulp / 2) == 2); /* rounding carries into the next power */
}

TEST(what_is_not_finite) {
    CHECK(isinf(SUM(1, INFINITY)) && SUM(1, INFINITY) > 0);
    CHECK(SUM(-INFINITY, 5) < 0 && isinf(SUM(-INFINITY, 5)));
    CHECK(isnan(SUM(INFINITY, -INFINITY)));
    CHECK(isnan(SUM(NAN, 1)));
}

static uint64_t state = 0x9e3779b97f4a7c15U;
static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}
static double any_double(void) {
    for (;;) {
        uint64_t b = draw();
        double x;
        memcpy(&x, &b, sizeof x);
        if (isfinite(x)) return x;
    }
}

/* any order, division and way through the saved numbers: the same bits */
TEST(order_and_division_do_not_matter) {
    enum { N = 5000 };
    static double v[N];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < N; i++)
            v[i] = round & 1 ? any_double() / N : (double)(int64_t)draw() * 0x1p-70;
        double want = sum_of(v, N);
        for (int i = N - 1; i > 0; i--) {
            int k = (int)(draw() % (uint64_t)(i + 1));
            double t = v[i];
            v[i] = v[k];
            v[k] = t;
        }
        CHECK(sum_of(v, N) == want);
        cr_exact all = {0};
        for (int i = 0; i < N;) {
            cr_exact part = {0}, copy;
            double saved[CR_EXACT_STATE];
            for (int n = (int)(draw() % 700); n >= 0 && i < N; n--)
                cr_exact_add(&part, v[i++]);
            cr_exact_get(&part, saved);
            cr_exact_set(&copy, saved);
            cr_exact_join(&all, &copy);
        }
        CHECK(cr_exact_value(&all) == want);
    }
}

/* sums of whole numbers below 2^53 are what integers give; beyond, what 128 bits round to */
TEST(against_integers) {
    for (int round = 0; round < 200; round++) {
        __extension__ __int128 want = 0;
        cr_exact s = {0};
        for (int i = 0; i < 3000; i++) {
            int64_t x = (int64_t)draw() >> (11 + draw() % 40);
            want += x;
            cr_exact_add(&s, (double)x);
        }
        CHECK(cr_exact_value(&s) == (double)want);
    }
}

TEST_MAIN(CASE(known_sums), CASE(rounds_to_the_nearest), CASE(what_is_not_finite),
          CASE(order_and_division_do_not_matter), CASE(against_integers))
