/*
 * din.c - the first layer of a target attention (Zhou et al., 2018): for the query q of a row and
 * the key k of each of its positions it computes W [q; k; q - k; q * k] + b, without making those
 * four vectors.
 *
 *     W [q; k; q - k; q * k] = (W1 + W3) q  +  M k,    M = (W2 - W3) + W4 diag(q)
 *                              once per row    M is made once per row: a quarter of the work is
 * left
 *
 * The row's part is the bias of its positions. Backward works the same way. D, the sum of dy k'
 * over the positions of a row, is the gradient of M: W2 gets D, W4 gets D diag(q), and q gets the
 * column sums of W4 * D. The gradient of W3 is that of W1 minus that of W2; so W must have no other
 * user. Behind a ReLU the products of the gradient skip its zeros.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "graph/plan.h"
#include "kern/kern.h"
#include "op/op.h"

#define NR           CR_GEMM_NR
#define ZERO_COLUMNS 32 /* skipping zeros pays for keys at least this wide */

typedef struct din {
    int64_t C, N;
    bool relu;
    bool dy_zeros; /* the products with dy skip its zeros */
    /* offsets into the packed weights: W1 + W3, W2 - W3, W4, then the same transposed, for the
     * gradients */
    int64_t at[6];
    int64_t k_size, dk_size; /* floats of one packed (C, N) matrix, and of its transpose */
    /* offsets into the scratch: the row's part for each row of the tile; M of a row, and its
     * gradient */
    int64_t rows_at, m_at, dm_at, tn_at;
} din;

enum { IN_Q, IN_K, IN_W, IN_B };
enum { PART_Q, PART_K, PART_QK, BACK };

static void infer(cr_node *n) {
    din *a = n->attr;
    const cr_node *q = n->in[IN_Q], *k = n->in[IN_K], *W = n->in[IN_W];
    a->C = q->width;
    a->N = W->rows;
    if (q->cls != CR_ROW || k->cls != CR_SEQ || k->width != a->C || W->cols != 4 * a->C ||
        (n->n_in > IN_B && n->in[IN_B]->width != a->N))
        CR_BUG("din: widths differ");
    n->cls = CR_SEQ;
    n->axis = k->axis;
    n->width = a->N;
    n->zeros = n->relu = a->relu;
    a->dy_zeros = a->relu && a->C >= ZERO_COLUMNS;
    a->k_size = cr_up16(cr_gemm_pack_size(a->C, a->N));
    a->dk_size =
        cr_up16(a->dy_zeros ? cr_gemm_nz_pack_size(a->N, a->C) : cr_gemm_pack_size(a->N, a->C));
    int64_t dq_size = cr_up16(cr_gemm_pack_size(a->N, a->C));
    n->n_prepare = 6;
    n->pack = 0;
    for (int i = 0; i < 6; i++) {
        a->at[i] = n->pack;
        n->pack += i < BACK ? a->k_size : i == BACK ? dq_size : a->dk_size;
    }
    a->rows_at = 0;
    a->m_at = cr_up16(CR_MAX_TILE * a->N);
    a->dm_at = a->m_at + (a->k_size > a->dk_size ? a->k_size : a->dk_size);
    a->tn_at = a->dm_at + cr_up16(a->N * a->C);
    n->scratch = a->tn_at + cr_gemm_tn_scratch(a->N, a->C, CR_MAX_TILE);
}

/* Returns one weight of one of the three combined matrices. */
static float weight(const din *a, const float *W, int64_t n, int part, int64_t c) {
    const float *w = W + n * 4 * a->C + c;
    int64_t C = a->C;
    return part == PART_Q ? w[0] + w[2 * C] : part == PART_K ? w[C] - w[2 * C] : w[3 * C];
}

static void prepare(const cr_node *n, float *packed, int64_t item, bool train) {
    const din *a = n->attr;
    const float *W = n->in[IN_W]->w;
    int part = (int)(item % BACK);
    bool back = item >= BACK;
    if (back && !train) return;
    int64_t K = back ? a->N : a->C, N = back ? a->C : a->N;
    int64_t w = back && a->dy_zeros && part != PART_Q ? cr_gemm_nz_strip(N) : NR;
    float *to = packed + a->at[item];
    for (int64_t c0 = 0; c0 < N; c0 += w)
        for (int64_t k = 0; k < K; k++)
            for (int64_t c = c0; c < c0 + w; c++)
                *to++ = c >= N ? 0 : back ? weight(a, W, k, part, c) : weight(a, W, c, part, k);
}

