/*
 * word.c - texts of up to 8 bytes as numbers: the bits that cr_parse_f64 gives, and nothing read
 * behind a text.
 */
#include "base/word.h"

#include "base/buf.h"
#include "base/rng.h"
#include "harness.h"

TEST(words) {
    CHECK(cr_word_of("", 0) == 0);
    CHECK(cr_word_of("ab", 2) == 0x6261);
    CHECK(cr_word_at("abcdefgh", 3) == 0x636261);
    CHECK(cr_word_at("abcdefgh", 8) == cr_word_of("abcdefgh", 8));
}

static bool reads(const char *text, double *x) {
    cr_decimal d;
    size_t n = strlen(text);
    if (n == 0 || n > 8 || !cr_word_decimal(cr_word_of(text, n), n, &d)) return false;
    *x = cr_decimal_value(d);
    return true;
}

TEST(what_is_no_decimal) {
    static const char *const v[] = {"-",  ".",   "-.", "1e5", "1.2.3", "+1",  "--1",
                                    "1-", "0x1", "1 ", " 1",  "inf",   "nan", "12a45678"};
    double x;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        CHECK(!reads(v[i], &x));
}

/* Texts of signs, points and digits, most of them numbers: each has the bits of the plain way. */
TEST(same_bits_as_the_plain_way) {
    int numbers = 0;
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t u = cr_rng_u64(11, i);
        char text[9] = {0};
        size_t n = 1 + u % 8;
        for (size_t k = 0; k < n; k++)
            text[k] = (char)('0' + (u >> (6 + 4 * k) & 15) % 10);
        if (u >> 40 & 1) text[0] = '-';
        if (u >> 41 & 1) text[(u >> 42) % n] = '.';
        if ((u >> 50 & 31) == 0) text[(u >> 55) % n] = ".-x "[u >> 60 & 3];
        double plain, x;
        bool is = cr_parse_f64(text, n, &plain);
        if (!reads(text, &x)) {
            CHECK(!is);
            continue;
        }
        CHECK(is && memcmp(&x, &plain, sizeof x) == 0);
        numbers++;
    }
    CHECK(numbers > 100000);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(words), CASE(what_is_no_decimal),
                                   CASE(same_bits_as_the_plain_way)};
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
