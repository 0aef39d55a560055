/*
 * buf.c - growing buffer, typo distance, numbers to and from text.
 *
 * Numbers are read and written without regard to the locale's idea beyond strtod, which runs in
 * the C locale. Short decimals (at most 15 digits, small exponent) are exact in two double
 * operations (Clinger's fast path); everything else goes to strtod, so the result is always
 * correctly rounded.
 */
#include "base/buf.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

static char empty[1]; /* never written: what data points at while nothing is allocated */

void cr_buf_init(cr_buf *b) {
    *b = (cr_buf){empty, 0, 0};
}

void cr_buf_clear(cr_buf *b) {
    if (b->cap) cr_free(b->data);
    cr_buf_init(b);
}

void cr_buf_reset(cr_buf *b) {
    b->n = 0;
    if (b->cap) b->data[0] = 0;
}

void cr_buf_reserve(cr_buf *b, size_t more) {
    if (b->cap && more < b->cap - b->n) return;
    if (more > SIZE_MAX / 4 || b->n > SIZE_MAX / 4) CR_BUG("buffer size out of range");
    size_t cap = b->cap ? 2 * b->cap : 64;
    if (cap < b->n + more + 1) cap = b->n + more + 1;
    b->data = cr_realloc(b->cap ? b->data : NULL, b->n, cap, "a text buffer");
    b->cap = cap;
    b->data[b->n] = 0;
}

void cr_buf_add(cr_buf *b, const void *p, size_t n) {
    if (n == 0) return;
    cr_buf_reserve(b, n);
    memcpy(b->data + b->n, p, n);
    b->n += n;
    b->data[b->n] = 0;
}

void cr_buf_str(cr_buf *b, const char *s) {
    cr_buf_add(b, s, strlen(s));
}

void cr_buf_char(cr_buf *b, char c) {
    cr_buf_reserve(b, 1);
    b->data[b->n++] = c;
    b->data[b->n] = 0;
}

void cr_buf_printf(cr_buf *b, const char *fmt, ...) {
    va_list ap;
    cr_buf_reserve(b, 64);
    size_t room = b->cap - b->n;
    va_start(ap, fmt);
    int n = vsnprintf(b->data + b->n, room, fmt, ap);
    va_end(ap);
    if (n < 0) CR_BUG("bad format");
    if ((size_t)n >= room) {
        cr_buf_reserve(b, (size_t)n);
        va_start(ap, fmt);
        vsnprintf(b->data + b->n, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    b->n += (size_t)n;
}

/* ---- typos ---- */

static int lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}
static int min2(int a, int b) {
    return a < b ? a : b;
}

int cr_edit_distance(const char *a, const char *b) {
    size_t na = strlen(a), nb = strlen(b);
    if (na > 10000 || nb > 10000) return (int)(min2(10000, (int)(na > nb ? na : nb)));
    int few[3 * 65], *rows = few;
    if (nb > 64) rows = cr_alloc(3 * (nb + 1) * sizeof(int), "edit distance");
    int *back2 = rows, *back = rows + nb + 1, *now = rows + 2 * (nb + 1);
    for (size_t j = 0; j <= nb; j++)
        back[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        now[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int differ = lower(a[i - 1]) != lower(b[j - 1]);
            int d = min2(min2(back[j], now[j - 1]) + 1, back[j - 1] + differ);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                d = min2(d, back2[j - 2] + 1);
            now[j] = d;
        }
        int *t = back2;
        back2 = back;
        back = now;
        now = t;
    }
    int d = back[nb];
    if (rows != few) cr_free(rows);
    return d;
}

const char *cr_nearest(const char *word, const char *(*next)(const void *ctx, size_t i),
                       const void *ctx) {
    size_t len = strlen(word);
    if (len == 0 || len > 256) return NULL;
    /* one slip in three letters is a typo, more is another word */
    int limit = len < 4 ? 1 : len < 15 ? (int)len / 3 : 4;
    int best = limit + 1;
    const char *found = NULL, *cand;
    for (size_t i = 0; (cand = next(ctx, i)); i++) {
        size_t n = strlen(cand);
        size_t gap = n > len ? n - len : len - n;
        if (gap >= (size_t)best) continue;
        int d = cr_edit_distance(word, cand);
        if (d < best && (size_t)d < n) {
            best = d;
            found = cand;
        }
    }
    return found;
}

/* ---- reading numbers ---- */

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

bool cr_parse_i64(const char *s, size_t n, int64_t *out) {
    bool minus = n > 0 && s[0] == '-';
    uint64_t v;
    if (minus && n > 1 && s[1] == '+') return false;
    if (!cr_parse_u64(s + minus, n - minus, &v)) return false;
    if (v > (uint64_t)INT64_MAX + minus) return false;
    *out = minus ? (int64_t)(0 - v) : (int64_t)v;
    return true;
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
    return parse_slow(s, n, out);
}

/* ---- writing numbers ---- */

static size_t fmt_word(char out[32], double x) {
    const char *w = isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
    size_t n = strlen(w);
    memcpy(out, w, n + 1);
    return n;
}

static size_t fmt_int(char out[32], int64_t v) {
    char rev[24];
    size_t n = 0, k = 0;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        rev[k++] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0) out[n++] = '-';
    while (k)
        out[n++] = rev[--k];
    out[n] = 0;
    return n;
}

size_t cr_fmt_f32(char out[32], float x) {
    if (!isfinite(x)) return fmt_word(out, (double)x);
    if (fabsf(x) < 16777216.0f && x == (float)(int64_t)x && !(x == 0 && signbit(x)))
        return fmt_int(out, (int64_t)x);
    int n = 0;
    for (int digits = 6; digits <= 9; digits++) {
        n = snprintf(out, 32, "%.*g", digits, (double)x);
        if (digits == 9 || strtof(out, NULL) == x) break;
    }
    return (size_t)n;
}

size_t cr_fmt_f64(char out[32], double x) {
    if (!isfinite(x)) return fmt_word(out, x);
    if (fabs(x) < 1e15 && x == (double)(int64_t)x && !(x == 0 && signbit(x)))
        return fmt_int(out, (int64_t)x);
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(out, 32, "%.*g", digits, x);
        if (digits == 17 || strtod(out, NULL) == x) break;
    }
    return (size_t)n;
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
    static const char *const units[] = {" B", " KB", " MB", " GB", " TB", " PB"};
    return scaled(out, x, units, 6);
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
