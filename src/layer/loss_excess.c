/*
 * loss_excess.c - the mean of max(x, 0): what an output has above 0 is a cost, whatever the label.
 * It keeps a probability below another one: x is the difference of the two (AITM, Xi et al., 2021).
 */
#include "layer/loss_list.h"

typedef struct excess_conf {
    cr_conf_base base;
} excess_conf;

const cr_msg cr_loss_excess_loss_msg = {
    .name = "ExcessLoss",
    .help = "Mean of what the output has above 0; the label does not matter",
    .fields = cr_no_fields,
    .size = sizeof(excess_conf),
    .ours = true,
};

static cr_label_kind any_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_ANY;
}

static cr_node *excess_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                           const cr_session *s) {
    (void)conf;
    (void)label;
    (void)s;
    return cr_activation(g, CR_ACT_RELU, (const float[3]){0}, logits);
}

const cr_loss_type cr_loss_excess_loss = {
    .name = "excess_loss",
    .pred = CR_PRED_VALUE,
    .min_class = 1,
    .max_class = 1,
    .labels = any_labels,
    .row = excess_row,
};
