/*
 * train_int.h - the parts of a training step and of an evaluation.
 */
#ifndef CR_TRAIN_TRAIN_INT_H
#define CR_TRAIN_TRAIN_INT_H

#include "train/step.h"

/* ---- restore_ids.c: cr_restore_by_id lets tables of a fixed size take the rows of tables that
 * grew. It changes the tensors of those for which c has ids; dry: nothing will be moved. What they
 * need is kept by a, which is cleared behind the load. It fails when those ids cannot be read, or
 * when there is no memory for them. ---- */
CR_CHECKED cr_code cr_restore_by_id(cr_job *j, const cr_ckpt *c, cr_ckpt_tensor *v, int n, bool dry,
                                    cr_arena *a, cr_err *err);

/* ---- pareto.c: weights of the tasks' losses, chosen in each step ---- */
typedef struct pareto pareto;
/* *out is NULL when the config does not ask for it. */
CR_CHECKED cr_code cr_pareto_new(pareto **out, cr_job *j, cr_model_work *w, cr_err *err);
void cr_pareto_free(pareto *p);
/* cr_pareto_step runs the batch once per task and multiplies the scale of each by its weight. */
CR_CHECKED cr_code cr_pareto_step(pareto *p, const cr_batch *b, const cr_run *run,
                                  float *const *scale, cr_err *err);
/* Returns loss k of the last step before it was weighed, and its weight. */
double cr_pareto_loss(const pareto *p, int k, double *weight);
/* Computes the weights of n tasks from the products of their gradients, gram (n, n). */
void cr_pareto_solve(const double *gram, const double *least, int n, double *out);

/* ---- inner.c: steps of meta-learning (docs/design/inner.md) ---- */
typedef struct inner inner;
CR_CHECKED cr_code cr_inner_new(inner **out, cr_job *j, cr_err *err);
void cr_inner_free(inner *n);
struct cr_fast *cr_inner_fast(const inner *n);
/* cr_inner_step fits the weights to each task of a batch and adds up the gradients of its query
 * rows, divided by the number of tasks; the weights are then as before. `seen` is called behind the
 * pass over the query rows of each task. */
typedef struct inner_seen {
    cr_code (*fn)(void *ctx, const cr_batch *query, cr_err *err);
    void *ctx;
} inner_seen;
CR_CHECKED cr_code cr_inner_step(inner *n, const cr_batch *b, int64_t step, inner_seen seen,
                                 cr_err *err);
/* Returns loss k of the last step: the mean over its tasks. */
double cr_inner_loss(const inner *n, int k);

/* ---- dense.c: dense parameters and their optimizer state ---- */
typedef struct dense_side dense_side;
CR_CHECKED cr_code cr_dense_new(dense_side **out, cr_job *j, const cr_work *w, cr_err *err);
void cr_dense_free(dense_side *d);
/* cr_dense_gather sets (first) the waiting gradients to this batch's, or adds these to them, and
 * adds |g|^p of unscale times the waiting gradients to *sum (as cr_updater_measure does). Returns
 * false when a gradient of this batch is not finite. It is only called when gradients are kept. */
bool cr_dense_gather(dense_side *d, cr_pool *pool, bool first, float unscale, double p,
                     double *sum);
/* cr_dense_apply makes one step of all parameters, from the waiting gradients or from those of the
 * batch. The averages follow; first: they start as a copy. Like cr_dense_gather and
 * cr_dense_swap_ema it is collective. */
void cr_dense_apply(dense_side *d, cr_pool *pool, cr_adjust a, bool first);
/* cr_dense_take makes one step of this holder's slice from gradients that came from elsewhere;
 * nobody else hears of it before cr_dense_share (collective), which gives all slices to all. */
void cr_dense_take(dense_side *d, cr_pool *pool, const float *grads);
/* cr_dense_apply_given does what cr_dense_apply does, from gradients at their places of the block,
 * in a process that has all of it. */
void cr_dense_apply_given(dense_side *d, cr_pool *pool, const float *grads, bool first);
void cr_dense_share(dense_side *d);
/* cr_dense_grads writes the gradients of a batch that this process has alone, at their places of
 * the parameter block. */
void cr_dense_grads(const dense_side *d, const cr_work *w, float *out);
void cr_dense_begin_ema(dense_side *d);
void cr_dense_swap_ema(dense_side *d);
/* cr_dense_slices: holder h has the state of floats [slice[h], slice[h + 1]) of the parameter
 * block; NULL: there are no other holders. */
