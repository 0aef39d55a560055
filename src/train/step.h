/*
 * step.h - a training step (step.c), and the values that training starts from (restore.c).
 */
#ifndef CR_TRAIN_STEP_H
#define CR_TRAIN_STEP_H

#include "job/job.h"

typedef struct cr_trainer cr_trainer;
CR_CHECKED cr_code cr_trainer_new(cr_trainer **out, cr_job *j, cr_err *err);
void cr_trainer_free(cr_trainer *t);
/* cr_trainer_step runs forward, backward and the update. It fails when the loss is not finite (the
 * weights are then as before the step). It allocates nothing once the largest batch was seen, but
 * for tables that grow and the ids of a dump. */
CR_CHECKED cr_code cr_trainer_step(cr_trainer *t, const cr_batch *b, int64_t step, cr_err *err);
/* cr_trainer_refeed makes the steps of train_config.refeed_steps with the outputs of that step, of
 * which losses and values (cr_trainer_val) must have been read; without the key it does nothing. */
CR_CHECKED cr_code cr_trainer_refeed(cr_trainer *t, const cr_batch *b, int64_t step, cr_err *err);
/* cr_trainer_ahead is called before a step, with the batch of the step after it, so that the ids of
 * tables on other ranks travel meanwhile. All ranks call it or none does. next NULL: this rank does
 * not have that batch, so nothing travels. It must stay valid until the step after. Without such
 * tables it does nothing, and cr_trainer_looks_ahead is false. */
bool cr_trainer_looks_ahead(const cr_trainer *t);
void cr_trainer_ahead(cr_trainer *t, const cr_batch *next);
/* Rows that a worker has to train in the place of lost ones: of the share of `holder`, the steps
 * [from, to]. Each of `parts` workers takes every parts-th step, beginning with number `part`. */
typedef struct cr_take {
    int64_t holder, from, to;
} cr_take;
typedef struct cr_takes {
    cr_take *v;
    int n, part, parts;
} cr_takes;

/* Strategies of parameter servers without a barrier in each step (docs/design/servers.md) train in
 * rounds. All processes begin and end a round together (these two are collective). In it a worker
 * makes steps by itself, and a server serves until all workers have ended theirs. A round is over
 * behind a step when cr_trainer_round_stops says so (a signal), or when cr_trainer_step returns
 * CR_ESTOP, which has not made its step. All workers make the same number of steps; step is the
 * last one, and `steps` how many they were. A worker then calls cr_trainer_round_meet, which may
 * ask it to train more rows and to call it again (more->n > 0); behind it, ranks that were lost in
 * the round are left out of all calls. A worker whose wait for rows was ended by a signal, behind
 * step `step`, calls cr_trainer_round_dry; then cr_trainer_round_stops says whether the round ends
 * there. If not, another worker has made a later step, whose rows are there by now. */
bool cr_trainer_has_rounds(const cr_trainer *t);
void cr_trainer_round_begin(cr_trainer *t, int64_t first_step);
CR_CHECKED cr_code cr_trainer_serve(cr_trainer *t, cr_err *err);
bool cr_trainer_round_stops(const cr_trainer *t, int64_t step);
CR_CHECKED cr_code cr_trainer_round_dry(cr_trainer *t, int64_t step, cr_err *err);
CR_CHECKED cr_code cr_trainer_round_meet(cr_trainer *t, int64_t step, cr_takes *more, cr_err *err);
void cr_trainer_round_end(cr_trainer *t, int64_t steps);
int64_t cr_trainer_round_sent(const cr_trainer *t); /* bytes that all ranks have sent in it */
/* cr_trainer_dump (collective) writes the rows that changed since the last dump (delta.h), where
 * the config asks for it. */
CR_CHECKED cr_code cr_trainer_dump(cr_trainer *t, int64_t step, cr_err *err);
/* cr_trainer_watch_tasks: with inner_loop a step has several passes, one over the query rows of
 * each task; fn is called behind each, when cr_trainer_val has its rows. false: the steps are plain
 * ones. */
bool cr_trainer_watch_tasks(cr_trainer *t,
                            cr_code (*fn)(void *ctx, const cr_batch *query, cr_err *err),
                            void *ctx);
