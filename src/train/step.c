/*
 * step.c - one training step: group the ids, run the graph forward and backward, update tables and
 * dense parameters.
 *
 * As in torch, gradients go through these steps: accumulate, unscale, clip, step, average. Tables
 * do not accumulate: they are updated with every batch, from loss / k. With a loss scale, a batch
 * whose gradients are not finite changes only the scale.
 *
 * With refeed_steps a batch has more steps, whose input is the output of the step before (dense
 * re-feeding of Kuchaiev and Ginsburg 2017). They draw other random numbers and count as updates of
 * the optimizer, but not as steps of a schedule, and nothing of them is shown.
 */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "train/delta.h"
#include "train/fast.h"
#include "train/train_int.h"

/* A scale this low means that the loss itself is broken. */
#define LOWEST_SCALE 1e-12

struct cr_trainer {
    cr_arena arena;
    cr_job *j;
    cr_model *m;
    cr_plan *plan;
    cr_model_work *w;
    /* see cr_trainer_ahead; and for the lengths of that batch's sequences */
    bool asks;
    const cr_batch *ahead;
    /* the batch of lookups that was made of mapped_of, which is the next one; NULL: none was */
    const cr_batch *ahead_mapped, *mapped_of;
    cr_model_work *next;
    cr_updater *up;
    dense_side *dense;
    cr_ps *ps;       /* NULL: every step is one of all holders */
    cr_delta *delta; /* NULL: no dumps */
    pareto *pareto;  /* NULL: losses are added as they are */
    inner *inner;    /* NULL: plain steps */
    inner_seen seen; /* with inner: see cr_trainer_watch_tasks */
    cr_clip_type clip;
    double norm_type;
    float max_gradient;
    bool clip_tables; /* enable_global_grad_clip */
    int64_t k;        /* batches per dense step */
    int64_t again;    /* refeed_steps */
    float *refed;     /* the input of such a step; NULL: there are none */
    double *losses;   /* with refed: of the step with the batch's own rows */
    const cr_grad_scaler_conf *scaler;
    float unscale; /* value of the last step */
    bool averages; /* training keeps averages (ema) */
    bool eval_ema; /* evaluation uses them */
    bool sliced;   /* each holder has the dense gradients of its slice only */
    float **scale; /* see cr_model_scales */
    double *lrs;
    int n_lrs;
    label_watch labels;
    cr_trainer_state counters;
    cr_trainer_times times;
};

/* Do the curves of a run show gradients? */
static bool wants_grads(const cr_train_conf *tc) {
    for (int64_t i = 0; i < tc->tensorboard_summaries.n; i++)
        if (strstr(tc->tensorboard_summaries.v[i], "gradient")) return true;
    return false;
}

/* A worker that does not wait for others makes steps of its own rows alone. */
static cr_plan_opts plan_opts(const cr_job *j) {
    cr_plan_opts po = {.graph = &j->model->graph,
                       .mode = CR_TRAIN,
                       .max_rows = j->batch,
                       .lanes = j->lanes,
                       .meet = j->meet};
    if (j->strategy == CR_SYNC) return po;
    int lanes = j->meet->lane[j->meet->self + 1] - j->meet->lane[j->meet->self];
    po.max_rows = lanes > 0 ? lanes * ((j->batch + j->lanes - 1) / j->lanes) : 1;
    po.lanes = cr_lanes_for(j->root->train_config->lanes, po.max_rows);
    po.meet = NULL;
    return po;
}

/* Makes room for the outputs that are fed in again. */
static cr_code new_refed(cr_trainer *t, cr_err *err) {
    void *p;
    CR_TRY(cr_try_alloc(&p, cr_bytes(cr_mul_i64(t->j->batch, cr_ld(t->m->refeeds)), sizeof(float)),
                        "outputs that are fed in again", err));
    t->refed = p;
    return CR_OK;
}

