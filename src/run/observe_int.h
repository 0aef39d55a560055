/*
 * observe_int.h - the output of a training run besides its log lines: JSON lines, TensorBoard
 * events, the best result so far. None of it changes a result, and none of it can end a run.
 */
#ifndef CR_RUN_OBSERVE_INT_H
#define CR_RUN_OBSERVE_INT_H

#include "job/counts.h"
#include "obs/dll.h"
#include "run/run.h"
#include "train/early_stop.h"
#include "train/step.h"

typedef struct observer observer;
/* cr_observer_new opens model_dir/train_log.jsonl, o->log_json (NULL: none; "-": stdout), the log
 * of o->log_format and, unless use_tensorboard is off, an event file in model_dir. step is the last
 * step before this run, -1 for none. It fails only when a file that the user named cannot be
 * written. */
CR_CHECKED cr_code cr_observer_new(observer **out, cr_job *j, const cr_train_opts *o, int64_t step,
                                   cr_err *err);
void cr_observer_free(observer *o);

typedef struct observed {
    int64_t step, epoch, rows;     /* rows: those of this run so far */
    double seconds;                /* time spent on training, without evaluation and checkpoints */
    const cr_eval_result *metrics; /* of training; NULL: none */
    /* share of the whole training that is done, and seconds that the rest will take; NAN: not
     * known */
    double progress, left;
    /* seconds of this run so far, by stage */
    double step_s, update_s, group_s, wait_s, eval_s, save_s, log_s;
} observed;
/* The log of a rank above 0: model_dir/train_log.rank-N.jsonl, with its own speed, times and
 * memory. A rank whose machine does not have model_dir writes none. */
typedef struct rank_observer rank_observer;
rank_observer *cr_rank_observer_new(const cr_job *j, int64_t step);
void cr_rank_observer_step(rank_observer *o, const observed *s);
void cr_rank_observer_free(rank_observer *o);
/* cr_observer_step is called at steps that are logged. */
void cr_observer_step(observer *o, const cr_trainer *t, const observed *s);
void cr_observer_eval(observer *o, int64_t step, int64_t epoch, const cr_eval_result *r,
                      double seconds);
/* cr_observer_saved is called before a checkpoint, so that a run that continues from it has the
 * logs up to it. */
void cr_observer_saved(observer *o);
/* cr_observer_features is called at the end of an epoch, and at the end of a run inside an
 * epoch. */
void cr_observer_features(observer *o, const cr_counter *c);
/* cr_observer_end writes the last line; res is complete. */
void cr_observer_end(observer *o, cr_code code, int64_t step, int64_t epoch,
                     const cr_train_result *res);

/* ---- the unified log of --log_format (observe_dll.c); l may be NULL ---- */
CR_CHECKED cr_code cr_unified_new(cr_dll **out, const cr_job *j, const char *format, int64_t step,
                                  cr_err *err);
void cr_unified_step(cr_dll *l, const cr_job *j, const cr_trainer *t, const observed *s,
                     double ips);
void cr_unified_eval(cr_dll *l, const cr_job *j, int64_t step, int64_t epoch,
                     const cr_eval_result *r, double ips);
void cr_unified_end(cr_dll *l, const cr_train_result *r);

/* cr_eval_events writes the results of `crank eval` to dir. It warns when it cannot. */
void cr_eval_events(const char *dir, int64_t step, const cr_eval_result *r);
/* cr_best_result fills res->best from the evaluations in model_dir. */
void cr_best_result(const cr_job *j, cr_train_result *res);
/* cr_main_metric returns the metric of r that a progress line shows, the first AUC; NULL: there is
 * none. */
const cr_metric_result *cr_main_metric(const cr_eval_result *r);

#endif
