/*
 * evaluate.c - computes the metrics of the weights in memory over a data set. Losses are reported
 * as metrics too: each is the mean over all rows (weighted if the data has sample weights), so it
 * does not depend on the batch size.
 *
 * With eval_config.inner_loop the data is tasks (tasks.h): the weights are fitted to each task
 * before its query rows are computed, and put back afterwards.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/json.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "base/stop.h"
#include "job/counts.h"
#include "train/evaluate.h"
#include "train/tasks.h"
#include "train/train_int.h"

struct cr_evaluator {
    cr_job *j;
    cr_plan *plan;
    cr_model_work *w;
    cr_metric **metrics;
    int n_metrics;
    int64_t *group; /* key of each row of a batch */
    int64_t batch;
    /* the rows that a masked metric sees: predictions, labels, keys */
    float *pred, *label;
    int64_t *key;
    cr_all_rows *all;  /* for metrics that need the rows of a batch together */
    cr_file_ids files; /* the identity of the data files when they were first read */
    cr_fast *fast;     /* fits the weights to a task; NULL: there are no tasks */
    cr_metric **task;  /* with tasks: the metrics of the task under way; n_task of them exist */
    int n_task;
};

cr_code cr_evaluator_new(cr_evaluator **out, cr_job *j, cr_err *err) {
    cr_evaluator *e = cr_alloc(sizeof(*e), "evaluator");
    e->j = j;
    e->batch = cr_job_eval_batch(j);
    e->metrics = cr_alloc((size_t)(j->model->n_metrics + 1) * sizeof(*e->metrics), "metrics");
    cr_plan_opts po = {.graph = &j->model->graph,
                       .mode = CR_EVAL,
                       .max_rows = e->batch,
                       .lanes = j->lanes,
                       .meet = j->meet};
    cr_code code = cr_plan_new(&e->plan, &po, err);
    if (code == CR_OK) code = cr_model_work_new(&e->w, j->model, e->plan, j->pool, err);
    void *keys = NULL;
    if (code == CR_OK)
        code = cr_try_alloc(&keys, (size_t)e->batch * sizeof(int64_t), "grouping keys", err);
    e->group = keys;
    int64_t K = 0, most = 1;
    for (int i = 0; i < j->model->n_metrics; i++) {
        const cr_model_metric *m = &j->model->metrics[i];
        if (m->mask >= 0 && m->K > K) K = m->K;
        if (m->K > most) most = m->K;
    }
    void *rows[3] = {NULL, NULL, NULL};
    size_t sizes[3] = {(size_t)K * sizeof(float), sizeof(float), sizeof(int64_t)};
    for (int i = 0; K > 0 && code == CR_OK && i < 3; i++)
        code = cr_try_alloc(&rows[i], (size_t)e->batch * sizes[i], "masked rows", err);
    e->pred = rows[0];
    e->label = rows[1];
    e->key = rows[2];
    if (code == CR_OK) code = cr_all_rows_new(&e->all, cr_plan_lanes(e->plan), e->batch, most, err);
    for (int i = 0; code == CR_OK && i < j->model->n_metrics; i++) {
        const cr_model_metric *m = &j->model->metrics[i];
        code = m->type->new_(&e->metrics[i], m->conf, m->K, err);
        if (code == CR_OK) e->n_metrics++;
    }
    const cr_inner_conf *loop = j->root->eval_config->inner_loop;
    if (code == CR_OK && loop) code = cr_fast_new(&e->fast, j, loop, e->batch, false, err);
    e->task = cr_alloc((size_t)(j->model->n_metrics + 1) * sizeof(*e->task), "metrics");
    for (int i = 0; code == CR_OK && e->fast && i < j->model->n_metrics; i++) {
        const cr_model_metric *m = &j->model->metrics[i];
        code = m->type->new_(&e->task[i], m->conf, m->K, err);
        if (code == CR_OK) e->n_task++;
    }
    if (code != CR_OK) {
        cr_evaluator_free(e);
        return code;
    }
    *out = e;
    return CR_OK;
}

