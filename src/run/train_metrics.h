/*
 * train_metrics.h - the metrics of training batches (model_config.train_metrics) in the loop: fed
 * after every step, shown in the log, kept in checkpoints.
 */
#ifndef CR_RUN_TRAIN_METRICS_H
#define CR_RUN_TRAIN_METRICS_H

#include "run/run_int.h"

typedef struct train_metrics train_metrics;
CR_CHECKED cr_code cr_train_metrics_new(train_metrics **out, job *j, const cr_lanes *lanes,
                                        cr_err *err);
void cr_train_metrics_free(train_metrics *m);
/* cr_train_metrics_step takes the predictions of the step that t just made on b. */
CR_CHECKED cr_code cr_train_metrics_step(train_metrics *m, const trainer *t, const cr_batch *b,
                                         cr_err *err);
/* names and values, as the log shows them; owned by m */
const cr_eval_result *cr_train_metrics_result(train_metrics *m);
/* " auc:0.61234" for each */
void cr_train_metrics_text(train_metrics *m, cr_buf *out);
/* cr_train_metrics_save: all state as text in a; NULL when there are none. cr_train_metrics_load
 * takes it back; a metric that is new, or whose settings changed, begins anew with a warning. */
char *cr_train_metrics_save(const train_metrics *m, cr_arena *a);
void cr_train_metrics_load(train_metrics *m, const char *text);

#endif
