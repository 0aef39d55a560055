/*
 * metric.h - metrics over rows seen one batch at a time. The value is a function of the set of rows
 * alone: neither their order, nor how they were cut into batches, nor how many objects saw them
 * before their states were merged changes a bit of it.
 */
#ifndef CR_METRIC_METRIC_H
#define CR_METRIC_METRIC_H

#include <stdint.h>

#include "base/buf.h"
#include "base/exact.h"
#include "conf/field.h"

/* One batch of one output. */
typedef struct cr_metric_in {
    int64_t n_rows;
    int64_t K;           /* classes: pred is (n_rows, K); 1 for binary and regression */
    const float *pred;   /* probabilities, or y for regression */
    int64_t pred_stride; /* floats from row to row */
    const float *label;
    const float *weight;  /* NULL: all weights are 1 */
    const int64_t *group; /* grouping key of each row; NULL when the metric needs none */
} cr_metric_in;

typedef struct cr_metric cr_metric;
typedef struct cr_metric_type {
    const char *name;   /* key in results: "auc" */
    bool wants_classes; /* looks at the scores of all classes, where there are several */
    bool wants_value; /* for a model that gives both: it reads y of l2_loss and not a probability */
    bool needs_prob;  /* it reads only probabilities */
    bool is_error;    /* a smaller value is better */
    bool whole_batch; /* its value may depend on which rows one update brings together */
    /* fails when a model with K outputs cannot have this metric */
    cr_code (*new_)(cr_metric **out, const void *conf, int64_t K, cr_err *err);
    void (*free_)(cr_metric *m);
    void (*reset)(cr_metric *m);
    CR_CHECKED cr_code (*update)(cr_metric *m, const cr_metric_in *in, cr_err *err);
    double (*value)(const cr_metric *m); /* NaN when undefined (only one class) */
    /* number of rows with label 1 and with label 0 in the value; NULL: the value does not depend on
     * them */
    void (*classes)(const cr_metric *m, int64_t *n_pos, int64_t *n_neg);
    /* key in results when the config decides it ("recall@5"); NULL: name is the key */
    void (*label)(const void *conf, char *out, size_t size);
    /* name of the sparse feature whose first id is in->group; NULL: the metric needs no group */
    const char *(*group_key)(const void *conf);
    /* pack appends everything seen since the reset. merge takes the packed state of another metric
     * of the same type and config (aligned to 8 bytes), as if its rows had been given here. After a
     * failed merge the metric may only be reset or freed. */
    void (*pack)(const cr_metric *m, cr_buf *out);
    CR_CHECKED cr_code (*merge)(cr_metric *m, const void *state, size_t size, cr_err *err);
    /* These are for training metrics (NULL: it cannot be one): they give and take everything seen
     * since the reset as n_state numbers, a fixed count, exactly. */
    int64_t (*n_state)(const cr_metric *m);
    void (*get)(const cr_metric *m, double *out);
    void (*set)(cr_metric *m, const double *in);
    /* the value of such numbers; with it, states are averaged over time. NULL: values are
     * averaged */
    double (*value_of)(const cr_metric *m, const double *state);
} cr_metric_type;

/* The oneof of MetricConfig; member.type is cr_metric_type*. */
extern const cr_oneof cr_metric_family;
extern const cr_msg cr_metric_msg;       /* MetricConfig */
extern const cr_msg cr_train_metric_msg; /* TrainMetricConfig */
typedef struct cr_metric_conf {
    cr_conf_base base;
    cr_choice metric;
} cr_metric_conf;
/* TrainMetricConfig */
typedef struct cr_train_metric_conf {
    cr_conf_base base;
    cr_choice metric; /* from a separate family; member.type is a cr_metric_type* with state */
    double decay_rate;
    int64_t decay_step;
    bool since_epoch;   /* ours */
    int64_t last_steps; /* ours; 0: a decaying value */
} cr_train_metric_conf;
/* cr_metric_is_error: is a result of that name ("mean_squared_error_price") better when smaller? */
bool cr_metric_is_error(const char *result);
/* cr_metric_label writes the key of a metric in results: "auc", "recall@5", "precision@0.3". */
void cr_metric_label(const cr_choice *c, char *out, size_t size);

/* ---- metrics of training batches (train.c) ----
 * Rows of decay_step steps are taken together; then the shown value moves: new at first, later
 * decay_rate * old + (1 - decay_rate) * new. auc averages counts, the others values. With
 * since_epoch the value is that of all rows since the last cr_train_metric_epoch; with last_steps
 * (auc) that of the rows of so many steps up to now. */
typedef struct cr_train_metric cr_train_metric;
CR_CHECKED cr_code cr_train_metric_new(cr_train_metric **out, const cr_train_metric_conf *conf,
                                       int64_t K, cr_err *err);
void cr_train_metric_free(cr_train_metric *m);
/* cr_train_metric_step adds the rows of one step. */
CR_CHECKED cr_code cr_train_metric_step(cr_train_metric *m, const cr_metric_in *in, cr_err *err);
/* cr_train_metric_value returns the value to show; 0 before the first decay_step steps are
 * complete. */
double cr_train_metric_value(const cr_train_metric *m);
/* cr_train_metric_epoch: an epoch has ended. */
void cr_train_metric_epoch(cr_train_metric *m);
/* These save and restore everything it holds in a checkpoint, as n_state exact numbers. */
int64_t cr_train_metric_n_state(const cr_train_metric *m);
void cr_train_metric_get(const cr_train_metric *m, double *out);
void cr_train_metric_set(cr_train_metric *m, const double *in);

/* cr_metric_group_key returns the grouping_key of a metric that needs a group; NULL otherwise. */
const char *cr_metric_group_key(const cr_choice *c);

/* cr_auc_error estimates the standard error of an AUC of so many positives and negatives, after
 * Hanley and McNeil (1982): sqrt((A(1-A) + (P-1)(Q1-A^2) + (N-1)(Q2-A^2)) / (P N)) with Q1 =
 * A/(2-A) and Q2 = 2A^2/(1+A). It returns NAN without both classes. */
double cr_auc_error(double auc, int64_t n_pos, int64_t n_neg);

/* The running mean of a value per row (losses as metrics), the same for any order and division of
 * rows. */
typedef struct cr_mean {
    cr_exact sum, weight;
} cr_mean;

#endif
