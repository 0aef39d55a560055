/*
 * slices.c - `crank eval --slice COLUMN`: AUC, logloss and calibration per value of a column, the
 * reliability of the scores and their histogram.
 *
 * The rows are run by themselves, before the evaluation, with the columns carried along as `crank
 * predict --reserved_columns` does. Each column becomes a number per row: a value that it had, in
 * the order of first rows. A column of numbers with more values than are shown is cut at quantiles
 * instead, and what is not shown of another one is taken together.
 */
#include "explain/slices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/stop.h"
#include "explain/explain_int.h"

#define RANGES  10
#define OTHER   "(other)"
#define NOTHING "(missing)"

typedef struct column {
    const char *name; /* as the user says it */
    cr_map values;
    cr_buf codes; /* int32 per row */
} column;

typedef struct work {
    const cr_slices_opts *o;
    cr_slices *res;
    cr_arena *arena;
    cr_diag *diag;
    cr_job j;
    column *cols;
    int n_cols;
    cr_plan *plan;
    cr_model_work *run;
    struct task {
        const char *name;
        const cr_node *pred;
        int label, mask;
        cr_buf score, y; /* float, uint8 (2: the row does not count) */
    } * tasks;
    int n_tasks;
    int64_t n_rows;
} work;

/* ---- columns ---- */

/* The column that a name means: itself, or the only column of the feature of that name. */
static const char *column_of(const cr_features *fs, const char *name, cr_err *err) {
    for (int i = 0; i < fs->n_want; i++)
        if (strcmp(fs->want[i].name, name) == 0) return name;
    const char *plain = strchr(name, ':') ? strchr(name, ':') + 1 : name;
    const cr_feature *f = cr_features_find(fs, plain);
    if (!f) return plain;
    if (f->n_columns == 1) return f->columns[0];
    (void)cr_fail(err, CR_EUSAGE,
                  "--slice '%s' is a feature of %d columns; name the column to slice by", name,
                  f->n_columns);
    return NULL;
}

static cr_code reopen(work *w, char **path) {
    cr_err err;
    cr_scored_opts so = {.config = &w->o->config,
                         .checkpoint_path = w->o->checkpoint_path,
                         .threads = w->o->threads};
    CR_TRY(cr_scored_open(&w->j, &so, path, w->diag));
    if (w->o->n_columns == 0) return CR_OK;
    cr_buf list;
    cr_buf_init(&list);
    w->cols = CR_NEW_N(w->arena, column, w->o->n_columns);
    for (int i = 0; i < w->o->n_columns; i++) {
        const char *c = column_of(w->j.features, w->o->columns[i], &err);
        if (!c) {
            cr_buf_clear(&list);
            return cr_diag_err(w->diag, &err);
        }
        cr_buf_printf(&list, "%s%s", i ? "," : "", c);
        w->cols[w->n_cols++].name = w->o->columns[i];
        cr_map_init(&w->cols[i].values);
    }
    so.reserved = cr_arena_strndup(w->arena, list.data, list.n);
    cr_buf_clear(&list);
    cr_job_close(&w->j);
    CR_TRY(cr_scored_open(&w->j, &so, path, w->diag));
    cr_features *fs = w->j.features;
    for (int i = 0; i < fs->n_reserved; i++) {
        cr_want *x = &fs->want[fs->reserved_col[i]];
        if (x->form == CR_WANT_STORED) { /* nothing else wants the column */
            x->why = "--slice";
            x->cure = "name a column of the data, or a feature that has one column";
        }
        x->form = CR_WANT_VALUES; /* and not as the file stores them */
    }
    return CR_OK;
}

