/*
 * slices.h - an evaluation by the values of columns, and how well scores are calibrated.
 */
#ifndef CR_EXPLAIN_SLICES_H
#define CR_EXPLAIN_SLICES_H

#include "base/buf.h"
#include "job/config.h"

#define CR_SCORE_BINS 20

typedef struct cr_slice {
    const char *name; /* a value, a range of numbers, "(missing)", "(other) N values" */
    int64_t rows, positives;
    double auc; /* NaN: one class only */
    double logloss, mean_score, mean_label;
    double calibration; /* mean score / mean label; NaN without positives */
} cr_slice;
typedef struct cr_slices_column {
    const char *name;
    cr_slice *v; /* most rows first; ranges and (missing) in order */
    int n;
} cr_slices_column;
/* Rows with a score in [k, k + 1) / CR_SCORE_BINS. */
typedef struct cr_score_bin {
    int64_t rows, positives;
    double mean_score, mean_label; /* NaN without rows */
} cr_score_bin;
typedef struct cr_slices_task {
    const char *name; /* the output: "probs", "probs_ctr" */
    cr_slice all;
    cr_score_bin bins[CR_SCORE_BINS];
    double calibration_error; /* the mean of |mean score - mean label| over bins, by rows */
    cr_slices_column *columns;
} cr_slices_task;
typedef struct cr_slices {
    cr_slices_task *tasks;
    int n_tasks, n_columns;
    const char *checkpoint;
    const char *dir; /* the model_dir of the config, on this machine; NULL: there is none */
} cr_slices;
typedef struct cr_slices_opts {
    cr_config_opts config; /* its path may be a model_dir or an export */
    const char *checkpoint_path;
    const char *const *columns; /* columns, or features of one column */
    int n_columns;
    int max_values; /* of a column that are shown each */
    int threads;
} cr_slices_opts;
/* cr_slices_run fills out, whose memory is in the arena. Sample weights are not used. */
CR_CHECKED cr_code cr_slices_run(const cr_slices_opts *o, cr_slices *out, cr_arena *arena,
                                 cr_diag *diag);
void cr_slices_json(cr_buf *out, const cr_slices *s);
/* cr_slices_svg draws the reliability of a task's scores and their histogram below. */
void cr_slices_svg(cr_buf *out, const cr_slices_task *t);

#endif
