/*
 * flops.c - the operations of a graph: the multiply-adds of its products, as they stand in the
 * plain graph. Other ops count nothing, and work that sharing saves counts as done.
 */
#include "op/op.h"

static bool is_din(const cr_node *n) {
    return n->op == &cr_op_din || n->op == &cr_op_din_parts;
}

/* Counts the multiplications and additions of a node's product for one of its rows; NULL: it is not
 * a product. */
static const cr_node *product_of(const cr_node *n, double *flops) {
    if (n->op == &cr_op_emb_matmul || is_din(n)) {
        *flops = 2 * (double)n->in[2]->width;
        return n->in[2];
    }
    if (n->op != &cr_op_matmul) return NULL;
    const cr_node *W = n->in[1]; /* one product per group of columns */
    *flops = 2 * (double)W->width *
             ((double)n->width / (double)(n->in[0]->width == W->cols ? W->rows : W->cols));
    return W;
}

double cr_node_flops(const cr_node *n) {
    double flops;
    return product_of(n, &flops) ? flops : 0;
}

double cr_graph_flops(const cr_graph *g, const double *steps, bool train) {
    double sum = 0, flops;
    for (int i = 0; i < g->n; i++) {
        const cr_node *n = g->nodes[i], *W = product_of(n, &flops);
        if (!W) continue;
        int back = W->needs_grad + (n->in[0]->needs_grad || is_din(n));
        sum += (n->cls == CR_SEQ ? steps[n->axis] : 1) * flops * (1 + (train ? back : 0));
    }
    return sum;
}
