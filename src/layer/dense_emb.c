/*
 * dense_emb.c - embeddings of numbers. AutoDis (Guo et al., 2021): a value becomes a soft choice
 * among the rows of E,
 *     h = LeakyReLU(w x), z = M h + alpha h, p = softmax(z / temperature), out = p E
 * TorchEasyRec calls alpha keep_prob (it is not a dropout). Other implementations differ in small
 * ways that change results; each difference is a field of cr_autodis_spec. A hard choice (max,
 * top-k) passes a gradient to E only, as published. The MLP form is one matrix without bias. The
 * piecewise and periodic forms (op/number.c) encode the number first.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

/* TorchEasyRec keeps features with equal settings in one module, whose name is the settings with _
 * in place of each dot. */
static size_t push_key(cr_graph *g, const char *key) {
    size_t mark = cr_graph_push(g, "dense_embs.%s", key);
    for (char *c = g->prefix + mark + strlen("dense_embs."); c[1]; c++)
        if (*c == '.') *c = '_';
    return mark;
}

static cr_node *weight(cr_graph *g, const char *what, const char *feature, int64_t rows,
                       int64_t cols, double std) {
    size_t mark = cr_graph_push(g, "%s_%s", what, feature);
    cr_node *w = cr_weight(g, "weight", rows, cols, CR_INIT_N(std));
    cr_graph_pop(g, mark);
    return w;
}

/* Is this the form that TorchEasyRec has? Then parameters get its names. */
static bool plain(const cr_autodis_spec *s) {
    return s->slope == 0.01 && !s->powers && !s->hidden && !s->blocks && !s->bias &&
           !s->score_act && !s->learned_scale && !s->kaiming && s->pick == CR_AUTODIS_WEIGHTED;
}

/* Adds a linear layer what_<feature>. Its weight is N(0, std^2), or Kaiming uniform with an N(0, 1)
 * bias. */
static cr_node *layer(cr_graph *g, const cr_autodis_spec *s, const char *what, const char *feature,
                      cr_node *x, int64_t out, double std) {
    cr_init init = s->kaiming ? CR_INIT_U(sqrt(6.0 / (double)x->width)) : CR_INIT_N(std);
    cr_init bias_init = s->kaiming ? CR_INIT_N(1) : CR_INIT_C(0);
    size_t mark = cr_graph_push(g, "%s_%s", what, feature);
    cr_node *W = cr_weight(g, "weight", out, x->width, init);
    cr_node *b = s->bias ? cr_vector(g, "bias", out, bias_init) : NULL;
    cr_graph_pop(g, mark);
    return cr_matmul(g, x, W, b, false);
}

static cr_node *leaky(cr_graph *g, const cr_autodis_spec *s, cr_node *x) {
    return cr_activation(g, CR_ACT_LEAKY, (float[3]){(float)s->slope}, x);
}

