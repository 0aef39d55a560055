/*
 * vectors.c - vectors that lie side by side in a row, or at each position of a sequence.
 *
 * turn:  F vectors of D numbers as D vectors of F numbers, so that what works on planes of numbers
 *        (batch norm) sees number d of all vectors together.
 * there: a number for each vector, 1 where one of its numbers is not 0, else 0; no gradient passes.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "op/op.h"

/* ---- turn: x (F D) -> (D F) ---- */

static void turn_infer(cr_node *n) {
    if (n->in[0]->width % *(const int64_t *)n->attr != 0) CR_BUG("turn: no whole vectors");
    cr_infer_rows(n);
    n->width = n->in[0]->width;
}

static void turn_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    int64_t F = *(const int64_t *)n->attr, D = n->width / F;
    for (int64_t r = 0; r < cr_rows(t, n); r++) {
        const float *from = cr_val(t, x) + r * cr_ld(x);
        float *to = cr_val(t, n) + r * cr_ld(n);
        for (int64_t f = 0; f < F; f++)
            for (int64_t d = 0; d < D; d++)
                to[d * F + f] = from[f * D + d];
    }
}

static void turn_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *x = n->in[0];
    bool first = cr_first_grad(t, n, 0);
    int64_t F = *(const int64_t *)n->attr, D = n->width / F;
    for (int64_t r = 0; r < cr_rows(t, n); r++) {
        float *to = cr_grad(t, x) + r * cr_ld(x);
        const float *from = cr_grad(t, n) + r * cr_ld(n);
        for (int64_t f = 0; f < F; f++)
            for (int64_t d = 0; d < D; d++)
                to[f * D + d] = first ? from[d * F + f] : to[f * D + d] + from[d * F + f];
    }
}

static cr_node *turn_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    cr_node *x = cr_feed(g, k ? 34 : 6), *y = cr_turn(g, x, k ? 17 : 3);
    return k ? cr_mul(g, y, x) : y;
}

const cr_op_type cr_op_turn = {.name = "turn",
                               .infer = turn_infer,
                               .forward = turn_forward,
                               .backward = turn_backward,
                               .example = turn_example,
                               .rowwise = true};

cr_node *cr_turn(cr_graph *g, cr_node *x, int64_t vectors) {
    return cr_graph_op(g, &cr_op_turn, &x, 1, &vectors, sizeof(vectors));
}

/* ---- there: x (F D) -> F ---- */

static void there_infer(cr_node *n) {
    int64_t F = *(const int64_t *)n->attr;
    if (n->in[0]->width % F != 0) CR_BUG("there: no whole vectors");
    cr_infer_rows(n);
    n->width = F;
}

static void there_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    int64_t D = x->width / n->width;
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        for (int64_t f = 0; f < n->width; f++) {
            const float *v = cr_val(t, x) + r * cr_ld(x) + f * D;
            float any = 0;
            for (int64_t d = 0; d < D; d++)
                if (v[d] != 0) any = 1;
            cr_val(t, n)[r * cr_ld(n) + f] = any;
        }
}

static cr_node *there_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    /* every other vector is zeros, and what is there is multiplied by a feed that has a gradient */
    cr_node *x = cr_feed(g, 12), *parts[4];
    for (int i = 0; i < 4; i++) {
        cr_node *v = cr_slice(g, x, 3 * i, 3);
        parts[i] = cr_add(g, &v, (float[]){i % 2 ? 0.0f : 1.0f}, 1);
    }
    return cr_mul(g, x, cr_there(g, cr_concat(g, parts, 4), 4));
}

const cr_op_type cr_op_there = {.name = "there",
                                .infer = there_infer,
                                .forward = there_forward,
                                .example = there_example,
                                .rowwise = true};

cr_node *cr_there(cr_graph *g, cr_node *x, int64_t vectors) {
    return cr_graph_op(g, &cr_op_there, &x, 1, &vectors, sizeof(vectors));
}
