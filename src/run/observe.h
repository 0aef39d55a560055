/*
 * observe.h - everything a training run tells besides its log lines: JSON lines, TensorBoard
 * events, the best result so far. None of it changes a result, none of it can end a run.
 */
#ifndef CR_RUN_OBSERVE_H
#define CR_RUN_OBSERVE_H

#include "run/counts.h"
#include "run/run_int.h"

typedef struct observer observer;
/* cr_observer_new opens model_dir/train_log.jsonl, log_json (NULL: none; "-": stdout) and, unless
 * use_tensorboard is off, an event file in model_dir. step: the last one done before this run, -1
 * for none. Fails only when log_json cannot be written. */
CR_CHECKED cr_code cr_observer_new(observer **out, job *j, const char *log_json, int64_t step,
                                   cr_err *err);
void cr_observer_free(observer *o);

typedef struct observed {
    int64_t step, epoch, rows;     /* rows of this run so far */
    double seconds;                /* spent on training, without evaluation and checkpoints */
    const cr_eval_result *metrics; /* of training; NULL: none */
} observed;
/* cr_observer_step: at steps that are logged. */
void cr_observer_step(observer *o, const trainer *t, const observed *s);
void cr_observer_eval(observer *o, int64_t step, int64_t epoch, const cr_eval_result *r,
                      double seconds);
/* cr_observer_saved: before a checkpoint, so that a run that goes on from it has the logs up to it. */
void cr_observer_saved(observer *o);
/* cr_observer_features: at the end of an epoch, and of a run inside of one. */
void cr_observer_features(observer *o, const counter *c);
/* cr_observer_end: the last line; res is complete. */
void cr_observer_end(observer *o, cr_code code, int64_t step, int64_t epoch,
                     const cr_train_result *res);

/* cr_eval_events writes the results of `crank eval` to dir. Warns when it cannot. */
void cr_eval_events(const char *dir, int64_t step, const cr_eval_result *r);
/* cr_best_result fills res->best from the evaluations in model_dir. */
void cr_best_result(const job *j, cr_train_result *res);
/* cr_main_metric: the one of r that a progress line shows, the first AUC; NULL: none */
const cr_metric_result *cr_main_metric(const cr_eval_result *r);

/* ---- early_stop.c: training ends when evaluations no longer get better ---- */
typedef struct early_stop {
    int64_t patience;   /* evaluations; 0: never */
    const char *metric; /* NULL: nothing to compare by */
    bool larger;        /* is better */
    int64_t best_step;  /* -1: none yet */
    double best;
    int64_t stale; /* evaluations since then */
    int64_t last;  /* step of the last one that counts */
} early_stop;
/* cr_early_stop_check finds what is wrong with early_stopping_patience before training. */
void cr_early_stop_check(const job *j, cr_diag *diag);
/* cr_early_stop_init: as the evaluations recorded in model_dir up to `step` say; -1: none was. */
void cr_early_stop_init(early_stop *s, const job *j, int64_t step, cr_arena *a);
void cr_early_stop_note(early_stop *s, int64_t step, const cr_eval_result *r);
bool cr_early_stop_due(const early_stop *s);
/* "auc has not been better than 0.7 (step 20) in 3 evaluations" */
const char *cr_early_stop_text(const early_stop *s, cr_arena *a);

#endif
