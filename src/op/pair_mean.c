/*
 * pair_mean.c - a graph whose nodes are the fields of a row and whose edges are their pairs: every
 * pair p = (i, j) has a message m_p and a gate s_p, and a field becomes the mean of s_p m_p over
 * its pairs with an open gate (s_p > 0). With `both` the message goes to i and j, else to j alone.
 * The order of the pairs is that of pair_mul.c. How many gates are open is counted anew in backward
 * and has no slope.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct pairs {
    int64_t F, D;
    bool self, both;
} pairs;

static void infer(cr_node *n) {
    const pairs *a = n->attr;
    int64_t P = a->F * (a->F + (a->self ? 1 : -1)) / 2;
    if (n->in[0]->width != P * a->D || n->in[1]->width != P) CR_BUG("pair_mean: not pairs");
    n->cls = CR_ROW;
    n->width = a->F * a->D;
    n->scratch = a->F;
}

/* Writes 1 by the number of open gates of each field to share; 0 where there is none. */
static void shares(const pairs *a, const float *s, float *share) {
    memset(share, 0, (size_t)a->F * sizeof(*share));
    for (int64_t i = 0; i < a->F; i++)
        for (int64_t j = i + !a->self; j < a->F; j++, s++) {
            if (!(*s > 0)) continue;
            share[j] += 1;
            if (a->both && i != j) share[i] += 1;
        }
    for (int64_t f = 0; f < a->F; f++)
        if (share[f] > 0) share[f] = 1 / share[f];
}

static void forward(const cr_node *n, cr_tile *t) {
    const pairs *a = n->attr;
    float *share = t->scratch;
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *m = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        const float *s = cr_val(t, n->in[1]) + r * cr_ld(n->in[1]);
        float *y = cr_val(t, n) + r * cr_ld(n);
        shares(a, s, share);
        memset(y, 0, (size_t)n->width * sizeof(*y));
        for (int64_t i = 0; i < a->F; i++)
            for (int64_t j = i + !a->self; j < a->F; j++, s++, m += a->D) {
                if (!(*s > 0)) continue;
                cr_kern->axpy(y + j * a->D, *s * share[j], m, a->D);
                if (a->both && i != j) cr_kern->axpy(y + i * a->D, *s * share[i], m, a->D);
            }
    }
}

static void backward(const cr_node *n, cr_tile *t) {
    const pairs *a = n->attr;
    const cr_node *in[2] = {n->in[0], n->in[1]};
    float *share = t->scratch, *d[2];
    for (int k = 0; k < 2; k++) {
        d[k] = cr_wants_grad(t, n, k) ? cr_grad(t, in[k]) : NULL;
        if (d[k] && cr_first_grad(t, n, k))
            memset(d[k], 0, (size_t)(t->n_rows * cr_ld(in[k])) * sizeof(float));
    }
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *m = cr_val(t, in[0]) + r * cr_ld(in[0]);
        const float *s = cr_val(t, in[1]) + r * cr_ld(in[1]);
        const float *dy = cr_grad(t, n) + r * cr_ld(n);
        float *dm = d[0] ? d[0] + r * cr_ld(in[0]) : NULL;
        float *ds = d[1] ? d[1] + r * cr_ld(in[1]) : NULL;
        shares(a, s, share);
        for (int64_t i = 0, p = 0; i < a->F; i++)
            for (int64_t j = i + !a->self; j < a->F; j++, p++) {
                if (!(s[p] > 0)) continue;
                for (int k = 0; k < (a->both && i != j ? 2 : 1); k++) {
                    int64_t f = k ? i : j;
                    const float *g = dy + f * a->D;
                    if (dm) cr_kern->axpy(dm + p * a->D, s[p] * share[f], g, a->D);
                    if (ds) ds[p] += share[f] * cr_kern->dot(g, m + p * a->D, a->D);
                }
            }
    }
}

static cr_node *example(cr_graph *g, int k) {
    switch (k) {
    case 0: return cr_pair_mean(g, cr_feed(g, 3 * 2), cr_feed(g, 3), 3, false, true);
    case 1: return cr_pair_mean(g, cr_feed(g, 15 * 9), cr_feed(g, 15), 5, true, true);
    case 2: return cr_pair_mean(g, cr_feed(g, 6 * 17), cr_feed(g, 6), 3, true, false);
    case 3: {
        cr_node *m = cr_feed(g, 3), *s = cr_feed(g, 3);
        return cr_concat(g, (cr_node *[]){cr_pair_mean(g, m, s, 2, true, false), m, s}, 3);
    }
    default: return NULL;
    }
}

const cr_op_type cr_op_pair_mean = {.name = "pair_mean",
                                    .infer = infer,
                                    .forward = forward,
                                    .backward = backward,
                                    .example = example,
                                    .reads_in = true};

cr_node *cr_pair_mean(cr_graph *g, cr_node *m, cr_node *s, int64_t F, bool self, bool both) {
    pairs a = {F, m->width / s->width, self, both};
    return cr_graph_op(g, &cr_op_pair_mean, (cr_node *[]){m, s}, 2, &a, sizeof(a));
}
