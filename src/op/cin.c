/*
 * cin.c - one layer of the compressed interaction network (xDeepFM, Lian et al., 2018).
 *
 * Inputs are kept with the embedding dimension first: x (D, H) the layer before, x0 (D, F) the
 * fields. For each d: z = outer(x[d], x0[d]) (H F values, h major), y[d] = W z + b. z is never
 * kept, since it is H F / (H + F) times as large as its inputs. A block of it is made in scratch,
 * and made again in backward. A block has `chunk` rows, since a product needs many rows to be fast,
 * and `hb` of the H vectors, so that it stays in the cache beside its block of W. A chain of
 * multiply-adds goes on from block to block; only the gradient of x0 is a sum of the blocks' sums.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

#define Z_FLOATS  65536 /* floats of scratch for z, unless one row needs more */
#define Z_COLUMNS 512   /* columns of a block at most, unless one h needs more */

typedef struct cin {
    int64_t D, H, F, N;
    int64_t hb, blocks; /* how many h a block has, and how many blocks there are */
    int64_t chunk;      /* rows that are computed at a time */
    /* offsets into the scratch, behind gemm_tn's part: z (or its gradient), the rows of y */
    int64_t z_off, room_off;
    /* floats of a packed block; the packed blocks of backward begin at bwd_off */
    int64_t pack, bwd_off;
} cin;

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Returns the columns that all blocks of hb take in the products, which work on 16 columns at a
 * time. */
static int64_t columns(const cin *a, int64_t hb) {
    return a->H / hb * cr_up16(hb * a->F) + cr_up16(a->H % hb * a->F);
}

/* Returns how many h a block has: at least half of Z_COLUMNS, with as few unused columns as
 * possible. */
static int64_t block_size(const cin *a) {
    int64_t top = Z_COLUMNS / a->F, best;
    top = top < 1 ? 1 : top > a->H ? a->H : top;
    best = top;
    for (int64_t hb = top - 1; hb * a->F >= Z_COLUMNS / 2; hb--)
        if (columns(a, hb) < columns(a, best)) best = hb;
    return best;
}

/* Returns how many rows a chunk has when z has K columns per d; a multiple of 14, the product's row
 * block, if possible. */
static int64_t chunk_of(const cin *a, int64_t K) {
    int64_t n = Z_FLOATS / (a->D * K);
    n = n < 1 ? 1 : n > CR_MAX_TILE ? CR_MAX_TILE : n;
    for (int64_t c = n; c > n / 2; c--)
        if (c * a->D % 14 == 0) return c;
    return n;
}

static void infer(cr_node *n) {
    cin *a = n->attr;
    const cr_node *x = n->in[0], *x0 = n->in[1], *W = n->in[2];
    a->N = W->rows;
    if (x->width != a->D * a->H || x0->width != a->D * a->F || W->cols != a->H * a->F ||
        n->in[3]->width != a->N)
        CR_BUG("cin: widths do not fit");
    n->cls = CR_ROW;
    n->width = a->D * a->N;
    a->hb = block_size(a);
    a->blocks = (a->H + a->hb - 1) / a->hb;
    int64_t K = a->hb * a->F;
    a->chunk = chunk_of(a, K);
    int64_t m = a->chunk * a->D;
    a->z_off = cr_up16(cr_gemm_tn_scratch(a->N, K, m));
    a->room_off = a->z_off + cr_up16(m * K);
    n->scratch = a->room_off + m * a->N;
    a->pack = cr_up16(most(cr_gemm_pack_size(K, a->N), cr_gemm_pack_size(a->N, K)));
    a->bwd_off = a->blocks * a->pack;
    n->pack = 2 * a->bwd_off;
    n->n_prepare = 2 * a->blocks;
}

/* Returns the first h of block i; *count receives how many h it has. */
static int64_t block(const cin *a, int64_t i, int64_t *count) {
    int64_t h = i * a->hb;
    *count = a->H - h < a->hb ? a->H - h : a->hb;
    return h;
}

/* Packs the columns of W (N, HF) that belong to a block: forward for z W^T, backward for dy W. */
static void prepare(const cr_node *n, float *packed, int64_t item, bool train) {
    const cin *a = n->attr;
    bool back = item >= a->blocks;
    if (back && !train) return;
    int64_t hs, h = block(a, back ? item - a->blocks : item, &hs), K = hs * a->F;
    cr_gemm_pack(packed + item * a->pack, n->in[2]->w + h * a->F, a->H * a->F, !back,
                 back ? a->N : K, back ? K : a->N);
}

/* Computes z of the rows [r, r + rows), for hs vectors from h on. */
static void outer(const cr_node *n, cr_tile *t, int64_t r, int64_t rows, int64_t h, int64_t hs,
                  float *z) {
    const cin *a = n->attr;
    const cr_node *x = n->in[0], *x0 = n->in[1];
    for (int64_t i = r; i < r + rows; i++)
        cr_kern->outer(z + (i - r) * a->D * hs * a->F, cr_val(t, x) + i * cr_ld(x) + h, a->H,
                       cr_val(t, x0) + i * cr_ld(x0), a->D, hs, a->F);
}

