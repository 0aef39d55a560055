/*
 * loss_toy.c - a loss: log loss whose labels are all smoothed a little.
 */
#include "layer/loss_list.h"

typedef struct toy_conf {
    cr_conf_base base;
    double smoothing;
} toy_conf;

static const cr_field fields[] = {
    CR_FLOAT(toy_conf, smoothing, 0.1, 0, 1, CR_F_OURS, "share of the label that is spread"),
    CR_END,
};
const cr_msg cr_loss_toy_loss_msg = {
    .name = "ToyLoss",
    .help = "Log loss of smoothed labels",
    .ours = true,
    .fields = fields,
    .size = sizeof(toy_conf),
};

static cr_label_kind labels(const void *conf) {
    (void)conf;
    return CR_LABEL_CLASS;
}

static cr_node *row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                    const cr_session *s) {
    (void)s;
    return cr_bce(g, logits, label, (float)((const toy_conf *)conf)->smoothing);
}

const cr_loss_type cr_loss_toy_loss = {
    .name = "toy_loss",
    .pred = CR_PRED_SIGMOID,
    .min_class = 1,
    .max_class = 1,
    .labels = labels,
    .row = row,
};
