/*
 * Numbers to and from text: strict reading, correct rounding (against strtod), shortest writing
 * that reads back.
 */
#include "base/buf.h"
#include "base/rng.h"
#include "harness.h"

static bool f64_of(const char *s, double *x) {
    return cr_parse_f64(s, strlen(s), x);
}
static bool i64_of(const char *s, int64_t *x) {
    return cr_parse_i64(s, strlen(s), x);
}
static bool u64_of(const char *s, uint64_t *x) {
    return cr_parse_u64(s, strlen(s), x);
}

static bool same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* check_read compares one text with strtod. */
static void check_read(const char *s) {
    double x = -1, want = strtod(s, NULL);
    bool ok = f64_of(s, &x);
    if (!ok || !same_bits(x, want)) {
        fprintf(stderr, "'%s' read as %.17g, strtod %.17g\n", s, x, want);
        CHECK(ok && same_bits(x, want));
    }
}

TEST(integers) {
    int64_t v = 7;
    CHECK(i64_of("0", &v) && v == 0);
    CHECK(i64_of("-0", &v) && v == 0);
    CHECK(i64_of("+12", &v) && v == 12);
    CHECK(i64_of("9223372036854775807", &v) && v == INT64_MAX);
    CHECK(i64_of("-9223372036854775808", &v) && v == INT64_MIN);
    CHECK(i64_of("00000000000000000000000001", &v) && v == 1);
    v = 5;
    const char *bad[] = {"",
                         "-",
                         "+",
                         "9223372036854775808",
                         "-9223372036854775809",
                         "1 ",
                         " 1",
                         "1x",
                         "0x10",
                         "-+1",
                         "+-1",
                         "--1",
                         "1.0"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!i64_of(bad[i], &v));
    CHECK_INT(v, 5); /* untouched on failure */
    uint64_t u = 5;
    CHECK(u64_of("18446744073709551615", &u) && u == UINT64_MAX);
    CHECK(!u64_of("18446744073709551616", &u));
    CHECK(!u64_of("99999999999999999999", &u));
    CHECK(!u64_of("-1", &u));
    CHECK(cr_parse_i64("123456", 3, &v) && v == 123); /* exactly n bytes */
}

TEST(decimals) {
    const char *good[] = {"0",
                          "-0",
                          "0.0",
                          ".5",
                          "5.",
                          "-.5e1",
                          "1e5",
                          "1E+05",
                          "1e-5",
                          "+3.25",
                          "123456789012345",
                          "9007199254740993",
                          "9007199254740992.5",
                          "0.1",
                          "0.3",
                          "1e22",
                          "1e23",
                          "1e-22",
                          "1e-23",
                          "4.9e-324",
                          "2e-324",
                          "1e-400",
                          "2.2250738585072011e-308",
                          "1.7976931348623157e308",
                          "000000000000000000000000000000.1",
                          "0.00000000000000000000000000000000000000001",
                          "18446744073709551615",
                          "9999999999999999999",
                          "0.9999999999999999999",
                          "1.0000000000000001110",
                          "1.00000000000000011102230246251565404236316680908203125",
                          "1.00000000000000011102230246251565404236316680908203124",
                          "1.00000000000000011102230246251565404236316680908203126",
                          "0e99999999999999999999",
                          "8.41470984807896500"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        check_read(good[i]);
    const char *bad[] = {"",      ".",   "-",     "e5",    "1e",     "1e+",   "1.2.3",
                         "0x1p3", " 1",  "1 ",    "1,5",   "1_0",    "infin", "nanx",
                         "nan(",  "--1", "1e5.0", "1e999", "-1e999", "1f"};
    double x = 5;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bool ok = f64_of(bad[i], &x);
        if (ok) fprintf(stderr, "'%s' was read\n", bad[i]);
        CHECK(!ok);
    }
    CHECK(same_bits(x, 5));
    CHECK(f64_of("inf", &x) && isinf(x) && x > 0);
    CHECK(f64_of("-Infinity", &x) && isinf(x) && x < 0);
    CHECK(f64_of("NaN", &x) && isnan(x));
    CHECK(f64_of("-0", &x) && signbit(x));
    CHECK(cr_parse_f64("1.5e300", 3, &x) && same_bits(x, 1.5)); /* exactly n bytes */
    char zeros[3000];
    memset(zeros, '0', sizeof(zeros));
    zeros[1] = '.';
    zeros[2990] = '7';
    zeros[2991] = 'e';
    memcpy(zeros + 2992, "2990", 5);
    check_read(zeros);
}

