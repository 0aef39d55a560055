/*
 * buf.c - the growing buffer, and the distance between a typo and what was meant.
 *
 * An empty buffer points at a shared NUL, so data is a valid text before anything was added; that
 * byte is never written. The distance is Levenshtein's with swaps of neighbours, on bytes.
 */
#include "base/buf.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

static char empty[1]; /* data points here while nothing is allocated; never written */

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

void cr_buf_i64(cr_buf *b, int64_t x) {
    char text[24];
    size_t n = cr_fmt_i64(text, x);
    cr_buf_add(b, text, n);
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

/* Is the word the first or the last part of a name: adam of adam_optimizer? */
static bool is_part(const char *word, size_t len, const char *name) {
    size_t n = strlen(name);
    if (len < 3 || n < len + 2) return false;
    return (name[len] == '_' && strncasecmp(name, word, len) == 0) ||
           (name[n - len - 1] == '_' && strcasecmp(name + n - len, word) == 0);
}

/* whole_name returns the only name that the word is a part of, or NULL when there are none or
 * several. */
static const char *whole_name(const char *word, size_t len,
                              const char *(*next)(const void *ctx, size_t i), const void *ctx) {
    const char *found = NULL, *cand;
    for (size_t i = 0; (cand = next(ctx, i)); i++) {
        if (!is_part(word, len, cand)) continue;
        if (found) return NULL;
        found = cand;
    }
    return found;
}

const char *cr_nearest(const char *word, const char *(*next)(const void *ctx, size_t i),
                       const void *ctx) {
    size_t len = strlen(word);
    if (len == 0 || len > 256) return NULL;
    /* one wrong letter in three is a typo; with more it is another word */
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
    return found ? found : whole_name(word, len, next, ctx);
}
