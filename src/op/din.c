/*
 * din.c - the first layer of a target attention (Zhou et al., 2018): W [q; k; q - k; q * k] + b for
 * the query q of a row and the key k of each of its positions, without making those four vectors.
 *
 *     W [q; k; q - k; q * k] = (W1 + W3) q  +  (W2 - W3) k + W4 (q * k)
 *                              once per row    once per position, half as wide
 *
 * A row's part is where the chains of its positions begin. Backward the same way: the gradients of
 * W1, W2 and W4 are products, that of W3 is the first less the second. So W must have no other
 * user. While a tile runs, W3's place holds W2's gradient: then it lies beside W4's and both are
 * one product. Behind a ReLU the products of the gradient skip its zeros.
 */
#include <string.h>

#include "graph/exec.h"
#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

#define CHUNK 112 /* positions at a time */
#define NR    CR_GEMM_NR

typedef struct din {
    int64_t C, N;
    bool relu;
    bool dy_zeros; /* products that skip them */
    /* in the packed weights: of q, of [k; q * k]; and their transposes for the gradients */
    int64_t q_at, x_at, dq_at, dx_at;
    /* in the scratch: per row of the tile, per position of a chunk */
    int64_t rows_at, x_at_scratch, dx_at_scratch, tn_at;
} din;

enum { IN_Q, IN_K, IN_W, IN_B };

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
    n->zeros = a->relu;
    a->dy_zeros = a->relu && 2 * a->C >= CR_GEMM_NZ_COLUMNS;
    a->q_at = 0;
    a->x_at = a->q_at + cr_up16(cr_gemm_pack_size(a->C, a->N));
    a->dq_at = a->x_at + cr_up16(cr_gemm_pack_size(2 * a->C, a->N));
    a->dx_at = a->dq_at + cr_up16(cr_gemm_pack_size(a->N, a->C));
    n->pack = a->dx_at + cr_up16(a->dy_zeros ? cr_gemm_nz_pack_size(a->N, 2 * a->C)
                                             : cr_gemm_pack_size(a->N, 2 * a->C));
    n->n_prepare = 4;
    a->rows_at = 0;
    a->x_at_scratch = cr_up16(CR_MAX_TILE * a->N);
    a->dx_at_scratch = a->x_at_scratch + cr_up16(CHUNK * 2 * a->C) + 16; /* gemm_nz_tn reads on */
    a->tn_at = a->dx_at_scratch + cr_up16(CHUNK * 2 * a->C);
    int64_t m = CR_MAX_TILE > CHUNK ? CR_MAX_TILE : CHUNK;
    n->scratch = a->tn_at + cr_gemm_tn_scratch(a->N, 2 * a->C, m);
}

/* a weight of the combined matrices: column j of q's part (part 0) or of [k; q * k]'s (1) */
static float weight(const din *a, const float *W, int64_t n, int part, int64_t j) {
    const float *w = W + n * 4 * a->C;
    int64_t C = a->C;
    if (part == 0) return w[j] + w[2 * C + j];
    return j < C ? w[C + j] - w[2 * C + j] : w[2 * C + j];
}

static void prepare(const cr_node *n, float *packed, int64_t item, bool train) {
    const din *a = n->attr;
    const float *W = n->in[IN_W]->w;
    int part = (int)(item % 2);
    bool back = item >= 2;
    if (back && !train) return;
    int64_t at[] = {a->q_at, a->x_at, a->dq_at, a->dx_at}, width = (1 + part) * a->C;
    int64_t K = back ? a->N : width, N = back ? width : a->N;
    float *to = packed + at[item];
    if (a->dy_zeros && back && part == 1) {
        int64_t w = cr_gemm_nz_strip(N);
        for (int64_t c0 = 0; c0 < N; c0 += w)
            for (int64_t k = 0; k < K; k++)
                for (int64_t c = c0; c < c0 + w; c++)
                    *to++ = c >= N ? 0 : weight(a, W, k, part, c);
        return;
    }
    for (int64_t p = 0; p < cr_gemm_panels(N); p++)
        for (int64_t k = 0; k < K; k++)
            for (int64_t c = 0; c < NR; c++) {
                int64_t col = p * NR + c;
                *to++ = col >= N ? 0 : weight(a, W, back ? k : col, part, back ? col : k);
            }
}

/* A run of positions of one tile, at most CHUNK, and the row each belongs to. */
typedef struct run {
    int64_t from, n;
    int32_t row[CHUNK];
} run;

