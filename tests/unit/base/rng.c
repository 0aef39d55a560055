/*
 * The generator: values pinned for all time (a change here changes every trained model), and
 * enough statistics to see a broken mixer.
 */
#include "base/rng.h"

#include "harness.h"

TEST(pinned_values) {
    /* SplitMix64 from state 0: its published first outputs */
    CHECK(cr_rng_u64(0, 0) == 0xe220a8397b1dcdafu);
    CHECK(cr_rng_u64(0, 1) == 0x6e789e6aa1b965f4u);
    CHECK(cr_rng_u64(0, 2) == 0x06c45d188009454fu);
    CHECK(cr_rng_key(42, "init", "w") == 0xe35b68aa8ccf2befu);
    CHECK(cr_rng_key(42, "init", NULL) == 0xae72e99176459c16u);
    CHECK(cr_rng_sub(1, 2) == 0x86230e8d4c110529u);
    CHECK_NEAR(cr_rng_normal(1, 0), -0.034267321791851144, 1e-15, 0);
}

TEST(keys_differ) {
    uint64_t k = cr_rng_key(1, "init", "a");
    CHECK(k != cr_rng_key(2, "init", "a"));
    CHECK(k != cr_rng_key(1, "drop", "a"));
    CHECK(k != cr_rng_key(1, "init", "b"));
    CHECK(k != cr_rng_key(1, "init", NULL));
    CHECK(k != cr_rng_key(1, "inita", NULL));
    CHECK(cr_rng_key(1, "init", "") != cr_rng_key(1, "init", NULL));
}

TEST(ranges_and_moments) {
    const int n = 200000;
    uint64_t key = cr_rng_key(7, "test", NULL);
    double sum = 0, normal = 0, square = 0, sum4 = 0;
    int64_t count[7] = {0};
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        float f = cr_rng_f32(key, i);
        double d = cr_rng_f64(key, i), z = cr_rng_normal(key, i);
        CHECK(f >= 0 && f < 1 && d >= 0 && d < 1 && isfinite(z));
        sum += d;
        normal += z;
        square += z * z;
        sum4 += z * z * z * z;
        count[cr_rng_below(key, i, 7)]++;
    }
    /* six standard errors each */
    CHECK_NEAR(sum / n, 0.5, 6 * 0.289 / sqrt(n), 0);
    CHECK_NEAR(normal / n, 0, 6 / sqrt(n), 0);
    CHECK_NEAR(square / n, 1, 6 * 1.42 / sqrt(n), 0);
    CHECK_NEAR(sum4 / n, 3, 6 * 9.8 / sqrt(n), 0);
    for (int k = 0; k < 7; k++)
        CHECK_NEAR(count[k], n / 7.0, 6 * sqrt(n / 7.0), 0);
    CHECK_INT(cr_rng_below(key, 5, 1), 0);
}

TEST_MAIN(CASE(pinned_values), CASE(keys_differ), CASE(ranges_and_moments))
