/*
 * seq.c - sequence encoders: they turn the positions of a row into one vector.
 */
#include <math.h>

#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

/* Fills a query up with zeros to the width of s. */
static cr_node *as_wide(cr_graph *g, cr_node *q, const cr_node *s) {
    return q->width < s->width ? cr_pad(g, q, s->width) : q;
}

/* softmax(FC_1(mlp([q; s; q - s; q * s]))) s */
cr_node *cr_din_encoder(cr_graph *g, const char *name, const cr_mlp_conf *attn, cr_node *q,
                        cr_node *s, double scale, cr_diag *diag) {
    q = as_wide(g, q, s);
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *h = cr_mlp_din(g, "mlp", attn, q, s, diag);
    cr_node *score = cr_linear(g, "linear", h, 1, true, false);
    cr_graph_pop(g, mark);
    return cr_seq_weigh(g, cr_seq_softmax(g, score, (float)scale), s);
}

cr_node *cr_simple_attention(cr_graph *g, cr_node *q, cr_node *s, bool tanh) {
    cr_node *score = cr_row_sum(g, cr_mul(g, cr_seq_spread(g, q, s->axis), s));
    if (tanh) score = cr_activation(g, CR_ACT_TANH, NULL, score);
    return cr_seq_weigh(g, cr_seq_softmax(g, score, 1), s);
}

/* [per window: mean of PReLU(FC_1(mlp([s; q * s; q]))) s; q] */
cr_node *cr_window_encoder(cr_graph *g, const char *name, const cr_mlp_conf *attn, cr_node *q,
                           cr_node *s, const cr_ints *len, cr_diag *diag) {
    q = as_wide(g, q, s);
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *h = cr_mlp_windows(g, "mlp", attn, q, s, diag);
    cr_node *score = cr_linear(g, "linear", h, 1, true, false);
    cr_act_spec prelu = {CR_ACTK_PRELU, 0, {1, 0.25f}};
    score = cr_act_apply(g, "active", &prelu, score);
    cr_graph_pop(g, mark);
    cr_node *windows = cr_seq_windows(g, score, s, len->v, (int)len->n);
    return cr_concat(g, (cr_node *[]){windows, q}, 2);
}

/* torch has a projection behind each of the three linear layers, with nothing in between, so both
 * are folded into one matrix per step. What follows the values is folded too: the mean over the
 * positions is taken of s itself, and the values, their projection and the output's projection are
 * computed once per row. */
cr_node *cr_self_attention(cr_graph *g, const char *name, cr_node *s, int64_t dim, int64_t heads,
                           double dropout, int all) {
    static const char *const parts[] = {"_query", "_key", "_value"};
    int64_t C = s->width;
    cr_init first = CR_INIT_U(1.0 / sqrt((double)C)), zero = CR_INIT_C(0);
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *W[3], *b[3];
    for (int i = 0; i < 3; i++) {
        size_t m = cr_graph_push(g, "%s", parts[i]);
        W[i] = cr_weight(g, "weight", dim, C, first);
        b[i] = cr_vector(g, "bias", dim, first);
        cr_graph_pop(g, m);
    }
    size_t m = cr_graph_push(g, "_multihead_attn");
    cr_node *in =
        cr_weight(g, "in_proj_weight", 3 * dim, dim, CR_INIT_U(sqrt(6.0 / (double)(4 * dim))));
    cr_node *in_b = cr_vector(g, "in_proj_bias", 3 * dim, zero);
    cr_node *out = cr_weight(g, "out_proj.weight", dim, dim, CR_INIT_U(1.0 / sqrt((double)dim)));
    cr_node *out_b = cr_vector(g, "out_proj.bias", dim, zero);
    cr_graph_pop(g, m);
    cr_graph_pop(g, mark);
    for (int i = 0; i < 3; i++) {
        b[i] = cr_fold_affine(g, in, i * dim, dim, b[i], in_b);
        W[i] = cr_fold_product(g, in, i * dim, dim, W[i]);
    }
    cr_node *q = cr_matmul(g, s, W[0], b[0], false), *k = cr_matmul(g, s, W[1], b[1], false);
    int64_t head_dim = dim / heads; /* heads divides dim */
    float scale = (float)(1.0 / sqrt((double)head_dim));
    cr_node *x = cr_seq_attention(g, q, k, s, heads, scale, (float)dropout, all);
    return cr_matmul(g, x, cr_fold_heads(g, W[2], b[2], out, out_b, heads), NULL, false);
}
