/*
 * fold_items.c - all items of a factorization machine as one matrix, made of the vectors of their
 * features once per step; and the sum of the outer products of its rows.
 *
 * An item with the features f has the row [s; 1; b], where s is the sum of the vectors E_f, and b
 * its own part of the score: h . (s^2 - sum of E_f^2) / 2 + sum of bias_f. A user with the row [p;
 * a; 1] then has the score p . s + a + b. The sum of the squared scores of all items is x G x with
 * G = Q^T Q, so a loss over all items costs what G costs, however many users a batch has (ENSFM,
 * Chen et al., 2020).
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

/* ---- items: E (V, D), bias (V, 1), h (1, D) -> (n, D + 2) ---- */

enum { IN_E, IN_BIAS, IN_H };

typedef struct items {
    const int64_t *ids; /* k features of each of n items */
    int64_t n, k;
} items;

static void items_infer(cr_node *n) {
    const items *a = n->attr;
    const cr_node *E = n->in[IN_E];
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i]->cls != CR_PARAM) CR_BUG("fold: not a parameter");
    if (n->in[IN_BIAS]->width != E->rows || n->in[IN_H]->width != E->cols)
        CR_BUG("fold: sizes do not fit");
    n->cls = CR_PARAM;
    n->rows = a->n;
    n->cols = E->cols + 2;
    n->width = n->rows * n->cols;
    n->n_dims = 2;
    n->scratch = E->cols;
}

/* Adds the squares of the vectors of an item to sq. */
static void add_squares(const items *a, int64_t i, const cr_node *E, float *sq) {
    for (int64_t f = 0; f < a->k; f++) {
        const float *e = E->w + a->ids[i * a->k + f] * E->cols;
        cr_kern->mul(sq, e, e, E->cols, true);
    }
}

static void items_fold(const cr_node *n, float *scratch) {
    const items *a = n->attr;
    const cr_node *E = n->in[IN_E];
    const float *bias = n->in[IN_BIAS]->w, *h = n->in[IN_H]->w;
    int64_t D = E->cols;
    for (int64_t i = 0; i < a->n; i++) {
        float *s = n->w + i * n->cols, *sq = scratch, own = 0;
        memset(s, 0, (size_t)D * sizeof(*s));
        memset(sq, 0, (size_t)D * sizeof(*sq));
        add_squares(a, i, E, sq);
        for (int64_t f = 0; f < a->k; f++) {
            int64_t id = a->ids[i * a->k + f];
            cr_kern->axpy(s, 1, E->w + id * D, D);
            own += bias[id];
        }
        for (int64_t d = 0; d < D; d++)
            own += h[d] * (s[d] * s[d] - sq[d]) / 2;
        s[D] = 1;
        s[D + 1] = own;
    }
}

static void items_unfold(const cr_node *n, const float *g, float *const *d, float *scratch) {
    const items *a = n->attr;
    const cr_node *E = n->in[IN_E];
    const float *h = n->in[IN_H]->w;
    int64_t D = E->cols;
    for (int64_t i = 0; i < a->n; i++, g += n->cols) {
        const float *s = n->w + i * n->cols;
        float own = g[D + 1], *sq = scratch;
        memset(sq, 0, (size_t)D * sizeof(*sq));
        if (d[IN_H]) add_squares(a, i, E, sq);
        for (int64_t j = 0; d[IN_H] && j < D; j++)
            d[IN_H][j] += own * (s[j] * s[j] - sq[j]) / 2;
        for (int64_t f = 0; f < a->k; f++) {
            int64_t id = a->ids[i * a->k + f];
            const float *e = E->w + id * D;
            if (d[IN_BIAS]) d[IN_BIAS][id] += own;
            for (int64_t j = 0; d[IN_E] && j < D; j++)
                d[IN_E][id * D + j] += g[j] + own * h[j] * (s[j] - e[j]);
        }
    }
}