void cr_evaluator_free(cr_evaluator *e) {
    if (!e) return;
    for (int i = 0; i < e->n_metrics; i++)
        e->j->model->metrics[i].type->free_(e->metrics[i]);
    for (int i = 0; i < e->n_task; i++)
        e->j->model->metrics[i].type->free_(e->task[i]);
    cr_free(e->metrics);
    cr_free(e->task);
    cr_fast_free(e->fast);
    cr_free(e->group);
    cr_free(e->pred);
    cr_free(e->label);
    cr_free(e->key);
    cr_all_rows_free(e->all);
    cr_file_ids_clear(&e->files);
    cr_model_work_free(e->w);
    cr_plan_free(e->plan);
    cr_free(e);
}

cr_data_digest cr_evaluator_data(const cr_evaluator *e) {
    return cr_file_ids_digest(&e->files);
}

cr_code cr_evaluator_alike(const cr_evaluator *e, const char *paths, cr_diag *diag) {
    return cr_job_alike_files(e->j, cr_job_eval_key(e->j), paths, &e->files, diag);
}

static const int64_t *keys_of(cr_evaluator *e, const cr_batch *b, int slot) {
    const cr_jagged *g = &b->sparse[slot];
    for (int64_t r = 0; r < b->n_rows; r++)
        e->group[r] = !g->off                     ? g->ids[r]
                      : g->off[r + 1] > g->off[r] ? g->ids[g->off[r]]
                                                  : e->j->model->missing_group;
    return e->group;
}

/* Keeps only the rows whose mask is above 0. */
static void take_masked(cr_evaluator *e, cr_metric_rows *rows) {
    cr_metric_in *in = &rows->in;
    int64_t n = 0;
    if (!rows->mask) return;
    for (int64_t r = 0; r < in->n_rows; r++) {
        if (!(rows->mask[r] > 0)) continue;
        memcpy(e->pred + n * in->K, in->pred + r * in->pred_stride, (size_t)in->K * sizeof(float));
        e->label[n] = in->label[r];
        if (in->group) e->key[n] = in->group[r];
        n++;
    }
    *in = (cr_metric_in){.n_rows = n,
                         .K = in->K,
                         .pred = e->pred,
                         .pred_stride = in->K,
                         .label = e->label,
                         .group = in->group ? e->key : NULL};
}

/* Are query rows computed as in training? */
static bool by_batch(const cr_evaluator *e) {
    return e->fast && e->j->root->eval_config->inner_loop->batch_statistics;
}

static const cr_work *work_of(const cr_evaluator *e) {
    return by_batch(e) ? cr_fast_work(e->fast)->w : e->w->w;
}

static cr_code add_batch(cr_evaluator *e, const cr_batch *b, cr_mean *losses, cr_err *err) {
    cr_model *m = e->j->model;
    cr_step_input in = {.batch = b};
    cr_run run = {.input = &in};
    const cr_work *w_of = work_of(e);
    if (by_batch(e))
        CR_TRY(cr_fast_pass(e->fast, b, 0, 1, err));
    else
        CR_TRY(cr_job_alone(e->j, cr_model_run(e->w, b, &run, err), err));
    for (int i = 0; i < m->n_losses; i++) {
        const cr_model_loss *ml = &m->losses[i];
        if (ml->train_only) continue;
        const float *l = cr_work_val(w_of, ml->row);
        const cr_row_weight *w = ml->weight >= 0 ? &m->weights[ml->weight] : NULL;
        for (int64_t r = 0; r < b->n_rows; r++) {
            double v = w ? cr_row_weight_of(w, b, r) : 1;
            cr_exact_add(&losses[i].sum, (double)l[r] * v);
            cr_exact_add(&losses[i].weight, v);
        }
    }
    cr_code code = CR_OK;
    for (int i = 0; i < m->n_metrics; i++) {
        const cr_model_metric *mm = &m->metrics[i];
        /* after a mistake, which other holders may not see, only what they meet for is done */
        if (code != CR_OK && !mm->type->whole_batch) continue;
        cr_metric_rows rows = {.in = {.n_rows = b->n_rows,
                                      .K = mm->K,
                                      .pred = cr_work_val(w_of, mm->pred),
                                      .pred_stride = cr_ld(mm->pred),
                                      .label = b->labels[mm->label]},
                               .mask = mm->mask >= 0 ? b->labels[mm->mask] : NULL};
        if (mm->group_slot >= 0) rows.in.group = keys_of(e, b, mm->group_slot);
        if (mm->type->whole_batch) cr_all_rows_take(e->all, b->global_rows, &rows);
        take_masked(e, &rows);
        if (code == CR_OK && rows.in.n_rows > 0)
            code = mm->type->update(e->metrics[i], &rows.in, err);
        if (code == CR_OK && e->fast && rows.in.n_rows > 0)
            code = mm->type->update(e->task[i], &rows.in, err);
    }
    return code;
}

