/*
 * numbers.c - reads columns as rows of numbers.
 *
 * Reading is one pass that knows nothing of normalizers or boundaries; those run over the whole
 * array afterwards. A number must be finite: a NaN in the input would show up as a NaN loss, far
 * from its cause.
 */
#include "feat/feat_int.h"

#include <math.h>
#include <string.h>

#include "base/shown.h"
#include "feat/number.h"

typedef struct reading {
    const cr_column *col;
    const cr_chunk *chunk;
    const char *place;
    int64_t dim;
    double *x;
    uint8_t *state;
    cr_bad *bad;
    cr_feature_counts *counts;
} reading;

static void bad_text(const reading *t, int64_t row, const char *p, size_t n, const char *why) {
    char show[80];
    cr_count_bad(t->counts, p, n);
    cr_bad_add(t->bad, row, cr_line_of(t->chunk, row), "%s, value '%s': %s", t->place,
               cr_show(show, p, n), why);
    t->state[row] = CR_ROW_BAD;
    memset(t->x + row * t->dim, 0, sizeof(double) * (size_t)t->dim);
}

/* Reports a bad cell that is one text. */
static void bad_cell(const reading *t, int64_t row, const char *p, size_t n) {
    bad_text(t, row, p, n, cr_null_like(p, n) ? "not a number; " CR_NULL_CURE : cr_num_why(p, n));
}

static void bad_count(const reading *t, int64_t row, int64_t n) {
    cr_bad_add(t->bad, row, cr_line_of(t->chunk, row), "%s: %lld value%s, value_dim is %lld",
               t->place, (long long)n, n == 1 ? "" : "s", (long long)t->dim);
    t->counts->unparsable++;
    t->state[row] = CR_ROW_BAD;
    memset(t->x + row * t->dim, 0, sizeof(double) * (size_t)t->dim);
}

static void bad_number(const reading *t, int64_t row, double x) {
    bad_text(t, row,
             isnan(x) ? "nan"
             : x > 0  ? "inf"
                      : "-inf",
             isnan(x) || x > 0 ? 3 : 4, "not a finite number");
}

static bool is_null(const cr_column *col, int64_t r) {
    return col->valid && !col->valid[r];
}

static void text_one(const reading *t) {
    const cr_column *col = t->col;
    for (int64_t r = 0; r < t->chunk->n_rows; r++) {
        size_t n;
        const char *p = cr_text_at(col, r, &n);
        if (n == 0 || is_null(col, r)) {
            t->x[r] = 0;
            t->state[r] = CR_ROW_MISSING;
        } else if (cr_num_f64(p, n, &t->x[r])) {
            t->state[r] = CR_ROW_OK;
        } else {
            bad_cell(t, r, p, n);
        }
    }
}

static void text_many(const reading *t, const char *sep, size_t n_sep) {
    const cr_column *col = t->col;
    for (int64_t r = 0; r < t->chunk->n_rows; r++) {
        size_t len;
        const char *p = cr_text_at(col, r, &len), *end = p + len;
        double *x = t->x + r * t->dim;
        t->state[r] = CR_ROW_OK;
        if (p == end || is_null(col, r)) {
            t->state[r] = CR_ROW_MISSING;
            memset(x, 0, sizeof(double) * (size_t)t->dim);
            continue;
        }
        for (int64_t k = 0;; k++) {
            const char *cut = memmem(p, (size_t)(end - p), sep, n_sep), *stop = cut ? cut : end;
            double v = 0;
            if (!cr_num_f64(p, (size_t)(stop - p), &v)) {
                bad_text(t, r, p, (size_t)(stop - p), cr_num_why(p, (size_t)(stop - p)));
                break;
            }
            if (k < t->dim) x[k] = v;
            if (!cut) {
                if (k + 1 != t->dim) bad_count(t, r, k + 1);
                break;
            }
            p = cut + n_sep;
        }
    }
}

/* The numbers of a dictionary's entries; state 0: not looked at yet. */
typedef struct entries {
    double *x;
    uint8_t *state;
} entries;
enum { ENTRY_NUMBER = 1, ENTRY_EMPTY = 2, ENTRY_BAD = 3 };
static const char who; /* key of the memo: all features share the numbers of a column */

static void codes_one(const reading *t, cr_arena *arena) {
    const cr_column *col = t->col;
    entries *e = col->memo ? cr_memo_get(col->memo, &who) : NULL;
    if (!e) {
        cr_arena *a = col->memo ? &col->memo->arena : arena;
        e = CR_NEW(a, entries);
        e->x = cr_arena_alloc(a, sizeof(double) * (size_t)(col->n_dict + 1));
        e->state = cr_arena_zalloc(a, (size_t)col->n_dict + 1);
        if (col->memo) cr_memo_put(col->memo, &who, e);
    }
    for (int64_t r = 0; r < t->chunk->n_rows; r++) {
        uint32_t k = col->code[r];
        size_t n = col->end[k] - col->beg[k];
        const char *p = col->bytes + col->beg[k];
        if (!e->state[k])
            e->state[k] = n == 0                       ? ENTRY_EMPTY
                          : cr_num_f64(p, n, &e->x[k]) ? ENTRY_NUMBER
                                                       : ENTRY_BAD;
        bool null = e->state[k] == ENTRY_EMPTY || is_null(col, r);
        if (null || e->state[k] == ENTRY_NUMBER) {
            t->x[r] = null ? 0 : e->x[k];
            t->state[r] = null ? CR_ROW_MISSING : CR_ROW_OK;
        } else {
            bad_cell(t, r, p, n);
        }
    }
}

