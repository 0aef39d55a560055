/*
 * leave_out.c - scores of all items (n) without those of the items that the row has already: at the
 * numbers k of its positions the score is so low that none is chosen. Training keeps all scores,
 * because its loss is about these items.
 */
#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

#define NEVER (-1e9f)

enum { IN_X, IN_K };

static void infer(cr_node *n) {
    const cr_node *x = n->in[IN_X], *k = n->in[IN_K];
    if (x->cls != CR_ROW || k->cls != CR_SEQ || k->width != 1) CR_BUG("leave_out: shapes");
    n->cls = CR_ROW;
    n->width = x->width;
}

static void forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[IN_X], *k = n->in[IN_K];
    cr_kern->copy_rows(cr_val(t, n), cr_ld(n), cr_val(t, x), cr_ld(x), t->n_rows, n->width, false);
    if (t->train) return;
    const int32_t *off = cr_seq_off(t, k->axis);
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int32_t p = off[r]; p < off[r + 1]; p++) {
            float at = cr_val(t, k)[(p - off[0]) * cr_ld(k)];
            if (at >= 0 && at < (float)n->width) cr_val(t, n)[r * cr_ld(n) + (int64_t)at] = NEVER;
        }
}

static void backward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[IN_X];
    if (!cr_wants_grad(t, n, IN_X)) return;
    cr_kern->copy_rows(cr_grad(t, x), cr_ld(x), cr_grad(t, n), cr_ld(n), t->n_rows, n->width,
                       !cr_first_grad(t, n, IN_X));
}

static cr_node *example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    return cr_leave_out(g, cr_feed(g, 7), cr_feed_seq(g, cr_graph_axis(g), 1));
}

const cr_op_type cr_op_leave_out = {.name = "leave_out",
                                    .infer = infer,
                                    .forward = forward,
                                    .backward = backward,
                                    .example = example,
                                    .seq = true};

cr_node *cr_leave_out(cr_graph *g, cr_node *x, cr_node *k) {
    return cr_graph_op(g, &cr_op_leave_out, (cr_node *[]){x, k}, 2, NULL, 0);
}
