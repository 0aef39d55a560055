/*
 * param.c - first values of dense parameters: a function of (seed, name, index).
 */
#include "op/param.h"

#include "base/rng.h"

void cr_params_fill(cr_graph *g, uint64_t seed) {
    for (int i = 0; i < g->n; i++) {
        cr_node *n = g->nodes[i];
        if (n->cls == CR_PARAM && n->init)
            cr_init_fill(n->init, cr_rng_key(seed, "init", n->name), 0, n->width, n->w);
    }
}