/* ---- several holders ---- */

static void pad(cr_buf *b) {
    while (b->n % 8)
        cr_buf_char(b, 0);
}

/* Packs what this holder has seen: rows, losses, and the states of metrics, each at a multiple of 8
 * bytes. Metrics that saw the rows of all holders are left out. ends[i] is where state i ends; the
 * last entry is the end of everything. */
static void pack_seen(const cr_evaluator *e, const cr_mean *losses, int64_t rows, cr_buf *out,
                      int64_t *ends) {
    const cr_model *m = e->j->model;
    cr_buf_add(out, &rows, sizeof(rows));
    cr_buf_add(out, losses, (size_t)m->n_losses * sizeof(cr_mean));
    for (int i = 0; i < m->n_metrics; i++) {
        if (!m->metrics[i].type->whole_batch) m->metrics[i].type->pack(e->metrics[i], out);
        ends[i] = (int64_t)out->n;
        pad(out);
    }
    ends[m->n_metrics] = (int64_t)out->n;
}

/* Adds what one holder has seen. */
static cr_code add_seen(cr_evaluator *e, const char *seen, const int64_t *ends, cr_mean *losses,
                        int64_t *rows, cr_err *err) {
    const cr_model *m = e->j->model;
    int64_t n;
    memcpy(&n, seen, sizeof(n));
    *rows += n;
    const cr_mean *mean = (const cr_mean *)(const void *)(seen + sizeof(n));
    for (int i = 0; i < m->n_losses; i++) {
        cr_exact_join(&losses[i].sum, &mean[i].sum);
        cr_exact_join(&losses[i].weight, &mean[i].weight);
    }
    int64_t from = (int64_t)(sizeof(n) + (size_t)m->n_losses * sizeof(cr_mean));
    for (int i = 0; i < m->n_metrics; from = (ends[i++] + 7) / 8 * 8)
        if (!m->metrics[i].type->whole_batch)
            CR_TRY(m->metrics[i].type->merge(e->metrics[i], seen + from, (size_t)(ends[i] - from),
                                             err));
    return CR_OK;
}

/* merge_seen (collective) puts together what all holders have seen, in the order of holders. */
static cr_code merge_seen(cr_evaluator *e, cr_mean *losses, int64_t *rows, cr_arena *a,
                          cr_err *err) {
    const cr_model *m = e->j->model;
    const cr_meet *meet = e->j->meet;
    if (!meet) return CR_OK;
    int n = m->n_metrics + 1;
    int64_t *ends = CR_NEW_N(a, int64_t, meet->n * n);
    size_t *at = CR_NEW_N(a, size_t, meet->n + 1);
    cr_buf own;
    cr_buf_init(&own);
    pack_seen(e, losses, *rows, &own, ends + meet->self * n);
    for (int h = 0; h <= meet->n; h++)
        at[h] = (size_t)(h * n) * sizeof(int64_t);
    meet->gather(meet->ctx, ends, at);
    for (int h = 0; h < meet->n; h++)
        at[h + 1] = (h ? at[h] : (at[0] = 0)) + (size_t)ends[h * n + n - 1];
    void *mem = NULL;
    cr_code code = cr_try_alloc(&mem, at[meet->n], "metrics of all holders", err);
    (void)cr_job_alone(e->j, code, err);
    char *all = mem;
    if (code == CR_OK) {
        memcpy(all + at[meet->self], own.data, own.n);
        meet->gather(meet->ctx, all, at);
        *rows = 0;
        memset(losses, 0, (size_t)m->n_losses * sizeof(*losses));
        for (int i = 0; i < m->n_metrics; i++)
            if (!m->metrics[i].type->whole_batch) m->metrics[i].type->reset(e->metrics[i]);
    }
    for (int h = 0; h < meet->n && code == CR_OK; h++)
        code = add_seen(e, all + at[h], ends + h * n, losses, rows, err);
    cr_free(all);
    cr_buf_clear(&own);
    return code;
}

