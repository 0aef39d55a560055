/*
 * parse.c - turns one block of CSV text into columns.
 *
 * There are two passes: scan.c lists all separators, then the list (row by row) is turned into
 * columns, a group of rows at a time, so that both sides stay in the first-level cache. Text
 * columns only hold positions; doubled quotes are undone in place, in the block's own text. The
 * arrays of the columns are spaced an odd number of cache lines apart: at a power of two all of
 * them would fall into the same few sets of the cache.
 */
#include "data/csv/csv_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shown.h"
#include "base/word.h"

#define GROUP 64

const char *cr_csv_unquote(char *text, uint32_t *beg, uint32_t *end) {
    uint32_t b = *beg + 1, e = *end, out;
    *beg = b;
    char *q = memchr(text + b, '"', e - b);
    if (!q) return "the quote is not closed";
    out = (uint32_t)(q - text);
    if (out + 1 == e) {
        *end = out;
        return NULL;
    }
    /* The gaps that doubled quotes leave are closed. */
    for (uint32_t in = out; in < e;) {
        if (text[in] != '"') {
            text[out++] = text[in++];
            continue;
        }
        if (in + 1 == e) {
            *end = out;
            return NULL;
        }
        if (text[in + 1] != '"') {
            *end = e;
            return "text follows the closing quote";
        }
        text[out++] = '"';
        in += 2;
    }
    return "the quote is not closed";
}

/* Returns the float nearest to the text, of which d is the nearest double. Rounding twice goes
 * wrong only when d lies exactly half way between two floats, or is too small for a float's full
 * precision. */
static float to_f32(double d, const char *p, size_t n) {
    uint64_t bits;
    memcpy(&bits, &d, 8);
    bool half = (bits & 0x1fffffff) == 0x10000000;
    bool tiny = d != 0 && fabs(d) < 1.2e-38;
    char tmp[64];
    if ((!half && !tiny) || n >= sizeof(tmp)) return (float)d;
    memcpy(tmp, p, n);
    tmp[n] = 0;
    return strtof(tmp, NULL);
}

typedef struct rows {
    char *text;
    const cr_csv_marks *m;
    const uint32_t *first; /* per row: index in m->sep of its first separator */
    int64_t *lines;
    int64_t n;
    int n_cols;
} rows;

/* views fills beg and end of one field for rows [from, to). */
static void views(const cr_csv_form *f, const rows *r, int field, int64_t from, int64_t to,
                  uint32_t *restrict beg, uint32_t *restrict end) {
    const uint32_t *sep = r->m->sep, *first = r->first;
    if (field == 0) {
        for (int64_t i = from; i < to; i++)
            beg[i] = first[i] ? sep[first[i] - 1] + 1 : 0;
    } else {
        const uint32_t d = (uint32_t)f->n_delim, *prev = sep + field - 1;
        for (int64_t i = from; i < to; i++)
            beg[i] = prev[first[i]] + d;
    }
    const uint32_t *here = sep + field;
    for (int64_t i = from; i < to; i++)
        end[i] = here[first[i]];
    if (field == r->n_cols - 1) {
        for (int64_t i = from; i < to; i++) {
            if (end[i] > beg[i] && r->text[end[i] - 1] == '\r') end[i]--;
        }
    }
}

