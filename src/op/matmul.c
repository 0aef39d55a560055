/*
 * matmul.c - the linear layer. Weights are packed once per step, in both directions, by all
 * threads; bias and ReLU are fused into the product. The gradient of a weight is one chain of
 * multiply-adds over the rows of a lane, so it does not depend on how the lane is cut into tiles.
 * Behind a ReLU half of the values are zeros, and so is half of the gradient that comes back to it:
 * products then skip the zeros of x (forward) and of dy (backward), which would have added nothing.
 * In mixed precision both inputs of every product are first rounded to 16 bits, or split into BF16
 * parts; sums stay in 32 bits. BF16 has its own kernels and packed weights; FP16 uses rounded
 * floats in the FP32 kernels. A layer of one or two outputs stays in FP32: it gains nothing.
 *
 * The sums of BF16 products are cut into blocks of 32 terms (kern/list.h). For the gradient of a
 * weight the terms are rows, and a tile need not end with a block (blocks.h).
 *
 * Where a layer's output is read only by another one with BF16 products, both may keep it, and its
 * gradient, as units that the products read and write (gemm_units): the node's own form. It holds
 * the value as rows, for training also as pairs with the bits of a ReLU's slope; the gradient as
 * floats (for the bias), rows and turned.
 *
 * With G > 1 a row of x is G vectors side by side and each is multiplied by the same W: a product
 * of rows * G short rows. These lie one after another only where rows have no padding; else a few
 * rows at a time are copied together.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "graph/plan.h"
#include "kern/kern.h"
#include "op/blocks.h"
#include "op/op.h"

#define PACK_PANELS 4   /* panels packed by one item of prepare */
#define PACK_ROWS   128 /* rows of weights packed by one item for products that skip zeros */
#define CHUNK       112 /* vectors at a time when G > 1 */

typedef struct mm {
    int64_t K, N, G;
    bool kn;   /* W is (K, N), else (N, K) */
    bool bias; /* there is a bias: in[2] */
    bool relu;
    cr_products products;   /* how the inputs are taken */
    int parts;              /* BF16 parts of an input; 0: it has none */
    bool x_zeros, dy_zeros; /* the products skip the zeros of x, of dy */
    bool mask;              /* the gradient of x includes the slope of its ReLU */
    int64_t fwd_items, bwd_items, bwd_off;
    int64_t chunk;        /* rows that are computed at a time */
    int64_t xroom, yroom; /* offsets into the scratch, behind gemm_tn's part: copies of x and y */
} mm;

/* Floats of a packed (K, N) matrix; items that pack it; floats of scratch for any product of m
 * rows. */
static int64_t pack_size(const mm *a, bool zeros, int64_t K, int64_t N) {
    if (zeros) return cr_gemm_nz_pack_size(K, N);
    return a->parts ? cr_gemm_bf16_pack_size(K, N, a->parts) : cr_gemm_pack_size(K, N);
}
static int64_t pack_items(bool zeros, int64_t K, int64_t N) {
    if (zeros) return (K + PACK_ROWS - 1) / PACK_ROWS;
    return (cr_gemm_panels(N) + PACK_PANELS - 1) / PACK_PANELS;
}
static int64_t scratch(const mm *a, int64_t m) {
    int64_t K = a->kn ? a->K : a->N, N = a->kn ? a->N : a->K;
    if (!a->parts) return cr_gemm_tn_scratch(K, N, m);
    if (m < CR_BF16_BLOCK) m = CR_BF16_BLOCK; /* waiting rows */
    int64_t nn = cr_gemm_bf16_scratch(m, K > N ? K : N, a->parts),
            tn = cr_gemm_bf16_tn_scratch(K, N, m, a->parts);
    return nn > tn ? nn : tn;
}

/* Rows and columns of units: whole blocks. */
static int64_t own_rows(int64_t n) {
    return (n + CR_OWN_BLOCK - 1) / CR_OWN_BLOCK * CR_OWN_BLOCK;
}

