/*
 * mlp.c - Linear and TorchEasyRec's MLP. A layer is Linear (without a bias when batch norm follows)
 * -> norm -> activation -> dropout. A ReLU straight after a Linear or a batch norm is fused into
 * it.
 */
#include <math.h>
#include <stdio.h>

#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

cr_node *cr_linear(cr_graph *g, const char *name, cr_node *x, int64_t out, bool bias, bool relu) {
    size_t mark = cr_graph_push(g, "%s", name);
    cr_init init = CR_INIT_U(1.0 / sqrt((double)x->width));
    cr_node *W = cr_weight(g, "weight", out, x->width, init);
    cr_node *b = bias ? cr_vector(g, "bias", out, init) : NULL;
    cr_graph_pop(g, mark);
    return cr_matmul(g, x, W, b, relu);
}

int64_t cr_mlp_width(const cr_mlp_conf *c, int64_t in) {
    return c && c->hidden_units.n ? c->hidden_units.v[c->hidden_units.n - 1] : in;
}

/* The input of the first layer, made from a query q and x at each position. */
typedef enum form {
    PLAIN,   /* x */
    DIN,     /* [q; x; q - x; q * x] */
    WINDOWS, /* [x; q * x; q] */
} form;

static cr_node *query_linear(cr_graph *g, const char *name, form f, cr_node *q, cr_node *x,
                             int64_t out, bool bias, bool relu) {
    int64_t C = x->width, in = (f == DIN ? 4 : 3) * C;
    size_t mark = cr_graph_push(g, "%s", name);
    cr_init init = CR_INIT_U(1.0 / sqrt((double)in));
    cr_node *W = cr_weight(g, "weight", out, in, init);
    cr_node *b = bias ? cr_vector(g, "bias", out, init) : NULL;
    cr_graph_pop(g, mark);
    if (f == WINDOWS)
        W = cr_fold_columns(g, W, (const cr_range[]){{2 * C, C}, {0, C}, {-1, C}, {C, C}}, 4);
    return cr_din(g, q, x, W, b, relu);
}

static cr_node *layers(cr_graph *g, const char *name, const cr_mlp_conf *c, form f, cr_node *q,
                       cr_node *x, cr_node **each, cr_diag *diag) {
    cr_act_spec act;
    cr_err err;
    if (cr_act_parse(&act, c->activation, &err) != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "activation"), "%s", err.msg);
        act = (cr_act_spec){CR_ACTK_NONE, 0, {0}};
    }
    int64_t n = c->hidden_units.n, nd = c->dropout_ratio.n;
    size_t mark = cr_graph_push(g, "%s", name);
    for (int64_t i = 0; i < n; i++) {
        size_t m = cr_graph_push(g, "mlp.%d.perceptron", (int)i);
        char part[16];
        int j = 0;
        bool fuse =
            !(c->use_ln && !c->use_bn) && act.kind == CR_ACTK_PLAIN && act.act == CR_ACT_RELU;
        bool bias = c->bias && !c->use_bn;
        int64_t units = c->hidden_units.v[i];
        x = f != PLAIN && i == 0 ? query_linear(g, "0", f, q, x, units, bias, fuse && !c->use_bn)
                                 : cr_linear(g, "0", x, units, bias, fuse && !c->use_bn);
        j++;
        if (c->use_bn) {
            /* over steps TorchEasyRec has a transposition before batch norm and one behind it,
             * which j counts */
            j += f != PLAIN;
            snprintf(part, sizeof(part), "%d", j++);
            x = cr_bn(g, part, x, true, fuse);
            j += f != PLAIN;
        } else if (c->use_ln) {
            snprintf(part, sizeof(part), "%d", j++);
            x = cr_ln(g, part, x, x->width);
        }
        if (cr_act_fits(&act, x, &err) != CR_OK)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "activation"), "%s", err.msg);
        if (act.kind != CR_ACTK_NONE) {
            snprintf(part, sizeof(part), "%d", j++);
            if (!fuse) x = cr_act_apply(g, part, &act, x);
        }
        double p = nd == 0 ? 0 : c->dropout_ratio.v[nd == 1 ? 0 : i];
        if (p > 0) x = cr_dropout(g, x, (float)p);
        if (each) each[i] = x;
        cr_graph_pop(g, m);
    }
    cr_graph_pop(g, mark);
    return x;
}

cr_node *cr_mlp(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *x, cr_diag *diag) {
    return c ? layers(g, name, c, PLAIN, NULL, x, NULL, diag) : x;
}

cr_node *cr_mlp_din(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *q, cr_node *x,
                    cr_diag *diag) {
    return layers(g, name, c, DIN, q, x, NULL, diag);
}

cr_node *cr_mlp_windows(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *q, cr_node *x,
                        cr_diag *diag) {
    return layers(g, name, c, WINDOWS, q, x, NULL, diag);
}

cr_node *cr_mlp_layers(cr_graph *g, const char *name, const cr_mlp_conf *c, cr_node *x,
                       cr_node **each, cr_diag *diag) {
    return layers(g, name, c, PLAIN, NULL, x, each, diag);
}