cr_code cr_trainer_new(cr_trainer **out, cr_job *j, cr_err *err) {
    const cr_train_conf *tc = j->root->train_config;
    cr_trainer *t = cr_alloc(sizeof(*t), "trainer");
    cr_arena_init(&t->arena, 0);
    t->j = j;
    t->m = j->model;
    cr_plan_opts po = plan_opts(j);
    cr_code code = CR_OK;
    if (tc->inner_loop) {
        code = cr_inner_new(&t->inner, j, err);
        if (code == CR_OK) t->w = cr_fast_work(cr_inner_fast(t->inner));
    } else {
        code = cr_plan_new(&t->plan, &po, err);
        if (code == CR_OK) code = cr_model_work_new(&t->w, t->m, t->plan, j->pool, err);
    }
    if (code == CR_OK) code = cr_model_work_new(&t->next, t->m, NULL, NULL, err);
    if (code == CR_OK) code = cr_dense_new(&t->dense, j, t->w->w, err);
    if (code == CR_OK) code = cr_pareto_new(&t->pareto, j, t->w, err);
    if (code == CR_OK && j->strategy != CR_SYNC) code = cr_ps_new(&t->ps, j, t->dense, err);
    if (code == CR_OK) code = cr_delta_new(&t->delta, j, err);
    t->again = t->m->refeeds ? tc->refeed_steps : 0;
    if (code == CR_OK && t->again > 0) code = new_refed(t, err);
    t->sliced = po.meet && !t->pareto && !wants_grads(tc);
    if (code == CR_OK && t->sliced) code = cr_work_slice(t->w->w, cr_dense_slices(t->dense), err);
    if (code != CR_OK) {
        cr_trainer_free(t);
        return code;
    }
    if (t->ps) cr_ps_sinks(t->ps);
    if (!t->inner) {
        t->up = cr_model_updater(t->m, t->w->w, j->pool);
        t->w->grouped = cr_updater_groups(t->up);
    }
    t->clip = cr_grad_clip(tc->grad_clipping);
    t->norm_type = 2;
    if (t->clip != CR_CLIP_NONE) {
        t->norm_type = tc->grad_clipping->norm_type;
        t->max_gradient = (float)tc->grad_clipping->max_gradient;
        t->clip_tables = tc->grad_clipping->enable_global_grad_clip;
    }
    t->k = tc->gradient_accumulation_steps > 1 ? tc->gradient_accumulation_steps : 1;
    t->losses = CR_NEW_N(&t->arena, double, t->m->n_losses + 1);
    t->scaler = tc->grad_scaler;
    if (t->scaler) t->counters.loss_scale = t->scaler->init_scale;
    t->unscale = 1;
    t->averages = tc->dense_optimizer->ema != NULL;
    t->eval_ema = cr_job_wants_ema(j, true);
    t->lrs = CR_NEW_N(&t->arena, double, j->tables.n + j->dense.n + 1);
    int nw = t->m->n_weights;
    t->scale = CR_NEW_N(&t->arena, float *, nw + 1);
    for (int i = 0; i < nw; i++)
        t->scale[i] = CR_NEW_N(&t->arena, float, j->batch);
    cr_label_watch_init(&t->labels, j, &t->arena);
    cr_rules_tell(j);
    *out = t;
    return CR_OK;
}

void cr_trainer_free(cr_trainer *t) {
    if (!t) return;
    cr_ps_free(t->ps); /* its thread first */
    cr_delta_free(t->delta);
    cr_updater_free(t->up);
    cr_dense_free(t->dense);
    cr_pareto_free(t->pareto);
    if (!t->inner) cr_model_work_free(t->w);
    cr_inner_free(t->inner);
    cr_model_work_free(t->next);
    cr_plan_free(t->plan);
    cr_free(t->refed);
    cr_arena_clear(&t->arena);
    cr_free(t);
}

/* Rate 0 is that of the tables, 1 that of the dense parameters; those of the parts follow. */
static void keep_rates(cr_trainer *t) {
    const cr_rules *d = &t->j->dense, *s = &t->j->tables;
    t->n_lrs = 0;
    t->lrs[t->n_lrs++] = s->steps[0].lr;
    t->lrs[t->n_lrs++] = d->steps[0].lr;
    for (int k = 1; k < d->n; k++)
        if (d->v[k].members > 0) t->lrs[t->n_lrs++] = d->steps[k].lr;
    for (int k = 1; k < s->n; k++)
        if (s->v[k].members > 0) t->lrs[t->n_lrs++] = s->steps[k].lr;
}

