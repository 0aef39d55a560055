/*
 * config.c - the messages of metrics and the families they form.
 *
 * A metric that can be used is a line of METRICS, one of the training log a line of TRAIN_METRICS.
 * Our own are auc's and xauc's `exact` (every pair is counted unless TorchEasyRec's form is asked
 * for with exact: false), grouped_auc's `weighted`, and the metrics logloss, precision, recall, f1,
 * average_output, average_label and copc.
 */
#include "metric/config.h"

#include <stdio.h>
#include <string.h>

#define METRICS(X)                                                                                 \
    X(auc, auc_msg, cr_metric_auc)                                                                 \
    X(multiclass_auc, multiclass_auc_msg, cr_metric_multiclass_auc)                                \
    X(recall_at_k, recall_at_k_msg, cr_metric_recall_at_k)                                         \
    X(mean_absolute_error, mae_msg, cr_metric_mae)                                                 \
    X(mean_squared_error, mse_msg, cr_metric_mse)                                                  \
    X(accuracy, accuracy_msg, cr_metric_accuracy)                                                  \
    X(grouped_auc, grouped_auc_msg, cr_metric_grouped_auc)                                         \
    X(xauc, xauc_msg, cr_metric_xauc)                                                              \
    X(grouped_xauc, grouped_xauc_msg, cr_metric_grouped_xauc)                                      \
    X(normalized_entropy, entropy_msg, cr_metric_normalized_entropy)                               \
    X(logloss, logloss_msg, cr_metric_logloss)                                                     \
    X(precision, precision_msg, cr_metric_precision)                                               \
    X(recall, recall_msg, cr_metric_recall)                                                        \
    X(f1, f1_msg, cr_metric_f1)                                                                    \
    X(average_output, average_output_msg, cr_metric_average_output)                                \
    X(average_label, average_label_msg, cr_metric_average_label)                                   \
    X(copc, copc_msg, cr_metric_copc)
#define TRAIN_METRICS(X)                                                                           \
    X(auc, train_auc_msg, cr_metric_auc)                                                           \
    X(recall_at_k, recall_at_k_msg, cr_metric_recall_at_k)                                         \
    X(mean_absolute_error, mae_msg, cr_metric_mae)                                                 \
    X(mean_squared_error, mse_msg, cr_metric_mse)                                                  \
    X(accuracy, accuracy_msg, cr_metric_accuracy)                                                  \
    X(xauc, xauc_msg, cr_metric_train_xauc)                                                        \
    X(logloss, logloss_msg, cr_metric_logloss)
#define DECLARE(key, msg, type) extern const cr_metric_type type;
#define ENTRY(key, msg, type)   {#key, &msg, &type},
METRICS(DECLARE)
extern const cr_metric_type cr_metric_train_xauc;

#define HELP_GROUP_KEY "sparse feature; rows with the same first id form a group"

static const cr_field no_fields[] = {CR_END};
static const cr_field auc_fields[] = {
    CR_INT(cr_auc_conf, thresholds, 200, 2, 10000000, 0, "bins of the binned form (exact: false)"),
    CR_BOOL(cr_auc_conf, exact, true, CR_F_OURS,
            "count every pair of rows; false: TorchEasyRec's binned form"),
    CR_END,
};
static const cr_msg auc_msg = {
    .name = "AUC",
    .help = "Chance that a positive row scores above a negative one",
    .fields = auc_fields,
    .size = sizeof(cr_auc_conf),
};
static const cr_field grouped_auc_fields[] = {
    CR_STR(cr_grouped_auc_conf, grouping_key, NULL, CR_F_REQUIRED, HELP_GROUP_KEY),
    CR_BOOL(cr_grouped_auc_conf, weighted, false, CR_F_OURS,
            "weight each group by its number of rows; false: the plain mean"),
    CR_END,
};
static const cr_msg grouped_auc_msg = {
    .name = "GroupedAUC",
    .help = "Mean AUC of groups of rows",
    .fields = grouped_auc_fields,
    .size = sizeof(cr_grouped_auc_conf),
};
static const cr_field accuracy_fields[] = {
    CR_FLOAT(cr_accuracy_conf, threshold, 0.5, 0, 1, 0, "scores above it count as yes"),
    CR_INT(cr_accuracy_conf, top_k, 1, 1, CR_U32_MAX, 0,
           "with several classes: the label is among the best k"),
    CR_END,
};
static const cr_msg accuracy_msg = {
    .name = "Accuracy",
    .help = "Share of rows that are right",
    .fields = accuracy_fields,
    .size = sizeof(cr_accuracy_conf),
};
static const cr_msg mae_msg = {
    .name = "MeanAbsoluteError",
    .help = "Mean distance of prediction and label",
    .fields = no_fields,
    .size = sizeof(cr_plain_metric_conf),
};
static const cr_msg mse_msg = {
    .name = "MeanSquaredError",
    .help = "Mean squared distance of prediction and label",
    .fields = no_fields,
    .size = sizeof(cr_plain_metric_conf),
};
static const cr_msg logloss_msg = {
    .name = "LogLoss",
    .help = "Mean negative log of the label's probability",
    .fields = no_fields,
    .size = sizeof(cr_plain_metric_conf),
};

