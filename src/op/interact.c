/*
 * interact.c - products between feature vectors: the factorization machine's second-order term and
 * DLRM's pairwise dot products. A row of x is F vectors of D side by side.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct inter {
    int64_t F, D;
} inter;

static void check(const cr_node *n) {
    const inter *a = n->attr;
    if (n->in[0]->width != a->F * a->D) CR_BUG("interaction: width is not F * D");
}

/* The vectors are the columns of x from `from` on: a group of deepfm is often a part of the columns
 * that the deep layers read, and a copy of them would cost as much as the sums. */
typedef struct fm {
    int64_t F, D, from;
} fm;

static void fm_infer(cr_node *n) {
    const fm *a = n->attr;
    n->cls = CR_ROW;
    n->width = a->D;
}

static void fm_forward(const cr_node *n, cr_tile *t) {
    const fm *a = n->attr;
    const cr_node *x = n->in[0];
    cr_kern->fm(cr_val(t, n), cr_ld(n), cr_val(t, x) + a->from, cr_ld(x), t->n_rows, a->F, a->D);
}

static void fm_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const fm *a = n->attr;
    const cr_node *x = n->in[0];
    int64_t ld = cr_ld(x), end = a->from + a->F * a->D;
    float *dx = cr_grad(t, x);
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; first && r < t->n_rows; r++) { /* the other columns get no gradient here */
        memset(dx + r * ld, 0, (size_t)a->from * sizeof(float));
        memset(dx + r * ld + end, 0, (size_t)(x->width - end) * sizeof(float));
    }
    cr_kern->fm_bwd(dx + a->from, ld, cr_grad(t, n), cr_ld(n), cr_val(t, x) + a->from, ld,
                    t->n_rows, a->F, a->D, !first);
}

static cr_node *fm_example(cr_graph *g, int k) {
    cr_node *x;
    switch (k) {
    case 0: return cr_fm(g, cr_feed(g, 12), 0, 3, 4);
    case 1: return cr_fm(g, cr_feed(g, 80), 0, 5, 16);
    case 2: return cr_fm(g, cr_feed(g, 90), 3, 5, 16);
    case 3: /* the same columns twice, and others */
        x = cr_feed(g, 40);
        return cr_concat(g, (cr_node *[]){cr_fm(g, x, 1, 2, 16), x, cr_fm(g, x, 8, 2, 16)}, 3);
    default: return NULL;
    }
}

const cr_op_type cr_op_fm = {.name = "fm",
                             .infer = fm_infer,
                             .forward = fm_forward,
                             .backward = fm_backward,
                             .example = fm_example,
                             .reads_in = true};

cr_node *cr_fm(cr_graph *g, cr_node *x, int64_t from, int64_t F, int64_t D) {
    fm a = {F, D, from};
    if (from < 0 || from + F * D > x->width) CR_BUG("fm: out of range");
    return cr_graph_op(g, &cr_op_fm, &x, 1, &a, sizeof(a));
}

static void pairs_infer(cr_node *n) {
    const inter *a = n->attr;
    check(n);
    n->cls = CR_ROW;
    n->width = a->F * (a->F - 1) / 2;
}

static void pairs_forward(const cr_node *n, cr_tile *t) {
    const inter *a = n->attr;
    const cr_node *x = n->in[0];
    cr_kern->pairs(cr_val(t, n), cr_ld(n), cr_val(t, x), cr_ld(x), t->n_rows, a->F, a->D);
}

static void pairs_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const inter *a = n->attr;
    const cr_node *x = n->in[0];
    cr_kern->pairs_bwd(cr_grad(t, x), cr_ld(x), cr_grad(t, n), cr_ld(n), cr_val(t, x), cr_ld(x),
                       t->n_rows, a->F, a->D, !cr_first_grad(t, n, 0));
}

static cr_node *pairs_example(cr_graph *g, int k) {
    switch (k) {
    case 0: return cr_pairs(g, cr_feed(g, 20), 5, 4);
    case 1: return cr_pairs(g, cr_feed(g, 112), 7, 16);
    default: return NULL;
    }
}

const cr_op_type cr_op_pairs = {.name = "pairs",
                                .infer = pairs_infer,
                                .forward = pairs_forward,
                                .backward = pairs_backward,
                                .example = pairs_example,
                                .reads_in = true};

cr_node *cr_pairs(cr_graph *g, cr_node *x, int64_t F, int64_t D) {
    inter a = {F, D};
    return cr_graph_op(g, &cr_op_pairs, &x, 1, &a, sizeof(a));
}
