/*
 * sample.c - the rows that are kept: those with the smallest keys.
 *
 * The key of a row is a hash of its file, block and number in the block, so the sample is even over
 * all rows, the same for any number of threads, and any two samples can be joined.
 *
 * Most rows that come are dropped again. So a row is only a string of bytes at first, texts as they
 * are and numbers; at the end the rows that stay become cells.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "feat/hash.h"
#include "survey/survey_int.h"

#define MOST_ROWS  32768
#define MOST_CELLS (2 << 20)
#define LEAST_ROWS 2048

void cr_sv_sample_init(sample *s, int n_cols) {
    *s = (sample){.n_cols = n_cols, .limit = UINT64_MAX};
    s->most = n_cols > 0 ? MOST_CELLS / n_cols : MOST_ROWS;
    s->most = s->most > MOST_ROWS ? MOST_ROWS : s->most < LEAST_ROWS ? LEAST_ROWS : s->most;
    cr_arena_init(&s->arena[0], 0);
    cr_arena_init(&s->arena[1], 0);
}

void cr_sv_sample_clear(sample *s) {
    for (int i = 0; s->sorted && i < s->n_cols; i++)
        cr_free(s->sorted[i].v);
    cr_free(s->v);
    s->v = NULL;
    cr_arena_clear(&s->arena[0]);
    cr_arena_clear(&s->arena[1]);
}

static int by_key(const void *a, const void *b) {
    uint64_t x = ((const kept_row *)a)->key, y = ((const kept_row *)b)->key;
    return x < y ? -1 : x > y;
}

static void copy_row(kept_row *to, const kept_row *from, cr_arena *a) {
    *to = (kept_row){.key = from->key, .size = from->size};
    to->raw = cr_arena_alloc(a, from->size);
    memcpy(to->raw, from->raw, from->size);
}

/* Brings the `most` rows with the smallest keys to the front. */
static void select_rows(kept_row *v, int64_t n, int64_t most) {
    int64_t from = 0, to = n; /* all before `from` belong there, none from `to` on */
    while (to - from > 1 && from < most && to > most) {
        uint64_t pivot = v[from + (to - from) / 2].key;
        int64_t i = from, k = to - 1;
        while (i <= k) {
            while (v[i].key < pivot)
                i++;
            while (v[k].key > pivot)
                k--;
            if (i > k) break;
            kept_row t = v[i];
            v[i++] = v[k];
            v[k--] = t;
        }
        if (most <= k + 1)
            to = k + 1;
        else if (most >= i)
            from = i;
        else
            break;
    }
}

static void drop_rows(sample *s) {
    if (s->n <= s->most) return;
    select_rows(s->v, s->n, s->most);
    /* what stays moves to the other arena, so that memory does not grow with the rows */
    cr_arena *to = &s->arena[1 - s->cur];
    s->limit = 0;
    for (int64_t i = 0; i < s->most; i++) {
        kept_row r = s->v[i];
        copy_row(&s->v[i], &r, to);
        s->limit = r.key > s->limit ? r.key : s->limit;
    }
    cr_arena_reset(&s->arena[s->cur]);
    s->cur = 1 - s->cur;
    s->n = s->most;
}

/* ---- rows as bytes ----
 *
 * For each column a byte that says what follows: nothing; the 8 bytes of a number; a text with its
 * length; or what a text says and its beginning, where it is too long to keep all of it. */
enum { NOTHING, WHOLE, REAL, TEXT, LONG_TEXT };

/* What a cell says. */
typedef struct number {
    uint64_t hash;
    double x; /* NAN: none */
    bool there;
} number;

static uint64_t bits_at(const cr_column *c, int64_t r) {
    if (c->type == CR_COL_I64) return (uint64_t)c->v.i64[r];
    double x = c->type == CR_COL_F32   ? (double)c->v.f32[r]
               : c->type == CR_COL_F64 ? c->v.f64[r]
                                       : (double)c->v.i32[r];
    uint64_t bits;
    memcpy(&bits, &x, sizeof x);
    return bits;
}

static number number_from(uint64_t bits, bool whole) {
    number v = {.hash = bits};
    memcpy(&v.x, &bits, sizeof v.x);
    if (whole)
        v.x = (double)(int64_t)bits;
    else if (v.x == 0)
        v.hash = 0; /* -0 counts as 0 */
    v.there = !isnan(v.x);
    v.hash = cr_mix64(v.hash + CR_RNG_STEP);
    return v;
}

