/*
 * norms.c - the lengths of a row under several weights: y_n = sqrt(sum_f (W_nf x_f)^2), the form in
 * which PaddleRec ships the inner products of PNN. Where a length is 0, it passes no gradient.
 */
#include <math.h>

#include "graph/gradcheck.h"
#include "op/op.h"

static void norms_infer(cr_node *n) {
    if (n->in[1]->cols != n->in[0]->width) CR_BUG("norms: widths do not fit");
    n->cls = CR_ROW;
    n->width = n->in[1]->rows;
}

static void norms_forward(const cr_node *n, cr_tile *t) {
    const cr_node *xn = n->in[0];
    int64_t F = xn->width;
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, xn) + r * cr_ld(xn), *w = n->in[1]->w;
        float *y = cr_val(t, n) + r * cr_ld(n);
        for (int64_t k = 0; k < n->width; k++, w += F) {
            float s = 0;
            for (int64_t f = 0; f < F; f++)
                s += w[f] * x[f] * w[f] * x[f];
            y[k] = sqrtf(s);
        }
    }
}

static void norms_backward(const cr_node *n, cr_tile *t) {
    const cr_node *xn = n->in[0];
    int64_t F = xn->width;
    bool wants = cr_wants_grad(t, n, 0), first = cr_first_grad(t, n, 0);
    float *dw = cr_param_sum(t, n, 1);
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, xn) + r * cr_ld(xn), *w = n->in[1]->w;
        const float *y = cr_val(t, n) + r * cr_ld(n), *d = cr_grad(t, n) + r * cr_ld(n);
        float *dx = wants ? cr_grad(t, xn) + r * cr_ld(xn) : NULL;
        for (int64_t f = 0; dx && first && f < F; f++)
            dx[f] = 0;
        for (int64_t k = 0; k < n->width; k++, w += F) {
            if (!(y[k] > 0)) continue;
            float c = d[k] / y[k];
            for (int64_t f = 0; f < F; f++) {
                if (dx) dx[f] += c * w[f] * w[f] * x[f];
                if (dw) dw[k * F + f] += c * w[f] * x[f] * x[f];
            }
        }
    }
}

static cr_node *norms_example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_norms(g, cr_feed(g, 5), cr_graph_param(g, "W", 3, 5, true, NULL, 0));
}

const cr_op_type cr_op_norms = {.name = "norms",
                                .infer = norms_infer,
                                .forward = norms_forward,
                                .backward = norms_backward,
                                .example = norms_example,
                                .keep_val = true,
                                .reads_in = true};

cr_node *cr_norms(cr_graph *g, cr_node *x, cr_node *W) {
    return cr_graph_op(g, &cr_op_norms, (cr_node *[]){x, W}, 2, NULL, 0);
}
