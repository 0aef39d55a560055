/*
 * shape.c - ops that put rows together and take them apart: concat, slice, weighted sum, row sum.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "graph/plan.h"
#include "kern/kern.h"
#include "op/input.h"
#include "op/op.h"

/* ---- concat ---- */

static void concat_infer(cr_node *n) {
    cr_infer_rows(n);
    n->width = 0;
    int64_t zeros = 0;
    for (int i = 0; i < n->n_in; i++) {
        n->width += n->in[i]->width;
        if (n->in[i]->zeros) zeros += n->in[i]->width;
    }
    n->zeros = zeros > n->width / 2;
}

static void concat_forward(const cr_node *n, cr_tile *t) {
    float *y = cr_val(t, n);
    for (int i = 0; i < n->n_in; y += n->in[i++]->width)
        cr_kern->copy_rows(y, cr_ld(n), cr_val(t, n->in[i]), cr_ld(n->in[i]), cr_rows(t, n),
                           n->in[i]->width, false);
}

static void concat_backward(const cr_node *n, cr_tile *t) {
    const float *dy = cr_grad(t, n);
    for (int i = 0; i < n->n_in; dy += n->in[i++]->width)
        if (cr_wants_grad(t, n, i))
            cr_kern->copy_rows(cr_grad(t, n->in[i]), cr_ld(n->in[i]), dy, cr_ld(n), cr_rows(t, n),
                               n->in[i]->width, !cr_first_grad(t, n, i));
}

static cr_node *concat_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *x = cr_feed(g, 3), *y = cr_feed(g, 18);
    return cr_concat(g, (cr_node *[]){x, y, x}, 3);
}

const cr_op_type cr_op_concat = {.name = "concat",
                                 .infer = concat_infer,
                                 .forward = concat_forward,
                                 .backward = concat_backward,
                                 .example = concat_example,
                                 .rowwise = true};

cr_node *cr_concat(cr_graph *g, cr_node *const *x, int n) {
    return n == 1 ? x[0] : cr_graph_op(g, &cr_op_concat, x, n, NULL, 0);
}

/* ---- slice ---- */

typedef struct slice {
    int64_t from, width;
} slice;

static void slice_infer(cr_node *n) {
    const slice *a = n->attr;
    if (a->from < 0 || a->from + a->width > n->in[0]->width) CR_BUG("slice: out of range");
    cr_infer_rows(n);
    n->width = a->width;
}

static void slice_forward(const cr_node *n, cr_tile *t) {
    const slice *a = n->attr;
    cr_kern->copy_rows(cr_val(t, n), cr_ld(n), cr_val(t, n->in[0]) + a->from, cr_ld(n->in[0]),
                       cr_rows(t, n), n->width, false);
}

static void slice_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const slice *a = n->attr;
    const cr_node *x = n->in[0];
    float *dx = cr_grad(t, x);
    bool first = cr_first_grad(t, n, 0);
    if (first)
        for (int64_t r = 0; r < cr_rows(t, n); r++)
            memset(dx + r * cr_ld(x), 0, (size_t)x->width * sizeof(float));
    cr_kern->copy_rows(dx + a->from, cr_ld(x), cr_grad(t, n), cr_ld(n), cr_rows(t, n), n->width,
                       !first);
}

static cr_node *slice_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *x = cr_feed(g, 20);
    return cr_concat(g, (cr_node *[]){cr_slice(g, x, 1, 5), cr_slice(g, x, 3, 17)}, 2);
}

const cr_op_type cr_op_slice = {.name = "slice",
                                .infer = slice_infer,
                                .forward = slice_forward,
                                .backward = slice_backward,
                                .example = slice_example,
                                .rowwise = true};

cr_node *cr_slice(cr_graph *g, cr_node *x, int64_t from, int64_t width) {
    slice a = {from, width};
    return cr_graph_op(g, &cr_op_slice, &x, 1, &a, sizeof(a));
}

cr_node *cr_slice_of(cr_node *n, int64_t *from) {
    *from = n->op == &cr_op_slice ? ((const slice *)n->attr)->from : 0;
    return n->op == &cr_op_slice ? n->in[0] : n;
}

/* ---- pad ---- */

static void pad_infer(cr_node *n) {
    cr_infer_rows(n);
    n->width = *(const int64_t *)n->attr;
    if (n->width < n->in[0]->width) CR_BUG("pad: narrower than before");
}

static void pad_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    cr_kern->copy_rows(cr_val(t, n), cr_ld(n), cr_val(t, x), cr_ld(x), cr_rows(t, n), x->width,
                       false);
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        memset(cr_val(t, n) + r * cr_ld(n) + x->width, 0,
               (size_t)(n->width - x->width) * sizeof(float));
}

static void pad_backward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    if (cr_wants_grad(t, n, 0))
        cr_kern->copy_rows(cr_grad(t, x), cr_ld(x), cr_grad(t, n), cr_ld(n), cr_rows(t, n),
                           x->width, !cr_first_grad(t, n, 0));
}

static cr_node *pad_example(cr_graph *g, int k) {
    return k > 1 ? NULL : cr_pad(g, cr_feed(g, k ? 20 : 3), k ? 37 : 3);
}

const cr_op_type cr_op_pad = {.name = "pad",
                              .infer = pad_infer,
                              .forward = pad_forward,
                              .backward = pad_backward,
                              .example = pad_example,
                              .rowwise = true};

cr_node *cr_pad(cr_graph *g, cr_node *x, int64_t width) {
    return cr_graph_op(g, &cr_op_pad, &x, 1, &width, sizeof(width));
}

/* ---- weighted sum ---- */

