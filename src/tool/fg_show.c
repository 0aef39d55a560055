/*
 * fg_show.c - shows a row and the result of each feature, as lines for users or as one JSON object.
 *
 * Both forms write values in JSON's notation, so that "" and null, or "1" and 1, look different:
 * that difference is often the one that a user is looking for.
 */
#include "tool/fg_int.h"

#include <stdio.h>
#include <string.h>

/* ---- values ---- */

static void put_number(cr_buf *b, const char *text, size_t n) {
    if (memchr(text, 'n', n)) /* nan and inf are not numbers of JSON */
        cr_json_escape(b, text, n);
    else
        cr_buf_add(b, text, n);
}

/* made: a feature made the value; its numbers are float32, whatever type holds them. */
static void put_leaf(cr_buf *b, const cr_column *c, int64_t i, bool made) {
    char text[32];
    size_t n;
    const char *s;
    switch (c->type) {
    case CR_COL_STR:
        s = cr_text_at(c, i, &n);
        cr_json_escape(b, s, n);
        return;
    case CR_COL_I32: cr_buf_i64(b, c->v.i32[i]); return;
    case CR_COL_I64: cr_buf_i64(b, c->v.i64[i]); return;
    case CR_COL_F32: n = cr_fmt_f32(text, c->v.f32[i]); break;
    default: n = made ? cr_fmt_f32(text, (float)c->v.f64[i]) : cr_fmt_f64(text, c->v.f64[i]); break;
    }
    put_number(b, text, n);
}

/* Writes the values from .. to - 1 of a list; those of a map as pairs. */
static void put_list(cr_buf *b, const cr_column *c, int64_t from, int64_t to, bool made) {
    cr_buf_char(b, '[');
    for (int64_t i = from; i < to; i++) {
        if (i > from) cr_buf_str(b, ", ");
        if (c->keys) {
            cr_buf_char(b, '[');
            put_leaf(b, c->keys, i, made);
            cr_buf_str(b, ", ");
        }
        if (c->item_valid && !c->item_valid[i])
            cr_buf_str(b, "null");
        else
            put_leaf(b, c, i, made);
        if (c->keys) cr_buf_char(b, ']');
    }
    cr_buf_char(b, ']');
}

static void put_value(cr_buf *b, const cr_column *c, bool made) {
    const int64_t r = 0; /* the only row */
    if (c->valid && !c->valid[r]) {
        cr_buf_str(b, "null");
    } else if (c->depth == 0) {
        put_leaf(b, c, r, made);
    } else if (c->depth == 1) {
        put_list(b, c, c->row_off[r], c->row_off[r + 1], made);
    } else {
        cr_buf_char(b, '[');
        for (int64_t k = c->row_off[r]; k < c->row_off[r + 1]; k++) {
            if (k > c->row_off[r]) cr_buf_str(b, ", ");
            if (!c->list_valid || c->list_valid[k])
                put_list(b, c, c->item_off[k], c->item_off[k + 1], made);
            else
                cr_buf_str(b, "null");
        }
        cr_buf_char(b, ']');
    }
}

static void put_float(cr_buf *b, float x) {
    char text[32];
    size_t n = cr_fmt_f32(text, x);
    put_number(b, text, n);
}

/* Writes the ids, weights or floats from .. to - 1, with commas. */
typedef enum what { IDS, WEIGHTS, FLOATS } what;
static void put_numbers(cr_buf *b, what w, const cr_jagged *g, const float *v, int64_t from,
                        int64_t to) {
    for (int64_t i = from; i < to; i++) {
        if (i > from) cr_buf_str(b, ", ");
        if (w == IDS)
            cr_buf_i64(b, g->ids[i]);
        else
            put_float(b, w == WEIGHTS ? g->w[i] : v[i]);
    }
}