static void infer(cr_node *n) {
    mm *a = n->attr;
    const cr_node *x = n->in[0], *W = n->in[1];
    a->K = a->kn ? W->rows : W->cols;
    a->N = a->kn ? W->cols : W->rows;
    if (x->width != a->K * a->G) CR_BUG("matmul: widths differ");
    if (a->bias && n->in[2]->width != a->N) CR_BUG("matmul: bias width");
    cr_infer_rows(n);
    n->width = a->N * a->G;
    if (a->N <= 2 && a->products != CR_PRODUCTS_FP16) a->products = CR_PRODUCTS_FP32;
    a->parts = cr_products_parts(a->products);
    if (a->parts) n->carry = cr_blocks_carry(a->K, a->N);
    bool can = a->products == CR_PRODUCTS_FP32 && a->G == 1 && !a->kn;
    a->x_zeros = can && x->zeros && a->N >= CR_GEMM_NZ_COLUMNS;
    a->dy_zeros = can && a->relu && a->K >= CR_GEMM_NZ_COLUMNS;
    n->zeros = n->relu = a->relu;
    a->fwd_items = pack_items(a->x_zeros, a->K, a->N);
    a->bwd_items = pack_items(a->dy_zeros, a->N, a->K);
    a->bwd_off = cr_up16(pack_size(a, a->x_zeros, a->K, a->N));
    n->pack = a->bwd_off + pack_size(a, a->dy_zeros, a->N, a->K);
    n->n_prepare = a->fwd_items + a->bwd_items;
    a->chunk = a->G == 1 ? CR_MAX_TILE : (CHUNK + a->G - 1) / a->G;
    int64_t m = a->chunk * a->G;
    int64_t room = scratch(a, m);
    a->xroom = cr_up16(room);
    a->yroom = a->xroom + cr_up16(m * a->K);
    n->scratch = a->products == CR_PRODUCTS_FP16 || a->G > 1 ? a->yroom + m * a->N : room;
}

static void prepare(const cr_node *n, float *packed, int64_t item, bool train) {
    const mm *a = n->attr;
    const float *W = n->in[1]->w;
    int64_t ldw = a->kn ? a->N : a->K;
    bool back = item >= a->fwd_items;
    if (back && !train) return;
    int64_t K = back ? a->N : a->K, N = back ? a->K : a->N, panels = cr_gemm_panels(N);
    bool trans = back ? a->kn : !a->kn;
    float *dst = packed + (back ? a->bwd_off : 0);
    if (back) item -= a->fwd_items;
    if (back ? a->dy_zeros : a->x_zeros) {
        int64_t k0 = item * PACK_ROWS, k1 = k0 + PACK_ROWS < K ? k0 + PACK_ROWS : K;
        cr_kern->gemm_nz_pack(dst, W, ldw, trans, K, N, k0, k1);
        return;
    }
    int64_t p0 = item * PACK_PANELS, p1 = p0 + PACK_PANELS;
    if (p1 > panels) p1 = panels;
    if (a->parts) {
        cr_kern->gemm_bf16_pack((uint32_t *)(void *)dst, W, ldw, trans, K, N, p0, p1, a->parts);
        return;
    }
    cr_kern->gemm_pack(dst, W, ldw, trans, K, N, p0, p1);
    dst += p0 * cr_gemm_panel(K);
    if (a->products == CR_PRODUCTS_FP16)
        cr_kern->round16(dst, dst, (p1 - p0) * cr_gemm_panel(K), CR_HALF_FP16);
}

/* One side of a product: a matrix of rows * G rows. */
typedef struct side {
    const float *v;
    int64_t ld;
} side;

/* Do rows of G vectors of width w lie one after another, without gaps? */
static bool dense(const mm *a, int64_t ld, int64_t w) {
    return a->G == 1 || ld == a->G * w;
}

/* Returns an input as it is, or rounded or copied into `to`. BF16 products round by themselves. */
static side input(const mm *a, const float *x, int64_t ld, int64_t rows, int64_t w, float *to) {
    int64_t W = a->G * w;
    if (a->products == CR_PRODUCTS_FP16)
        for (int64_t r = 0; r < rows; r++)
            cr_kern->round16(to + r * W, x + r * ld, W, CR_HALF_FP16);
    else if (dense(a, ld, w))
        return (side){x, a->G == 1 ? ld : w};
    else
        cr_kern->copy_rows(to, W, x, ld, rows, W, false);
    return (side){to, w};
}

static void product(const mm *a, const cr_tile *t, bool zeros, float *C, int64_t ldc, side x,
                    const float *packed, int64_t M, int64_t N, int64_t K, int flags,
                    const float *bias) {
    if (zeros)
        cr_kern->gemm_nz(C, ldc, x.v, x.ld, packed, M, N, K, flags, bias);
    else if (a->parts)
        cr_kern->gemm_bf16(C, ldc, x.v, x.ld, (const uint32_t *)(const void *)packed, M, N, K,
                           flags, bias, a->parts, t->scratch);
    else
        cr_kern->gemm(C, ldc, x.v, x.ld, packed, M, N, K, flags, bias);
}

