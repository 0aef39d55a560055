/*
 * best.c - chooses the checkpoint that a job reads: the one that the user named, the newest, or the
 * one with the best evaluation; and decides which metric says what is best.
 */
#include <string.h>

#include "base/buf.h"
#include "job/job.h"

const char *cr_job_best_metric(const cr_job *j) {
    const cr_export_conf *ec = j->root->export_config;
    const cr_model *m = j->model;
    if (cr_conf_has(ec, "best_exporter_metric")) return ec->best_exporter_metric;
    for (int k = 0; k < m->n_metrics; k++)
        if (strncmp(m->metrics[k].name, "auc", 3) == 0) return m->metrics[k].name;
    return NULL;
}

/* An export is built without losses, so only the name of the result can tell:
 * "binary_cross_entropy_ctr". */
static bool is_loss(const cr_job *j, const char *result) {
    for (int i = 0; i < j->model->n_losses; i++)
        if (strcmp(j->model->losses[i].name, result) == 0) return true;
    for (const cr_oneof_member *m = cr_loss_family.members; m->key; m++) {
        size_t n = strlen(m->key);
        if (strncmp(result, m->key, n) == 0 && (!result[n] || result[n] == '_')) return true;
    }
    return false;
}

bool cr_job_larger(const cr_job *j, const char *metric) {
    const cr_export_conf *ec = j->root->export_config;
    if (cr_conf_has(ec, "metric_larger_is_better")) return ec->metric_larger_is_better;
    if (!metric) {
        const cr_msgs *all = &j->root->model_config->metrics;
        if (all->n == 0) return false; /* the result is a loss */
        metric = ((const cr_metric_conf *)all->v[0])->metric.m->key;
    }
    return !is_loss(j, metric) && !cr_metric_is_error(metric);
}

/* Warns when a loss counts as better when it is larger, which is most likely a mistake. */
static void check_direction(const cr_job *j, const char *metric, cr_diag *diag) {
    const cr_export_conf *ec = j->root->export_config;
    if (!metric || !cr_conf_has(ec, "metric_larger_is_better") || !ec->metric_larger_is_better)
        return;
    if (is_loss(j, metric) || cr_metric_is_error(metric))
        cr_diag_add(diag, CR_SEV_WARN, CR_OK, cr_conf_at(ec, "metric_larger_is_better"),
                    "the smallest '%s' is the best one, but metric_larger_is_better is true; "
                    "remove it, or set it to false",
                    metric);
}

void cr_job_check_best(const cr_job *j, cr_diag *diag) {
    const cr_export_conf *ec = j->root->export_config;
    const cr_model *m = j->model;
    const char *want = cr_job_best_metric(j);
    check_direction(j, want, diag);
    bool keeps = j->root->train_config->keep_best_checkpoints && want;
    bool exports = strcmp(ec->exporter_type, "best") == 0;
    if ((!exports && !keeps) || m->n_losses + m->n_metrics == 1) return;
    bool known = false;
    cr_buf names;
    cr_buf_init(&names);
    for (int i = 0; i < m->n_losses + m->n_metrics; i++) {
        if (i >= m->n_metrics && m->losses[i - m->n_metrics].train_only) continue;
        const char *name = i < m->n_metrics ? m->metrics[i].name : m->losses[i - m->n_metrics].name;
        known = known || (want && strcmp(want, name) == 0);
        cr_buf_printf(&names, "%s%s", names.n ? ", " : "", name);
    }
    if (!want)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(ec, "exporter_type"),
                    "exporter_type is best, but no metric is named; set best_exporter_metric to "
                    "one of: %s",
                    names.data);
    else if (!known)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(ec, "best_exporter_metric"),
                    "no metric or loss is called '%s'; set best_exporter_metric to one of: %s",
                    want, names.data);
    cr_buf_clear(&names);
}

cr_code cr_job_checkpoint(cr_job *j, const char *wanted, bool best, char **path, int64_t *step,
                          cr_err *err) {
    cr_arena *a = &j->cfg.arena;
    const cr_export_conf *ec = j->root->export_config;
    const char *dir = j->root->model_dir;
    cr_ckpt_need need = cr_job_needs(j);
    *step = -1;
    if (wanted && *wanted) return cr_ckpt_resolve(a, wanted, need, j->pool, path, err);
    if (!*dir)
        return cr_fail(err, CR_ECONF,
                       "model_dir is not set; give it in the config, with --model_dir, or name a "
                       "--checkpoint_path");
    if (best && strcmp(ec->exporter_type, "best") == 0) {
        const char *metric = cr_job_best_metric(j);
        if (!metric) metric = cr_ckpt_metric_like(a, dir, "auc"); /* an export has no metrics */
        CR_TRY(
            cr_ckpt_best(a, dir, metric, cr_job_larger(j, metric), need, j->pool, path, step, err));
    } else {
        CR_TRY(cr_ckpt_latest(a, dir, need, j->pool, path, step, err));
    }
    if (!*path)
        return cr_fail(
            err, CR_EIO,
            "there is no checkpoint (model.ckpt-N) in %s; train first or name a --checkpoint_path",
            dir);
    j->verified = *path;
    return CR_OK;
}
