/*
 * metric.h - metrics over rows seen one batch at a time. The value does not depend on how the rows
 * were cut into batches.
 */
#ifndef CR_METRIC_METRIC_H
#define CR_METRIC_METRIC_H

#include <stdint.h>

#include "conf/field.h"

/* One batch of one output. */
typedef struct cr_metric_in {
    int64_t n_rows;
    int64_t K;           /* classes: pred is (n_rows, K); 1 for binary and regression */
    const float *pred;   /* probabilities, or y for regression */
    int64_t pred_stride; /* floats from row to row */
    const float *label;
    const float *weight;  /* NULL: all 1 */
    const int64_t *group; /* grouping key of each row; NULL when the metric needs none */
} cr_metric_in;

typedef struct cr_metric cr_metric;
typedef struct cr_metric_type {
    const char *name;  /* key in results: "auc" */
    bool needs_group;  /* reads in->group */
    bool wants_classes; /* looks at the scores of all classes, where there are several */
    cr_code (*new_)(cr_metric **out, const void *conf, int64_t K, cr_err *err);
    void (*free_)(cr_metric *m);
    void (*reset)(cr_metric *m);
    CR_CHECKED cr_code (*update)(cr_metric *m, const cr_metric_in *in, cr_err *err);
    double (*value)(const cr_metric *m); /* NaN when undefined (one class only) */
} cr_metric_type;

/* MetricConfig's oneof; member.type is cr_metric_type* */
extern const cr_oneof cr_metric_family;
extern const cr_msg cr_metric_msg;       /* MetricConfig */
extern const cr_msg cr_train_metric_msg; /* TrainMetricConfig */
typedef struct cr_metric_conf {
    cr_conf_base base;
    cr_choice metric;
} cr_metric_conf;
/* the grouping_key of a metric that needs a group; NULL otherwise */
const char *cr_metric_group_key(const cr_choice *c);

/* running mean of a per-row value (losses as metrics): sums in double */
typedef struct cr_mean { double sum, n; } cr_mean;

#endif