const int64_t *cr_dense_slices(const dense_side *d);
/* Returns how many planes of state a parameter has; then plane k: data is where its elements that
 * are in this holder's slice begin (NULL: there are none). */
int cr_dense_count(const dense_side *d, const cr_node *p);
const char *cr_dense_plane(const dense_side *d, const cr_node *p, int k, float **data);

/* ---- ps.c: steps of workers that do not wait for each other (docs/design/servers.md) ----
 * A round is what lies between two places where all processes make the same calls. */
typedef struct cr_ps cr_ps;
CR_CHECKED cr_code cr_ps_new(cr_ps **out, cr_job *j, dense_side *d, cr_err *err);
void cr_ps_free(cr_ps *p);
/* cr_ps_sinks lets the tables' gradients go to the servers; an updater is made next. */
void cr_ps_sinks(cr_ps *p);
/* cr_ps_begin begins a round; base are the counters of the trainer. */
void cr_ps_begin(cr_ps *p, int64_t first_step, cr_trainer_state base);
/* cr_ps_serve: a server answers until all workers have ended their round. */
CR_CHECKED cr_code cr_ps_serve(cr_ps *p, cr_err *err);
/* The step of a worker: cr_ps_refresh takes over dense parameters that have come, before the pass;
 * cr_ps_push passes the gradients on, behind it. cr_ps_stops: is this step the last one of the
 * round, because of a signal? A pass whose step lies behind it fails with CR_ESTOP. */
CR_CHECKED cr_code cr_ps_refresh(cr_ps *p, int64_t step, cr_err *err);
CR_CHECKED cr_code cr_ps_push(cr_ps *p, cr_updater *up, const cr_work *w, cr_err *err);
bool cr_ps_stops(const cr_ps *p, int64_t step);
/* cr_ps_dry: see cr_trainer_round_dry. */
CR_CHECKED cr_code cr_ps_dry(cr_ps *p, int64_t step, cr_err *err);
/* cr_ps_looks_ahead: are rows of the coming batch asked for during a step? */
bool cr_ps_looks_ahead(const cr_ps *p);
/* cr_ps_meet: a worker has made its steps, the last of which is `step`; see
 * cr_trainer_round_meet. */
CR_CHECKED cr_code cr_ps_meet(cr_ps *p, int64_t step, cr_takes *more, cr_err *err);
/* cr_ps_end (collective) ends a round after `steps` steps: everything is where a checkpoint or an
 * evaluation needs it, and *out are the counters. */
void cr_ps_end(cr_ps *p, int64_t steps, cr_trainer_state *out);
int64_t cr_ps_sent_by_all(const cr_ps *p); /* bytes, in the round that has ended */

/* ---- labels.c: warns when a label has the same value in all rows ---- */
typedef struct label_watch {
    const cr_job *j;
    float *first; /* per loss: its label in the first row */
    bool *varies; /* per loss: another value was seen, or it has no label */
    int n_same;   /* losses whose label has not varied yet; 0: there is nothing left to watch */
    int64_t n_batches, n_rows;
} label_watch;
void cr_label_watch_init(label_watch *w, const cr_job *j, cr_arena *a);
/* cr_label_watch_step looks at the labels of a batch, and warns after the first batches.
 * cr_label_watch_end is called at the end of an epoch and warns if that comes before. */
void cr_label_watch_step(label_watch *w, const cr_batch *b);
void cr_label_watch_end(label_watch *w);

/* ---- all_rows.c: metrics get all rows of the global batch ---- */
typedef struct cr_metric_rows {
    cr_metric_in in;
    const float *mask; /* only rows where it is above 0 count; NULL: all rows count */
} cr_metric_rows;
typedef struct cr_all_rows cr_all_rows;
/* lanes is borrowed; K is the most values that a prediction has. */
CR_CHECKED cr_code cr_all_rows_new(cr_all_rows **out, const cr_lanes *lanes, int64_t max_rows,
                                   int64_t K, cr_err *err);
void cr_all_rows_free(cr_all_rows *a);
/* cr_all_rows_take (collective): *m becomes the n_all rows of the global batch, until the next
 * call. It changes nothing when this process has all rows. */
void cr_all_rows_take(cr_all_rows *a, int64_t n_all, cr_metric_rows *m);

#endif
