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
/* a buffer: saved, never trained (running statistics) */
static inline cr_node *cr_buffer(cr_graph *g, const char *name, int64_t n, double value) {
    cr_init init = CR_INIT_C(value);
    return cr_graph_param(g, name, 1, n, false, &init, sizeof(init));
}
/* cr_params_fill gives all parameters of an allocated graph their first values. */
void cr_params_fill(cr_graph *g, uint64_t seed);

#endif
