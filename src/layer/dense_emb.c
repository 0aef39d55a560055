/*
 * dense_emb.c - embeddings of numbers. AutoDis (Guo et al., 2021) in TorchEasyRec's form: h =
 * LeakyReLU(x w), z = M h + keep_prob h, a = softmax(z / temperature), out = a E; a soft choice
 * among E's rows. The MLP form is one matrix without bias.
 */
#include <math.h>
#include <string.h>

#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

/* TorchEasyRec keeps features of equal settings in one module, named by the settings with _ for .
 */
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

cr_node *cr_autodis(cr_graph *g, const char *feature, cr_node *x, int64_t channels, int64_t dim,
                    double temperature, double keep_prob) {
    double c = (double)channels;
    size_t mark =
        push_key(g, cr_arena_printf(&g->arena, "autodis#%lld#%lld#%.6f#%.6f", (long long)dim,
                                    (long long)channels, keep_prob, temperature));
    cr_node *E = weight(g, "meta_emb", feature, channels, dim, 1);
    cr_node *w = weight(g, "proj_w", feature, channels, 1, sqrt(2.0 / (1 + c)));
    cr_node *M = weight(g, "proj_m", feature, channels, channels, sqrt(1.0 / c));
    w->n_dims = 1;
    cr_graph_pop(g, mark);
    cr_node *h = cr_activation(g, CR_ACT_LEAKY, 0.01f, cr_matmul(g, x, w, NULL, false));
    cr_node *z = cr_add(g, (cr_node *[]){cr_matmul(g, h, M, NULL, false), h},
                        (float[]){1, (float)keep_prob}, 2);
    return cr_matmul_kn(g, cr_softmax(g, z, (float)(1.0 / temperature)), E);
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
