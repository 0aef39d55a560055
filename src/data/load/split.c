/*
 * split.c - divides rows between training and evaluation.
 *
 * A value is hashed as text, and a number as its shortest text, so that CSV and Parquet agree.
 */
#include "data/load/split.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/rng.h"
#include "data/load/take.h"

static uint64_t hash_text(const char *p, size_t n) {
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a; the bits are mixed by the draw */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
    return h;
}

/* A cell without a value counts as an empty text. */
static uint64_t hash_cell(const cr_column *c, int64_t r) {
    char text[32];
    size_t n = 0;
    const char *p = text;
    if (c->valid && !c->valid[r]) return hash_text("", 0);
    switch (c->type) {
    case CR_COL_STR: p = cr_text_at(c, r, &n); break;
    case CR_COL_I32: n = (size_t)snprintf(text, sizeof text, "%" PRId32, c->v.i32[r]); break;
    case CR_COL_I64: n = (size_t)snprintf(text, sizeof text, "%" PRId64, c->v.i64[r]); break;
    case CR_COL_F32: n = cr_fmt_f32(text, c->v.f32[r]); break;
    case CR_COL_F64: n = cr_fmt_f64(text, c->v.f64[r]); break;
    }
    return hash_text(p, n);
}

void cr_skipper_clear(cr_skipper *k) {
    cr_regex_run_free(k->run);
    *k = (cr_skipper){0};
}

/* Is the row left out? A cell without a value has no text. An expression that takes too much work
 * is not found. */
static bool skipped(const cr_split *s, const cr_chunk *chunk, int64_t r, cr_skipper *k) {
    for (int i = 0; i < s->n_skip; i++) {
        const cr_column *c = &chunk->cols[s->skip[i].col];
        cr_regex_match m;
        size_t n;
        if (c->type != CR_COL_STR || c->depth > 0 || (c->valid && !c->valid[r])) continue;
        const char *p = cr_text_at(c, r, &n);
        if (!k->run) k->run = cr_regex_run_new(&k->work);
        k->work.left = CR_MOST_WORK;
        if (cr_regex_find(s->skip[i].regex, k->run, p, n, 0, false, &m) == 1) return true;
    }
    return false;
}

int64_t cr_split_rows(const cr_split *s, const cr_chunk *chunk, int64_t block, cr_skipper *k,
                      int32_t *kept) {
    uint64_t key =
        cr_rng_key(0, "eval_fraction", s->col < 0 ? cr_path_base(chunk->path) : "values");
    int64_t n = 0, first = block < 0 ? chunk->first_row : 0;
    if (s->col < 0 && block >= 0) key = cr_rng_sub(key, (uint64_t)block);
    for (int64_t r = 0; r < chunk->n_rows; r++) {
        if (s->n_skip > 0 && skipped(s, chunk, r, k)) continue;
        if (s->side == CR_ALL_ROWS) {
            kept[n++] = (int32_t)r;
            continue;
        }
        uint64_t i = s->col < 0 ? (uint64_t)(first + r) : hash_cell(&chunk->cols[s->col], r);
        bool eval = cr_rng_f64(key, i) < s->fraction;
        if (eval == (s->side == CR_EVAL_ROWS)) kept[n++] = (int32_t)r;
    }
    return n;
}

void cr_split_chunk(cr_chunk *chunk, const int32_t *kept, int64_t n) {
    cr_arena *a = &chunk->arena;
    cr_column *cols = CR_NEW_N(a, cr_column, chunk->n_cols + 1);
    for (int c = 0; c < chunk->n_cols; c++)
        cr_column_take(&cols[c], &chunk->cols[c], kept, n, a);
    chunk->cols = cols;
    if (chunk->lines) {
        int64_t *lines = CR_NEW_N(a, int64_t, n + 1);
        for (int64_t i = 0; i < n; i++)
            lines[i] = chunk->lines[kept[i]];
        chunk->lines = lines;
    }
    if (chunk->hidden) {
        uint8_t *hidden = CR_NEW_N(a, uint8_t, n + 1);
        for (int64_t i = 0; i < n; i++)
            hidden[i] = chunk->hidden[kept[i]];
        chunk->hidden = hidden;
    }
    chunk->n_rows = n;
}
