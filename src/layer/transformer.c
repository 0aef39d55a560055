/*
 * transformer.c - layers of a transformer's encoder over the steps of a sequence, as torch's
 * TransformerEncoderLayer has them, with its names: layers.i.self_attn.in_proj_weight, linear1,
 * norm1, ...
 *
 * A target row may take part: it is one more step of each sequence. It has the same weights as the
 * steps, and stays a row.
 */
#include <math.h>

#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

/* The parameters of one layer. */
typedef struct weights {
    cr_node *in, *in_b, *out, *out_b, *up, *up_b, *down, *down_b, *gamma[2], *beta[2];
} weights;

static weights make(cr_graph *g, int64_t D, int64_t ff, bool bias) {
    weights w = {0};
    cr_init zero = CR_INIT_C(0);
    double up = 1.0 / sqrt((double)D), down = 1.0 / sqrt((double)ff);
    w.in =
        cr_weight(g, "self_attn.in_proj_weight", 3 * D, D, CR_INIT_U(sqrt(6.0 / (double)(4 * D))));
    if (bias) w.in_b = cr_vector(g, "self_attn.in_proj_bias", 3 * D, zero);
    w.out = cr_weight(g, "self_attn.out_proj.weight", D, D, CR_INIT_U(up));
    if (bias) w.out_b = cr_vector(g, "self_attn.out_proj.bias", D, zero);
    w.up = cr_weight(g, "linear1.weight", ff, D, CR_INIT_U(up));
    if (bias) w.up_b = cr_vector(g, "linear1.bias", ff, CR_INIT_U(up));
    w.down = cr_weight(g, "linear2.weight", D, ff, CR_INIT_U(down));
    if (bias) w.down_b = cr_vector(g, "linear2.bias", D, CR_INIT_U(down));
    return w;
}

static void make_norms(cr_graph *g, weights *w, int64_t D) {
    static const char *const gamma[] = {"norm1.weight", "norm2.weight"};
    static const char *const beta[] = {"norm1.bias", "norm2.bias"};
    for (int i = 0; i < 2; i++) {
        w->gamma[i] = cr_vector(g, gamma[i], D, CR_INIT_C(1));
        w->beta[i] = cr_vector(g, beta[i], D, CR_INIT_C(0));
    }
}

static cr_node *plus(cr_graph *g, cr_node *x, cr_node *y, double dropout) {
    if (dropout > 0) y = cr_dropout(g, y, (float)dropout);
    return cr_add(g, (cr_node *[]){x, y}, (float[]){1, 1}, 2);
}

/* Normalizes x where the layer does so: before a part (PRE) or behind it (POST). */
static cr_node *norm(cr_graph *g, const weights *w, int i, cr_node *x, bool here) {
    return here ? cr_layer_norm(g, x, w->gamma[i], w->beta[i], 1e-5f) : x;
}

/* q, k and v of x, side by side. */
static void project(cr_graph *g, const weights *w, cr_node *x, cr_node **qkv) {
    cr_node *all = cr_matmul(g, x, w->in, w->in_b, false);
    for (int i = 0; i < 3; i++)
        qkv[i] = cr_slice(g, all, i * x->width, x->width);
}

/* The layers behind the attention y of x. */
static cr_node *feed_forward(cr_graph *g, const cr_transformer_conf *c, const weights *w,
                             const cr_act_spec *act, cr_node *x, cr_node *y) {
    bool pre = c->norm == CR_NORM_PRE, post = c->norm == CR_NORM_POST;
    x = plus(g, x, cr_matmul(g, y, w->out, w->out_b, false), c->dropout);
    x = norm(g, w, 0, x, post);
    cr_node *h = cr_matmul(g, norm(g, w, 1, x, pre), w->up, w->up_b, false);
    h = cr_act_apply(g, "activation", act, h);
    if (c->dropout > 0) h = cr_dropout(g, h, (float)c->dropout);
    x = plus(g, x, cr_matmul(g, h, w->down, w->down_b, false), c->dropout);
    return norm(g, w, 1, x, post);
}

void cr_transformer(cr_graph *g, const char *name, const cr_transformer_conf *c, cr_node **steps,
                    cr_node **target, const cr_act_spec *act) {
    int64_t D = (*steps)->width, ff = c->ff_units ? c->ff_units : 4 * D;
    int64_t head_dim = D / c->num_heads; /* num_heads divides D */
    float scale = (float)(1.0 / sqrt((double)head_dim));
    for (int64_t i = 0; i < c->num_layers; i++) {
        size_t mark = cr_graph_push(g, "%s.layers.%d", name, (int)i);
        weights w = make(g, D, ff, !c->no_bias);
        if (c->norm != CR_NORM_NONE) make_norms(g, &w, D);
        cr_graph_pop(g, mark);
        cr_node *s[3], *r[3] = {NULL, NULL, NULL}, *in = *steps, *row = *target;
        bool pre = c->norm == CR_NORM_PRE;
        project(g, &w, norm(g, &w, 0, in, pre), s);
        if (row) project(g, &w, norm(g, &w, 0, row, pre), r);
        cr_node *y = c->sessions ? cr_seq_attend_runs(g, s[0], s[1], s[2], c->sessions,
                                                      c->num_heads, scale, (float)c->dropout)
                                 : cr_seq_attend(g, s[0], s[1], s[2], r[1], r[2], c->num_heads,
                                                 scale, (float)c->dropout);
        *steps = feed_forward(g, c, &w, act, in, y);
        if (!row) continue;
        y = cr_seq_attend(g, r[0], s[1], s[2], r[1], r[2], c->num_heads, scale, (float)c->dropout);
        *target = feed_forward(g, c, &w, act, row, y);
    }
}
