/*
 * loss_bce.c - log loss of a label 0 or 1, or of a share between them. op/loss.c has the
 * arithmetic, and op/loss_prob.c that with epsilon: -y ln(p + eps) - (1 - y) ln(1 - p + eps).
 */
#include "layer/loss_list.h"

typedef struct bce_conf {
    cr_conf_base base;
    double label_smoothing;
    bool soft_labels; /* crank only */
    double epsilon;   /* crank only */
} bce_conf;

static const cr_field bce_fields[] = {
    CR_FLOAT(bce_conf, label_smoothing, 0, 0, 1, 0, "share of the label spread over all classes"),
    CR_BOOL(bce_conf, soft_labels, false, CR_F_OURS,
            "labels may be any share from 0 to 1; false: only 0 and 1"),
    CR_FLOAT(bce_conf, epsilon, 0, 0, 0.1, CR_F_OURS,
             "added to probabilities before their logarithm, as PaddleRec does with 0.0001"),
    CR_END,
};
static void bce_check(const void *conf, cr_diag *diag) {
    const bce_conf *c = conf;
    if (c->epsilon > 0 && c->label_smoothing > 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "epsilon"),
                    "epsilon and label_smoothing do not go together; leave one of them out");
}
const cr_msg cr_loss_binary_cross_entropy_msg = {
    .name = "BinaryCrossEntropy",
    .help = "Log loss of a yes-or-no label",
    .fields = bce_fields,
    .size = sizeof(bce_conf),
    .check = bce_check,
};

static cr_label_kind bce_labels(const void *conf) {
    return ((const bce_conf *)conf)->soft_labels ? CR_LABEL_SHARE : CR_LABEL_CLASS;
}

static cr_node *bce_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                        const cr_session *s) {
    (void)s;
    const bce_conf *c = conf;
    if (c->epsilon > 0)
        return cr_log_loss(g, cr_activation(g, CR_ACT_SIGMOID, NULL, logits), label,
                           (float)c->epsilon);
    return cr_bce(g, logits, label, (float)c->label_smoothing);
}

const cr_loss_type cr_loss_binary_cross_entropy = {
    .name = "binary_cross_entropy",
    .pred = CR_PRED_SIGMOID,
    .min_class = 1,
    .max_class = 1,
    .labels = bce_labels,
    .row = bce_row,
};