/* Loss k of the run that was made last, which may be one with outputs that were fed in. */
static double loss_now(const cr_trainer *t, int k) {
    double weight;
    if (t->pareto) return cr_pareto_loss(t->pareto, k, &weight);
    if (t->inner) return cr_inner_loss(t->inner, k);
    return cr_work_whole(t->w->w, t->m->losses[k].mean, 0);
}

static cr_code bad_loss(const cr_trainer *t, int64_t step, cr_err *err) {
    for (int k = 0; k < t->m->n_losses; k++)
        if (!isfinite(loss_now(t, k)))
            return cr_fail(err, CR_ERUN,
                           "%s became %s at step %lld; look for huge or NaN inputs (normalise raw "
                           "features) or lower the learning rate. "
                           "The weights of this step are not saved",
                           t->m->losses[k].name, isnan(loss_now(t, k)) ? "NaN" : "infinite",
                           (long long)step);
    return CR_OK;
}

/* Does what GradScaler.update does, after a dense step was taken or left out. */
static cr_code update_scale(cr_trainer *t, bool overflow, int64_t step, cr_err *err) {
    cr_trainer_state *c = &t->counters;
    const cr_grad_scaler_conf *s = t->scaler;
    if (!overflow) {
        if (++c->quiet < s->growth_interval) return CR_OK;
        c->quiet = 0;
        if (c->loss_scale * s->growth_factor <= 3.4e38) c->loss_scale *= s->growth_factor;
        return CR_OK;
    }
    c->loss_scale *= s->backoff_factor;
    c->quiet = 0;
    if (c->loss_scale >= LOWEST_SCALE) {
        CR_INFO("step %lld: gradients are not finite, so it is left out; the loss scale is now %g",
                (long long)step, c->loss_scale);
        return CR_OK;
    }
    CR_TRY(bad_loss(t, step, err));
    return cr_fail(err, CR_ERUN,
                   "gradients are not finite at step %lld even with a loss scale of %g; look for "
                   "huge or NaN inputs (normalise raw features) or lower the learning rate",
                   (long long)step, c->loss_scale);
}

/* Returns the factor of all gradients, as torch's clip_grad_norm_ computes it. */
static float clip_factor(const cr_trainer *t, double sum) {
    double norm = isinf(t->norm_type) ? sum
                  : t->norm_type == 2 ? sqrt(sum)
                                      : pow(sum, 1 / t->norm_type);
    double f = (double)t->max_gradient / (norm + 1e-6);
    return f < 1 || isnan(f) ? (float)f : 1;
}

/* Turns the gradients of this batch into new weights. again: they are those of outputs that were
 * fed in, for which the schedule stands still. */
