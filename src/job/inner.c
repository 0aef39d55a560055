/*
 * inner.c - the message InnerLoop (meta-learning by inner steps, docs/design/inner.md), and what
 * does not go with it.
 */
#include <string.h>

#include "base/file.h"
#include "conf/conf.h"
#include "job/job.h"

static const cr_field inner_fields[] = {
    CR_INT(cr_inner_conf, support_rows, 0, 0, CR_U32_MAX, CR_F_OURS,
           "training: rows of each task that the inner steps learn from; they come first"),
    CR_INT(cr_inner_conf, query_rows, 0, 0, CR_U32_MAX, CR_F_OURS,
           "training: rows of each task that the step itself learns from; they follow"),
    CR_INT(cr_inner_conf, steps, 1, 1, 1000000, CR_F_OURS,
           "passes over the support rows of a task; in an evaluation each has batches of "
           "eval_batch_size rows"),
    CR_ONEOF_DEF(cr_inner_conf, optimizer, &cr_dense_optim_family, CR_F_OURS,
                 "sgd_optimizer: {lr: 0.01, momentum: 0}",
                 "rule of the inner steps, for dense parameters and rows of tables; it begins anew "
                 "with each task"),
    CR_BOOL(cr_inner_conf, batch_statistics, false, CR_F_OURS,
            "evaluation: the query rows are computed as in training, so that batch norm takes the "
            "statistics of their batch; eval_batch_size has all query rows of a task then"),
    CR_END,
};
const cr_msg cr_inner_msg = {
    .name = "InnerLoop",
    .help = "Weights are fitted to each task by a few steps, as in MAML of first order",
    .fields = inner_fields,
    .size = sizeof(cr_inner_conf),
};

static void refuse(const void *conf, const char *key, const char *why, cr_diag *diag) {
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(conf, key),
                "%s does not go with inner_loop: %s; remove it", key, why);
}

/* A batch is whole tasks, in the order of the data. */
static void check_batches(const cr_job *j, const cr_inner_conf *c, cr_diag *diag) {
    const cr_data_conf *d = j->root->data_config;
    if (c->support_rows < 1 || c->query_rows < 1) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                    cr_conf_at(c, c->support_rows < 1 ? "support_rows" : "query_rows"),
                    "a task needs support_rows and query_rows, its rows in a batch; add for "
                    "example %s",
                    CR_SAY(c, c->support_rows < 1 ? "support_rows" : "query_rows", "32"));
        return;
    }
    if (d->batch_size % (c->support_rows + c->query_rows))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(d, "batch_size"),
                    "batch_size %lld is no multiple of %lld, the support_rows and query_rows of a "
                    "task; change one of them",
                    (long long)d->batch_size, (long long)(c->support_rows + c->query_rows));
    if (d->shuffle) refuse(d, "shuffle", "a task is consecutive rows", diag);
    if (d->max_bad_rows > 0) refuse(d, "max_bad_rows", "a task without a row is another one", diag);
    if (d->eval_fraction > 0) refuse(d, "eval_fraction", "it takes rows out of tasks", diag);
}

static void check_training(const cr_job *j, const cr_inner_conf *c, cr_diag *diag) {
    const cr_train_conf *tc = j->root->train_config;
    check_batches(j, c, diag);
    if (cr_grad_clip(tc->grad_clipping) != CR_CLIP_NONE)
        refuse(tc, "grad_clipping", "it knows the gradients of one pass", diag);
    if (tc->grad_scaler) refuse(tc, "grad_scaler", "it knows the gradients of one pass", diag);
    if (tc->gradient_accumulation_steps > 1)
        refuse(tc, "gradient_accumulation_steps", "a step takes all tasks of a batch together",
               diag);
    if (tc->delta_embedding_dump_config)
        refuse(tc, "delta_embedding_dump_config", "dumps follow the ids of one pass", diag);
    if (j->root->model_config->use_pareto_loss_weight)
        refuse(j->root->model_config, "use_pareto_loss_weight", "it weighs the losses of one pass",
               diag);
}

/* Inner steps write to the rows of tables and put them back. */
static void check_tables(const cr_job *j, const cr_inner_conf *c, cr_diag *diag) {
    for (int i = 0; i < j->model->n_tables; i++) {
        const cr_feature *f = j->model->tables[i]->owner;
        if (!f->zch && !cr_feature_grows(f)) continue;
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, f->at,
                    "the table of feature '%s' grows, and inner_loop needs tables of a fixed size; "
                    "use num_buckets or hash_bucket_size",
                    f->name);
    }
    if (j->meet)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "steps"),
                    "inner_loop runs in one process, which has all rows of a task; start one "
                    "process with more threads");
}

void cr_job_check_inner(const cr_job *j, cr_diag *diag) {
    const cr_inner_conf *train = j->root->train_config->inner_loop,
                        *eval = j->root->eval_config->inner_loop;
    if (train && j->mo.optim) check_training(j, train, diag);
    if (eval && (eval->support_rows || eval->query_rows))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                    cr_conf_at(eval, eval->support_rows ? "support_rows" : "query_rows"),
                    "in an evaluation the files of a task tell its rows: <task>/support and "
                    "<task>/query in the folder eval_input_path; remove support_rows and "
                    "query_rows");
    if (train || eval) check_tables(j, train ? train : eval, diag);
}

const char *cr_job_eval_files(const cr_job *j, const char *paths, cr_arena *a) {
    if (!j->root->eval_config->inner_loop || !paths || !*paths) return paths;
    return cr_path_join(a, paths, "*/query/*");
}
