/*
 * seq.c - between rows and the positions of their sequences: spread a row's vector to its
 * positions, pool positions into their row, softmax over the positions of a row, and the weighted
 * sum of positions, over all of them or over windows.
 *
 * There is no padding: a row without positions gets zeros, and its softmax is empty. Sums run in
 * the order of the positions.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

/* Finds the positions of row r of the tile: [*from, returned) among the tile's positions. */
static int64_t positions(const cr_tile *t, int axis, int64_t r, int64_t *from) {
    const int32_t *off = cr_seq_off(t, axis);
    *from = off[r] - off[0];
    return off[r + 1] - off[0];
}

/* ---- spread: x (w) of a row to all of its positions ---- */

static void spread_infer(cr_node *n) {
    if (n->in[0]->cls != CR_ROW) CR_BUG("spread: not a row");
    n->cls = CR_SEQ;
    n->axis = *(const int *)n->attr;
    n->width = n->in[0]->width;
}

static void spread_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    const float *xv = cr_val(t, x);
    float *y = cr_val(t, n);
    int64_t ldx = cr_ld(x), ld = cr_ld(n);
    for (int64_t r = 0, p; r < t->n_rows; r++) {
        int64_t end = positions(t, n->axis, r, &p);
        cr_kern->copy_rows(y + p * ld, ld, xv + r * ldx, 0, end - p, n->width, false);
    }
}

static void spread_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *x = n->in[0];
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0, p; r < t->n_rows; r++) {
        float *dx = cr_grad(t, x) + r * cr_ld(x);
        int64_t end = positions(t, n->axis, r, &p);
        if (first) memset(dx, 0, (size_t)n->width * sizeof(float));
        cr_kern->col_sum(dx, cr_grad(t, n) + p * cr_ld(n), cr_ld(n), end - p, n->width);
    }
}

static cr_node *spread_example(cr_graph *g, int k) {
    return k > 1 ? NULL : cr_seq_spread(g, cr_feed(g, k ? 21 : 3), cr_graph_axis(g));
}

const cr_op_type cr_op_seq_spread = {.name = "seq_spread",
                                     .infer = spread_infer,
                                     .forward = spread_forward,
                                     .backward = spread_backward,
                                     .example = spread_example};

cr_node *cr_seq_spread(cr_graph *g, cr_node *x, int axis) {
    return cr_graph_op(g, &cr_op_seq_spread, &x, 1, &axis, sizeof(axis));
}

/* ---- pool: sum or mean of the positions of a row ---- */

static void pool_infer(cr_node *n) {
    if (n->in[0]->cls != CR_SEQ) CR_BUG("pool: not a sequence");
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
}

static float pool_scale(const cr_node *n, int64_t len) {
    return *(const bool *)n->attr && len > 1 ? 1.0f / (float)len : 1.0f;
}

static void pool_forward(const cr_node *n, cr_tile *t) {
    const cr_node *s = n->in[0];
    for (int64_t r = 0, p; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        int64_t end = positions(t, s->axis, r, &p);
        float c = pool_scale(n, end - p);
        memset(y, 0, (size_t)n->width * sizeof(float));
        cr_kern->col_sum(y, cr_val(t, s) + p * cr_ld(s), cr_ld(s), end - p, n->width);
        if (c != 1) cr_kern->scale(y, c, y, n->width);
    }
}

static void pool_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *s = n->in[0];
    bool first = cr_first_grad(t, n, 0);
    float *ds = cr_grad(t, s);
    int64_t lds = cr_ld(s);
    for (int64_t r = 0, p; r < t->n_rows; r++) {
        float *dy = cr_grad(t, n) + r * cr_ld(n);
        int64_t end = positions(t, s->axis, r, &p);
        float c = pool_scale(n, end - p);
        if (c != 1) cr_kern->scale(dy, c, dy, n->width);
        cr_kern->copy_rows(ds + p * lds, lds, dy, 0, end - p, n->width, !first);
    }
}