static cr_code update(cr_trainer *t, int64_t step, bool again, cr_err *err) {
    cr_trainer_state *c = &t->counters;
    int64_t sched_steps = c->sched_steps - again;
    cr_pool *pool = t->j->pool;
    bool last = c->accumulated + 1 >= t->k, norm = t->clip == CR_CLIP_NORM, fine = true;
    float unscale = t->unscale = t->scaler ? (float)(1 / c->loss_scale) : 1;
    double dense_sum = 0, table_sum = 0;
    cr_adjust on_dense = {unscale, 1, t->clip == CR_CLIP_VALUE ? t->max_gradient : 0};
    cr_adjust on_tables = {unscale, 1, t->clip_tables ? on_dense.limit : 0};
    if (cr_dense_keeps_grad(t->j->root->train_config))
        fine =
            cr_dense_gather(t->dense, pool, c->accumulated == 0, unscale, t->norm_type, &dense_sum);
    cr_updater_adjust(t->up, on_tables);
    CR_TRY(cr_job_alone(t->j, cr_updater_meet(t->up, err), err));
    if (t->scaler || (norm && t->clip_tables))
        fine &= cr_updater_measure(t->up, t->norm_type, &table_sum);
    bool overflow = t->scaler && (!fine || bad_loss(t, step, NULL) != CR_OK);
    if (norm) {
        /* The norm is that of the gradients that are applied now: without a dense step only those
         * of the tables. Dense gradients of an earlier batch that are not finite still wait, and
         * must not affect the tables. */
        bool dense = last && !c->overflow && !(t->scaler && !isfinite(dense_sum));
        double sum = dense ? dense_sum : 0;
        if (t->clip_tables) cr_norm_join(&sum, table_sum, t->norm_type);
        float f = clip_factor(t, sum);
        on_dense.factor = f;
        if (t->clip_tables) on_tables.factor = f;
    }
    cr_rules_step(&t->j->tables, sched_steps, c->sched_epochs, c->updates + 1);
    cr_rules_step(&t->j->dense, sched_steps, c->sched_epochs, c->dense_updates + 1);
    keep_rates(t);
    if (!overflow) {
        cr_updater_adjust(t->up, on_tables);
        cr_updater_apply(t->up, t->j->tables.steps);
        c->updates++;
    }
    c->overflow |= overflow || (t->scaler && last && !isfinite(dense_sum));
    c->accumulated++;
    c->sched_steps += !again;
    if (!last) return CR_OK;
    if (!c->overflow) {
        cr_dense_apply(t->dense, pool, on_dense, c->averages == 0);
        c->dense_updates++;
        c->averages += t->averages;
    }
    bool skipped = c->overflow;
    c->overflow = false;
    c->accumulated = 0;
    return t->scaler ? update_scale(t, skipped, step, err) : CR_OK;
}

/* Passes the gradients of this batch on to the parameter servers. */
static cr_code push(cr_trainer *t, cr_err *err) {
    cr_trainer_state *c = &t->counters;
    cr_updater_adjust(t->up, (cr_adjust){1, 1, 0});
    cr_rules_step(&t->j->tables, c->sched_steps, c->sched_epochs, c->updates + 1);
    cr_rules_step(&t->j->dense, c->sched_steps, c->sched_epochs, c->dense_updates + 1);
    keep_rates(t);
    c->sched_steps++;
    c->updates++;
    c->dense_updates++;
    return cr_job_alone(t->j, cr_ps_push(t->ps, t->up, t->w->w, err), err);
}

bool cr_trainer_looks_ahead(const cr_trainer *t) {
    /* rows of a batch in a table with zch are known only when its own step of the map is made */
    return t->m->shards && cr_model_maps_ahead(t->m) && (!t->ps || cr_ps_looks_ahead(t->ps));
}

void cr_trainer_ahead(cr_trainer *t, const cr_batch *next) {
    t->asks = cr_trainer_looks_ahead(t);
    t->ahead = next;
}

/* ---- rounds ---- */

bool cr_trainer_has_rounds(const cr_trainer *t) {
    return t->ps != NULL;
}

void cr_trainer_round_begin(cr_trainer *t, int64_t first_step) {
    cr_ps_begin(t->ps, first_step, t->counters);
}

cr_code cr_trainer_serve(cr_trainer *t, cr_err *err) {
    return cr_job_alone(t->j, cr_ps_serve(t->ps, err), err);
}

bool cr_trainer_round_stops(const cr_trainer *t, int64_t step) {
    return cr_ps_stops(t->ps, step);
}

cr_code cr_trainer_round_dry(cr_trainer *t, int64_t step, cr_err *err) {
    return cr_job_alone(t->j, cr_ps_dry(t->ps, step, err), err);
}

cr_code cr_trainer_round_meet(cr_trainer *t, int64_t step, cr_takes *more, cr_err *err) {
    return cr_job_alone(t->j, cr_ps_meet(t->ps, step, more, err), err);
}

void cr_trainer_round_end(cr_trainer *t, int64_t steps) {
    cr_ps_end(t->ps, steps, &t->counters);
}

int64_t cr_trainer_round_sent(const cr_trainer *t) {
    return cr_ps_sent_by_all(t->ps);
}

