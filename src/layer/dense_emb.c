/*
 * dense_emb.c - embeddings of numbers. AutoDis (Guo et al., 2021) in TorchEasyRec's form: h =
 * LeakyReLU(x w), z = M h + keep_prob h, a = softmax(z / temperature), out = a E; a soft choice
 * among E's rows. The MLP form is one matrix without bias.
 */
#include <math.h>

#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

cr_node *cr_autodis(cr_graph *g, const char *feature, cr_node *x, int64_t channels, int64_t dim,
                    double temperature, double keep_prob) {
    double c = (double)channels;
    size_t mark = cr_graph_push(g, "meta_emb_%s", feature);
    cr_node *E = cr_weight(g, "weight", channels, dim, CR_INIT_N(1));
    cr_graph_pop(g, mark);
    mark = cr_graph_push(g, "proj_w_%s", feature);
    cr_node *w = cr_weight(g, "weight", channels, 1, CR_INIT_N(sqrt(2.0 / (1 + c))));
    cr_graph_pop(g, mark);
    mark = cr_graph_push(g, "proj_m_%s", feature);
    cr_node *M = cr_weight(g, "weight", channels, channels, CR_INIT_N(sqrt(1.0 / c)));
    cr_graph_pop(g, mark);
    cr_node *h = cr_activation(g, CR_ACT_LEAKY, 0.01f, cr_matmul(g, x, w, NULL, false));
    cr_node *z = cr_add(g, (cr_node *[]){cr_matmul(g, h, M, NULL, false), h},
                        (float[]){1, (float)keep_prob}, 2);
    return cr_matmul_kn(g, cr_softmax(g, z, (float)(1.0 / temperature)), E);
}

cr_node *cr_mlp_embedding(cr_graph *g, const char *feature, cr_node *x, int64_t dim) {
    size_t mark = cr_graph_push(g, "proj_w_%s", feature);
    cr_node *W =
        cr_weight(g, "weight", x->width, dim, CR_INIT_N(sqrt(2.0 / (double)(x->width + dim))));
    cr_graph_pop(g, mark);
    return cr_matmul_kn(g, x, W);
}
