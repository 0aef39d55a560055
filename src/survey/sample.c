/*
 * sample.c - the rows that are kept: those with the smallest keys.
 *
 * The key of a row is a hash of its file, block and number in the block, so the sample is even over
 * all rows, the same for any number of threads, and any two samples can be joined.
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
    cr_free(s->v);
    s->v = NULL;
    cr_arena_clear(&s->arena[0]);
    cr_arena_clear(&s->arena[1]);
}

static int by_key(const void *a, const void *b) {
    uint64_t x = ((const kept_row *)a)->key, y = ((const kept_row *)b)->key;
    return x < y ? -1 : x > y;
}

static void copy_row(kept_row *to, const kept_row *from, int n_cols, cr_arena *a) {
    to->key = from->key;
    to->cells = cr_arena_alloc(a, sizeof(cell) * (size_t)(n_cols + 1));
    for (int i = 0; i < n_cols; i++) {
        to->cells[i] = from->cells[i];
        if (from->cells[i].text) to->cells[i].text = cr_arena_strdup(a, from->cells[i].text);
    }
}

void cr_sv_sample_end(sample *s) {
    if (s->n > 1) qsort(s->v, (size_t)s->n, sizeof *s->v, by_key);
    if (s->n <= s->most) return;
    /* what stays moves to the other arena, so that memory does not grow with the rows */
    cr_arena *to = &s->arena[1 - s->cur];
    for (int64_t i = 0; i < s->most; i++) {
        kept_row r = s->v[i];
        copy_row(&s->v[i], &r, s->n_cols, to);
    }
    cr_arena_reset(&s->arena[s->cur]);
    s->cur = 1 - s->cur;
    s->n = s->most;
    s->limit = s->v[s->n - 1].key;
}

static kept_row *new_row(sample *s, uint64_t key) {
    if (s->n >= 2 * s->most) cr_sv_sample_end(s);
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

static cell make_cell(const cr_column *c, int64_t r, cr_arena *a) {
    cell x = {.number = NAN};
    size_t n;
    if ((c->valid && !c->valid[r]) || c->depth > 0) return x;
    x.there = true;
    if (c->type != CR_COL_STR) {
        x.number = c->type == CR_COL_F32   ? (double)c->v.f32[r]
                   : c->type == CR_COL_F64 ? c->v.f64[r]
                   : c->type == CR_COL_I32 ? (double)c->v.i32[r]
                                           : (double)c->v.i64[r];
        x.there = !isnan(x.number);
        double plain = x.number == 0 ? 0 : x.number;
        memcpy(&x.hash, &plain, sizeof plain);
        if (c->type == CR_COL_I64) x.hash = (uint64_t)c->v.i64[r];
        x.hash = cr_mix64(x.hash + CR_RNG_STEP);
        return x;
    }
    const char *p = cr_text_at(c, r, &n);
    x.there = n > 0 && !cr_sv_is_mark(p, n);
    if (!x.there) return x;
    x.hash = cr_hash_murmur(p, n);
    if (!cr_parse_f64(p, n, &x.number) || !isfinite(x.number)) x.number = NAN;
    x.text = cr_arena_strndup(a, p, n < CELL_TEXT ? n : CELL_TEXT);
    return x;
}

void cr_sv_sample_chunk(sample *s, const cr_chunk *c, int64_t file, int64_t block, uint64_t limit) {
    uint64_t key =
        cr_rng_sub(cr_rng_sub(cr_rng_key(0, "survey", NULL), (uint64_t)file), (uint64_t)block);
    s->limit = limit;
    for (int64_t r = 0; r < c->n_rows; r++) {
        uint64_t k = cr_rng_u64(key, (uint64_t)r);
        if (k > s->limit) continue;
        kept_row *row = new_row(s, k);
        row->cells = cr_arena_alloc(&s->arena[s->cur], sizeof(cell) * (size_t)(s->n_cols + 1));
        for (int i = 0; i < s->n_cols; i++)
            row->cells[i] = make_cell(&c->cols[i], r, &s->arena[s->cur]);
    }
}

void cr_sv_sample_join(sample *s, sample *o) {
    for (int64_t i = 0; i < o->n; i++)
        if (o->v[i].key <= s->limit) {
            kept_row *row = new_row(s, o->v[i].key);
            copy_row(row, &o->v[i], s->n_cols, &s->arena[s->cur]);
        }
    o->n = 0;
    cr_arena_reset(&o->arena[0]);
    cr_arena_reset(&o->arena[1]);
    o->cur = 0;
}
