/*
 * recurrent.c - layers over the steps of a sequence, in order: GRU, and DIEN's interest evolution.
 * Parameters have the names of torch's GRU: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0.
 */
#include <math.h>

#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

/* The parameters of a GRU, and what its gates get from the inputs. */
typedef struct gru_parts {
    cr_node *x, *U, *b;
} gru_parts;
static gru_parts parts(cr_graph *g, const char *name, cr_node *x, int64_t H) {
    cr_init init = CR_INIT_U(1.0 / sqrt((double)H));
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *W = cr_weight(g, "weight_ih_l0", 3 * H, x->width, init);
    cr_node *U = cr_weight(g, "weight_hh_l0", 3 * H, H, init);
    cr_node *bw = cr_vector(g, "bias_ih_l0", 3 * H, init);
    cr_node *bu = cr_vector(g, "bias_hh_l0", 3 * H, init);
    cr_graph_pop(g, mark);
    return (gru_parts){cr_matmul(g, x, W, bw, false), U, bu};
}

cr_node *cr_gru_layer(cr_graph *g, const char *name, cr_node *x, int64_t H, cr_node *att, int kind,
                      bool reset_before) {
    gru_parts p = parts(g, name, x, H);
    return cr_gru(g, p.x, p.U, p.b, att, (cr_gru_kind)kind, reset_before);
}

cr_node *cr_gru_layer_from(cr_graph *g, const char *name, cr_node *x, int64_t H, cr_node *start,
                           bool reverse, bool reset_before) {
    gru_parts p = parts(g, name, x, H);
    return cr_gru_from(g, p.x, p.U, p.b, start, reverse, reset_before);
}

cr_node *cr_evolution(cr_graph *g, const char *name, const cr_evolution_conf *c, cr_node *q,
                      cr_node *x, cr_node **states, cr_diag *diag) {
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *h = cr_gru_layer(g, "gru", x, c->hidden_size, NULL, CR_GRU_PLAIN, c->reset_before);
    *states = h;
    if (q->width < h->width) q = cr_pad(g, q, h->width);
    cr_node *score =
        cr_linear(g, "linear", cr_mlp_din(g, "mlp", c->attn_mlp, q, h, diag), 1, true, false);
    cr_node *a = cr_seq_softmax(g, score, 1);
    if (c->kind == CR_EVOLVE_AIGRU)
        h = cr_gru_layer(g, "evolution", cr_mul(g, h, a), c->hidden_size, NULL, CR_GRU_PLAIN,
                         c->reset_before);
    else
        h = cr_gru_layer(g, "evolution", h, c->hidden_size, a,
                         c->kind == CR_EVOLVE_AGRU ? CR_GRU_AGRU : CR_GRU_AUGRU, c->reset_before);
    cr_graph_pop(g, mark);
    return cr_seq_end(g, h, false);
}
