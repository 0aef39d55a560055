/*
 * evaluate.h - computes the metrics of the weights in memory.
 */
#ifndef CR_TRAIN_EVALUATE_H
#define CR_TRAIN_EVALUATE_H

#include "job/job.h"
#include "job/watch.h"

typedef struct cr_metric_result {
    const char *name;
    double value;
    int64_t n_pos, n_neg; /* for an AUC: rows of each label; else 0 */
} cr_metric_result;
#define CR_MAX_RESULTS 128
typedef struct cr_eval_result {
    int64_t rows;
    int n;
    cr_metric_result v[CR_MAX_RESULTS]; /* sorted by name; names live as long as the arena given */
} cr_eval_result;

typedef struct cr_evaluator cr_evaluator;
CR_CHECKED cr_code cr_evaluator_new(cr_evaluator **out, cr_job *j, cr_err *err);
void cr_evaluator_free(cr_evaluator *e);
typedef struct cr_eval_run {
    const char *paths;
    int64_t max_steps; /* 0: all */
    int64_t log_every; /* batches; 0: never */
    const char *title; /* begins log lines: "Evaluating Epoch-0 model-1000" */
    const cr_watch *watch;
    struct cr_counter *counter; /* gets the counts of the data; NULL: they are not wanted */
    /* it is the only evaluation of this run, so standard input is allowed */
    bool once;
    /* All ranks call it after each batch, for other work that goes on meanwhile; NULL: none. A
     * failure, which it has reported and all ranks have, ends the evaluation. */
    cr_code (*between)(void *ctx);
    void *ctx;
} cr_eval_run;
/* cr_evaluator_probe reads a batch of the eval data before the first step, so that a wrong path or
 * column, an empty file or a label that a metric cannot take is found before the first
 * evaluation. */
CR_CHECKED cr_code cr_evaluator_probe(cr_evaluator *e, const char *paths, cr_diag *diag);
/* cr_evaluator_alike (collective): does every rank read the same files? */
CR_CHECKED cr_code cr_evaluator_alike(const cr_evaluator *e, const char *paths, cr_diag *diag);
/* Returns the digest of the data when it was first read. */
cr_data_digest cr_evaluator_data(const cr_evaluator *e);
/* cr_evaluator_run (collective) fails when the data differs from that of the run before. Each
 * holder reads its rows; in the end all holders have the metrics of all rows. */
CR_CHECKED cr_code cr_evaluator_run(cr_evaluator *e, const cr_eval_run *r, cr_eval_result *res,
                                    cr_arena *names, cr_diag *diag);
/* Writes {"global_step": N, "auc": 0.7, ...} as one line; step < 0: null. */
void cr_eval_line(cr_buf *out, int64_t step, const cr_eval_result *r);
/* Writes "auc:0.712345 binary_cross_entropy:0.234567". */
void cr_eval_text(cr_buf *out, const cr_eval_result *r);

#endif
