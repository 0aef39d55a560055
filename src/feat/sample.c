/*
 * sample.c - describes a table that suits the features.
 *
 * Every reader of a column states a wish, and a few rules merge the wishes: a reader that needs
 * numbers wins over one that takes any text; ranges are cut down to what all readers accept; a
 * column has one value per row if one of its readers takes only one. The declarations of
 * input_fields come last.
 */
#include "feat/sample.h"

#include <math.h>
#include <stdlib.h>

#include "feat/number.h"

#define MOST_STEPS  1000
#define MOST_TOKENS 100000 /* different texts of a hashed column */

struct cr_sampler {
    const cr_features *fs;
    const cr_data_conf *data;
    cr_synth_table *t;
    bool *wished; /* per column: has a reader stated a wish? */
    cr_arena *arena;
};

cr_arena *cr_sample_arena(const cr_sampler *s) {
    return s->arena;
}

const cr_data_conf *cr_sample_data(const cr_sampler *s) {
    return s->data;
}

static int find_col(const cr_synth_table *t, const char *name) {
    for (int i = 0; i < t->n_cols; i++)
        if (strcmp(t->cols[i].name, name) == 0) return i;
    return -1;
}

int cr_sample_column(const cr_sampler *s, const char *name) {
    if (strncmp(name, CR_FROM_FEATURE, sizeof(CR_FROM_FEATURE) - 1) != 0)
        return find_col(s->t, name);
    /* a feature with one input gives what it reads */
    const cr_feature *f = cr_features_find(s->fs, name + sizeof(CR_FROM_FEATURE) - 1);
    return f && f->n_columns == 1 ? cr_sample_column(s, f->columns[0]) : -1;
}

/* ---- values ---- */

static int by_id(const void *a, const void *b) {
    int64_t x = ((const cr_vocab_entry *)a)->id, y = ((const cr_vocab_entry *)b)->id;
    return x < y ? -1 : x > y;
}

void cr_sample_ids(const cr_ids *m, cr_tab_value *out, cr_arena *arena) {
    *out = (cr_tab_value){.leaf = CR_TAB_TOKEN, .card = m->num_embeddings};
    if (out->card == CR_WIDE_IDS) out->card = MOST_TOKENS;
    switch (m->kind) {
    case CR_IDS_HASH:
        if (out->card > MOST_TOKENS) out->card = MOST_TOKENS;
        break;
    case CR_IDS_BUCKETS:
    case CR_IDS_ENCODED: out->leaf = CR_TAB_INT; break;
    case CR_IDS_VOCAB: {
        cr_vocab_entry *e = CR_NEW_N(arena, cr_vocab_entry, m->vocab.n + 1);
        const char **words = CR_NEW_N(arena, const char *, m->vocab.n + 1);
        int64_t n = 0;
        for (size_t i = 0; i < m->vocab.n_slots; i++)
            if (m->vocab.slots[i].used && m->vocab.slots[i].len > 0 &&
                strncmp(m->vocab.slots[i].key, "<OOV>", m->vocab.slots[i].len) != 0)
                e[n++] = m->vocab.slots[i];
        if (n == 0) break;
        qsort(e, (size_t)n, sizeof *e, by_id);
        for (int64_t i = 0; i < n; i++)
            words[i] = cr_arena_strndup(arena, e[i].key, e[i].len);
        *out = (cr_tab_value){.leaf = CR_TAB_WORD, .card = n, .words = words};
    }
    }
    if (out->card < 1) out->card = 1;
}

static void knots(cr_tab_value *out, double lo, double hi) {
    *out = (cr_tab_value){.leaf = CR_TAB_REAL, .knots = {lo, hi}, .n_knots = 2};
}

/* Makes numbers on both sides of every boundary (of some, when there are many). */
static void around(const float *b, int64_t n, cr_tab_value *out) {
    int64_t most = CR_TAB_KNOTS - 2, used = n < most ? n : most;
    double width = n > 1 ? ((double)b[n - 1] - (double)b[0]) / (double)(n - 1) : fabs((double)b[0]);
    if (!(width > 0)) width = 1;
    *out = (cr_tab_value){.leaf = CR_TAB_REAL, .n_knots = (int)used + 2};
    out->knots[0] = (double)b[0] - width;
    if (b[0] > 0 && out->knots[0] < 0) out->knots[0] = 0; /* counts and prices start at 0 */
    for (int64_t i = 0; i < used; i++)
        out->knots[i + 1] = (double)b[i * n / used];
    out->knots[used + 1] = (double)b[n - 1] + width;
}

