/*
 * ffm.c - the field-aware factorization machine's second-order term (Juan et al., 2016).
 *
 * Field i of a row brings one vector of D for each field: x (F, F, D), x[i, j] is what field i
 * shows to field j. y = sum over i < j of x[i, j] . x[j, i]. The diagonal is not used. The gradient
 * of x[i, j] is dy x[j, i]: a scaled copy of the transposed blocks.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct ffm {
    int64_t F, D;
} ffm;

static void infer(cr_node *n) {
    const ffm *a = n->attr;
    if (n->in[0]->width != a->F * a->F * a->D) CR_BUG("ffm: width is not F * F * D");
    n->cls = CR_ROW;
    n->width = 1;
}

static void forward(const cr_node *n, cr_tile *t) {
    const ffm *a = n->attr;
    const cr_node *x = n->in[0];
    for (int64_t r = 0; r < t->n_rows; r++)
        cr_val(t, n)[r * cr_ld(n)] = cr_kern->ffm(cr_val(t, x) + r * cr_ld(x), a->F, a->D);
}

static void backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const ffm *a = n->attr;
    const cr_node *x = n->in[0];
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++)
        cr_kern->ffm_bwd(cr_grad(t, x) + r * cr_ld(x), cr_grad(t, n)[r * cr_ld(n)],
                         cr_val(t, x) + r * cr_ld(x), a->F, a->D, !first);
}

static cr_node *example(cr_graph *g, int k) {
    switch (k) {
    case 0: return cr_ffm(g, cr_feed(g, 3 * 3 * 4), 3, 4);
    case 1: return cr_ffm(g, cr_feed(g, 5 * 5 * 3), 5, 3);
    case 2: {
        cr_node *x = cr_feed(g, 2 * 2 * 18);
        return cr_concat(g, (cr_node *[]){cr_ffm(g, x, 2, 18), x}, 2);
    }
    default: return NULL;
    }
}

const cr_op_type cr_op_ffm = {.name = "ffm",
                              .infer = infer,
                              .forward = forward,
                              .backward = backward,
                              .example = example,
                              .reads_in = true};

cr_node *cr_ffm(cr_graph *g, cr_node *x, int64_t F, int64_t D) {
    ffm a = {F, D};
    return cr_graph_op(g, &cr_op_ffm, &x, 1, &a, sizeof(a));
}
