/*
 * pred_csv.c - predictions as CSV. Numbers are the shortest text that reads back as the same float;
 * a prediction of several numbers is one quoted field. Reserved columns of Parquet look as in
 * `crank parquet`: lists, maps and structs are JSON.
 */
#include <string.h>

#include "base/json.h"
#include "data/csv/text_out.h"
#include "data/pq/stored.h"
#include "run/pred_list.h"

struct cr_pred {
    cr_text_out *f;
    const cr_pred_shape *shape;
    cr_buf b, cell;
    cr_pq_pos *at; /* positions in all leaves of reserved columns that are written as stored */
    int n_at;
};

static void put_text(cr_buf *b, const char *s, size_t n) {
    bool quote = false;
    for (size_t i = 0; i < n; i++)
        quote = quote || s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r';
    if (!quote) {
        cr_buf_add(b, s, n);
        return;
    }
    cr_buf_char(b, '"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"') cr_buf_char(b, '"');
        cr_buf_char(b, s[i]);
    }
    cr_buf_char(b, '"');
}

static void put_floats(cr_buf *b, const float *v, int64_t n) {
    char text[32];
    if (n > 1) cr_buf_char(b, '"');
    for (int64_t i = 0; i < n; i++) {
        if (i) cr_buf_char(b, ',');
        cr_buf_add(b, text, cr_fmt_f32(text, v[i]));
    }
    if (n > 1) cr_buf_char(b, '"');
}

/* Writes value i of a column. */
static void put_value(cr_buf *b, const cr_column *c, int64_t i) {
    char text[32];
    size_t n;
    switch (c->type) {
    case CR_COL_STR: {
        const char *s = cr_text_at(c, i, &n);
        cr_buf_add(b, s, n);
        break;
    }
    case CR_COL_I32: cr_buf_i64(b, c->v.i32[i]); break;
    case CR_COL_I64: cr_buf_i64(b, c->v.i64[i]); break;
    case CR_COL_F32: cr_buf_add(b, text, cr_fmt_f32(text, c->v.f32[i])); break;
    case CR_COL_F64: cr_buf_add(b, text, cr_fmt_f64(text, c->v.f64[i])); break;
    }
}

/* Writes value i inside a list, as JSON. */
static void put_item(cr_buf *b, const cr_column *c, int64_t i) {
    size_t n;
    const char *text = c->type == CR_COL_STR ? cr_text_at(c, i, &n) : NULL;
    if (text)
        cr_json_escape(b, text, n);
    else
        put_value(b, c, i);
}

/* Writes a list [1,"a"] or a map [["k",0.5]]. */
static void put_list(cr_buf *b, const cr_column *c, int64_t from, int64_t to) {
    cr_buf_char(b, '[');
    for (int64_t i = from; i < to; i++) {
        if (i > from) cr_buf_char(b, ',');
        if (c->keys) {
            cr_buf_char(b, '[');
            put_item(b, c->keys, i);
            cr_buf_char(b, ',');
        }
        if (c->item_valid && !c->item_valid[i])
            cr_buf_str(b, "null");
        else
            put_item(b, c, i);
        if (c->keys) cr_buf_char(b, ']');
    }
    cr_buf_char(b, ']');
}

/* Writes one row of a column of numbers or text; nothing for a null. */
static void put_row(cr_buf *b, const cr_column *c, int64_t r) {
    if (c->valid && !c->valid[r]) return;
    if (c->depth == 0) put_value(b, c, r);
    if (c->depth == 1) put_list(b, c, c->row_off[r], c->row_off[r + 1]);
    if (c->depth < 2) return;
    cr_buf_char(b, '[');
    for (int64_t k = c->row_off[r]; k < c->row_off[r + 1]; k++) {
        if (k > c->row_off[r]) cr_buf_char(b, ',');
        if (!c->list_valid || c->list_valid[k])
            put_list(b, c, c->item_off[k], c->item_off[k + 1]);
        else
            cr_buf_str(b, "null");
    }
    cr_buf_char(b, ']');
}

/* Writes one row of a column as it is stored; at has the positions in its leaves. Text is written
 * as it is, other single values without the quotes of JSON. */