/* The value of a node in this tile, and its gradient: floats, or the forms of its own. */
static cr_units value_of(const cr_node *n, const cr_tile *t) {
    float *v = cr_val(t, n);
    if (!cr_own(t, n)) return (cr_units){.f = v, .ld = cr_ld(n)};
    const mm *a = n->attr;
    int64_t words = cr_units_size(t->n_rows, a->N, a->parts);
    cr_units u = {.rows = (uint32_t *)(void *)v};
    if (t->train) {
        u.pairs = u.rows + words;
        u.above = u.pairs + words;
    }
    return u;
}
static cr_units grad_of(const cr_node *n, const cr_tile *t) {
    cr_units u = {.f = cr_grad(t, n), .ld = cr_ld(n)};
    if (!cr_own(t, n)) return u;
    const mm *a = n->attr;
    u.rows = (uint32_t *)(void *)(u.f + own_rows(t->n_rows) * u.ld);
    u.turned = u.rows + cr_units_size(t->n_rows, a->N, a->parts);
    u.above = value_of(n, t).above;
    if (!a->bias || !cr_wants_grad(t, n, 2)) u.f = NULL;
    return u;
}
static bool in_units(const cr_node *n, const cr_tile *t) {
    return cr_own(t, n) || cr_own(t, n->in[0]);
}

static void forward(const cr_node *n, cr_tile *t) {
    const mm *a = n->attr;
    const cr_node *in = n->in[0];
    int flags = (a->bias ? CR_GEMM_BIAS : 0) | (a->relu ? CR_GEMM_RELU : 0);
    const float *bias = a->bias ? n->in[2]->w : NULL;
    if (in_units(n, t)) {
        cr_units y = value_of(n, t), x = value_of(in, t);
        cr_kern->gemm_units(&y, &x, (const uint32_t *)(const void *)cr_packed(t, n), t->n_rows,
                            a->N, a->K, flags, bias, a->parts, t->scratch);
        return;
    }
    int64_t ld = cr_ld(n);
    for (int64_t r = 0; r < cr_rows(t, n); r += a->chunk) {
        int64_t rows = cr_rows(t, n) - r < a->chunk ? cr_rows(t, n) - r : a->chunk;
        side x =
            input(a, cr_val(t, in) + r * cr_ld(in), cr_ld(in), rows, a->K, t->scratch + a->xroom);
        float *y = cr_val(t, n) + r * ld;
        bool direct = dense(a, ld, a->N);
        float *to = direct ? y : t->scratch + a->yroom;
        product(a, t, a->x_zeros, to, a->G == 1 ? ld : a->N, x, cr_packed(t, n), rows * a->G, a->N,
                a->K, flags, bias);
        if (!direct) cr_kern->copy_rows(y, ld, to, n->width, rows, n->width, false);
    }
}

/* Computes dW, or adds to it, from m rows of x and dy. */
static void weight_grad(const mm *a, const cr_tile *t, float *dW, side x, side dy, int64_t m,
                        int acc) {
    side l = a->kn ? x : dy, o = a->kn ? dy : x;
    int64_t M = a->kn ? a->K : a->N, N = a->kn ? a->N : a->K;
    if (a->dy_zeros)
        cr_kern->gemm_nz_tn(dW, N, l.v, l.ld, o.v, o.ld, M, N, m, acc);
    else if (a->parts)
        cr_kern->gemm_bf16_tn(dW, N, l.v, l.ld, o.v, o.ld, M, N, m, acc, a->parts, t->scratch);
    else
        cr_kern->gemm_tn(dW, N, l.v, l.ld, o.v, o.ld, M, N, m, acc, t->scratch);
}

/* For cr_blocks_add: the gradient of a weight, set by the first product and added to by others. */
typedef struct weight {
    const mm *a;
    const cr_tile *t;
    float *dW;
    int acc;
} weight;
static void add_weight(void *ctx, const cr_sides *s, int64_t rows) {
    weight *w = ctx;
    weight_grad(w->a, w->t, w->dW, (side){s->L, s->ldl}, (side){s->O, s->ldo}, rows, w->acc);
    w->acc = CR_GEMM_ACC;
}

/* The same in whole blocks: rows [r, r + rows) of the tile are m rows of x and dy. */
static void weight_grad_in_blocks(const cr_node *n, const cr_tile *t, float *dW, side x, side dy,
                                  int64_t m, int acc, int64_t r, int64_t rows) {
    const mm *a = n->attr;
    bool last = t->last && r + rows == cr_rows(t, n);
    bool set = cr_blocks_add(cr_carry(t, n), (cr_sides){x.v, dy.v, x.ld, dy.ld, a->K, a->N}, m,
                             t->first && r == 0, last, add_weight, &(weight){a, t, dW, acc});
    if (!set && !acc) memset(dW, 0, (size_t)(a->K * a->N) * sizeof(float));
}

