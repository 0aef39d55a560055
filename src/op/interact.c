/*
 * interact.c - products between feature vectors: the factorization machine's second-order term and
 * DLRM's pairwise dot products. A row of x is F vectors of D side by side.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "graph/plan.h"
#include "kern/kern.h"
#include "op/input.h"
#include "op/op.h"

typedef struct inter {
    int64_t F, D;
} inter;

static void check(const cr_node *n) {
    const inter *a = n->attr;
    if (n->in[0]->width != a->F * a->D) CR_BUG("interaction: width is not F * D");
}

/* The vectors are the columns of x from `from` on: a group of deepfm is often a part of the columns
 * that the deep layers read, and a copy of them would cost as much as the sums. */
typedef struct fm {
    int64_t F, D, from;
} fm;

static void fm_infer(cr_node *n) {
    const fm *a = n->attr;
    n->cls = CR_ROW;
    n->width = a->D;
}

/* Leaves the sum of the vectors and that of their squares, for a shift. */
static void keep_sums(const fm *a, const float *v, double *s) {
    memset(s, 0, (size_t)(2 * a->D) * sizeof(double));
    for (int64_t f = 0; f < a->F; f++, v += a->D)
        for (int64_t d = 0; d < a->D; d++) {
            double x = (double)v[d];
            s[d] += x;
            s[a->D + d] += x * x;
        }
}

static void fm_forward(const cr_node *n, cr_tile *t) {
    const fm *a = n->attr;
    const cr_node *x = n->in[0];
    const float *v = cr_val(t, x) + a->from;
    cr_kern->fm(cr_val(t, n), cr_ld(n), v, cr_ld(x), t->n_rows, a->F, a->D);
    float *before = x->op == &cr_op_lookup ? cr_before(t, n) : NULL;
    for (int64_t r = 0; before && r < t->n_rows; r++)
        keep_sums(a, v + r * cr_ld(x), (double *)(void *)(before + r * 4 * a->D));
}

/* ---- shifted: the vectors that differ are exchanged in both sums ----
 *
 * The sums are doubles, so that rows which become the same by the exchange get the same value:
 * a place in the order of scores that rounding decides would be noise in an AUC. */

static int64_t fm_shift_kept(const cr_node *n) {
    return 4 * n->width;
}

/* Both sums of the rows of a tile. A piece must be whole vectors. */
static int64_t fm_shift_scratch(const cr_node *n) {
    const fm *a = n->attr;
    int count;
    const cr_look *v = cr_lookup_pieces(n->in[0], &count);
    for (int k = 0; k < count; k++) {
        int64_t at = v[k].out - a->from, w = v[k].width;
        if (at + w <= 0 || at >= a->F * a->D) continue;
        if (at < 0 || at % a->D != 0 || w % a->D != 0) return -1;
    }
    return CR_MAX_TILE * 4 * a->D;
}

/* Exchanges the vector in columns [c, c + D) in the sums of all rows. */
static void exchange(const cr_node *n, const cr_tile *t, int64_t c, double *s) {
    int64_t D = n->width, ldx = cr_ld(n->in[0]);
    const float *now = cr_val(t, n->in[0]) + c;
    for (int64_t r = 0; r < t->n_rows; r++, now += ldx, s += 2 * D) {
        const float *then = cr_lookup_then(t, n->in[0], r) + c;
        for (int64_t d = 0; d < D; d++) {
            double x = (double)then[d], y = (double)now[d];
            s[d] += y - x;
            s[D + d] += y * y - x * x;
        }
    }
}

static void fm_shift(const cr_node *n, cr_tile *t) {
    const fm *a = n->attr;
    const cr_patch *p = ((const cr_step_input *)cr_tile_input(t))->patch;
    int64_t ld = cr_ld(n), D = a->D;
    double *s = (double *)(void *)t->scratch;
    for (int64_t r = 0; r < t->n_rows; r++)
        memcpy(s + r * 2 * D, cr_before_of(t, n, r), (size_t)(2 * D) * sizeof(double));
    int count;
    const cr_look *v = cr_lookup_pieces(n->in[0], &count);
    for (int k = 0; k < count; k++) {
        bool mine = v[k].out >= a->from && v[k].out < a->from + a->F * D;
        for (int64_t c = 0; mine && cr_look_differs(&v[k], p, false) && c < v[k].width; c += D)
            exchange(n, t, v[k].out + c, s);
    }
    float *y = cr_val(t, n);
    for (int64_t r = 0; r < t->n_rows; r++, y += ld, s += 2 * D)
        for (int64_t d = 0; d < D; d++)
            y[d] = (float)(0.5 * (s[d] * s[d] - s[D + d]));
}

