/*
 * config.h - the metric messages as structs (member `metric` of cr_metric_conf points at one).
 */
#ifndef CR_METRIC_CONFIG_H
#define CR_METRIC_CONFIG_H

#include "metric/metric.h"

typedef struct cr_auc_conf {
    cr_conf_base base;
    int64_t thresholds; /* bins of the binned form */
    bool exact;         /* ours: true sorts all scores; false is TorchEasyRec's binned AUC */
} cr_auc_conf;
typedef struct cr_grouped_auc_conf {
    cr_conf_base base;
    const char *grouping_key;
} cr_grouped_auc_conf;
typedef struct cr_accuracy_conf {
    cr_conf_base base;
    double threshold; /* K = 1 */
    int64_t top_k;    /* K > 1 */
} cr_accuracy_conf;
/* mean_absolute_error, mean_squared_error, logloss: no fields */
typedef struct cr_plain_metric_conf {
    cr_conf_base base;
} cr_plain_metric_conf;

#endif
