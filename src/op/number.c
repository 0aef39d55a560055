/*
 * number.c - encodings of one number: where it lies between points, and waves of learned
 * frequencies (Gorishniy et al., "On embeddings for numerical features", 2022).
 *
 * A wave is computed with one polynomial in a fixed order, because a library's sine differs
 * between CPUs in its last bit.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "op/op.h"
#include "op/param.h"

/* ---- piecewise: x (1) -> n parts; part i is how far x has come from point i to point i + 1 ----
 */

typedef struct piecewise {
    int64_t n;
    const float *points; /* n + 1, ascending */
    const float *scale;  /* one over the length of each part */
} piecewise;

static void piecewise_infer(cr_node *n) {
    const piecewise *a = n->attr;
    if (n->in[0]->width != 1) CR_BUG("piecewise: takes one number");
    n->cls = CR_ROW;
    n->width = a->n;
}

static void piecewise_forward(const cr_node *n, cr_tile *t) {
    const piecewise *a = n->attr;
    for (int64_t r = 0; r < t->n_rows; r++) {
        float x = cr_val(t, n->in[0])[r * cr_ld(n->in[0])], *y = cr_val(t, n) + r * cr_ld(n);
        for (int64_t i = 0; i < a->n; i++) {
            float v = (x - a->points[i]) * a->scale[i];
            y[i] = v > 0 ? (v < 1 ? v : 1) : 0;
        }
    }
}

static void piecewise_backward(const cr_node *n, cr_tile *t) {
    const piecewise *a = n->attr;
    if (!cr_wants_grad(t, n, 0)) return;
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float x = cr_val(t, n->in[0])[r * cr_ld(n->in[0])], v = 0;
        const float *d = cr_grad(t, n) + r * cr_ld(n);
        float *dx = cr_grad(t, n->in[0]) + r * cr_ld(n->in[0]);
        for (int64_t i = 0; i < a->n; i++)
            if (x > a->points[i] && x < a->points[i + 1]) v = d[i] * a->scale[i];
        *dx = first ? v : *dx + v;
    }
}

static cr_node *piecewise_example(cr_graph *g, int k) {
    static const double points[] = {-1.3, -0.2, 0.45, 2};
    return k > 0 ? NULL : cr_piecewise(g, cr_feed(g, 1), points, 4);
}

const cr_op_type cr_op_piecewise = {.name = "piecewise",
                                    .infer = piecewise_infer,
                                    .forward = piecewise_forward,
                                    .backward = piecewise_backward,
                                    .example = piecewise_example,
                                    .reads_in = true};

cr_node *cr_piecewise(cr_graph *g, cr_node *x, const double *points, int64_t n) {
    float *v = CR_NEW_N(&g->arena, float, n), *scale = CR_NEW_N(&g->arena, float, n);
    for (int64_t i = 0; i < n; i++) {
        v[i] = (float)points[i];
        if (i > 0) scale[i - 1] = 1 / (v[i] - v[i - 1]);
    }
    piecewise a = {.n = n - 1, .points = v, .scale = scale};
    return cr_graph_op(g, &cr_op_piecewise, &x, 1, &a, sizeof a);
}

/* ---- periodic: x (1), c (1, k) -> sin(2 pi c_i x), then cos(2 pi c_i x) ---- */

#define TWO_PI 6.28318530717958647692f

/* sin(2 pi t), for any finite t */
static float wave(float t) {
    float u = t - rintf(t); /* -1/2 .. 1/2 */
    if (u > 0.25f) u = 0.5f - u;
    if (u < -0.25f) u = -0.5f - u;
    float y = TWO_PI * u, q = y * y;
    float p = 1.6059044e-10f;
    p = p * q - 2.5052108e-8f;
    p = p * q + 2.7557319e-6f;
    p = p * q - 1.9841270e-4f;
    p = p * q + 8.3333333e-3f;
    p = p * q - 1.6666667e-1f;
    return y + y * q * p;
}

static void periodic_infer(cr_node *n) {
    if (n->in[0]->width != 1) CR_BUG("periodic: takes one number");
    n->cls = CR_ROW;
    n->width = 2 * n->in[1]->width;
}

static void periodic_forward(const cr_node *n, cr_tile *t) {
    int64_t k = n->in[1]->width;
    const float *c = n->in[1]->w;
    for (int64_t r = 0; r < t->n_rows; r++) {
        float x = cr_val(t, n->in[0])[r * cr_ld(n->in[0])], *y = cr_val(t, n) + r * cr_ld(n);
        for (int64_t i = 0; i < k; i++) {
            float turns = c[i] * x;
            turns -= rintf(turns);
            y[i] = wave(turns);
            y[k + i] = wave(turns + 0.25f);
        }
    }
}

static void periodic_backward(const cr_node *n, cr_tile *t) {
    int64_t k = n->in[1]->width;
    const float *c = n->in[1]->w;
    bool wants_x = cr_wants_grad(t, n, 0), first = cr_first_grad(t, n, 0);
    float *dc = cr_param_sum(t, n, 1);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float x = cr_val(t, n->in[0])[r * cr_ld(n->in[0])], v = 0;
        const float *y = cr_val(t, n) + r * cr_ld(n), *d = cr_grad(t, n) + r * cr_ld(n);
        for (int64_t i = 0; i < k; i++) {
            float s = TWO_PI * (d[i] * y[k + i] - d[k + i] * y[i]);
            if (dc) dc[i] += s * x;
            v += s * c[i];
        }
        if (!wants_x) continue;
        float *dx = cr_grad(t, n->in[0]) + r * cr_ld(n->in[0]);
        *dx = first ? v : *dx + v;
    }
}

static cr_node *periodic_example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_periodic(g, cr_feed(g, 1), cr_vector(g, "c", 5, CR_INIT_N(0.3)));
}

const cr_op_type cr_op_periodic = {.name = "periodic",
                                   .infer = periodic_infer,
                                   .forward = periodic_forward,
                                   .backward = periodic_backward,
                                   .example = periodic_example,
                                   .keep_val = true,
                                   .reads_in = true};

cr_node *cr_periodic(cr_graph *g, cr_node *x, cr_node *c) {
    return cr_graph_op(g, &cr_op_periodic, (cr_node *[]){x, c}, 2, NULL, 0);
}