/* Finds what a text says. */
static number number_in(const char *p, size_t n) {
    number v = {.x = NAN, .there = n > 0 && !cr_sv_is_mark(p, n)};
    if (!v.there) return v;
    v.hash = cr_hash_murmur(p, n);
    if (!cr_parse_f64(p, n, &v.x) || !isfinite(v.x)) v.x = NAN;
    return v;
}

static size_t put_bytes(char *to, const void *from, size_t n) {
    memcpy(to, from, n);
    return n;
}

/* Writes a cell and returns its bytes, CELL_BYTES at most. */
#define CELL_BYTES (1 + sizeof(number) + sizeof(uint16_t) + CELL_TEXT)
static size_t put_cell(char *to, const cr_column *c, int64_t r) {
    size_t n, at = 1;
    *to = NOTHING;
    if ((c->valid && !c->valid[r]) || c->depth > 0) return at;
    if (c->type != CR_COL_STR) {
        uint64_t bits = bits_at(c, r);
        *to = c->type == CR_COL_I64 ? WHOLE : REAL;
        return at + put_bytes(to + at, &bits, sizeof bits);
    }
    const char *p = cr_text_at(c, r, &n);
    if (n == 0) return at;
    *to = n > CELL_TEXT ? LONG_TEXT : TEXT;
    if (*to == LONG_TEXT) {
        number v = number_in(p, n);
        at += put_bytes(to + at, &v, sizeof v);
    }
    uint16_t len = (uint16_t)(n < CELL_TEXT ? n : CELL_TEXT);
    at += put_bytes(to + at, &len, sizeof len);
    return at + put_bytes(to + at, p, len);
}

/* Reads a cell; its text is copied into the arena. */
static const char *get_cell(const char *p, cell *to, cr_arena *a) {
    int what = (unsigned char)*p++;
    uint64_t bits;
    uint16_t n = 0;
    number v = {.x = NAN};
    if (what == WHOLE || what == REAL) {
        memcpy(&bits, p, sizeof bits);
        p += sizeof bits;
        v = number_from(bits, what == WHOLE);
    }
    if (what == LONG_TEXT) {
        memcpy(&v, p, sizeof v);
        p += sizeof v;
    }
    if (what >= TEXT) {
        memcpy(&n, p, sizeof n);
        p += sizeof n;
        if (what == TEXT) v = number_in(p, n);
    }
    *to = (cell){.hash = v.hash, .number = v.x, .there = v.there};
    if (what >= TEXT && v.there) to->text = cr_arena_strndup(a, p, n);
    return p + n;
}

void cr_sv_sample_end(sample *s) {
    drop_rows(s);
    if (s->n > 1) qsort(s->v, (size_t)s->n, sizeof *s->v, by_key);
    cr_arena *a = &s->arena[s->cur];
    s->cells = CR_NEW_N(a, cell *, s->n_cols + 1);
    s->sorted = CR_NEW_N(a, struct sorted, s->n_cols + 1);
    for (int i = 0; i < s->n_cols; i++)
        s->cells[i] = cr_arena_alloc(a, sizeof(cell) * (size_t)(s->n + 1));
    for (int64_t r = 0; r < s->n; r++) {
        const char *p = s->v[r].raw;
        for (int i = 0; i < s->n_cols; i++)
            p = get_cell(p, &s->cells[i][r], a);
    }
}

static kept_row *new_row(sample *s, uint64_t key) {
    if (s->n >= 2 * s->most) drop_rows(s);
    if (s->n == s->cap) {
        int64_t cap = s->cap ? 2 * s->cap : 256;
        s->v = cr_realloc(s->v, (size_t)s->cap * sizeof *s->v, (size_t)cap * sizeof *s->v,
                          "sampled rows");
        s->cap = cap;
    }
    kept_row *r = &s->v[s->n++];
    *r = (kept_row){.key = key};
    return r;
}

void cr_sv_sample_chunk(sample *s, const cr_chunk *c, int64_t file, int64_t block, uint64_t limit) {
    uint64_t key =
        cr_rng_sub(cr_rng_sub(cr_rng_key(0, "survey", NULL), (uint64_t)file), (uint64_t)block);
    char *bytes = cr_alloc(CELL_BYTES * (size_t)(s->n_cols + 1), "a sampled row");
    s->limit = limit;
    for (int64_t r = 0; r < c->n_rows; r++) {
        uint64_t k = cr_rng_u64(key, (uint64_t)r);
        if (k > s->limit) continue;
        kept_row *row = new_row(s, k);
        for (int i = 0; i < s->n_cols; i++)
            row->size += put_cell(bytes + row->size, &c->cols[i], r);
        row->raw = cr_arena_alloc(&s->arena[s->cur], row->size);
        memcpy(row->raw, bytes, row->size);
    }
    cr_free(bytes);
}