/* Groups the ids of the next batch, for the run to announce them. */
static cr_code group_next(cr_trainer *t, cr_err *err) {
    const int32_t *const *axes;
    t->w->next = NULL;
    if (!t->asks || !t->ahead) return CR_OK;
    CR_TRY(cr_model_map_batch(t->next, t->ahead, &t->ahead_mapped, err));
    t->mapped_of = t->ahead;
    CR_TRY(cr_model_axes(t->next, t->ahead_mapped, &axes, err));
    return cr_updater_group_next(t->up, t->ahead_mapped, axes, &t->w->next, err);
}

/* Finds the batch that lookups read: it was made in the last step, or is made now. */
static cr_code map_batch(cr_trainer *t, const cr_batch **b, cr_err *err) {
    bool done = t->mapped_of == *b;
    t->mapped_of = NULL;
    if (!done) return cr_model_map_batch(t->w, *b, b, err);
    struct cr_mapped_batch *room = t->w->mapped; /* the next batch needs room of its own */
    t->w->mapped = t->next->mapped;
    t->next->mapped = room;
    *b = t->ahead_mapped;
    return CR_OK;
}

/* Forward and backward. A rank that fails here fails alone: the others wait for it. */
static cr_code run_model(cr_trainer *t, const cr_batch *b, cr_run *run, cr_err *err) {
    if (cr_fail_point("inside"))
        return cr_fail(err, CR_ENOMEM, "out of memory, as a test wants it");
    if (t->pareto) CR_TRY(cr_pareto_step(t->pareto, b, run, t->scale, err));
    t->w->asks = t->asks;
    t->asks = false;
    return cr_model_run(t->w, b, run, err);
}

/* A step of meta-learning: the gradients of all tasks, then one update. */
static cr_code inner_step(cr_trainer *t, const cr_batch *b, int64_t step, cr_err *err) {
    cr_trainer_state *c = &t->counters;
    cr_pool *pool = t->j->pool;
    double t0 = cr_now();
    CR_TRY(cr_inner_step(t->inner, b, step, t->seen, err));
    CR_TRY(bad_loss(t, step, err));
    double t1 = cr_now();
    cr_pool_stage(pool, CR_STAGE_UPDATE);
    cr_rules_step(&t->j->tables, c->sched_steps, c->sched_epochs, c->updates + 1);
    cr_rules_step(&t->j->dense, c->sched_steps, c->sched_epochs, c->dense_updates + 1);
    keep_rates(t);
    const cr_fast *f = cr_inner_fast(t->inner);
    cr_fast_apply_rows(cr_inner_fast(t->inner), t->j->tables.steps);
    cr_dense_apply_given(t->dense, pool, cr_fast_dense_sums(f), c->averages == 0);
    cr_pool_stage(pool, CR_STAGE_NONE);
    c->updates++;
    c->dense_updates++;
    c->averages += t->averages;
    c->sched_steps++;
    cr_label_watch_step(&t->labels, b);
    t->times.step += t1 - t0;
    t->times.update += cr_now() - t1;
    return CR_OK;
}

bool cr_trainer_watch_tasks(cr_trainer *t,
                            cr_code (*fn)(void *ctx, const cr_batch *query, cr_err *err),
                            void *ctx) {
    t->seen = (inner_seen){fn, ctx};
    return t->inner != NULL;
}

