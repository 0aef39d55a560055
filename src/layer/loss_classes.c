/*
 * loss_classes.c - losses over num_class scores of which the label names the right one, besides the
 * softmax: multi_margin_loss and negative_sampling_loss; crank only. op/loss_classes.c has the
 * arithmetic.
 */
#include "layer/loss_list.h"

static cr_label_kind class_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_CLASS;
}

typedef struct margin_conf { /* crank only */
    cr_conf_base base;
    double margin;
    bool hardest;
} margin_conf;

static const cr_field margin_fields[] = {
    CR_FLOAT(margin_conf, margin, 1, 0, CR_INF, 0,
             "by how much the score of the right class is to exceed each other one"),
    CR_BOOL(margin_conf, hardest, false, 0,
            "compare with the largest of the other scores only; false: add up all"),
    CR_END,
};
const cr_msg cr_loss_multi_margin_loss_msg = {
    .name = "MultiMarginLoss",
    .help = "max(0, margin - right score + other score) over the other classes; crank only",
    .fields = margin_fields,
    .size = sizeof(margin_conf),
};

static cr_node *margin_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                           const cr_session *s) {
    (void)s;
    const margin_conf *c = conf;
    return cr_margin(g, logits, label, (float)c->margin, c->hardest);
}

const cr_loss_type cr_loss_multi_margin_loss = {
    .name = "multi_margin_loss",
    .pred = CR_PRED_SOFTMAX,
    .min_class = 2,
    .labels = class_labels,
    .row = margin_row,
};

typedef struct sampling_conf { /* crank only */
    cr_conf_base base;
} sampling_conf;

const cr_msg cr_loss_negative_sampling_loss_msg = {
    .name = "NegativeSamplingLoss",
    .help = "A binary cross entropy per class, added up: 1 for the right one; crank only",
    .fields = cr_no_fields,
    .size = sizeof(sampling_conf),
};

static cr_node *sampling_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                             const cr_session *s) {
    (void)s;
    (void)conf;
    return cr_each_class(g, logits, label);
}

const cr_loss_type cr_loss_negative_sampling_loss = {
    .name = "negative_sampling_loss",
    .pred = CR_PRED_SOFTMAX,
    .min_class = 2,
    .labels = class_labels,
    .row = sampling_row,
};
