/*
 * param.h - dense parameters with their initial values.
 */
#ifndef CR_OP_PARAM_H
#define CR_OP_PARAM_H

#include "emb/init.h"
#include "graph/graph.h"

static inline cr_node *cr_weight(cr_graph *g, const char *name, int64_t rows, int64_t cols,
                                 cr_init init) {
    return cr_graph_param(g, name, rows, cols, true, &init, sizeof(init));
}
/* A vector of n numbers (a bias, a scale). */
static inline cr_node *cr_vector(cr_graph *g, const char *name, int64_t n, cr_init init) {
    cr_node *p = cr_weight(g, name, 1, n, init);
    p->n_dims = 1;
    return p;
}
/* A buffer is saved but never trained (running statistics); n 0: one number. */
static inline cr_node *cr_buffer(cr_graph *g, const char *name, int64_t n, double value) {
    cr_init init = CR_INIT_C(value);
    cr_node *p = cr_graph_param(g, name, 1, n ? n : 1, false, &init, sizeof(init));
    p->n_dims = n ? 1 : 0;
    return p;
}
/* cr_params_fill gives all parameters of an allocated graph their first values. */
void cr_params_fill(cr_graph *g, uint64_t seed);

#endif
