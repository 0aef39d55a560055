/*
 * early_stop.h - training ends when evaluations no longer get better.
 */
#ifndef CR_TRAIN_EARLY_STOP_H
#define CR_TRAIN_EARLY_STOP_H

#include "train/evaluate.h"

typedef struct cr_early_stop {
    int64_t patience;   /* evaluations; 0: never */
    const char *metric; /* NULL: nothing to compare by */
    bool larger;        /* is better */
    int64_t best_step;  /* -1: none yet */
    double best;
    int64_t stale; /* evaluations since then */
    int64_t last;  /* step of the last one that counts */
} cr_early_stop;
/* cr_early_stop_check finds what is wrong with early_stopping_patience before training. */
void cr_early_stop_check(const cr_job *j, cr_diag *diag);
/* cr_early_stop_init: as the evaluations recorded in model_dir up to `step` say; -1: none was. */
void cr_early_stop_init(cr_early_stop *s, const cr_job *j, int64_t step, cr_arena *a);
void cr_early_stop_note(cr_early_stop *s, int64_t step, const cr_eval_result *r);
bool cr_early_stop_due(const cr_early_stop *s);
/* "auc has not been better than 0.7 (step 20) in 3 evaluations" */
const char *cr_early_stop_text(const cr_early_stop *s, cr_arena *a);

#endif
