/*
 * loss_counterfactual.c - the loss of a second event over all rows, though it is seen only where a
 * first one happened, such as a purchase after a click (Wang et al., 2022: ESCM2). Rows with the
 * first event weigh the inverse of its probability. With a third output, the imputed loss of a row,
 * it is doubly robust. op/loss_prob.c has the arithmetic.
 */
#include "layer/loss_list.h"

typedef struct counterfactual_conf {
    cr_conf_base base;
    const char *condition;
    double limit;
} counterfactual_conf;

static const cr_field counterfactual_fields[] = {
    CR_STR(counterfactual_conf, condition, NULL, CR_F_REQUIRED | CR_F_OURS,
           "label of the first event, which is the first output"),
    CR_FLOAT(counterfactual_conf, limit, 15, 1, CR_INF, CR_F_OURS,
             "the most that a row weighs: 1 / probability of the first event"),
    CR_END,
};
const cr_msg cr_loss_counterfactual_loss_msg = {
    .name = "CounterfactualLoss",
    .help = "Loss of an event that is seen only after another one",
    .fields = counterfactual_fields,
    .size = sizeof(counterfactual_conf),
    .ours = true,
};

static cr_label_kind counterfactual_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_SHARE;
}

static const char *counterfactual_condition(const void *conf) {
    return ((const counterfactual_conf *)conf)->condition;
}

static cr_node *counterfactual_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                                   const cr_session *s) {
    cr_node *first = cr_detach(g, cr_slice(g, logits, 0, 1)), *imputed = NULL;
    cr_node *l = cr_bce(g, cr_slice(g, logits, 1, 1), label, 0);
    if (logits->width > 2)
        imputed = cr_activation(g, CR_ACT_SIGMOID, NULL, cr_slice(g, logits, 2, 1));
    return cr_counterfact(g, l, first, s->condition, imputed,
                          (float)((const counterfactual_conf *)conf)->limit);
}

const cr_loss_type cr_loss_counterfactual_loss = {
    .name = "counterfactual_loss",
    .pred = CR_PRED_VALUE,
    .min_class = 2,
    .max_class = 3,
    .labels = counterfactual_labels,
    .train_only = true,
    .condition = counterfactual_condition,
    .row = counterfactual_row,
};
