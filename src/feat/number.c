/*
 * number.c - numbers in data.
 *
 * Up to 16 plain digits are read eight at a time inside one register. Floats take Clinger's fast
 * path: digits up to 2^53, multiplied or divided by an exact power of ten, need only one operation,
 * which rounds correctly. Everything else goes to the strict parser of base/.
 */
#include "feat/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/shown.h"

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void trim(const char **s, size_t *n) {
    while (*n && is_blank(**s)) {
        (*s)++;
        (*n)--;
    }
    while (*n && is_blank((*s)[*n - 1]))
        (*n)--;
}

/* Loads 1..8 bytes as if the text were padded on its left with '0'; the last byte is the
 * highest. */
static uint64_t load_digits(const char *s, size_t n) {
    uint64_t v;
    if (n == 8) {
        memcpy(&v, s, 8);
        return v;
    }
    if (n >= 4) {
        uint32_t a, b;
        memcpy(&a, s, 4);
        memcpy(&b, s + n - 4, 4);
        v = (uint64_t)a | (uint64_t)b << (8 * (n - 4));
    } else {
        v = (uint64_t)(unsigned char)s[0] | (uint64_t)(unsigned char)s[n / 2] << (8 * (n / 2)) |
            (uint64_t)(unsigned char)s[n - 1] << (8 * (n - 1));
    }
    return v << (64 - 8 * n) | 0x3030303030303030u >> (8 * n);
}

static bool all_digits(uint64_t v) {
    return ((v & 0xf0f0f0f0f0f0f0f0u) | ((v + 0x0606060606060606u) & 0xf0f0f0f0f0f0f0f0u) >> 4) ==
           0x3333333333333333u;
}

/* Computes the value of eight digits: neighbours are joined to pairs, to fours, to eight. */
static uint64_t digits_value(uint64_t v) {
    v = (v & 0x0f0f0f0f0f0f0f0fu) * 2561 >> 8;
    v = (v & 0x00ff00ff00ff00ffu) * 6553601 >> 16;
    return (v & 0x0000ffff0000ffffu) * 42949672960001u >> 32;
}

/* Reads n digits, 1..16; false: other characters occur. */
static bool plain_digits(const char *s, size_t n, uint64_t *out) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return false;
#endif
    uint64_t high = 0;
    if (n > 8) {
        uint64_t v = load_digits(s, n - 8);
        if (!all_digits(v)) return false;
        high = digits_value(v) * 100000000u;
        s += n - 8;
        n = 8;
    }
    uint64_t v = load_digits(s, n);
    if (!all_digits(v)) return false;
    *out = high + digits_value(v);
    return true;
}

cr_num cr_num_i64(const char *s, size_t n, int64_t *out) {
    if (n == 0) return CR_NUM_BAD;
    uint64_t plain;
    if (n <= 16 && plain_digits(s, n, &plain)) {
        *out = (int64_t)plain;
        return CR_NUM_OK;
    }
    if (is_blank(s[0]) || is_blank(s[n - 1])) {
        trim(&s, &n);
        if (n == 0) return CR_NUM_BAD;
    }
    bool neg = s[0] == '-';
    if (neg || s[0] == '+') {
        s++;
        if (--n == 0) return CR_NUM_BAD;
    }
    uint64_t x = 0;
    bool big = false;
    for (size_t i = 0; i < n; i++) {
        unsigned d = (unsigned)(unsigned char)s[i] - '0';
        if (d > 9) return CR_NUM_BAD;
        if (i >= 18) { /* 18 digits always fit */
            if (x > (UINT64_MAX - d) / 10) {
                big = true;
                x = 0;
            }
        }
        x = x * 10 + d;
    }
    if (big || x > (uint64_t)INT64_MAX + (neg ? 1 : 0)) return CR_NUM_RANGE;
    *out = neg ? (int64_t)(0 - x) : (int64_t)x;
    return CR_NUM_OK;
}

cr_num cr_num_whole(const char *s, size_t n, int64_t *out) {
    cr_num st = cr_num_i64(s, n, out);
    if (st != CR_NUM_BAD) return st;
    trim(&s, &n);
    size_t k = cr_whole_part(s, n);
    return k < n ? cr_num_i64(s, k, out) : st;
}

static const double TEN[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool cr_num_f64(const char *s, size_t n, double *out) {
    uint64_t plain;
    if (n > 0 && n <= 15 && plain_digits(s, n, &plain)) {
        *out = (double)plain;
        return true;
    }
    size_t i = 0;
    bool neg = false;
    if (n && (s[0] == '-' || s[0] == '+')) {
        neg = s[0] == '-';
        i = 1;
    }
    uint64_t x = 0;
    size_t first = i;
    while (i < n && (unsigned char)(s[i] - '0') <= 9)
        x = x * 10 + (uint64_t)(s[i++] - '0');
    size_t digits = i - first, frac = 0;
    if (i < n && s[i] == '.') {
        first = ++i;
        while (i < n && (unsigned char)(s[i] - '0') <= 9)
            x = x * 10 + (uint64_t)(s[i++] - '0');
        frac = i - first;
        digits += frac;
    }
    if (i == n && digits > 0 && digits <= 19 && x <= (uint64_t)1 << 53) {
        double v = (double)x;
        if (frac) v /= TEN[frac]; /* frac <= 19 */
        *out = neg ? -v : v;
        return true;
    }
    trim(&s, &n);
    /* a number begins with a digit, sign or point: no "inf", "nan" or "0x10" */
    if (n > 1 && s[0] == '+' && s[1] != '-' && s[1] != '+') {
        s++;
        n--;
    }
    for (size_t k = 0; k < n; k++) {
        char c = s[k];
        if (!((c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-' || c == 'e' || c == 'E'))
            return false;
    }
    return n > 0 && cr_parse_f64(s, n, out) && isfinite(*out);
}

/* Counts the digits at *i and steps over them. */
static size_t digits_at(const char *s, size_t n, size_t *i) {
    size_t first = *i;
    while (*i < n && s[*i] >= '0' && s[*i] <= '9')
        (*i)++;
    return *i - first;
}

const char *cr_num_why(const char *s, size_t n) {
    trim(&s, &n);
    size_t i = n > 0 && (s[0] == '-' || s[0] == '+');
    size_t digits = digits_at(s, n, &i);
    bool whole = true;
    if (i < n && s[i] == '.') {
        i++;
        digits += digits_at(s, n, &i);
    }
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        i += i < n && (s[i] == '-' || s[i] == '+');
        whole = digits_at(s, n, &i) > 0;
    }
    return digits > 0 && whole && i == n ? "too large for float32" : "not a number";
}

size_t cr_number_text(char out[32], double x) {
    return x == floor(x) && fabs(x) < 0x1p53 ? cr_fmt_f64(out, x + 0.0) : cr_fmt_f32(out, (float)x);
}
