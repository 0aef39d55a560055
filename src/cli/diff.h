/*
 * diff.h - what `crank diff` compares: the configs, metrics and logs of two runs (diff_runs.c), and
 * the tensors of two checkpoints (diff_tensors.c).
 */
#ifndef CR_CLI_DIFF_H
#define CR_CLI_DIFF_H

#include "ckpt/ckpt.h"
#include "cli/cli.h"

/* ---- tensors ---- */

typedef enum cr_diff_verdict {
    CR_DIFF_SAME,
    CR_DIFF_VALUES,
    CR_DIFF_OTHER_SHAPE,
    CR_DIFF_ONLY_A,
    CR_DIFF_ONLY_B,
} cr_diff_verdict;
typedef struct cr_diff_tensor {
    cr_diff_verdict v;
    const cr_ckpt_info *a, *b; /* NULL on the side that lacks it */
    int64_t n_differ;          /* values */
    double max_abs, max_rel;   /* over pairs of numbers */
    int64_t at;                /* element of max_abs */
    float at_a, at_b;          /* its values */
    int64_t n_nan;             /* pairs of which exactly one is not a number */
    /* over pairs of finite numbers: sums of |a - b|, (a - b)^2, a^2, b^2, a * b; other pairs */
    double sum_abs, sum_dd, sum_aa, sum_bb, sum_ab;
    int64_t n_odd;
} cr_diff_tensor;

/* cr_diff_tensors compares all names of both, in order; out has room for the tensors of both. */
CR_CHECKED cr_code cr_diff_tensors(const cr_ckpt *a, const cr_ckpt *b, cr_diff_tensor *out,
                                   int *n_out, cr_err *err);
/* cr_diff_states: how many tensors of optimizer state */
int cr_diff_states(const cr_ckpt *c);
/* cr_diff_lone_state: an export has no optimizer state; against a checkpoint its weights are
 * compared. 'A' or 'B': the only side with state; 0: both or none. */
char cr_diff_lone_state(const cr_ckpt *a, const cr_ckpt *b);

/* ---- runs ---- */

/* A key of the config, or a metric, whose values differ. */
typedef struct cr_diff_row {
    const char *name;
    const char *a, *b; /* of a key; NULL: not there */
    double x, y;       /* of a metric; NaN: not there */
} cr_diff_row;
typedef struct cr_diff_rows {
    cr_diff_row *v;
    int n, cap;
    bool compared;       /* there was something to compare on both sides */
    int n_equal;         /* metrics that are equal */
    const char *trouble; /* the config that cannot be read; NULL: none */
} cr_diff_rows;

/* cr_diff_config compares the configs beside or inside two checkpoints; model_dir plays no part. */
cr_diff_rows cr_diff_config(cr_arena *arena, const cr_ckpt *a, const cr_ckpt *b);
/* cr_diff_metrics compares what the evaluations at the checkpoints, or the last ones before them,
 * measured, and the training loss. */
cr_diff_rows cr_diff_metrics(cr_arena *arena, const cr_ckpt *a, const cr_ckpt *b);

/* Where two logs part. */
typedef struct cr_diff_parting {
    const char *file; /* NULL: nothing to compare */
    bool differs;
    int64_t last_same, step; /* -1: none */
    const char *key;
    double a, b;
} cr_diff_parting;
/* cr_diff_logs: the earlier of the two kinds of logs that differ, else any that could be compared
 */
cr_diff_parting cr_diff_logs(cr_arena *arena, const cr_ckpt *a, const cr_ckpt *b);

#endif
