/*
 * emb_matmul.c - the linear layer over looked-up rows, computed once per distinct id.
 *
 * y = x W^T + b, where x is blocks side by side (distinct.h). It is defined so: each block has one
 * chain of multiply-adds over its columns, from 0; the sums of the blocks are added in order, then
 * the bias. The product of a shared block is made once per code and gathered; that of another block
 * once per row. Both give the same bits, so a score never depends on which rows lie beside it.
 *
 * Backward, per block: rows of dy are summed per code (s), then dW = s^T e and de = s W, with e the
 * distinct rows of x. de goes to the first row of each code.
 *
 * Only for products of floats: with BF16 parts the tile unit multiplies all rows in less time than
 * gathering takes (docs/design/bf16.md).
 *
 * All rows of a lane are computed at once, in strips of columns: a strip of the products, or of dy,
 * stays in the second-level cache while all blocks use it.
 */
#include <string.h>

#include "kern/kern.h"
#include "op/distinct.h"
#include "op/input.h"
#include "op/op.h"

#define ROWS 56 /* rows of y at a time: a strip of them stays in the first-level cache */
#define PRODUCT                                                                                    \
    ((int64_t)192 << 10)         /* floats of products to be gathered from, if that is enough      \
                                  */
#define GRADS ((int64_t)1 << 20) /* floats of de at a time, unless one block needs more */
#define STRIP 128
#define NR    CR_GEMM_NR

typedef struct em {
    int64_t K, N;
    bool bias; /* there is a bias: in[3] */
    bool relu;
    int n; /* number of blocks: those of the codes from column `first` on */
    int first;
    const cr_block *blocks;
    int64_t from;       /* x is the columns [from, from + K) of the looked-up row */
    int64_t *fwd, *bwd; /* where each block's packed weights begin */
    int64_t max_width;
} em;

enum { IN_X, IN_CODES, IN_W, IN_B };

/* Floats of the packed weights of a whole matrix. */
static int64_t pack_size(int64_t K, int64_t N) {
    return cr_gemm_panels(N) * cr_gemm_panel(K);
}

static void infer(cr_node *n) {
    em *a = n->attr;
    const cr_node *W = n->in[IN_W];
    a->K = W->cols;
    a->N = W->rows;
    if (a->from + a->K > n->in[IN_X]->width) CR_BUG("emb_matmul: widths differ");
    n->cls = CR_ROW;
    n->width = a->N;
    n->zeros = n->relu = a->relu;
    n->lane = true;
    for (int i = 0; i < a->n; i++) {
        int64_t w = a->blocks[i].width;
        a->fwd[i] = n->pack;
        n->pack += cr_up16(pack_size(w, a->N));
        a->bwd[i] = n->pack;
        n->pack += cr_up16(pack_size(a->N, w));
        a->max_width = w > a->max_width ? w : a->max_width;
    }
    n->n_prepare = 2 * a->n;
    /* forward: the first rows, the distinct rows of a block, the products and where they begin;
     * backward: the order and the segments, the distinct rows, the sums, the gradients */
    int64_t tn = cr_gemm_tn_scratch(STRIP, a->max_width, 1 << 20);
    n->scratch = PRODUCT + GRADS + tn + 8 * a->n + 256;
    n->scratch_row = 2 * a->n + 2 * a->max_width + STRIP + NR;
}

static void prepare(const cr_node *n, float *packed, int64_t item, bool train) {
    const em *a = n->attr;
    const cr_block *b = &a->blocks[item / 2];
    const float *W = n->in[IN_W]->w + b->off - a->from;
    bool back = item % 2;
    if (back && !(train && b->grad)) return;
    float *to = packed + (back ? a->bwd : a->fwd)[item / 2];
    int64_t K = back ? a->N : b->width, N = back ? b->width : a->N, panels = cr_gemm_panels(N);
    cr_kern->gemm_pack(to, W, a->K, !back, K, N, 0, panels);
}

/* Takes n floats from the thread's scratch. */
static float *take(float **at, int64_t n) {
    float *p = *at;
    *at += cr_up16(n);
    return p;
}

/* Writes the first row of each code and returns how many codes there are. */
static int64_t first_rows(int32_t *first, const int32_t *code, int64_t ld, int64_t rows) {
    int32_t u = 0;
    for (int64_t r = 0; r < rows; r++) {
        /* kept if the row is the first; no branch, since it could not be predicted */
        first[u] = (int32_t)r;
        u += code[r * ld] == u;
    }
    return u;
}

