/*
 * loss.h - the losses of LossConfig: what each adds to the graph, and which predictions belong to
 * it.
 */
#ifndef CR_LAYER_LOSS_H
#define CR_LAYER_LOSS_H

#include "graph/graph.h"
#include "layer/config.h"
#include "op/op.h"

typedef enum cr_pred_kind { CR_PRED_SIGMOID, CR_PRED_SOFTMAX, CR_PRED_VALUE } cr_pred_kind;
/* Which labels a loss accepts. */
typedef enum cr_label_kind {
    CR_LABEL_ANY,   /* any number */
    CR_LABEL_SHARE, /* 0 to 1 */
    CR_LABEL_CLASS, /* whole numbers 0 .. num_class - 1; with one output 0 and 1 */
} cr_label_kind;
struct cr_loss_type {
    const char *name; /* key in logs and results */
    cr_pred_kind pred;
    int64_t min_class, max_class; /* the values of num_class that it works with; max 0: no limit */
    cr_label_kind (*labels)(const void *conf);
    /* Returns the name of the sparse feature that holds the session (field session_name); NULL or
     * empty: all rows are one session. A NULL pointer here: the loss has no sessions. */
    const char *(*session)(const void *conf);
    /* Returns the name of another label that row finds in s->condition. A NULL pointer here: the
     * loss reads no other label. */
    const char *(*condition)(const void *conf);
    /* Returns a number that is added to the logits for this loss and its prediction; NULL: nothing
     * is added. */
    double (*offset)(const void *conf);
    bool whole_lists; /* it compares whole lists and takes no row weights */
    bool train_only;  /* a task with this loss alone has no predictions and is not evaluated */
    /* row adds one loss per row, of logits (K) against labels (1); parameters are named under the
     * graph's scope. */
    cr_node *(*row)(cr_graph *g, const void *conf, cr_node *logits, cr_node *label,
                    const cr_session *s);
};

#endif
