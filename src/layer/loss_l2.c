/*
 * loss_l2.c - mean squared error. op/loss.c has the arithmetic.
 */
#include "layer/loss_list.h"

#include <math.h>

typedef struct l2_conf {
    cr_conf_base base;
    double label_mean; /* crank only */
} l2_conf;

static const cr_field l2_fields[] = {
    CR_FLOAT(l2_conf, label_mean, 0, -CR_INF, CR_INF, CR_F_OURS,
             "mean of the labels; the prediction is this number plus the output of the model"),
    CR_END,
};
static void l2_check(const void *self, cr_diag *diag) {
    const l2_conf *c = self;
    if (!isfinite((float)c->label_mean))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "label_mean"),
                    "label_mean must be finite; leave it out for 0");
}
const cr_msg cr_loss_l2_loss_msg = {
    .name = "L2Loss",
    .help = "Mean squared error",
    .fields = l2_fields,
    .size = sizeof(l2_conf),
    .check = l2_check,
};

static cr_label_kind any_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_ANY;
}

static double l2_offset(const void *conf) {
    return ((const l2_conf *)conf)->label_mean;
}

static cr_node *l2_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                       const cr_session *s) {
    (void)s;
    (void)conf;
    return cr_l2(g, logits, label);
}

const cr_loss_type cr_loss_l2_loss = {
    .name = "l2_loss",
    .pred = CR_PRED_VALUE,
    .min_class = 1,
    .max_class = 1,
    .labels = any_labels,
    .offset = l2_offset,
    .row = l2_row,
};
