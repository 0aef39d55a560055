/*
 * importance.c - `crank importance`: how much worse AUC and losses get when the values of a feature
 * are those of other rows, and when the feature has no value at all.
 *
 * The rows are kept in memory, once. For each batch the model runs as it is, then once more per
 * unit and kind (probe.c). The outputs of all rows are then compared with the first ones, row by
 * row (paired.c). Where the outputs of all units would take too much memory, the units are taken in
 * several rounds; a round repeats the first run only.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/stop.h"
#include "data/load/shuffle.h"
#include "explain/explain_int.h"

#define ROUND_BYTES ((int64_t)1 << 30)

typedef struct measure {
    cr_measure_result *to;
    int out; /* its number among the outputs */
    int64_t n;
    int64_t *rows;     /* the rows that count; NULL: all */
    uint8_t *positive; /* AUC */
    float *weight;     /* loss; NULL: all are 1 */
    double factor;     /* of a loss */
    cr_places base;
} measure;

typedef struct work {
    const cr_importance_opts *o;
    cr_importance *res;
    cr_arena *arena;
    cr_diag *diag;
    cr_job j;
    cr_kept *kept;
    cr_unit_list units;
    measure *measures;
    int n_measures;
    const cr_node **outs;
    int n_outs;
    cr_probes *probes;
    int64_t n_rows, *donor, *changed;
    float **base;      /* by output */
    float ***out;      /* by unit of the round: by 2 * output + kind */
    int u0, u1;        /* the units of the round */
    uint64_t **sorts;  /* by thread: scratch */
    double **places;   /* by thread */
    float **picked[2]; /* by thread: the rows that count, of both sides */
} work;

static cr_code floats(float **out, int64_t n, const char *what, cr_err *err) {
    void *p;
    CR_TRY(cr_try_alloc(&p, cr_bytes(n + 1, sizeof(float)), what, err));
    *out = p;
    return CR_OK;
}

/* ---- what is compared ---- */

static int out_of(work *w, const cr_node *n) {
    for (int k = 0; k < w->n_outs; k++)
        if (w->outs[k] == n) return k;
    w->outs[w->n_outs] = n;
    return w->n_outs++;
}

static cr_code add_loss(work *w, const cr_model_loss *l, cr_err *err) {
    const cr_batch *all = cr_kept_all(w->kept);
    const cr_row_weight *rw = l->weight >= 0 ? &w->j.model->weights[l->weight] : NULL;
    measure *m = &w->measures[w->n_measures];
    *m = (measure){.to = &w->res->measures[w->n_measures],
                   .out = out_of(w, l->row),
                   .n = w->n_rows,
                   .factor = rw ? rw->factor : 1};
    *m->to = (cr_measure_result){.name = cr_arena_strdup(w->arena, l->name), .rows = w->n_rows};
    w->n_measures++;
    if (!rw) return CR_OK;
    CR_TRY(floats(&m->weight, w->n_rows, "row weights", err));
    for (int64_t r = 0; r < w->n_rows; r++)
        m->weight[r] = (float)cr_row_weight_of(rw, all, r);
    return CR_OK;
}

static cr_code add_auc(work *w, const char *name, const cr_node *pred, int label, int mask,
                       cr_err *err) {
    const cr_batch *all = cr_kept_all(w->kept);
    measure *m = &w->measures[w->n_measures];
    *m = (measure){.to = &w->res->measures[w->n_measures], .out = out_of(w, pred)};
    *m->to = (cr_measure_result){.name = cr_arena_strdup(w->arena, name), .auc = true};
    w->n_measures++;
    void *mem;
    if (mask >= 0) {
        CR_TRY(cr_try_alloc(&mem, cr_bytes(w->n_rows, sizeof(int64_t)), "masked rows", err));
        m->rows = mem;
    }
    CR_TRY(cr_try_alloc(&mem, (size_t)w->n_rows, "labels", err));
    m->positive = mem;
    for (int64_t r = 0; r < w->n_rows; r++) {
        float y = all->labels[label][r];
        if (mask >= 0 && !(all->labels[mask][r] > 0)) continue;
        if (y != 0 && y != 1)
            return cr_fail(err, CR_EDATA,
                           "row %lld has the label %g, but an AUC needs 0 or 1; correct the labels",
                           (long long)r, (double)y);
        if (m->rows) m->rows[m->n] = r;
        m->positive[m->n++] = y == 1;
    }
    m->to->rows = m->n;
    CR_TRY(cr_try_alloc(&mem, cr_bytes(m->n + 1, sizeof(double)), "places", err));
    m->base.place = mem;
    return CR_OK;
}

