/*
 * early_stop.h - ends training when evaluations no longer get better.
 */
#ifndef CR_TRAIN_EARLY_STOP_H
#define CR_TRAIN_EARLY_STOP_H

#include "train/evaluate.h"

typedef struct cr_early_stop {
    int64_t patience;   /* in evaluations; 0: training does not end early */
    const char *metric; /* NULL: there is nothing to compare */
    bool larger;        /* larger values are better */
    int64_t best_step;  /* -1: none yet */
    double best;
    int64_t stale; /* evaluations since the best one */
    int64_t last;  /* step of the last evaluation that was counted */
} cr_early_stop;
/* cr_early_stop_check reports what is wrong with early_stopping_patience before training. */
void cr_early_stop_check(const cr_job *j, cr_diag *diag);
/* cr_early_stop_init takes the evaluations that are recorded in model_dir up to `step`; -1:
 * none. */
void cr_early_stop_init(cr_early_stop *s, const cr_job *j, int64_t step, cr_arena *a);
void cr_early_stop_note(cr_early_stop *s, int64_t step, const cr_eval_result *r);
bool cr_early_stop_due(const cr_early_stop *s);
/* Writes "auc has not been better than 0.7 (step 20) in 3 evaluations". */
const char *cr_early_stop_text(const cr_early_stop *s, cr_arena *a);

#endif