void cr_sv_sample_join(sample *s, sample *o) {
    for (int64_t i = 0; i < o->n; i++)
        if (o->v[i].key <= s->limit) {
            kept_row *row = new_row(s, o->v[i].key);
            copy_row(row, &o->v[i], &s->arena[s->cur]);
        }
    o->n = 0;
    cr_arena_reset(&o->arena[0]);
    cr_arena_reset(&o->arena[1]);
    o->cur = 0;
}

known *cr_sv_sampled_values(const sample *s, int k, int *value_of, int64_t *n, int64_t *all) {
    known *v = cr_alloc(sizeof(known) * (size_t)(s->n + 1), "sampled values");
    size_t slots = 1;
    while (slots < 2 * (size_t)s->n + 2)
        slots *= 2;
    uint32_t *at = cr_alloc(slots * sizeof *at, "sampled values");
    *n = *all = 0;
    for (int64_t r = 0; r < s->n; r++) {
        const cell *x = &s->cells[k][r];
        if (value_of) value_of[r] = -1;
        if (!x->there) continue;
        ++*all;
        size_t i = (size_t)(x->hash >> 20) & (slots - 1);
        while (at[i] && v[at[i] - 1].hash != x->hash)
            i = (i + 1) & (slots - 1);
        if (!at[i]) {
            v[*n] = (known){.hash = x->hash, .text = x->text, .number = x->number};
            at[i] = (uint32_t)++ * n;
        }
        v[at[i] - 1].n++;
        if (value_of) value_of[r] = (int)at[i] - 1;
    }
    cr_free(at);
    return v;
}

#define DIGIT 11 /* bits; six of them are a number */

/* Orders doubles as unsigned numbers; -0 becomes 0. */
static uint64_t bits_of(double x) {
    uint64_t b;
    x += 0.0;
    memcpy(&b, &x, sizeof b);
    return b >> 63 ? ~b : b | UINT64_C(1) << 63;
}
static double number_of(uint64_t b) {
    double x;
    b = b >> 63 ? b & ~(UINT64_C(1) << 63) : ~b;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* Sorts fewer than 2^32 numbers, none of them a NaN. */
static void sort_numbers(double *v, int64_t n) {
    enum { BUCKETS = 1 << DIGIT };
    uint64_t *mem = cr_alloc(2 * sizeof *mem * (size_t)(n + 1), "numbers"), *a = mem, *b = mem + n;
    for (int64_t i = 0; i < n; i++)
        a[i] = bits_of(v[i]);
    for (int shift = 0; shift < 64; shift += DIGIT) {
        uint32_t at[BUCKETS] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++)
            at[(a[i] >> shift) & (BUCKETS - 1)]++;
        if (n == 0 || at[(a[0] >> shift) & (BUCKETS - 1)] == n) continue; /* all have this digit */
        for (int d = 0; d < BUCKETS; d++) {
            uint32_t here = at[d];
            at[d] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++)
            b[at[(a[i] >> shift) & (BUCKETS - 1)]++] = a[i];
        uint64_t *t = a;
        a = b;
        b = t;
    }
    for (int64_t i = 0; i < n; i++)
        v[i] = number_of(a[i]);
    cr_free(mem);
}

const double *cr_sv_sampled_numbers(const sample *s, int k, int64_t *n) {
    struct sorted *to = &s->sorted[k];
    if (!to->v) {
        to->v = cr_alloc(sizeof(double) * (size_t)(s->n + 1), "sampled numbers");
        for (int64_t r = 0; r < s->n; r++) {
            to->v[to->n] = s->cells[k][r].number;
            to->n += !isnan(to->v[to->n]);
        }
        sort_numbers(to->v, to->n);
    }
    *n = to->n;
    return to->v;
}

int64_t cr_sv_first_values(const known **first, int64_t most, const known *v, int64_t n,
                           int (*cmp)(const known *a, const known *b)) {
    int64_t have = 0;
    for (int64_t i = 0; i < n; i++) {
        if (have == most && (most == 0 || cmp(&v[i], first[most - 1]) >= 0)) continue;
        int64_t a = 0, z = have; /* behind those that come before it */
        while (a < z) {
            int64_t m = (a + z) / 2;
            if (cmp(first[m], &v[i]) < 0)
                a = m + 1;
            else
                z = m;
        }
        have += have < most;
        memmove(first + a + 1, first + a, (size_t)(have - 1 - a) * sizeof *first);
        first[a] = &v[i];
    }
    return have;
}