/* Returns the value of a loss over all rows. */
static double loss_value(const cr_model *m, int i, const cr_mean *sum) {
    double factor = m->losses[i].weight >= 0 ? m->weights[m->losses[i].weight].factor : 1;
    double weight = cr_exact_value(&sum->weight);
    return weight > 0 ? factor * cr_exact_value(&sum->sum) / weight : 0;
}

static double total_loss(const cr_model *m, const cr_mean *sums) {
    double total = 0;
    for (int i = 0; i < m->n_losses; i++)
        total += loss_value(m, i, &sums[i]);
    return total;
}

/* Tries a metric with the labels of this batch and predictions that any metric accepts. */
static cr_code try_metric(cr_evaluator *e, int i, const cr_batch *b, const float *even,
                          cr_err *err) {
    const cr_model_metric *mm = &e->j->model->metrics[i];
    cr_metric_in mi = {.n_rows = b->n_rows,
                       .K = mm->K,
                       .pred = even,
                       .pred_stride = 0,
                       .label = b->labels[mm->label],
                       .group = mm->group_slot >= 0 ? keys_of(e, b, mm->group_slot) : NULL};
    mm->type->reset(e->metrics[i]);
    cr_code code = mm->type->update(e->metrics[i], &mi, err);
    mm->type->reset(e->metrics[i]);
    if (code != CR_OK && !err->at.path && mm->conf) err->at = ((const cr_conf_base *)mm->conf)->at;
    return code;
}

static cr_code no_rows(const cr_job *j, const char *paths, cr_err *err) {
    const cr_data_conf *d = j->root->data_config;
    if (d->eval_drop_remainder)
        return cr_fail_at(err, CR_EDATA, cr_conf_at(d, "eval_drop_remainder"),
                          "data_config.eval_drop_remainder leaves nothing of '%s' to evaluate: it "
                          "holds fewer rows than a batch of %lld; use a smaller batch, or leave "
                          "the key out",
                          paths, (long long)cr_job_eval_batch(j));
    if (d->eval_fraction > 0)
        return cr_fail_at(err, CR_EDATA, cr_conf_at(d, "eval_fraction"),
                          "eval_fraction %g of '%s' gives no rows; raise it%s", d->eval_fraction,
                          paths,
                          *d->eval_fraction_field ? ", or choose a column with more values" : "");
    return cr_fail_at(
        err, CR_EDATA, cr_conf_at(j->root, "eval_input_path"),
        "'%s' holds no rows to evaluate; check the path and the files, or leave it out", paths);
}

