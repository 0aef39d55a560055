/*
 * fast.h - fast weights: the weights of a model fitted to one task by a few steps, and put back
 * afterwards (docs/design/inner.md). Training uses them for its inner steps, an evaluation to fit
 * the weights to a task before it is tested.
 *
 * The steps write to the parameters and tables of the model itself, so every plan of the model sees
 * them; what they overwrite is kept. The rule begins anew with each task. A row of a table has a
 * state of the rule, like a dense parameter, from the first batch on that has its id, and moves
 * with every step from then on, as a dense table in torch or Paddle does.
 */
#ifndef CR_TRAIN_FAST_H
#define CR_TRAIN_FAST_H

#include "job/job.h"

typedef struct cr_fast cr_fast;
/* cr_fast_new makes plan and buffers for batches of up to max_rows rows. sums: gradients are added
 * up, for cr_fast_add. */
CR_CHECKED cr_code cr_fast_new(cr_fast **out, cr_job *j, const cr_inner_conf *c, int64_t max_rows,
                               bool sums, cr_err *err);
void cr_fast_free(cr_fast *f);
cr_model_work *cr_fast_work(const cr_fast *f);
const cr_plan *cr_fast_plan(const cr_fast *f);
cr_updater *cr_fast_updater(const cr_fast *f);

/* cr_fast_begin keeps the weights of now; cr_fast_end puts them back, and with `all` also running
 * statistics, which passes change. */
void cr_fast_begin(cr_fast *f);
void cr_fast_end(cr_fast *f, bool all);
/* cr_fast_pass runs a batch forward and backward, from slope times the loss. cr_fast_step moves the
 * weights by the gradients of the last pass. cr_fast_loss returns loss k of the last pass. */
CR_CHECKED cr_code cr_fast_pass(cr_fast *f, const cr_batch *b, int64_t step, double slope,
                                cr_err *err);
void cr_fast_step(cr_fast *f);
double cr_fast_loss(const cr_fast *f, int k);

/* cr_fast_add adds the gradients of the last pass to the sums; first: the sums begin with them.
 * cr_fast_apply_rows gives the sums of the tables' rows to the rules of the tables;
 * cr_fast_dense_sums are those of the dense parameters, at their places of the parameter block. */
void cr_fast_add(cr_fast *f, bool first);
void cr_fast_apply_rows(cr_fast *f, const cr_optim_step *steps);
const float *cr_fast_dense_sums(const cr_fast *f);

#endif
