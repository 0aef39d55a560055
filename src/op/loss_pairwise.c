/*
 * loss_pairwise.c - a loss over pairs of a positive and a negative row of the same session.
 *
 * For a positive row i: l_i = mean over negatives j of f(z_i - z_j), f(d) = log(1 + exp(-d))
 * (RankNet) or max(0, margin - d). The batch's loss is the mean over the P positives that have a
 * negative; as a loss per row that is l_i n/P, so that sample weights (of the positive row) and the
 * mean over rows work as for any loss. To limit the cost, a positive looks at no more than
 * max_negatives rows. Where the session has more negatives, that many are drawn with replacement,
 * by a counter over (seed, node, step, row) that gives the same in forward and backward.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "graph/gradcheck.h"
#include "graph/plan.h"
#include "op/loss_int.h"
#include "op/op.h"

typedef struct pairwise {
    cr_pairwise_opts o;
    uint64_t key;
} pairwise;

static void pairwise_infer(cr_node *n) {
    if (n->in[0]->width != 1) CR_BUG("pairwise: needs one logit");
    n->cls = CR_ROW;
    n->width = 1;
    n->scratch_row = CR_SESSION_SCRATCH + 4; /* negatives; sums of gradients in double */
    n->scratch = 2;
    pairwise *a = n->attr;
    a->key = cr_rng_sub(a->key, (uint64_t)n->id);
}

static double pair_loss(const cr_pairwise_opts *o, double d) {
    if (o->hinge) return d < o->margin ? o->margin - d : 0;
    return log1p(exp(-fabs(d))) + (d < 0 ? -d : 0);
}

static double pair_slope(const cr_pairwise_opts *o, double d) {
    if (o->hinge) return d < o->margin ? -1 : 0;
    double e = exp(-fabs(d));
    return d > 0 ? -e / (1 + e) : -1 / (1 + e);
}

/* All pairs of a batch, in a fixed order. */
typedef struct walk {
    const pairwise *a;
    const float *z, *y;
    uint64_t key;
    float scale; /* n / P */
    uint32_t *neg;
} walk;

/* Collects the negatives of one session into w->neg. */
static int64_t negatives(const walk *w, const uint32_t *row, int64_t n) {
    int64_t m = 0;
    for (int64_t k = 0; k < n; k++)
        if (w->y[row[k]] == 0) w->neg[m++] = row[k];
    return m;
}

static void positive(const walk *w, uint32_t i, int64_t m, float *loss, const float *dl,
                     double *dz) {
    const cr_pairwise_opts *o = &w->a->o;
    bool draw = m > o->max_negatives;
    int64_t n = draw ? o->max_negatives : m;
    uint64_t key = cr_rng_sub(w->key, i);
    double sum = 0, g = dl ? (double)dl[i] * (double)w->scale / (double)n : 0;
    for (int64_t k = 0; k < n; k++) {
        uint32_t j = w->neg[draw ? (int64_t)cr_rng_below(key, (uint64_t)k, (uint64_t)m) : k];
        double d = (double)w->z[i] - (double)w->z[j];
        if (dl) {
            double s = g * pair_slope(o, d);
            dz[i] += s;
            dz[j] -= s;
        } else {
            sum += pair_loss(o, d);
        }
    }
    if (loss) loss[i] = w->scale * (float)(sum / (double)n);
}

/* Row i of the first half against row i of the second. An odd last row has no other one. */
static void pair_halves(walk *w, int64_t n, float *loss, const float *dl, double *dz) {
    int64_t half = n / 2;
    w->scale = half > 0 ? (float)n / (float)half : 0;
    for (int64_t i = 0; i < n; i++) {
        if (loss) loss[i] = 0;
        if (i >= half) continue;
        w->neg[0] = (uint32_t)(i + half);
        positive(w, (uint32_t)i, 1, loss, dl, dz);
    }
}

/* loss is given in forward; dl and dz in backward. */
static void pairwise_run(const cr_node *n, cr_tile *t, float *loss, const float *dl, double *dz) {
    const pairwise *a = n->attr;
    const uint64_t *keys;
    float *order = t->scratch + 2 * t->n_rows; /* dz lies in front of it */
    const uint32_t *row = cr_session_order(n, t, order, &keys);
    walk w = {.a = a,
              .z = cr_val(t, n->in[0]),
              .y = cr_val(t, n->in[1]),
              .key = cr_rng_sub(a->key, (uint64_t)cr_tile_step(t)),
              .neg = (uint32_t *)(void *)(order + CR_SESSION_SCRATCH * t->n_rows)};
    if (a->o.halves) {
        pair_halves(&w, t->n_rows, loss, dl, dz);
        return;
    }
    int64_t P = 0;
    for (int64_t first = 0, end; first < t->n_rows; first = end) {
        end = cr_session_end(keys, first, t->n_rows);
        int64_t m = negatives(&w, row + first, end - first);
        if (m > 0) P += end - first - m;
    }
    w.scale = P > 0 ? (float)((double)t->n_rows / (double)P) : 0;
    for (int64_t first = 0, end; first < t->n_rows; first = end) {
        end = cr_session_end(keys, first, t->n_rows);
        int64_t m = negatives(&w, row + first, end - first);
        for (int64_t k = first; k < end; k++) {
            uint32_t i = row[k];
            if (loss) loss[i] = 0;
            if (m > 0 && w.y[i] != 0) positive(&w, i, m, loss, dl, dz);
        }
    }
}

static void pairwise_forward(const cr_node *n, cr_tile *t) {
    pairwise_run(n, t, cr_val(t, n), NULL, NULL);
}

static void pairwise_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    double *sum = (double *)(void *)t->scratch;
    memset(sum, 0, (size_t)t->n_rows * sizeof(double));
    pairwise_run(n, t, NULL, cr_grad(t, n), sum);
    float *dz = cr_grad(t, n->in[0]);
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++)
        dz[r] = first ? (float)sum[r] : dz[r] + (float)sum[r];
}

static cr_node *make(cr_graph *g, cr_node *logit, cr_node *y, const cr_session *s,
                     const cr_pairwise_opts *o) {
    pairwise a = {*o, cr_rng_key(g->seed, "pairwise", NULL)};
    return cr_session_op(g, &cr_op_pairwise, logit, y, s, &a, sizeof(a));
}

static cr_node *pairwise_example(cr_graph *g, int k) {
    static const cr_pairwise_opts o[] = {{false, 0, 100, false},
                                         {true, 0.5, 100, false},
                                         {false, 0, 2, false},
                                         {false, 0, 1, false},
                                         {true, 0.5, 1, true}};
    if (k > 4) return NULL;
    cr_session s = {.slot = -1};
    if (k != 0 && k != 4) s = cr_example_session(g);
    return make(g, cr_feed(g, 1), cr_example_labels(g, 2), &s, &o[k]);
}

const cr_op_type cr_op_pairwise = {.name = "pairwise",
                                   .infer = pairwise_infer,
                                   .forward = pairwise_forward,
                                   .backward = pairwise_backward,
                                   .example = pairwise_example,
                                   .batch = true,
                                   .reads_in = true};

cr_node *cr_pairwise(cr_graph *g, cr_node *logit, cr_node *y, const cr_session *s,
                     const cr_pairwise_opts *o) {
    return make(g, logit, y, s, o);
}
