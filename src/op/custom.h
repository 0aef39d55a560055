/*
 * custom.h - ops that a user wrote, made from callbacks (crank/model.h).
 */
#ifndef CR_OP_CUSTOM_H
#define CR_OP_CUSTOM_H

#include <crank/model.h>

#include "graph/graph.h"

typedef struct cr_custom_spec {
    const crank_op *op; /* lives as long as the graph */
    int n_in, n_weights;
    int64_t width; /* width of the output */
    const void *data;
    size_t size; /* bytes of data, which is copied */
} cr_custom_spec;
/* cr_custom adds such an op. in holds n_in rows (or positions), then n_weights parameters. what
 * names the op in messages ("op 'x' of lib.so"); it is not copied. */
cr_node *cr_custom(cr_graph *g, const cr_custom_spec *s, cr_node *const *in, const char *what);
/* cr_custom_of returns the spec of a node that is such an op, else NULL. */
const cr_custom_spec *cr_custom_of(const cr_node *n, const char **what);

#endif
