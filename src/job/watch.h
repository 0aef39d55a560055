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
/* A step of a training, the last one of an epoch, or a batch of an evaluation. */
typedef struct cr_stepped {
    int64_t epoch, batch; /* batch: its number in the epoch, from 0 */
    int64_t rows;         /* of the batch */
    double loss;
    double wait_s; /* seconds that the run has waited for data so far */
    /* gives metric k of training; NULL: there are no more. It computes the value, which takes
     * time. */
    const char *(*metric)(void *of, int k, double *value);
    void *of;
    /* evaluation: the scores of the rows, `stride` apart and `width` wide; NULL: none */
    const float *pred;
    int64_t width, stride;
    const char *task; /* evaluation by tasks: its name; the metrics are those of the task */
} cr_stepped;
typedef struct cr_watch {
    void (*progress)(void *ctx, const cr_progress *p);
    void *ctx;
    void (*begins)(void *ctx); /* the work begins, so earlier findings can be shown */
    /* the logs in model_dir are open; only in the process that writes them */
    void (*logs)(void *ctx, const char *model_dir);
    void (*stepped)(void *ctx, const cr_stepped *s); /* after every step */
    void (*epoch)(void *ctx, const cr_stepped *s);   /* an epoch has ended */
    /* after every batch of an evaluation; the metrics are those of the rows of this rank so far */
    void (*evaluated)(void *ctx, const cr_stepped *s);
    /* a checkpoint is written; epochs: how many have ended before it; batch: it was made behind
     * this batch of the next one, -1: at the end of an epoch or of the run */
    void (*saved)(void *ctx, const char *path, int64_t epochs, int64_t batch);
} cr_watch;

#endif
