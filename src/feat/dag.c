/*
 * dag.c - features that read other features (FG_DAG): which feature needs which, in which order
 * they run, and what a feature gives to others.
 *
 * A feature gives its value as it is before it becomes ids: tokens, or numbers after the
 * normalizer, with the default in place of missing values. Given values are columns behind those of
 * the file, one per form that a reader may need (CR_GIVEN_…): numbers as text, the steps of a
 * sequence as the values of a row. A feature that is only an input of others (stub_type) gives its
 * value but is in no batch.
 */
#include "feat/calc_int.h"

#include <math.h>

#include "base/shown.h"
#include "feat/number.h"

/* ---- order ---- */

static const char *feature_at(const void *ctx, size_t i) {
    const cr_features *fs = ctx;
    return i < (size_t)fs->n ? fs->v[i]->name : NULL;
}

/* Returns the index of the feature that a column "feature:x" names; -1 after an error, -2 for a
 * real column. */
static int source(const cr_features *fs, const cr_feature *f, int k, cr_diag *diag) {
    const char *name = f->columns[k];
    if (strncmp(name, CR_FROM_FEATURE, sizeof(CR_FROM_FEATURE) - 1) != 0) return -2;
    name += sizeof(CR_FROM_FEATURE) - 1;
    for (int i = 0; i < fs->n; i++)
        if (strcmp(fs->v[i]->name, name) == 0) return i;
    /* inside a block the features are known by their own names */
    for (int i = f->seq && f->seq->block ? f->seq->first : fs->n; i < fs->n; i++) {
        const cr_feature *g = fs->v[i];
        if (!g->seq || g->seq->block != f->seq->block) break;
        if (strcmp(cr_conf_text(g->conf, "feature_name"), name) == 0) return i;
    }
    const char *near = cr_nearest(name, feature_at, fs);
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, f->at,
                "feature '%s' reads the unknown feature '%s'; %s%s%s", f->name, name,
                near ? "did you mean '" : "define it in feature_configs", near ? near : "",
                near ? "'?" : "");
    return -1;
}

typedef struct walk {
    cr_features *fs;
    cr_diag *diag;
    char *state; /* 0 new, 1 on the path, 2 done */
    int n;
} walk;

static void visit(walk *w, int i) {
    cr_feature *f = w->fs->v[i];
    w->state[i] = 1;
    for (int k = 0; k < f->n_columns; k++) {
        int from = source(w->fs, f, k, w->diag);
        if (from < 0) continue;
        const cr_feature *g = w->fs->v[from];
        if (w->state[from] == 1)
            cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, f->at,
                        "feature '%s' reads '%s', which needs '%s' itself; break the circle",
                        f->name, g->name, f->name);
        else if (w->state[from] == 0)
            visit(w, from);
    }
    w->state[i] = 2;
    w->fs->order[w->n++] = i;
}

int cr_dag_column(const cr_features *fs, int i, int form) {
    return fs->n_want + CR_GIVEN_FORMS * i + form;
}

int cr_dag_feature(const cr_features *fs, int column) {
    return column < fs->n_want ? -1 : (column - fs->n_want) / CR_GIVEN_FORMS;
}

static void connect(cr_features *fs, cr_feature *f, cr_arena *arena, cr_diag *diag) {
    int *idx = CR_NEW_N(arena, int, f->n_columns + 1);
    bool *is_seq = CR_NEW_N(arena, bool, f->n_columns + 1);
    for (int k = 0; k < f->n_columns; k++) {
        is_seq[k] = !f->is_seq || f->is_seq[k];
        idx[k] = f->col_idx[k];
        int from = source(fs, f, k, diag);
        if (from < 0) continue;
        cr_feature *g = fs->v[from];
        cr_colkind kind = {.type = CR_COL_F64, .depth = 1, .key = -1};
        bool text = g->type->gives_numbers(g) && f->type->refuses(f, k, &kind) != NULL;
        int form = (text ? CR_GIVEN_TEXT : 0) | (g->seq && !f->seq ? CR_GIVEN_FLAT : 0);
        g->given |= 1 << form;
        idx[k] = cr_dag_column(fs, from, form);
        is_seq[k] = g->seq != NULL;
    }
    f->col_idx = idx;
    if (f->seq) f->is_seq = is_seq;
}

void cr_dag_make(cr_features *fs, cr_arena *arena, cr_diag *diag) {
    fs->order = CR_NEW_N(arena, int, fs->n + 1);
    walk w = {fs, diag, CR_NEW_N(arena, char, fs->n + 1), 0};
    size_t errors = diag->n_errors;
    for (int i = 0; i < fs->n; i++)
        if (w.state[i] == 0) visit(&w, i);
    for (int i = 0; i < fs->n && diag->n_errors == errors; i++)
        connect(fs, fs->v[i], arena, diag);
    for (int i = 0; i < fs->n && diag->n_errors == errors; i++) {
        fs->gives |= fs->v[i]->given != 0;
        if (fs->v[i]->stub && !fs->v[i]->given && fs->v[i]->n_columns)
            cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, fs->v[i]->at,
                        "feature '%s' is of stub_type and no other feature reads it; remove it",
                        fs->v[i]->name);
    }
}