cr_code cr_evaluator_probe(cr_evaluator *e, const char *paths, cr_diag *diag) {
    cr_loader *l;
    cr_job_data d = {.paths = cr_job_eval_files(e->j, paths, &e->j->cfg.arena),
                     .key = cr_job_eval_key(e->j),
                     .side = CR_EVAL_ROWS,
                     .batch_size = e->batch,
                     .drop_remainder = e->j->root->data_config->eval_drop_remainder,
                     .n_epochs = 1,
                     .silent = true,
                     .ids = &e->files};
    CR_TRY(cr_job_loader(e->j, &d, &l, diag));
    cr_batch *b = NULL;
    bool done = false;
    cr_err err;
    cr_code code = CR_OK;
    while (code == CR_OK && !b && !done)
        code = cr_loader_next(l, &b, &done, &err);
    if (code == CR_OK && !b) code = no_rows(e->j, paths, &err);
    int64_t K = 1;
    for (int i = 0; i < e->n_metrics; i++)
        if (e->j->model->metrics[i].K > K) K = e->j->model->metrics[i].K;
    float *even = cr_alloc((size_t)K * sizeof(float), "scores");
    for (int i = 0; b && code == CR_OK && i < e->n_metrics; i++) {
        int64_t k = e->j->model->metrics[i].K;
        for (int64_t c = 0; c < k; c++)
            even[c] = 1 / (float)(k > 1 ? k : 2);
        code = try_metric(e, i, b, even, &err);
    }
    cr_free(even);
    if (b) cr_loader_release(l, b);
    cr_loader_free(l);
    return code == CR_OK ? CR_OK : cr_diag_err(diag, &err);
}

static cr_metric_result metric_result(const cr_model_metric *mm, const cr_metric *m,
                                      cr_arena *names) {
    cr_metric_result r = {.name = cr_arena_strdup(names, mm->name), .value = mm->type->value(m)};
    if (mm->type->classes) mm->type->classes(m, &r.n_pos, &r.n_neg);
    return r;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const cr_metric_result *)a)->name, ((const cr_metric_result *)b)->name);
}

/* Metric k of the rows so far, or of the task under way, for those who watch. */
static const char *metric_of(void *of, int k, double *value) {
    const cr_evaluator *e = of;
    if (k >= e->n_metrics) return NULL;
    *value = e->j->model->metrics[k].type->value(e->fast ? e->task[k] : e->metrics[k]);
    return e->j->model->metrics[k].name;
}

/* Tells of a batch: its scores are those of the first output that is a prediction. */
static void tell_batch(cr_evaluator *e, const cr_eval_run *r, const cr_batch *b, int64_t batch,
                       double loss, double wait_s) {
    if (!r->watch || !r->watch->evaluated) return;
    const cr_model *m = e->j->model;
    cr_stepped s = {.batch = batch,
                    .rows = b->n_rows,
                    .loss = loss,
                    .wait_s = wait_s,
                    .metric = metric_of,
                    .of = e};
    for (int i = 0; i < m->n_outputs && !s.pred; i++) {
        if (strncmp(m->outputs[i].name, "logits", 6) == 0) continue;
        s.pred = cr_work_val(e->w->w, m->outputs[i].node);
        s.width = m->outputs[i].node->width;
        s.stride = cr_ld(m->outputs[i].node);
    }
    r->watch->evaluated(r->watch->ctx, &s);
}

/* Can all ranks continue, and did no rank get a signal? */
static cr_code agree(const cr_job *j, cr_code own, cr_err *err) {
    bool stop;
    cr_code code = cr_job_agree(j, own, &stop);
    if (code == CR_OK && stop)
        return cr_fail(err, CR_ESTOP, "stopped by a signal during evaluation");
    if (own == CR_OK && code != CR_OK) return cr_fail(err, code, "another rank cannot go on");
    return code;
}

/* Opens the data; all ranks do, or none. */
static cr_code open_data(cr_evaluator *e, const cr_job_data *d, cr_loader **l, cr_diag *diag) {
    *l = NULL;
    bool first_time = !e->files.v;
    cr_code code = cr_job_agree(e->j, cr_job_loader(e->j, d, l, diag), NULL);
    if (code == CR_OK && first_time)
        code = cr_job_agree(e->j, cr_evaluator_alike(e, d->paths, diag), NULL);
    if (code != CR_OK) cr_loader_free(*l);
    return code;
}

/* What an evaluation has done so far. */
typedef struct progress {
    const cr_eval_run *r;
    cr_eval_result *res;
    cr_mean *losses;
    double t0, logged;
    int64_t steps, seen;   /* seen: rows of all ranks */
    cr_code other;         /* the result of other work */
    double waited, wait_s; /* for data: in loaders before, and so far */
} progress;

