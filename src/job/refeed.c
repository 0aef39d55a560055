/*
 * refeed.c - can the model be trained with train_config.refeed_steps? Outputs that are fed in again
 * need one place that gives them and places of the same width that take them. What such a step
 * shares with the batch's own step is kept small: the rows of tables stay where they are only for
 * one step, and accumulated gradients or weighed losses would mix the two.
 */
#include "job/job.h"

static void refuse(const cr_job *j, cr_diag *diag, const char *why) {
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(j->root->train_config, "refeed_steps"),
                "refeed_steps feeds outputs in again, %s, or remove refeed_steps", why);
}

void cr_job_check_refeed(const cr_job *j, cr_diag *diag) {
    const cr_train_conf *tc = j->root->train_config;
    const cr_model *m = j->model;
    if (tc->refeed_steps == 0) return;
    if (m->n_refeeds != 1)
        refuse(j, diag, "so one block masked_error must read them; add it to the backbone");
    else if (m->n_refed != 1 || m->refed_width != m->refeeds->width)
        refuse(j, diag,
               "so scatter blocks must be as wide as what masked_error reads; change columns");
    if (m->n_tables > 0)
        refuse(j, diag,
               "which models without embedding tables can do; use raw features and item_vectors");
    if (tc->gradient_accumulation_steps > 1)
        refuse(j, diag,
               "in steps of their own; remove gradient_accumulation_steps, which joins steps");
    if (tc->inner_loop) refuse(j, diag, "in steps of whole batches; remove inner_loop");
    if (j->root->model_config->use_pareto_loss_weight)
        refuse(j, diag, "where no losses are weighed; remove use_pareto_loss_weight");
}
