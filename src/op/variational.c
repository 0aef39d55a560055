/*
 * variational.c - variational dropout: each feature of a group is kept or hidden per row, and the
 * odds are learned.
 *
 * p_f = sigmoid(theta_f) is the share of rows without feature f. In training a row draws u in [0,
 * 1) per feature and hides the share b = sigmoid((logit(p) + logit(u)) / 0.1) of it: that is nearly
 * always all or nothing, but it has a gradient (a concrete distribution). Evaluation uses the mean:
 * it keeps 1 - p of the feature. gate makes 1 - b or 1 - p, fields multiplies each feature by its
 * gate, penalty is the pull towards hiding: lambda / B * sum over f of (1 - p_f). As in
 * TorchEasyRec, the logits have float32's epsilon in both logarithms. u is a function of (seed,
 * group, step, global row, feature) and is drawn only once: backward finds b in the gate's value.
 */
#include <float.h>
#include <math.h>

#include "base/rng.h"
#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"
#include "op/param.h"

#define TEMPERATURE 0.1

static double prob(float theta) {
    return 1 / (1 + exp(-(double)theta));
}

/* log(x + eps) - log(1 - x + eps) */
static double logit(double x) {
    return log((x + (double)FLT_EPSILON) / (1 - x + (double)FLT_EPSILON));
}

/* ---- gate: theta (F) -> F ---- */

static void gate_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
    n->scratch = 2 * n->width;
}

static void gate_forward(const cr_node *n, cr_tile *t) {
    const float *theta = n->in[0]->w;
    double *z = (double *)(void *)t->scratch;
    uint64_t key = cr_rng_sub(*(const uint64_t *)n->attr, (uint64_t)cr_tile_step(t));
    int64_t F = n->width;
    for (int64_t f = 0; f < F; f++)
        z[f] = t->train ? logit(prob(theta[f])) : 1 - prob(theta[f]);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        uint64_t row = cr_rng_sub(key, (uint64_t)(cr_global_row(t) + r));
        for (int64_t f = 0; f < F; f++) {
            double u = t->train ? (double)cr_rng_f32(row, (uint64_t)f) : 0;
            y[f] = (float)(t->train ? 1 / (1 + exp((z[f] + logit(u)) / TEMPERATURE)) : z[f]);
        }
    }
}

static void gate_backward(const cr_node *n, cr_tile *t) {
    float *d = cr_param_sum(t, n, 0);
    const float *theta = n->in[0]->w;
    float *slope = t->scratch; /* d logit(p) / d theta, divided by the temperature */
    if (!d) return;
    for (int64_t f = 0; f < n->width; f++) {
        double p = prob(theta[f]), eps = (double)FLT_EPSILON;
        slope[f] = (float)(p * (1 - p) * (1 / (p + eps) + 1 / (1 - p + eps)) / TEMPERATURE);
    }
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *y = cr_val(t, n) + r * cr_ld(n), *g = cr_grad(t, n) + r * cr_ld(n);
        for (int64_t f = 0; f < n->width; f++)
            d[f] -= g[f] * y[f] * (1 - y[f]) * slope[f];
    }
}

static cr_node *theta_of(cr_graph *g, int64_t F) {
    return cr_graph_param(g, "feature_p", 1, F, true, NULL, 0);
}

static cr_node *gate_example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_drop_gate(g, theta_of(g, 5), "group");
}

const cr_op_type cr_op_drop_gate = {.name = "drop_gate",
                                    .infer = gate_infer,
                                    .forward = gate_forward,
                                    .backward = gate_backward,
                                    .example = gate_example,
                                    .keep_val = true};

cr_node *cr_drop_gate(cr_graph *g, cr_node *theta, const char *group) {
    uint64_t key = cr_rng_key(g->seed, "variational_dropout", group);
    return cr_graph_op(g, &cr_op_drop_gate, &theta, 1, &key, sizeof(key));
}

/* ---- fields: x (sum of the widths), gate (F) -> as x ---- */

static void fields_infer(cr_node *n) {
    const int64_t *widths = n->attr;
    int64_t all = 0;
    for (int64_t f = 0; f < n->in[1]->width; f++)
        all += widths[f];
    if (all != n->in[0]->width) CR_BUG("drop_fields: widths differ");
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
}

