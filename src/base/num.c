/*
 * num.c - numbers to and from text.
 *
 * Reading is always correctly rounded. Short decimals (at most 15 digits, small exponent) are
 * exact in two double operations (Clinger's fast path); up to 19 digits with a point go through
 * one wide integer division; the rest goes to strtod. Writing looks for the fewest digits that
 * read back: first with exact double arithmetic, then with printf. The program runs in the C
 * locale, so strtod and printf mean '.'.
 */
#include "base/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/rng.h"

bool cr_parse_u64(const char *s, size_t n, uint64_t *out) {
    size_t i = n > 0 && s[0] == '+';
    if (i == n) return false;
    uint64_t v = 0;
    for (; i < n; i++) {
        unsigned d = (unsigned)((unsigned char)s[i] - '0');
        if (d > 9) return false;
        if (v > UINT64_MAX / 10 || v * 10 > UINT64_MAX - d) return false;
        v = v * 10 + d;
    }
    *out = v;
    return true;
}

bool cr_parse_size(const char *text, double *out) {
    static const char units[] = "KMGTP";
    char *end;
    double x = strtod(text, &end);
    if (end == text || !(x > 0)) return false;
    while (*end == ' ')
        end++;
    const char *unit = *end ? strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
    if (unit) {
        bool binary = end[1] == 'i';
        for (const char *u = units; u <= unit; u++)
            x *= binary ? 1024 : 1000;
        end += 1 + binary;
    }
    if (*end == 'B' || *end == 'b') end++;
    *out = x;
    return *end == 0 && x < 1e18;
}

bool cr_parse_i64(const char *s, size_t n, int64_t *out) {
    bool minus = n > 0 && s[0] == '-';
    uint64_t v;
    if (minus && n > 1 && s[1] == '+') return false;
    if (!cr_parse_u64(s + minus, n - minus, &v)) return false;
    if (v > (uint64_t)INT64_MAX + minus) return false;
    *out = minus ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

size_t cr_whole_part(const char *s, size_t n) {
    size_t k = n;
    while (k > 0 && s[k - 1] == '0')
        k--;
    bool whole = k > 1 && s[k - 1] == '.' && s[k - 2] >= '0' && s[k - 2] <= '9';
    return whole ? k - 1 : n;
}

static const double pow10_exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* parse_slow hands checked text (a decimal number, nothing else) to strtod. */
static bool parse_slow(const char *s, size_t n, double *out) {
    char few[128], *text = few;
    if (n >= sizeof(few)) text = cr_alloc(n + 1, "a long number");
    memcpy(text, s, n);
    text[n] = 0;
    char *end;
    double v = strtod(text, &end);
    bool ok = end == text + n && isfinite(v);
    if (text != few) cr_free(text);
    if (ok) *out = v;
    return ok;
}

static bool parse_word(const char *s, size_t n, bool minus, double *out) {
    double v;
    if ((n == 3 && strncasecmp(s, "inf", 3) == 0) || (n == 8 && strncasecmp(s, "infinity", 8) == 0))
        v = (double)INFINITY;
    else if (n == 3 && strncasecmp(s, "nan", 3) == 0)
        v = (double)NAN;
    else
        return false;
    *out = minus ? -v : v;
    return true;
}

/* divide returns v / 10^k, correctly rounded, for 0 < v < 2^64 and k <= 19: a quotient of at least
 * 64 bits in integers, rounded once. */
static double divide(uint64_t v, int k) {
    const uint64_t d = (uint64_t)pow10_exact[k];
    int shift = 64 + __builtin_clzll(v);
    cr_u128 num = (cr_u128)v << shift;
    cr_u128 q = num / d;
    bool rest = q * d != num;
    /* keep 64 bits; of the bits below only matters whether one is set */
    uint64_t high = (uint64_t)(q >> 64);
    int drop = high ? 64 - __builtin_clzll(high) : 0;
    rest = rest || (q & (((cr_u128)1 << drop) - 1)) != 0;
    uint64_t top = (uint64_t)(q >> drop);
    int lead = __builtin_clzll(top);
    top <<= lead;
    uint64_t mant = top >> 11, tail = top & 0x7ff;
    if (tail > 0x400 || (tail == 0x400 && (rest || (mant & 1)))) mant++;
    return ldexp((double)mant, drop - lead + 11 - shift);
}

bool cr_parse_f64(const char *s, size_t n, double *out) {
    size_t i = 0;
    bool minus = false;
    if (n > 0 && (s[0] == '-' || s[0] == '+')) {
        minus = s[0] == '-';
        i = 1;
    }
    uint64_t v = 0;
    int n_sig = 0; /* digits in v, without leading zeros */
    int64_t exp10 = 0;
    bool any = false, point = false;
    for (; i < n; i++) {
        unsigned d = (unsigned)((unsigned char)s[i] - '0');
        if (d <= 9) {
            any = true;
            if (n_sig < 19) {
                v = v * 10 + d;
                n_sig += v != 0;
            } else
                n_sig = 20;
            exp10 -= point;
        } else if (s[i] == '.' && !point)
            point = true;
        else
            break;
    }
    if (!any) return !point && parse_word(s + i, n - i, minus, out);
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        bool down = false;
        if (i < n && (s[i] == '-' || s[i] == '+')) down = s[i++] == '-';
        if (i == n) return false;
        int64_t e = 0;
        for (; i < n; i++) {
            unsigned d = (unsigned)((unsigned char)s[i] - '0');
            if (d > 9) return false;
            if (e < 1000000) e = e * 10 + d;
        }
        exp10 += down ? -e : e;
    }
    if (i != n) return false;
    if (n_sig <= 15 && exp10 >= -22 && exp10 <= 22) {
        double x = (double)v;
        x = exp10 < 0 ? x / pow10_exact[-exp10] : x * pow10_exact[exp10];
        *out = minus ? -x : x;
        return true;
    }
    if (n_sig == 0) {
        *out = minus ? -0.0 : 0.0;
        return true;
    }
    if (n_sig <= 19 && exp10 <= 0 && exp10 >= -19) {
        double x = divide(v, (int)-exp10);
        *out = minus ? -x : x;
        return true;
    }
    return parse_slow(s, n, out);
}