/* Finds the first of some ranges on which an expression is finite. */
static void finite_range(const cr_norm *norm, cr_tab_value *out) {
    static const double ranges[][2] = {{0, 10}, {1, 100}, {0.05, 0.95}, {-5, -1}};
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        bool good = true;
        knots(out, ranges[r][0], ranges[r][1]);
        for (int i = 0; i <= 16 && good; i++) {
            double x = ranges[r][0] + (ranges[r][1] - ranges[r][0]) * i / 16;
            float y;
            cr_norm_apply(norm, &x, &y, 1, true);
            good = isfinite(y);
        }
        if (good) return;
    }
}

void cr_sample_number(const cr_norm *norm, const float *bounds, int64_t n_bounds,
                      cr_tab_value *out) {
    switch (norm->method) {
    case CR_NORM_NONE:
        if (n_bounds)
            around(bounds, n_bounds, out);
        else
            cr_tab_normal(out, 0, 1);
        return;
    case CR_NORM_LOG10:
        *out = (cr_tab_value){.leaf = CR_TAB_REAL,
                              .knots = {0, 1, 10, 100, 1000, 10000},
                              .n_knots = 6};
        return;
    case CR_NORM_ZSCORE:
        *out = (cr_tab_value){0};
        cr_tab_normal(out, (double)norm->a, norm->b > 0 ? (double)norm->b : 1);
        return;
    case CR_NORM_MINMAX: knots(out, (double)norm->a, (double)norm->a + (double)norm->b); return;
    case CR_NORM_EXPR: finite_range(norm, out); return;
    }
}

/* ---- merging wishes ---- */

static bool all_numbers(const cr_tab_value *v, bool whole) {
    for (int64_t i = 0; i < v->card; i++) {
        double x;
        const char *w = v->words[i];
        if (!cr_num_f64(w, strlen(w), &x) || (whole && x != rint(x))) return false;
    }
    return true;
}

/* Turns a range of real numbers into one of whole numbers. */
static void as_int(cr_tab_value *v) {
    double lo = ceil(v->knots[0]), hi = floor(v->knots[v->n_knots - 1]);
    *v = (cr_tab_value){.leaf = CR_TAB_INT, .lo = (int64_t)lo, .card = (int64_t)(hi - lo) + 1};
    if (v->card < 1) v->card = 1;
}

static void merge_value(cr_tab_value *a, cr_tab_value b) {
    if (b.leaf == CR_TAB_TOKEN) {
        if (b.card < a->card && (a->leaf == CR_TAB_TOKEN || a->leaf == CR_TAB_INT))
            a->card = b.card;
        return;
    }
    if (a->leaf == CR_TAB_TOKEN) {
        int64_t most = a->card;
        *a = b;
        if (b.leaf == CR_TAB_INT && most < b.card) a->card = most;
        return;
    }
    if (a->leaf == CR_TAB_WORD || b.leaf == CR_TAB_WORD) {
        cr_tab_value *words = a->leaf == CR_TAB_WORD ? a : &b;
        cr_tab_value other = a->leaf == CR_TAB_WORD ? b : *a;
        /* the words of the first reader; to the others they are unknown words */
        if (other.leaf == CR_TAB_WORD) return;
        if (all_numbers(words, other.leaf == CR_TAB_INT)) {
            *a = *words;
            a->closed = true;
        } else
            *a = other;
        return;
    }
    if (a->leaf == CR_TAB_REAL && b.leaf == CR_TAB_REAL) {
        if (b.n_knots > a->n_knots) *a = b;
        return;
    }
    if (a->leaf == CR_TAB_REAL) as_int(a);
    if (b.leaf == CR_TAB_REAL) as_int(&b);
    int64_t end = a->lo + a->card < b.lo + b.card ? a->lo + a->card : b.lo + b.card;
    if (b.lo > a->lo) a->lo = b.lo;
    a->card = end > a->lo ? end - a->lo : 1;
}

static void merge_count(cr_tab_col *a, const cr_tab_col *b) {
    if (b->weighted && !a->pairs) {
        a->weighted = true;
        a->sep = b->sep;
    }
    bool many = a->max_values > 1 || b->max_values > 1, alike = strcmp(a->sep, b->sep) == 0;
    const cr_tab_col *more = b->max_values > a->max_values ? b : a;
    if (b->values_of >= 0) a->values_of = b->values_of;
    if (!many) {
        a->single |= b->single;
        if (b->min_values < a->min_values) a->min_values = b->min_values;
        return;
    }
    if (a->single || b->single || (!alike && more->min_values == 1)) {
        a->single = true;
        a->min_values = a->max_values = 1;
        return;
    }
    if (a->max_values > 1 && b->max_values > 1) { /* as many values as both take */
        if (b->min_values > a->min_values) a->min_values = b->min_values;
        if (b->max_values < a->max_values) a->max_values = b->max_values;
        if (a->max_values < a->min_values) a->max_values = a->min_values;
        return;
    }
    a->sep = more->sep;
    a->min_values = more->min_values;
    a->max_values = more->max_values;
}