/* Makes M = (W2 - W3) + W4 diag(q) of a row, packed as the products expect it. */
static void make_m(const din *a, const float *packed, const float *q, float *m) {
    const float *k = packed + a->at[PART_K], *qk = packed + a->at[PART_QK];
    for (int64_t i = 0; i < cr_gemm_panels(a->N) * NR * a->C; i += NR * a->C)
        cr_kern->diag_left(m + i, k + i, q, qk + i, a->C, NR);
}
static void make_m_back(const din *a, const float *packed, const float *q, float *m) {
    const float *k = packed + a->at[BACK + PART_K], *qk = packed + a->at[BACK + PART_QK];
    int64_t w = a->dy_zeros ? cr_gemm_nz_strip(a->C) : NR;
    for (int64_t c = 0; c < a->C; c += w) {
        int64_t i = c * a->N, n = a->C - c < w ? a->C - c : w;
        cr_kern->diag_right(m + i, k + i, q + c, qk + i, w, a->N, n);
    }
}

static void forward(const cr_node *n, cr_tile *t) {
    const din *a = n->attr;
    const cr_node *q = n->in[IN_Q], *k = n->in[IN_K];
    const float *packed = cr_packed(t, n);
    const int32_t *off = cr_seq_off(t, n->axis);
    float *zq = t->scratch + a->rows_at, *m = t->scratch + a->m_at;
    bool bias = n->n_in > IN_B;
    cr_kern->gemm(zq, a->N, cr_val(t, q), cr_ld(q), packed + a->at[PART_Q], t->n_rows, a->N, a->C,
                  bias ? CR_GEMM_BIAS : 0, bias ? n->in[IN_B]->w : NULL);
    for (int64_t r = 0; r < t->n_rows; r++) {
        int64_t p = off[r] - off[0], T = off[r + 1] - off[r];
        if (T == 0) continue;
        make_m(a, packed, cr_val(t, q) + r * cr_ld(q), m);
        cr_kern->gemm(cr_val(t, n) + p * cr_ld(n), cr_ld(n), cr_val(t, k) + p * cr_ld(k), cr_ld(k),
                      m, T, a->N, a->C, CR_GEMM_BIAS | (a->relu ? CR_GEMM_RELU : 0), zq + r * a->N);
    }
}

/* Computes the gradient of W3 from those of W1 and W2; called between tiles. */
static void close_W(const din *a, float *dW) {
    for (int64_t n = 0; n < a->N; n++, dW += 4 * a->C)
        cr_kern->scale_add(dW + 2 * a->C, 1, dW, -1, dW + a->C, a->C);
}

/* Computes the gradient of M from the T positions of a row. */
static void slope_m(const din *a, float *dm, const float *dy, int64_t ldy, const float *k,
                    int64_t ldk, int64_t T, float *tn) {
    if (a->dy_zeros) {
        cr_kern->gemm_nz_tn(dm, a->C, dy, ldy, k, ldk, a->N, a->C, T, 0);
        return;
    }
    for (int64_t i = 0; i < T; i += CR_MAX_TILE)
        cr_kern->gemm_tn(dm, a->C, dy + i * ldy, ldy, k + i * ldk, ldk, a->N, a->C,
                         T - i < CR_MAX_TILE ? T - i : CR_MAX_TILE, i > 0 ? CR_GEMM_ACC : 0, tn);
}

