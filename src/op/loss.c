/*
 * loss.c - losses per row, and their mean over the batch. Labels are smoothed as in torch: a binary
 * label becomes y(1-s) + s/2; with K classes the label's class gets 1-s and every class s/K more.
 */
#include <math.h>

#include "graph/gradcheck.h"
#include "graph/plan.h"
#include "kern/kern.h"
#include "op/input.h"
#include "op/loss_int.h"
#include "op/op.h"

typedef struct loss {
    float smoothing;
} loss;

static void row1_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = 1;
}

/* ---- binary cross entropy on a logit: softplus(z) - y z ---- */

static void bce_infer(cr_node *n) {
    if (n->in[0]->width != 1) CR_BUG("bce: needs one logit");
    row1_infer(n);
}

static void bce_forward(const cr_node *n, cr_tile *t) {
    const float *z = cr_val(t, n->in[0]), *y = cr_val(t, n->in[1]);
    float *l = cr_val(t, n), s = ((const loss *)n->attr)->smoothing;
    cr_kern->softplus(l, z, 1, INFINITY, t->n_rows);
    for (int64_t r = 0; r < t->n_rows; r++)
        l[r] -= (y[r] * (1 - s) + 0.5f * s) * z[r];
}

static void bce_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const float *z = cr_val(t, n->in[0]), *y = cr_val(t, n->in[1]), *dl = cr_grad(t, n);
    float *dz = cr_grad(t, n->in[0]), *p = t->scratch, s = ((const loss *)n->attr)->smoothing;
    bool first = cr_first_grad(t, n, 0);
    cr_kern->sigmoid(p, z, t->n_rows);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float v = dl[r] * (p[r] - (y[r] * (1 - s) + 0.5f * s));
        dz[r] = first ? v : dz[r] + v;
    }
}

/* Labels for examples: a column of 0 and 1, made from a feed, without a gradient. */
static void zero_one_forward(const cr_node *n, cr_tile *t) {
    float *y = cr_val(t, n), K = *(const float *)n->attr;
    for (int64_t r = 0; r < t->n_rows; r++)
        y[r] = (float)((cr_global_row(t) + r) * 7 % (int64_t)K);
}

static const cr_op_type zero_one = {.name = "example labels",
                                    .infer = row1_infer,
                                    .forward = zero_one_forward};

cr_node *cr_example_labels(cr_graph *g, float K) {
    return cr_graph_op(g, &zero_one, NULL, 0, &K, sizeof(K));
}

static cr_node *bce_example(cr_graph *g, int k) {
    return k > 1 ? NULL : cr_bce(g, cr_feed(g, 1), cr_example_labels(g, 2), k ? 0.1f : 0);
}

static void bce_infer_scratch(cr_node *n) {
    bce_infer(n);
    n->scratch = CR_MAX_TILE;
}

const cr_op_type cr_op_bce = {.name = "bce",
                              .infer = bce_infer_scratch,
                              .forward = bce_forward,
                              .backward = bce_backward,
                              .example = bce_example,
                              .reads_in = true};

cr_node *cr_bce(cr_graph *g, cr_node *logit, cr_node *y, float smoothing) {
    loss a = {smoothing};
    return cr_graph_op(g, &cr_op_bce, (cr_node *[]){logit, y}, 2, &a, sizeof(a));
}

/* ---- softmax cross entropy ---- */

/* The rows may be positions of sequences. */
static void ce_infer(cr_node *n) {
    cr_infer_rows(n);
    n->width = 1;
    n->scratch = n->in[0]->width;
}

/* Writes the probabilities of one row to p; returns log(sum exp) + max. */
static float ce_row(const float *z, int64_t K, float *p) {
    float max = z[0];
    for (int64_t k = 1; k < K; k++)
        max = fmaxf(max, z[k]);
    for (int64_t k = 0; k < K; k++)
        p[k] = z[k] - max;
    cr_kern->exp(p, p, K);
    float s = cr_kern->sum(p, K);
    for (int64_t k = 0; k < K; k++)
        p[k] /= s;
    return logf(s) + max;
}

static void ce_forward(const cr_node *n, cr_tile *t) {
    const cr_node *in = n->in[0], *label = n->in[1];
    const float *z = cr_val(t, in);
    float *l = cr_val(t, n), s = ((const loss *)n->attr)->smoothing;
    int64_t K = in->width;
    for (int64_t r = 0; r < cr_rows(t, n); r++) {
        const float *zr = z + r * cr_ld(in);
        float y = cr_val(t, label)[r * cr_ld(label)];
        float lse = ce_row(zr, K, t->scratch), mean = cr_kern->sum(zr, K) / (float)K;
        /* a label out of range must show, so it gives NaN */
        float hit = y >= 0 && y < (float)K ? zr[(int64_t)y] : NAN;
        l[r * cr_ld(n)] = (1 - s) * (lse - hit) + s * (lse - mean);
    }
}