static cr_node *example_items(cr_graph *g, int64_t D) {
    /* a feature of several items, and one that an item has twice */
    static const int64_t ids[] = {0, 4, 1, 4, 2, 2, 5, 3, 0, 3};
    cr_node *E = cr_graph_param(g, "E", 6, D, true, NULL, 0);
    cr_node *bias = cr_graph_param(g, "bias", 6, 1, true, NULL, 0);
    cr_node *h = cr_graph_param(g, "h", 1, D, true, NULL, 0);
    return cr_fold_items(g, E, bias, h, ids, 5, 2);
}

static cr_node *items_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    int64_t D = k ? 17 : 3;
    return cr_matmul(g, cr_feed(g, D + 2), example_items(g, D), NULL, false);
}

const cr_op_type cr_op_fold_items = {.name = "fold_items",
                                     .infer = items_infer,
                                     .fold = items_fold,
                                     .unfold = items_unfold,
                                     .example = items_example};

cr_node *cr_fold_items(cr_graph *g, cr_node *E, cr_node *bias, cr_node *h, const int64_t *ids,
                       int64_t n, int64_t k) {
    int64_t *own = CR_NEW_N(&g->arena, int64_t, n * k);
    memcpy(own, ids, (size_t)(n * k) * sizeof(*own));
    items a = {own, n, k};
    return cr_graph_op(g, &cr_op_fold_items, (cr_node *[]){E, bias, h}, 3, &a, sizeof(a));
}

/* ---- gram: Q (n, d) -> Q^T Q (d, d) ---- */

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Where the packed matrix begins in the scratch memory of unfold: behind the slopes of G. */
static int64_t packed_at(int64_t d) {
    return (d * d + 15) / 16 * 16;
}

static void gram_infer(cr_node *n) {
    const cr_node *Q = n->in[0];
    int64_t d = Q->cols;
    if (Q->cls != CR_PARAM) CR_BUG("fold: not a parameter");
    n->cls = CR_PARAM;
    n->rows = n->cols = d;
    n->width = d * d;
    n->n_dims = 2;
    n->scratch = most(cr_gemm_tn_scratch(d, d, Q->rows), packed_at(d) + cr_gemm_pack_size(d, d));
}

static void gram_fold(const cr_node *n, float *scratch) {
    const cr_node *Q = n->in[0];
    int64_t d = Q->cols;
    cr_kern->gemm_tn(n->w, d, Q->w, d, Q->w, d, d, d, Q->rows, 0, scratch);
}

/* dQ += Q (g + g^T) */
static void gram_unfold(const cr_node *n, const float *g, float *const *out, float *scratch) {
    const cr_node *Q = n->in[0];
    int64_t d = Q->cols;
    float *both = scratch, *packed = scratch + packed_at(d);
    if (!out[0]) return;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            both[i * d + j] = g[i * d + j] + g[j * d + i];
    cr_gemm_pack(packed, both, d, false, d, d);
    cr_kern->gemm(out[0], d, Q->w, d, packed, Q->rows, d, d, CR_GEMM_ACC, NULL);
}

static cr_node *gram_example(cr_graph *g, int k) {
    if (k == 0) {
        cr_node *Q = cr_graph_param(g, "Q", 9, 5, true, NULL, 0);
        return cr_matmul_kn(g, cr_feed(g, 5), cr_fold_gram(g, Q));
    }
    if (k > 1) return NULL;
    /* the squared scores of all items, which are used by themselves, too */
    cr_node *Q = example_items(g, 3), *x = cr_feed(g, 5);
    cr_node *y = cr_mul(g, cr_matmul_kn(g, x, cr_fold_gram(g, Q)), x);
    return cr_concat(g, (cr_node *[]){cr_row_sum(g, y), cr_matmul(g, x, Q, NULL, false)}, 2);
}

const cr_op_type cr_op_fold_gram = {.name = "fold_gram",
                                    .infer = gram_infer,
                                    .fold = gram_fold,
                                    .unfold = gram_unfold,
                                    .example = gram_example};

cr_node *cr_fold_gram(cr_graph *g, cr_node *Q) {
    return cr_graph_op(g, &cr_op_fold_gram, &Q, 1, NULL, 0);
}
