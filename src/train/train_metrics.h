/*
 * train_metrics.h - the metrics of training batches (model_config.train_metrics) in the loop: fed
 * after every step, shown in the log, kept in checkpoints.
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
/* names and values, as the log shows them; owned by m */
const cr_eval_result *cr_train_metrics_result(cr_train_metrics *m);
/* " auc:0.61234" for each */
void cr_train_metrics_text(cr_train_metrics *m, cr_buf *out);
/* cr_train_metrics_save: all state as text in a; NULL when there are none. cr_train_metrics_load
 * takes it back; a metric that is new, or whose settings changed, begins anew with a warning. */
char *cr_train_metrics_save(const cr_train_metrics *m, cr_arena *a);
void cr_train_metrics_load(cr_train_metrics *m, const char *text);

#endif
