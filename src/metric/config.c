/*
 * config.c - the messages of metrics and the families they form.
 *
 * A metric that can be used is a line of METRICS. auc's `exact` and logloss are our own: AUC counts
 * every pair unless the binned form of TorchEasyRec is asked for with exact: false.
 */
#include "metric/config.h"

#define METRICS(X)                                                                                 \
    X(auc, auc_msg, cr_metric_auc)                                                                 \
    X(mean_absolute_error, mae_msg, cr_metric_mae)                                                 \
    X(mean_squared_error, mse_msg, cr_metric_mse)                                                  \
    X(accuracy, accuracy_msg, cr_metric_accuracy)                                                  \
    X(grouped_auc, grouped_auc_msg, cr_metric_grouped_auc)                                         \
    X(logloss, logloss_msg, cr_metric_logloss)
#define DECLARE(key, msg, type) extern const cr_metric_type type;
#define ENTRY(key, msg, type)   {#key, &msg, &type},
METRICS(DECLARE)

#define HELP_GROUP_KEY "sparse feature whose first id says which rows belong together"

static const cr_field no_fields[] = {CR_END};
static const cr_field auc_fields[] = {
    CR_INT(cr_auc_conf, thresholds, 200, 2, 10000000, 0, "bins of the binned form (exact: false)"),
    CR_BOOL(cr_auc_conf, exact, true, CR_F_OURS,
            "count every pair of rows; false: TorchEasyRec's binned form"),
    CR_END,
};
static const cr_msg auc_msg = {"AUC",      "Chance that a positive row scores above a negative one",
                               auc_fields, sizeof(cr_auc_conf),
                               false,      NULL};
static const cr_field grouped_auc_fields[] = {
    CR_STR(cr_grouped_auc_conf, grouping_key, NULL, CR_F_REQUIRED, HELP_GROUP_KEY),
    CR_END,
};
static const cr_msg grouped_auc_msg = {"GroupedAUC",
                                       "Mean AUC of groups of rows",
                                       grouped_auc_fields,
                                       sizeof(cr_grouped_auc_conf),
                                       false,
                                       NULL};
static const cr_field accuracy_fields[] = {
    CR_FLOAT(cr_accuracy_conf, threshold, 0.5, 0, 1, 0, "scores above it count as yes"),
    CR_INT(cr_accuracy_conf, top_k, 1, 1, CR_U32_MAX, 0,
           "with several classes: the label is among the best k"),
    CR_END,
};
static const cr_msg accuracy_msg = {"Accuracy",      "Share of rows that are right",
                                    accuracy_fields, sizeof(cr_accuracy_conf),
                                    false,           NULL};
static const cr_msg mae_msg = {"MeanAbsoluteError",
                               "Mean distance of prediction and label",
                               no_fields,
                               sizeof(cr_plain_metric_conf),
                               false,
                               NULL};
static const cr_msg mse_msg = {"MeanSquaredError",
                               "Mean squared distance of prediction and label",
                               no_fields,
                               sizeof(cr_plain_metric_conf),
                               false,
                               NULL};
static const cr_msg logloss_msg = {"LogLoss", "Mean negative log of the label's probability",
                                   no_fields, sizeof(cr_plain_metric_conf),
                                   false,     NULL};

/* ---- later ---- */
static const cr_field multiclass_auc_fields[] = {
    CR_K_INT("thresholds", 200, 2, 10000000, 0, "bins"),
    CR_K_STR("average", "macro", 0, "mean over classes: macro or weighted"),
    CR_END,
};
static const cr_msg multiclass_auc_msg = {"MulticlassAUC",
                                          "Mean AUC of each class against the rest",
                                          multiclass_auc_fields,
                                          0,
                                          true,
                                          NULL};
static const cr_field recall_fields[] = {
    CR_K_INT("top_k", 5, 1, CR_U32_MAX, 0, "candidates that count"),
    CR_END,
};
static const cr_msg recall_msg = {"RecallAtK",   "Share of positives among the best k candidates",
                                  recall_fields, 0,
                                  true,          NULL};
static const cr_field xauc_fields[] = {
    CR_K_FLOAT("sample_ratio", 1e-3, 0, 1, 0, "share of pairs that are looked at"),
    CR_K_UINT64("max_pairs", 0, 0, "most pairs that are looked at"),
    CR_K_BOOL("in_batch", false, 0, "all pairs inside each batch instead"),
    CR_END,
};
static const cr_msg xauc_msg = {"XAUC",      "Share of pairs in the order of their labels",
                                xauc_fields, 0,
                                true,        NULL};
static const cr_field grouped_xauc_fields[] = {
    CR_K_STR("grouping_key", NULL, CR_F_REQUIRED, HELP_GROUP_KEY),
    CR_K_UINT64("max_pairs_per_group", 100, 0, "most pairs that are looked at per group"),
    CR_END,
};
static const cr_msg grouped_xauc_msg = {
    "GroupedXAUC", "Mean XAUC of groups of rows", grouped_xauc_fields, 0, true, NULL};
static const cr_field entropy_fields[] = {
    CR_K_FLOAT("eta", 1e-12, 0, 1, 0, "keeps logarithms away from 0"),
    CR_END,
};
static const cr_msg entropy_msg = {
    "NormalizedEntropy", "Log loss over that of the mean label", entropy_fields, 0, true, NULL};

static const cr_oneof_member metrics[] = {
    METRICS(ENTRY){"multiclass_auc", &multiclass_auc_msg, NULL},
    {"recall_at_k", &recall_msg, NULL},
    {"xauc", &xauc_msg, NULL},
    {"grouped_xauc", &grouped_xauc_msg, NULL},
    {"normalized_entropy", &entropy_msg, NULL},
    {NULL, NULL, NULL},
};
const cr_oneof cr_metric_family = {"metric", true, metrics};
static const cr_field metric_fields[] = {
    CR_ONEOF(cr_metric_conf, metric, &cr_metric_family, 0, "what is measured"),
    CR_END,
};
const cr_msg cr_metric_msg = {"MetricConfig", "One metric of evaluation",
                              metric_fields,  sizeof(cr_metric_conf),
                              false,          NULL};

/* ---- metrics of training batches ---- */
static const cr_oneof_member train_metrics[] = {
    {"auc", &auc_msg, NULL},
    {"recall_at_k", &recall_msg, NULL},
    {"mean_absolute_error", &mae_msg, NULL},
    {"mean_squared_error", &mse_msg, NULL},
    {"accuracy", &accuracy_msg, NULL},
    {"xauc", &xauc_msg, NULL},
    {NULL, NULL, NULL},
};
static const cr_oneof train_metric_family = {"training metric", true, train_metrics};
static const cr_field train_metric_fields[] = {
    CR_K_ONEOF("metric", &train_metric_family, 0, "what is measured"),
    CR_K_FLOAT("decay_rate", 0.90, 0, 1, 0, "how much of the old value is kept"),
    CR_K_INT("decay_step", 100, 1, CR_U32_MAX, 0, "steps between two values"),
    CR_END,
};
const cr_msg cr_train_metric_msg = {
    "TrainMetricConfig", "One metric of the training log", train_metric_fields, 0, true, NULL};

const char *cr_metric_group_key(const cr_choice *c) {
    if (!c->m || c->m->msg != &grouped_auc_msg || !c->conf) return NULL;
    return ((const cr_grouped_auc_conf *)c->conf)->grouping_key;
}
