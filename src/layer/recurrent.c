/*
 * recurrent.c - layers over the steps of a sequence, in order: GRU, LSTM, and DIEN's interest
 * evolution. Parameters have the names of torch's modules: weight_ih_l0, weight_hh_l0, bias_ih_l0,
 * bias_hh_l0.
 */
#include <math.h>
#include <stdio.h>

#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

/* The parameters of a layer with so many gates, and what its gates get from the inputs. `at` is the
 * end of their names: l0, l1_reverse. */
typedef struct gate_parts {
    cr_node *x, *U, *b;
} gate_parts;
static gate_parts parts(cr_graph *g, const char *name, const char *at, cr_node *x, int64_t H,
                        int gates) {
    static const char *const names[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    cr_init init = CR_INIT_U(1.0 / sqrt((double)H));
    cr_node *p[4];
    size_t mark = cr_graph_push(g, "%s", name);
    for (int i = 0; i < 4; i++) {
        char full[64];
        snprintf(full, sizeof full, "%s_%s", names[i], at);
        p[i] = i < 2 ? cr_weight(g, full, gates * H, i ? H : x->width, init)
                     : cr_vector(g, full, gates * H, init);
    }
    cr_graph_pop(g, mark);
    return (gate_parts){cr_matmul(g, x, p[0], p[2], false), p[1], p[3]};
}

cr_node *cr_gru_layer(cr_graph *g, const char *name, cr_node *x, int64_t H, cr_node *att, int kind,
                      bool reset_before) {
    gate_parts p = parts(g, name, "l0", x, H, 3);
    return cr_gru(g, p.x, p.U, p.b, att, (cr_gru_kind)kind, reset_before);
}

cr_node *cr_gru_layer_from(cr_graph *g, const char *name, cr_node *x, int64_t H, cr_node *start,
                           bool reverse, bool reset_before) {
    gate_parts p = parts(g, name, "l0", x, H, 3);
    return cr_gru_from(g, p.x, p.U, p.b, start, reverse, reset_before);
}

/* One direction of a layer of LSTM: its states. */
static cr_node *lstm_layer(cr_graph *g, const char *name, cr_node *x, int64_t H, int64_t layer,
                           bool reverse) {
    char at[48];
    snprintf(at, sizeof at, "l%lld%s", (long long)layer, reverse ? "_reverse" : "");
    gate_parts p = parts(g, name, at, x, H, 4);
    return cr_slice(g, cr_lstm(g, p.x, p.U, p.b, reverse), 0, H);
}

cr_node *cr_lstm_layers(cr_graph *g, const char *name, cr_node *x, int64_t H, int64_t layers,
                        bool both_ways, cr_node **back) {
    cr_node *y = x;
    *back = NULL;
    for (int64_t i = 0; i < layers; i++) {
        if (*back) x = cr_concat(g, (cr_node *[]){y, *back}, 2);
        y = lstm_layer(g, name, x, H, i, false);
        if (both_ways) *back = lstm_layer(g, name, x, H, i, true);
        if (!both_ways) x = y;
    }
    return y;
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
