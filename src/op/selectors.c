/*
 * selectors.c - the gate of DSelect-k (Hazimeh et al., 2021): weights of n experts, of which at
 * most k are not 0 once it has settled.
 *
 * Selector s of k has m = ceil(log2 n) numbers z. S is a step with a smooth slope of width gamma,
 *   S(z) = 0 below -gamma/2, 1 above gamma/2, -2/gamma^3 z^3 + 3/(2 gamma) z + 1/2 between,
 * and expert i, whose number has the binary digits i_1 ... i_m, gets
 *   r_si = product over j of S(z_sj) where i_j is 1, and of 1 - S(z_sj) where it is 0.
 * The gate is g_i = sum over s of softmax(w)_s r_si. Behind g the op gives two penalties: the
 * entropy of the selectors, - sum of r log(r + 1e-6), which is 0 when each has chosen one expert;
 * and the sum over s of 1 / (sum over i of r_si), which keeps selectors from digits that no expert
 * has when n is no power of 2.
 *
 * z (k m) and w (k) are parameters, so that all rows have the same gate, or belong to the row.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

#define EPS 1e-6f

typedef struct selectors {
    int64_t n, k, m;
    float gamma;
} selectors;

enum { IN_Z, IN_W };

static void infer(cr_node *n) {
    const selectors *a = n->attr;
    const cr_node *z = n->in[IN_Z], *w = n->in[IN_W];
    bool param = z->cls == CR_PARAM;
    if (z->width != a->k * a->m || w->width != a->k || (w->cls == CR_PARAM) != param ||
        (!param && (z->cls != CR_ROW || w->cls != CR_ROW)))
        CR_BUG("selectors: shapes do not fit");
    n->cls = CR_ROW;
    n->width = a->n + 2;
    n->scratch = 2 * a->k * a->m + 3 * a->k + a->k * a->n;
}

/* What the gate of one row is made of, in scratch memory. */
typedef struct gate {
    float *S, *slope; /* (k, m): the steps, and their slopes */
    float *share;     /* softmax(w) */
    float *sum;       /* what each selector gives to all experts */
    float *dw;
    float *r; /* (k, n) */
} gate;

static gate gate_of(const selectors *a, float *scratch) {
    gate g = {.S = scratch, .slope = scratch + a->k * a->m};
    g.share = g.slope + a->k * a->m;
    g.sum = g.share + a->k;
    g.dw = g.sum + a->k;
    g.r = g.dw + a->k;
    return g;
}

/* Is digit j of expert i, the first of m being the highest, a 1? */
static bool digit(const selectors *a, int64_t i, int64_t j) {
    return i >> (a->m - 1 - j) & 1;
}

static void compute(const selectors *a, const float *z, const float *w, gate *g) {
    float c = a->gamma, most = w[0], sum = 0;
    for (int64_t i = 0; i < a->k * a->m; i++) {
        bool inside = z[i] > -c / 2 && z[i] < c / 2;
        g->S[i] = inside ? -2 / (c * c * c) * z[i] * z[i] * z[i] + 3 / (2 * c) * z[i] + 0.5f
                         : (float)(z[i] > 0);
        g->slope[i] = inside ? -6 / (c * c * c) * z[i] * z[i] + 3 / (2 * c) : 0;
    }
    for (int64_t s = 1; s < a->k; s++)
        most = w[s] > most ? w[s] : most;
    for (int64_t s = 0; s < a->k; s++)
        g->share[s] = w[s] - most;
    cr_kern->exp(g->share, g->share, a->k);
    for (int64_t s = 0; s < a->k; s++)
        sum += g->share[s];
    for (int64_t s = 0; s < a->k; s++) {
        g->share[s] /= sum;
        g->sum[s] = 0;
        for (int64_t i = 0; i < a->n; i++) {
            float r = 1;
            for (int64_t j = 0; j < a->m; j++)
                r *= digit(a, i, j) ? g->S[s * a->m + j] : 1 - g->S[s * a->m + j];
            g->r[s * a->n + i] = r;
            g->sum[s] += r;
        }
    }
}

static const float *input(const cr_node *n, const cr_tile *t, int i, int64_t row) {
    const cr_node *x = n->in[i];
    return x->cls == CR_PARAM ? x->w : cr_val(t, x) + row * cr_ld(x);
}

static void forward(const cr_node *n, cr_tile *t) {
    const selectors *a = n->attr;
    gate g = gate_of(a, t->scratch);
    for (int64_t row = 0; row < t->n_rows; row++) {
        float *y = cr_val(t, n) + row * cr_ld(n);
        if (row == 0 || n->in[IN_Z]->cls != CR_PARAM)
            compute(a, input(n, t, IN_Z, row), input(n, t, IN_W, row), &g);
        memset(y, 0, (size_t)n->width * sizeof(float));
        for (int64_t s = 0; s < a->k; s++) {
            for (int64_t i = 0; i < a->n; i++) {
                float r = g.r[s * a->n + i];
                y[i] += g.share[s] * r;
                y[a->n] -= r * logf(r + EPS);
            }
            y[a->n + 1] += 1 / (g.sum[s] + EPS);
        }
    }
}