/* Writes a cell as text; false: it is missing. */
static bool cell(const cr_column *c, int64_t r, cr_buf *out) {
    char text[32];
    size_t n;
    cr_buf_reset(out);
    if (c->valid && !c->valid[r]) return false;
    switch (c->type) {
    case CR_COL_STR: {
        const char *s = cr_text_at(c, r, &n);
        cr_buf_add(out, s, n);
        return n > 0;
    }
    case CR_COL_I32: n = cr_fmt_i64(text, c->v.i32[r]); break;
    case CR_COL_I64: n = cr_fmt_i64(text, c->v.i64[r]); break;
    case CR_COL_F32: n = cr_fmt_f32(text, c->v.f32[r]); break;
    default: n = cr_fmt_f64(text, c->v.f64[r]); break;
    }
    cr_buf_add(out, text, n);
    return true;
}

static cr_code add_cells(work *w, const cr_batch *b, cr_err *err) {
    cr_buf text;
    cr_buf_init(&text);
    for (int i = 0; i < w->n_cols; i++) {
        column *c = &w->cols[i];
        const cr_column *x = &b->reserved[i];
        if (x->depth > 0 || x->keys) {
            cr_buf_clear(&text);
            return cr_fail(err, CR_EUSAGE,
                           "--slice '%s': the column holds lists; slice by a column with one value "
                           "per row",
                           c->name);
        }
        for (int64_t r = 0; r < b->n_rows; r++) {
            if (!cell(x, r, &text)) {
                cr_buf_reset(&text);
                cr_buf_str(&text, NOTHING);
            }
            int64_t code = cr_map_get(&c->values, text.data, text.n, -1);
            if (code < 0) {
                code = (int64_t)c->values.n;
                cr_map_put(&c->values, text.data, text.n, code);
            }
            int32_t v = (int32_t)code;
            cr_buf_add(&c->codes, &v, sizeof v);
        }
    }
    cr_buf_clear(&text);
    return CR_OK;
}

/* ---- tasks ---- */

static void add_task(work *w, const char *name, const cr_node *pred, int label, int mask) {
    for (int i = 0; i < w->n_tasks; i++)
        if (w->tasks[i].pred == pred && w->tasks[i].label == label) return;
    w->tasks[w->n_tasks++] = (struct task){.name = cr_arena_strdup(w->arena, name),
                                           .pred = pred,
                                           .label = label,
                                           .mask = mask};
}

static cr_code find_tasks(work *w, cr_err *err) {
    const cr_model *m = w->j.model;
    w->tasks = CR_NEW_N(w->arena, struct task, m->n_metrics + m->n_outputs + 1);
    for (int i = 0; i < m->n_metrics; i++) {
        const cr_model_metric *x = &m->metrics[i];
        const char *name = NULL;
        for (int k = 0; k < m->n_outputs; k++)
            if (m->outputs[k].node == x->pred) name = m->outputs[k].name;
        if (x->pred->width == 1 && name && strncmp(name, "probs", 5) == 0)
            add_task(w, name, x->pred, x->label, x->mask);
    }
    for (int k = 0; w->n_tasks == 0 && k < m->n_outputs; k++)
        if (m->outputs[k].node->width == 1 && m->outputs[k].name &&
            strncmp(m->outputs[k].name, "probs", 5) == 0 && m->n_losses > 0 &&
            m->losses[0].label >= 0)
            add_task(w, m->outputs[k].name, m->outputs[k].node, m->losses[0].label, -1);
    if (w->n_tasks > 0) return CR_OK;
    return cr_fail(err, CR_EUSAGE,
                   "the model has no probability of two classes; slices and reliability need one");
}

static cr_code add_scores(work *w, const cr_batch *b, cr_err *err) {
    cr_step_input in = {.batch = b};
    cr_run run = {.input = &in};
    CR_TRY(cr_model_run(w->run, b, &run, err));
    for (int t = 0; t < w->n_tasks; t++) {
        struct task *x = &w->tasks[t];
        const float *p = cr_work_val(w->run->w, x->pred), *y = b->labels[x->label];
        cr_buf_add(&x->score, p, (size_t)b->n_rows * sizeof(float));
        for (int64_t r = 0; r < b->n_rows; r++) {
            bool counts = x->mask < 0 || b->labels[x->mask][r] > 0;
            if (counts && y[r] != 0 && y[r] != 1)
                return cr_fail(err, CR_EDATA, "a label is %g; slices need labels 0 and 1",
                               (double)y[r]);
            if (isnan(p[r]))
                return cr_fail(err, CR_ERUN, "a score is not a number; check the weights");
            cr_buf_char(&x->y, counts ? y[r] == 1 : 2);
        }
    }
    w->n_rows += b->n_rows;
    return CR_OK;
}

