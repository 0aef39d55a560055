/*
 * early_stop.c - ends training when evaluations no longer get better.
 *
 * The state is a function of the recorded evaluations alone: the best value, and how many
 * evaluations came after it. A run that continues from a checkpoint reads them from the result file
 * of model_dir, up to the step of the checkpoint, so it stops at the same step as a run that was
 * never interrupted, and a run that has stopped stays stopped.
 */
#include <math.h>
#include <string.h>

#include "train/early_stop.h"

static void note(cr_early_stop *s, int64_t step, double value) {
    if (step <= s->last) return; /* it was counted before */
    s->last = step;
    bool better =
        s->best_step < 0 ? !isnan(value) : (s->larger ? value > s->best : value < s->best);
    if (better) {
        s->best = value;
        s->best_step = step;
        s->stale = 0;
    } else {
        s->stale++;
    }
}

void cr_early_stop_check(const cr_job *j, cr_diag *diag) {
    const cr_eval_conf *ec = j->root->eval_config;
    if (ec->early_stopping_patience == 0) return;
    cr_loc at = cr_conf_at(ec, "early_stopping_patience");
    if (!cr_job_eval_paths(j)) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                    "early_stopping_patience needs evaluations; give eval_input_path, or "
                    "data_config.eval_fraction");
        return;
    }
    const char *want = cr_job_best_metric(j);
    const cr_model *m = j->model;
    cr_buf names;
    cr_buf_init(&names);
    bool known = false;
    for (int i = 0; i < m->n_losses + m->n_metrics; i++) {
        if (i >= m->n_metrics && m->losses[i - m->n_metrics].train_only) continue;
        const char *name = i < m->n_metrics ? m->metrics[i].name : m->losses[i - m->n_metrics].name;
        known = known || (want && strcmp(want, name) == 0);
        cr_buf_printf(&names, "%s%s", names.n ? ", " : "", name);
    }
    if (!known)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at,
                    "early_stopping_patience compares evaluations by %s%s%s; set "
                    "export_config.best_exporter_metric to one of: %s",
                    want ? "'" : "export_config.best_exporter_metric",
                    want ? want : ", which is not set",
                    want ? "', which is no metric or loss of this model" : "", names.data);
    cr_buf_clear(&names);
}

void cr_early_stop_init(cr_early_stop *s, const cr_job *j, int64_t step, cr_arena *a) {
    const char *metric = cr_job_best_metric(j);
    *s = (cr_early_stop){.patience = j->root->eval_config->early_stopping_patience,
                         .metric = metric,
                         .larger = metric && cr_job_larger(j, metric),
                         .best_step = -1,
                         .last = -1};
    if (s->patience == 0 || !s->metric || step < 0) return;
    cr_ckpt_eval *v;
    int n = cr_ckpt_evals(a, j->root->model_dir, s->metric, &v);
    for (int i = 0; i < n && v[i].step <= step; i++)
        note(s, v[i].step, v[i].value);
}

void cr_early_stop_note(cr_early_stop *s, int64_t step, const cr_eval_result *r) {
    for (int i = 0; s->patience > 0 && i < r->n; i++)
        if (strcmp(r->v[i].name, s->metric) == 0) note(s, step, r->v[i].value);
}

bool cr_early_stop_due(const cr_early_stop *s) {
    return s->patience > 0 && s->stale >= s->patience;
}

const char *cr_early_stop_text(const cr_early_stop *s, cr_arena *a) {
    return cr_arena_printf(a, "%s has not been better than %.6f (step %lld) in %lld evaluation%s",
                           s->metric, s->best, (long long)s->best_step, (long long)s->stale,
                           s->stale == 1 ? "" : "s");
}
