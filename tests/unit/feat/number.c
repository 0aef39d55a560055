/*
 * number.c - text to number and back: against the C library, and on the edges of every fast path.
 */
#include "feat/number.h"

#include "base/buf.h"

#include "base/rng.h"
#include "harness.h"

static cr_num i64(const char *s, int64_t *x) {
    return cr_num_i64(s, strlen(s), x);
}

TEST(integers) {
    static const struct {
        const char *s;
        int64_t x;
    } good[] = {{"0", 0},
                {"7", 7},
                {"+01", 1},
                {"00099", 99},
                {"-1", -1},
                {" 12 ", 12},
                {"-0", 0},
                {"12345678", 12345678},
                {"123456789", 123456789},
                {"1234567890123456", 1234567890123456},
                {"12345678901234567", 12345678901234567},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN},
                {"000000000000000000000000000005", 5}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t x = 99;
        CHECK_INT(i64(good[i].s, &x), CR_NUM_OK);
        CHECK_INT(x, good[i].x);
    }
    static const char *const big[] = {"9223372036854775808", "-9223372036854775809",
                                      "18446744073709551616",
                                      "99999999999999999999999999999999999999"};
    for (size_t i = 0; i < 4; i++) {
        int64_t x;
        CHECK_INT(i64(big[i], &x), CR_NUM_RANGE);
    }
    static const char *const bad[] = {"",          " ",        "-",
                                      "+",         "1.0",      "a",
                                      "1a",        "a1",       "1 2",
                                      "--1",       "0x10",     "1/",
                                      "1:",        "1234567/", ":2345678",
                                      "12345678:", "1e3",      "99999999999999999999999999x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t x;
        CHECK_INT(i64(bad[i], &x), CR_NUM_BAD);
    }
}

/* every byte in every place of every short length: digits are digits and nothing else is */
TEST(every_byte) {
    for (size_t n = 1; n <= 18; n++)
        for (size_t at = 0; at < n; at++)
            for (int c = 0; c < 256; c++) {
                char s[20];
                memset(s, '5', sizeof(s));
                s[at] = (char)c;
                char *heap = malloc(n); /* the sanitizer sees reads past the end */
                memcpy(heap, s, n);
                int64_t x = 0;
                cr_num st = cr_num_i64(heap, n, &x);
                bool digit = c >= '0' && c <= '9';
                bool sign = at == 0 && n > 1 && (c == '-' || c == '+');
                bool blank = n > 1 && (at == 0 || at == n - 1) &&
                             (c == ' ' || c == '\t' || c == '\n' || c == '\r');
                if ((st == CR_NUM_OK) != (digit || sign || blank)) {
                    CHECK(false);
                    fprintf(stderr, "n %zu at %zu byte %d\n", n, at, c);
                }
                if (digit) {
                    char z[20] = {0};
                    memcpy(z, s, n);
                    CHECK_INT(x, strtoll(z, NULL, 10));
                }
                free(heap);
            }
}

TEST(integers_both_ways) {
    uint64_t key = cr_rng_key(1, "test", "number");
    for (uint64_t i = 0; i < 20000; i++) {
        int64_t x = (int64_t)(cr_rng_u64(key, i) >> (i % 64));
        if (i & 1) x = -x;
        char text[25] = {0}, want[32];
        size_t n = cr_fmt_i64(text, x);
        snprintf(want, sizeof(want), "%lld", (long long)x);
        CHECK_STR(text, want);
        int64_t back = 0;
        CHECK(cr_num_i64(text, n, &back) == CR_NUM_OK && back == x);
    }
    char text[25] = {0};
    CHECK_INT(cr_fmt_i64(text, INT64_MIN), 20);
    CHECK_STR(text, "-9223372036854775808");
}

TEST(floats) {
    static const char *const good[] = {"0",
                                       "1",
                                       "-1",
                                       "+1",
                                       "0.1",
                                       ".5",
                                       "5.",
                                       "-0.0",
                                       "1e3",
                                       "1E-3",
                                       "1.5e+2",
                                       " 2.5 ",
                                       "3.4e38",
                                       "123456789012345",
                                       "1234567890123456789",
                                       "0.30000000000000004",
                                       "9007199254740993",
                                       "179769313486231570000000000000000000000",
                                       "4.9e-324",
                                       "0.1234567890123456789",
                                       "12345678901234567.5",
                                       "000000000000000000000000.25"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        double x = 99, want = strtod(good[i], NULL);
        CHECK(cr_num_f64(good[i], strlen(good[i]), &x));
        if (x != want || signbit(x) != signbit(want)) {
            CHECK(false);
            fprintf(stderr, "%s: %.17g, expected %.17g\n", good[i], x, want);
        }
    }
    static const char *const bad[] = {"",     " ",     ".",   "-",     "+",    "e3",
                                      "1e",   "nan",   "NaN", "inf",   "-inf", "1e999",
                                      "0x10", "1_000", "1,2", "1.2.3", "+-1",  "++1",
                                      "abc",  "1 2",   "1f",  "-e5"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        double x;
        if (cr_num_f64(bad[i], strlen(bad[i]), &x)) {
            CHECK(false);
            fprintf(stderr, "'%s'\n", bad[i]);
        }
    }
}

TEST(floats_as_strtod) {
    uint64_t key = cr_rng_key(2, "test", "number");
    for (uint64_t i = 0; i < 50000; i++) {
        uint64_t r = cr_rng_u64(key, i);
        char s[64];
        int n;
        switch (i % 4) {
        case 0:
            n = snprintf(s, sizeof(s), "%.*f", (int)(r % 12), (double)(int64_t)r / 0x1p40);
            break;
        case 1:
            n = snprintf(s, sizeof(s), "%.17g",
                         (double)(int64_t)r * pow(10, (double)(r % 40) - 20));
            break;
        case 2:
            n = snprintf(s, sizeof(s), "%llu.%llu", (unsigned long long)(r % 1000),
                         (unsigned long long)(r >> 20));
            break;
        default: n = snprintf(s, sizeof(s), "%llu", (unsigned long long)(r >> (r % 60))); break;
        }
        double x = 0;
        CHECK(cr_num_f64(s, (size_t)n, &x) && x == strtod(s, NULL));
    }
}

TEST_MAIN(CASE(integers), CASE(every_byte), CASE(integers_both_ways), CASE(floats),
          CASE(floats_as_strtod))