/* The AUC of a config that asks for none: of its only probability. */
static cr_code add_own_auc(work *w, cr_err *err) {
    const cr_model *m = w->j.model;
    const cr_node *pred = NULL;
    int n = 0;
    for (int i = 0; i < m->n_outputs; i++)
        if (strcmp(m->outputs[i].name, "probs") == 0 || strcmp(m->outputs[i].name, "probs1") == 0)
            if (m->outputs[i].node->width == 1) {
                pred = m->outputs[i].node;
                n++;
            }
    if (n != 1 || m->n_losses == 0 || m->losses[0].label < 0) return CR_OK;
    return add_auc(w, "auc", pred, m->losses[0].label, -1, err);
}

static cr_code add_measures(work *w, cr_err *err) {
    const cr_model *m = w->j.model;
    int most = m->n_losses + m->n_metrics + 1;
    w->measures = CR_NEW_N(w->arena, measure, most);
    w->res->measures = CR_NEW_N(w->arena, cr_measure_result, most);
    w->outs = CR_NEW_N(w->arena, const cr_node *, most);
    for (int i = 0; i < m->n_metrics; i++)
        if (strcmp(m->metrics[i].type->name, "auc") == 0 && m->metrics[i].pred->width == 1)
            CR_TRY(add_auc(w, m->metrics[i].name, m->metrics[i].pred, m->metrics[i].label,
                           m->metrics[i].mask, err));
    if (w->n_measures == 0) CR_TRY(add_own_auc(w, err));
    for (int i = 0; i < m->n_losses; i++)
        if (!m->losses[i].train_only) CR_TRY(add_loss(w, &m->losses[i], err));
    w->res->n_measures = w->n_measures;
    if (w->n_measures == 0)
        return cr_fail(err, CR_ECONF,
                       "the model has neither an AUC nor a loss to compare; give it a loss");
    return CR_OK;
}

/* ---- comparing ---- */

static const float *pick(const measure *m, const float *from, float *to) {
    for (int64_t i = 0; m->rows && i < m->n; i++)
        to[i] = from[m->rows[i]];
    return m->rows ? to : from;
}

static cr_code check_nan(const float *x, int64_t n, cr_err *err) {
    for (int64_t i = 0; i < n; i++)
        if (isnan(x[i]))
            return cr_fail(err, CR_ERUN,
                           "row %lld has a score that is not a number; check the weights",
                           (long long)i);
    return CR_OK;
}

static void measure_base(work *w, measure *m) {
    const float *x = w->base[m->out];
    if (m->to->auc) {
        cr_places_make(&m->base, pick(m, x, w->picked[0][0]), m->positive, m->n, w->sorts[0]);
        m->to->value = m->base.auc;
        m->to->n_pos = m->base.n_pos;
        m->to->n_neg = m->base.n_neg;
        return;
    }
    m->to->value = m->factor * cr_mean_of(x, m->weight, m->n);
}

static cr_paired worse(work *w, const measure *m, const float *y, int thread) {
    if (!m->to->auc) {
        cr_paired p = cr_paired_mean(w->base[m->out], y, m->weight, m->n);
        return (cr_paired){m->factor * p.diff, m->factor * p.error};
    }
    cr_places other = {.place = w->places[thread]};
    cr_places_make(&other, pick(m, y, w->picked[1][thread]), m->positive, m->n, w->sorts[thread]);
    cr_paired p = cr_paired_auc(&m->base, &other);
    return (cr_paired){-p.diff, p.error};
}

static void compare_item(void *ctx, int64_t item, int thread) {
    work *w = ctx;
    int u = w->u0 + (int)(item / w->n_measures), k = (int)(item % w->n_measures);
    const measure *m = &w->measures[k];
    cr_worth *to = &w->res->units[u].worth[k];
    if (!cr_probes_used(w->probes, u, m->out)) return;
    to->shuffled = worse(w, m, w->out[u - w->u0][2 * m->out], thread);
    to->removed = worse(w, m, w->out[u - w->u0][2 * m->out + 1], thread);
}

/* ---- the rounds ---- */