/* One strip [n0, n0 + nb) of y, from blocks [i0, i1), whose products lie at px. */
typedef struct strip {
    int64_t n0, nb;
    int i0, i1;
} strip;

static void add_blocks(const cr_node *n, const cr_tile *t, strip s, const int64_t *u,
                       const float *const *px) {
    const em *a = n->attr;
    const cr_node *in = n->in[IN_X], *codes = n->in[IN_CODES];
    int64_t ld = cr_ld(n), ldx = cr_ld(in), ldk = cr_ld(codes);
    const float *bias = a->bias ? n->in[IN_B]->w + s.n0 : NULL;
    bool relu = a->relu && !cr_before(t, n); /* a shift starts from the value before it */
    int end = (a->bias ? CR_GEMM_BIAS : 0) | (relu ? CR_GEMM_RELU : 0);
    for (int64_t r = 0; r < t->n_rows; r += ROWS) {
        int64_t rows = t->n_rows - r < ROWS ? t->n_rows - r : ROWS;
        float *y = cr_val(t, n) + r * ld + s.n0;
        const float *x = cr_val(t, in) + r * ldx;
        const int32_t *code = cr_codes_at(t, codes) + a->first + r * ldk;
        for (int i = s.i0; i < s.i1;) {
            int k = i + 1;
            bool shared = u[i] < t->n_rows;
            while (shared && k < s.i1 && u[k] < t->n_rows)
                k++;
            int flags = (i > 0 ? CR_GEMM_ADD : 0) | (k == a->n ? end : 0);
            if (shared)
                cr_kern->gather_sum(y, ld, px + i, s.nb, code + i, ldk, rows, s.nb, k - i, flags,
                                    bias);
            else
                cr_kern->gemm(y, ld, x + a->blocks[i].off, ldx,
                              cr_packed(t, n) + a->fwd[i] +
                                  s.n0 / NR * cr_gemm_panel(a->blocks[i].width),
                              rows, s.nb, a->blocks[i].width, flags, bias);
            i = k;
        }
    }
}

/* Computes the products of a strip for those of the blocks [s.i0, s.i1) that are shared. */
static void products(const cr_node *n, const cr_tile *t, strip s, const int64_t *u, float *const *e,
                     const float **px, float *p) {
    const em *a = n->attr;
    for (int i = s.i0; i < s.i1; i++) {
        int64_t w = a->blocks[i].width;
        if (u[i] == t->n_rows) continue;
        px[i] = p;
        cr_kern->gemm(p, s.nb, e[i], w, cr_packed(t, n) + a->fwd[i] + s.n0 / NR * cr_gemm_panel(w),
                      u[i], s.nb, w, 0, NULL);
        p += u[i] * s.nb;
    }
}

static void forward(const cr_node *n, cr_tile *t) {
    const em *a = n->attr;
    const cr_node *in = n->in[IN_X], *codes = n->in[IN_CODES];
    int64_t R = t->n_rows, ldx = cr_ld(in), ldk = cr_ld(codes);
    int64_t e_room = GRADS > R * a->max_width ? GRADS : R * a->max_width;
    int64_t p_room = PRODUCT > R * NR ? PRODUCT : R * NR;
    float *at = t->scratch;
    int64_t *u = (int64_t *)(void *)take(&at, 2 * a->n);
    const float **px = (const float **)(void *)take(&at, 2 * a->n);
    float **e = (float **)(void *)take(&at, 2 * a->n);
    int32_t *first = (int32_t *)(void *)take(&at, R);
    float *p = take(&at, p_room);
    /* as many blocks at a time as the room for distinct rows and products allows */
    for (strip s = {0}; s.i0 < a->n; s.i0 = s.i1) {
        int64_t used = 0, total = 0;
        for (s.i1 = s.i0; s.i1 < a->n; s.i1++) {
            int i = s.i1;
            int64_t w = a->blocks[i].width;
            u[i] = first_rows(first, cr_codes_at(t, codes) + a->first + i, ldk, R);
            if (u[i] == R) continue;
            if (used + u[i] * w > e_room || (total + u[i]) * NR > p_room) break;
            e[i] = at + used;
            cr_kern->take_rows(e[i], w, cr_val(t, in) + a->blocks[i].off, ldx, first, u[i], w);
            used += u[i] * w;
            total += u[i];
        }
        int64_t nb = total > 0 ? p_room / total / NR * NR : STRIP;
        nb = nb > STRIP ? STRIP : nb;
        for (s.n0 = 0; s.n0 < a->N; s.n0 += nb) {
            s.nb = a->N - s.n0 < nb ? a->N - s.n0 : nb;
            products(n, t, s, u, e, px, p);
            add_blocks(n, t, s, u, px);
        }
    }
    float *before = cr_before(t, n), *y = cr_val(t, n);
    for (int64_t r = 0; before && r < R; r++, y += cr_ld(n)) {
        memcpy(before + r * a->N, y, (size_t)a->N * sizeof(float));
        if (a->relu) cr_kern->relu(y, y, a->N);
    }
}