static size_t fmt_word(char out[32], double x) {
    const char *w = isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
    size_t n = strlen(w);
    memcpy(out, w, n + 1);
    return n;
}

size_t cr_fmt_u64(char out[21], uint64_t x) {
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char text[41]; /* 21 bytes are copied in any case: one copy of a fixed size is faster */
    size_t i = 20;
    text[i] = 0;
    while (x >= 100) {
        i -= 2;
        memcpy(text + i, pairs + x % 100 * 2, 2);
        x /= 100;
    }
    if (x >= 10) {
        i -= 2;
        memcpy(text + i, pairs + x * 2, 2);
    } else {
        text[--i] = (char)('0' + x);
    }
    memcpy(out, text + i, 21);
    return 20 - i;
}

size_t cr_fmt_i64(char out[24], int64_t x) {
    if (x >= 0) return cr_fmt_u64(out, (uint64_t)x);
    out[0] = '-';
    return 1 + cr_fmt_u64(out + 1, 0 - (uint64_t)x);
}

/* put_fixed writes r / 10^k, r > 0, without zeros at the end (k is the smallest that works). */
static size_t put_fixed(char out[32], bool minus, uint64_t r, int k) {
    char rev[32];
    size_t n = 0;
    int len = 0;
    for (; r || len <= k; r /= 10)
        rev[len++] = (char)('0' + r % 10);
    if (minus) out[n++] = '-';
    while (len > k)
        out[n++] = rev[--len];
    out[n++] = '.';
    while (len)
        out[n++] = rev[--len];
    out[n] = 0;
    return n;
}

/* reads_back: would the decimal r / 10^k, whose nearest double is q, be read as x? Rounding to
 * double and then to float is right unless q lies exactly between two floats. */
static bool reads_back(double q, float x) {
    uint64_t bits;
    memcpy(&bits, &q, 8);
    return (float)q == x && (bits & 0x1fffffff) != 0x10000000;
}

size_t cr_fmt_f32(char out[32], float x) {
    if (!isfinite(x)) return fmt_word(out, (double)x);
    float ax = fabsf(x);
    if (ax < 16777216.0f && x == (float)(int64_t)x && !(x == 0 && signbit(x)))
        return cr_fmt_i64(out, (int64_t)x);
    if (ax >= 1e-4f && ax < 16777216.0f) {
        /* r and 10^k are exact in double, so the division is the decimal's nearest double */
        for (int k = 1; k <= 13; k++) {
            double r = nearbyint((double)ax * pow10_exact[k]);
            if (r >= 1e9) break;
            if (reads_back(r / pow10_exact[k], ax)) return put_fixed(out, x < 0, (uint64_t)r, k);
        }
    }
    int n = 0;
    for (int digits = 6; digits <= 9; digits++) {
        n = snprintf(out, 32, "%.*g", digits, (double)x);
        if (digits == 9 || strtof(out, NULL) == x) break;
    }
    return (size_t)n;
}