/* split finds the rows that have the right number of fields; the others are bad. */
static void split(const cr_raw *raw, const cr_csv_file *f, const cr_csv_marks *m, cr_arena *a,
                  bool header, rows *r, cr_bad *bad) {
    uint32_t *first = cr_arena_alloc(a, (m->n_rows + 1) * sizeof(*first));
    r->lines = cr_arena_alloc(a, (m->n_rows + 1) * sizeof(*r->lines));
    r->text = raw->text;
    r->m = m;
    r->first = first;
    r->n_cols = f->n_cols;
    int64_t n = 0, line = raw->first_line ? raw->first_line : 1, base = line;
    uint32_t next = 0; /* the separator that the row begins with */
    for (size_t i = 0; i < m->n_rows; i++) {
        uint32_t fields = m->row_end[i] - next + 1;
        if (fields == (uint32_t)f->n_cols && f->n_cols > 1) {
            first[n] = next;
            r->lines[n++] = line;
        } else {
            uint32_t beg = next ? m->sep[next - 1] + 1 : 0, end = m->sep[m->row_end[i]];
            bool empty = beg == end || (beg + 1 == end && raw->text[beg] == '\r');
            if (!empty && fields == (uint32_t)f->n_cols) {
                first[n] = next;
                r->lines[n++] = line;
            } else if (!empty)
                cr_bad_add(bad, -1, line, "the row has %u field%s, the %s %d%s", fields,
                           fields == 1 ? "" : "s",
                           header ? "header has" : "config's input_fields have", f->n_cols,
                           fields == 1 && !header ? " (is data_config.delimiter right?)" : "");
        }
        next = m->row_end[i] + 1;
        line = base + m->row_line[i];
    }
    if (m->open_quote) cr_bad_add(bad, -1, line, "a quote opened in this row is never closed");
    r->n = n;
}

/* A column of numbers that is being filled. */
typedef struct number {
    const char *name;
    cr_column *c;
    char *out;
    uint8_t *valid; /* made at the first null */
    cr_arena *arena;
} number;

static void set_null(number *x, const rows *r, int64_t i) {
    if (!x->valid) {
        x->valid = cr_arena_alloc(x->arena, (size_t)r->n);
        memset(x->valid, 1, (size_t)r->n);
        x->c->valid = x->valid;
    }
    x->valid[i] = 0;
}

/* Handles a number that could not be read: it is a word for null, or the row is bad. */
static void not_read(number *x, const rows *r, int64_t i, const char *p, size_t n, bool whole,
                     cr_bad *bad) {
    set_null(x, r, i);
    if (cr_null_word(p, n)) return;
    char tmp[CR_SHOW];
    double d;
    const char *why = !whole                    ? "not a number"
                      : !cr_parse_f64(p, n, &d) ? "not a whole number"
                      : d == floor(d)           ? "out of the type's range"
                                                : "not a whole number";
    cr_bad_add(bad, i, r->lines[i], "column '%s', value '%s': %s%s", x->name, cr_show(tmp, p, n),
               why, cr_null_like(p, n) ? "; " CR_NULL_CURE : "");
}

/* digits reads 1 to 8 decimal digits at once; p has 8 readable bytes. Most numbers are of this
 * kind. */
static inline bool digits(const char *p, size_t n, uint32_t *out) {
    return cr_word_digits(cr_word_at(p, n), n, out);
}

/* put writes row i of the column. */
static inline void put(const number *x, int64_t i, int64_t v, double d, const char *p, size_t n) {
    switch (x->c->type) {
    case CR_COL_I32: ((int32_t *)(void *)x->out)[i] = (int32_t)v; break;
    case CR_COL_I64: ((int64_t *)(void *)x->out)[i] = v; break;
    case CR_COL_F32: ((float *)(void *)x->out)[i] = to_f32(d, p, n); break;
    default: ((double *)(void *)x->out)[i] = d; break;
    }
}

/* numbers turns the views of rows [from, to) into values. */
static void numbers(number *x, const rows *r, int64_t from, int64_t to, const uint32_t *beg,
                    const uint32_t *end, const cr_nulls *nulls, cr_bad *bad) {
    bool whole = x->c->type == CR_COL_I32 || x->c->type == CR_COL_I64;
    for (int64_t i = from; i < to; i++) {
        const char *p = r->text + beg[i];
        size_t n = end[i] - beg[i];
        uint32_t small;
        if (cr_nulls_has(nulls, p, n)) n = 0;
        if (n - 1 < 8 && digits(p, n, &small)) {
            if (x->c->type == CR_COL_F32)
                ((float *)(void *)x->out)[i] = (float)small;
            else
                put(x, i, small, small, p, n);
            continue;
        }
        while (n && (*p == ' ' || *p == '\t')) {
            p++;
            n--;
        }
        while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
            n--;
        int64_t v = 0;
        double d = 0;
        if (n == 0)
            set_null(x, r, i);
        else if (whole) {
            bool ok = cr_parse_i64(p, cr_whole_part(p, n), &v);
            if (ok && x->c->type == CR_COL_I32) ok = v >= INT32_MIN && v <= INT32_MAX;
            if (!ok) {
                v = 0;
                not_read(x, r, i, p, n, true, bad);
            }
        } else if (!cr_parse_f64(p, n, &d) || isnan(d)) {
            d = 0;
            not_read(x, r, i, p, n, false, bad);
        }
        put(x, i, v, d, p, n);
    }
}

