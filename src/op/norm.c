/*
 * norm.c - batch norm and layer norm.
 *
 * Batch norm is two nodes: bn_stats sums x and x^2 over the batch in double (WHOLE: mean, biased
 * variance), bn_apply normalises. The gradients come back in two steps too: bn_apply adds those of
 * mean and variance up per lane, and the next phase passes them on to x. Inference uses the running
 * statistics and has no bn_stats at all. Running statistics are kept as in torch, with momentum m
 * and the unbiased variance.
 *
 * Where the row is wider than the parameters, it is that many planes (the pictures of a
 * convolution, torch: BatchNorm2d), and all numbers of a plane share mean, variance, scale and
 * shift. The kernels work by columns; their sums are folded row by row, so that the order of
 * additions does not depend on tiles.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

/* Adds the sums of w columns up to those of their planes. */
static void fold_d(double *to, const double *from, int64_t w, int64_t plane) {
    for (int64_t k = 0, j = 0; j < w; k++)
        for (int64_t end = j + plane; j < end; j++)
            to[k] += from[j];
}

static void fold_f(float *to, const float *from, int64_t w, int64_t plane) {
    for (int64_t k = 0, j = 0; to && j < w; k++)
        for (int64_t end = j + plane; j < end; j++)
            to[k] += from[j];
}

/* ---- bn_stats: inputs x, mean, var, count (buffers, updated in finish) ---- */

static void stats_infer(cr_node *n) {
    int64_t w = n->in[0]->width;
    if (w % n->in[1]->width != 0) CR_BUG("batch_norm: the row is no number of planes");
    n->cls = CR_WHOLE;
    n->width = 2 * n->in[1]->width;
    n->scratch = 4 * w; /* forward 2 rows of doubles, backward 3 rows */
}

static void stats_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    int64_t w = x->width, plane = w / n->in[1]->width;
    double *sum = cr_lane_sum(t, n), *row = (double *)(void *)t->scratch;
    const float *v = cr_val(t, x);
    if (plane == 1) {
        cr_kern->col_sum_d(sum, v, cr_ld(x), cr_rows(t, x), w);
        cr_kern->col_dot_d(sum + w, v, cr_ld(x), v, cr_ld(x), cr_rows(t, x), w);
        return;
    }
    for (int64_t r = 0; r < cr_rows(t, x); r++, v += cr_ld(x)) {
        memset(row, 0, (size_t)(2 * w) * sizeof(double));
        cr_kern->col_sum_d(row, v, cr_ld(x), 1, w);
        cr_kern->col_dot_d(row + w, v, cr_ld(x), v, cr_ld(x), 1, w);
        fold_d(sum, row, 2 * w, plane);
    }
}

static void stats_finish(const cr_node *n, const double *sum, float *value, int64_t n_rows) {
    int64_t w = n->width / 2;
    const int64_t per_row = n->in[0]->width / w;
    double count = (double)n_rows * (double)per_row;
    double m = (double)*(const float *)n->attr;
    for (int64_t j = 0; n_rows == 0 && j < n->width; j++)
        value[j] = 0;
    if (n_rows == 0) return; /* all sequences of the batch are empty */
    float *mean = n->in[1]->w, *var = n->in[2]->w;
    for (int64_t j = 0; j < w; j++) {
        double mu = sum[j] / count, v = sum[w + j] / count - mu * mu;
        if (v < 0) v = 0;
        value[j] = (float)mu;
        value[w + j] = (float)v;
        double unbiased = count > 1 ? v * count / (count - 1) : v;
        mean[j] = (float)((1 - m) * (double)mean[j] + m * mu);
        var[j] = (float)((1 - m) * (double)var[j] + m * unbiased);
    }
    n->in[3]->w[0] += 1;
}

static void stats_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *x = n->in[0];
    int64_t w = x->width, n_planes = n->in[1]->width, plane = w / n_planes;
    const float *of = cr_whole(t, n), *d = cr_whole_grad(t, n);
    float *c = t->scratch, *mean = c + 2 * w;
    float inv = 1.0f / ((float)cr_global_rows(t, x) * (float)plane);
    for (int64_t k = 0, j = 0; k < n_planes; k++)
        for (int64_t end = j + plane; j < end; j++) {
            mean[j] = of[k];
            c[j] = d[k] * inv;
            c[w + j] = 2 * d[n_planes + k] * inv;
        }
    cr_kern->center_rows(cr_grad(t, x), cr_ld(x), cr_val(t, x), mean, c, cr_rows(t, x), w,
                         !cr_first_grad(t, n, 0));
}