/* Computes the gradients that come from rows [r, r + rows) of the tile. */
static void back(const cr_node *n, cr_tile *t, int64_t r, int64_t rows) {
    const mm *a = n->attr;
    const cr_node *in = n->in[0];
    int64_t ld = cr_ld(n), ldx = cr_ld(in), m = rows * a->G;
    const float *grad = cr_grad(t, n) + r * ld;
    float *xroom = t->scratch + a->xroom;
    side dy = input(a, grad, ld, rows, a->N, t->scratch + a->yroom);
    if (cr_wants_grad(t, n, 1)) {
        float *dW = cr_param_grad(t, n->in[1]);
        int acc = r == 0 && cr_first_grad(t, n, 1) ? 0 : CR_GEMM_ACC;
        side x = input(a, cr_val(t, in) + r * ldx, ldx, rows, a->K, xroom);
        if (a->parts)
            weight_grad_in_blocks(n, t, dW, x, dy, m, acc, r, rows);
        else
            weight_grad(a, t, dW, x, dy, m, acc);
    }
    if (a->bias && cr_wants_grad(t, n, 2)) {
        float *db = cr_param_grad(t, n->in[2]);
        if (r == 0 && cr_first_grad(t, n, 2))
            for (int64_t j = 0; j < a->N; j++)
                db[j] = 0;
        if (a->G == 1)
            cr_kern->col_sum(db, grad, ld, rows, a->N);
        else
            for (int64_t i = 0; i < rows; i++)
                cr_kern->col_sum(db, grad + i * ld, a->N, a->G, a->N);
    }
    if (!cr_wants_grad(t, n, 0)) return;
    float *dx = cr_grad(t, in) + r * ldx;
    bool direct = dense(a, ldx, a->K), first = cr_first_grad(t, n, 0);
    int flags = (first || !direct ? 0 : CR_GEMM_ACC) | (a->mask ? CR_GEMM_MASK : 0);
    product(a, t, a->dy_zeros, direct ? dx : xroom, a->G == 1 ? ldx : a->K, dy,
            cr_packed(t, n) + a->bwd_off, m, a->K, a->N, flags, cr_val(t, in) + r * ldx);
    if (!direct) cr_kern->copy_rows(dx, ldx, xroom, in->width, rows, in->width, !first);
}

/* The same for all rows of a tile, when x or y are units. No rows wait for a block: every tile but
 * the lane's last has whole blocks. */
static void back_units(const cr_node *n, cr_tile *t) {
    const mm *a = n->attr;
    const cr_node *in = n->in[0];
    const cr_units x = value_of(in, t), dy = grad_of(n, t);
    if (cr_wants_grad(t, n, 1))
        cr_kern->gemm_units_tn(cr_param_grad(t, n->in[1]), a->K, &dy, &x, a->N, a->K, t->n_rows,
                               cr_first_grad(t, n, 1) ? 0 : CR_GEMM_ACC, a->parts, t->scratch);
    if (a->bias) {
        float *db = cr_param_sum(t, n, 2);
        if (db) cr_kern->col_sum(db, dy.f, dy.ld, t->n_rows, a->N);
    }
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_units dx = grad_of(in, t);
    int flags = (cr_first_grad(t, n, 0) ? 0 : CR_GEMM_ACC) | (a->mask ? CR_GEMM_MASK : 0);
    cr_kern->gemm_units(&dx, &dy, (const uint32_t *)(const void *)(cr_packed(t, n) + a->bwd_off),
                        t->n_rows, a->K, a->N, flags, x.f, a->parts, t->scratch);
}