/* Writes a row of the result: a list, or for a sequence a list of lists. */
static void put_result(cr_buf *b, const cr_feature *f, const cr_batch *bt, what w) {
    const cr_jagged *g = f->sparse ? &bt->sparse[f->slot] : NULL;
    const cr_dense_seq *d = !g && f->seq ? &bt->dense_seq[f->slot] : NULL;
    const int32_t *steps = g ? g->steps : d ? d->steps : NULL;
    const float *v = d ? d->v : bt->dense ? bt->dense + f->dense_off : NULL;
    cr_buf_char(b, '[');
    for (int64_t k = steps ? steps[0] : 0, end = steps ? steps[1] : 1; k < end; k++) {
        if (steps) cr_buf_str(b, k > steps[0] ? ", [" : "[");
        if (g)
            put_numbers(b, w, g, NULL, g->off ? g->off[k] : k, g->off ? g->off[k + 1] : k + 1);
        else
            put_numbers(b, FLOATS, NULL, v, k * f->value_dim, (k + 1) * f->value_dim);
        if (steps) cr_buf_char(b, ']');
    }
    cr_buf_char(b, ']');
}

/* ---- both forms ---- */

/* Writes input k of a feature: a column of the file, or another feature. */
static void put_input(cr_buf *b, const cr_fg_row *row, const cr_feature *f, int k) {
    int from = cr_dag_feature(row->fs, f->col_idx[k]);
    if (from < 0)
        put_value(b, &row->chunk->cols[f->col_idx[k]], false);
    else
        put_value(b, &row->values[from], true);
}

static const char *kind_of(const cr_feature *f, char out[64]) {
    snprintf(out, 64, "%s%s", f->seq ? "sequence_" : "", f->type->name);
    return out;
}

static bool shows_value(const cr_fg_row *row, int i) {
    return row->values[i].depth != CR_NO_VALUES && (row->fs->v[i]->sparse || row->fs->v[i]->stub);
}

/* ---- lines ---- */

static void note(cr_buf *b, const char **sep, const char *fmt, long long n) {
    cr_buf_str(b, *sep);
    cr_buf_printf(b, fmt, n);
    *sep = ", ";
}

static void put_notes(cr_buf *b, const cr_feature *f, const cr_feature_counts *c) {
    const char *sep = "  (";
    if (c->missing && f->seq)
        note(b, &sep, c->missing == 1 ? "%lld step missing" : "%lld steps missing", c->missing);
    else if (c->missing)
        note(b, &sep, "missing", 0);
    if (c->out_of_range) note(b, &sep, "%lld outside the table, taken as 0", c->out_of_range);
    if (c->unknown) note(b, &sep, "%lld not in the vocabulary", c->unknown);
    if (c->cut) note(b, &sep, "values above value_dim left out", 0);
    if (c->truncated) note(b, &sep, "cut to %lld steps", (long long)f->seq->length);
    if (*sep == ',') cr_buf_char(b, ')');
}

static void text_feature(cr_buf *b, const cr_fg_row *row, int i, int width) {
    const cr_feature *f = row->fs->v[i];
    cr_buf_printf(b, "  %-*s  ", width, f->name);
    for (int k = 0; k < f->n_columns; k++) {
        cr_buf_printf(b, "%s%s=", k ? " " : "", f->columns[k]);
        put_input(b, row, f, k);
    }
    if (!f->n_columns) cr_buf_str(b, "constant");
    if (shows_value(row, i)) {
        cr_buf_str(b, " -> ");
        put_value(b, &row->values[i], true);
    }
    if (f->stub) {
        cr_buf_str(b, " (stub)\n");
        return;
    }
    cr_buf_printf(b, " -> %s ", f->sparse ? "ids" : "floats");
    put_result(b, f, row->batch, IDS);
    if (f->sparse && row->batch->sparse[f->slot].w) {
        cr_buf_str(b, " weights ");
        put_result(b, f, row->batch, WEIGHTS);
    }
    put_notes(b, f, &row->counts[i]);
    cr_buf_char(b, '\n');
}