/* One more batch, or one more task, is done. */
static void step_done(progress *p, const cr_model *m) {
    const cr_eval_run *r = p->r;
    p->steps++;
    double now = cr_now();
    if (r->log_every > 0 && p->steps % r->log_every == 0 && now - p->logged >= 1) {
        CR_INFO("%s: %lldit [%.2fit/s]", r->title, (long long)p->steps,
                (double)p->steps / (now - p->t0));
        p->logged = now;
    }
    if (r->watch && r->watch->progress)
        r->watch->progress(r->watch->ctx,
                           &(cr_progress){.stage = "eval",
                                          .step = p->steps,
                                          .n_steps = r->max_steps,
                                          .rows = p->seen,
                                          .rows_per_s = (double)p->seen / (now - p->t0),
                                          .loss = total_loss(m, p->losses),
                                          .seconds_left = -1});
}

/* Computes one batch, which may be NULL at the end of the data. */
static cr_code one_batch(cr_evaluator *e, cr_loader *l, progress *p, bool *done, cr_err *err) {
    const cr_model *m = e->j->model;
    const cr_eval_run *r = p->r;
    cr_batch *b;
    cr_code code = cr_loader_next(l, &b, done, err);
    if (code == CR_OK && b && e->j->meet) code = cr_model_check_batch(m, b, err);
    if ((code = agree(e->j, code, err)) != CR_OK || !b) return code;
    cr_kill_point("batch");
    code = add_batch(e, b, p->losses, err);
    cr_loader_stats stats;
    cr_loader_get_stats(l, &stats);
    p->wait_s = p->waited + stats.wait_s;
    if (code == CR_OK && r->watch && r->watch->evaluated && !e->fast)
        tell_batch(e, r, b, p->steps, total_loss(m, p->losses), p->wait_s);
    p->res->rows += b->n_rows;
    p->seen += e->j->meet ? b->global_rows : b->n_rows;
    cr_loader_release(l, b);
    if ((code = agree(e->j, code, err)) != CR_OK) return code;
    if (r->between && (p->other = r->between(r->ctx)) != CR_OK) return p->other;
    if (!e->fast) step_done(p, m);
    return CR_OK;
}

/* The data is rows. */
static cr_code all_batches(cr_evaluator *e, progress *p, cr_err *err, cr_diag *diag) {
    const cr_eval_run *r = p->r;
    cr_loader *l;
    cr_job_data d = {.paths = r->paths,
                     .key = cr_job_eval_key(e->j),
                     .side = CR_EVAL_ROWS,
                     .batch_size = e->batch,
                     .drop_remainder = e->j->root->data_config->eval_drop_remainder,
                     .n_epochs = 1,
                     .once = r->once,
                     .ids = &e->files};
    cr_code code = open_data(e, &d, &l, diag);
    if (code != CR_OK) {
        p->other = code;
        return code;
    }
    cr_plan_pack(e->plan, e->j->pool);
    for (bool done = false;
         code == CR_OK && !done && (r->max_steps == 0 || p->steps < r->max_steps);)
        code = one_batch(e, l, p, &done, err);
    bool failed = p->other != CR_OK || (code != CR_OK && code != CR_ESTOP);
    if (r->counter && failed) r->counter->meet = NULL;
    if (r->counter) (void)cr_counter_take(r->counter, l, -1, -1);
    cr_loader_free(l);
    return code;
}