static void ce_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *in = n->in[0], *label = n->in[1];
    const float *z = cr_val(t, in);
    float *dz = cr_grad(t, in), s = ((const loss *)n->attr)->smoothing, *p = t->scratch;
    int64_t K = in->width;
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < cr_rows(t, n); r++) {
        float y = floorf(cr_val(t, label)[r * cr_ld(label)]), dl = cr_grad(t, n)[r * cr_ld(n)];
        ce_row(z + r * cr_ld(in), K, p);
        for (int64_t k = 0; k < K; k++) {
            float target = (y == (float)k ? 1 - s : 0) + s / (float)K, v = dl * (p[k] - target);
            dz[r * cr_ld(in) + k] = first ? v : dz[r * cr_ld(in) + k] + v;
        }
    }
}

static cr_node *ce_example(cr_graph *g, int k) {
    if (k > 2) return NULL;
    if (k < 2) return cr_softmax_ce(g, cr_feed(g, 3), cr_example_labels(g, 3), k ? 0.2f : 0);
    int axis = cr_graph_axis(g);
    return cr_softmax_ce(g, cr_feed_seq(g, axis, 4), cr_example_numbers(g, axis, 4), 0);
}

const cr_op_type cr_op_softmax_ce = {.name = "softmax_ce",
                                     .infer = ce_infer,
                                     .forward = ce_forward,
                                     .backward = ce_backward,
                                     .example = ce_example,
                                     .reads_in = true,
                                     .seq = true};

cr_node *cr_softmax_ce(cr_graph *g, cr_node *logits, cr_node *y, float smoothing) {
    loss a = {smoothing};
    return cr_graph_op(g, &cr_op_softmax_ce, (cr_node *[]){logits, y}, 2, &a, sizeof(a));
}

/* ---- squared error ---- */

static void l2_forward(const cr_node *n, cr_tile *t) {
    const float *z = cr_val(t, n->in[0]), *y = cr_val(t, n->in[1]);
    float *l = cr_val(t, n);
    for (int64_t r = 0; r < t->n_rows; r++)
        l[r] = (z[r] - y[r]) * (z[r] - y[r]);
}

static void l2_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const float *z = cr_val(t, n->in[0]), *y = cr_val(t, n->in[1]), *dl = cr_grad(t, n);
    float *dz = cr_grad(t, n->in[0]);
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float v = 2 * dl[r] * (z[r] - y[r]);
        dz[r] = first ? v : dz[r] + v;
    }
}

static cr_node *l2_example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_l2(g, cr_feed(g, 1), cr_example_labels(g, 4));
}

const cr_op_type cr_op_l2 = {.name = "l2",
                             .infer = bce_infer,
                             .forward = l2_forward,
                             .backward = l2_backward,
                             .example = l2_example,
                             .reads_in = true};

cr_node *cr_l2(cr_graph *g, cr_node *pred, cr_node *y) {
    return cr_graph_op(g, &cr_op_l2, (cr_node *[]){pred, y}, 2, NULL, 0);
}

/* ---- mean over the batch ---- */

static const float *scale_of(const cr_node *n, const cr_tile *t) {
    const cr_step_input *in = cr_tile_input(t);
    int k = *(const int *)n->attr;
    return in && k >= 0 && k < in->n_scale ? in->scale[k] : NULL;
}

static void mean_infer(cr_node *n) {
    n->cls = CR_WHOLE;
    n->width = 1;
    n->loss = true;
}

static void mean_forward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]), *scale = scale_of(n, t);
    double *sum = cr_lane_sum(t, n), inv = 1.0 / (double)cr_global_rows(t, n->in[0]);
    for (int64_t r = 0; r < t->n_rows; r++)
        *sum += (double)x[r] * (scale ? (double)scale[t->row0 + r] : inv);
}

static void mean_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const float *scale = scale_of(n, t);
    double slope = cr_loss_slope(t);
    float *dx = cr_grad(t, n->in[0]), inv = (float)(slope / (double)cr_global_rows(t, n->in[0]));
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float v = scale ? (float)(slope * (double)scale[t->row0 + r]) : inv;
        dx[r] = first ? v : dx[r] + v;
    }
}

static cr_node *mean_example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_mean_loss(g, cr_feed(g, 1), -1);
}

const cr_op_type cr_op_mean_loss = {.name = "mean_loss",
                                    .infer = mean_infer,
                                    .forward = mean_forward,
                                    .backward = mean_backward,
                                    .example = mean_example};

cr_node *cr_mean_loss(cr_graph *g, cr_node *x, int weight) {
    return cr_graph_op(g, &cr_op_mean_loss, &x, 1, &weight, sizeof(weight));
}
