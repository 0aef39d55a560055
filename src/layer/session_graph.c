/*
 * session_graph.c - SR-GNN (Wu et al. 2019): scores of all items for the session so far.
 *
 * k holds the number of the item at each position. Its vector is row k of `embedding.weight`. In
 * each step a node gets the mean of what the nodes before and behind it send,
 *   m = [mean of W_in h + b_in over the nodes before; mean of W_out h + b_out over those behind]
 * and moves by a gated unit: [u; r] = sigmoid(W_ur m + U_ur h + b_ur), c = tanh(W_c m + U_c (r * h)
 * + b_c), h <- h + u * (c - h). With h_n of the last position, a_i = q . sigmoid(W_1 h_i + W_2 h_n
 * + c) and s = W_3 [sum_i a_i h_i; h_n], the score of item i is s . e_i. The table is an ordinary
 * parameter: the softmax over all items gives each of its rows a gradient in each step.
 */
#include <math.h>

#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

static cr_node *added(cr_graph *g, cr_node *a, cr_node *b) {
    return cr_add(g, (cr_node *[]){a, b}, (float[]){1, 1}, 2);
}

/* One step of a gated unit from the states h, with the messages m. */
static cr_node *gated(cr_graph *g, cr_node *h, cr_node *m, int64_t H, cr_init init) {
    size_t mark = cr_graph_push(g, "gru");
    cr_node *W = cr_weight(g, "weight_ih", 3 * H, 2 * H, init);
    cr_node *U_ur = cr_weight(g, "weight_hh", 2 * H, H, init);
    cr_node *U_c = cr_weight(g, "weight_hc", H, H, init);
    cr_node *b_ur = cr_vector(g, "bias", 2 * H, CR_INIT_C(0));
    cr_node *b_c = cr_vector(g, "bias_c", H, CR_INIT_C(0));
    cr_graph_pop(g, mark);
    cr_node *x = cr_matmul(g, m, W, NULL, false);
    cr_node *ur =
        cr_activation(g, CR_ACT_SIGMOID, NULL,
                      added(g, cr_slice(g, x, 0, 2 * H), cr_matmul(g, h, U_ur, b_ur, false)));
    cr_node *u = cr_slice(g, ur, 0, H), *r = cr_slice(g, ur, H, H);
    cr_node *c = cr_activation(g, CR_ACT_TANH, NULL,
                               added(g, cr_slice(g, x, 2 * H, H),
                                     cr_matmul(g, cr_mul(g, r, h), U_c, b_c, false)));
    cr_node *move = cr_add(g, (cr_node *[]){c, h}, (float[]){1, -1}, 2);
    return added(g, h, cr_mul(g, u, move));
}

cr_node *cr_session_graph(cr_graph *g, const char *name, cr_node *k, int64_t items, int64_t H,
                          int64_t steps) {
    cr_init init = CR_INIT_U(1.0 / sqrt((double)H));
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *E = cr_weight(g, "embedding.weight", items, H, init);
    cr_node *h = cr_gather_rows(g, E, k);
    bool share = g->share;
    for (int64_t i = 0; i < steps; i++) {
        g->share = share || i > 0; /* all steps have the same weights */
        cr_node *in = cr_linear(g, "linear_in", h, H, true, false);
        cr_node *out = cr_linear(g, "linear_out", h, H, true, false);
        cr_node *m = cr_graph_mix(g, cr_concat(g, (cr_node *[]){in, out}, 2), k);
        h = gated(g, h, m, H, init);
    }
    g->share = share;
    cr_node *last = cr_seq_end(g, h, false);
    cr_node *a =
        added(g, cr_linear(g, "linear_one", h, H, false, false),
              cr_seq_spread(g, cr_linear(g, "linear_last", last, H, true, false), k->axis));
    a = cr_linear(g, "linear_weight", cr_activation(g, CR_ACT_SIGMOID, NULL, a), 1, false, false);
    cr_node *both[] = {cr_seq_weigh(g, a, h), last};
    cr_node *s = cr_linear(g, "linear_both", cr_concat(g, both, 2), H, false, false);
    cr_node *scores = cr_matmul(g, s, E, NULL, false);
    cr_graph_pop(g, mark);
    return scores;
}
