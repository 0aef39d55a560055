/*
 * pair_mul.c - products of vectors, number by number, for all pairs of fields: u_i * v_j for i < j,
 * in the order (0,1), (0,2), ..., (1,2), ...; with `self` also u_i * v_i, in front of (i,i+1). For
 * one row the factorization machine adds them all up (interact.c); attention, bilinear layers and
 * graphs of fields need each.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct shape {
    int64_t F, D;
    bool self;
} shape;

static void infer(cr_node *n) {
    const shape *a = n->attr;
    if (n->in[0]->width != a->F * a->D || n->in[1]->width != a->F * a->D)
        CR_BUG("pair_mul: not fields");
    n->cls = CR_ROW;
    n->width = a->F * (a->F + (a->self ? 1 : -1)) / 2 * a->D;
}

static void forward(const cr_node *n, cr_tile *t) {
    const shape *a = n->attr;
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *u = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        const float *v = cr_val(t, n->in[1]) + r * cr_ld(n->in[1]);
        float *y = cr_val(t, n) + r * cr_ld(n);
        for (int64_t i = 0; i < a->F; i++)
            for (int64_t j = i + !a->self; j < a->F; j++, y += a->D)
                cr_kern->mul(y, u + i * a->D, v + j * a->D, a->D, false);
    }
}

static void backward(const cr_node *n, cr_tile *t) {
    const shape *a = n->attr;
    const cr_node *in[2] = {n->in[0], n->in[1]};
    float *d[2];
    for (int k = 0; k < 2; k++) {
        d[k] = cr_wants_grad(t, n, k) ? cr_grad(t, in[k]) : NULL;
        if (d[k] && cr_first_grad(t, n, k))
            memset(d[k], 0, (size_t)(t->n_rows * cr_ld(in[k])) * sizeof(float));
    }
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *u = cr_val(t, in[0]) + r * cr_ld(in[0]), *dy = cr_grad(t, n) + r * cr_ld(n);
        const float *v = cr_val(t, in[1]) + r * cr_ld(in[1]);
        float *du = d[0] ? d[0] + r * cr_ld(in[0]) : NULL;
        float *dv = d[1] ? d[1] + r * cr_ld(in[1]) : NULL;
        for (int64_t i = 0; i < a->F; i++)
            for (int64_t j = i + !a->self; j < a->F; j++, dy += a->D) {
                if (du) cr_kern->mul(du + i * a->D, dy, v + j * a->D, a->D, true);
                if (dv) cr_kern->mul(dv + j * a->D, dy, u + i * a->D, a->D, true);
            }
    }
}

static cr_node *example(cr_graph *g, int k) {
    if (k > 2) return NULL;
    cr_node *u = cr_feed(g, k ? 5 * 17 : 3 * 2);
    return cr_pair_mul(g, u, k ? u : cr_feed(g, 3 * 2), k ? 5 : 3, k ? 17 : 2, k == 2);
}

const cr_op_type cr_op_pair_mul = {.name = "pair_mul",
                                   .infer = infer,
                                   .forward = forward,
                                   .backward = backward,
                                   .example = example,
                                   .reads_in = true};

cr_node *cr_pair_mul(cr_graph *g, cr_node *u, cr_node *v, int64_t F, int64_t D, bool self) {
    shape a = {F, D, self};
    return cr_graph_op(g, &cr_op_pair_mul, (cr_node *[]){u, v}, 2, &a, sizeof(a));
}