/* ---- giving ---- */

/* Writes numbers as text: whole ones as integers, others with as few digits as give the same
 * float. */
static void as_text(const cr_column *in, int64_t n_rows, cr_arena *arena, cr_column *out) {
    int64_t n = in->depth ? in->row_off[n_rows] : n_rows;
    if (in->depth > 1) n = in->item_off[n];
    char *bytes = cr_arena_alloc(arena, 32 * (size_t)(n + 1));
    uint32_t *at = CR_NEW_N(arena, uint32_t, n + 1);
    uint32_t to = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = in->v.f64[i];
        bool null = in->depth == 0 && in->valid && !in->valid[i];
        at[i] = to;
        if (!null) to += (uint32_t)cr_number_text(bytes + to, x);
    }
    at[n] = to;
    *out = *in;
    out->type = CR_COL_STR;
    out->v.f64 = NULL;
    out->bytes = bytes;
    out->beg = at;
    out->end = at + 1;
}

/* Turns the steps of a sequence into the values of its row. */
static void as_values(const cr_column *in, int64_t n_rows, cr_arena *arena, cr_column *out) {
    *out = *in;
    if (in->depth < 2) return;
    int32_t *off = cr_arena_alloc(arena, sizeof(int32_t) * (size_t)(n_rows + 1));
    for (int64_t r = 0; r <= n_rows; r++)
        off[r] = in->item_off[in->row_off[r]];
    out->depth = 1;
    out->row_off = off;
    out->item_off = NULL;
    out->list_valid = NULL;
}

cr_code cr_dag_give(const cr_features *fs, int i, cr_chunk *chunk, cr_arena *arena, cr_bad *bad,
                    cr_err *err) {
    const cr_feature *f = fs->v[i];
    cr_column *out = &chunk->cols[cr_dag_column(fs, i, 0)];
    CR_TRY((f->seq ? cr_seq_give : f->type->give)(f, chunk, out, arena, bad, err));
    if (f->seq) as_values(out, chunk->n_rows, arena, out + CR_GIVEN_FLAT);
    for (int form = 0; form < CR_GIVEN_FORMS; form++)
        if ((form & CR_GIVEN_TEXT) && (f->given & 1 << form))
            as_text(out + (form & CR_GIVEN_FLAT), chunk->n_rows, arena, out + form);
    return CR_OK;
}

/* ---- what id_feature and raw_feature give ---- */

/* Makes a column of single values when there is at most one per row, else a column of lists. */
static void column_of(cr_values *v, int64_t n_rows, bool single, cr_column *out) {
    static const uint32_t none;
    uint8_t *valid = single ? cr_arena_alloc(v->arena, (size_t)n_rows + 1) : NULL;
    *out = (cr_column){.type = v->text ? CR_COL_STR : CR_COL_F64,
                       .depth = single ? 0 : 1,
                       .row_off = single ? NULL : v->off,
                       .valid = valid};
    if (!single) {
        out->v.f64 = v->x;
        out->bytes = v->bytes ? v->bytes : "";
        out->beg = v->beg ? v->beg : &none;
        out->end = v->end ? v->end : &none;
        return;
    }
    double *x = v->text ? NULL : CR_NEW_N(v->arena, double, n_rows + 1);
    uint32_t *beg = v->text ? CR_NEW_N(v->arena, uint32_t, n_rows + 1) : NULL,
             *end = v->text ? CR_NEW_N(v->arena, uint32_t, n_rows + 1) : NULL;
    for (int64_t r = 0; r < n_rows; r++) {
        int64_t k = v->off[r];
        valid[r] = v->off[r + 1] > k;
        if (!valid[r]) continue;
        if (x) {
            x[r] = v->x[k];
        } else {
            beg[r] = v->beg[k];
            end[r] = v->end[k];
        }
    }
    out->v.f64 = x;
    out->bytes = v->bytes ? v->bytes : "";
    out->beg = beg;
    out->end = end;
}

void cr_values_default(cr_values *v, const char *def, char sep) {
    if (cr_values_in_row(v) || !*def) return;
    double x = 0;
    if (v->text) {
        cr_values_piece(v, def, strlen(def));
        cr_values_token(v);
        return;
    }
    for (const char *p = def; p;) {
        const char *cut = strchr(p, sep);
        if (cr_num_f64(p, cut ? (size_t)(cut - p) : strlen(p), &x)) cr_values_number(v, x);
        p = cut ? cut + 1 : NULL;
    }
}