static const cr_msg average_output_msg = {
    .name = "AverageOutput",
    .help = "Mean prediction",
    .fields = no_fields,
    .size = sizeof(cr_plain_metric_conf),
};
static const cr_msg average_label_msg = {
    .name = "AverageLabel",
    .help = "Mean label",
    .fields = no_fields,
    .size = sizeof(cr_plain_metric_conf),
};
static const cr_msg copc_msg = {
    .name = "COPC",
    .help = "Sum of labels over sum of predictions: 1 when calibrated",
    .fields = no_fields,
    .size = sizeof(cr_plain_metric_conf),
};

static const cr_field threshold_fields[] = {
    CR_FLOAT(cr_threshold_conf, threshold, 0.5, 0, 1, 0, "scores above it count as yes"),
    CR_END,
};
static const cr_msg precision_msg = {
    .name = "Precision",
    .help = "Share of positive rows among those called positive",
    .fields = threshold_fields,
    .size = sizeof(cr_threshold_conf),
};
static const cr_msg recall_msg = {
    .name = "Recall",
    .help = "Share of positive rows that are called positive",
    .fields = threshold_fields,
    .size = sizeof(cr_threshold_conf),
};
static const cr_msg f1_msg = {
    .name = "F1",
    .help = "Harmonic mean of precision and recall",
    .fields = threshold_fields,
    .size = sizeof(cr_threshold_conf),
};

static const cr_field multiclass_auc_fields[] = {
    CR_INT(cr_multiclass_auc_conf, thresholds, 200, 2, 10000000, 0, "bins (exact: false)"),
    CR_STR(cr_multiclass_auc_conf, average, "macro", 0,
           "mean over classes: macro (plain) or weighted (by rows of the class)"),
    CR_BOOL(cr_multiclass_auc_conf, exact, false, CR_F_OURS,
            "count every pair of rows; false: TorchEasyRec's binned form"),
    CR_END,
};
static void multiclass_auc_check(const void *self, cr_diag *diag) {
    const cr_multiclass_auc_conf *c = self;
    if (strcmp(c->average, "macro") != 0 && strcmp(c->average, "weighted") != 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "average"),
                    "average is '%s'; use macro or weighted", c->average);
}
static const cr_msg multiclass_auc_msg = {
    .name = "MulticlassAUC",
    .help = "Mean AUC of each class against the rest",
    .fields = multiclass_auc_fields,
    .size = sizeof(cr_multiclass_auc_conf),
    .check = multiclass_auc_check,
};
static const cr_field recall_at_k_fields[] = {
    CR_INT(cr_recall_at_k_conf, top_k, 5, 1, CR_U32_MAX, 0, "candidates that count"),
    CR_END,
};
static const cr_msg recall_at_k_msg = {
    .name = "RecallAtK",
    .help = "Share of positives among the best k candidates",
    .fields = recall_at_k_fields,
    .size = sizeof(cr_recall_at_k_conf),
};
static const cr_field xauc_fields[] = {
    CR_FLOAT(cr_xauc_conf, sample_ratio, 1e-3, 0, 1, 0,
             "share of the pairs that are drawn (exact: false)"),
    CR_UINT64(cr_xauc_conf, max_pairs, 0, 0,
              "pairs that are drawn, instead of a share (exact: false); 0: by sample_ratio"),
    CR_BOOL(cr_xauc_conf, in_batch, false, 0,
            "all pairs inside each batch, mean over batches; metrics of training always do this"),
    CR_BOOL(cr_xauc_conf, exact, true, CR_F_OURS,
            "count every pair of rows; false: draw pairs as TorchEasyRec does"),
    CR_END,
};
static const cr_msg xauc_msg = {
    .name = "XAUC",
    .help = "Share of pairs in the order of their labels",
    .fields = xauc_fields,
    .size = sizeof(cr_xauc_conf),
};
static const cr_field grouped_xauc_fields[] = {
    CR_STR(cr_grouped_xauc_conf, grouping_key, NULL, CR_F_REQUIRED, HELP_GROUP_KEY),
    CR_UINT64(cr_grouped_xauc_conf, max_pairs_per_group, 100, 0,
              "most pairs per group; larger groups are sampled down to this number; 0: all pairs"),
    CR_END,
};
static const cr_msg grouped_xauc_msg = {
    .name = "GroupedXAUC",
    .help = "Mean XAUC of groups of rows, weighted by their rows",
    .fields = grouped_xauc_fields,
    .size = sizeof(cr_grouped_xauc_conf),
};
static const cr_field entropy_fields[] = {
    CR_FLOAT(cr_normalized_entropy_conf, eta, 1e-12, 0, 0.5, 0,
             "keeps the mean label away from 0 and 1"),
    CR_END,
};
static const cr_msg entropy_msg = {
    .name = "NormalizedEntropy",
    .help = "Log loss over that of the mean label",
    .fields = entropy_fields,
    .size = sizeof(cr_normalized_entropy_conf),
};

