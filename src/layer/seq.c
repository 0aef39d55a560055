/*
 * seq.c - sequence encoders: the positions of a row into one vector.
 */
#include "layer/layer.h"
#include "op/op.h"

/* softmax(FC_1(mlp([q; s; q - s; q * s]))) s; q is filled up with zeros to the width of s */
cr_node *cr_din_encoder(cr_graph *g, const char *name, const cr_mlp_conf *attn, cr_node *q,
                        cr_node *s, cr_diag *diag) {
    if (q->width < s->width) q = cr_pad(g, q, s->width);
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *h = cr_mlp_din(g, "mlp", attn, q, s, diag);
    cr_node *score = cr_linear(g, "linear", h, 1, true, false);
    cr_graph_pop(g, mark);
    return cr_seq_weigh(g, cr_seq_softmax(g, score, 1), s);
}

cr_node *cr_simple_attention(cr_graph *g, cr_node *q, cr_node *s) {
    cr_node *score = cr_row_sum(g, cr_mul(g, cr_seq_spread(g, q, s->axis), s));
    return cr_seq_weigh(g, cr_seq_softmax(g, score, 1), s);
}