static void add_links(int *v, int *n, const int *w, int m) {
    for (int i = 0; i < m; i++) {
        bool there = false;
        for (int k = 0; k < *n; k++)
            there |= v[k] == w[i];
        if (!there && *n < CR_TAB_LINKS) v[(*n)++] = w[i];
    }
}

static void merge(cr_tab_col *a, const cr_tab_col *b, bool first) {
    if (first) {
        const char *name = a->name;
        *a = *b;
        a->name = name;
        return;
    }
    if (b->share > a->share) a->share = b->share;
    if (b->pairs && !a->pairs) { /* the other readers take any text */
        cr_tab_col old = *a;
        *a = *b;
        a->name = old.name;
        a->share = old.share > b->share ? old.share : b->share;
        return;
    }
    if (a->pairs && !b->pairs) return;
    merge_value(&a->value, b->value);
    if (a->pairs) {
        add_links(a->keys, &a->n_keys, b->keys, b->n_keys);
        add_links(a->skeys, &a->n_skeys, b->skeys, b->n_skeys);
        if (b->dims > a->dims) {
            a->dims = b->dims;
            a->dim_sep = b->dim_sep;
        }
        return;
    }
    merge_count(a, b);
    if (!b->seq) return;
    if (!a->seq || b->max_steps < a->max_steps) a->max_steps = b->max_steps;
    a->delim = b->delim;
    a->seq = true;
}

/* ---- wishes ---- */

static bool is_seq(const cr_feature *f, int k) {
    return f->seq && (!f->is_seq || f->is_seq[k]);
}

static int64_t length_of(const cr_feature *f) {
    const cr_sequence_conf *block = f->seq->block;
    if (block) return block->sequence_length;
    const cr_field *row = cr_msg_field(((const cr_conf_base *)f->conf)->msg, "sequence_length");
    int64_t n = 0;
    if (row && row->offset != CR_NO_STORE)
        memcpy(&n, (const char *)f->conf + row->offset, sizeof n);
    return n;
}

/* Along a chain of features with one input each, the wish goes to the column at its start. */
static void wish(cr_sampler *s, const cr_feature *f, int k) {
    int col = cr_sample_column(s, f->columns[k]);
    if (col < 0) return;
    cr_tab_col w;
    cr_tab_col_init(&w, f->columns[k]);
    if (f->type->sample) f->type->sample(f, k, s, &w);
    if (is_seq(f, k)) {
        int64_t n = length_of(f);
        w.seq = true;
        w.delim = f->seq->delim;
        w.max_steps = n <= 0 ? 10 : n > MOST_STEPS ? MOST_STEPS : (int)n;
        if (f->seq->single) {
            w.single = true;
            w.min_values = w.max_values = 1;
        }
    }
    merge(&s->t->cols[col], &w, !s->wished[col]);
    s->wished[col] = true;
}

static int root_of(const cr_synth_table *t, int c) {
    while (t->cols[c].steps_of >= 0)
        c = t->cols[c].steps_of;
    return c;
}

static void same_steps(cr_synth_table *t, int a, int b) {
    a = root_of(t, a);
    b = root_of(t, b);
    if (a == b) return;
    if (t->cols[b].max_steps < t->cols[a].max_steps) t->cols[a].max_steps = t->cols[b].max_steps;
    t->cols[b].steps_of = a;
}

/* Makes every link point to the root itself. */
static void flatten(cr_synth_table *t) {
    for (int i = 0; i < t->n_cols; i++)
        if (t->cols[i].steps_of >= 0) t->cols[i].steps_of = root_of(t, i);
}

/* Joins the sequences of a feature to column `with` (-1: there is none yet); returns one of
 * them. */
static int join(cr_synth_table *t, const cr_feature *f, int with) {
    for (int k = 0; k < f->n_columns; k++) {
        int c = is_seq(f, k) ? find_col(t, f->columns[k]) : -1;
        if (c < 0) continue;
        if (with >= 0) same_steps(t, with, c);
        with = c;
    }
    return with;
}

void cr_sample_same_steps(cr_synth_table *t, const cr_features *fs, const char *const *names,
                          int64_t n) {
    int with = -1;
    for (int64_t i = 0; i < n; i++) {
        const cr_feature *f = cr_features_find(fs, names[i]);
        if (f && f->seq) with = join(t, f, with);
    }
    flatten(t);
}

