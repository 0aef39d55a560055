/*
 * field.c - a row as a small matrix: transpose it, add up its rows, multiply two of them.
 *
 * A mix of fields (Wukong's linear compression) is transpose, cr_matmul_each, transpose: then the
 * weight is the packed right-hand side and the batch gives the many rows that a product needs.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct shape {
    int64_t n, m;
} shape;

/* ---- transpose: (n, m) -> (m, n) ---- */

static void transpose_infer(cr_node *n) {
    const shape *a = n->attr;
    if (n->in[0]->width != a->n * a->m) CR_BUG("transpose: width is not n * m");
    n->cls = CR_ROW;
    n->width = a->n * a->m;
}

/* y[j, i] = x[i, j]; acc: is added */
static void turn(float *restrict y, const float *restrict x, int64_t n, int64_t m, bool acc) {
    for (int64_t j = 0; j < m; j++) {
        float *to = y + j * n;
        if (acc)
            for (int64_t i = 0; i < n; i++)
                to[i] += x[i * m + j];
        else
            for (int64_t i = 0; i < n; i++)
                to[i] = x[i * m + j];
    }
}

static void transpose_forward(const cr_node *n, cr_tile *t) {
    const shape *a = n->attr;
    const cr_node *x = n->in[0];
    for (int64_t r = 0; r < t->n_rows; r++)
        turn(cr_val(t, n) + r * cr_ld(n), cr_val(t, x) + r * cr_ld(x), a->n, a->m, false);
}

static void transpose_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const shape *a = n->attr;
    const cr_node *x = n->in[0];
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++)
        turn(cr_grad(t, x) + r * cr_ld(x), cr_grad(t, n) + r * cr_ld(n), a->m, a->n, !first);
}

static cr_node *transpose_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *x = cr_feed(g, 15);
    return cr_concat(g, (cr_node *[]){cr_transpose(g, x, 3, 5), x}, 2);
}

const cr_op_type cr_op_transpose = {.name = "transpose",
                                    .infer = transpose_infer,
                                    .forward = transpose_forward,
                                    .backward = transpose_backward,
                                    .example = transpose_example};

cr_node *cr_transpose(cr_graph *g, cr_node *x, int64_t n, int64_t m) {
    shape a = {n, m};
    return cr_graph_op(g, &cr_op_transpose, &x, 1, &a, sizeof(a));
}

/* ---- field_sum: (n, m) -> m, the sum of the n vectors ---- */

static void sum_infer(cr_node *n) {
    const shape *a = n->attr;
    if (n->in[0]->width != a->n * a->m) CR_BUG("field_sum: width is not n * m");
    n->cls = CR_ROW;
    n->width = a->m;
}

static void sum_forward(const cr_node *n, cr_tile *t) {
    const shape *a = n->attr;
    const cr_node *x = n->in[0];
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        memset(y, 0, (size_t)a->m * sizeof(float));
        cr_kern->col_sum(y, cr_val(t, x) + r * cr_ld(x), a->m, a->n, a->m);
    }
}

static void sum_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const shape *a = n->attr;
    const cr_node *x = n->in[0];
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++) /* a source step of 0 gives all rows the same source */
        cr_kern->copy_rows(cr_grad(t, x) + r * cr_ld(x), a->m, cr_grad(t, n) + r * cr_ld(n), 0,
                           a->n, a->m, !first);
}

static cr_node *sum_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *x = cr_feed(g, 20);
    return cr_concat(g, (cr_node *[]){cr_field_sum(g, x, 4, 5), x}, 2);
}

const cr_op_type cr_op_field_sum = {.name = "field_sum",
                                    .infer = sum_infer,
                                    .forward = sum_forward,
                                    .backward = sum_backward,
                                    .example = sum_example};

cr_node *cr_field_sum(cr_graph *g, cr_node *x, int64_t n, int64_t m) {
    shape a = {n, m};
    return cr_graph_op(g, &cr_op_field_sum, &x, 1, &a, sizeof(a));
}

/* ---- bmm: per row a (n, k) times b (k, m) -> (n, m) ---- */

typedef struct bmm {
    int64_t n, k, m;
    int64_t pack; /* floats of scratch for a packed side; gemm_tn's part follows */
} bmm;

static void bmm_infer(cr_node *n) {
    bmm *a = n->attr;
    if (n->in[0]->width != a->n * a->k || n->in[1]->width != a->k * a->m)
        CR_BUG("bmm: widths do not fit");
    n->cls = CR_ROW;
    n->width = a->n * a->m;
    int64_t fwd = cr_gemm_pack_size(a->k, a->m), bwd = cr_gemm_pack_size(a->m, a->k);
    a->pack = cr_up16(fwd > bwd ? fwd : bwd);
    n->scratch = a->pack + cr_gemm_tn_scratch(a->k, a->m, a->n);
}

static void bmm_forward(const cr_node *n, cr_tile *t) {
    const bmm *a = n->attr;
    const cr_node *x = n->in[0], *y = n->in[1];
    for (int64_t r = 0; r < t->n_rows; r++) {
        cr_gemm_pack(t->scratch, cr_val(t, y) + r * cr_ld(y), a->m, false, a->k, a->m);
        cr_kern->gemm(cr_val(t, n) + r * cr_ld(n), a->m, cr_val(t, x) + r * cr_ld(x), a->k,
                      t->scratch, a->n, a->m, a->k, 0, NULL);
    }
}

static void bmm_backward(const cr_node *n, cr_tile *t) {
    const bmm *a = n->attr;
    const cr_node *x = n->in[0], *y = n->in[1];
    bool wants_x = cr_wants_grad(t, n, 0), wants_y = cr_wants_grad(t, n, 1);
    int acc_x = cr_first_grad(t, n, 0) ? 0 : CR_GEMM_ACC;
    int acc_y = cr_first_grad(t, n, 1) ? 0 : CR_GEMM_ACC;
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *d = cr_grad(t, n) + r * cr_ld(n);
        if (wants_x) {
            cr_gemm_pack(t->scratch, cr_val(t, y) + r * cr_ld(y), a->m, true, a->m, a->k);
            cr_kern->gemm(cr_grad(t, x) + r * cr_ld(x), a->k, d, a->m, t->scratch, a->n, a->k, a->m,
                          acc_x, NULL);
        }
        if (wants_y)
            cr_kern->gemm_tn(cr_grad(t, y) + r * cr_ld(y), a->m, cr_val(t, x) + r * cr_ld(x), a->k,
                             d, a->m, a->k, a->m, a->n, acc_y, t->scratch + a->pack);
    }
}

static cr_node *bmm_example(cr_graph *g, int k) {
    switch (k) {
    case 0: return cr_bmm(g, cr_feed(g, 15), cr_feed(g, 20), 3, 5, 4);
    case 1: return cr_bmm(g, cr_feed(g, 17 * 8), cr_feed(g, 8 * 35), 17, 8, 35);
    case 2: {
        cr_node *x = cr_feed(g, 16);
        return cr_bmm(g, x, x, 4, 4, 4);
    }
    default: return NULL;
    }
}

const cr_op_type cr_op_bmm = {.name = "bmm",
                              .infer = bmm_infer,
                              .forward = bmm_forward,
                              .backward = bmm_backward,
                              .example = bmm_example,
                              .reads_in = true};

cr_node *cr_bmm(cr_graph *g, cr_node *x, cr_node *y, int64_t n, int64_t k, int64_t m) {
    bmm a = {n, k, m, 0};
    return cr_graph_op(g, &cr_op_bmm, (cr_node *[]){x, y}, 2, &a, sizeof(a));
}