size_t cr_fmt_f64(char out[32], double x) {
    if (!isfinite(x)) return fmt_word(out, x);
    double ax = fabs(x);
    if (ax < 1e15 && x == (double)(int64_t)x && !(x == 0 && signbit(x)))
        return cr_fmt_i64(out, (int64_t)x);
    if (ax >= 1e-4 && ax < 1e15) {
        for (int k = 1; k <= 19; k++) {
            double r = nearbyint(ax * pow10_exact[k]);
            if (r >= 1e15) break;
            if (r / pow10_exact[k] == ax) return put_fixed(out, x < 0, (uint64_t)r, k);
        }
    }
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(out, 32, "%.*g", digits, x);
        if (digits == 17 || strtod(out, NULL) == x) break;
    }
    return (size_t)n;
}

/* Adds one to the last digit of d.ddde+nn; false: there are only nines. */
static bool next_decimal(char *sci) {
    for (char *p = strchr(sci, 'e'); p-- > sci;) {
        if (*p == '.') continue;
        if (*p != '9') {
            ++*p;
            return true;
        }
        *p = '0';
    }
    return false;
}

/* cr_fmt_py finds the fewest digits that read back, and then places the point as Python does: from
 * 1e16 on, and below 1e-4, there is an exponent. */
size_t cr_fmt_py(char out[32], double x) {
    if (!isfinite(x)) return fmt_word(out, x);
    char sci[40], digits[24];
    int n = 0, power;
    for (int k = 0; k <= 16; k++) {
        snprintf(sci, sizeof sci, "%.*e", k, fabs(x));
        /* Above a power of two, floats are farther apart than below it: the next decimal may read
         * back although the nearest one does not. */
        if (strtod(sci, NULL) == fabs(x) || (next_decimal(sci) && strtod(sci, NULL) == fabs(x)))
            break;
    }
    const char *e = strchr(sci, 'e');
    power = (int)strtol(e + 1, NULL, 10);
    for (const char *p = sci; p < e; p++)
        if (*p != '.') digits[n++] = *p;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = 0;
    const char *sign = signbit(x) ? "-" : "";
    if (power < -4 || power >= 16)
        return (size_t)snprintf(out, 32, "%s%c%s%se%c%02d", sign, digits[0], n > 1 ? "." : "",
                                digits + 1, power < 0 ? '-' : '+', abs(power));
    if (power < 0) return (size_t)snprintf(out, 32, "%s0.%.*s%s", sign, -power - 1, "000", digits);
    int whole = power + 1;
    if (n <= whole)
        return (size_t)snprintf(out, 32, "%s%s%.*s.0", sign, digits, whole - n, "0000000000000000");
    return (size_t)snprintf(out, 32, "%s%.*s.%s", sign, whole, digits, digits + whole);
}

/* scaled writes x with a unit that keeps it below 1000, with one decimal under 100. */
static char *scaled(char out[32], double x, const char *const *units, int n_units) {
    int u = 0;
    while (u + 1 < n_units && fabs(x) >= 999.5) {
        x /= 1000;
        u++;
    }
    bool whole = u == 0 ? x == floor(x) : fabs(x) >= 99.95;
    snprintf(out, 32, whole ? "%.0f%s" : "%.1f%s", x, units[u]);
    return out;
}

char *cr_fmt_count(char out[32], double x) {
    static const char *const units[] = {"", "k", "M", "G", "T"};
    return scaled(out, x, units, 5);
}

char *cr_fmt_bytes(char out[32], double x) {
    static const char *const units[] = {" B", " KB", " MB", " GB", " TB", " PB", " EB"};
    return scaled(out, x, units, 7);
}

char *cr_fmt_time(char out[32], double seconds) {
    if (!isfinite(seconds) || seconds < 0 || seconds > 1e12) {
        snprintf(out, 32, "?");
        return out;
    }
    int64_t s = (int64_t)(seconds + 0.5);
    if (seconds < 0.9995)
        snprintf(out, 32, "%.0fms", seconds * 1e3);
    else if (seconds < 9.95)
        snprintf(out, 32, "%.1fs", seconds);
    else if (s < 60)
        snprintf(out, 32, "%ds", (int)s);
    else if (s < 3600)
        snprintf(out, 32, "%dm %ds", (int)(s / 60), (int)(s % 60));
    else if (s < 86400)
        snprintf(out, 32, "%dh %dm", (int)(s / 3600), (int)(s % 3600 / 60));
    else
        snprintf(out, 32, "%lldd %dh", (long long)(s / 86400), (int)(s % 86400 / 3600));
    return out;
}