static const cr_oneof_member metrics[] = {METRICS(ENTRY){NULL, NULL, NULL}};
const cr_oneof cr_metric_family = {"metric", true, metrics};
static const cr_field metric_fields[] = {
    CR_ONEOF(cr_metric_conf, metric, &cr_metric_family, 0, "what is measured"),
    CR_END,
};
const cr_msg cr_metric_msg = {
    .name = "MetricConfig",
    .help = "One metric of evaluation",
    .fields = metric_fields,
    .size = sizeof(cr_metric_conf),
};

/* ---- metrics of training batches ---- */
/* always binned: its state is a few hundred counts, which can be averaged and saved */
static const cr_field train_auc_fields[] = {
    CR_INT(cr_auc_conf, thresholds, 200, 2, 10000000, 0, "bins"),
    CR_END,
};
static const cr_msg train_auc_msg = {
    .name = "TrainAUC",
    .help = "Chance that a positive row scores above a negative one, "
            "binned",
    .fields = train_auc_fields,
    .size = sizeof(cr_auc_conf),
};
static const cr_oneof_member train_metrics[] = {TRAIN_METRICS(ENTRY){NULL, NULL, NULL}};
static const cr_oneof train_metric_family = {"training metric", true, train_metrics};
static const cr_field train_metric_fields[] = {
    CR_ONEOF(cr_train_metric_conf, metric, &train_metric_family, 0, "what is measured"),
    CR_FLOAT(cr_train_metric_conf, decay_rate, 0.90, 0, 1, 0, "how much of the old value is kept"),
    CR_INT(cr_train_metric_conf, decay_step, 100, 1, CR_U32_MAX, 0, "steps between two values"),
    CR_END,
};
const cr_msg cr_train_metric_msg = {
    .name = "TrainMetricConfig",
    .help = "One metric of the training log",
    .fields = train_metric_fields,
    .size = sizeof(cr_train_metric_conf),
};

const char *cr_metric_group_key(const cr_choice *c) {
    if (!c->m || !c->conf) return NULL;
    if (c->m->msg == &grouped_auc_msg) return ((const cr_grouped_auc_conf *)c->conf)->grouping_key;
    if (c->m->msg == &grouped_xauc_msg)
        return ((const cr_grouped_xauc_conf *)c->conf)->grouping_key;
    return NULL;
}

void cr_metric_label(const cr_choice *c, char *out, size_t size) {
    const cr_metric_type *type = c->m->type;
    if (type->label)
        type->label(c->conf, out, size);
    else
        snprintf(out, size, "%s", type->name);
}

bool cr_metric_is_error(const char *result) {
    for (const cr_oneof_member *m = cr_metric_family.members; m->key; m++) {
        const cr_metric_type *type = m->type;
        size_t n = type ? strlen(type->name) : 0;
        if (n && type->is_error && strncmp(result, type->name, n) == 0 &&
            (!result[n] || result[n] == '_'))
            return true;
    }
    return false;
}
