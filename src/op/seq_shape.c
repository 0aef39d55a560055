/*
 * seq_shape.c - sequences in other shapes: the last or the largest value of a row's positions, the
 * first positions side by side as one row, each position with its neighbours, and a loss that
 * compares a position with the next one.
 *
 * A row without positions gives zeros. Neighbours outside of the row are zeros.
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

/* The gradient of input i, cleared at its first use; NULL: not wanted. */
static float *cleared(const cr_node *n, const cr_tile *t, int i) {
    if (!cr_wants_grad(t, n, i)) return NULL;
    float *d = cr_grad(t, n->in[i]);
    if (cr_first_grad(t, n, i))
        memset(d, 0, (size_t)(cr_rows(t, n->in[i]) * cr_ld(n->in[i])) * sizeof(float));
    return d;
}

/* ---- end: the last position of a row, or the largest value in each column ---- */

static void end_infer(cr_node *n) {
    if (n->in[0]->cls != CR_SEQ) CR_BUG("seq_end: not a sequence");
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
}

/* The position that column j of the row takes: the first of those with the largest value. */
static int64_t taken(const float *x, int64_t ld, int64_t from, int64_t end, int64_t j,
                     bool largest) {
    int64_t at = largest ? from : end - 1;
    for (int64_t p = from + 1; largest && p < end; p++)
        if (x[p * ld + j] > x[at * ld + j]) at = p;
    return at;
}

static void end_forward(const cr_node *n, cr_tile *t) {
    const cr_node *s = n->in[0];
    const float *x = cr_val(t, s);
    bool largest = *(const bool *)n->attr;
    for (int64_t r = 0, from; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        int64_t end = positions(t, s->axis, r, &from), ld = cr_ld(s);
        for (int64_t j = 0; j < n->width; j++)
            y[j] = end > from ? x[taken(x, ld, from, end, j, largest) * ld + j] : 0;
    }
}

static void end_backward(const cr_node *n, cr_tile *t) {
    const cr_node *s = n->in[0];
    const float *x = cr_val(t, s);
    bool largest = *(const bool *)n->attr;
    float *dx = cleared(n, t, 0);
    for (int64_t r = 0, from; dx && r < t->n_rows; r++) {
        const float *dy = cr_grad(t, n) + r * cr_ld(n);
        int64_t end = positions(t, s->axis, r, &from), ld = cr_ld(s);
        for (int64_t j = 0; end > from && j < n->width; j++)
            dx[taken(x, ld, from, end, j, largest) * ld + j] += dy[j];
    }
}

static cr_node *end_example(cr_graph *g, int k) {
    return k > 1 ? NULL : cr_seq_end(g, cr_feed_seq(g, cr_graph_axis(g), k ? 19 : 3), k == 1);
}

const cr_op_type cr_op_seq_end = {.name = "seq_end",
                                  .infer = end_infer,
                                  .forward = end_forward,
                                  .backward = end_backward,
                                  .example = end_example,
                                  .reads_in = true,
                                  .seq = true};

cr_node *cr_seq_end(cr_graph *g, cr_node *s, bool largest) {
    return cr_graph_op(g, &cr_op_seq_end, &s, 1, &largest, sizeof(largest));
}

/* ---- row: the first positions of a row side by side, zeros behind them ---- */

static void row_infer(cr_node *n) {
    if (n->in[0]->cls != CR_SEQ) CR_BUG("seq_row: not a sequence");
    n->cls = CR_ROW;
    n->width = n->in[0]->width * *(const int64_t *)n->attr;
}

static void row_forward(const cr_node *n, cr_tile *t) {
    const cr_node *s = n->in[0];
    int64_t steps = *(const int64_t *)n->attr, w = s->width;
    for (int64_t r = 0, p; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        int64_t end = positions(t, s->axis, r, &p), m = end - p < steps ? end - p : steps;
        for (int64_t i = 0; i < m; i++)
            memcpy(y + i * w, cr_val(t, s) + (p + i) * cr_ld(s), (size_t)w * sizeof(float));
        memset(y + m * w, 0, (size_t)((steps - m) * w) * sizeof(float));
    }
}

static void row_backward(const cr_node *n, cr_tile *t) {
    const cr_node *s = n->in[0];
    int64_t steps = *(const int64_t *)n->attr, w = s->width;
    float *dx = cleared(n, t, 0);
    for (int64_t r = 0, p; dx && r < t->n_rows; r++) {
        const float *dy = cr_grad(t, n) + r * cr_ld(n);
        int64_t end = positions(t, s->axis, r, &p), m = end - p < steps ? end - p : steps;
        for (int64_t i = 0; i < m; i++)
            cr_kern->axpy(dx + (p + i) * cr_ld(s), 1, dy + i * w, w);
    }
}

static cr_node *row_example(cr_graph *g, int k) {
    return k > 1 ? NULL : cr_seq_row(g, cr_feed_seq(g, cr_graph_axis(g), k ? 17 : 3), k ? 9 : 2);
}

const cr_op_type cr_op_seq_row = {.name = "seq_row",
                                  .infer = row_infer,
                                  .forward = row_forward,
                                  .backward = row_backward,
                                  .example = row_example,
                                  .seq = true};

cr_node *cr_seq_row(cr_graph *g, cr_node *s, int64_t steps) {
    return cr_graph_op(g, &cr_op_seq_row, &s, 1, &steps, sizeof(steps));
}

