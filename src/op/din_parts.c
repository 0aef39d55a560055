/*
 * din_parts.c - the first layer of a target attention (din.c) with BF16 products.
 *
 *     W [q; k; q - k; q * k] = (W1 + W3) q  +  [W2 - W3, W4] [k; q * k]
 *
 * din.c makes one matrix of both weights per row. Here the weights are packed once per step instead
 * and the product is twice as wide: the tile unit multiplies so fast that packing a matrix per row
 * would take longer. The row's part stays in FP32. It is written to the positions of the row first,
 * and the products are added to it.
 *
 * Positions are taken some at a time: [k; q * k] of so many is made in the scratch memory, forward
 * and again backward. The gradient of W3 is that of W1 minus that of W2, as in din.c.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "graph/plan.h"
#include "kern/kern.h"
#include "op/blocks.h"
#include "op/op.h"

#define NR   CR_GEMM_NR
#define SOME 256 /* positions at a time, whole blocks */

typedef struct din {
    int64_t C, N;
    bool relu;
    int parts;
    /* offsets into the prepared data: W1 + W3 packed in both directions (FP32); [W2 - W3, W4] as
     * floats (N, 2 C), and packed in both directions (BF16) */
    int64_t q_at, dq_at, w_at, x_at, dx_at;
    /* offsets into the scratch: the row's part, or its gradient, for each row of the tile;
     * [k; q * k] and its gradient for some positions; the products' own */
    int64_t rows_at, in_at, din_at, own_at;
} din;

enum { IN_Q, IN_K, IN_W, IN_B };

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void infer(cr_node *n) {
    din *a = n->attr;
    const cr_node *q = n->in[IN_Q], *k = n->in[IN_K], *W = n->in[IN_W];
    int64_t C = a->C = q->width, N = a->N = W->rows;
    if (q->cls != CR_ROW || k->cls != CR_SEQ || k->width != C || W->cols != 4 * C ||
        (n->n_in > IN_B && n->in[IN_B]->width != N))
        CR_BUG("din_parts: widths differ");
    n->cls = CR_SEQ;
    n->axis = k->axis;
    n->width = N;
    n->zeros = n->relu = a->relu;
    a->q_at = 0;
    a->dq_at = a->q_at + cr_up16(cr_gemm_pack_size(C, N));
    a->w_at = a->dq_at + cr_up16(cr_gemm_pack_size(N, C));
    a->x_at = a->w_at + cr_up16(N * 2 * C);
    a->dx_at = a->x_at + cr_up16(cr_gemm_bf16_pack_size(2 * C, N, a->parts));
    n->pack = a->dx_at + cr_gemm_bf16_pack_size(N, 2 * C, a->parts);
    n->n_prepare = 2;
    a->rows_at = 0;
    a->in_at = cr_up16(CR_MAX_TILE * N);
    a->din_at = a->in_at + cr_up16(SOME * 2 * C);
    a->own_at = a->din_at + cr_up16(SOME * 2 * C);
    int64_t own = cr_gemm_bf16_scratch(SOME, most(2 * C, N), a->parts);
    own = most(own, cr_gemm_bf16_tn_scratch(N, C, SOME, a->parts));
    n->scratch = a->own_at + most(own, cr_gemm_tn_scratch(N, C, CR_MAX_TILE));
    n->carry = cr_blocks_carry(N, 2 * C);
}

/* Packs W1 + W3 for rows (item 0), and [W2 - W3, W4] for positions (item 1). */
static void prepare(const cr_node *n, float *packed, int64_t item, bool train) {
    const din *a = n->attr;
    const float *W = n->in[IN_W]->w;
    int64_t C = a->C, N = a->N;
    if (item == 0) {
        for (int dir = 0; dir < (train ? 2 : 1); dir++) {
            int64_t K = dir ? N : C, cols = dir ? C : N;
            float *to = packed + (dir ? a->dq_at : a->q_at);
            for (int64_t c0 = 0; c0 < cols; c0 += NR)
                for (int64_t k = 0; k < K; k++)
                    for (int64_t c = c0; c < c0 + NR; c++) {
                        const float *w = W + (dir ? k : c) * 4 * C + (dir ? c : k);
                        *to++ = c < cols ? w[0] + w[2 * C] : 0;
                    }
        }
        return;
    }
    float *both = packed + a->w_at;
    for (int64_t i = 0; i < N; i++, W += 4 * C) {
        cr_kern->scale_add(both + i * 2 * C, 1, W + C, -1, W + 2 * C, C);
        memcpy(both + i * 2 * C + C, W + 3 * C, (size_t)C * sizeof(float));
    }
    cr_kern->gemm_bf16_pack((uint32_t *)(void *)(packed + a->x_at), both, 2 * C, true, 2 * C, N, 0,
                            cr_gemm_panels(N), a->parts);
    if (train)
        cr_kern->gemm_bf16_pack((uint32_t *)(void *)(packed + a->dx_at), both, 2 * C, false, N,
                                2 * C, 0, cr_gemm_panels(2 * C), a->parts);
}