/* Where the slopes of an input of row `row` go, cleared at their first use; NULL: not wanted. sum:
 * those of a parameter. */
static float *slopes(const cr_node *n, cr_tile *t, int i, int64_t row, float *sum) {
    const cr_node *x = n->in[i];
    if (x->cls == CR_PARAM || !cr_wants_grad(t, n, i)) return sum;
    float *d = cr_grad(t, x) + row * cr_ld(x);
    if (cr_first_grad(t, n, i)) memset(d, 0, (size_t)x->width * sizeof(float));
    return d;
}

/* The slope of what selector s gives to expert i. */
static float slope_of(const selectors *a, const gate *g, const float *dy, int64_t s, int64_t i) {
    float r = g->r[s * a->n + i], all = g->sum[s] + EPS;
    return g->share[s] * dy[i] - dy[a->n] * (logf(r + EPS) + r / (r + EPS)) -
           dy[a->n + 1] / (all * all);
}

static void back_steps(const selectors *a, const gate *g, const float *dy, float *dz) {
    for (int64_t s = 0; s < a->k; s++)
        for (int64_t i = 0; i < a->n; i++) {
            float dr = slope_of(a, g, dy, s, i);
            for (int64_t j = 0; j < a->m; j++) {
                float others = digit(a, i, j) ? g->slope[s * a->m + j] : -g->slope[s * a->m + j];
                for (int64_t l = 0; l < a->m; l++)
                    if (l != j)
                        others *= digit(a, i, l) ? g->S[s * a->m + l] : 1 - g->S[s * a->m + l];
                dz[s * a->m + j] += dr * others;
            }
        }
}

static void back_shares(const selectors *a, gate *g, const float *dy, float *dw) {
    float mean = 0;
    for (int64_t s = 0; s < a->k; s++) {
        g->dw[s] = 0;
        for (int64_t i = 0; i < a->n; i++)
            g->dw[s] += dy[i] * g->r[s * a->n + i];
        mean += g->share[s] * g->dw[s];
    }
    for (int64_t s = 0; s < a->k; s++)
        dw[s] += g->share[s] * (g->dw[s] - mean);
}

static void backward(const cr_node *n, cr_tile *t) {
    const selectors *a = n->attr;
    gate g = gate_of(a, t->scratch);
    bool param = n->in[IN_Z]->cls == CR_PARAM;
    float *sum_z = param ? cr_param_sum(t, n, IN_Z) : NULL;
    float *sum_w = param ? cr_param_sum(t, n, IN_W) : NULL;
    for (int64_t row = 0; row < t->n_rows; row++) {
        const float *dy = cr_grad(t, n) + row * cr_ld(n);
        float *dz = slopes(n, t, IN_Z, row, sum_z), *dw = slopes(n, t, IN_W, row, sum_w);
        if (row == 0 || !param) compute(a, input(n, t, IN_Z, row), input(n, t, IN_W, row), &g);
        if (dz) back_steps(a, &g, dy, dz);
        if (dw) back_shares(a, &g, dy, dw);
    }
}

static cr_node *example(cr_graph *g, int k) {
    static const int64_t n[] = {4, 5, 8, 3};
    if (k > 3) return NULL;
    int64_t sel = k ? 2 : 1, m = cr_selector_digits(n[k]);
    bool row = k > 1;
    cr_node *z = row ? cr_feed(g, sel * m) : cr_graph_param(g, "z", sel, m, true, NULL, 0);
    cr_node *w = row ? cr_feed(g, sel) : cr_graph_param(g, "w", 1, sel, true, NULL, 0);
    cr_node *y = cr_selectors(g, z, w, n[k], sel, k == 3 ? 1.5f : 20);
    /* a gate of parameters has no row among its inputs; penalties hide the small slopes of w */
    if (k == 1) y = cr_slice(g, y, 0, n[k]);
    return row ? y : cr_mul(g, cr_feed(g, y->width), y);
}

const cr_op_type cr_op_selectors = {.name = "selectors",
                                    .infer = infer,
                                    .forward = forward,
                                    .backward = backward,
                                    .example = example,
                                    .reads_in = true};

int64_t cr_selector_digits(int64_t n) {
    int64_t m = 0;
    while ((INT64_C(1) << m) < n)
        m++;
    return m;
}

cr_node *cr_selectors(cr_graph *g, cr_node *z, cr_node *w, int64_t n, int64_t k, float gamma) {
    selectors a = {n, k, cr_selector_digits(n), gamma};
    return cr_graph_op(g, &cr_op_selectors, (cr_node *[]){z, w}, 2, &a, sizeof(a));
}