static void fields_forward(const cr_node *n, cr_tile *t) {
    const int64_t *widths = n->attr;
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        const float *gate = cr_val(t, n->in[1]) + r * cr_ld(n->in[1]);
        float *y = cr_val(t, n) + r * cr_ld(n);
        for (int64_t f = 0; f < n->in[1]->width; x += widths[f], y += widths[f], f++)
            cr_kern->scale(y, gate[f], x, widths[f]);
    }
}

static void fields_backward(const cr_node *n, cr_tile *t) {
    const int64_t *widths = n->attr;
    bool wants_x = cr_wants_grad(t, n, 0), wants_gate = cr_wants_grad(t, n, 1);
    bool first_x = cr_first_grad(t, n, 0), first_gate = cr_first_grad(t, n, 1);
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        const float *gate = cr_val(t, n->in[1]) + r * cr_ld(n->in[1]);
        const float *d = cr_grad(t, n) + r * cr_ld(n);
        float *dx = wants_x ? cr_grad(t, n->in[0]) + r * cr_ld(n->in[0]) : NULL;
        float *dg = wants_gate ? cr_grad(t, n->in[1]) + r * cr_ld(n->in[1]) : NULL;
        for (int64_t f = 0, at = 0; f < n->in[1]->width; at += widths[f], f++) {
            if (dx && first_x) cr_kern->scale(dx + at, gate[f], d + at, widths[f]);
            if (dx && !first_x) cr_kern->axpy(dx + at, gate[f], d + at, widths[f]);
            if (!dg) continue;
            float s = cr_kern->dot(d + at, x + at, widths[f]);
            dg[f] = first_gate ? s : dg[f] + s;
        }
    }
}

static cr_node *fields_example(cr_graph *g, int k) {
    static const int64_t widths[] = {4, 1, 9}, one[] = {3};
    if (k == 0) return cr_drop_fields(g, cr_feed(g, 14), cr_feed(g, 3), widths);
    if (k == 1) return cr_drop_fields(g, cr_feed(g, 3), cr_feed(g, 1), one);
    if (k > 2) return NULL;
    return cr_drop_fields(g, cr_feed(g, 14), cr_drop_gate(g, theta_of(g, 3), "g"), widths);
}

const cr_op_type cr_op_drop_fields = {.name = "drop_fields",
                                      .infer = fields_infer,
                                      .forward = fields_forward,
                                      .backward = fields_backward,
                                      .example = fields_example,
                                      .reads_in = true};

cr_node *cr_drop_fields(cr_graph *g, cr_node *x, cr_node *gate, const int64_t *widths) {
    cr_node *in[] = {x, gate};
    return cr_graph_op(g, &cr_op_drop_fields, in, 2, widths, (size_t)gate->width * sizeof(*widths));
}

/* ---- penalty: theta (F) -> 1, the same in every row ---- */

static void penalty_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = 1;
    n->scratch = n->in[0]->width;
}

static double penalty_scale(const cr_node *n, const cr_tile *t) {
    return *(const double *)n->attr / (double)cr_global_rows(t, n);
}

static void penalty_forward(const cr_node *n, cr_tile *t) {
    double sum = 0;
    for (int64_t f = 0; f < n->in[0]->width; f++)
        sum += 1 - prob(n->in[0]->w[f]);
    for (int64_t r = 0; r < t->n_rows; r++)
        cr_val(t, n)[r * cr_ld(n)] = (float)(penalty_scale(n, t) * sum);
}

static void penalty_backward(const cr_node *n, cr_tile *t) {
    float *d = cr_param_sum(t, n, 0), *slope = t->scratch;
    if (!d) return;
    for (int64_t f = 0; f < n->in[0]->width; f++) {
        double p = prob(n->in[0]->w[f]);
        slope[f] = (float)(-penalty_scale(n, t) * p * (1 - p));
    }
    for (int64_t r = 0; r < t->n_rows; r++)
        cr_kern->axpy(d, cr_grad(t, n)[r * cr_ld(n)], slope, n->in[0]->width);
}

static cr_node *penalty_example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_drop_penalty(g, theta_of(g, 5), 3);
}

const cr_op_type cr_op_drop_penalty = {.name = "drop_penalty",
                                       .infer = penalty_infer,
                                       .forward = penalty_forward,
                                       .backward = penalty_backward,
                                       .example = penalty_example};

cr_node *cr_drop_penalty(cr_graph *g, cr_node *theta, double lambda) {
    return cr_graph_op(g, &cr_op_drop_penalty, &theta, 1, &lambda, sizeof(lambda));
}
