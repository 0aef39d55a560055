/*
 * ctr.c - what a training of tables with a CTR accessor cannot have. The gradient of such a row
 * carries its shows and clicks, so nothing may scale or clip it on its way to the table.
 */
#include "job/job.h"

void cr_job_check_ctr(const cr_job *j, cr_diag *diag) {
    const cr_train_conf *tc = j->root->train_config;
    const cr_feature *f = NULL;
    for (int i = 0; !f && i < j->model->n_tables; i++)
        if (cr_feature_ctr(j->model->tables[i]->owner)) f = j->model->tables[i]->owner;
    if (!f) return;
    if (tc->grad_scaler)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(tc, "grad_scaler"),
                    "grad_scaler scales the shows of feature '%s', which has a ctr_accessor; use "
                    "mixed_precision BF16, which needs no scaler",
                    f->name);
    if (tc->grad_clipping && tc->grad_clipping->enable_global_grad_clip)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                    cr_conf_at(tc->grad_clipping, "enable_global_grad_clip"),
                    "enable_global_grad_clip would clip the shows of feature '%s', which has a "
                    "ctr_accessor; set it to false, and weights stay within weight_bounds",
                    f->name);
    if (j->strategy != CR_SYNC)
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_ECONF, f->at,
            "feature '%s' has a ctr_accessor, which the strategy %s does not have; use sync",
            f->name, cr_strategy_names[j->strategy]);
    if (tc->delta_embedding_dump_config)
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(tc, "delta_embedding_dump_config"),
            "delta_embedding_dump_config does not dump the rows of feature '%s', which has a "
            "ctr_accessor; its deltas are those of train_config.daily",
            f->name);
}