double cr_trainer_loss(const cr_trainer *t, int k); /* loss k of the last cr_trainer_step */
double cr_trainer_total(const cr_trainer *t);       /* all losses together, with their weights */
cr_updater *cr_trainer_updater(const cr_trainer *t);
/* Returns the rows of an output node in the last step, before the update; they are cr_ld apart. */
const float *cr_trainer_val(const cr_trainer *t, const cr_node *n);
const cr_lanes *cr_trainer_lanes(const cr_trainer *t);
void cr_trainer_epoch_end(cr_trainer *t);
/* The counters that a checkpoint keeps. */
typedef struct cr_trainer_state {
    int64_t updates, sched_steps, sched_epochs; /* updates: of tables */
    int64_t dense_updates;
    int64_t averages;    /* dense updates that are part of the averages */
    int64_t accumulated; /* batches whose gradients wait for the next dense step */
    double loss_scale;   /* 0: none yet */
    int64_t quiet;       /* dense steps since the scale changed */
    bool overflow;       /* a waiting batch has gradients that are not finite */
} cr_trainer_state;
cr_trainer_state cr_trainer_get_state(const cr_trainer *t);
void cr_trainer_set_state(cr_trainer *t, cr_trainer_state s);
/* Returns these counters as a checkpoint has them. */
cr_trainer_state cr_trainer_saved(const cr_ckpt_state *s);
void cr_trainer_save(const cr_trainer *t, cr_ckpt_state *s);
/* cr_trainer_begin is called once, when the weights have their first values or were restored:
 * averages start with them unless they were restored too. anew: no optimizer state was restored. */
void cr_trainer_begin(cr_trainer *t, bool anew);
/* cr_trainer_swap_ema exchanges the dense parameters with their averages (if training has them and
 * eval_config asks for them) for an evaluation; a second call puts them back. */
void cr_trainer_swap_ema(cr_trainer *t);
/* Returns the learning rates of the last step: 0 of tables, 1 of dense parameters, then one per
 * part that has members, dense ones first. */
int cr_trainer_lrs(const cr_trainer *t, const double **lr);
/* cr_trainer_grad writes the gradient of a dense parameter in the last batch, before clipping
 * (p->width floats); false: it has none, or other holders have it. Every holder has all gradients
 * when tensorboard_summaries asks for them. */
bool cr_trainer_grad(const cr_trainer *t, const cr_node *p, float *out);
/* The dense optimizer state of a trainable parameter: how many planes there are, then plane k and
 * its name. Where holders share a batch, each has the state of its slice of the parameter block:
 * see cr_dense_slices and cr_dense_plane (train_int.h). */
int cr_trainer_planes(const cr_trainer *t, const cr_node *p);
const char *cr_trainer_plane(const cr_trainer *t, const cr_node *p, int k, float **data);
const int64_t *cr_trainer_slices(const cr_trainer *t);
typedef struct cr_trainer_times {
    double group, step, update;
} cr_trainer_times;
cr_trainer_times cr_trainer_get_times(const cr_trainer *t);

/* ---- restore.c: the values that training starts from ---- */
/* cr_job_resume restores weights, optimizer state and counters. The values that the loop keeps go
 * to state; of the metrics only their number. */
CR_CHECKED cr_code cr_job_resume(cr_job *j, cr_trainer *t, const char *path, bool ignore_optimizer,
                                 cr_ckpt_state *state, cr_diag *diag);
/* cr_job_begin sets first values from the seed, then pretrained tables, then the
 * fine_tune_checkpoint. */
CR_CHECKED cr_code cr_job_begin(cr_job *j, cr_trainer *t, bool ignore_optimizer, cr_diag *diag);
/* cr_job_check_begin reports what cr_job_begin would refuse; it needs no memory for parameters. */
void cr_job_check_begin(cr_job *j, cr_diag *diag);
/* cr_trainer_tensors lists all weights, and the optimizer state of t. */
cr_ckpt_tensor *cr_trainer_tensors(cr_job *j, const cr_trainer *t, cr_arena *a, int *n);

#endif