/* Reads scalars of one C type. */
#define TYPED(field)                                                                               \
    do {                                                                                           \
        for (int64_t r = 0; r < t->chunk->n_rows; r++) {                                           \
            bool null = is_null(t->col, r);                                                        \
            t->x[r] = null ? 0 : (double)t->col->v.field[r];                                       \
            t->state[r] = null ? CR_ROW_MISSING : CR_ROW_OK;                                       \
            if (!isfinite(t->x[r])) bad_number(t, r, t->x[r]);                                     \
        }                                                                                          \
    } while (0)

static void typed_one(const reading *t) {
    switch (t->col->type) {
    case CR_COL_I32: TYPED(i32); break;
    case CR_COL_I64: TYPED(i64); break;
    case CR_COL_F32: TYPED(f32); break;
    case CR_COL_F64: TYPED(f64); break;
    case CR_COL_STR: break;
    }
}

/* Reads the numbers of row r of a list of texts. An item may hold several numbers with sep between
 * them, like a text that a lookup found and another feature splits (FG_DAG). */
static void list_texts(const reading *t, int64_t r, const char *sep, size_t n_sep) {
    const cr_column *col = t->col;
    int64_t k = 0;
    for (int64_t i = col->row_off[r]; i < col->row_off[r + 1]; i++) {
        size_t len = 4;
        const char *p = "null";
        if (!col->item_valid || col->item_valid[i]) p = cr_text_at(col, i, &len);
        for (const char *end = p + len; p; k++) {
            const char *cut = t->dim > 1 ? memmem(p, (size_t)(end - p), sep, n_sep) : NULL,
                       *stop = cut ? cut : end;
            double v = 0;
            if (!cr_num_f64(p, (size_t)(stop - p), &v)) {
                bad_text(t, r, p, (size_t)(stop - p), cr_num_why(p, (size_t)(stop - p)));
                return;
            }
            if (k < t->dim) t->x[r * t->dim + k] = v;
            p = cut ? cut + n_sep : NULL;
        }
    }
    if (k != t->dim) bad_count(t, r, k);
}

static void lists(const reading *t, const char *sep, size_t n_sep) {
    const cr_column *col = t->col;
    for (int64_t r = 0; r < t->chunk->n_rows; r++) {
        int64_t a = col->row_off[r], n = col->row_off[r + 1] - a;
        double *x = t->x + r * t->dim;
        memset(x, 0, sizeof(double) * (size_t)t->dim);
        t->state[r] = n == 0 || is_null(col, r) ? CR_ROW_MISSING : CR_ROW_OK;
        if (t->state[r] == CR_ROW_MISSING) continue;
        if (col->type == CR_COL_STR) {
            list_texts(t, r, sep, n_sep);
            continue;
        }
        if (n != t->dim) {
            bad_count(t, r, n);
            continue;
        }
        for (int64_t k = 0; k < n; k++) {
            int64_t i = a + k;
            if (col->item_valid && !col->item_valid[i]) {
                bad_text(t, r, "null", 4, "not a number");
                break;
            }
            switch (col->type) {
            case CR_COL_I32: x[k] = col->v.i32[i]; break;
            case CR_COL_I64: x[k] = (double)col->v.i64[i]; break;
            case CR_COL_F32: x[k] = (double)col->v.f32[i]; break;
            case CR_COL_F64: x[k] = col->v.f64[i]; break;
            case CR_COL_STR: break;
            }
            if (isfinite(x[k])) continue;
            bad_number(t, r, x[k]);
            break;
        }
    }
}

cr_code cr_numbers_read(const cr_column *col, const cr_chunk *chunk, const char *place, int64_t dim,
                        const char *sep, size_t n_sep, double *x, uint8_t *state, cr_arena *arena,
                        cr_bad *bad, cr_feature_counts *counts, cr_err *err) {
    reading t = {col, chunk, place, dim, x, state, bad, counts};
    const char *path = chunk->path ? chunk->path : "input";
    if (col->depth > 1 || col->keys)
        return cr_fail(err, CR_EDATA, "%s: %s holds %s; numbers or lists of numbers are needed",
                       path, place, col->keys ? "maps" : "lists of lists");
    if (col->depth == 1)
        lists(&t, sep, n_sep);
    else if (col->type == CR_COL_STR && dim == 1 && col->code &&
             (col->memo || col->n_dict <= chunk->n_rows / 4))
        codes_one(&t, arena);
    else if (col->type == CR_COL_STR && dim == 1)
        text_one(&t);
    else if (col->type == CR_COL_STR)
        text_many(&t, sep, n_sep);
    else if (dim == 1)
        typed_one(&t);
    else
        return cr_fail(err, CR_EDATA, "%s: %s holds single numbers, value_dim is %lld", path, place,
                       (long long)dim);
    return CR_OK;
}
