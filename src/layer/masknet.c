/*
 * masknet.c - MaskNet's module (Wang et al., 2021): blocks whose input is gated by a mask made from
 * the embeddings e. block(v, e) = ReLU(LN(FC(v * m))) with m = FC(ReLU(FC(e))).
 *
 * With n = LN(e): parallel blocks all get (n, e), and their outputs stand side by side; in a chain
 * the first block gets (n, e) and every other one the output of the block before it and e. The
 * mask's inner width follows the block's input v, so it may differ between the first block of a
 * chain and the others.
 */
#include <stdio.h>

#include "layer/layer.h"
#include "op/op.h"

cr_node *cr_mask_block(cr_graph *g, const char *name, const cr_mask_block_conf *c, cr_node *v,
                       cr_node *e, cr_diag *diag) {
    int64_t inner = c->aggregation_dim;
    if (c->reduction_ratio > 0) inner = (int64_t)((double)v->width * c->reduction_ratio);
    if (inner < 1) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "reduction_ratio"),
                    "reduction_ratio %g of an input of width %lld leaves the mask's inner layer "
                    "empty; use %g or more",
                    c->reduction_ratio, (long long)v->width, 1.0 / (double)v->width);
        return NULL;
    }
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *m = cr_linear(g, "mask_generator.0", e, inner, true, true);
    m = cr_linear(g, "mask_generator.2", m, v->width, true, false);
    cr_node *h = cr_linear(g, "ffn.0", cr_mul(g, v, m), c->hidden_dim, true, false);
    h = cr_activation(g, CR_ACT_RELU, NULL, cr_ln(g, "ffn.1", h, h->width));
    cr_graph_pop(g, mark);
    return h;
}

cr_node *cr_mask_net(cr_graph *g, const char *name, const cr_mask_net_conf *c, cr_node *e,
                     cr_diag *diag) {
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *n = cr_ln(g, "ln_emb", e, e->width), *h = n;
    cr_node **out = CR_NEW_N(&g->arena, cr_node *, c->n_mask_blocks);
    for (int64_t i = 0; h && i < c->n_mask_blocks; i++) {
        char part[40];
        snprintf(part, sizeof(part), "mask_blocks.%lld", (long long)i);
        h = out[i] = cr_mask_block(g, part, c->mask_block, c->use_parallel ? n : h, e, diag);
    }
    if (h && c->use_parallel) h = cr_concat(g, out, (int)c->n_mask_blocks);
    if (h) h = cr_mlp(g, "top_mlp", c->top_mlp, h, diag);
    cr_graph_pop(g, mark);
    return h;
}