static bool next_run(const cr_node *n, const cr_tile *t, run *u, int64_t *row) {
    const int32_t *off = cr_seq_off(t, n->axis);
    int64_t all = off[t->n_rows] - off[0];
    u->from += u->n;
    u->n = all - u->from < CHUNK ? all - u->from : CHUNK;
    for (int64_t i = 0; i < u->n; i++) {
        while (off[*row + 1] - off[0] <= u->from + i)
            ++*row;
        u->row[i] = (int32_t)*row;
    }
    return u->n > 0;
}

/* [k; q * k] of the positions of a run */
static void make_x(const cr_node *n, const cr_tile *t, const run *u, float *x) {
    const din *a = n->attr;
    const cr_node *qn = n->in[IN_Q], *kn = n->in[IN_K];
    for (int64_t i = 0; i < u->n; i++, x += 2 * a->C) {
        const float *k = cr_val(t, kn) + (u->from + i) * cr_ld(kn);
        memcpy(x, k, (size_t)a->C * sizeof(float));
        cr_kern->mul(x + a->C, cr_val(t, qn) + u->row[i] * cr_ld(qn), k, a->C, false);
    }
}

static void forward(const cr_node *n, cr_tile *t) {
    const din *a = n->attr;
    const cr_node *q = n->in[IN_Q];
    const float *packed = cr_packed(t, n);
    float *zq = t->scratch + a->rows_at, *x = t->scratch + a->x_at_scratch;
    int64_t ld = cr_ld(n);
    bool bias = n->n_in > IN_B;
    cr_kern->gemm(zq, a->N, cr_val(t, q), cr_ld(q), packed + a->q_at, t->n_rows, a->N, a->C,
                  bias ? CR_GEMM_BIAS : 0, bias ? n->in[IN_B]->w : NULL);
    run u = {0, 0, {0}};
    for (int64_t row = 0; next_run(n, t, &u, &row);) {
        float *y = cr_val(t, n) + u.from * ld;
        make_x(n, t, &u, x);
        for (int64_t i = 0; i < u.n; i++)
            memcpy(y + i * ld, zq + u.row[i] * a->N, (size_t)a->N * sizeof(float));
        cr_kern->gemm(y, ld, x, 2 * a->C, packed + a->x_at, u.n, a->N, 2 * a->C,
                      CR_GEMM_ACC | (a->relu ? CR_GEMM_RELU : 0), NULL);
    }
}

/* between tiles: W2's slope to its place, W3's from those of W1 and W2; and back */
static void close_W(const din *a, float *dW) {
    for (int64_t n = 0; n < a->N; n++, dW += 4 * a->C) {
        memcpy(dW + a->C, dW + 2 * a->C, (size_t)a->C * sizeof(float));
        cr_kern->scale_add(dW + 2 * a->C, 1, dW, -1, dW + a->C, a->C);
    }
}
static void open_W(const din *a, float *dW) {
    for (int64_t n = 0; n < a->N; n++, dW += 4 * a->C)
        memcpy(dW + 2 * a->C, dW + a->C, (size_t)a->C * sizeof(float));
}

/* gradients of k, and of q through q * k, from those of [k; q * k] */
static void give(const cr_node *n, const cr_tile *t, const run *u, const float *dx, bool first_k) {
    const din *a = n->attr;
    const cr_node *qn = n->in[IN_Q], *kn = n->in[IN_K];
    bool wants_q = cr_wants_grad(t, n, IN_Q), wants_k = cr_wants_grad(t, n, IN_K);
    for (int64_t i = 0; i < u->n; i++, dx += 2 * a->C) {
        int64_t p = u->from + i, row = u->row[i];
        if (wants_k) {
            float *dk = cr_grad(t, kn) + p * cr_ld(kn);
            if (first_k)
                memcpy(dk, dx, (size_t)a->C * sizeof(float));
            else
                cr_kern->add(dk, dk, dx, a->C);
            cr_kern->mul(dk, dx + a->C, cr_val(t, qn) + row * cr_ld(qn), a->C, true);
        }
        if (wants_q)
            cr_kern->mul(cr_grad(t, qn) + row * cr_ld(qn), dx + a->C, cr_val(t, kn) + p * cr_ld(kn),
                         a->C, true);
    }
}

