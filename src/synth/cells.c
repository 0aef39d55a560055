/*
 * cells.c - writes rows of a described table as CSV text, or as typed columns of a Parquet file.
 *
 * The Parquet file holds what a reader gets from the CSV text: the same numbers and the same
 * tokens, as lists and maps where the column has that form, else as the same text.
 */
#include <math.h>
#include <string.h>

#include "data/pq/sink.h"
#include "synth/synth_int.h"

#define STEP 1024 /* rows of a Parquet file that are made at a time */

/* ---- text ---- */

static void put_real(cr_buf *b, double x) {
    char text[32];
    cr_buf_add(b, text, cr_fmt_f64(text, x));
}

/* name is that of the column, for tokens. */
static void put_value(cr_buf *b, const tab_draw *d, const char *name, tab_num v) {
    switch (d->value->leaf) {
    case CR_TAB_REAL: put_real(b, v.x); return;
    case CR_TAB_INT: cr_buf_i64(b, cr_tab_int(d, v.k)); return;
    case CR_TAB_WORD:
        if (v.k < d->value->card) {
            cr_buf_str(b, d->value->words[v.k]);
            return;
        }
        cr_buf_printf(b, "unseen_%lld", (long long)(v.k - d->value->card));
        return;
    case CR_TAB_TOKEN: cr_buf_char(b, name[0]); cr_buf_i64(b, v.k);
    }
}

static void put_key(cr_buf *b, const synth_tab *t, int src, int64_t k) {
    const tab_draw *d = src >= 0 ? &t->v[src] : t->own_key;
    put_value(b, d, src >= 0 ? t->table->cols[src].name : "key", (tab_num){.k = k});
}

/* Writes the value of pair i; several numbers have dim_sep between them. */
static void put_pair_value(cr_buf *b, const synth_tab *t, int col, const tab_cells *x, int i) {
    const cr_tab_col *c = &t->table->cols[col];
    for (int j = 0; j < c->dims; j++) {
        if (j) cr_buf_str(b, c->dim_sep);
        put_value(b, &t->v[col], c->name, x->v[i * c->dims + j]);
    }
}

/* Writes the pairs of one first key, "sk:v,sk:v"; returns the number of the next pair. */
static int put_second(cr_buf *b, const synth_tab *t, int col, const tab_cells *x, int i) {
    int first = i;
    for (; i < x->n && x->src[i] == x->src[first] && x->key[i] == x->key[first]; i++) {
        if (i > first) cr_buf_char(b, ',');
        put_key(b, t, x->src2[i], x->key2[i]);
        cr_buf_char(b, ':');
        put_pair_value(b, t, col, x, i);
    }
    return i;
}

static void put_pairs(cr_buf *b, const synth_tab *t, int col, const tab_cells *x) {
    const cr_tab_col *c = &t->table->cols[col];
    for (int i = 0; i < x->n;) {
        if (i) cr_buf_str(b, c->pairs == CR_TAB_NESTED ? "|" : c->sep);
        put_key(b, t, x->src[i], x->key[i]);
        if (c->pairs == CR_TAB_NESTED) {
            cr_buf_char(b, '^');
            i = put_second(b, t, col, x, i);
        } else {
            cr_buf_char(b, c->kv);
            put_pair_value(b, t, col, x, i++);
        }
    }
}

static int weight_of(int i) { /* in tenths */
    return 1 + i * 7 % 20;
}

static void put_text(cr_buf *b, const synth_tab *t, int col, const tab_cells *x) {
    const cr_tab_col *c = &t->table->cols[col];
    if (c->pairs) {
        put_pairs(b, t, col, x);
        return;
    }
    int i = 0;
    for (int s = 0; s < x->n_steps; s++) {
        if (s) cr_buf_str(b, c->delim);
        for (int first = i; i < x->end[s]; i++) {
            if (i > first) cr_buf_str(b, c->sep);
            put_value(b, &t->v[col], c->name, x->v[i]);
            if (c->weighted) {
                int w = weight_of(i);
                cr_buf_printf(b, ":%d.%d", w / 10, w % 10);
            }
        }
    }
}

/* ---- CSV ---- */

/* Quotes the text since `from` when it holds a character that ends a field. */
static void end_field(cr_buf *b, size_t from, const char *delim) {
    const char *p = b->data + from;
    size_t n = b->n - from;
    bool quote = memmem(p, n, delim, strlen(delim)) || memchr(p, '"', n) || memchr(p, '\n', n) ||
                 memchr(p, '\r', n);
    if (!quote) return;
    cr_buf copy;
    cr_buf_init(&copy);
    cr_buf_add(&copy, p, n);
    b->n = from;
    cr_buf_char(b, '"');
    for (size_t i = 0; i < n; i++) {
        if (copy.data[i] == '"') cr_buf_char(b, '"');
        cr_buf_char(b, copy.data[i]);
    }
    cr_buf_char(b, '"');
    cr_buf_clear(&copy);
}

