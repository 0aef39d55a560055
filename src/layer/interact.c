/*
 * interact.c - layers that multiply features with each other: the cross nets of DCN (Wang et al.,
 * 2017 and 2021), the compressed interaction network (Lian et al., 2018), Wukong's layer (Zhang et
 * al., 2024) and AutoInt's attention (Song et al., 2019).
 *
 * Where a matrix mixes fields, a row (F, D) is first transposed to (D, F), so that the matrix is
 * the right-hand side of an ordinary product. The names and shapes of parameters stay as in torch.
 */
#include <math.h>
#include <stdio.h>

#include "layer/layer.h"
#include "op/op.h"
#include "op/param.h"

/* x <- (w_i . x) x_0 + b_i + x; w starts Xavier uniform, b with zeros. */
cr_node *cr_cross_v1(cr_graph *g, const char *name, const cr_cross_conf *c, cr_node *x0) {
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *x = x0;
    char key[32];
    for (int64_t i = 0; i < c->cross_num; i++) {
        snprintf(key, sizeof(key), "w.%lld.weight", (long long)i);
        cr_node *w =
            cr_weight(g, key, 1, x0->width, CR_INIT_U(sqrt(6.0 / (double)(x0->width + 1))));
        snprintf(key, sizeof(key), "b.%lld", (long long)i);
        cr_node *b = cr_vector(g, key, x0->width, CR_INIT_C(0));
        x = cr_cross(g, x0, cr_matmul(g, x, w, NULL, false), x, b);
    }
    cr_graph_pop(g, mark);
    return x;
}

/* x <- x_0 * (V_i U_i x + b_i) + x */
cr_node *cr_cross_v2(cr_graph *g, const char *name, const cr_cross_conf *c, cr_node *x0) {
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *x = x0;
    char key[32];
    for (int64_t i = 0; i < c->cross_num; i++) {
        snprintf(key, sizeof(key), "u_kernels.%lld", (long long)i);
        cr_node *u = cr_linear(g, key, x, c->low_rank, false, false);
        snprintf(key, sizeof(key), "v_kernels.%lld", (long long)i);
        x = cr_cross(g, x0, cr_linear(g, key, u, x0->width, true, false), x, NULL);
    }
    cr_graph_pop(g, mark);
    return x;
}

cr_node *cr_cin_net(cr_graph *g, const char *name, const cr_cin_conf *c, cr_node *x, int64_t F,
                    int64_t D) {
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *x0 = cr_transpose(g, x, F, D), *xk = x0;
    cr_node **out = CR_NEW_N(&g->arena, cr_node *, c->cin_layer_size.n);
    int64_t H = F;
    for (int64_t i = 0; i < c->cin_layer_size.n; i++) {
        int64_t N = c->cin_layer_size.v[i];
        cr_init init = CR_INIT_U(1.0 / sqrt((double)(H * F)));
        size_t m = cr_graph_push(g, "cin_layers.%lld", (long long)i);
        /* torch has it as the weight of a Conv1d: (N, H F, 1) */
        cr_node *W = cr_weight(g, "weight", N, H * F, init);
        W->n_dims = 3;
        cr_node *b = cr_vector(g, "bias", N, init);
        cr_graph_pop(g, m);
        xk = cr_cin(g, xk, x0, W, b, D, H, F);
        out[i] = cr_field_sum(g, xk, D, N);
        H = N;
    }
    cr_graph_pop(g, mark);
    return cr_concat(g, out, (int)c->cin_layer_size.n);
}

/* Multiplies (D, n) by a matrix (n, out), stored as Wukong's blocks store it, and gives (D, out).
 * The matrix starts Kaiming uniform over its second size. */
static cr_node *mix(cr_graph *g, const char *name, cr_node *xt, int64_t n, int64_t out, int64_t D) {
    cr_node *W = cr_weight(g, name, n, out, CR_INIT_U(sqrt(6.0 / (double)out)));
    return cr_matmul_kn_each(g, xt, W, D);
}

cr_node *cr_wukong_layer(cr_graph *g, const char *name, const cr_wukong_layer_conf *c, cr_node *x,
                         int64_t F, int64_t D, cr_diag *diag) {
    int64_t lcb_n = c->lcb_feature_num, fmb_n = c->fmb_feature_num;
    int64_t C = c->compressed_feature_num, out = lcb_n + fmb_n;
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *xt = cr_transpose(g, x, F, D);
    cr_node *lcb = cr_transpose(g, mix(g, "lcb.weight", xt, F, lcb_n, D), D, lcb_n);
    size_t m = cr_graph_push(g, "fmb");
    cr_node *h = cr_bmm(g, x, mix(g, "weight", xt, F, C, D), F, D, C); /* X (X^T W) */
    h = cr_mlp(g, "mlp", c->feature_num_mlp, cr_ln(g, "norm", h, F * C), diag);
    cr_node *fmb = cr_linear(g, "feature_out_liner", h, fmb_n * D, true, false);
    cr_graph_pop(g, m);
    cr_node *rest = x;
    if (F != out)
        rest = cr_transpose(g, mix(g, "residual_projection.weight", xt, F, out, D), D, out);
    cr_node *both = cr_concat(g, (cr_node *[]){fmb, lcb}, 2);
    cr_node *y = cr_ln(g, "norm", cr_add(g, (cr_node *[]){both, rest}, (float[]){1, 1}, 2), D);
    cr_graph_pop(g, mark);
    return y;
}

cr_node *cr_autoint_layer(cr_graph *g, const char *name, const cr_autoint_layer_conf *c, cr_node *x,
                          int64_t F) {
    static const char *const keys[] = {"w_q.weight", "w_k.weight", "w_v.weight", "w_res.weight"};
    int64_t D = x->width / F, out = c->num_heads * c->head_dim;
    size_t mark = cr_graph_push(g, "%s", name);
    cr_node *p[4];
    for (int i = 0; i < (c->use_residual ? 4 : 3); i++) {
        cr_node *W = cr_weight(g, keys[i], out, D, CR_INIT_U(1.0 / sqrt((double)D)));
        p[i] = cr_matmul_each(g, x, W, NULL, false, F);
    }
    cr_graph_pop(g, mark);
    double scale = c->use_scale ? 1.0 / sqrt((double)c->head_dim) : 1.0;
    cr_node *y = cr_attention(g, p[0], p[1], p[2], F, c->num_heads, c->head_dim, (float)scale);
    if (c->use_residual) y = cr_add(g, (cr_node *[]){y, p[3]}, (float[]){1, 1}, 2);
    return c->use_relu ? cr_activation(g, CR_ACT_RELU, NULL, y) : y;
}