static cr_code read_rows(work *w, cr_loader *l, cr_err *err) {
    int64_t most = w->j.root->eval_config->num_steps, steps = 0;
    for (bool done = false; !done && (most == 0 || steps < most);) {
        cr_batch *b;
        if (atomic_load(&cr_stop_requested)) return cr_fail(err, CR_ESTOP, "stopped by a signal");
        CR_TRY(cr_loader_next(l, &b, &done, err));
        if (!b) continue;
        cr_code code = add_cells(w, b, err);
        if (code == CR_OK) code = add_scores(w, b, err);
        cr_loader_release(l, b);
        CR_TRY(code);
        steps++;
    }
    if (w->n_rows == 0) return cr_fail(err, CR_EDATA, "the data holds no rows; check the path");
    if (w->n_rows >= INT32_MAX)
        return cr_fail(err, CR_EUSAGE, "more than 2^31 rows; evaluate fewer files at a time");
    return CR_OK;
}

/* ---- groups of values ---- */

/* The slices of a column: for each code its slice, and their names. */
typedef struct cut {
    int32_t *of;
    const char **names;
    int n;
} cut;

typedef struct weighed {
    double x;
    int64_t rows, code;
} weighed;
static int by_number(const void *a, const void *b) {
    const weighed *x = a, *y = b;
    return x->x < y->x ? -1 : x->x > y->x ? 1 : 0;
}
static int by_rows(const void *a, const void *b) {
    const weighed *x = a, *y = b;
    if (x->rows != y->rows) return x->rows > y->rows ? -1 : 1;
    return x->code < y->code ? -1 : 1;
}

/* Ranges of numbers with about equally many rows each; equal numbers stay together. */
static void cut_ranges(work *w, const column *c, weighed *v, int64_t n, int64_t missing, cut *to) {
    int64_t all = 0, seen = 0, from = 0;
    qsort(v, (size_t)n, sizeof *v, by_number);
    for (int64_t i = 0; i < n; i++)
        all += v[i].rows;
    for (int64_t i = 0; i < n; i++) {
        seen += v[i].rows;
        to->of[v[i].code] = to->n;
        if (i + 1 < n && seen * RANGES < all * (to->n + 1)) continue;
        to->names[to->n++] = v[from].x == v[i].x
                                 ? cr_arena_printf(w->arena, "%g", v[i].x)
                                 : cr_arena_printf(w->arena, "%g .. %g", v[from].x, v[i].x);
        from = i + 1;
    }
    if (missing < 0) return;
    to->of[missing] = to->n;
    to->names[to->n++] = c->values.entries[missing].key;
}

static cut cut_column(work *w, const column *c) {
    int64_t n = (int64_t)c->values.n, missing = -1, numbers = 0;
    weighed *v = cr_alloc((size_t)n * sizeof *v, "values");
    const int32_t *codes = (const int32_t *)(void *)c->codes.data;
    int most = w->o->max_values;
    cut to = {.of = CR_NEW_N(w->arena, int32_t, n + 1),
              .names = CR_NEW_N(w->arena, const char *, most + RANGES + 3)};
    for (int64_t i = 0; i < n; i++) {
        const cr_map_entry *e = &c->values.entries[i];
        v[i] = (weighed){.code = i};
        if (e->len == strlen(NOTHING) && memcmp(e->key, NOTHING, e->len) == 0)
            missing = i;
        else
            numbers += cr_parse_f64(e->key, e->len, &v[i].x) && isfinite(v[i].x);
    }
    for (int64_t r = 0; r < w->n_rows; r++)
        v[codes[r]].rows++;
    if (n > most && numbers == n - (missing >= 0)) {
        if (missing >= 0)
            memmove(v + missing, v + missing + 1, (size_t)(n - missing - 1) * sizeof *v);
        cut_ranges(w, c, v, numbers, missing, &to);
    } else {
        qsort(v, (size_t)n, sizeof *v, by_rows);
        for (int64_t i = 0; i < n; i++) {
            const cr_map_entry *e = &c->values.entries[v[i].code];
            to.of[v[i].code] = i < most ? (int32_t)i : (int32_t)most;
            if (i < most) to.names[to.n++] = cr_arena_strndup(w->arena, e->key, e->len);
        }
        if (n > most)
            to.names[to.n++] =
                cr_arena_printf(w->arena, OTHER " %lld values", (long long)(n - most));
    }
    cr_free(v);
    return to;
}

