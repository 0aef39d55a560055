/*
 * toy.c - an op: half of x.
 */
#include "graph/gradcheck.h"
#include "op/op.h"

static void infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
}

static void forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int64_t i = 0; i < n->width; i++)
            cr_val(t, n)[r * cr_ld(n) + i] = cr_val(t, x)[r * cr_ld(x) + i] / 2;
}

static void backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *x = n->in[0];
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int64_t i = 0; i < n->width; i++) {
            float *d = &cr_grad(t, x)[r * cr_ld(x) + i];
            *d = (first ? 0 : *d) + cr_grad(t, n)[r * cr_ld(n) + i] / 2;
        }
}

static cr_node *example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *x = cr_feed(g, 7);
    return cr_graph_op(g, &cr_op_toy, &x, 1, NULL, 0);
}

const cr_op_type cr_op_toy = {
    .name = "toy",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .example = example,
};