static void backward(const cr_node *n, cr_tile *t) {
    const din *a = n->attr;
    const cr_node *q = n->in[IN_Q], *k = n->in[IN_K], *W = n->in[IN_W];
    const float *packed = cr_packed(t, n);
    const int32_t *off = cr_seq_off(t, n->axis);
    int64_t ld = cr_ld(n), C = a->C, N = a->N;
    float *dz = t->scratch + a->rows_at, *m = t->scratch + a->m_at, *dm = t->scratch + a->dm_at;
    float *tn = t->scratch + a->tn_at;
    bool wants_q = cr_wants_grad(t, n, IN_Q), wants_k = cr_wants_grad(t, n, IN_K);
    int acc_k = cr_first_grad(t, n, IN_K) ? 0 : CR_GEMM_ACC;
    float *dW = cr_wants_grad(t, n, IN_W) ? cr_param_grad(t, W) : NULL;
    bool first_W = dW && cr_first_grad(t, n, IN_W);
    if (first_W) memset(dW, 0, (size_t)(N * 4 * C) * sizeof(float));
    memset(dz, 0, (size_t)(t->n_rows * N) * sizeof(float));
    if (wants_q && cr_first_grad(t, n, IN_Q))
        for (int64_t r = 0; r < t->n_rows; r++)
            memset(cr_grad(t, q) + r * cr_ld(q), 0, (size_t)C * sizeof(float));
    for (int64_t r = 0; r < t->n_rows; r++) {
        int64_t p = off[r] - off[0], T = off[r + 1] - off[r];
        if (T == 0) continue;
        float *dy = cr_grad(t, n) + p * ld;
        const float *y = cr_val(t, n) + p * ld, *qr = cr_val(t, q) + r * cr_ld(q);
        if (a->relu && !n->masked)
            for (int64_t i = 0; i < T; i++)
                cr_kern->relu_bwd(dy + i * ld, dy + i * ld, y + i * ld, N, false);
        cr_kern->col_sum(dz + r * N, dy, ld, T, N);
        if (dW || wants_q) {
            slope_m(a, dm, dy, ld, cr_val(t, k) + p * cr_ld(k), cr_ld(k), T, tn);
            cr_kern->diag_right_bwd(dW ? dW + C : NULL, dW ? dW + 3 * C : NULL,
                                    wants_q ? cr_grad(t, q) + r * cr_ld(q) : NULL, dm, C, qr,
                                    W->w + 3 * C, 4 * C, N, C);
        }
        if (!wants_k) continue;
        make_m_back(a, packed, qr, m);
        (a->dy_zeros ? cr_kern->gemm_nz : cr_kern->gemm)(cr_grad(t, k) + p * cr_ld(k), cr_ld(k), dy,
                                                         ld, m, T, C, N, acc_k, NULL);
    }
    if (dW) {
        cr_kern->gemm_tn(dW, 4 * C, dz, N, cr_val(t, q), cr_ld(q), N, C, t->n_rows, CR_GEMM_ACC,
                         tn);
        close_W(a, dW);
    }
    if (n->n_in > IN_B && cr_wants_grad(t, n, IN_B)) {
        float *db = cr_param_grad(t, n->in[IN_B]);
        if (cr_first_grad(t, n, IN_B)) memset(db, 0, (size_t)N * sizeof(float));
        cr_kern->col_sum(db, dz, N, t->n_rows, N);
    }
    if (wants_q)
        cr_kern->gemm(cr_grad(t, q), cr_ld(q), dz, N, packed + a->at[BACK + PART_Q], t->n_rows, C,
                      N, CR_GEMM_ACC, NULL);
}

static cr_node *example(cr_graph *g, int k) {
    if (k > 3) return NULL;
    static const int64_t C[] = {3, 20, 16, 35}, N[] = {5, 70, 33, 20};
    cr_node *q = cr_feed(g, C[k]), *s = cr_feed_seq(g, cr_graph_axis(g), C[k]);
    cr_node *W = cr_graph_param(g, "w", N[k], 4 * C[k], true, NULL, 0),
            *b = cr_graph_param(g, "b", 1, N[k], true, NULL, 0);
    cr_node *y = cr_din(g, q, s, W, k == 1 ? NULL : b, k >= 2);
    /* the query and the keys have other users too */
    return k < 1 ? y : cr_concat(g, (cr_node *[]){cr_seq_spread(g, q, s->axis), y, s}, 3);
}

const cr_op_type cr_op_din = {.name = "din",
                              .infer = infer,
                              .forward = forward,
                              .backward = backward,
                              .prepare = prepare,
                              .example = example,
                              .keep_val = true,
                              .reads_in = true,
                              .seq = true};

cr_node *cr_din(cr_graph *g, cr_node *q, cr_node *k, cr_node *W, cr_node *b, bool relu) {
    int parts = cr_products_parts((cr_products)g->products);
    /* where BF16 has twice the rate of FP32, half of the products in FP32 take less time, since they
     * skip zeros; that level has an order of its own anyway */
    if (parts == 1 && strcmp(cr_kern_order(cr_kern_level), "pairs") == 0) parts = 0;
    if (parts) return cr_din_parts(g, q, k, W, b, relu, parts);
    din a = {.relu = relu};
    return cr_graph_op(g, &cr_op_din, (cr_node *[]){q, k, W, b}, b ? 4 : 3, &a, sizeof(a));
}