/* ---- shifted: y = before + (x' - x) W over the columns that differ ---- */

static int64_t shift_scratch(const cr_node *n) {
    const em *a = n->attr;
    return cr_up16(ROWS * a->max_width) + 64;
}
static int64_t shift_kept(const cr_node *n) {
    return n->width;
}

/* Writes the differences of a block; columns of pieces that do not differ are zeros. False: the
 * whole block is the same. */
static bool differences(const cr_node *n, const cr_tile *t, const cr_block *b, int64_t r0,
                        int64_t rows, float *d) {
    const cr_node *x = n->in[IN_X];
    const cr_patch *p = ((const cr_step_input *)cr_tile_input(t))->patch;
    int count;
    const cr_look *v = cr_lookup_pieces(x, &count);
    bool any = false;
    for (int k = b->piece >= 0 ? b->piece : 0; k < (b->piece >= 0 ? b->piece + 1 : count); k++) {
        int64_t from = v[k].out > b->off ? v[k].out : b->off,
                end = v[k].out + v[k].width < b->off + b->width ? v[k].out + v[k].width
                                                                : b->off + b->width;
        if (from >= end || !cr_look_differs(&v[k], p, false)) continue;
        if (!any) memset(d, 0, (size_t)(rows * b->width) * sizeof(float));
        any = true;
        const float *now = cr_val(t, x) + r0 * cr_ld(x);
        for (int64_t r = 0; r < rows; r++, now += cr_ld(x)) {
            const float *then = cr_lookup_then(t, x, r0 + r);
            for (int64_t c = from; c < end; c++)
                d[r * b->width + c - b->off] = now[c] - then[c];
        }
    }
    return any;
}

static void shift(const cr_node *n, cr_tile *t) {
    const em *a = n->attr;
    int64_t ld = cr_ld(n);
    float *d = t->scratch;
    for (int64_t r0 = 0; r0 < t->n_rows; r0 += ROWS) {
        int64_t rows = t->n_rows - r0 < ROWS ? t->n_rows - r0 : ROWS;
        float *y = cr_val(t, n) + r0 * ld;
        for (int64_t r = 0; r < rows; r++)
            memcpy(y + r * ld, cr_before_of(t, n, r0 + r), (size_t)a->N * sizeof(float));
        for (int i = 0; i < a->n; i++)
            if (differences(n, t, &a->blocks[i], r0, rows, d))
                cr_kern->gemm(y, ld, d, a->blocks[i].width, cr_packed(t, n) + a->fwd[i], rows, a->N,
                              a->blocks[i].width, CR_GEMM_ADD, NULL);
        for (int64_t r = 0; a->relu && r < rows; r++)
            cr_kern->relu(y + r * ld, y + r * ld, a->N);
    }
}

/* Sorts the rows by their codes and finds where each code begins; returns the number of codes. */
static int64_t sort_rows(int32_t *order, int32_t *seg, const int32_t *code, int64_t ld,
                         int64_t rows) {
    int32_t u = 0;
    memset(seg, 0, (size_t)(rows + 1) * sizeof(*seg));
    for (int64_t r = 0; r < rows; r++) {
        int32_t c = code[r * ld];
        seg[c]++;
        u += c == u;
    }
    for (int32_t i = 0, at = 0; i < u; i++) {
        int32_t k = seg[i];
        seg[i] = at;
        at += k;
    }
    for (int64_t r = 0; r < rows; r++)
        order[seg[code[r * ld]]++] = (int32_t)r;
    for (int32_t i = u; i > 0; i--)
        seg[i] = seg[i - 1];
    seg[0] = 0;
    return u;
}

/* The working set of the backward pass over some blocks. */
typedef struct back {
    int i0, i1;
    int64_t *u;
    int32_t *first;
    int32_t *order, *seg; /* [block][R], [block][R + 1] */
    float **de, **e;
    float *s, *tn;
} back;

