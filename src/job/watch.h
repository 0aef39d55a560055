/*
 * watch.h - lets a run report its progress to the calling program.
 */
#ifndef CR_JOB_WATCH_H
#define CR_JOB_WATCH_H

#include <stdint.h>

/* The functions that a run calls to report its progress, from the thread that runs the job. All
 * members may be NULL. */
typedef struct cr_progress {
    const char *stage;       /* "train", "eval", "predict", "synth" */
    int64_t step, n_steps;   /* n_steps 0: not known */
    int64_t epoch, n_epochs; /* n_epochs 0: not known */
    int64_t rows;
    double rows_per_s, loss, seconds_left; /* seconds_left < 0: not known */
    /* of training, or of the last evaluation; NULL: none yet */
    const char *metric;
    double metric_value;
} cr_progress;
typedef struct cr_watch {
    void (*progress)(void *ctx, const cr_progress *p);
    void *ctx;
    void (*begins)(void *ctx); /* the work begins, so earlier findings can be shown */
} cr_watch;

#endif