TEST(random_decimals_round_as_strtod) {
    uint64_t key = cr_rng_key(1, "decimals", NULL);
    for (uint64_t i = 0; i < 60000; i++) {
        char s[64];
        uint64_t r = cr_rng_u64(key, 3 * i), shape = cr_rng_u64(key, 3 * i + 1);
        int digits = 1 + (int)(shape % 19), point = (int)(shape / 19 % 20);
        for (int k = digits; k < 19; k++)
            r /= 10;
        char num[32];
        int n =
            snprintf(num, sizeof(num), "%019llu", (unsigned long long)(r % 10000000000000000000u));
        if (point >= n) point = n - 1;
        snprintf(s, sizeof(s), "%.*s.%s", point, num, num + point);
        check_read(s);
        if (i % 4 == 0) {
            snprintf(s, sizeof(s), "%.*s.%se%d", point, num, num + point,
                     (int)(cr_rng_u64(key, 3 * i + 2) % 60) - 30);
            check_read(s);
        }
    }
}

TEST(doubles_at_halves) {
    /* just at, above and below the middle of two doubles: the hard cases of rounding */
    uint64_t key = cr_rng_key(2, "halves", NULL);
    for (uint64_t i = 0; i < 20000; i++) {
        double x = cr_rng_f64(key, i) * (double)(1u << (i % 20));
        char s[64];
        snprintf(s, sizeof(s), "%.*g", 15 + (int)(i % 5), x);
        check_read(s);
        snprintf(s, sizeof(s), "%.18f", x);
        check_read(s);
    }
}

static void check_f32(float x) {
    char s[32];
    size_t n = cr_fmt_f32(s, x);
    CHECK_INT(n, strlen(s));
    CHECK(n < 32);
    float back = strtof(s, NULL);
    bool same = memcmp(&back, &x, sizeof(x)) == 0;
    if (!same) fprintf(stderr, "%.9g written as '%s'\n", (double)x, s);
    CHECK(same);
    /* no text with fewer digits may read back */
    int digits = 0;
    for (const char *p = s; *p && *p != 'e'; p++)
        digits += *p >= '0' && *p <= '9' && (digits > 0 || *p != '0');
    char shorter[400];
    if (digits > 1 && fabsf(x) < 1e7f && fabsf(x) > 1e-30f && x != (float)(int64_t)x) {
        snprintf(shorter, sizeof(shorter), "%.*g", digits - 1, (double)x);
        if (strtof(shorter, NULL) == x) fprintf(stderr, "'%s' could be '%s'\n", s, shorter);
        CHECK(strtof(shorter, NULL) != x);
    }
}

static void check_f64(double x) {
    char s[32];
    size_t n = cr_fmt_f64(s, x);
    CHECK_INT(n, strlen(s));
    double back = strtod(s, NULL);
    if (!same_bits(back, x)) fprintf(stderr, "%.17g written as '%s'\n", x, s);
    CHECK(same_bits(back, x));
    double own = 0;
    CHECK(cr_parse_f64(s, n, &own) && same_bits(own, x));
}

TEST(shortest_text) {
    static const struct {
        double x;
        const char *f32, *f64;
    } v[] = {{0, "0", "0"},
             {-0.0, "-0", "-0"},
             {1, "1", "1"},
             {-17, "-17", "-17"},
             {1000000, "1000000", "1000000"},
             {0.5, "0.5", "0.5"},
             {-0.25, "-0.25", "-0.25"},
             {12.75, "12.75", "12.75"},
             {1e-5, "1e-05", "1e-05"},
             {0.0001, "0.0001", "0.0001"},
             {1e20, "1e+20", "1e+20"},
             {0.1, "0.1", "0.1"},
             {1.0 / 3, "0.33333334", "0.3333333333333333"}};
    char s[32];
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        cr_fmt_f32(s, (float)v[i].x);
        CHECK_STR(s, v[i].f32);
        cr_fmt_f64(s, v[i].x);
        CHECK_STR(s, v[i].f64);
    }
    cr_fmt_f32(s, NAN);
    CHECK_STR(s, "nan");
    cr_fmt_f64(s, -(double)INFINITY);
    CHECK_STR(s, "-inf");
    cr_fmt_f32(s, 1e-45f);
    CHECK(strtof(s, NULL) == 1e-45f);
}