/* The positions [p, end) of the tile; row r holds the first of them. */
typedef struct some {
    int64_t p, end, r;
} some;

/* Takes the next positions of the tile; false: there are no more. */
static bool next(const cr_tile *t, const int32_t *off, some *s) {
    int64_t all = off[t->n_rows] - off[0];
    s->p = s->end;
    s->end = all - s->p < SOME ? all : s->p + SOME;
    while (s->r < t->n_rows && off[s->r + 1] - off[0] <= s->p)
        s->r++;
    return s->p < s->end;
}

/* Makes [k; q * k] of some positions. */
static void inputs(const cr_node *n, const cr_tile *t, const int32_t *off, some s, float *x) {
    const din *a = n->attr;
    const cr_node *q = n->in[IN_Q], *k = n->in[IN_K];
    for (int64_t p = s.p, r = s.r; p < s.end; p++, x += 2 * a->C) {
        while (off[r + 1] - off[0] <= p)
            r++;
        const float *key = cr_val(t, k) + p * cr_ld(k);
        memcpy(x, key, (size_t)a->C * sizeof(float));
        cr_kern->mul(x + a->C, cr_val(t, q) + r * cr_ld(q), key, a->C, false);
    }
}

static void forward(const cr_node *n, cr_tile *t) {
    const din *a = n->attr;
    const cr_node *q = n->in[IN_Q];
    const float *packed = cr_packed(t, n);
    const int32_t *off = cr_seq_off(t, n->axis);
    float *zq = t->scratch + a->rows_at, *x = t->scratch + a->in_at;
    bool bias = n->n_in > IN_B;
    cr_kern->gemm(zq, a->N, cr_val(t, q), cr_ld(q), packed + a->q_at, t->n_rows, a->N, a->C,
                  bias ? CR_GEMM_BIAS : 0, bias ? n->in[IN_B]->w : NULL);
    for (int64_t r = 0; r < t->n_rows; r++)
        cr_kern->copy_rows(cr_val(t, n) + (off[r] - off[0]) * cr_ld(n), cr_ld(n), zq + r * a->N, 0,
                           off[r + 1] - off[r], a->N, false);
    for (some s = {0}; next(t, off, &s);) {
        inputs(n, t, off, s, x);
        cr_kern->gemm_bf16(cr_val(t, n) + s.p * cr_ld(n), cr_ld(n), x, 2 * a->C,
                           (const uint32_t *)(const void *)(packed + a->x_at), s.end - s.p, a->N,
                           2 * a->C, CR_GEMM_ACC | (a->relu ? CR_GEMM_RELU : 0), NULL, a->parts,
                           t->scratch + a->own_at);
    }
}

/* For cr_blocks_add: adds the products of some positions to the gradients of W2 and W4. */
typedef struct weights {
    const din *a;
    float *dW, *own;
} weights;
static void add_weights(void *ctx, const cr_sides *s, int64_t rows) {
    const weights *w = ctx;
    const din *a = w->a;
    for (int i = 0; i < 2; i++)
        cr_kern->gemm_bf16_tn(w->dW + (i ? 3 : 1) * a->C, 4 * a->C, s->L, s->ldl, s->O + i * a->C,
                              s->ldo, a->N, a->C, rows, CR_GEMM_ACC, a->parts, w->own);
}

/* Sends the gradient d of [k; q * k] of some positions to q and k. */
static void give(const cr_node *n, const cr_tile *t, const int32_t *off, some s, const float *d) {
    const din *a = n->attr;
    const cr_node *q = n->in[IN_Q], *k = n->in[IN_K];
    bool wants_q = cr_wants_grad(t, n, IN_Q), wants_k = cr_wants_grad(t, n, IN_K);
    bool add = !cr_first_grad(t, n, IN_K);
    for (int64_t p = s.p, r = s.r; p < s.end; p++, d += 2 * a->C) {
        while (off[r + 1] - off[0] <= p)
            r++;
        if (wants_k) {
            float *dk = cr_grad(t, k) + p * cr_ld(k);
            cr_kern->mul(dk, cr_val(t, q) + r * cr_ld(q), d + a->C, a->C, add);
            cr_kern->add(dk, dk, d, a->C);
        }
        if (wants_q)
            cr_kern->mul(cr_grad(t, q) + r * cr_ld(q), cr_val(t, k) + p * cr_ld(k), d + a->C, a->C,
                         true);
    }
}

