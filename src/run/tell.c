/*
 * tell.c - what a training tells while it runs: the JSON line and the events, TorchEasyRec's line
 * in the log, the progress line, and those who watch its steps.
 */
#include <math.h>

#include "base/cpu.h"
#include "base/log.h"
#include "run/loop_int.h"

void cr_loop_stats(const loop *l, cr_loader_stats *s) {
    *s = (cr_loader_stats){0};
    if (l->data) cr_loader_get_stats(l->data, s);
}

/* Returns the share of the work of this run that is done; 0: not known. */
static double share_done(const loop *l) {
    cr_loader_stats s;
    if (l->tc->num_steps > 0)
        return (double)l->res->steps / (double)(l->res->steps + l->tc->num_steps - l->step);
    cr_loop_stats(l, &s);
    double n = (double)l->tc->num_epochs, rows = (double)s.total_rows;
    if (rows > 0) { /* the share of the rows that were left when this run began */
        double now = rows * (double)l->pos.epoch + (double)l->pos.rows;
        return (double)l->res->rows / (rows * n - now + (double)l->res->rows);
    }
    return l->total_bytes > 0 ? (double)s.bytes / ((double)l->total_bytes * n) : 0;
}

/* Returns the share of the whole training that is done; NAN: not known. */
static double share_trained(const loop *l) {
    cr_loader_stats s;
    if (l->tc->num_steps > 0) return (double)(l->step + 1) / (double)l->tc->num_steps;
    cr_loop_stats(l, &s);
    double n = (double)l->tc->num_epochs, rows = (double)s.total_rows;
    if (rows > 0) return ((double)l->pos.epoch + (double)l->pos.rows / rows) / n;
    return l->total_bytes > 0 ? (double)s.bytes / ((double)l->total_bytes * n) : NAN;
}

static void fill_times(const loop *l, observed *s) {
    cr_loader_stats data;
    cr_loop_stats(l, &data);
    cr_trainer_times t = cr_trainer_get_times(l->t);
    double spent = cr_now() - l->t0, done = share_done(l);
    s->progress = share_trained(l);
    s->left = done > 0 && done <= 1 ? spent * (1 - done) / done : NAN;
    s->step_s = t.step;
    s->update_s = t.update;
    s->group_s = t.group;
    s->wait_s = data.wait_s;
    s->eval_s = l->res->eval_s;
    s->save_s = l->res->save_s;
    s->log_s = l->res->log_s;
}

/* Writes the JSON line and events. None is ever left out, so that logs of equal runs are equal. */
static void observe(loop *l, bool last) {
    if (l->observed_step == l->step || (!last && l->step % l->tc->log_step_count_steps != 0))
        return;
    observed s = {.step = l->step,
                  .epoch = l->in_epoch,
                  .rows = l->res->rows,
                  .seconds = cr_now() - l->t0 - l->res->eval_s - l->res->save_s - l->res->log_s,
                  .metrics = cr_train_metrics_result(l->tm)};
    double t0 = cr_now(), span = cr_trace_begin(cr_profile_trace(l->prof));
    fill_times(l, &s);
    if (l->ob) cr_observer_step(l->ob, l->t, &s);
    if (!l->ob && l->j.comm && !writes(l)) {
        if (!l->rank_ob) l->rank_ob = cr_rank_observer_new(&l->j, l->step - l->res->steps);
        cr_rank_observer_step(l->rank_ob, &s);
    }
    cr_profile_span(l->prof, CR_STAGE_LOG, span);
    l->res->log_s += cr_now() - t0;
    l->observed_step = l->step;
}

/* Logs TorchEasyRec's line, at most once a second; the last one always. */
void cr_loop_log_step(loop *l, bool last) {
    observe(l, last);
    double now = cr_now();
    const double *lr;
    if (l->logged_step == l->step ||
        (!last && (l->step % l->tc->log_step_count_steps != 0 || now - l->logged < 1)))
        return;
    cr_buf b;
    cr_buf_init(&b);
    for (int k = 0, n = cr_trainer_lrs(l->t, &lr); k < n; k++)
        cr_buf_printf(&b, " lr_g%d:%.5f", k, lr[k]);
    for (int k = 0; k < l->j.model->n_losses; k++)
        cr_buf_printf(&b, " %s:%.5f", l->j.model->losses[k].name, cr_trainer_loss(l->t, k));
    cr_buf_printf(&b, " total_loss: %.5f", cr_trainer_total(l->t));
    cr_train_metrics_text(l->tm, &b);
    CR_INFO("Training Epoch %lld: %lldit [%.2fit/s]%s", (long long)l->in_epoch, (long long)l->step,
            (double)l->res->steps / (now - l->t0), b.data);
    cr_buf_clear(&b);
    l->logged = now;
    l->logged_step = l->step;
}

void cr_loop_tell(loop *l) {
    if (!l->o->watch.progress) return;
    double spent = cr_now() - l->t0, done = share_done(l);
    cr_progress p = {.stage = "train",
                     .step = l->step,
                     .n_steps = l->tc->num_steps,
                     .epoch = l->epoch,
                     .n_epochs = l->tc->num_epochs,
                     .rows = l->res->rows,
                     .rows_per_s = spent > 0 ? (double)l->res->rows / spent : 0,
                     .loss = cr_trainer_total(l->t),
                     .seconds_left = done > 0 && done <= 1 ? spent * (1 - done) / done : -1};
    /* not in every step, since computing a metric takes longer than a step should */
    if (cr_now() - l->told >= 0.1) {
        const cr_eval_result *r = cr_train_metrics_result(l->tm);
        if (r->n == 0) r = l->res->has_eval ? &l->res->eval : NULL;
        const cr_metric_result *m = r ? cr_main_metric(r) : NULL;
        l->shown = m ? *m : (cr_metric_result){0};
        l->told = cr_now();
    }
    p.metric = l->shown.name;
    p.metric_value = l->shown.value;
    l->o->watch.progress(l->o->watch.ctx, &p);
}

/* Metric k of training, for those who watch. */
static const char *metric_of(void *of, int k, double *value) {
    const cr_eval_result *r = cr_train_metrics_result(((loop *)of)->tm);
    if (k >= r->n) return NULL;
    *value = r->v[k].value;
    return r->v[k].name;
}

void cr_loop_tell_step(loop *l, void (*fn)(void *ctx, const cr_stepped *s)) {
    if (!fn) return;
    cr_loader_stats stats;
    cr_loop_stats(l, &stats);
    cr_stepped s = {.epoch = l->in_epoch,
                    .batch = l->n_batches - 1,
                    .rows = l->last_rows,
                    .loss = cr_trainer_total(l->t),
                    .wait_s = stats.wait_s,
                    .metric = metric_of,
                    .of = l};
    fn(l->o->watch.ctx, &s);
}