static cr_code make_room(work *w, int per_round, cr_err *err) {
    void *mem;
    int threads = cr_pool_threads(w->j.pool);
    CR_TRY(cr_try_alloc(&mem, cr_bytes(w->n_rows, sizeof(int64_t)), "order of rows", err));
    w->donor = mem;
    w->changed = CR_NEW_N(w->arena, int64_t, 2 * w->units.n + 2);
    w->base = CR_NEW_N(w->arena, float *, w->n_outs);
    for (int k = 0; k < w->n_outs; k++)
        CR_TRY(floats(&w->base[k], w->n_rows, "scores", err));
    w->out = CR_NEW_N(w->arena, float **, per_round + 1);
    for (int u = 0; u < per_round; u++) {
        w->out[u] = CR_NEW_N(w->arena, float *, 2 * w->n_outs);
        for (int k = 0; k < 2 * w->n_outs; k++)
            CR_TRY(floats(&w->out[u][k], w->n_rows, "scores", err));
    }
    w->sorts = CR_NEW_N(w->arena, uint64_t *, threads);
    w->places = CR_NEW_N(w->arena, double *, threads);
    w->picked[0] = CR_NEW_N(w->arena, float *, threads);
    w->picked[1] = CR_NEW_N(w->arena, float *, threads);
    for (int t = 0; t < threads; t++) {
        CR_TRY(cr_try_alloc(&mem, cr_bytes(2 * w->n_rows, sizeof(uint64_t)), "sorting", err));
        w->sorts[t] = mem;
        CR_TRY(cr_try_alloc(&mem, cr_bytes(w->n_rows, sizeof(double)), "places", err));
        w->places[t] = mem;
        CR_TRY(floats(&w->picked[0][t], w->n_rows, "scores", err));
        CR_TRY(floats(&w->picked[1][t], w->n_rows, "scores", err));
    }
    return CR_OK;
}

static void free_room(work *w, int per_round) {
    int threads = cr_pool_threads(w->j.pool);
    cr_free(w->donor);
    for (int k = 0; w->base && k < w->n_outs; k++)
        cr_free(w->base[k]);
    for (int u = 0; w->out && u < per_round && w->out[u]; u++)
        for (int k = 0; k < 2 * w->n_outs; k++)
            cr_free(w->out[u][k]);
    for (int t = 0; w->picked[1] && t < threads; t++) {
        cr_free(w->sorts[t]);
        cr_free(w->places[t]);
        cr_free(w->picked[0][t]);
        cr_free(w->picked[1][t]);
    }
    for (int i = 0; i < w->n_measures; i++) {
        cr_free(w->measures[i].rows);
        cr_free(w->measures[i].positive);
        cr_free(w->measures[i].weight);
        cr_free(w->measures[i].base.place);
    }
}

static void tell(const work *w, int64_t rows, double t0) {
    const cr_watch *v = &w->o->watch;
    double s = cr_now() - t0;
    if (!v->progress) return;
    v->progress(v->ctx, &(cr_progress){.stage = "importance",
                                       .step = w->u1,
                                       .n_steps = w->units.n,
                                       .rows = rows,
                                       .rows_per_s = s > 0 ? (double)rows / s : 0,
                                       .seconds_left = -1});
}

/* Runs all rows for the units [u0, u1). */
static cr_code one_round(work *w, cr_err *err) {
    int64_t B = cr_probes_batch(w->probes);
    double t0 = cr_now();
    for (int64_t at = 0; at < w->n_rows; at += B) {
        int64_t n = w->n_rows - at < B ? w->n_rows - at : B;
        double t = cr_now();
        if (atomic_load(&cr_stop_requested)) return cr_fail(err, CR_ESTOP, "stopped by a signal");
        CR_TRY(cr_probes_base(w->probes, at, n, w->base, err));
        w->res->base_s += cr_now() - t;
        t = cr_now();
        CR_TRY(cr_probes_units(w->probes, at, n, w->donor, w->u0, w->u1, w->base,
                               (float *const *const *)w->out, w->changed, err));
        w->res->probe_s += cr_now() - t;
        tell(w, at + n, t0);
    }
    double t = cr_now();
    for (int k = 0; k < w->n_outs; k++)
        CR_TRY(check_nan(w->base[k], w->n_rows, err));
    for (int k = 0; w->u0 == 0 && k < w->n_measures; k++)
        measure_base(w, &w->measures[k]);
    cr_pool_run(w->j.pool, (int64_t)(w->u1 - w->u0) * w->n_measures, compare_item, w);
    w->res->score_s += cr_now() - t;
    return CR_OK;
}

/* The donor of a row; with its own number in front, both as the data has them, where not all rows
 * that were read are taken. */
static void put_order(const work *w, int64_t i) {
    int64_t n = w->n_rows, read = w->res->read;
    if (n < read) cr_buf_printf(w->o->order, "%lld ", (long long)cr_kept_thin_row(i, n, read));
    cr_buf_printf(w->o->order, "%lld\n", (long long)cr_kept_thin_row(w->donor[i], n, read));
}

