/*
 * train_metrics.h - the metrics of training batches (model_config.train_metrics): the loop updates
 * them after every step, shows them in the log and keeps them in checkpoints.
 */
#ifndef CR_TRAIN_TRAIN_METRICS_H
#define CR_TRAIN_TRAIN_METRICS_H

#include "train/evaluate.h"
#include "train/step.h"

typedef struct cr_train_metrics cr_train_metrics;
CR_CHECKED cr_code cr_train_metrics_new(cr_train_metrics **out, cr_job *j, const cr_lanes *lanes,
                                        cr_err *err);
void cr_train_metrics_free(cr_train_metrics *m);
/* cr_train_metrics_step takes the predictions of the step that t just made on b. */
CR_CHECKED cr_code cr_train_metrics_step(cr_train_metrics *m, const cr_trainer *t,
                                         const cr_batch *b, cr_err *err);
/* cr_train_metrics_epoch: an epoch has ended, and metrics of epochs begin anew. */
void cr_train_metrics_epoch(cr_train_metrics *m);
/* Returns names and values as the log shows them; m owns them. */
const cr_eval_result *cr_train_metrics_result(cr_train_metrics *m);
/* Writes " auc:0.61234" for each metric. */
void cr_train_metrics_text(cr_train_metrics *m, cr_buf *out);
/* cr_train_metrics_save writes all state as text into a; NULL when there are no metrics.
 * cr_train_metrics_load restores it; a metric that is new, or whose settings changed, starts anew
 * with a warning. */
char *cr_train_metrics_save(const cr_train_metrics *m, cr_arena *a);
void cr_train_metrics_load(cr_train_metrics *m, const char *text);

#endif