static cr_node *pool_example(cr_graph *g, int k) {
    return k > 1 ? NULL : cr_seq_pool(g, cr_feed_seq(g, cr_graph_axis(g), k ? 20 : 3), k);
}

const cr_op_type cr_op_seq_pool = {.name = "seq_pool",
                                   .infer = pool_infer,
                                   .forward = pool_forward,
                                   .backward = pool_backward,
                                   .example = pool_example,
                                   .seq = true};

cr_node *cr_seq_pool(cr_graph *g, cr_node *s, bool mean) {
    return cr_graph_op(g, &cr_op_seq_pool, &s, 1, &mean, sizeof(mean));
}

/* ---- softmax over the positions of a row, per column; the last ones may be left out: their share
 * is 0 ---- */

typedef struct shares {
    float scale;
    int64_t leave;
} shares;

/* The positions of row r that take part: [*from, returned); *all receives their real end. */
static int64_t taking_part(const cr_node *n, const cr_tile *t, int64_t r, int64_t *from,
                           int64_t *all) {
    int64_t leave = ((const shares *)n->attr)->leave;
    *all = positions(t, n->axis, r, from);
    return *all - *from > leave ? *all - leave : *from;
}

static void softmax_infer(cr_node *n) {
    if (n->in[0]->cls != CR_SEQ) CR_BUG("softmax: not a sequence");
    cr_infer_rows(n);
    n->width = n->in[0]->width;
}

static void softmax_forward(const cr_node *n, cr_tile *t) {
    float scale = ((const shares *)n->attr)->scale;
    const float *x = cr_val(t, n->in[0]);
    float *y = cr_val(t, n);
    int64_t ld = cr_ld(n);
    for (int64_t r = 0, from, all; r < t->n_rows; r++) {
        int64_t end = taking_part(n, t, r, &from, &all);
        if (end < all) memset(y + end * ld, 0, (size_t)((all - end) * ld) * sizeof(float));
        for (int64_t j = 0; j < n->width; j++) {
            float most = -INFINITY;
            for (int64_t p = from; p < end; p++)
                if (x[p * ld + j] * scale > most) most = x[p * ld + j] * scale;
            for (int64_t p = from; p < end; p++)
                y[p * ld + j] = x[p * ld + j] * scale - most;
        }
        if (ld == n->width)
            cr_kern->exp(y + from * ld, y + from * ld, (end - from) * ld);
        else
            for (int64_t p = from; p < end; p++)
                cr_kern->exp(y + p * ld, y + p * ld, n->width);
        for (int64_t j = 0; j < n->width; j++) {
            float sum = 0;
            for (int64_t p = from; p < end; p++)
                sum += y[p * ld + j];
            for (int64_t p = from; p < end; p++)
                y[p * ld + j] /= sum;
        }
    }
}

static void softmax_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    float scale = ((const shares *)n->attr)->scale;
    const float *y = cr_val(t, n), *dy = cr_grad(t, n);
    float *dx = cr_grad(t, n->in[0]);
    bool first = cr_first_grad(t, n, 0);
    int64_t ld = cr_ld(n);
    for (int64_t r = 0, from, all; r < t->n_rows; r++) {
        int64_t end = taking_part(n, t, r, &from, &all);
        if (first && end < all)
            memset(dx + end * ld, 0, (size_t)((all - end) * ld) * sizeof(float));
        for (int64_t j = 0; j < n->width; j++) {
            float dot = 0;
            for (int64_t p = from; p < end; p++)
                dot += y[p * ld + j] * dy[p * ld + j];
            for (int64_t p = from; p < end; p++) {
                float d = scale * y[p * ld + j] * (dy[p * ld + j] - dot);
                dx[p * ld + j] = first ? d : dx[p * ld + j] + d;
            }
        }
    }
}