static void join_blocks(const cr_features *fs, cr_synth_table *t) {
    for (int i = 0; i < fs->n; i++) {
        const cr_feature *f = fs->v[i];
        if (!f->seq) continue;
        int with = join(t, f, -1);
        for (int k = i + 1; k < fs->n && f->seq->block; k++)
            if (fs->v[k]->seq && fs->v[k]->seq->block == f->seq->block)
                with = join(t, fs->v[k], with);
    }
    flatten(t);
}

/* ---- the declarations of input_fields ---- */

static const cr_tab_form forms[] = {CR_TAB_PLAIN, CR_TAB_LIST, CR_TAB_LISTS,
                                    CR_TAB_MAP,   CR_TAB_MAP,  CR_TAB_MAP};

static bool is_whole(cr_coltype t) {
    return t == CR_COL_I32 || t == CR_COL_I64;
}

static void make_whole(cr_tab_value *v) {
    if (v->leaf == CR_TAB_REAL) as_int(v);
    if (v->leaf == CR_TAB_TOKEN) v->leaf = CR_TAB_INT;
    if (v->leaf == CR_TAB_WORD && !all_numbers(v, true))
        *v = (cr_tab_value){.leaf = CR_TAB_INT, .card = 100};
}

/* Gives a map keys of the declared type. */
static void declare_keys(cr_synth_table *t, cr_tab_col *c, int type) {
    bool whole = type >= 20;
    c->narrow_key = type >= 25;
    if (c->weighted && whole) make_whole(&c->value);
    if (!c->weighted && !c->pairs) c->pairs = CR_TAB_PAIRS;
    for (int k = 0; k < c->n_keys && whole; k++)
        make_whole(&t->cols[c->keys[k]].value);
}

static void declare(cr_synth_table *t, cr_tab_col *c, int type) {
    cr_coltype leaf = (cr_coltype)(type % 5);
    c->form = forms[type / 5];
    if (c->form == CR_TAB_LIST && !c->seq && !c->single && c->max_values == 1) c->max_values = 5;
    if (c->form == CR_TAB_LISTS && c->seq && !c->single && c->max_values == 1) c->max_values = 3;
    if (c->form == CR_TAB_MAP) declare_keys(t, c, type);
    bool weights = c->form == CR_TAB_MAP && c->weighted;
    if (!weights && is_whole(leaf)) make_whole(&c->value);
    if (!weights && !is_whole(leaf) && leaf != CR_COL_STR && c->value.leaf == CR_TAB_TOKEN)
        cr_tab_normal(&c->value, 0, 1);
    c->narrow = leaf == CR_COL_I32 || leaf == CR_COL_F32;
    c->text = leaf == CR_COL_STR;
    if (c->text && c->form == CR_TAB_PLAIN) c->form = CR_TAB_TEXT;
}

static const cr_field_conf *declared(const cr_data_conf *data, const char *name) {
    for (int64_t i = 0; i < data->input_fields.n; i++) {
        const cr_field_conf *f = data->input_fields.v[i];
        if (strcmp(f->input_name, name) == 0) return f;
    }
    return NULL;
}

/* ---- storage in Parquet ---- */

static cr_tab_form natural_form(const cr_synth_table *t, const cr_tab_col *c) {
    if (c->pairs || c->weighted) return CR_TAB_TEXT;
    int most = c->values_of >= 0 ? t->cols[c->values_of].max_values : c->max_values;
    if (c->seq) return most > 1 ? CR_TAB_LISTS : CR_TAB_LIST;
    return most > 1 || c->min_values == 0 ? CR_TAB_LIST : CR_TAB_PLAIN;
}

static bool taken(const cr_features *fs, const cr_tab_col *c) {
    static const cr_coltype types[] = {CR_COL_STR, CR_COL_STR, CR_COL_I64, CR_COL_F64};
    cr_colkind kind = {.type = types[c->value.leaf],
                       .depth = c->form == CR_TAB_LISTS  ? 2
                                : c->form == CR_TAB_LIST ? 1
                                                         : 0,
                       .key = -1};
    for (int i = 0; i < fs->n; i++)
        for (int k = 0; k < fs->v[i]->n_columns; k++)
            if (strcmp(fs->v[i]->columns[k], c->name) == 0 && cr_seq_refuses(fs->v[i], k, &kind))
                return false;
    return true;
}

/* ---- the whole table ---- */

