/*
 * matmul.c - the linear layer. Weights are packed once per step, in both directions, by all
 * threads; bias and ReLU are fused into the product. The gradient of a weight is one chain of
 * multiply-adds over the rows of a lane, so it does not depend on how the lane is cut into tiles.
 * In mixed precision both inputs of every product are rounded to 16 bits first; sums stay in 32.
 */
#include "graph/exec.h"
#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

#define PACK_PANELS 4 /* panels packed by one item of prepare */

typedef struct mm {
    int64_t K, N;
    bool kn;   /* W is (K, N), else (N, K) */
    bool bias; /* in[2] */
    bool relu;
    int half; /* mixed precision */
    int64_t fwd_items, bwd_items, bwd_off;
    int64_t tn_scratch;
} mm;

static void infer(cr_node *n) {
    mm *a = n->attr;
    const cr_node *x = n->in[0], *W = n->in[1];
    a->K = a->kn ? W->rows : W->cols;
    a->N = a->kn ? W->cols : W->rows;
    if (x->cls != CR_ROW || x->width != a->K) CR_BUG("matmul: widths differ");
    if (a->bias && n->in[2]->width != a->N) CR_BUG("matmul: bias width");
    n->cls = CR_ROW;
    n->width = a->N;
    a->fwd_items = (cr_gemm_panels(a->N) + PACK_PANELS - 1) / PACK_PANELS;
    a->bwd_items = (cr_gemm_panels(a->K) + PACK_PANELS - 1) / PACK_PANELS;
    a->bwd_off = (cr_gemm_pack_size(a->K, a->N) + 15) / 16 * 16;
    n->pack = a->bwd_off + cr_gemm_pack_size(a->N, a->K);
    n->n_prepare = a->fwd_items + a->bwd_items;
    a->tn_scratch = a->kn ? cr_gemm_tn_scratch(a->K, a->N, CR_MAX_TILE)
                          : cr_gemm_tn_scratch(a->N, a->K, CR_MAX_TILE);
    n->scratch = a->tn_scratch;
    if (a->half) n->scratch_row = a->K + a->N;
}

static void prepare(const cr_node *n, float *packed, int64_t item, bool train) {
    const mm *a = n->attr;
    const float *W = n->in[1]->w;
    int64_t ldw = a->kn ? a->N : a->K;
    bool back = item >= a->fwd_items;
    if (back && !train) return;
    int64_t K = back ? a->N : a->K, N = back ? a->K : a->N, panels = cr_gemm_panels(N);
    int64_t p0 = (back ? item - a->fwd_items : item) * PACK_PANELS, p1 = p0 + PACK_PANELS;
    bool trans = back ? a->kn : !a->kn;
    float *dst = packed + (back ? a->bwd_off : 0);
    if (p1 > panels) p1 = panels;
    cr_kern->gemm_pack(dst, W, ldw, trans, K, N, p0, p1);
    dst += p0 * cr_gemm_panel(K);
    if (a->half) cr_kern->round16(dst, dst, (p1 - p0) * cr_gemm_panel(K), a->half);
}

/* One input of a product: the tile's rows as they are, or rounded into `to`. */
typedef struct side {
    const float *v;
    int64_t ld;
} side;

static side input(const mm *a, const cr_tile *t, const float *x, int64_t ld, int64_t width,
                  float *to) {
    if (!a->half) return (side){x, ld};
    for (int64_t r = 0; r < t->n_rows; r++)
        cr_kern->round16(to + r * width, x + r * ld, width, a->half);
    return (side){to, width};
}

static void forward(const cr_node *n, cr_tile *t) {
    const mm *a = n->attr;
    const cr_node *in = n->in[0];
    int flags = (a->bias ? CR_GEMM_BIAS : 0) | (a->relu ? CR_GEMM_RELU : 0);
    side x = input(a, t, cr_val(t, in), cr_ld(in), a->K, t->scratch + a->tn_scratch);
    cr_kern->gemm(cr_val(t, n), cr_ld(n), x.v, x.ld, cr_packed(t, n), t->n_rows, a->N, a->K, flags,
                  a->bias ? n->in[2]->w : NULL);
}