static cr_node *softmax_example(cr_graph *g, int k) {
    if (k > 2) return NULL;
    return cr_seq_softmax_but(g, cr_feed_seq(g, cr_graph_axis(g), k ? 3 : 1), k ? 0.5f : 1.0f,
                              k == 2);
}

const cr_op_type cr_op_seq_softmax = {.name = "seq_softmax",
                                      .infer = softmax_infer,
                                      .forward = softmax_forward,
                                      .backward = softmax_backward,
                                      .example = softmax_example,
                                      .keep_val = true,
                                      .seq = true};

cr_node *cr_seq_softmax_but(cr_graph *g, cr_node *x, float scale, int64_t leave) {
    shares s = {scale, leave};
    return cr_graph_op(g, &cr_op_seq_softmax, &x, 1, &s, sizeof(s));
}

cr_node *cr_seq_softmax(cr_graph *g, cr_node *x, float scale) {
    return cr_seq_softmax_but(g, x, scale, 0);
}

/* ---- weigh: sum over a row's positions of a (1) times s (w) ---- */

static void weigh_infer(cr_node *n) {
    const cr_node *a = n->in[0], *s = n->in[1];
    if (a->cls != CR_SEQ || s->cls != CR_SEQ || a->axis != s->axis || a->width != 1)
        CR_BUG("weigh: not a sequence of weights and one of vectors");
    n->cls = CR_ROW;
    n->width = s->width;
}

static void weigh_forward(const cr_node *n, cr_tile *t) {
    const cr_node *a = n->in[0], *s = n->in[1];
    const float *av = cr_val(t, a), *sv = cr_val(t, s);
    int64_t lda = cr_ld(a), lds = cr_ld(s);
    for (int64_t r = 0, p; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        int64_t end = positions(t, s->axis, r, &p);
        memset(y, 0, (size_t)n->width * sizeof(float));
        for (; p < end; p++)
            cr_kern->axpy(y, av[p * lda], sv + p * lds, n->width);
    }
}

static void weigh_backward(const cr_node *n, cr_tile *t) {
    const cr_node *a = n->in[0], *s = n->in[1];
    bool wants_a = cr_wants_grad(t, n, 0), wants_s = cr_wants_grad(t, n, 1);
    bool first_a = cr_first_grad(t, n, 0), first_s = cr_first_grad(t, n, 1);
    const float *av = cr_val(t, a), *sv = cr_val(t, s);
    float *das = wants_a ? cr_grad(t, a) : NULL, *ds = wants_s ? cr_grad(t, s) : NULL;
    int64_t lda = cr_ld(a), lds = cr_ld(s);
    for (int64_t r = 0, p; r < t->n_rows; r++) {
        const float *dy = cr_grad(t, n) + r * cr_ld(n);
        int64_t end = positions(t, s->axis, r, &p);
        for (; p < end; p++) {
            if (das) {
                float *da = das + p * lda, d = cr_kern->dot(dy, sv + p * lds, n->width);
                *da = first_a ? d : *da + d;
            }
            if (ds)
                (first_s ? cr_kern->scale : cr_kern->axpy)(ds + p * lds, av[p * lda], dy, n->width);
        }
    }
}

static cr_node *weigh_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    int axis = cr_graph_axis(g);
    cr_node *s = cr_feed_seq(g, axis, k ? 33 : 4);
    return cr_seq_weigh(g, k ? cr_row_sum(g, s) : cr_feed_seq(g, axis, 1), s);
}

const cr_op_type cr_op_seq_weigh = {.name = "seq_weigh",
                                    .infer = weigh_infer,
                                    .forward = weigh_forward,
                                    .backward = weigh_backward,
                                    .example = weigh_example,
                                    .reads_in = true,
                                    .seq = true};

cr_node *cr_seq_weigh(cr_graph *g, cr_node *a, cr_node *s) {
    return cr_graph_op(g, &cr_op_seq_weigh, (cr_node *[]){a, s}, 2, NULL, 0);
}

