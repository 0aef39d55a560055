/*
 * align.h - do two trainings agree? Losses by step and metrics of evaluations, read from the logs
 * of any program, are compared by a strict rule, and by the one that ModelZoo publishes.
 *
 * With the reference r and the candidate c at the same step:
 *
 *   rel = |c - r| / max(|r|, 1e-12)
 *
 * They agree when both have the same steps, all values are finite, the mean of rel over the losses
 * is at most the tolerance, and so is rel of every metric at every evaluation.
 */
#ifndef CR_TOOL_ALIGN_H
#define CR_TOOL_ALIGN_H

#include "base/buf.h"
#include "base/mem.h"

#define CR_ALIGN_EPS 1e-12 /* a reference below this counts as this */

/* One value of a log. */
typedef struct cr_align_point {
    int64_t epoch, step; /* -1: the line does not say */
    double value;
} cr_align_point;
typedef struct cr_align_curve {
    const char *name; /* as the log has it */
    cr_align_point *v;
    int n, cap;
    /* the log numbers its steps through (a step occurs once), or anew in every epoch (pairs occur
     * once), or not at all */
    enum { CR_ALIGN_STEPS, CR_ALIGN_PAIRS, CR_ALIGN_ORDER } by;
} cr_align_curve;
/* What a log has. The loss is that of training; metrics are those of evaluations, in the order of
 * their first occurrence. */
typedef struct cr_align_log {
    cr_align_curve loss; /* n 0: none */
    cr_align_curve *metrics;
    int n_metrics, cap;
    bool empty; /* the caller's: there was no text */
    bool cut;   /* the text ends in a number and has no line end: digits of it may be missing */
} cr_align_log;
/* cr_align_read adds the values of a log to `out`, which is all zero at first: lines of crank
 * (train_log.jsonl, results of evaluations, console), DLLogger and TCAP_DLLogger (file and
 * console), PaddleRec, TorchEasyRec, and any other line with `loss: 0.5`. key is the name of the
 * value that is compared as the loss; NULL: the first of the usual names that the log has. Lines of
 * other ranks than the first are left out. Of a step that occurs twice, the later value counts. */
void cr_align_read(cr_arena *a, const char *text, size_t n, const char *key, cr_align_log *out);
/* cr_align_read_end orders the values after the last text. */
void cr_align_read_end(cr_arena *a, cr_align_log *log);

/* How values of two curves are paired. */
typedef enum cr_align_match {
    CR_ALIGN_SAME,     /* by step; a step that only one has is a difference */
    CR_ALIGN_COMMON,   /* by step, or in order where there are none; only what both have counts */
    CR_ALIGN_IN_ORDER, /* the first with the first; other lengths are a difference */
} cr_align_match;
typedef struct cr_align_opts {
    double tolerance;
    cr_align_match match;
    int64_t skip; /* pairs at the beginning of the loss that do not count */
    int64_t last; /* pairs at its end that count; 0: all */
} cr_align_opts;

typedef struct cr_align_pair {
    int64_t epoch, step; /* step: the place in the order, when there are no steps */
    double r, c, rel;
} cr_align_pair;
/* Two curves side by side. */
typedef struct cr_align_result {
    const char *name;
    cr_align_pair *v;
    int n;
    int only_a, only_b;                  /* values without a partner */
    int64_t first_a, first_b;            /* the first of them */
    bool by_order;                       /* paired by order because a log has no steps */
    int not_finite, worst, tiny;         /* pairs; index of max_rel; pairs where eps was hit */
    double mean_rel, max_rel, final_rel; /* NaN: no pair of finite values */
    double signed_rel, signed_abs;       /* ModelZoo's means, with signs */
    bool pass;                           /* of the loss: mean_rel; of a metric: max_rel */
} cr_align_result;
/* cr_align_compare pairs the loss, or a metric, of two logs. */
cr_align_result cr_align_compare(cr_arena *a, const cr_align_curve *r, const cr_align_curve *c,
                                 const cr_align_opts *o, bool is_metric);
/* cr_align_within: is x at most tol? The few last bits that the mean of exact values can lose do
 * not count. */
bool cr_align_within(double x, double tol);
/* cr_align_metric finds a metric by its name; NULL: the log has none of that name. Names are equal
 * without `val.`, `eval_` and the like in front, in any case. */
const cr_align_curve *cr_align_metric(const cr_align_log *log, const char *name);

/* cr_align_public writes the four lines that ModelZoo's loss.py prints, and returns its verdict:
 * signed mean relative error <= 0.05 or signed mean absolute error <= 0.0002. */
bool cr_align_public(const cr_align_result *loss, cr_buf *out);
/* cr_align_plot draws curves and their relative errors as an SVG image. */
void cr_align_plot(const cr_align_result *v, int n, const char *name_a, const char *name_b,
                   double tolerance, cr_buf *out);

#endif
