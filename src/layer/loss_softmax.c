/*
 * loss_softmax.c - log loss over num_class classes. op/loss.c has the arithmetic.
 */
#include "layer/loss_list.h"

typedef struct cross_entropy_conf { /* softmax_cross_entropy */
    cr_conf_base base;
    double label_smoothing;
} cross_entropy_conf;

static const cr_field cross_entropy_fields[] = {
    CR_FLOAT(cross_entropy_conf, label_smoothing, 0, 0, 1, 0,
             "share of the label spread over all classes"),
    CR_END,
};
const cr_msg cr_loss_softmax_cross_entropy_msg = {
    .name = "SoftmaxCrossEntropy",
    .help = "Log loss over num_class classes",
    .fields = cross_entropy_fields,
    .size = sizeof(cross_entropy_conf),
};

static cr_label_kind class_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_CLASS;
}

static cr_node *softmax_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                            const cr_session *s) {
    (void)s;
    const cross_entropy_conf *c = conf;
    return cr_softmax_ce(g, logits, label, (float)c->label_smoothing);
}

const cr_loss_type cr_loss_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .pred = CR_PRED_SOFTMAX,
    .min_class = 2,
    .labels = class_labels,
    .row = softmax_row,
};