static void backward(const cr_node *n, cr_tile *t) {
    const mm *a = n->attr;
    if (a->relu && !n->masked) {
        float *grad = cr_grad(t, n);
        const float *y = cr_val(t, n);
        for (int64_t r = 0; r < cr_rows(t, n); r++)
            cr_kern->relu_bwd(grad + r * cr_ld(n), grad + r * cr_ld(n), y + r * cr_ld(n), n->width,
                              false);
    }
    if (in_units(n, t)) {
        back_units(n, t);
        return;
    }
    /* runs also for no rows, since gradients of parameters must be set */
    int64_t r = 0;
    do {
        int64_t rows = cr_rows(t, n) - r < a->chunk ? cr_rows(t, n) - r : a->chunk;
        back(n, t, r, rows);
        r += rows;
    } while (r < cr_rows(t, n));
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
    case 3: { /* rows with padding; x has another user */
        cr_node *W = cr_graph_param(g, "w", 7, 5, true, NULL, 0),
                *b = cr_graph_param(g, "b", 1, 7, true, NULL, 0), *x = cr_feed(g, 45);
        cr_node *y = cr_matmul_each(g, x, W, b, false, 9);
        return cr_concat(g, (cr_node *[]){y, x}, 2);
    }
    case 4: /* rows without padding */
        return cr_matmul_kn_each(g, cr_feed(g, 48), cr_graph_param(g, "w", 16, 16, true, NULL, 0),
                                 3);
    case 5: { /* both sides have zeros */
        cr_node *W = cr_graph_param(g, "w", 70, 90, true, NULL, 0),
                *b = cr_graph_param(g, "b", 1, 70, true, NULL, 0);
        cr_node *x = cr_activation(g, CR_ACT_RELU, NULL, cr_feed(g, 90));
        return cr_matmul_each(g, x, W, b, true, 1);
    }
    default: return NULL;
    }
}

/* Returns the node that takes n as an input; NULL: there is none, or there are several. */
static cr_node *only_user(const cr_graph *g, const cr_node *n) {
    cr_node *user = NULL;
    for (int i = n->id + 1; i < g->n; i++)
        for (int k = 0; k < g->nodes[i]->n_in; k++) {
            if (g->nodes[i]->in[k] != n) continue;
            if (user) return NULL;
            user = g->nodes[i];
        }
    return user;
}

/* join lets the output x of a layer have a form of its own, if its user n reads the same and this
 * CPU gains by it. */
static void join(cr_node *x, cr_node *n) {
    const mm *a = x->attr, *b = n->attr;
    if (!cr_kern->gemm_units || x->cls != CR_ROW || a->parts == 0 || a->parts != b->parts) return;
    if (a->G > 1 || b->G > 1 || a->kn || b->kn) return;
    int64_t columns = own_rows(x->width);
    x->own_val = columns * a->parts + columns / CR_OWN_BLOCK;
    x->own_grad = cr_ld(x) + columns * a->parts;
    for (int i = 0; i < 2; i++) {
        cr_node *l = i ? n : x;
        const mm *m = l->attr;
        int64_t more = cr_gemm_units_scratch(CR_MAX_TILE, m->K > m->N ? m->K : m->N, m->parts);
        if (l->scratch < more) l->scratch = more;
    }
}

void cr_matmul_finish(cr_graph *g) {
    for (int i = 0; i < g->n; i++) {
        cr_node *x = g->nodes[i];
        bool layer = x->op == &cr_op_matmul;
        cr_node *n = x->relu || layer ? only_user(g, x) : NULL;
        if (!n || n->op != &cr_op_matmul || n->in[0] != x) continue;
        mm *a = n->attr;
        if (x->relu) a->mask = x->masked = a->G == 1;
        if (layer) join(x, n);
    }
}

const cr_op_type cr_op_matmul = {.name = "matmul",
                                 .infer = infer,
                                 .forward = forward,
                                 .backward = backward,
                                 .prepare = prepare,
                                 .example = example,
                                 .keep_val = true,
                                 .reads_in = true,
                                 .rowwise = true};

cr_node *cr_matmul_each(cr_graph *g, cr_node *x, cr_node *W, cr_node *b, bool relu, int64_t G) {
    mm a = {.bias = b != NULL, .relu = relu, .products = (cr_products)g->products, .G = G};
    return cr_graph_op(g, &cr_op_matmul, (cr_node *[]){x, W, b}, b ? 3 : 2, &a, sizeof(a));
}

cr_node *cr_matmul_kn_each(cr_graph *g, cr_node *x, cr_node *W, int64_t G) {
    mm a = {.kn = true, .products = (cr_products)g->products, .G = G};
    return cr_graph_op(g, &cr_op_matmul, (cr_node *[]){x, W}, 2, &a, sizeof(a));
}

cr_node *cr_matmul(cr_graph *g, cr_node *x, cr_node *W, cr_node *b, bool relu) {
    cr_node *n = W->rows >= CR_GEMM_NR ? cr_emb_matmul(g, x, W, b, relu) : NULL;
    return n ? n : cr_matmul_each(g, x, W, b, relu, 1);
}

cr_node *cr_matmul_kn(cr_graph *g, cr_node *x, cr_node *W) {
    return cr_matmul_kn_each(g, x, W, 1);
}