/* Computes dW of a strip, and the strip's part of de. */
static void back_strip(const cr_node *n, const cr_tile *t, const back *b, int64_t n0, int64_t nb) {
    const em *a = n->attr;
    const cr_node *in = n->in[IN_X];
    int64_t R = t->n_rows, ld = cr_ld(n), ldx = cr_ld(in);
    const float *dy = cr_grad(t, n) + n0;
    bool w_grad = cr_wants_grad(t, n, IN_W), x_grad = cr_wants_grad(t, n, IN_X);
    int acc = cr_first_grad(t, n, IN_W) ? 0 : CR_GEMM_ACC;
    for (int i = b->i0; i < b->i1; i++) {
        const cr_block *k = &a->blocks[i];
        const int32_t *order = b->order + (i - b->i0) * R, *seg = b->seg + (i - b->i0) * (R + 1);
        int64_t u = b->u[i], w = k->width, lds = ld, lde = ldx;
        const float *s = dy, *e = cr_val(t, in) + k->off;
        if (u < R) {
            cr_kern->seg_sum(b->s, nb, dy, ld, order, seg, u, nb);
            s = b->s;
            e = b->e[i];
            lds = nb;
            lde = w;
        }
        float *dW = w_grad ? cr_param_grad(t, n->in[IN_W]) + n0 * a->K + k->off - a->from : NULL;
        if (w_grad) cr_kern->gemm_tn(dW, a->K, s, lds, e, lde, nb, w, u, acc, b->tn);
        for (int64_t c = 0; x_grad && k->grad && c < w; c += NR)
            cr_kern->gemm(b->de[i] + c, w, s, lds,
                          cr_packed(t, n) + a->bwd[i] + c / NR * cr_gemm_panel(a->N) +
                              cr_gemm_panel(n0),
                          u, w - c < NR ? w - c : NR, nb, n0 > 0 ? CR_GEMM_ACC : 0, NULL);
    }
}

/* Adds de to the gradient of x, or writes it. */
static void give(const cr_node *n, const cr_tile *t, const back *b, bool set) {
    const em *a = n->attr;
    const cr_node *in = n->in[IN_X];
    int64_t R = t->n_rows, ldx = cr_ld(in);
    for (int i = b->i0; i < b->i1; i++) {
        const cr_block *k = &a->blocks[i];
        float *dx = cr_grad(t, in) + k->off;
        int64_t u = b->u[i], w = k->width;
        if (!k->grad) continue;
        if (u == R) {
            cr_kern->copy_rows(dx, ldx, b->de[i], w, R, w, !set);
            continue;
        }
        const int32_t *order = b->order + (i - b->i0) * R, *seg = b->seg + (i - b->i0) * (R + 1);
        for (int64_t r = 0; set && !cr_codes_solo(n->in[IN_CODES]) && r < R; r++)
            memset(dx + r * ldx, 0, (size_t)w * sizeof(float));
        for (int64_t c = 0; c < u; c++)
            b->first[c] = order[seg[c]];
        cr_kern->put_rows(dx, ldx, b->first, b->de[i], w, NULL, u, w, !set);
    }
}

/* Backward of the ReLU and of the bias, in place. */
static void back_output(const cr_node *n, const cr_tile *t, int64_t n0, int64_t nb) {
    const em *a = n->attr;
    int64_t ld = cr_ld(n);
    float *dy = cr_grad(t, n) + n0;
    const float *y = cr_val(t, n) + n0;
    for (int64_t r = 0; a->relu && !n->masked && r < t->n_rows; r++)
        cr_kern->relu_bwd(dy + r * ld, dy + r * ld, y + r * ld, nb, false);
    if (!a->bias || !cr_wants_grad(t, n, IN_B)) return;
    float *db = cr_param_grad(t, n->in[IN_B]) + n0;
    if (cr_first_grad(t, n, IN_B)) memset(db, 0, (size_t)nb * sizeof(float));
    cr_kern->col_sum(db, dy, ld, t->n_rows, nb);
}