static const char *name_of(const cr_synth_table *tab, int k) {
    if (k < tab->n_cols) return tab->cols[k].name;
    k -= tab->n_cols;
    return k < tab->n_labels ? tab->labels[k].name : tab->weights[k - tab->n_labels];
}

/* Returns the word that label_map has for y. */
static const char *label_word(const cr_conf_map *words, double y) {
    const char *best = "";
    double off = INFINITY;
    for (int64_t i = 0; i < words->n; i++)
        if (fabs(words->v[i].f - y) < off) {
            off = fabs(words->v[i].f - y);
            best = words->v[i].key;
        }
    return best;
}

/* Parquet: when all words are whole numbers, the file holds numbers. */
static bool whole_words(const cr_conf_map *words) {
    int64_t k;
    for (int64_t i = 0; i < words->n; i++)
        if (!cr_parse_i64(words->v[i].key, strlen(words->v[i].key), &k)) return false;
    return true;
}

static void put_label(cr_buf *b, const cr_tab_label *l, double y) {
    if (l->words)
        cr_buf_str(b, label_word(l->words, y));
    else
        put_real(b, y);
}

void cr_tab_csv_header(cr_buf *b, const synth_tab *t) {
    const cr_synth_table *tab = t->table;
    if (!tab->header) return;
    for (int i = 0; i < tab->n_order; i++) {
        if (i) cr_buf_str(b, tab->delimiter);
        size_t from = b->n;
        cr_buf_str(b, name_of(tab, tab->order[i]));
        end_field(b, from, tab->delimiter);
    }
    cr_buf_char(b, '\n');
}

void cr_tab_csv_row(cr_buf *b, const synth_tab *t, const tab_row *r) {
    const cr_synth_table *tab = t->table;
    for (int i = 0; i < tab->n_order; i++) {
        int k = tab->order[i];
        if (i) cr_buf_str(b, tab->delimiter);
        size_t from = b->n;
        if (k < tab->n_cols) {
            put_text(b, t, k, &r->cells[k]);
            if (b->n > from) end_field(b, from, tab->delimiter);
        } else if ((k -= tab->n_cols) < tab->n_labels) {
            put_label(b, &tab->labels[k], r->y[k]);
            if (b->n > from) end_field(b, from, tab->delimiter);
        } else
            put_real(b, r->w[k - tab->n_labels] / 10.0);
    }
    cr_buf_char(b, '\n');
}

void cr_tab_keep(const tab_scores *s, int64_t i, const synth_tab *t, const tab_row *r) {
    for (int l = 0; l < t->table->n_labels; l++) {
        s->logit[l * s->n_rows + i] = (float)log(r->p[l] / (1 - r->p[l]));
        s->label[l * s->n_rows + i] = r->y[l] == 1;
    }
}

/* ---- Parquet ---- */

/* The values of one leaf, which grow. */
typedef struct leaf {
    cr_coltype type;
    cr_buf v;        /* numbers, or bytes */
    cr_buf beg, end; /* text */
} leaf;
typedef struct builder {
    leaf value, key;
    cr_buf row_off, item_off; /* int32 */
    int depth;
    bool map;
    cr_column keys, out;
} builder;

static void push_i32(cr_buf *b, int64_t x) {
    int32_t v = (int32_t)x;
    cr_buf_add(b, &v, sizeof v);
}

static int64_t count(const leaf *l) {
    size_t width = l->type == CR_COL_I32 || l->type == CR_COL_F32 ? 4 : 8;
    return (int64_t)(l->type == CR_COL_STR ? l->beg.n / 4 : l->v.n / width);
}

static void push_number(leaf *l, double x, int64_t k) {
    int32_t i32 = (int32_t)k;
    float f32 = (float)x;
    switch (l->type) {
    case CR_COL_I32: cr_buf_add(&l->v, &i32, sizeof i32); return;
    case CR_COL_I64: cr_buf_add(&l->v, &k, sizeof k); return;
    case CR_COL_F32: cr_buf_add(&l->v, &f32, sizeof f32); return;
    case CR_COL_F64: cr_buf_add(&l->v, &x, sizeof x); return;
    case CR_COL_STR: return;
    }
}

/* Makes the bytes since `from` a text. */
static void end_text(leaf *l, size_t from) {
    uint32_t a = (uint32_t)from, e = (uint32_t)l->v.n;
    cr_buf_add(&l->beg, &a, sizeof a);
    cr_buf_add(&l->end, &e, sizeof e);
}

