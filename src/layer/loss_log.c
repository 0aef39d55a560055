/*
 * loss_log.c - log loss of an output that is a probability itself, such as a cosine that is taken
 * for one. op/loss_prob.c has the arithmetic.
 */
#include "layer/loss_list.h"

typedef struct log_conf {
    cr_conf_base base;
    double epsilon;
} log_conf;

static const cr_field log_fields[] = {
    CR_FLOAT(log_conf, epsilon, 1e-4, 1e-12, 1, CR_F_OURS, "added to what logarithms are taken of"),
    CR_END,
};
const cr_msg cr_loss_log_loss_msg = {
    .name = "ProbabilityLogLoss",
    .help = "Log loss of an output that is a probability, not a logit",
    .fields = log_fields,
    .size = sizeof(log_conf),
    .ours = true,
};

static cr_label_kind log_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_CLASS;
}

static cr_node *log_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                        const cr_session *s) {
    (void)s;
    return cr_log_loss(g, logits, label, (float)((const log_conf *)conf)->epsilon);
}

const cr_loss_type cr_loss_log_loss = {
    .name = "log_loss",
    .pred = CR_PRED_VALUE,
    .min_class = 1,
    .max_class = 1,
    .labels = log_labels,
    .row = log_row,
};