static void fm_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const fm *a = n->attr;
    const cr_node *x = n->in[0];
    int64_t ld = cr_ld(x), end = a->from + a->F * a->D;
    float *dx = cr_grad(t, x);
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; first && r < t->n_rows; r++) { /* the other columns get no gradient here */
        memset(dx + r * ld, 0, (size_t)a->from * sizeof(float));
        memset(dx + r * ld + end, 0, (size_t)(x->width - end) * sizeof(float));
    }
    cr_kern->fm_bwd(dx + a->from, ld, cr_grad(t, n), cr_ld(n), cr_val(t, x) + a->from, ld,
                    t->n_rows, a->F, a->D, !first);
}

static cr_node *fm_example(cr_graph *g, int k) {
    cr_node *x;
    switch (k) {
    case 0: return cr_fm(g, cr_feed(g, 12), 0, 3, 4);
    case 1: return cr_fm(g, cr_feed(g, 80), 0, 5, 16);
    case 2: return cr_fm(g, cr_feed(g, 90), 3, 5, 16);
    case 3: /* the same columns twice, and others */
        x = cr_feed(g, 40);
        return cr_concat(g, (cr_node *[]){cr_fm(g, x, 1, 2, 16), x, cr_fm(g, x, 8, 2, 16)}, 3);
    default: return NULL;
    }
}

const cr_op_type cr_op_fm = {.name = "fm",
                             .infer = fm_infer,
                             .forward = fm_forward,
                             .backward = fm_backward,
                             .shift = fm_shift,
                             .shift_scratch = fm_shift_scratch,
                             .shift_kept = fm_shift_kept,
                             .example = fm_example,
                             .reads_in = true};

cr_node *cr_fm(cr_graph *g, cr_node *x, int64_t from, int64_t F, int64_t D) {
    fm a = {F, D, from};
    if (from < 0 || from + F * D > x->width) CR_BUG("fm: out of range");
    return cr_graph_op(g, &cr_op_fm, &x, 1, &a, sizeof(a));
}

static void pairs_infer(cr_node *n) {
    const inter *a = n->attr;
    check(n);
    n->cls = CR_ROW;
    n->width = a->F * (a->F - 1) / 2;
}

static void pairs_forward(const cr_node *n, cr_tile *t) {
    const inter *a = n->attr;
    const cr_node *x = n->in[0];
    cr_kern->pairs(cr_val(t, n), cr_ld(n), cr_val(t, x), cr_ld(x), t->n_rows, a->F, a->D);
}

static void pairs_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const inter *a = n->attr;
    const cr_node *x = n->in[0];
    cr_kern->pairs_bwd(cr_grad(t, x), cr_ld(x), cr_grad(t, n), cr_ld(n), cr_val(t, x), cr_ld(x),
                       t->n_rows, a->F, a->D, !cr_first_grad(t, n, 0));
}

static cr_node *pairs_example(cr_graph *g, int k) {
    switch (k) {
    case 0: return cr_pairs(g, cr_feed(g, 20), 5, 4);
    case 1: return cr_pairs(g, cr_feed(g, 112), 7, 16);
    default: return NULL;
    }
}

const cr_op_type cr_op_pairs = {.name = "pairs",
                                .infer = pairs_infer,
                                .forward = pairs_forward,
                                .backward = pairs_backward,
                                .example = pairs_example,
                                .reads_in = true};

cr_node *cr_pairs(cr_graph *g, cr_node *x, int64_t F, int64_t D) {
    inter a = {F, D};
    return cr_graph_op(g, &cr_op_pairs, &x, 1, &a, sizeof(a));
}
