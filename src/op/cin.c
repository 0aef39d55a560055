/*
 * cin.c - one layer of the compressed interaction network (xDeepFM, Lian et al., 2018).
 *
 * Inputs are kept with the embedding dimension first: x (D, H) the layer before, x0 (D, F) the
 * fields. For each d: z = outer(x[d], x0[d]) (H F values, h major), y[d] = W z + b. z is never
 * kept: it is H F / (H + F) times as large as what it is made of, so a few rows at a time are made
 * in scratch, in backward again.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

#define Z_FLOATS 65536 /* of scratch for z, where one row does not need more */

typedef struct cin {
    int64_t D, H, F, N;
    int64_t chunk;           /* rows at a time */
    int64_t z_off, room_off; /* in the scratch, behind gemm_tn's: z (or its gradient), y's rows */
    int64_t bwd_off, fwd_items, bwd_items;
} cin;

#define PACK_PANELS 4

static void infer(cr_node *n) {
    cin *a = n->attr;
    const cr_node *x = n->in[0], *x0 = n->in[1], *W = n->in[2];
    a->N = W->rows;
    if (x->width != a->D * a->H || x0->width != a->D * a->F || W->cols != a->H * a->F ||
        n->in[3]->width != a->N)
        CR_BUG("cin: widths do not fit");
    n->cls = CR_ROW;
    n->width = a->D * a->N;
    int64_t K = a->H * a->F, row = a->D * K;
    a->chunk = row >= Z_FLOATS ? 1 : Z_FLOATS / row;
    if (a->chunk > CR_MAX_TILE) a->chunk = CR_MAX_TILE;
    int64_t m = a->chunk * a->D;
    a->z_off = cr_up16(cr_gemm_tn_scratch(a->N, K, m));
    a->room_off = a->z_off + (m * K + 15) / 16 * 16;
    n->scratch = a->room_off + m * a->N;
    a->fwd_items = (cr_gemm_panels(a->N) + PACK_PANELS - 1) / PACK_PANELS;
    a->bwd_items = (cr_gemm_panels(K) + PACK_PANELS - 1) / PACK_PANELS;
    a->bwd_off = (cr_gemm_pack_size(K, a->N) + 15) / 16 * 16;
    n->pack = a->bwd_off + cr_gemm_pack_size(a->N, K);
    n->n_prepare = a->fwd_items + a->bwd_items;
}

/* W (N, HF): z W^T forward, dy W backward */
static void prepare(const cr_node *n, float *packed, int64_t item, bool train) {
    const cin *a = n->attr;
    bool back = item >= a->fwd_items;
    if (back && !train) return;
    int64_t HF = a->H * a->F, K = back ? a->N : HF, N = back ? HF : a->N;
    int64_t p0 = (back ? item - a->fwd_items : item) * PACK_PANELS, p1 = p0 + PACK_PANELS;
    int64_t panels = cr_gemm_panels(N);
    cr_kern->gemm_pack(packed + (back ? a->bwd_off : 0), n->in[2]->w, HF, !back, K, N, p0,
                       p1 < panels ? p1 : panels);
}

/* z of the rows [r, r + rows) */
static void outer(const cr_node *n, cr_tile *t, int64_t r, int64_t rows, float *z) {
    const cin *a = n->attr;
    const cr_node *x = n->in[0], *x0 = n->in[1];
    for (int64_t i = r; i < r + rows; i++)
        cr_kern->outer(z + (i - r) * a->D * a->H * a->F, cr_val(t, x) + i * cr_ld(x),
                       cr_val(t, x0) + i * cr_ld(x0), a->D, a->H, a->F);
}

static void forward(const cr_node *n, cr_tile *t) {
    const cin *a = n->attr;
    float *z = t->scratch + a->z_off, *room = t->scratch + a->room_off;
    bool direct = cr_ld(n) == n->width;
    for (int64_t r = 0; r < t->n_rows; r += a->chunk) {
        int64_t rows = t->n_rows - r < a->chunk ? t->n_rows - r : a->chunk;
        float *y = cr_val(t, n) + r * cr_ld(n), *to = direct ? y : room;
        outer(n, t, r, rows, z);
        cr_kern->gemm(to, a->N, z, a->H * a->F, cr_packed(t, n), rows * a->D, a->N, a->H * a->F,
                      CR_GEMM_BIAS, n->in[3]->w);
        if (!direct) cr_kern->copy_rows(y, cr_ld(n), to, n->width, rows, n->width, false);
    }
}

/* the gradients from rows [r, r + rows) of the tile */
static void back(const cr_node *n, cr_tile *t, int64_t r, int64_t rows) {
    const cin *a = n->attr;
    const cr_node *x = n->in[0], *x0 = n->in[1];
    float *z = t->scratch + a->z_off, *room = t->scratch + a->room_off;
    int64_t HF = a->H * a->F, m = rows * a->D;
    const float *dy = cr_grad(t, n) + r * cr_ld(n);
    if (cr_ld(n) != n->width) {
        cr_kern->copy_rows(room, n->width, dy, cr_ld(n), rows, n->width, false);
        dy = room;
    }
    if (cr_wants_grad(t, n, 2)) {
        outer(n, t, r, rows, z);
        cr_kern->gemm_tn(cr_param_grad(t, n->in[2]), HF, dy, a->N, z, HF, a->N, HF, m,
                         r == 0 && cr_first_grad(t, n, 2) ? 0 : CR_GEMM_ACC, t->scratch);
    }
    if (cr_wants_grad(t, n, 3)) {
        float *db = cr_param_grad(t, n->in[3]);
        if (r == 0 && cr_first_grad(t, n, 3)) memset(db, 0, (size_t)a->N * sizeof(float));
        cr_kern->col_sum(db, dy, a->N, m, a->N);
    }
    bool wants_x = cr_wants_grad(t, n, 0), wants_x0 = cr_wants_grad(t, n, 1);
    if (!wants_x && !wants_x0) return;
    cr_kern->gemm(z, HF, dy, a->N, cr_packed(t, n) + a->bwd_off, m, HF, a->N, 0, NULL);
    for (int64_t i = r; i < r + rows; i++) {
        const float *dz = z + (i - r) * a->D * HF;
        const float *xv = cr_val(t, x) + i * cr_ld(x), *x0v = cr_val(t, x0) + i * cr_ld(x0);
        if (wants_x)
            cr_kern->outer_bwd_a(cr_grad(t, x) + i * cr_ld(x), dz, x0v, a->D, a->H, a->F,
                                 !cr_first_grad(t, n, 0));
        if (wants_x0)
            cr_kern->outer_bwd_b(cr_grad(t, x0) + i * cr_ld(x0), dz, xv, a->D, a->H, a->F,
                                 !cr_first_grad(t, n, 1));
    }
}

static void backward(const cr_node *n, cr_tile *t) {
    const cin *a = n->attr;
    for (int64_t r = 0; r < t->n_rows; r += a->chunk)
        back(n, t, r, t->n_rows - r < a->chunk ? t->n_rows - r : a->chunk);
}

static cr_node *example(cr_graph *g, int k) {
    int64_t D = k ? 16 : 3, H = k == 2 ? 18 : 4, F = k ? 9 : 5, N = k ? 35 : 2;
    if (k > 3) return NULL;
    cr_node *x0 = cr_feed(g, D * F), *x = k == 3 ? x0 : cr_feed(g, D * H);
    if (k == 3) H = F;
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
