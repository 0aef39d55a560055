/*
 * calc_read.c - reads the inputs of operators row by row (tokens, pairs, numbers), and stores their
 * results.
 *
 * The arrays of a row are used again for the next row; they grow in the arena of the batch. Tokens
 * point into the column; integers are written as text beside them.
 */
#include "feat/calc_int.h"

#include <math.h>

#include "feat/number.h"

/* Returns a bigger array with the old content; *cap becomes its size, which is at least n. */
static void *grown(cr_arena *a, const void *old, int64_t n_old, int64_t *cap, int64_t n,
                   size_t size) {
    int64_t to = *cap ? 2 * *cap : 16;
    if (to < n) to = n;
    void *v = cr_arena_alloc(a, size * (size_t)to);
    if (n_old) memcpy(v, old, size * (size_t)n_old);
    *cap = to;
    return v;
}

/* ---- results ---- */

static void room(cr_values *v) {
    if (v->n < v->cap) return;
    int64_t cap = v->cap;
    if (v->text) {
        v->beg = grown(v->arena, v->beg, v->n, &cap, v->n + 1, sizeof(uint32_t));
        cap = v->cap;
        v->end = grown(v->arena, v->end, v->n, &cap, v->n + 1, sizeof(uint32_t));
    } else {
        v->x = grown(v->arena, v->x, v->n, &cap, v->n + 1, sizeof(double));
    }
    v->cap = cap;
}

void cr_values_piece(cr_values *v, const char *p, size_t n) {
    if (v->cap_bytes - v->n_bytes < n) {
        size_t cap = v->cap_bytes ? 2 * v->cap_bytes : 4096;
        while (cap - v->n_bytes < n)
            cap *= 2;
        char *b = cr_arena_alloc(v->arena, cap);
        if (v->n_bytes) memcpy(b, v->bytes, v->n_bytes);
        v->bytes = b;
        v->cap_bytes = cap;
    }
    if (n) memcpy(v->bytes + v->n_bytes, p, n);
    v->n_bytes += n;
}

void cr_values_token(cr_values *v) {
    room(v);
    v->beg[v->n] = v->n ? v->end[v->n - 1] : 0;
    v->end[v->n++] = (uint32_t)v->n_bytes; /* too many bytes are reported when all rows are done */
}

void cr_values_number(cr_values *v, double x) {
    room(v);
    v->x[v->n++] = x;
}

void cr_values_drop(cr_values *v) {
    v->n = v->off[v->row];
    if (v->text) v->n_bytes = v->n ? v->end[v->n - 1] : 0;
}

/* ---- tokens ---- */

static void add(cr_toks *t, const char *p, size_t n, cr_arena *arena) {
    if (t->n == t->cap) t->v = grown(arena, t->v, t->n, &t->cap, t->n + 1, sizeof(cr_tok));
    t->v[t->n++] = (cr_tok){p, n};
}

static bool is_int(const cr_column *c) {
    return c->type == CR_COL_I32 || c->type == CR_COL_I64;
}

static int64_t int_at(const cr_column *c, int64_t i) {
    return c->type == CR_COL_I32 ? c->v.i32[i] : c->v.i64[i];
}

static double f64_at(const cr_column *c, int64_t i) {
    return c->type == CR_COL_F32 ? (double)c->v.f32[i] : c->v.f64[i];
}

/* Makes room for n integers as text. It is called once per row, since tokens point into that
 * room. */
static void num_room(cr_toks *t, int64_t n, cr_arena *arena) {
    if (t->cap_num < n) t->num = grown(arena, NULL, 0, &t->cap_num, n, 24);
}

/* Returns value i of a column as text; number counts the integers of the row that were written as
 * text. */
static cr_tok value_at(cr_toks *t, const cr_column *c, int64_t i, int64_t number) {
    cr_tok x;
    if (is_int(c)) {
        x.p = t->num + 24 * number;
        x.n = cr_fmt_i64(t->num + 24 * number, int_at(c, i));
    } else {
        x.p = cr_text_at(c, i, &x.n);
    }
    return x;
}

static void split(cr_toks *t, const char *p, size_t n, int sep, bool keep_empty, cr_arena *arena) {
    const char *end = p + n;
    while (p <= end) {
        const char *cut = memchr(p, sep, (size_t)(end - p)), *stop = cut ? cut : end;
        if (stop > p || keep_empty) add(t, p, (size_t)(stop - p), arena);
        if (!cut) break;
        p = cut + 1;
    }
}

static bool null_row(const cr_column *col, int64_t r) {
    return col->valid && !col->valid[r];
}