static cr_code compute(work *w, int per_round, cr_err *err) {
    cr_importance *r = w->res;
    CR_TRY(make_room(w, per_round, err));
    cr_shuffle_items(w->donor, w->n_rows, true, w->o->seed, 0);
    for (int64_t i = 0; w->o->order && i < w->n_rows; i++)
        put_order(w, i);
    for (w->u0 = 0; w->u0 < w->units.n; w->u0 = w->u1) {
        w->u1 = w->units.n - w->u0 < per_round ? w->units.n : w->u0 + per_round;
        CR_TRY(one_round(w, err));
    }
    for (int u = 0; u < r->n_units; u++) {
        r->units[u].used = cr_probes_used(w->probes, u, -1);
        r->units[u].rows_shuffled = w->changed[2 * u];
        r->units[u].rows_removed = w->changed[2 * u + 1];
    }
    return CR_OK;
}

static cr_code run(work *w) {
    cr_importance *r = w->res;
    bool by_work = w->o->max_rows == CR_ROWS_BY_WORK;
    cr_kept_opts ko = {.max_rows = by_work ? CR_ROWS_READ : w->o->max_rows};
    cr_err err;
    double t0 = cr_now();
    CR_TRY(cr_scored_data(&w->j, &ko, w->diag));
    CR_TRY(cr_kept_read(&w->kept, &w->j, &ko, w->diag));
    r->read_s = cr_now() - t0;
    w->units = cr_units_make(&w->j, true, w->arena);
    r->read = cr_kept_rows(w->kept);
    if (by_work) {
        cr_work_count count = cr_probes_work(&w->j, w->kept, &w->units);
        int64_t n = cr_probes_rows(&count, w->units.n_features, r->read);
        if (n < r->read && cr_kept_thin(&w->kept, n, &err) != CR_OK)
            return cr_diag_err(w->diag, &err);
    }
    r->rows = w->n_rows = cr_kept_rows(w->kept);
    r->cut = cr_kept_cut(w->kept);
    r->kept_bytes = cr_kept_bytes(w->kept);
    if (w->n_rows >= UINT32_MAX)
        return cr_diag_err(w->diag, &(cr_err){.code = CR_EUSAGE,
                                              .msg = "more than 2^32 rows; give fewer with "
                                                     "--rows"});
    r->n_units = w->units.n;
    r->n_features = w->units.n_features;
    r->units = CR_NEW_N(w->arena, cr_unit_result, r->n_units + 1);
    int per_round = w->units.n;
    cr_code code = add_measures(w, &err);
    if (code == CR_OK) {
        int64_t bytes = cr_mul_i64(8 * w->n_outs, w->n_rows) + 1;
        if (ROUND_BYTES / bytes < per_round) per_round = (int)(ROUND_BYTES / bytes);
        if (per_round < 8) per_round = w->units.n < 8 ? w->units.n : 8;
        for (int u = 0; u < r->n_units; u++) {
            r->units[u].kind = w->units.v[u].kind;
            r->units[u].name = cr_arena_strdup(w->arena, w->units.v[u].name);
            r->units[u].n_features = w->units.v[u].n_features;
            r->units[u].worth = CR_NEW_N(w->arena, cr_worth, w->n_measures);
        }
        code = cr_probes_new(&w->probes,
                             &(cr_probes_opts){.j = &w->j,
                                               .kept = w->kept,
                                               .units = &w->units,
                                               .outs = w->outs,
                                               .n_outs = w->n_outs},
                             &err);
    }
    if (code == CR_OK && w->o->watch.begins) w->o->watch.begins(w->o->watch.ctx);
    if (code == CR_OK) code = compute(w, per_round, &err);
    free_room(w, per_round);
    return code == CR_OK ? CR_OK : cr_diag_err(w->diag, &err);
}

cr_code cr_importance_run(const cr_importance_opts *o, cr_importance *out, cr_arena *arena,
                          cr_diag *diag) {
    work w = {.o = o, .res = out, .arena = arena, .diag = diag};
    char *path = NULL;
    memset(out, 0, sizeof(*out));
    out->seed = o->seed;
    cr_scored_opts so = {.config = &o->config,
                         .checkpoint_path = o->checkpoint_path,
                         .threads = o->threads};
    cr_code code = cr_scored_open(&w.j, &so, &path, diag);
    if (code == CR_OK) {
        snprintf(out->checkpoint, sizeof(out->checkpoint), "%s", path);
        out->dir = cr_scored_dir(&w.j, &o->config, arena);
        code = run(&w);
    }
    cr_probes_free(w.probes);
    cr_kept_free(w.kept);
    cr_job_close(&w.j);
    return code;
}