cr_code cr_trainer_step(cr_trainer *t, const cr_batch *b, int64_t step, cr_err *err) {
    if (t->inner) return inner_step(t, b, step, err);
    double t0 = cr_now();
    /* workers of parameter servers are in steps of their own */
    const cr_meet *meet = t->ps ? NULL : t->j->meet;
    const cr_batch *loaded = b;
    CR_TRY(cr_job_alone(t->j, cr_model_learn_ids(t->m, b, meet, err), err));
    CR_TRY(cr_job_alone(t->j, map_batch(t, &b, err), err));
    if (t->ps) CR_TRY(cr_job_alone(t->j, cr_ps_refresh(t->ps, step, err), err));
    cr_model_scales(t->m, b, cr_plan_lanes(t->plan), t->scale);
    const int32_t *const *axes;
    CR_TRY(cr_job_alone(t->j, cr_model_axes(t->w, b, &axes, err), err));
    CR_TRY(cr_job_alone(t->j, cr_updater_fit(t->up, b, err), err));
    cr_pool_stage(t->j->pool, CR_STAGE_GROUP);
    cr_updater_group(t->up, b, axes);
    CR_TRY(cr_job_alone(t->j, group_next(t, err), err));
    cr_pool_stage(t->j->pool, CR_STAGE_NONE);
    double t1 = cr_now();
    cr_step_input in = {.batch = b,
                        .scale = (const float *const *)t->scale,
                        .n_scale = t->m->n_weights,
                        .slope = (t->scaler ? t->counters.loss_scale : 1) / (double)t->k};
    cr_run run = {.input = &in, .n_rows = b->n_rows, .step = step};
    cr_plan_pack(t->plan, t->j->pool);
    cr_code ran = run_model(t, b, &run, err);
    if (t->ps && ran == CR_ESTOP) return ran;
    CR_TRY(cr_job_alone(t->j, ran, err));
    cr_model_seq_grads(t->w, t->up);
    double t2 = cr_now();
    if (!t->scaler) CR_TRY(bad_loss(t, step, err));
    cr_pool_stage(t->j->pool, CR_STAGE_UPDATE);
    cr_code code = t->ps ? push(t, err) : update(t, step, false, err);
    cr_model_rest_rows(t->m);
    cr_pool_stage(t->j->pool, CR_STAGE_NONE);
    if (code != CR_OK) return code;
    if (t->delta) CR_TRY(cr_job_alone(t->j, cr_delta_note(t->delta, loaded, t->up, err), err));
    cr_label_watch_step(&t->labels, b);
    for (int k = 0; t->refed && k < t->m->n_losses; k++)
        t->losses[k] = loss_now(t, k);
    double t3 = cr_now();
    t->times.group += t1 - t0;
    t->times.step += t2 - t1;
    t->times.update += t3 - t2;
    return CR_OK;
}

/* One step whose input is the output of the step before; number: from 1 on. */
static cr_code refeed(cr_trainer *t, const cr_batch *b, int64_t step, int64_t number, cr_err *err) {
    const cr_node *y = t->m->refeeds;
    memcpy(t->refed, cr_work_val(t->w->w, y), cr_bytes(b->n_rows * cr_ld(y), sizeof(float)));
    /* without scales each row weighs the same: all of its columns have a value now */
    cr_step_input in = {.batch = b,
                        .slope = t->scaler ? t->counters.loss_scale : 1,
                        .refed = t->refed,
                        .refed_ld = cr_ld(y)};
    cr_run run = {.input = &in, .n_rows = b->n_rows, .step = step + (number << 48)};
    cr_plan_pack(t->plan, t->j->pool);
    CR_TRY(cr_job_alone(t->j, cr_model_run(t->w, b, &run, err), err));
    if (!t->scaler) CR_TRY(bad_loss(t, step, err));
    return update(t, step, true, err);
}

cr_code cr_trainer_refeed(cr_trainer *t, const cr_batch *b, int64_t step, cr_err *err) {
    double t0 = cr_now();
    cr_code code = CR_OK;
    for (int64_t i = 1; i <= t->again && code == CR_OK; i++)
        code = refeed(t, b, step, i, err);
    t->times.step += cr_now() - t0;
    return code;
}

cr_code cr_trainer_dump(cr_trainer *t, int64_t step, cr_err *err) {
    if (!t->delta) return CR_OK;
    return cr_job_alone(t->j, cr_delta_write(t->delta, step, err), err);
}

double cr_trainer_loss(const cr_trainer *t, int k) {
    return t->refed ? t->losses[k] : loss_now(t, k);
}

double cr_trainer_total(const cr_trainer *t) {
    double sum = 0;
    for (int k = 0; k < t->m->n_losses; k++) {
        double weight = 1,
               v = t->pareto ? cr_pareto_loss(t->pareto, k, &weight) : cr_trainer_loss(t, k);
        sum += v * weight;
    }
    return sum;
}