/* ---- figures ---- */

typedef struct room {
    float *score;
    uint8_t *y;
    double *place;
    uint64_t *sort;
} room;

static double row_loss(float p, bool y) {
    double q = log(y ? (double)p : 1 - (double)p);
    return q < -100 ? 100 : -q;
}

/* The figures of the first n rows in the room. */
static cr_slice figures(const room *m, int64_t n) {
    cr_slice s = {.rows = n};
    cr_places p = {.place = m->place};
    cr_places_make(&p, m->score, m->y, n, m->sort);
    for (int64_t i = 0; i < n; i++) {
        s.mean_score += (double)m->score[i];
        s.logloss += row_loss(m->score[i], m->y[i]);
    }
    s.positives = p.n_pos;
    s.auc = p.auc;
    s.logloss = n ? s.logloss / (double)n : NAN;
    s.mean_score = n ? s.mean_score / (double)n : NAN;
    s.mean_label = n ? (double)p.n_pos / (double)n : NAN;
    s.calibration = p.n_pos ? s.mean_score / s.mean_label : NAN;
    return s;
}

/* Takes the rows of one slice (of NULL: all) of a task. */
static int64_t pick(const work *w, const struct task *t, const int32_t *codes, const int32_t *of,
                    int k, room *m) {
    int64_t n = 0;
    const float *p = (const float *)(void *)t->score.data;
    for (int64_t r = 0; r < w->n_rows; r++) {
        uint8_t y = (uint8_t)t->y.data[r];
        if (y == 2 || (of && of[codes[r]] != k)) continue;
        m->score[n] = p[r];
        m->y[n++] = y;
    }
    return n;
}

static void add_bins(cr_slices_task *to, const room *m, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int k = (int)(m->score[i] * CR_SCORE_BINS);
        k = k < 0 ? 0 : k >= CR_SCORE_BINS ? CR_SCORE_BINS - 1 : k;
        to->bins[k].rows++;
        to->bins[k].positives += m->y[i];
        to->bins[k].mean_score += (double)m->score[i];
    }
    for (int k = 0; k < CR_SCORE_BINS; k++) {
        cr_score_bin *b = &to->bins[k];
        b->mean_score = b->rows ? b->mean_score / (double)b->rows : NAN;
        b->mean_label = b->rows ? (double)b->positives / (double)b->rows : NAN;
        if (b->rows)
            to->calibration_error +=
                fabs(b->mean_score - b->mean_label) * (double)b->rows / (double)n;
    }
}

static void compute(work *w, room *m) {
    cr_slices *r = w->res;
    r->n_tasks = w->n_tasks;
    r->n_columns = w->n_cols;
    r->tasks = CR_NEW_N(w->arena, cr_slices_task, w->n_tasks);
    cut *cuts = CR_NEW_N(w->arena, cut, w->n_cols + 1);
    for (int c = 0; c < w->n_cols; c++)
        cuts[c] = cut_column(w, &w->cols[c]);
    for (int t = 0; t < w->n_tasks; t++) {
        cr_slices_task *to = &r->tasks[t];
        to->name = w->tasks[t].name;
        int64_t n = pick(w, &w->tasks[t], NULL, NULL, 0, m);
        to->all = figures(m, n);
        to->all.name = "all";
        add_bins(to, m, n);
        to->columns = CR_NEW_N(w->arena, cr_slices_column, w->n_cols + 1);
        for (int c = 0; c < w->n_cols; c++) {
            cr_slices_column *col = &to->columns[c];
            col->name = cr_arena_strdup(w->arena, w->cols[c].name);
            col->n = cuts[c].n;
            col->v = CR_NEW_N(w->arena, cr_slice, cuts[c].n + 1);
            for (int k = 0; k < cuts[c].n; k++) {
                n = pick(w, &w->tasks[t], (const int32_t *)(void *)w->cols[c].codes.data,
                         cuts[c].of, k, m);
                col->v[k] = figures(m, n);
                col->v[k].name = cr_arena_strdup(w->arena, cuts[c].names[k]);
            }
        }
    }
}

