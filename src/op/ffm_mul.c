/*
 * ffm_mul.c - what two fields show each other, multiplied number by number (Zhang et al., 2019:
 * FAT-DeepFFM).
 *
 * Field i of a row brings one vector of D for each field: x (F, F, D), as in ffm.c, which adds the
 * products up. y has x[i, j] * x[j, i] for i < j, in the order (0,1), (0,2), ..., (1,2), ... The
 * diagonal is not used.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct shape {
    int64_t F, D;
} shape;

static void infer(cr_node *n) {
    const shape *a = n->attr;
    if (n->in[0]->width != a->F * a->F * a->D) CR_BUG("ffm_mul: width is not F * F * D");
    n->cls = CR_ROW;
    n->width = a->F * (a->F - 1) / 2 * a->D;
}

static void forward(const cr_node *n, cr_tile *t) {
    const shape *a = n->attr;
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        float *y = cr_val(t, n) + r * cr_ld(n);
        for (int64_t i = 0; i < a->F; i++)
            for (int64_t j = i + 1; j < a->F; j++, y += a->D)
                cr_kern->mul(y, x + (i * a->F + j) * a->D, x + (j * a->F + i) * a->D, a->D, false);
    }
}

static void backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const shape *a = n->attr;
    const cr_node *in = n->in[0];
    if (cr_first_grad(t, n, 0))
        memset(cr_grad(t, in), 0, (size_t)(t->n_rows * cr_ld(in)) * sizeof(float));
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, in) + r * cr_ld(in), *dy = cr_grad(t, n) + r * cr_ld(n);
        float *dx = cr_grad(t, in) + r * cr_ld(in);
        for (int64_t i = 0; i < a->F; i++)
            for (int64_t j = i + 1; j < a->F; j++, dy += a->D) {
                int64_t ij = (i * a->F + j) * a->D, ji = (j * a->F + i) * a->D;
                cr_kern->mul(dx + ij, dy, x + ji, a->D, true);
                cr_kern->mul(dx + ji, dy, x + ij, a->D, true);
            }
    }
}

static cr_node *example(cr_graph *g, int k) {
    switch (k) {
    case 0: return cr_ffm_mul(g, cr_feed(g, 3 * 3 * 4), 3, 4);
    case 1: {
        cr_node *x = cr_feed(g, 4 * 4 * 17);
        return cr_concat(g, (cr_node *[]){cr_ffm_mul(g, x, 4, 17), x}, 2);
    }
    default: return NULL;
    }
}

const cr_op_type cr_op_ffm_mul = {.name = "ffm_mul",
                                  .infer = infer,
                                  .forward = forward,
                                  .backward = backward,
                                  .example = example,
                                  .reads_in = true};

cr_node *cr_ffm_mul(cr_graph *g, cr_node *x, int64_t F, int64_t D) {
    shape a = {F, D};
    return cr_graph_op(g, &cr_op_ffm_mul, &x, 1, &a, sizeof(a));
}
