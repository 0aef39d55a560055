/*
 * loss_listwise.c - log loss of the positive rows among all rows of their list. op/loss_listwise.c
 * has the arithmetic.
 */
#include "layer/loss_list.h"

#include <math.h>

#include "op/param.h"

typedef struct listwise_conf {
    cr_conf_base base;
    const char *session_name;
    double temperature_init;
    bool learnable_temperature;
} listwise_conf;

static const cr_field listwise_fields[] = {
    CR_STR(listwise_conf, session_name, NULL, CR_F_REQUIRED,
           "sparse feature whose first id is the list"),
    CR_FLOAT(listwise_conf, temperature_init, 0.07, 0, CR_INF, 0,
             "what logits are divided by, at first"),
    CR_BOOL(listwise_conf, learnable_temperature, true, 0, "learn it; never below 0.01"),
    CR_END,
};
static void listwise_check(const void *self, cr_diag *diag) {
    const listwise_conf *c = self;
    if (!(c->temperature_init > 0 && isfinite(c->temperature_init)))
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "temperature_init"),
            "temperature_init must be above 0, since logits are divided by it; leave it out "
            "for 0.07");
}
const cr_msg cr_loss_listwise_rank_loss_msg = {
    .name = "ListwiseRankLoss",
    .help = "Log loss of the positive rows among those of their list",
    .fields = listwise_fields,
    .size = sizeof(listwise_conf),
    .check = listwise_check,
};

static cr_label_kind any_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_ANY;
}

static const char *listwise_session(const void *conf) {
    return ((const listwise_conf *)conf)->session_name;
}

/* The temperature is stored as the logarithm of its inverse, which is at most ln 100. */
static cr_node *listwise_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                             const cr_session *s) {
    const listwise_conf *c = conf;
    double first = -log(c->temperature_init);
    cr_node *scale = c->learnable_temperature ? cr_weight(g, "logit_scale", 1, 1, CR_INIT_C(first))
                                              : cr_buffer(g, "logit_scale", 0, first);
    scale->n_dims = 0;
    cr_node *z = cr_mul(g, logits, cr_fold_exp(g, scale, (float)log(100)));
    return cr_listwise(g, z, label, s);
}

const cr_loss_type cr_loss_listwise_rank_loss = {
    .name = "listwise_rank_loss",
    .pred = CR_PRED_SIGMOID,
    .min_class = 1,
    .max_class = 1,
    .labels = any_labels,
    .session = listwise_session,
    .whole_lists = true,
    .row = listwise_row,
};
