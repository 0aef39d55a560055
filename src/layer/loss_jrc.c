/*
 * loss_jrc.c - calibration and ranking inside sessions. op/loss_session.c has the arithmetic.
 */
#include "layer/loss_list.h"

typedef struct jrc_conf {
    cr_conf_base base;
    const char *session_name;
    double alpha;
} jrc_conf;

static const cr_field jrc_fields[] = {
    CR_STR(jrc_conf, session_name, NULL, 0,
           "sparse feature whose first id is the session; empty: the batch is one session"),
    CR_FLOAT(jrc_conf, alpha, 0.5, 0, 1, 0, "weight of the point-wise part"),
    CR_END,
};
const cr_msg cr_loss_jrc_loss_msg = {
    .name = "JRCLoss",
    .help = "Calibration and ranking inside sessions at once",
    .fields = jrc_fields,
    .size = sizeof(jrc_conf),
};

static cr_label_kind class_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_CLASS;
}

static const char *jrc_session(const void *conf) {
    return ((const jrc_conf *)conf)->session_name;
}

static cr_node *jrc_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                        const cr_session *s) {
    return cr_jrc(g, logits, label, s, (float)((const jrc_conf *)conf)->alpha);
}

const cr_loss_type cr_loss_jrc_loss = {
    .name = "jrc_loss",
    .pred = CR_PRED_SOFTMAX,
    .min_class = 2,
    .max_class = 2,
    .labels = class_labels,
    .session = jrc_session,
    .row = jrc_row,
};