void cr_toks_row(cr_toks *t, const cr_column *col, int64_t r, int sep, bool keep_empty,
                 cr_arena *arena) {
    t->n = 0;
    if (null_row(col, r)) return;
    if (col->depth == 0) {
        if (is_int(col)) num_room(t, 1, arena);
        cr_tok x = value_at(t, col, r, 0);
        if (x.n == 0) return;
        if (is_int(col) || sep == CR_WHOLE_TEXT)
            add(t, x.p, x.n, arena);
        else
            split(t, x.p, x.n, sep, keep_empty, arena);
        return;
    }
    int64_t a = col->row_off[r], b = col->row_off[r + 1];
    if (is_int(col)) num_room(t, b - a, arena);
    for (int64_t i = a; i < b; i++) {
        cr_tok x = {"", 0};
        if (!col->item_valid || col->item_valid[i]) x = value_at(t, col, i, i - a);
        if (x.n || keep_empty) add(t, x.p, x.n, arena);
    }
}

/* ---- pairs ---- */

static cr_pair *new_pair(cr_pairs *t, cr_arena *arena) {
    if (t->n == t->cap) t->v = grown(arena, t->v, t->n, &t->cap, t->n + 1, sizeof(cr_pair));
    cr_pair *p = &t->v[t->n++];
    *p = (cr_pair){{"", 0}, {NULL, 0}, 0, false};
    return p;
}

void cr_pairs_row(cr_pairs *t, const cr_column *col, int64_t r, char sep, char kv,
                  cr_arena *arena) {
    t->n = 0;
    if (!col->keys) {
        cr_toks_row(&t->toks, col, r, sep, false, arena);
        for (int64_t i = 0; i < t->toks.n; i++) {
            cr_tok x = t->toks.v[i];
            const char *cut = memchr(x.p, kv, x.n);
            cr_pair *p = new_pair(t, arena);
            p->key = (cr_tok){x.p, cut ? (size_t)(cut - x.p) : x.n};
            if (cut) p->value = (cr_tok){cut + 1, (size_t)(x.p + x.n - cut - 1)};
        }
        return;
    }
    if (null_row(col, r)) return;
    int64_t a = col->row_off[r], b = col->row_off[r + 1];
    num_room(&t->toks, 2 * (b - a), arena);
    for (int64_t i = a; i < b; i++) {
        if (col->keys->item_valid && !col->keys->item_valid[i]) continue;
        cr_pair *p = new_pair(t, arena);
        p->key = value_at(&t->toks, col->keys, i, 2 * (i - a));
        if (col->item_valid && !col->item_valid[i]) continue; /* a key without a value */
        if (col->type == CR_COL_F32 || col->type == CR_COL_F64) {
            p->x = f64_at(col, i);
            p->is_num = true;
            p->value = (cr_tok){"", 0};
            continue;
        }
        p->value = value_at(&t->toks, col, i, 2 * (i - a) + 1);
        if (is_int(col)) {
            p->x = (double)int_at(col, i);
            p->is_num = true;
        }
    }
}

bool cr_pair_number(const cr_pair *p, double *x) {
    if (!p->is_num) return cr_num_f64(p->value.p, p->value.n, x);
    *x = p->x;
    return isfinite(p->x);
}

/* ---- numbers ---- */

static void add_number(cr_nums *t, double x, cr_arena *arena) {
    if (t->n == t->cap) t->v = grown(arena, t->v, t->n, &t->cap, t->n + 1, sizeof(double));
    t->v[t->n++] = x;
}

static bool text_number(cr_nums *t, const char *p, size_t n, cr_arena *arena, cr_tok *bad) {
    double x = 0;
    *bad = (cr_tok){p, n};
    if (!cr_num_f64(p, n, &x)) return false;
    add_number(t, x, arena);
    return true;
}

static bool typed_number(cr_nums *t, const cr_column *col, int64_t i, cr_arena *arena,
                         cr_tok *bad) {
    if (col->type == CR_COL_STR) {
        size_t n;
        const char *p = cr_text_at(col, i, &n);
        return text_number(t, p, n, arena, bad);
    }
    double x = is_int(col) ? (double)int_at(col, i) : f64_at(col, i);
    *bad = isnan(x) ? (cr_tok){"nan", 3} : (cr_tok){"inf", 3};
    add_number(t, x, arena);
    return isfinite(x);
}

bool cr_nums_row(cr_nums *t, const cr_column *col, int64_t r, char sep, cr_arena *arena,
                 cr_tok *bad) {
    t->n = 0;
    if (null_row(col, r)) return true;
    if (col->depth == 0 && col->type != CR_COL_STR) return typed_number(t, col, r, arena, bad);
    if (col->depth == 0) {
        size_t n;
        const char *p = cr_text_at(col, r, &n), *end = p + n;
        while (p < end) {
            const char *cut = memchr(p, sep, (size_t)(end - p)), *stop = cut ? cut : end;
            if (stop > p && !text_number(t, p, (size_t)(stop - p), arena, bad)) return false;
            p = stop + 1;
        }
        return true;
    }
    for (int64_t i = col->row_off[r]; i < col->row_off[r + 1]; i++)
        if ((!col->item_valid || col->item_valid[i]) && !typed_number(t, col, i, arena, bad))
            return false;
    return true;
}
