/*
 * loss_pairwise.c - puts positive rows above the negative rows of their session; crank only.
 * op/loss_pairwise.c has the arithmetic.
 */
#include "layer/loss_list.h"

#include <math.h>

typedef enum pair_kind { PAIR_LOGISTIC = 0, PAIR_HINGE = 1 } pair_kind;
typedef struct pairwise_conf { /* crank only */
    cr_conf_base base;
    const char *session_name;
    int kind; /* a pair_kind */
    double margin;
    int64_t max_negatives;
    bool halves;
} pairwise_conf;

static const cr_enum_value pair_kinds[] = {
    {"LOGISTIC", PAIR_LOGISTIC, "log(1 + exp(-d)) of a pair's score difference d", NULL},
    {"HINGE", PAIR_HINGE, "max(0, margin - d)", NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_field pairwise_fields[] = {
    CR_STR(pairwise_conf, session_name, NULL, 0,
           "sparse feature whose first id is the session; empty: the batch is one session"),
    CR_ENUM(pairwise_conf, kind, pair_kinds, PAIR_LOGISTIC, 0, "loss of one pair"),
    CR_FLOAT(pairwise_conf, margin, 1.0, 0, CR_INF, 0, "distance that HINGE asks for"),
    CR_INT(pairwise_conf, max_negatives, 32, 1, 1048576, 0,
           "most negatives that a positive is compared with; more are sampled down to this number"),
    CR_BOOL(pairwise_conf, halves, false, 0,
            "row i of the first half of a batch is to be above row i of its second half, as in "
            "PaddleRec's match-pyramid; labels and sessions are not read"),
    CR_END,
};
const cr_msg cr_loss_pairwise_loss_msg = {
    .name = "PairwiseLoss",
    .help = "Positive rows above the negative rows of their session; crank "
            "only",
    .fields = pairwise_fields,
    .size = sizeof(pairwise_conf),
};

static cr_label_kind class_labels(const void *conf) {
    (void)conf;
    return CR_LABEL_CLASS;
}

static const char *pairwise_session(const void *conf) {
    return ((const pairwise_conf *)conf)->session_name;
}

static cr_node *pairwise_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                             const cr_session *s) {
    const pairwise_conf *c = conf;
    cr_pairwise_opts o = {c->kind == PAIR_HINGE, c->margin, c->max_negatives, c->halves};
    return cr_pairwise(g, logits, label, s, &o);
}

const cr_loss_type cr_loss_pairwise_loss = {
    .name = "pairwise_loss",
    .pred = CR_PRED_SIGMOID,
    .min_class = 1,
    .max_class = 1,
    .labels = class_labels,
    .session = pairwise_session,
    .row = pairwise_row,
};
