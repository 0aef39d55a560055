/*
 * ensemble.c - K thin members of one network, trained together (TabM, Gorishniy et al., 2024;
 * BatchEnsemble, Wen et al., 2020).
 *
 * All members share the matrices; member k has vectors of its own around each: h_k <- act(s_k * (W
 * (r_k * h_k)) + b_k), and its own output. r of the first layer is drawn from a normal
 * distribution, so members see the input differently from the start; all others begin with 1.
 */
#include <math.h>
#include <stdio.h>

#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

static cr_node *scaled(cr_graph *g, const char *name, int k, cr_node *x, cr_init init) {
    size_t mark = cr_graph_push(g, "%s.%d", name, k);
    cr_node *v = cr_vector(g, "weight", x->width, init);
    cr_graph_pop(g, mark);
    return cr_mul(g, x, v);
}

/* One layer of all members: h[k] becomes its output. */
static void layer(cr_graph *g, int i, int64_t units, cr_node **h, int K, const cr_act_spec *act,
                  float dropout) {
    size_t mark = cr_graph_push(g, "layers.%d", i);
    double bound = 1.0 / sqrt((double)h[0]->width);
    cr_node *W = cr_weight(g, "weight", units, h[0]->width, CR_INIT_U(bound));
    for (int k = 0; k < K; k++) {
        cr_init one = CR_INIT_C(1), first = CR_INIT_N(1);
        cr_node *x = scaled(g, "r", k, h[k], i == 0 ? first : one);
        x = scaled(g, "s", k, cr_matmul(g, x, W, NULL, false), one);
        size_t m = cr_graph_push(g, "bias.%d", k);
        x = cr_bias(g, x, cr_vector(g, "weight", units, CR_INIT_U(bound)));
        cr_graph_pop(g, m);
        m = cr_graph_push(g, "act.%d", k);
        if (act->kind != CR_ACTK_NONE) x = cr_act_apply(g, "act", act, x);
        h[k] = dropout > 0 ? cr_dropout(g, x, dropout) : x;
        cr_graph_pop(g, m);
    }
    cr_graph_pop(g, mark);
}

cr_node *cr_ensemble(cr_graph *g, const char *name, const cr_ensemble_conf *c, cr_node *x,
                     cr_diag *diag) {
    cr_act_spec act;
    cr_err err;
    if (cr_act_parse(&act, c->activation, &err) != CR_OK || cr_act_fits(&act, x, &err) != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "activation"), "%s", err.msg);
        return NULL;
    }
    int K = (int)c->members;
    int64_t n = c->hidden_units.n, nd = c->dropout_ratio.n;
    if (nd > 1 && nd != n) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "dropout_ratio"),
                    "dropout_ratio has %lld numbers, and hidden_units %lld; give one, or one for "
                    "each layer",
                    (long long)nd, (long long)n);
        return NULL;
    }
    cr_node *h[CR_MAX_MEMBERS];
    size_t mark = cr_graph_push(g, "%s", name);
    for (int k = 0; k < K; k++)
        h[k] = x;
    for (int64_t i = 0; i < n; i++)
        layer(g, (int)i, c->hidden_units.v[i], h, K, &act,
              nd == 0 ? 0 : (float)c->dropout_ratio.v[nd == 1 ? 0 : i]);
    size_t m = cr_graph_push(g, "outputs");
    for (int k = 0; k < K; k++) {
        char part[16];
        snprintf(part, sizeof part, "%d", k);
        h[k] = cr_linear(g, part, h[k], 1, true, false);
    }
    cr_graph_pop(g, m);
    cr_graph_pop(g, mark);
    return cr_ensemble_mean(g, cr_concat(g, h, K), c->mean_of == CR_MEAN_OF_VALUES);
}