/* Takes blocks from b->i0 on, as many as the room for distinct rows and gradients allows. */
static void next_blocks(const cr_node *n, const cr_tile *t, back *b, float *at, int64_t room) {
    const em *a = n->attr;
    const cr_node *in = n->in[IN_X], *codes = n->in[IN_CODES];
    int64_t R = t->n_rows, used = 0;
    for (b->i1 = b->i0; b->i1 < a->n; b->i1++) {
        int i = b->i1;
        int64_t w = a->blocks[i].width;
        int32_t *order = b->order + (i - b->i0) * R, *seg = b->seg + (i - b->i0) * (R + 1);
        int64_t u = sort_rows(order, seg, cr_codes_at(t, codes) + a->first + i, cr_ld(codes), R);
        bool shared = u < R;
        if (used + (a->blocks[i].grad + shared) * u * w > room) break;
        b->u[i] = u;
        b->de[i] = at + used;
        if (a->blocks[i].grad) used += u * w;
        if (!shared) continue;
        b->e[i] = at + used;
        used += u * w;
        for (int64_t c = 0; c < u; c++)
            b->first[c] = order[seg[c]];
        cr_kern->take_rows(b->e[i], w, cr_val(t, in) + a->blocks[i].off, cr_ld(in), b->first, u, w);
    }
}

static void backward(const cr_node *n, cr_tile *t) {
    const em *a = n->attr;
    int64_t R = t->n_rows;
    int64_t room = GRADS > 2 * R * a->max_width ? GRADS : 2 * R * a->max_width;
    bool x_grad = cr_wants_grad(t, n, IN_X), set = x_grad && cr_first_grad(t, n, IN_X);
    if (set && a->K < n->in[IN_X]->width) { /* the other columns get no gradient from this op */
        set = false;
        for (int64_t r = 0; r < R; r++)
            memset(cr_grad(t, n->in[IN_X]) + r * cr_ld(n->in[IN_X]), 0,
                   (size_t)n->in[IN_X]->width * sizeof(float));
    }
    float *at = t->scratch;
    back b = {.u = (int64_t *)(void *)take(&at, 2 * a->n)};
    b.de = (float **)(void *)take(&at, 2 * a->n);
    b.e = (float **)(void *)take(&at, 2 * a->n);
    b.first = (int32_t *)(void *)take(&at, R);
    b.order = (int32_t *)(void *)take(&at, a->n * R);
    b.seg = (int32_t *)(void *)take(&at, a->n * (R + 1));
    b.s = take(&at, R * STRIP);
    b.tn = take(&at, cr_gemm_tn_scratch(STRIP, a->max_width, R));
    for (b.i0 = 0; b.i0 < a->n; b.i0 = b.i1) {
        next_blocks(n, t, &b, at, room);
        for (int64_t n0 = 0; n0 < a->N; n0 += STRIP) {
            int64_t nb = a->N - n0 < STRIP ? a->N - n0 : STRIP;
            if (b.i0 == 0) back_output(n, t, n0, nb);
            back_strip(n, t, &b, n0, nb);
        }
        if (x_grad) give(n, t, &b, set);
    }
}

const cr_op_type cr_op_emb_matmul = {.name = "emb_matmul",
                                     .infer = infer,
                                     .forward = forward,
                                     .backward = backward,
                                     .shift = shift,
                                     .shift_scratch = shift_scratch,
                                     .shift_kept = shift_kept,
                                     .prepare = prepare,
                                     .keep_val = true,
                                     .reads_in = true};

/* Finds the blocks that make up the columns [from, from + K); false: a block reaches beyond
 * them. */
static bool find_blocks(em *a, const cr_node *codes, int64_t K) {
    int n;
    const cr_block *v = cr_codes_blocks(codes, &n);
    while (a->first < n && v[a->first].off < a->from)
        a->first++;
    int64_t end = a->from;
    for (int i = a->first; i < n && end < a->from + K; i++, a->n++) {
        if (v[i].off != end) return false;
        end = v[i].off + v[i].width;
    }
    a->blocks = v + a->first;
    return end == a->from + K;
}

cr_node *cr_emb_matmul(cr_graph *g, cr_node *x, cr_node *W, cr_node *b, bool relu) {
    em a = {.bias = b != NULL, .relu = relu};
    int64_t K = x->width;
    x = cr_slice_of(x, &a.from);
    bool can = x->op == &cr_op_lookup && g->products == CR_PRODUCTS_FP32;
    cr_node *codes = can ? cr_codes(g, x) : NULL;
    if (!codes || !find_blocks(&a, codes, K)) return NULL;
    a.fwd = CR_NEW_N(&g->arena, int64_t, a.n);
    a.bwd = CR_NEW_N(&g->arena, int64_t, a.n);
    cr_node *in[] = {x, codes, W, b};
    return cr_graph_op(g, &cr_op_emb_matmul, in, b ? 4 : 3, &a, sizeof(a));
}