cr_node *cr_autodis(cr_graph *g, const char *feature, cr_node *x, const cr_autodis_spec *s) {
    int64_t hidden = s->hidden ? s->hidden : s->channels;
    long long dim = (long long)s->dim, channels = (long long)s->channels;
    const char *key = plain(s) ? cr_arena_printf(&g->arena, "autodis#%lld#%lld#%.6f#%.6f", dim,
                                                 channels, s->keep_prob, s->temperature)
                               : cr_arena_printf(&g->arena, "autodis#%lld#%lld#feature_name#%s",
                                                 dim, channels, feature);
    size_t mark = push_key(g, key);
    cr_node *E = weight(g, "meta_emb", feature, s->channels, s->dim, 1);
    if (s->powers) x = cr_powers(g, x);
    double n_in = (double)(x->width + hidden);
    cr_node *first = layer(g, s, "proj_w", feature, x, hidden, sqrt(2.0 / n_in));
    if (x->width == 1) first->in[1]->n_dims = 1;
    cr_node *h = leaky(g, s, first);
    for (int64_t i = 0; i < s->blocks; i++) {
        char what[32];
        snprintf(what, sizeof(what), "block%lld", (long long)i);
        cr_node *y = layer(g, s, what, feature, h, hidden, sqrt(1.0 / (double)hidden));
        float skip[] = {1, (float)s->block_alpha};
        h = leaky(g, s, cr_add(g, (cr_node *[]){y, h}, skip, 2));
    }
    cr_node *z = layer(g, s, "proj_m", feature, h, s->channels, sqrt(1.0 / (double)hidden));
    if (s->keep_prob != 0) z = cr_add(g, (cr_node *[]){z, h}, (float[]){1, (float)s->keep_prob}, 2);
    if (s->score_act) z = leaky(g, s, z);
    if (s->learned_scale) {
        size_t m = cr_graph_push(g, "temperature_%s", feature);
        z = cr_mul(g, z, cr_vector(g, "weight", s->channels, CR_INIT_C(1)));
        cr_graph_pop(g, m);
    }
    cr_graph_pop(g, mark);
    cr_node *p;
    if (s->pick == CR_AUTODIS_WEIGHTED)
        p = cr_softmax(g, z, s->learned_scale ? 1 : (float)(1.0 / s->temperature));
    else
        p = cr_top(g, z, s->pick == CR_AUTODIS_MAX ? 1 : s->top_k);
    return cr_matmul_kn(g, p, E);
}

cr_node *cr_mlp_embedding(cr_graph *g, const char *feature, cr_node *x, int64_t dim) {
    char *key = x->width == 1 ? cr_arena_printf(&g->arena, "mlp#%lld", (long long)dim)
                              : cr_arena_printf(&g->arena, "mlp#%lld#vdim#%lld#feature_name#%s",
                                                (long long)dim, (long long)x->width, feature);
    size_t mark = push_key(g, key);
    cr_node *W = weight(g, "proj_w", feature, x->width, dim, sqrt(2.0 / (double)(x->width + dim)));
    if (x->width == 1) W->n_dims = 1;
    cr_graph_pop(g, mark);
    return cr_matmul_kn(g, x, W);
}

/* y = W v + b of an encoded number v; the parameters are kind#dim#feature_name#<feature>.linear. */
static cr_node *linear_of(cr_graph *g, cr_node *v, int64_t dim, bool relu) {
    size_t mark = cr_graph_push(g, "linear");
    cr_init init = CR_INIT_U(1 / sqrt((double)v->width)); /* as torch.nn.Linear */
    cr_node *W = cr_weight(g, "weight", dim, v->width, init);
    cr_node *b = cr_vector(g, "bias", dim, init);
    cr_graph_pop(g, mark);
    return cr_matmul(g, v, W, b, relu);
}

static size_t push_form(cr_graph *g, const char *form, int64_t dim, const char *feature) {
    return push_key(g, cr_arena_printf(&g->arena, "%s#%lld#feature_name#%s", form, (long long)dim,
                                       feature));
}

cr_node *cr_piecewise_embedding(cr_graph *g, const char *feature, cr_node *x, const double *points,
                                int64_t n, int64_t dim, bool relu) {
    size_t mark = push_form(g, "piecewise", dim, feature);
    cr_node *y = linear_of(g, cr_piecewise(g, x, points, n), dim, relu);
    cr_graph_pop(g, mark);
    return y;
}

cr_node *cr_periodic_embedding(cr_graph *g, const char *feature, cr_node *x, int64_t frequencies,
                               double sigma, int64_t dim, bool relu) {
    size_t mark = push_form(g, "periodic", dim, feature);
    cr_node *c = cr_vector(g, "frequencies", frequencies, CR_INIT_N(sigma));
    cr_node *y = linear_of(g, cr_periodic(g, x, c), dim, relu);
    cr_graph_pop(g, mark);
    return y;
}