/* texts that Python's repr gave */
TEST(python_floats) {
    static const struct {
        double x;
        const char *text;
    } v[] = {{0, "0.0"},
             {-0.0, "-0.0"},
             {1, "1.0"},
             {100, "100.0"},
             {1e-5, "1e-05"},
             {0.00012, "0.00012"},
             {0.0001, "0.0001"},
             {0.5123, "0.5123"},
             {81234.5, "81234.5"},
             {1735689605.25, "1735689605.25"},
             {1234567890123456, "1234567890123456.0"},
             {9999999999999998, "9999999999999998.0"},
             {1e16, "1e+16"},
             {1.5e16, "1.5e+16"},
             {123456789012345680.0, "1.2345678901234568e+17"},
             {1e22, "1e+22"},
             {-2.5e-7, "-2.5e-07"},
             {5e-324, "5e-324"},
             {1.7976931348623157e308, "1.7976931348623157e+308"},
             {1.0 / 3, "0.3333333333333333"},
             {0.1 + 0.2, "0.30000000000000004"}};
    char s[32];
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        size_t n = cr_fmt_py(s, v[i].x);
        CHECK_STR(s, v[i].text);
        CHECK_INT(n, strlen(v[i].text));
    }
}

TEST(random_floats_read_back) {
    uint64_t key = cr_rng_key(3, "floats", NULL);
    for (uint64_t i = 0; i < 30000; i++) {
        uint64_t r = cr_rng_u64(key, i);
        uint32_t r32 = (uint32_t)r;
        float f;
        double d;
        memcpy(&f, &r32, 4);
        memcpy(&d, &r, 8);
        if (isfinite(f)) check_f32(f);
        if (isfinite(d)) check_f64(d);
        check_f32(cr_rng_f32(key, i));
        check_f32(-1000 * cr_rng_f32(key, i));
        check_f64(cr_rng_f64(key, i));
        check_f64((double)(r % 100000000) / 1e4);
        check_f32((float)(r % 1000000) / 1e3f);
    }
}

TEST(human_units) {
    char s[32];
    CHECK_STR(cr_fmt_count(s, 850), "850");
    CHECK_STR(cr_fmt_count(s, 0), "0");
    CHECK_STR(cr_fmt_count(s, 1234567), "1.2M");
    CHECK_STR(cr_fmt_count(s, 999999), "1.0M");
    CHECK_STR(cr_fmt_count(s, 123456), "123k");
    CHECK_STR(cr_fmt_count(s, 0.25), "0.2");
    CHECK_STR(cr_fmt_bytes(s, 3.4e9), "3.4 GB");
    CHECK_STR(cr_fmt_bytes(s, 12), "12 B");
    CHECK_STR(cr_fmt_time(s, 72), "1m 12s");
    CHECK_STR(cr_fmt_time(s, 0.25), "250ms");
    CHECK_STR(cr_fmt_time(s, 1.25), "1.2s");
    CHECK_STR(cr_fmt_time(s, 59.7), "1m 0s");
    CHECK_STR(cr_fmt_time(s, 7200), "2h 0m");
    CHECK_STR(cr_fmt_time(s, 90000), "1d 1h");
    CHECK_STR(cr_fmt_time(s, (double)NAN), "?");
    CHECK_STR(cr_fmt_time(s, 1e300), "?");
}

TEST_MAIN(CASE(integers), CASE(decimals), CASE(random_decimals_round_as_strtod),
          CASE(doubles_at_halves), CASE(shortest_text), CASE(python_floats),
          CASE(random_floats_read_back), CASE(human_units))