static void backward(const cr_node *n, cr_tile *t) {
    const mm *a = n->attr;
    const cr_node *in = n->in[0], *W = n->in[1];
    float *grad = cr_grad(t, n), *room = t->scratch + a->tn_scratch;
    int64_t ld = cr_ld(n);
    if (a->relu) {
        const float *y = cr_val(t, n);
        for (int64_t r = 0; r < t->n_rows; r++)
            cr_kern->relu_bwd(grad + r * ld, grad + r * ld, y + r * ld, a->N, false);
    }
    side dy = input(a, t, grad, ld, a->N, room);
    if (cr_wants_grad(t, n, 1)) {
        float *dW = cr_param_grad(t, W);
        int acc = cr_first_grad(t, n, 1) ? 0 : CR_GEMM_ACC;
        side x = input(a, t, cr_val(t, in), cr_ld(in), a->K, room + a->N * CR_MAX_TILE);
        if (a->kn)
            cr_kern->gemm_tn(dW, a->N, x.v, x.ld, dy.v, dy.ld, a->K, a->N, t->n_rows, acc,
                             t->scratch);
        else
            cr_kern->gemm_tn(dW, a->K, dy.v, dy.ld, x.v, x.ld, a->N, a->K, t->n_rows, acc,
                             t->scratch);
    }
    if (a->bias && cr_wants_grad(t, n, 2)) {
        float *db = cr_param_grad(t, n->in[2]);
        if (cr_first_grad(t, n, 2))
            for (int64_t j = 0; j < a->N; j++)
                db[j] = 0;
        cr_kern->col_sum(db, grad, ld, t->n_rows, a->N);
    }
    if (cr_wants_grad(t, n, 0))
        cr_kern->gemm(cr_grad(t, in), cr_ld(in), dy.v, dy.ld, cr_packed(t, n) + a->bwd_off,
                      t->n_rows, a->K, a->N, cr_first_grad(t, n, 0) ? 0 : CR_GEMM_ACC, NULL);
}

static cr_node *example(cr_graph *g, int k) {
    switch (k) {
    case 0: {
        cr_node *W = cr_graph_param(g, "w", 5, 7, true, NULL, 0),
                *b = cr_graph_param(g, "b", 1, 5, true, NULL, 0);
        return cr_matmul(g, cr_feed(g, 7), W, b, false);
    }
    case 1: {
        cr_node *W = cr_graph_param(g, "w", 40, 33, true, NULL, 0),
                *b = cr_graph_param(g, "b", 1, 40, true, NULL, 0);
        return cr_matmul(g, cr_feed(g, 33), W, b, true);
    }
    case 2: return cr_matmul_kn(g, cr_feed(g, 6), cr_graph_param(g, "w", 6, 19, true, NULL, 0));
    default: return NULL;
    }
}

const cr_op_type cr_op_matmul = {.name = "matmul",
                                 .infer = infer,
                                 .forward = forward,
                                 .backward = backward,
                                 .prepare = prepare,
                                 .example = example,
                                 .keep_val = true,
                                 .reads_in = true};

cr_node *cr_matmul(cr_graph *g, cr_node *x, cr_node *W, cr_node *b, bool relu) {
    mm a = {.bias = b != NULL, .relu = relu, .half = g->half};
    return cr_graph_op(g, &cr_op_matmul, (cr_node *[]){x, W, b}, b ? 3 : 2, &a, sizeof(a));
}

cr_node *cr_matmul_kn(cr_graph *g, cr_node *x, cr_node *W) {
    mm a = {.kn = true, .half = g->half};
    return cr_graph_op(g, &cr_op_matmul, (cr_node *[]){x, W}, 2, &a, sizeof(a));
}
