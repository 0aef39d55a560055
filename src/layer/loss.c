/*
 * loss.c - the losses by their config messages. See op/loss.c for the arithmetic.
 */
#include "layer/loss.h"

#include "op/op.h"

static cr_node *bce_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label) {
    const cr_cross_entropy_conf *c = conf;
    return cr_bce(g, logits, label, (float)c->label_smoothing);
}

static cr_node *softmax_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label) {
    const cr_cross_entropy_conf *c = conf;
    return cr_softmax_ce(g, logits, label, (float)c->label_smoothing);
}

static cr_node *l2_row(cr_graph *g, const void *conf, cr_node *logits, cr_node *label) {
    (void)conf;
    return cr_l2(g, logits, label);
}

extern const cr_loss_type cr_loss_bce, cr_loss_softmax, cr_loss_l2;
const cr_loss_type cr_loss_bce = {"binary_cross_entropy", CR_PRED_SIGMOID, bce_row};
const cr_loss_type cr_loss_softmax = {"softmax_cross_entropy", CR_PRED_SOFTMAX, softmax_row};
const cr_loss_type cr_loss_l2 = {"l2_loss", CR_PRED_VALUE, l2_row};