/* Backward of the positions. */
static void back_positions(const cr_node *n, cr_tile *t, const int32_t *off, float *dW) {
    const din *a = n->attr;
    int64_t ld = cr_ld(n), C = a->C, all = off[t->n_rows] - off[0];
    const float *packed = cr_packed(t, n);
    float *x = t->scratch + a->in_at, *d = t->scratch + a->din_at, *own = t->scratch + a->own_at;
    bool in = cr_wants_grad(t, n, IN_Q) || cr_wants_grad(t, n, IN_K);
    some s = {0};
    do { /* runs also for no positions, since some may wait */
        (void)next(t, off, &s);
        int64_t m = s.end - s.p;
        const float *dy = cr_grad(t, n) + s.p * ld;
        if (dW) {
            inputs(n, t, off, s, x);
            (void)cr_blocks_add(cr_carry(t, n), (cr_sides){dy, x, ld, 2 * C, a->N, 2 * C}, m,
                                t->first && s.p == 0, t->last && s.end == all, add_weights,
                                &(weights){a, dW, own});
        }
        if (!in || m == 0) continue;
        cr_kern->gemm_bf16(d, 2 * C, dy, ld, (const uint32_t *)(const void *)(packed + a->dx_at), m,
                           2 * C, a->N, 0, NULL, a->parts, own);
        give(n, t, off, s, d);
    } while (s.end < all);
}

static void backward(const cr_node *n, cr_tile *t) {
    const din *a = n->attr;
    const cr_node *q = n->in[IN_Q];
    const int32_t *off = cr_seq_off(t, n->axis);
    int64_t ld = cr_ld(n), C = a->C, N = a->N, all = off[t->n_rows] - off[0];
    float *dz = t->scratch + a->rows_at, *own = t->scratch + a->own_at;
    float *dW = cr_wants_grad(t, n, IN_W) ? cr_param_grad(t, n->in[IN_W]) : NULL;
    if (dW && cr_first_grad(t, n, IN_W)) memset(dW, 0, (size_t)(N * 4 * C) * sizeof(float));
    if (cr_wants_grad(t, n, IN_Q) && cr_first_grad(t, n, IN_Q))
        for (int64_t r = 0; r < t->n_rows; r++)
            memset(cr_grad(t, q) + r * cr_ld(q), 0, (size_t)C * sizeof(float));
    for (int64_t p = 0; a->relu && !n->masked && p < all; p++) {
        float *dy = cr_grad(t, n) + p * ld;
        cr_kern->relu_bwd(dy, dy, cr_val(t, n) + p * ld, N, false);
    }
    back_positions(n, t, off, dW);
    memset(dz, 0, (size_t)(t->n_rows * N) * sizeof(float));
    for (int64_t r = 0; r < t->n_rows; r++)
        cr_kern->col_sum(dz + r * N, cr_grad(t, n) + (off[r] - off[0]) * ld, ld,
                         off[r + 1] - off[r], N);
    if (dW)
        cr_kern->gemm_tn(dW, 4 * C, dz, N, cr_val(t, q), cr_ld(q), N, C, t->n_rows, CR_GEMM_ACC,
                         own);
    for (int64_t i = 0; dW && t->last && i < N; i++, dW += 4 * C)
        cr_kern->scale_add(dW + 2 * C, 1, dW, -1, dW + C, C);
    if (n->n_in > IN_B && cr_wants_grad(t, n, IN_B))
        cr_kern->col_sum(cr_param_sum(t, n, IN_B), dz, N, t->n_rows, N);
    if (cr_wants_grad(t, n, IN_Q))
        cr_kern->gemm(cr_grad(t, q), cr_ld(q), dz, N, cr_packed(t, n) + a->dq_at, t->n_rows, C, N,
                      CR_GEMM_ACC, NULL);
}

static cr_node *example(cr_graph *g, int k) {
    if (k > 3) return NULL;
    static const int64_t C[] = {3, 20, 16, 35}, N[] = {5, 70, 33, 20};
    cr_node *q = cr_feed(g, C[k]), *s = cr_feed_seq(g, cr_graph_axis(g), C[k]);
    cr_node *W = cr_graph_param(g, "w", N[k], 4 * C[k], true, NULL, 0),
            *b = cr_graph_param(g, "b", 1, N[k], true, NULL, 0);
    /* three parts are as exact as FP32, so slopes can be compared */
    cr_node *y = cr_din_parts(g, q, s, W, k == 1 ? NULL : b, k >= 2, 3);
    return k < 1 ? y : cr_concat(g, (cr_node *[]){cr_seq_spread(g, q, s->axis), y, s}, 3);
}

const cr_op_type cr_op_din_parts = {.name = "din_parts",
                                    .infer = infer,
                                    .forward = forward,
                                    .backward = backward,
                                    .prepare = prepare,
                                    .example = example,
                                    .keep_val = true,
                                    .reads_in = true,
                                    .seq = true};

cr_node *cr_din_parts(cr_graph *g, cr_node *q, cr_node *k, cr_node *W, cr_node *b, bool relu,
                      int parts) {
    din a = {.relu = relu, .parts = parts};
    return cr_graph_op(g, &cr_op_din_parts, (cr_node *[]){q, k, W, b}, b ? 4 : 3, &a, sizeof(a));
}