static void backward(const cr_node *n, cr_tile *t) {
    const din *a = n->attr;
    const cr_node *q = n->in[IN_Q];
    const float *packed = cr_packed(t, n);
    int64_t ld = cr_ld(n), C = a->C, N = a->N;
    float *dz = t->scratch + a->rows_at, *x = t->scratch + a->x_at_scratch;
    float *dx = t->scratch + a->dx_at_scratch, *tn = t->scratch + a->tn_at;
    bool wants_q = cr_wants_grad(t, n, IN_Q), wants_k = cr_wants_grad(t, n, IN_K);
    bool first_q = cr_first_grad(t, n, IN_Q), first_k = cr_first_grad(t, n, IN_K);
    float *dW = cr_wants_grad(t, n, IN_W) ? cr_param_grad(t, n->in[IN_W]) : NULL;
    int acc = dW && cr_first_grad(t, n, IN_W) ? 0 : CR_GEMM_ACC;
    int acc_x = acc;
    if (dW && acc) open_W(a, dW);
    memset(dz, 0, (size_t)(t->n_rows * N) * sizeof(float));
    if (wants_q && first_q)
        for (int64_t r = 0; r < t->n_rows; r++)
            memset(cr_grad(t, q) + r * cr_ld(q), 0, (size_t)C * sizeof(float));
    run u = {0, 0, {0}};
    for (int64_t row = 0; next_run(n, t, &u, &row); acc_x = CR_GEMM_ACC) {
        float *dy = cr_grad(t, n) + u.from * ld;
        const float *y = cr_val(t, n) + u.from * ld;
        for (int64_t i = 0; i < u.n; i++) {
            if (a->relu) cr_kern->relu_bwd(dy + i * ld, dy + i * ld, y + i * ld, N, false);
            cr_kern->add(dz + u.row[i] * N, dz + u.row[i] * N, dy + i * ld, N);
        }
        if (dW) {
            make_x(n, t, &u, x);
            if (a->dy_zeros)
                cr_kern->gemm_nz_tn(dW + 2 * C, 4 * C, dy, ld, x, 2 * C, N, 2 * C, u.n, acc_x);
            else
                cr_kern->gemm_tn(dW + 2 * C, 4 * C, dy, ld, x, 2 * C, N, 2 * C, u.n, acc_x, tn);
        }
        if (!wants_q && !wants_k) continue;
        (a->dy_zeros ? cr_kern->gemm_nz : cr_kern->gemm)(dx, 2 * C, dy, ld, packed + a->dx_at, u.n,
                                                         2 * C, N, 0, NULL);
        give(n, t, &u, dx, first_k);
    }
    if (dW && !acc_x) /* no positions */
        for (int64_t i = 0; i < N; i++)
            memset(dW + i * 4 * C, 0, (size_t)(4 * C) * sizeof(float));
    if (dW) {
        cr_kern->gemm_tn(dW, 4 * C, dz, N, cr_val(t, q), cr_ld(q), N, C, t->n_rows, acc, tn);
        close_W(a, dW);
    }
    if (n->n_in > IN_B && cr_wants_grad(t, n, IN_B)) {
        float *db = cr_param_grad(t, n->in[IN_B]);
        if (cr_first_grad(t, n, IN_B)) memset(db, 0, (size_t)N * sizeof(float));
        cr_kern->col_sum(db, dz, N, t->n_rows, N);
    }
    if (wants_q)
        cr_kern->gemm(cr_grad(t, q), cr_ld(q), dz, N, packed + a->dq_at, t->n_rows, C, N,
                      CR_GEMM_ACC, NULL);
}

static cr_node *example(cr_graph *g, int k) {
    if (k > 3) return NULL;
    static const int64_t C[] = {3, 20, 16, 35}, N[] = {5, 70, 33, 20};
    cr_node *q = cr_feed(g, C[k]), *s = cr_feed_seq(g, cr_graph_axis(g), C[k]);
    cr_node *W = cr_graph_param(g, "w", N[k], 4 * C[k], true, NULL, 0),
            *b = cr_graph_param(g, "b", 1, N[k], true, NULL, 0);
    cr_node *y = cr_din(g, q, s, W, k == 1 ? NULL : b, k >= 2);
    /* other users of the query and of the keys */
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
    din a = {.relu = relu};
    return cr_graph_op(g, &cr_op_din, (cr_node *[]){q, k, W, b}, b ? 4 : 3, &a, sizeof(a));
}