static cr_code measure(work *w, cr_err *err) {
    room m;
    void *mem[4] = {NULL, NULL, NULL, NULL};
    size_t size[4] = {sizeof(float), 1, sizeof(double), 2 * sizeof(uint64_t)};
    cr_code code = CR_OK;
    for (int i = 0; i < 4 && code == CR_OK; i++)
        code = cr_try_alloc(&mem[i], (size_t)(w->n_rows + 1) * size[i], "slices", err);
    m = (room){mem[0], mem[1], mem[2], mem[3]};
    if (code == CR_OK) compute(w, &m);
    for (int i = 0; i < 4; i++)
        cr_free(mem[i]);
    return code;
}

static cr_code run(work *w) {
    cr_err err;
    char *path;
    cr_kept_opts where;
    cr_loader *l = NULL;
    CR_TRY(reopen(w, &path));
    w->res->checkpoint = cr_arena_strdup(w->arena, path);
    w->res->dir = cr_scored_dir(&w->j, &w->o->config, w->arena);
    CR_TRY(cr_scored_data(&w->j, &where, w->diag));
    int64_t batch = cr_job_eval_batch(&w->j);
    cr_code code = find_tasks(w, &err);
    const cr_node **outs = CR_NEW_N(w->arena, const cr_node *, w->n_tasks + 1);
    for (int t = 0; t < w->n_tasks; t++)
        outs[t] = w->tasks[t].pred;
    cr_plan_opts po = {.graph = &w->j.model->graph,
                       .mode = CR_EVAL,
                       .max_rows = batch,
                       .lanes = 1,
                       .outputs = outs,
                       .n_outputs = w->n_tasks};
    if (code == CR_OK) code = cr_plan_new(&w->plan, &po, &err);
    if (code == CR_OK) code = cr_model_work_new(&w->run, w->j.model, w->plan, w->j.pool, &err);
    if (code != CR_OK) return cr_diag_err(w->diag, &err);
    cr_plan_pack(w->plan, w->j.pool);
    cr_job_data d = {.paths = where.paths,
                     .key = where.key,
                     .side = where.side,
                     .batch_size = batch,
                     .n_epochs = 1,
                     .silent = true};
    CR_TRY(cr_job_loader(&w->j, &d, &l, w->diag));
    code = read_rows(w, l, &err);
    cr_loader_free(l);
    if (code == CR_OK) code = measure(w, &err);
    return code == CR_OK ? CR_OK : cr_diag_err(w->diag, &err);
}

cr_code cr_slices_run(const cr_slices_opts *o, cr_slices *out, cr_arena *arena, cr_diag *diag) {
    work w = {.o = o, .res = out, .arena = arena, .diag = diag};
    memset(out, 0, sizeof(*out));
    cr_code code = run(&w);
    for (int i = 0; i < w.n_cols; i++) {
        cr_map_clear(&w.cols[i].values);
        cr_buf_clear(&w.cols[i].codes);
    }
    for (int t = 0; t < w.n_tasks; t++) {
        cr_buf_clear(&w.tasks[t].score);
        cr_buf_clear(&w.tasks[t].y);
    }
    cr_model_work_free(w.run);
    cr_plan_free(w.plan);
    cr_job_close(&w.j);
    return code;
}
