/*
 * loss.h - losses of LossConfig: what they add to the graph and which predictions go with them.
 */
#ifndef CR_LAYER_LOSS_H
#define CR_LAYER_LOSS_H

#include "graph/graph.h"
#include "layer/config.h"

typedef enum cr_pred_kind { CR_PRED_SIGMOID, CR_PRED_SOFTMAX, CR_PRED_VALUE } cr_pred_kind;
struct cr_loss_type {
    const char *name; /* key in logs and results */
    cr_pred_kind pred;
    /* row: one loss per row of logits (K) against labels (1) */
    cr_node *(*row)(cr_graph *g, const void *conf, cr_node *logits, cr_node *label);
};

#endif
