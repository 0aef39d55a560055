/*
 * list.h - every metric, and the declarations that their files share.
 *
 * A metric is one line here, one line of meson.build and one file, which holds the struct of its
 * config, its message cr_metric_<name>_msg and its type cr_metric_<name>:
 *   EVAL(key)         a metric of evaluation
 *   TRAIN(key, m, t)  a metric of the training log with the message of m and the type t
 *   BOTH(key)         one metric in both places
 * The order is that of the help texts.
 */
#ifndef CR_METRIC_LIST_H
#define CR_METRIC_LIST_H

#include "metric/metric.h"

#define CR_METRICS(EVAL, TRAIN, BOTH)                                                              \
    EVAL(auc)                                                                                      \
    TRAIN(auc, train_auc, auc)                                                                     \
    EVAL(multiclass_auc)                                                                           \
    BOTH(recall_at_k)                                                                              \
    EVAL(ndcg_at_k)                                                                                \
    EVAL(group_at_k)                                                                               \
    EVAL(mean_reciprocal_rank)                                                                     \
    BOTH(mean_absolute_error)                                                                      \
    BOTH(mean_squared_error)                                                                       \
    BOTH(accuracy)                                                                                 \
    EVAL(grouped_auc)                                                                              \
    EVAL(grouped_place)                                                                            \
    EVAL(xauc)                                                                                     \
    TRAIN(xauc, xauc, train_xauc)                                                                  \
    EVAL(grouped_xauc)                                                                             \
    EVAL(normalized_entropy)                                                                       \
    BOTH(logloss)                                                                                  \
    BOTH(precision)                                                                                \
    BOTH(recall)                                                                                   \
    BOTH(f1)                                                                                       \
    BOTH(average_output)                                                                           \
    EVAL(average_label)                                                                            \
    EVAL(copc)

#define CR_METRIC_DECLARE(m)                                                                       \
    extern const cr_msg cr_metric_##m##_msg;                                                       \
    extern const cr_metric_type cr_metric_##m;
#define CR_METRIC_DECLARE_TRAIN(key, m, t)                                                         \
    extern const cr_msg cr_metric_##m##_msg;                                                       \
    extern const cr_metric_type cr_metric_##t;
CR_METRICS(CR_METRIC_DECLARE, CR_METRIC_DECLARE_TRAIN, CR_METRIC_DECLARE)

/* The config of a metric without fields. */
typedef struct cr_metric_plain_conf {
    cr_conf_base base;
} cr_metric_plain_conf;

#define CR_HELP_GROUP_KEY "sparse feature; rows with the same first id form a group"

#endif