/* unquote_rows undoes the quotes of rows [from, to) of a column. */
static void unquote_rows(const rows *r, const char *name, int64_t from, int64_t to, uint32_t *beg,
                         uint32_t *end, cr_bad *bad) {
    for (int64_t i = from; i < to; i++) {
        if (beg[i] == end[i] || r->text[beg[i]] != '"') continue;
        uint32_t b = beg[i], e = end[i];
        const char *wrong = cr_csv_unquote(r->text, &beg[i], &end[i]);
        char tmp[CR_SHOW];
        if (wrong)
            cr_bad_add(bad, i, r->lines[i], "column '%s', value '%s': %s", name,
                       cr_show(tmp, r->text + b, e - b), wrong);
    }
}

cr_code cr_csv_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                     cr_err *err) {
    (void)err;
    cr_arena *a = &chunk->arena;
    cr_arena_reset(a);
    const cr_csv_file *f = &s->files[raw->file];
    cr_csv_marks m;
    cr_csv_index(&s->form, raw->text, raw->size, a, &m);
    rows r;
    split(raw, f, &m, a, s->conf->with_header, &r, bad);

    chunk->n_rows = r.n;
    chunk->n_cols = s->n_want;
    chunk->path = f->path;
    chunk->first_row = raw->first_row;
    chunk->lines = r.lines;
    chunk->cols = CR_NEW_N(a, cr_column, s->n_want ? s->n_want : 1);
    /* 16 values are a cache line. */
    size_t stride = (((size_t)r.n + 15) / 16 | 1) * 16;
    uint32_t *pos = cr_arena_alloc(a, stride * 2 * (size_t)s->n_want * sizeof(*pos) + 64);
    number *num = CR_NEW_N(a, number, s->n_want + 1);
    for (int c = 0; c < s->n_want; c++) {
        cr_column *col = &chunk->cols[c];
        col->type = s->types[c];
        if (col->type == CR_COL_STR) {
            col->bytes = raw->text;
            col->beg = pos + stride * 2 * (size_t)(s->twin[c] >= 0 ? s->twin[c] : c);
            col->end = col->beg + stride;
            continue;
        }
        size_t width = col->type == CR_COL_I64 || col->type == CR_COL_F64 ? 8 : 4;
        num[c] = (number){s->want[c].name, col, NULL, NULL, a};
        num[c].out = cr_arena_alloc(a, (size_t)(r.n ? r.n : 1) * width);
        col->v.i64 = (const int64_t *)(const void *)num[c].out;
    }
    for (int64_t from = 0; from < r.n; from += GROUP) {
        int64_t to = from + GROUP < r.n ? from + GROUP : r.n;
        for (int c = 0; c < s->n_want; c++) {
            int t = s->twin[c]; /* the same field was found before, and its quotes were undone */
            uint32_t *beg = pos + stride * 2 * (size_t)(t >= 0 ? t : c), *end = beg + stride;
            if (t < 0) {
                views(&s->form, &r, f->col[c], from, to, beg, end);
                if (m.quotes) unquote_rows(&r, s->want[c].name, from, to, beg, end, bad);
            }
            if (s->types[c] != CR_COL_STR) numbers(&num[c], &r, from, to, beg, end, &s->nulls, bad);
        }
    }
    return CR_OK;
}