/* Fits the weights to a task and computes its query rows. */
static cr_code one_task(cr_evaluator *e, const char *name, progress *p, cr_err *err,
                        cr_diag *diag) {
    const cr_model *m = e->j->model;
    cr_loader *l = NULL;
    int64_t rows = p->res->rows;
    for (int i = 0; i < m->n_metrics; i++)
        m->metrics[i].type->reset(e->task[i]);
    cr_code code = p->other =
        cr_task_fit(e->fast, e->j, cr_task_rows(e->j, p->r->paths, name, "support", e->batch),
                    diag);
    cr_job_data d = cr_task_rows(e->j, p->r->paths, name, "query", e->batch);
    if (code == CR_OK) code = p->other = cr_job_loader(e->j, &d, &l, diag);
    if (code == CR_OK) cr_plan_pack(e->plan, e->j->pool);
    for (bool done = false; code == CR_OK && !done;)
        code = one_batch(e, l, p, &done, err);
    if (l) cr_loader_free(l);
    p->waited = p->wait_s;
    if (code != CR_OK) return code;
    if (p->r->watch && p->r->watch->evaluated)
        p->r->watch->evaluated(p->r->watch->ctx, &(cr_stepped){.batch = p->steps,
                                                               .rows = p->res->rows - rows,
                                                               .loss = total_loss(m, p->losses),
                                                               .wait_s = p->wait_s,
                                                               .metric = metric_of,
                                                               .of = e,
                                                               .task = name});
    step_done(p, m);
    return CR_OK;
}

/* The data is tasks. */
static cr_code all_tasks(cr_evaluator *e, progress *p, cr_err *err, cr_diag *diag) {
    char **names;
    size_t n;
    cr_arena a;
    cr_arena_init(&a, 0);
    cr_code code = cr_tasks_list(e->j, p->r->paths, &a, &names, &n, err);
    for (size_t i = 0;
         code == CR_OK && i < n && (p->r->max_steps == 0 || p->steps < p->r->max_steps); i++) {
        cr_fast_begin(e->fast);
        code = one_task(e, names[i], p, err, diag);
        cr_fast_end(e->fast, true);
    }
    cr_arena_clear(&a);
    return code;
}

cr_code cr_evaluator_run(cr_evaluator *e, const cr_eval_run *r, cr_eval_result *res,
                         cr_arena *names, cr_diag *diag) {
    const cr_model *m = e->j->model;
    memset(res, 0, sizeof(*res));
    for (int i = 0; i < m->n_metrics; i++)
        m->metrics[i].type->reset(e->metrics[i]);
    cr_err err;
    progress p = {.r = r, .res = res, .losses = CR_NEW_N(names, cr_mean, m->n_losses + 1)};
    p.t0 = p.logged = cr_now();
    cr_code code = e->fast ? all_tasks(e, &p, &err, diag) : all_batches(e, &p, &err, diag);
    CR_TRY(p.other); /* it was reported */
    cr_mean *losses = p.losses;
    if (code == CR_OK) code = merge_seen(e, losses, &res->rows, names, &err);
    if (code == CR_OK && res->rows == 0) code = no_rows(e->j, r->paths, &err);
    if (code != CR_OK) return cr_diag_err(diag, &err);
    for (int i = 0; i < m->n_losses && res->n < CR_MAX_RESULTS; i++)
        if (!m->losses[i].train_only)
            res->v[res->n++] = (cr_metric_result){.name = cr_arena_strdup(names, m->losses[i].name),
                                                  .value = loss_value(m, i, &losses[i])};
    for (int i = 0; i < m->n_metrics && res->n < CR_MAX_RESULTS; i++)
        res->v[res->n++] = metric_result(&m->metrics[i], e->metrics[i], names);
    qsort(res->v, (size_t)res->n, sizeof(res->v[0]), by_name);
    return CR_OK;
}

void cr_eval_line(cr_buf *out, int64_t step, const cr_eval_result *r) {
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    if (step >= 0)
        cr_jw_i64(&w, "global_step", step);
    else
        cr_jw_str(&w, "global_step", NULL);
    for (int i = 0; i < r->n; i++)
        cr_jw_f64(&w, r->v[i].name, r->v[i].value);
    cr_jw_end(&w);
    cr_buf_char(out, '\n');
}

void cr_eval_text(cr_buf *out, const cr_eval_result *r) {
    for (int i = 0; i < r->n; i++)
        cr_buf_printf(out, "%s%s:%.6f", i ? " " : "", r->v[i].name, r->v[i].value);
}