static void push_value(leaf *l, const tab_draw *d, const char *name, tab_num v) {
    if (l->type == CR_COL_STR) {
        size_t from = l->v.n;
        put_value(&l->v, d, name, v);
        end_text(l, from);
    } else if (d->value->leaf == CR_TAB_REAL)
        push_number(l, v.x, (int64_t)v.x);
    else {
        int64_t k = cr_tab_int(d, v.k);
        push_number(l, (double)k, k);
    }
}

static cr_coltype leaf_type(const cr_tab_value *v, bool narrow) {
    switch (v->leaf) {
    case CR_TAB_INT: return narrow ? CR_COL_I32 : CR_COL_I64;
    case CR_TAB_REAL: return narrow ? CR_COL_F32 : CR_COL_F64;
    default: return CR_COL_STR;
    }
}

static cr_coltype key_type(const synth_tab *t, const cr_tab_col *c) {
    return c->n_keys ? leaf_type(&t->table->cols[c->keys[0]].value, c->narrow_key) : CR_COL_STR;
}

static void builder_init(builder *b, const synth_tab *t, int k) {
    const cr_synth_table *tab = t->table;
    *b = (builder){.value = {.type = CR_COL_F64}};
    if (k >= tab->n_cols) {
        k -= tab->n_cols;
        if (k < tab->n_labels && tab->labels[k].words)
            b->value.type = whole_words(tab->labels[k].words) ? CR_COL_I64 : CR_COL_STR;
        else if (k < tab->n_labels && (tab->labels[k].K || tab->labels[k].whole))
            b->value.type = CR_COL_I64;
        return;
    }
    const cr_tab_col *c = &tab->cols[k];
    b->map = c->form == CR_TAB_MAP;
    b->depth = c->form == CR_TAB_LISTS ? 2 : c->form == CR_TAB_LIST || b->map;
    bool text = c->text || c->form == CR_TAB_TEXT;
    b->value.type = text ? CR_COL_STR : leaf_type(&c->value, c->narrow);
    if (!b->map) return;
    b->key.type = key_type(t, c);
    if (c->weighted) {
        b->key.type = leaf_type(&c->value, c->narrow_key);
        b->value.type = c->narrow ? CR_COL_F32 : CR_COL_F64;
    } else if (c->dims > 1 || c->pairs == CR_TAB_NESTED)
        b->value.type = CR_COL_STR;
}

static void builder_reset(builder *b) {
    cr_buf *all[] = {&b->value.v, &b->value.beg, &b->value.end, &b->key.v,
                     &b->key.beg, &b->key.end,   &b->row_off,   &b->item_off};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cr_buf_reset(all[i]);
    if (b->depth >= 1) push_i32(&b->row_off, 0);
    if (b->depth == 2) push_i32(&b->item_off, 0);
}

static void builder_clear(builder *b) {
    cr_buf *all[] = {&b->value.v, &b->value.beg, &b->value.end, &b->key.v,
                     &b->key.beg, &b->key.end,   &b->row_off,   &b->item_off};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cr_buf_clear(all[i]);
}

static void push_map(builder *b, const synth_tab *t, int col, const tab_cells *x) {
    const cr_tab_col *c = &t->table->cols[col];
    for (int i = 0; i < x->n;) {
        size_t from = b->value.v.n;
        if (c->weighted) {
            push_value(&b->key, &t->v[col], c->name, x->v[i]);
            push_number(&b->value, weight_of(i) / 10.0, 0);
            i++;
            continue;
        }
        const tab_draw *d = x->src[i] >= 0 ? &t->v[x->src[i]] : t->own_key;
        push_value(&b->key, d, x->src[i] >= 0 ? t->table->cols[x->src[i]].name : "key",
                   (tab_num){.k = x->key[i]});
        if (c->pairs == CR_TAB_NESTED)
            i = put_second(&b->value.v, t, col, x, i);
        else if (c->dims > 1)
            put_pair_value(&b->value.v, t, col, x, i++);
        else {
            push_value(&b->value, &t->v[col], c->name, x->v[i++]);
            continue;
        }
        end_text(&b->value, from);
    }
}

static void push_cell(builder *b, const synth_tab *t, int col, const tab_cells *x) {
    const cr_tab_col *c = &t->table->cols[col];
    if (c->form == CR_TAB_TEXT) {
        size_t from = b->value.v.n;
        put_text(&b->value.v, t, col, x);
        end_text(&b->value, from);
        return;
    }
    if (c->form == CR_TAB_MAP) push_map(b, t, col, x);
    for (int s = 0, i = 0; c->form != CR_TAB_MAP && s < x->n_steps; s++) {
        for (; i < x->end[s]; i++)
            push_value(&b->value, &t->v[col], c->name, x->v[i]);
        if (b->depth == 2) push_i32(&b->item_off, count(&b->value));
    }
    if (b->depth == 1) push_i32(&b->row_off, count(&b->value));
    if (b->depth == 2) push_i32(&b->row_off, (int64_t)(b->item_off.n / 4) - 1);
}