const cr_op_type cr_op_bn_stats = {.name = "bn_stats",
                                   .infer = stats_infer,
                                   .forward = stats_forward,
                                   .backward = stats_backward,
                                   .finish = stats_finish,
                                   .train_only = true,
                                   .reads_in = true,
                                   .rowwise = true};

/* ---- bn_apply: inputs x, stats, mean, var, [gamma, beta] ---- */

typedef struct bn {
    float eps;
    bool affine;
    bool relu; /* a ReLU follows; its slope is computed again from x, so nothing is kept for it */
} bn;

static void bn_infer(cr_node *n) {
    cr_infer_rows(n);
    n->width = n->in[0]->width;
    n->zeros = n->relu = ((const bn *)n->attr)->relu;
    /* 4 rows for the kernel, 2 rows of unwanted or unfolded sums, 2 rows of doubles */
    n->scratch = 10 * n->width;
}

/* Writes 4 rows: mean, 1 / deviation, and the scale and shift of y = x * scale + shift. */
static void bn_columns(const cr_node *n, const cr_tile *t, float *col) {
    const bn *a = n->attr;
    int64_t w = n->width, n_planes = n->in[2]->width, plane = w / n_planes;
    const float *mean = t->train ? cr_whole(t, n->in[1]) : n->in[2]->w;
    const float *var = t->train ? mean + n_planes : n->in[3]->w;
    for (int64_t k = 0, j = 0; k < n_planes; k++) {
        float rstd = 1.0f / sqrtf(var[k] + a->eps),
              scale = a->affine ? n->in[4]->w[k] * rstd : rstd,
              shift = (a->affine ? n->in[5]->w[k] : 0) - mean[k] * scale;
        for (int64_t end = j + plane; j < end; j++) {
            col[j] = mean[k];
            col[w + j] = rstd;
            col[2 * w + j] = scale;
            col[3 * w + j] = shift;
        }
    }
}

static void bn_forward(const cr_node *n, cr_tile *t) {
    const bn *a = n->attr;
    int64_t w = n->width;
    float *col = t->scratch;
    bn_columns(n, t, col);
    cr_kern->row_affine(cr_val(t, n), cr_ld(n), cr_val(t, n->in[0]), cr_ld(n), col + 2 * w,
                        col + 3 * w, cr_rows(t, n), w, a->relu);
}

static void bn_backward(const cr_node *n, cr_tile *t) {
    const bn *a = n->attr;
    int64_t w = n->width, plane = w / n->in[2]->width, rows = cr_rows(t, n);
    int64_t at_once = plane > 1 ? 1 : rows;
    float *col = t->scratch, *dgamma = col + 4 * w, *dbeta = dgamma + w;
    double *dstat = (double *)(void *)(dbeta + w);
    float *to_gamma = a->affine ? cr_param_sum(t, n, 4) : NULL;
    float *to_beta = a->affine ? cr_param_sum(t, n, 5) : NULL;
    double *to_stat = cr_wants_grad(t, n, 1) ? cr_lane_grad(t, n->in[1]) : NULL;
    float *dx = cr_wants_grad(t, n, 0) ? cr_grad(t, n->in[0]) : NULL;
    bool folds = plane > 1;
    bn_columns(n, t, col);
    for (int64_t r = 0; r < rows; r += at_once) {
        memset(dgamma, 0, (size_t)(6 * w) * sizeof(float));
        cr_kern->bn_bwd(dx ? dx + r * cr_ld(n) : NULL, to_gamma && !folds ? to_gamma : dgamma,
                        to_beta && !folds ? to_beta : dbeta, to_stat && !folds ? to_stat : dstat,
                        cr_grad(t, n) + r * cr_ld(n), cr_val(t, n->in[0]) + r * cr_ld(n), cr_ld(n),
                        col, at_once, w, a->relu && !n->masked, !cr_first_grad(t, n, 0));
        if (!folds) continue;
        fold_f(to_gamma, dgamma, w, plane);
        fold_f(to_beta, dbeta, w, plane);
        if (to_stat) fold_d(to_stat, dstat, 2 * w, plane);
    }
}