static void forward(const cr_node *n, cr_tile *t) {
    const cin *a = n->attr;
    float *z = t->scratch + a->z_off, *room = t->scratch + a->room_off;
    bool direct = cr_ld(n) == n->width;
    for (int64_t r = 0; r < t->n_rows; r += a->chunk) {
        int64_t rows = t->n_rows - r < a->chunk ? t->n_rows - r : a->chunk, hs;
        float *y = cr_val(t, n) + r * cr_ld(n), *to = direct ? y : room;
        for (int64_t i = 0; i < a->blocks; i++) {
            int64_t h = block(a, i, &hs), K = hs * a->F;
            int flags = (i > 0 ? CR_GEMM_ACC : 0) | (i == a->blocks - 1 ? CR_GEMM_BIAS : 0);
            outer(n, t, r, rows, h, hs, z);
            cr_kern->gemm(to, a->N, z, K, cr_packed(t, n) + i * a->pack, rows * a->D, a->N, K,
                          flags, n->in[3]->w);
        }
        if (!direct) cr_kern->copy_rows(y, cr_ld(n), to, n->width, rows, n->width, false);
    }
}

/* The work of backward: rows [r, r + rows) of the tile. */
typedef struct piece {
    int64_t r, rows;
    const float *dy; /* rows without gaps */
    float *dx, *dx0; /* the gradients of the tile's x and x0; NULL: not wanted */
} piece;

/* Adds the gradients that pass through block i of z. */
static void back_block(const cr_node *n, cr_tile *t, const piece *p, int64_t i) {
    const cin *a = n->attr;
    const cr_node *x = n->in[0], *x0 = n->in[1];
    float *z = t->scratch + a->z_off;
    int64_t hs, h = block(a, i, &hs), K = hs * a->F, m = p->rows * a->D;
    if (cr_wants_grad(t, n, 2)) {
        outer(n, t, p->r, p->rows, h, hs, z);
        cr_kern->gemm_tn(cr_param_grad(t, n->in[2]) + h * a->F, a->H * a->F, p->dy, a->N, z, K,
                         a->N, K, m, p->r == 0 && cr_first_grad(t, n, 2) ? 0 : CR_GEMM_ACC,
                         t->scratch);
    }
    if (!p->dx && !p->dx0) return;
    cr_kern->gemm(z, K, p->dy, a->N, cr_packed(t, n) + a->bwd_off + i * a->pack, m, K, a->N, 0,
                  NULL);
    for (int64_t r = p->r; r < p->r + p->rows; r++) {
        const float *dz = z + (r - p->r) * a->D * K;
        if (p->dx)
            cr_kern->outer_bwd_a(p->dx + r * cr_ld(x) + h, a->H, dz, cr_val(t, x0) + r * cr_ld(x0),
                                 a->D, hs, a->F, true);
        if (p->dx0)
            cr_kern->outer_bwd_b(p->dx0 + r * cr_ld(x0), dz, cr_val(t, x) + r * cr_ld(x) + h, a->H,
                                 a->D, hs, a->F, true);
    }
}

static void back(const cr_node *n, cr_tile *t, piece *p) {
    const cin *a = n->attr;
    p->dy = cr_grad(t, n) + p->r * cr_ld(n);
    if (cr_ld(n) != n->width) {
        float *room = t->scratch + a->room_off;
        cr_kern->copy_rows(room, n->width, p->dy, cr_ld(n), p->rows, n->width, false);
        p->dy = room;
    }
    if (cr_wants_grad(t, n, 3)) {
        float *db = cr_param_grad(t, n->in[3]);
        if (p->r == 0 && cr_first_grad(t, n, 3)) memset(db, 0, (size_t)a->N * sizeof(float));
        cr_kern->col_sum(db, p->dy, a->N, p->rows * a->D, a->N);
    }
    for (int64_t i = 0; i < a->blocks; i++)
        back_block(n, t, p, i);
}

/* Returns the gradient of input i; its first use clears it, since the blocks add to it. */
static float *cleared(const cr_node *n, cr_tile *t, int i) {
    if (!cr_wants_grad(t, n, i)) return NULL;
    float *d = cr_grad(t, n->in[i]);
    if (cr_first_grad(t, n, i)) memset(d, 0, (size_t)(t->n_rows * cr_ld(n->in[i])) * sizeof(float));
    return d;
}

static void backward(const cr_node *n, cr_tile *t) {
    const cin *a = n->attr;
    piece p = {.dx = cleared(n, t, 0), .dx0 = cleared(n, t, 1)};
    for (; p.r < t->n_rows; p.r += a->chunk) {
        p.rows = t->n_rows - p.r < a->chunk ? t->n_rows - p.r : a->chunk;
        back(n, t, &p);
    }
}

static cr_node *example(cr_graph *g, int k) {
    /* the last two cases have several blocks; in two cases x is x0 */
    static const struct {
        int64_t D, H, F, N;
    } of[] = {{3, 4, 5, 2},   {16, 4, 9, 35}, {16, 18, 9, 35},
              {16, 9, 9, 35}, {4, 40, 30, 5}, {3, 30, 30, 6}};
    if (k > 5) return NULL;
    int64_t D = of[k].D, H = of[k].H, F = of[k].F, N = of[k].N;
    cr_node *x0 = cr_feed(g, D * F), *x = k == 3 || k == 5 ? x0 : cr_feed(g, D * H);
    return cr_cin(g, x, x0, cr_graph_param(g, "w", N, H * F, true, NULL, 0),
                  cr_graph_param(g, "b", 1, N, true, NULL, 0), D, H, F);
}

const cr_op_type cr_op_cin = {.name = "cin",
                              .infer = infer,
                              .forward = forward,
                              .backward = backward,
                              .prepare = prepare,
                              .example = example,
                              .reads_in = true};

cr_node *cr_cin(cr_graph *g, cr_node *x, cr_node *x0, cr_node *W, cr_node *b, int64_t D, int64_t H,
                int64_t F) {
    cin a = {.D = D, .H = H, .F = F};
    return cr_graph_op(g, &cr_op_cin, (cr_node *[]){x, x0, W, b}, 4, &a, sizeof(a));
}
