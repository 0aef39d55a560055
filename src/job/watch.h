/*
 * watch.h - how a run tells its progress to the program that called it.
 */
#ifndef CR_JOB_WATCH_H
#define CR_JOB_WATCH_H

#include <stdint.h>

/* Where a run tells how it goes. All members may be NULL. Called from the thread that runs the job.
 */
typedef struct cr_progress {
    const char *stage;       /* "train", "eval", "predict", "synth" */
    int64_t step, n_steps;   /* n_steps 0: not known */
    int64_t epoch, n_epochs; /* n_epochs 0: not known */
    int64_t rows;
    double rows_per_s, loss, seconds_left; /* seconds_left < 0: not known */
    const char *metric;                    /* of training or the last evaluation; NULL: none yet */
    double metric_value;
} cr_progress;
typedef struct cr_watch {
    void (*progress)(void *ctx, const cr_progress *p);
    void *ctx;
    void (*begins)(void *ctx); /* the work begins: what was found so far can be told */
} cr_watch;

#endif