static void leaf_column(const leaf *l, cr_column *out) {
    static const uint32_t none;
    out->type = l->type;
    if (l->type == CR_COL_STR) {
        out->bytes = l->v.data ? l->v.data : "";
        out->beg = l->beg.data ? (const uint32_t *)(const void *)l->beg.data : &none;
        out->end = l->end.data ? (const uint32_t *)(const void *)l->end.data : &none;
    } else
        out->v.i64 = (const int64_t *)(const void *)l->v.data;
}

static const cr_column *built(builder *b) {
    b->out = (cr_column){.depth = b->depth};
    leaf_column(&b->value, &b->out);
    if (b->depth) b->out.row_off = (const int32_t *)(const void *)b->row_off.data;
    if (b->depth == 2) b->out.item_off = (const int32_t *)(const void *)b->item_off.data;
    if (b->map) {
        b->keys = (cr_column){.depth = 1, .row_off = b->out.row_off};
        leaf_column(&b->key, &b->keys);
        b->out.keys = &b->keys;
    }
    return &b->out;
}

static void push_label(leaf *l, const cr_tab_label *y, double number) {
    if (!y->words) {
        push_number(l, number, (int64_t)number);
        return;
    }
    const char *word = label_word(y->words, number);
    size_t from = l->v.n;
    int64_t k = 0;
    if (l->type == CR_COL_STR) {
        cr_buf_str(&l->v, word);
        end_text(l, from);
    } else if (cr_parse_i64(word, strlen(word), &k))
        push_number(l, (double)k, k);
}

static void push_row(builder *v, const synth_tab *t, const tab_row *r) {
    const cr_synth_table *tab = t->table;
    for (int i = 0; i < tab->n_order; i++) {
        int k = tab->order[i];
        if (k < tab->n_cols)
            push_cell(&v[i], t, k, &r->cells[k]);
        else if ((k -= tab->n_cols) < tab->n_labels)
            push_label(&v[i].value, &tab->labels[k], r->y[k]);
        else
            push_number(&v[i].value, r->w[k - tab->n_labels] / 10.0, 0);
    }
}

cr_code cr_tab_parquet(const synth_tab *t, const tab_scores *scores, const synth_part *p,
                       const char *path, cr_err *err) {
    const cr_synth_table *tab = t->table;
    cr_arena a;
    cr_arena_init(&a, 0);
    builder *v = CR_NEW_N(&a, builder, tab->n_order + 1);
    cr_sink_col *cols = CR_NEW_N(&a, cr_sink_col, tab->n_order + 1);
    const cr_column **out = CR_NEW_N(&a, const cr_column *, tab->n_order + 1);
    for (int i = 0; i < tab->n_order; i++) {
        builder_init(&v[i], t, tab->order[i]);
        cols[i] = (cr_sink_col){.name = name_of(tab, tab->order[i]),
                                .kind = {.type = v[i].value.type,
                                         .depth = v[i].depth,
                                         .key = v[i].map ? (int)v[i].key.type : -1},
                                .required = true};
    }
    tab_row row;
    cr_tab_row_init(&row, t, &a);
    cr_pq_sink *w;
    cr_pq_write_opts o = {.codec = CR_PQ_SNAPPY, .no_sync = true};
    cr_code code = cr_pq_sink_open(&w, path, cols, tab->n_order, &o, err);
    for (int64_t i = 0; i < p->n && code == CR_OK && !atomic_load(p->stop); i += STEP) {
        int64_t n = p->n - i < STEP ? p->n - i : STEP;
        for (int k = 0; k < tab->n_order; k++)
            builder_reset(&v[k]);
        for (int64_t r = 0; r < n; r++) {
            cr_tab_row_draw(t, p->part, p->first + i + r, &row);
            if (scores) cr_tab_keep(scores, p->first + i + r, t, &row);
            push_row(v, t, &row);
        }
        for (int k = 0; k < tab->n_order; k++)
            out[k] = built(&v[k]);
        code = cr_pq_sink_write(w, out, n, err);
    }
    if (code == CR_OK && !atomic_load(p->stop)) code = cr_pq_sink_finish(w, err);
    if (w) cr_pq_sink_free(w);
    for (int i = 0; i < tab->n_order; i++)
        builder_clear(&v[i]);
    cr_arena_clear(&a);
    return code;
}
