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
    bool weighted; /* ours: by rows; else the plain mean over groups */
} cr_grouped_auc_conf;
typedef struct cr_multiclass_auc_conf {
    cr_conf_base base;
    int64_t thresholds;
    const char *average; /* macro or weighted */
    bool exact;          /* ours */
} cr_multiclass_auc_conf;
typedef struct cr_recall_at_k_conf {
    cr_conf_base base;
    int64_t top_k;
} cr_recall_at_k_conf;
typedef struct cr_xauc_conf {
    cr_conf_base base;
    double sample_ratio; /* not exact: share of the pairs drawn ... */
    uint64_t max_pairs;  /* ... or their number, when not 0 */
    bool in_batch;
    bool exact; /* ours: all pairs */
} cr_xauc_conf;
typedef struct cr_grouped_xauc_conf {
    cr_conf_base base;
    const char *grouping_key;
    uint64_t max_pairs_per_group; /* 0: all */
} cr_grouped_xauc_conf;
typedef struct cr_normalized_entropy_conf {
    cr_conf_base base;
    double eta;
} cr_normalized_entropy_conf;
/* precision, recall, f1 */
typedef struct cr_threshold_conf {
    cr_conf_base base;
    double threshold;
} cr_threshold_conf;
typedef struct cr_accuracy_conf {
    cr_conf_base base;
    double threshold; /* K = 1 */
    int64_t top_k;    /* K > 1 */
} cr_accuracy_conf;
/* mean_absolute_error, mean_squared_error, logloss, average_output, average_label, copc: no
 * fields */
typedef struct cr_plain_metric_conf {
    cr_conf_base base;
} cr_plain_metric_conf;

#endif