void cr_values_column(cr_values *v, int64_t n_rows, int64_t dim, cr_column *out) {
    column_of(v, n_rows, dim == 1, out);
}

void cr_values_begin(cr_values *v, bool text, int64_t n_rows, cr_arena *arena) {
    *v = (cr_values){.arena = arena, .text = text};
    v->off = cr_arena_alloc(arena, sizeof(int32_t) * (size_t)(n_rows + 1));
    v->off[0] = 0;
}

/* Gives the keys of a map, with their weights written as in text: key:weight. */
static void give_pairs(cr_values *v, cr_pairs *t, bool weighted, const cr_column *col, int64_t r,
                       int64_t dim, cr_arena *arena) {
    cr_pairs_row(t, col, r, 0, ':', arena);
    for (int64_t i = 0; i < t->n && (dim == 0 || i < dim); i++) {
        const cr_pair *p = &t->v[i];
        char text[32];
        double x = 0;
        cr_values_piece(v, p->key.p, p->key.n);
        if (weighted && p->value.p && cr_pair_number(p, &x)) {
            cr_values_piece(v, ":", 1);
            cr_values_piece(v, text, cr_number_text(text, x));
        }
        cr_values_token(v);
    }
}

cr_code cr_give_tokens(const cr_feature *f, const cr_column *col, const char *def, char sep,
                       int64_t dim, const cr_chunk *chunk, cr_column *out, cr_arena *arena,
                       cr_err *err) {
    const cr_column *item = col->keys ? col->keys : col;
    if (col->depth > 1 || item->type == CR_COL_F32 || item->type == CR_COL_F64)
        return cr_fail(err, CR_EDATA,
                       "feature '%s' gives text or integers, but its column holds other values",
                       f->name);
    cr_values v;
    cr_values_begin(&v, true, chunk->n_rows, arena);
    cr_toks t = {0};
    cr_pairs pairs = {0};
    for (int64_t r = 0; r < chunk->n_rows; r++) {
        v.row = r;
        if (col->keys)
            give_pairs(&v, &pairs, f->weighted, col, r, dim, arena);
        else
            cr_toks_row(&t, col, r, sep, false, arena);
        for (int64_t i = 0; i < t.n && (dim == 0 || i < dim); i++) {
            cr_values_piece(&v, t.v[i].p, t.v[i].n);
            cr_values_token(&v);
        }
        cr_values_default(&v, def, sep);
        v.off[r + 1] = (int32_t)v.n;
    }
    if (v.n > INT32_MAX || v.n_bytes > UINT32_MAX)
        return cr_fail(err, CR_EDATA, "feature '%s' gives too many values in one block of rows",
                       f->name);
    cr_values_column(&v, chunk->n_rows, dim, out);
    return CR_OK;
}

cr_code cr_give_numbers(const cr_feature *f, const cr_column *col, const char *def, char sep,
                        int64_t dim, const cr_norm *norm, const cr_chunk *chunk, cr_column *out,
                        cr_arena *arena, cr_bad *bad, cr_err *err) {
    if (col->depth > 1 || col->keys)
        return cr_fail(err, CR_EDATA,
                       "feature '%s' gives numbers, but its column holds other values", f->name);
    cr_values v;
    cr_values_begin(&v, false, chunk->n_rows, arena);
    cr_nums t = {0};
    for (int64_t r = 0; r < chunk->n_rows; r++) {
        cr_tok wrong = {"", 0};
        char show[80];
        v.row = r;
        if (!cr_nums_row(&t, col, r, sep, arena, &wrong)) {
            cr_bad_add(bad, r, cr_line_of(chunk, r), "feature '%s', value '%s': not a number",
                       f->name, cr_show(show, wrong.p, wrong.n));
            t.n = 0;
        }
        for (int64_t i = 0; i < t.n; i++) {
            float y = 0;
            cr_norm_apply(norm, &t.v[i], &y, 1, false);
            if (!isfinite(y)) {
                cr_bad_add(bad, r, cr_line_of(chunk, r), "feature '%s' gives no finite number",
                           f->name);
                y = 0;
            }
            cr_values_number(&v, (double)y);
        }
        cr_values_default(&v, def, sep);
        v.off[r + 1] = (int32_t)v.n;
    }
    if (v.n > INT32_MAX)
        return cr_fail(err, CR_EDATA, "feature '%s' gives too many values in one block of rows",
                       f->name);
    bool single = dim == 1;
    for (int64_t r = 0; single && r < chunk->n_rows; r++)
        single = v.off[r + 1] - v.off[r] <= 1;
    cr_values_column(&v, chunk->n_rows, single ? 1 : 2, out);
    return CR_OK;
}