/* ---- near: each position with its neighbours, from `first` to first + n - 1 away ---- */

typedef struct near {
    int64_t first, n;
} near;

static void near_infer(cr_node *n) {
    if (n->in[0]->cls != CR_SEQ) CR_BUG("seq_near: not a sequence");
    n->cls = CR_SEQ;
    n->axis = n->in[0]->axis;
    n->width = n->in[0]->width * ((const near *)n->attr)->n;
}

static void near_forward(const cr_node *n, cr_tile *t) {
    const near *a = n->attr;
    const cr_node *s = n->in[0];
    int64_t w = s->width;
    for (int64_t r = 0, from; r < t->n_rows; r++) {
        int64_t end = positions(t, s->axis, r, &from);
        for (int64_t p = from; p < end; p++)
            for (int64_t i = 0, q = p + a->first; i < a->n; i++, q++) {
                float *y = cr_val(t, n) + p * cr_ld(n) + i * w;
                if (q >= from && q < end)
                    memcpy(y, cr_val(t, s) + q * cr_ld(s), (size_t)w * sizeof(float));
                else
                    memset(y, 0, (size_t)w * sizeof(float));
            }
    }
}

static void near_backward(const cr_node *n, cr_tile *t) {
    const near *a = n->attr;
    const cr_node *s = n->in[0];
    int64_t w = s->width;
    float *dx = cleared(n, t, 0);
    for (int64_t r = 0, from; dx && r < t->n_rows; r++) {
        int64_t end = positions(t, s->axis, r, &from);
        for (int64_t p = from; p < end; p++)
            for (int64_t i = 0, q = p + a->first; i < a->n; i++, q++)
                if (q >= from && q < end)
                    cr_kern->axpy(dx + q * cr_ld(s), 1, cr_grad(t, n) + p * cr_ld(n) + i * w, w);
    }
}

static cr_node *near_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    return cr_seq_near(g, cr_feed_seq(g, cr_graph_axis(g), k ? 18 : 2), k ? 0 : -1, k ? 2 : 3);
}

const cr_op_type cr_op_seq_near = {.name = "seq_near",
                                   .infer = near_infer,
                                   .forward = near_forward,
                                   .backward = near_backward,
                                   .example = near_example,
                                   .seq = true};

cr_node *cr_seq_near(cr_graph *g, cr_node *s, int64_t first, int64_t n) {
    near a = {first, n};
    return cr_graph_op(g, &cr_op_seq_near, &s, 1, &a, sizeof(a));
}

/* ---- next: how badly each state tells its next position from another one ---- */

static void next_infer(cr_node *n) {
    const cr_node *h = n->in[0];
    for (int i = 0; i < 3; i++)
        if (n->in[i]->cls != CR_SEQ || n->in[i]->axis != h->axis || n->in[i]->width != h->width)
            CR_BUG("seq_next: sequences do not fit");
    n->cls = CR_ROW;
    n->width = 1;
}

static void next_forward(const cr_node *n, cr_tile *t) {
    const cr_node *h = n->in[0];
    for (int64_t r = 0, p; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        int64_t end = positions(t, h->axis, r, &p);
        double sum = 0; /* of many positions */
        for (; p + 1 < end; p++)
            for (int i = 1; i < 3; i++) {
                float z = cr_kern->dot(cr_val(t, h) + p * cr_ld(h),
                                       cr_val(t, n->in[i]) + (p + 1) * cr_ld(n->in[i]), h->width);
                if (i == 1) z = -z;
                cr_kern->softplus(&z, &z, 1, INFINITY, 1);
                sum += (double)z;
            }
        *y = (float)sum;
    }
}

static void next_backward(const cr_node *n, cr_tile *t) {
    const cr_node *h = n->in[0];
    float *d[3];
    for (int i = 0; i < 3; i++)
        d[i] = cleared(n, t, i);
    for (int64_t r = 0, p; r < t->n_rows; r++) {
        float dy = cr_grad(t, n)[r * cr_ld(n)];
        for (int64_t end = positions(t, h->axis, r, &p); p + 1 < end; p++)
            for (int i = 1; i < 3; i++) {
                const float *a = cr_val(t, h) + p * cr_ld(h);
                const float *b = cr_val(t, n->in[i]) + (p + 1) * cr_ld(n->in[i]);
                float z = cr_kern->dot(a, b, h->width);
                if (i == 1) z = -z;
                cr_kern->sigmoid(&z, &z, 1);
                float slope = i == 1 ? -dy * z : dy * z;
                if (d[0]) cr_kern->axpy(d[0] + p * cr_ld(h), slope, b, h->width);
                if (d[i]) cr_kern->axpy(d[i] + (p + 1) * cr_ld(n->in[i]), slope, a, h->width);
            }
    }
}

static cr_node *next_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    int axis = cr_graph_axis(g);
    return cr_seq_next(g, cr_feed_seq(g, axis, 5), cr_feed_seq(g, axis, 5),
                       cr_feed_seq(g, axis, 5));
}

const cr_op_type cr_op_seq_next = {.name = "seq_next",
                                   .infer = next_infer,
                                   .forward = next_forward,
                                   .backward = next_backward,
                                   .example = next_example,
                                   .reads_in = true,
                                   .seq = true};

cr_node *cr_seq_next(cr_graph *g, cr_node *h, cr_node *e, cr_node *other) {
    return cr_graph_op(g, &cr_op_seq_next, (cr_node *[]){h, e, other}, 3, NULL, 0);
}