static cr_node *bn_example(cr_graph *g, int k) {
    if (k > 5) return NULL;
    int64_t w = k ? 17 : 4;
    if (k > 3) w = 3; /* planes of 6 */
    cr_node *mean = cr_graph_param(g, "mean", 1, w, false, NULL, 0);
    cr_node *var = cr_graph_param(g, "var", 1, w, false, NULL, 0);
    cr_node *count = cr_graph_param(g, "count", 1, 1, false, NULL, 0);
    cr_node *x = cr_feed(g, k > 3 ? 6 * w : w), *gamma = NULL, *beta = NULL;
    if (k && k != 5) {
        gamma = cr_graph_param(g, "gamma", 1, w, true, NULL, 0);
        beta = cr_graph_param(g, "beta", 1, w, true, NULL, 0);
    }
    cr_node *y = cr_batch_norm(g, x, gamma, beta, mean, var, count, 1e-5f, 0.1f, k == 3);
    if (k != 2) return y;
    /* two norms in a row, with a path around them: three phases in each direction */
    cr_node *z = cr_batch_norm(g, cr_activation(g, CR_ACT_TANH, NULL, y), NULL, NULL, mean, var,
                               count, 1e-5f, 0.1f, false);
    return cr_add(g, (cr_node *[]){z, x}, (float[]){1, 1}, 2);
}

const cr_op_type cr_op_bn_apply = {.name = "bn_apply",
                                   .infer = bn_infer,
                                   .forward = bn_forward,
                                   .backward = bn_backward,
                                   .example = bn_example,
                                   .reads_in = true,
                                   .rowwise = true};

cr_node *cr_batch_norm(cr_graph *g, cr_node *x, cr_node *gamma, cr_node *beta, cr_node *mean,
                       cr_node *var, cr_node *count, float eps, float momentum, bool relu) {
    cr_node *stats = cr_graph_op(g, &cr_op_bn_stats, (cr_node *[]){x, mean, var, count}, 4,
                                 &momentum, sizeof(momentum));
    bn a = {eps, gamma != NULL, relu};
    return cr_graph_op(g, &cr_op_bn_apply, (cr_node *[]){x, stats, mean, var, gamma, beta},
                       gamma ? 6 : 4, &a, sizeof(a));
}

/* ---- layer norm: inputs x, gamma, beta; the biased variance is that of the row, or of each part
 * of gamma's width ---- */

static void ln_infer(cr_node *n) {
    int64_t w = n->in[1]->width;
    if (n->in[2]->width != w || n->in[0]->width % w != 0) CR_BUG("layer_norm: widths differ");
    cr_infer_rows(n);
    n->width = n->in[0]->width;
}

static void ln_forward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]), *gamma = n->in[1]->w, *beta = n->in[2]->w;
    float *y = cr_val(t, n), eps = *(const float *)n->attr;
    int64_t ld = cr_ld(n), w = n->in[1]->width, parts = n->width / w;
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        cr_kern->layer_norm(y + r * ld, x + r * ld, gamma, beta, eps, parts, w);
}

static void ln_backward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]), *dy = cr_grad(t, n), *gamma = n->in[1]->w;
    float *dx = cr_wants_grad(t, n, 0) ? cr_grad(t, n->in[0]) : NULL, eps = *(const float *)n->attr;
    float *dgamma = cr_param_sum(t, n, 1), *dbeta = cr_param_sum(t, n, 2);
    int64_t ld = cr_ld(n), w = n->in[1]->width, parts = n->width / w;
    bool acc = !cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        cr_kern->layer_norm_bwd(dx ? dx + r * ld : NULL, dgamma, dbeta, dy + r * ld, x + r * ld,
                                gamma, eps, parts, w, acc);
}

static cr_node *ln_example(cr_graph *g, int k) {
    if (k > 2) return NULL;
    int64_t w = k == 1 ? 35 : 6;
    return cr_layer_norm(g, cr_feed(g, k == 2 ? 3 * w : w),
                         cr_graph_param(g, "gamma", 1, w, true, NULL, 0),
                         cr_graph_param(g, "beta", 1, w, true, NULL, 0), 1e-5f);
}

const cr_op_type cr_op_layer_norm = {.name = "layer_norm",
                                     .infer = ln_infer,
                                     .forward = ln_forward,
                                     .backward = ln_backward,
                                     .example = ln_example,
                                     .reads_in = true,
                                     .rowwise = true};

cr_node *cr_layer_norm(cr_graph *g, cr_node *x, cr_node *gamma, cr_node *beta, float eps) {
    return cr_graph_op(g, &cr_op_layer_norm, (cr_node *[]){x, gamma, beta}, 3, &eps, sizeof(eps));
}