static void add_infer(cr_node *n) {
    cr_infer_rows(n);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i]->width > n->width) n->width = n->in[i]->width;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i]->width != n->width && n->in[i]->width != 1) CR_BUG("add: widths differ");
}

static void add_forward(const cr_node *n, cr_tile *t) {
    float *y = cr_val(t, n);
    const float *c = n->attr;
    int64_t ld = cr_ld(n);
    for (int i = 0; i < n->n_in; i++) {
        const float *x = cr_val(t, n->in[i]);
        int64_t lx = cr_ld(n->in[i]), step = n->in[i]->width > 1;
        for (int64_t r = 0; r < cr_rows(t, n); r++)
            for (int64_t j = 0; j < n->width; j++) {
                float v = c[i] * x[r * lx + j * step];
                y[r * ld + j] = i ? y[r * ld + j] + v : v;
            }
    }
}

static void add_backward(const cr_node *n, cr_tile *t) {
    const float *dy = cr_grad(t, n), *c = n->attr;
    int64_t ld = cr_ld(n);
    for (int i = 0; i < n->n_in; i++) {
        if (!cr_wants_grad(t, n, i)) continue;
        float *dx = cr_grad(t, n->in[i]);
        bool first = cr_first_grad(t, n, i);
        int64_t lx = cr_ld(n->in[i]);
        for (int64_t r = 0; r < cr_rows(t, n); r++) {
            if (n->in[i]->width == 1 && n->width > 1) {
                float v = c[i] * cr_kern->sum(dy + r * ld, n->width);
                dx[r * lx] = first ? v : dx[r * lx] + v;
                continue;
            }
            for (int64_t j = 0; j < n->width; j++) {
                float v = c[i] * dy[r * ld + j];
                dx[r * lx + j] = first ? v : dx[r * lx + j] + v;
            }
        }
    }
}

static cr_node *add_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *x = cr_feed(g, 6), *y = cr_feed(g, 1), *z = cr_feed(g, 6);
    return cr_add(g, (cr_node *[]){x, y, z, x}, (float[]){1, -2, 0.5f, 3}, 4);
}

const cr_op_type cr_op_add = {.name = "add",
                              .infer = add_infer,
                              .forward = add_forward,
                              .backward = add_backward,
                              .example = add_example,
                              .rowwise = true};

cr_node *cr_add(cr_graph *g, cr_node *const *x, const float *c, int n) {
    return cr_graph_op(g, &cr_op_add, x, n, c, (size_t)n * sizeof(float));
}

/* ---- row sum ---- */

static void rowsum_infer(cr_node *n) {
    cr_infer_rows(n);
    n->width = 1;
}

static void rowsum_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    const float *v = cr_val(t, x);
    float *y = cr_val(t, n);
    for (int64_t r = 0, rows = cr_rows(t, n), ld = cr_ld(x); r < rows; r++)
        y[r] = cr_kern->sum(v + r * ld, x->width);
    double *before = x->op == &cr_op_lookup ? (double *)(void *)cr_before(t, n) : NULL;
    for (int64_t r = 0, ld = cr_ld(x); before && r < t->n_rows; r++) {
        before[r] = 0;
        for (int64_t c = 0; c < x->width; c++)
            before[r] += (double)v[r * ld + c];
    }
}

/* shifted: the sum, and by how much the pieces that differ have grown; in doubles, as in fm_shift
 * of interact.c */
static int64_t rowsum_shift_kept(const cr_node *n) {
    (void)n;
    return 2;
}
static int64_t rowsum_shift_scratch(const cr_node *n) {
    (void)n;
    return 2 * CR_MAX_TILE;
}
static void rowsum_shift(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    const cr_patch *p = ((const cr_step_input *)cr_tile_input(t))->patch;
    int64_t ld = cr_ld(x);
    double *s = (double *)(void *)t->scratch;
    int count;
    const cr_look *k = cr_lookup_pieces(x, &count);
    for (int64_t r = 0; r < t->n_rows; r++)
        memcpy(s + r, cr_before_of(t, n, r), sizeof *s);
    for (int i = 0; i < count; i++) {
        if (!cr_look_differs(&k[i], p, false)) continue;
        const float *now = cr_val(t, x) + k[i].out;
        for (int64_t r = 0; r < t->n_rows; r++, now += ld) {
            const float *then = cr_lookup_then(t, x, r) + k[i].out;
            for (int64_t c = 0; c < k[i].width; c++)
                s[r] += (double)now[c] - (double)then[c];
        }
    }
    float *y = cr_val(t, n);
    for (int64_t r = 0; r < t->n_rows; r++)
        y[r] = (float)s[r];
}

static void rowsum_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *x = n->in[0];
    cr_kern->fill_rows(cr_grad(t, x), cr_ld(x), cr_grad(t, n), cr_rows(t, n), x->width,
                       !cr_first_grad(t, n, 0));
}

static cr_node *rowsum_example(cr_graph *g, int k) {
    return k > 1 ? NULL : cr_row_sum(g, cr_feed(g, k ? 40 : 5));
}

const cr_op_type cr_op_row_sum = {.name = "row_sum",
                                  .infer = rowsum_infer,
                                  .forward = rowsum_forward,
                                  .backward = rowsum_backward,
                                  .shift = rowsum_shift,
                                  .shift_scratch = rowsum_shift_scratch,
                                  .shift_kept = rowsum_shift_kept,
                                  .example = rowsum_example,
                                  .rowwise = true};

cr_node *cr_row_sum(cr_graph *g, cr_node *x) {
    return cr_graph_op(g, &cr_op_row_sum, &x, 1, NULL, 0);
}
