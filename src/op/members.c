/*
 * members.c - one answer from the logits z_1 .. z_K of K members of an ensemble.
 *
 * Of probabilities the mean is taken, and its logit given: y = log(sum s(z_k)) - log(sum s(-z_k)),
 * s the sigmoid, so y is finite where the mean would round to 0 or 1. Of values it is the plain
 * mean. dy/dz_k = s(z_k) s(-z_k) (1 / sum s(z) + 1 / sum s(-z)).
 *
 * Losses do not go through this op: each member has its own (cr_ensemble_of, model/model.c).
 */
#include <math.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct members {
    bool values;
} members;

static void members_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = 1;
    n->scratch = 2 * n->in[0]->width;
}

/* Writes log s(z_k) = -softplus(-z_k) and log s(-z_k) = -softplus(z_k) of one row. */
static void logs_of(const float *z, int64_t K, float *a, float *b) {
    for (int64_t k = 0; k < K; k++)
        a[k] = -z[k];
    cr_kern->softplus(a, a, 1, INFINITY, K);
    for (int64_t k = 0; k < K; k++) {
        b[k] = -a[k] - z[k]; /* softplus(z) = softplus(-z) + z */
        a[k] = -a[k];
    }
}

static float log_sum_exp(const float *v, int64_t K) {
    float max = v[0];
    for (int64_t k = 1; k < K; k++)
        max = fmaxf(max, v[k]);
    float s = expf(v[0] - max);
    for (int64_t k = 1; k < K; k++)
        s += expf(v[k] - max);
    return logf(s) + max;
}

static void members_forward(const cr_node *n, cr_tile *t) {
    const cr_node *in = n->in[0];
    const float *z = cr_val(t, in);
    float *y = cr_val(t, n), *a = t->scratch, *b = a + in->width;
    int64_t K = in->width;
    for (int64_t r = 0; r < t->n_rows; r++, z += cr_ld(in)) {
        if (((const members *)n->attr)->values) {
            y[r] = cr_kern->sum(z, K) / (float)K;
            continue;
        }
        logs_of(z, K, a, b);
        y[r] = log_sum_exp(a, K) - log_sum_exp(b, K);
    }
}

static void members_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *in = n->in[0];
    const float *z = cr_val(t, in), *dy = cr_grad(t, n);
    float *dz = cr_grad(t, in), *a = t->scratch, *b = a + in->width;
    int64_t K = in->width;
    bool first = cr_first_grad(t, n, 0), values = ((const members *)n->attr)->values;
    for (int64_t r = 0; r < t->n_rows; r++, z += cr_ld(in), dz += cr_ld(in)) {
        float la = 0, lb = 0;
        if (!values) {
            logs_of(z, K, a, b);
            la = log_sum_exp(a, K);
            lb = log_sum_exp(b, K);
        }
        for (int64_t k = 0; k < K; k++) {
            float g = values ? 1 / (float)K : expf(a[k] + b[k] - la) + expf(a[k] + b[k] - lb);
            dz[k] = (first ? 0 : dz[k]) + dy[r] * g;
        }
    }
}

static cr_node *members_example(cr_graph *g, int k) {
    return k > 2 ? NULL : cr_ensemble_mean(g, cr_feed(g, k == 2 ? 1 : 5), k == 1);
}

const cr_op_type cr_op_members = {.name = "members",
                                  .infer = members_infer,
                                  .forward = members_forward,
                                  .backward = members_backward,
                                  .example = members_example,
                                  .reads_in = true};

cr_node *cr_ensemble_mean(cr_graph *g, cr_node *z, bool values) {
    members a = {values};
    return cr_graph_op(g, &cr_op_members, &z, 1, &a, sizeof a);
}

cr_node *cr_ensemble_of(cr_node *n) {
    return n->op == &cr_op_members ? n->in[0] : NULL;
}