cr_updater *cr_trainer_updater(const cr_trainer *t) {
    return t->inner ? cr_fast_updater(cr_inner_fast(t->inner)) : t->up;
}

const float *cr_trainer_val(const cr_trainer *t, const cr_node *n) {
    return cr_work_val(t->w->w, n);
}

const cr_lanes *cr_trainer_lanes(const cr_trainer *t) {
    return cr_plan_lanes(cr_work_plan(t->w->w));
}

int cr_trainer_lrs(const cr_trainer *t, const double **lr) {
    *lr = t->lrs;
    return t->n_lrs;
}

bool cr_trainer_grad(const cr_trainer *t, const cr_node *p, float *out) {
    if (t->sliced || !p->trainable || !cr_plan_has_grad(cr_work_plan(t->w->w), p)) return false;
    if (t->inner) {
        memcpy(out, cr_fast_dense_sums(cr_inner_fast(t->inner)) + p->offset,
               (size_t)p->width * sizeof(float));
        return true;
    }
    cr_work_sum_grads(t->w->w, p->offset, p->width, out);
    for (int64_t i = 0; t->unscale != 1 && i < p->width; i++)
        out[i] *= t->unscale;
    return true;
}

void cr_trainer_epoch_end(cr_trainer *t) {
    cr_label_watch_end(&t->labels);
    t->counters.sched_epochs++;
}

/* ---- the state that a checkpoint keeps ---- */

cr_trainer_state cr_trainer_get_state(const cr_trainer *t) {
    return t->counters;
}
void cr_trainer_set_state(cr_trainer *t, cr_trainer_state s) {
    if (!t->scaler)
        s.loss_scale = 0;
    else if (!(s.loss_scale > 0))
        s.loss_scale = t->scaler->init_scale;
    if (s.accumulated >= t->k) { /* the config has another number of steps now */
        s.accumulated = 0;
        s.overflow = false;
    }
    t->counters = s;
}

cr_trainer_state cr_trainer_saved(const cr_ckpt_state *s) {
    return (cr_trainer_state){.updates = s->updates,
                              .sched_steps = s->sched_steps,
                              .sched_epochs = s->sched_epochs,
                              .dense_updates = s->dense_updates,
                              .averages = s->averages,
                              .accumulated = s->accumulated,
                              .loss_scale = s->loss_scale,
                              .quiet = s->scale_quiet,
                              .overflow = s->overflow};
}
void cr_trainer_save(const cr_trainer *t, cr_ckpt_state *s) {
    const cr_trainer_state *c = &t->counters;
    s->updates = c->updates;
    s->sched_steps = c->sched_steps;
    s->sched_epochs = c->sched_epochs;
    s->dense_updates = c->dense_updates;
    s->averages = c->averages;
    s->accumulated = c->accumulated;
    s->loss_scale = c->loss_scale;
    s->scale_quiet = c->quiet;
    s->overflow = c->overflow;
}

void cr_trainer_begin(cr_trainer *t, bool anew) {
    cr_trainer_state *c = &t->counters;
    if (anew || c->averages == 0) cr_dense_begin_ema(t->dense);
    if (!anew) return;
    c->updates = c->dense_updates = c->averages = c->accumulated = c->quiet = 0;
    c->overflow = false;
    if (t->scaler) c->loss_scale = t->scaler->init_scale;
}

void cr_trainer_swap_ema(cr_trainer *t) {
    if (t->eval_ema) cr_dense_swap_ema(t->dense);
}

int cr_trainer_planes(const cr_trainer *t, const cr_node *p) {
    return cr_dense_count(t->dense, p);
}
const char *cr_trainer_plane(const cr_trainer *t, const cr_node *p, int k, float **data) {
    return cr_dense_plane(t->dense, p, k, data);
}
const int64_t *cr_trainer_slices(const cr_trainer *t) {
    return cr_dense_slices(t->dense);
}
cr_trainer_times cr_trainer_get_times(const cr_trainer *t) {
    return t->times;
}