static bool is_number_column(const cr_features *fs, const char *name) {
    for (int i = 0; i < fs->n_labels; i++)
        if (strcmp(fs->labels[i], name) == 0) return true;
    for (int i = 0; i < fs->n_weights; i++)
        if (strcmp(fs->weights[i], name) == 0) return true;
    return false;
}

static void add_columns(const cr_features *fs, const cr_data_conf *data, cr_synth_table *t,
                        cr_arena *arena) {
    t->cols = CR_NEW_N(arena, cr_tab_col, fs->n_want + data->input_fields.n + 1);
    for (int i = 0; i < fs->n_want; i++)
        if (!is_number_column(fs, fs->want[i].name))
            cr_tab_col_init(&t->cols[t->n_cols++], fs->want[i].name);
    for (int64_t i = 0; i < data->input_fields.n; i++) {
        const char *name = ((const cr_field_conf *)data->input_fields.v[i])->input_name;
        if (is_number_column(fs, name) || find_col(t, name) >= 0) continue;
        cr_tab_col_init(&t->cols[t->n_cols], name);
        t->cols[t->n_cols++].share = 0; /* no feature reads it */
    }
}

/* Returns the index of a column in the order of all; -1: there is none. */
static int place_of(const cr_synth_table *t, const char *name) {
    int k = find_col(t, name);
    if (k >= 0) return k;
    for (int i = 0; i < t->n_labels; i++)
        if (strcmp(t->labels[i].name, name) == 0) return t->n_cols + i;
    for (int i = 0; i < t->n_weights; i++)
        if (strcmp(t->weights[i], name) == 0) return t->n_cols + t->n_labels + i;
    return -1;
}

/* The columns of input_fields come first, in its order, then the others. */
static void set_order(const cr_data_conf *data, cr_synth_table *t, cr_arena *arena) {
    int n = t->n_cols + t->n_labels + t->n_weights;
    bool *done = CR_NEW_N(arena, bool, n + 1);
    t->order = CR_NEW_N(arena, int, n + 1);
    for (int64_t i = 0; i < data->input_fields.n; i++) {
        int k = place_of(t, ((const cr_field_conf *)data->input_fields.v[i])->input_name);
        if (k < 0 || done[k]) continue;
        done[k] = true;
        t->order[t->n_order++] = k;
    }
    for (int k = 0; k < n; k++)
        if (!done[k]) t->order[t->n_order++] = k;
}

void cr_features_sample(const cr_features *fs, const cr_data_conf *data, cr_synth_table *t,
                        cr_arena *arena) {
    add_columns(fs, data, t, arena);
    t->labels = CR_NEW_N(arena, cr_tab_label, fs->n_labels + 1);
    for (int i = 0; i < fs->n_labels; i++) {
        const cr_field_conf *f = declared(data, fs->labels[i]);
        bool whole = f && cr_conf_has(f, "input_type") && f->input_type < CR_COL_STR;
        const cr_label_map_conf *map = cr_data_label_map(data, fs->labels[i]);
        t->labels[t->n_labels++] = (cr_tab_label){.name = fs->labels[i],
                                                  .K = fs->label_rules[i].K,
                                                  .after = -1,
                                                  .words = map ? &map->map : NULL,
                                                  .whole = whole};
    }
    t->weights = fs->weights;
    t->n_weights = fs->n_weights;
    cr_sampler s = {fs, data, t, CR_NEW_N(arena, bool, t->n_cols + 1), arena};
    for (int i = 0; i < fs->n; i++)
        for (int k = 0; k < fs->v[i]->n_columns; k++)
            wish(&s, fs->v[i], k);
    for (int i = 0; i < t->n_cols; i++) {
        cr_tab_col *c = &t->cols[i];
        const cr_field_conf *f = declared(data, c->name);
        if (f && cr_conf_has(f, "input_type")) declare(t, c, f->input_type);
    }
    /* keys are tokens */
    for (int i = 0; i < t->n_cols; i++)
        for (int k = 0; k < t->cols[i].n_keys + t->cols[i].n_skeys; k++) {
            const cr_tab_col *c = &t->cols[i];
            int key = k < c->n_keys ? c->keys[k] : c->skeys[k - c->n_keys];
            if (t->cols[key].value.leaf == CR_TAB_REAL) as_int(&t->cols[key].value);
        }
    join_blocks(fs, t);
    for (int i = 0; i < t->n_cols; i++) {
        cr_tab_col *c = &t->cols[i];
        const cr_field_conf *f = declared(data, c->name);
        if (f && cr_conf_has(f, "input_type")) continue;
        c->form = natural_form(t, c);
        if (c->form != CR_TAB_TEXT && !taken(fs, c)) c->form = CR_TAB_TEXT;
    }
    set_order(data, t, arena);
}