void cr_fg_text(cr_buf *b, const cr_fg_row *row) {
    int width = 0;
    for (int i = 0; i < row->fs->n; i++)
        if (row->shown[i] && (int)strlen(row->fs->v[i]->name) > width)
            width = (int)strlen(row->fs->v[i]->name);
    if (row->row >= 0)
        cr_buf_printf(b, "row %lld, ", (long long)row->row);
    else
        cr_buf_str(b, "no row, ");
    cr_buf_str(b, row->path);
    if (row->line) cr_buf_printf(b, " line %lld", (long long)row->line);
    for (int i = 0; row->batch && i < row->batch->n_labels; i++) {
        cr_buf_printf(b, ", %s ", row->fs->labels[i]);
        put_float(b, row->batch->labels[i][0]);
    }
    cr_buf_char(b, '\n');
    if (row->bad) cr_buf_printf(b, "  bad row, left out: %s\n", row->bad);
    for (int i = 0; row->batch && i < row->fs->n; i++)
        if (row->shown[i]) text_feature(b, row, i, width);
}

/* ---- JSON ---- */

static void key(cr_buf *b, bool first, const char *name) {
    if (!first) cr_buf_str(b, ", ");
    cr_json_escape(b, name, strlen(name));
    cr_buf_str(b, ": ");
}

static void count(cr_buf *b, const char *name, long long n) {
    if (n) cr_buf_printf(b, ", \"%s\": %lld", name, n);
}

static void json_feature(cr_buf *b, const cr_fg_row *row, int i) {
    const cr_feature *f = row->fs->v[i];
    const cr_feature_counts *c = &row->counts[i];
    char kind[64];
    cr_buf_printf(b, "{\"type\": \"%s\", \"inputs\": {", kind_of(f, kind));
    for (int k = 0; k < f->n_columns; k++) {
        key(b, k == 0, f->columns[k]);
        put_input(b, row, f, k);
    }
    cr_buf_char(b, '}');
    if (row->values[i].depth != CR_NO_VALUES) {
        cr_buf_str(b, ", \"value\": ");
        put_value(b, &row->values[i], true);
    }
    if (f->stub) {
        cr_buf_str(b, ", \"stub\": true}");
        return;
    }
    cr_buf_printf(b, ", \"%s\": ", f->sparse ? "ids" : "floats");
    put_result(b, f, row->batch, IDS);
    if (f->sparse && row->batch->sparse[f->slot].w) {
        cr_buf_str(b, ", \"weights\": ");
        put_result(b, f, row->batch, WEIGHTS);
    }
    count(b, "missing", c->missing);
    count(b, "out_of_range", c->out_of_range);
    count(b, "unknown", c->unknown);
    count(b, "truncated", c->truncated);
    count(b, "cut", c->cut);
    cr_buf_char(b, '}');
}

void cr_fg_json(cr_buf *b, const cr_fg_row *row) {
    cr_buf_char(b, '{');
    if (row->row >= 0) cr_buf_printf(b, "\"row\": %lld, ", (long long)row->row);
    cr_buf_str(b, "\"file\": ");
    cr_json_escape(b, row->path, strlen(row->path));
    if (row->line) cr_buf_printf(b, ", \"line\": %lld", (long long)row->line);
    if (row->bad) {
        key(b, false, "bad");
        cr_json_escape(b, row->bad, strlen(row->bad));
    }
    if (row->batch && row->batch->n_labels) {
        cr_buf_str(b, ", \"labels\": {");
        for (int i = 0; i < row->batch->n_labels; i++) {
            key(b, i == 0, row->fs->labels[i]);
            put_float(b, row->batch->labels[i][0]);
        }
        cr_buf_char(b, '}');
    }
    if (row->batch) {
        bool first = true;
        cr_buf_str(b, ", \"features\": {");
        for (int i = 0; i < row->fs->n; i++) {
            if (!row->shown[i]) continue;
            key(b, first, row->fs->v[i]->name);
            json_feature(b, row, i);
            first = false;
        }
        cr_buf_char(b, '}');
    }
    cr_buf_str(b, "}\n");
}