static void put_stored(cr_buf *b, const cr_pq_meta *m, const cr_column *c, cr_pq_pos *at,
                       int64_t r) {
    const cr_pq_node *n = &m->nodes[1];
    const cr_pq_vec *v = cr_pq_stored_of(c)->v;
    bool single = n->type != CR_PQ_GROUP && n->rep != CR_PQ_REPEATED;
    bool text = n->type == CR_PQ_BYTES &&
                (n->logical.kind == CR_PQ_PHYSICAL || n->logical.kind == CR_PQ_STRING ||
                 n->logical.kind == CR_PQ_ENUM || n->logical.kind == CR_PQ_JSON);
    if (single) {
        if (v->valid && !v->valid[r]) return;
        *at = (cr_pq_pos){r, r};
    }
    if (single && text) {
        cr_buf_add(b, v->bytes + v->beg[r], v->end[r] - v->beg[r]);
        return;
    }
    cr_pq_row_json(m, 1, v, at, b);
    if (b->n == 4 && memcmp(b->data, "null", 4) == 0) cr_buf_reset(b);
    if (!single || b->n < 2 || b->data[0] != '"') return;
    b->n -= 2;
    memmove(b->data, b->data + 1, b->n);
}

/* Writes row r of the reserved columns. */
static void put_reserved(cr_pred *w, const cr_pred_rows *rows, int64_t r) {
    const cr_pred_shape *s = w->shape;
    cr_pq_pos *at = w->at;
    for (int i = 0; i < s->n_reserved; i++) {
        const cr_column *c = &rows->reserved[i];
        if (i) cr_buf_char(&w->b, ',');
        cr_buf_reset(&w->cell);
        if (s->kinds[i].stored) {
            put_stored(&w->cell, s->kinds[i].stored, c, at, r);
            at += cr_pq_stored_of(c)->n;
        } else {
            put_row(&w->cell, c, r);
        }
        if (w->cell.n) put_text(&w->b, w->cell.data, w->cell.n);
    }
}

static cr_code put_header(cr_pred *w, cr_err *err) {
    const cr_pred_shape *s = w->shape;
    cr_buf_reset(&w->b);
    for (int i = 0; i < s->n_reserved + s->n_outputs; i++) {
        const char *name = i < s->n_reserved ? s->reserved[i] : s->outputs[i - s->n_reserved];
        if (i) cr_buf_char(&w->b, ',');
        put_text(&w->b, name, strlen(name));
    }
    if (s->debug) cr_buf_str(&w->b, ",__features__");
    cr_buf_char(&w->b, '\n');
    return cr_text_out_write(w->f, w->b.data, w->b.n, err);
}

static void csv_free(cr_pred *w) {
    if (!w) return;
    cr_text_out_abort(w->f);
    cr_buf_clear(&w->b);
    cr_buf_clear(&w->cell);
    cr_free(w->at);
    cr_free(w);
}

static cr_code csv_open(cr_pred **out, const char *path, const cr_pred_shape *shape, cr_err *err) {
    cr_pred *w = cr_alloc(sizeof(*w), "a file of predictions");
    w->shape = shape;
    cr_buf_init(&w->b);
    cr_buf_init(&w->cell);
    for (int i = 0; i < shape->n_reserved; i++) {
        const cr_pq_meta *stored = shape->kinds[i].stored;
        w->n_at += stored ? stored->n_leaves : 0;
    }
    w->at = cr_alloc(((size_t)w->n_at + 1) * sizeof(*w->at), "places in columns");
    cr_code code = cr_text_out_open(&w->f, path, err);
    if (code == CR_OK) code = put_header(w, err);
    if (code != CR_OK) {
        csv_free(w);
        w = NULL;
    }
    *out = w;
    return code;
}

static cr_code csv_write(cr_pred *w, const cr_pred_rows *rows, cr_err *err) {
    const cr_pred_shape *s = w->shape;
    cr_buf_reset(&w->b);
    memset(w->at, 0, (size_t)w->n_at * sizeof(*w->at));
    for (int64_t r = 0; r < rows->n_rows; r++) {
        put_reserved(w, rows, r);
        for (int i = 0; i < s->n_outputs; i++) {
            if (i || s->n_reserved) cr_buf_char(&w->b, ',');
            put_floats(&w->b, rows->outputs[i] + r * rows->ld[i], s->widths[i]);
        }
        if (s->debug) {
            uint32_t at = rows->debug_off[r];
            cr_buf_char(&w->b, ',');
            put_text(&w->b, rows->debug + at, rows->debug_off[r + 1] - at);
        }
        cr_buf_char(&w->b, '\n');
    }
    return cr_text_out_write(w->f, w->b.data, w->b.n, err);
}

static cr_code csv_finish(cr_pred *w, cr_err *err) {
    cr_text_out *f = w->f;
    w->f = NULL;
    return cr_text_out_commit(f, err);
}

static const char *const ends[] = {".csv", ".csv.gz", ".csv.zst", NULL};

const cr_pred_type cr_pred_csv = {
    .name = "CsvWriter",
    .dataset = "CsvDataset",
    .ext = "csv",
    .ends = ends,
    .streams = true,
    .open = csv_open,
    .write = csv_write,
    .finish = csv_finish,
    .free = csv_free,
};
