/*
 * loss_focal.c - log loss in which easy rows count less. op/loss_focal.c has the arithmetic.
 */
#include "layer/loss_list.h"

typedef struct focal_conf {
    cr_conf_base base;
    double gamma, alpha;
} focal_conf;

static const cr_field focal_fields[] = {
    CR_FLOAT(focal_conf, gamma, 2.0, 0, CR_INF, 0, "how much less easy rows count"),
    CR_FLOAT(focal_conf, alpha, 0.5, 0, 1, 0, "weight of positive rows"),
    CR_END,
};
const cr_msg cr_loss_binary_focal_loss_msg = {
    .name = "BinaryFocalLoss",
    .help = "Log loss in which easy rows count less",
    .fields = focal_fields,
    .size = sizeof(focal_conf),
};

static cr_label_kind class_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_CLASS;
}

static cr_node *focal_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                          const cr_session *s) {
    (void)s;
    const focal_conf *c = conf;
    return cr_focal(g, logits, label, (float)c->gamma, (float)c->alpha);
}

const cr_loss_type cr_loss_binary_focal_loss = {
    .name = "binary_focal_loss",
    .pred = CR_PRED_SIGMOID,
    .min_class = 1,
    .max_class = 1,
    .labels = class_labels,
    .row = focal_row,
};