/* ---- windows: such a weighted sum over each of a row's windows, divided by the positions in it
 * ---- */

typedef struct windows {
    const int64_t *len;
    int m;
} windows;

static void windows_infer(cr_node *n) {
    weigh_infer(n);
    n->width *= ((const windows *)n->attr)->m;
}

/* Finds window i of a row whose positions end at `end`: [*from, returned); *share receives 1 / its
 * number of positions. */
static int64_t window(const windows *w, int i, int64_t *from, int64_t end, float *share) {
    int64_t to = end - *from < w->len[i] ? end : *from + w->len[i];
    *share = to - *from > 1 ? 1.0f / (float)(to - *from) : 1.0f;
    return to;
}

static void windows_forward(const cr_node *n, cr_tile *t) {
    const windows *w = n->attr;
    const cr_node *a = n->in[0], *s = n->in[1];
    for (int64_t r = 0, p; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n), share;
        int64_t end = positions(t, s->axis, r, &p);
        memset(y, 0, (size_t)n->width * sizeof(float));
        for (int i = 0; i < w->m; i++, y += s->width)
            for (int64_t to = window(w, i, &p, end, &share); p < to; p++)
                cr_kern->axpy(y, share * cr_val(t, a)[p * cr_ld(a)], cr_val(t, s) + p * cr_ld(s),
                              s->width);
    }
}

static void windows_backward(const cr_node *n, cr_tile *t) {
    const windows *w = n->attr;
    const cr_node *a = n->in[0], *s = n->in[1];
    bool wants_a = cr_wants_grad(t, n, 0), wants_s = cr_wants_grad(t, n, 1);
    bool first_a = cr_first_grad(t, n, 0), first_s = cr_first_grad(t, n, 1);
    for (int64_t r = 0, p; r < t->n_rows; r++) {
        const float *dy = cr_grad(t, n) + r * cr_ld(n);
        int64_t end = positions(t, s->axis, r, &p), to = 0;
        float share;
        /* positions behind the last window get the gradient 0 */
        for (int i = 0; i <= w->m; i++, dy += s->width) {
            bool last = i == w->m;
            for (to = last ? end : window(w, i, &p, end, &share); p < to; p++) {
                float c = last ? 0 : share, *da = wants_a ? cr_grad(t, a) + p * cr_ld(a) : NULL;
                float d = last ? 0 : c * cr_kern->dot(dy, cr_val(t, s) + p * cr_ld(s), s->width);
                if (da) *da = first_a ? d : *da + d;
                float *ds = wants_s ? cr_grad(t, s) + p * cr_ld(s) : NULL;
                if (ds && last && first_s) memset(ds, 0, (size_t)s->width * sizeof(float));
                if (ds && !last)
                    (first_s ? cr_kern->scale : cr_kern->axpy)(ds, c * cr_val(t, a)[p * cr_ld(a)],
                                                               dy, s->width);
            }
        }
    }
}

static cr_node *windows_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    static const int64_t len[] = {2, 1, 3};
    int axis = cr_graph_axis(g);
    cr_node *s = cr_feed_seq(g, axis, k ? 21 : 3);
    return cr_seq_windows(g, k ? cr_row_sum(g, s) : cr_feed_seq(g, axis, 1), s, len, 3);
}

const cr_op_type cr_op_seq_windows = {.name = "seq_windows",
                                      .infer = windows_infer,
                                      .forward = windows_forward,
                                      .backward = windows_backward,
                                      .example = windows_example,
                                      .reads_in = true,
                                      .seq = true};

cr_node *cr_seq_windows(cr_graph *g, cr_node *a, cr_node *s, const int64_t *len, int m) {
    int64_t *own = CR_NEW_N(&g->arena, int64_t, m);
    memcpy(own, len, (size_t)m * sizeof(*len));
    windows w = {own, m};
    return cr_graph_op(g, &cr_op_seq_windows, (cr_node *[]){a, s}, 2, &w, sizeof(w));
}
