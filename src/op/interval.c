/*
 * interval.c - time-interval aware self-attention (TiSASRec, Li et al. 2020): keys and values of a
 * pair of steps get a learned vector of the time between them.
 *
 * A step sees only itself and steps before it. Weights are computed again on the way back: a row of
 * them is cheaper than keeping all.
 */
#include "op/interval.h"

#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

enum { IN_Q, IN_K, IN_V, IN_T, IN_TK, IN_TV };

typedef struct interval {
    int64_t heads, most;
    float scale;
} interval;

static void interval_infer(cr_node *n) {
    const cr_node *q = n->in[IN_Q];
    for (int i = IN_Q; i <= IN_T; i++)
        if (n->in[i]->cls != CR_SEQ || n->in[i]->axis != q->axis ||
            n->in[i]->width != (i == IN_T ? 1 : q->width))
            CR_BUG("seq_interval: not sequences of one axis");
    if (n->in[IN_TK]->cols != q->width || n->in[IN_TV]->cols != q->width ||
        n->in[IN_TK]->rows != n->in[IN_TV]->rows)
        CR_BUG("seq_interval: the vectors of intervals do not fit");
    n->cls = CR_SEQ;
    n->axis = q->axis;
    n->width = q->width;
    n->scratch = 2 * ((const interval *)n->attr)->most;
}

/* What both ways need of one position and head. */
typedef struct at {
    int64_t from, i, d, col; /* the positions [from, i] are seen; the head's columns */
    float scale;
    float *dTK, *dTV; /* on the way back; NULL: they are not wanted */
} at;

static float *row(cr_tile *t, const cr_node *x, int64_t p, const at *a) {
    return cr_val(t, x) + p * cr_ld(x) + a->col;
}

/* The row of the vectors of intervals for positions i and j. */
static int64_t apart(const cr_node *n, cr_tile *t, int64_t i, int64_t j) {
    const cr_node *x = n->in[IN_T];
    int64_t span = n->in[IN_TK]->rows - 1;
    float r = fabsf(cr_val(t, x)[i * cr_ld(x)] - cr_val(t, x)[j * cr_ld(x)]);
    return r < (float)span ? (int64_t)r : span; /* a time that is no number is far away */
}

static const float *part(const cr_node *W, int64_t r, const at *a) {
    return W->w + r * W->cols + a->col;
}

/* Writes the weights of the positions that position i sees. */
static void weigh(const cr_node *n, cr_tile *t, const at *a, float *w) {
    const float *q = row(t, n->in[IN_Q], a->i, a);
    int64_t m = a->i - a->from + 1;
    float most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < m; j++) {
        const float *tk = part(n->in[IN_TK], apart(n, t, a->i, a->from + j), a);
        w[j] = a->scale * (cr_kern->dot(q, row(t, n->in[IN_K], a->from + j, a), a->d) +
                           cr_kern->dot(q, tk, a->d));
        if (w[j] > most) most = w[j];
    }
    for (int64_t j = 0; j < m; j++) {
        w[j] = expf(w[j] - most);
        sum += w[j];
    }
    for (int64_t j = 0; j < m; j++)
        w[j] /= sum;
}

/* Calls fn for each position and head. */
static void each_head(const cr_node *n, cr_tile *t, float *dTK, float *dTV,
                      void (*fn)(const cr_node *n, cr_tile *t, const at *a)) {
    const interval *o = n->attr;
    const int32_t *off = cr_seq_off(t, n->axis);
    int64_t d = n->width / o->heads;
    for (int64_t r = 0; r < t->n_rows; r++) {
        int64_t first = off[r] - off[0], end = off[r + 1] - off[0];
        for (int64_t i = first; i < end; i++)
            for (int64_t h = 0; h < o->heads; h++) {
                at a = {
                    i - first < o->most ? first : i - o->most + 1, i, d, h * d, o->scale, dTK, dTV};
                fn(n, t, &a);
            }
    }
}

static void look(const cr_node *n, cr_tile *t, const at *a) {
    float *w = t->scratch, *y = row(t, n, a->i, a);
    weigh(n, t, a, w);
    memset(y, 0, (size_t)a->d * sizeof(float));
    for (int64_t j = a->from; j <= a->i; j++) {
        cr_kern->axpy(y, w[j - a->from], row(t, n->in[IN_V], j, a), a->d);
        cr_kern->axpy(y, w[j - a->from], part(n->in[IN_TV], apart(n, t, a->i, j), a), a->d);
    }
}

static void interval_forward(const cr_node *n, cr_tile *t) {
    each_head(n, t, NULL, NULL, look);
}

static float *slope(cr_tile *t, const cr_node *n, int in, int64_t p, const at *a) {
    const cr_node *x = n->in[in];
    return cr_wants_grad(t, n, in) ? cr_grad(t, x) + p * cr_ld(x) + a->col : NULL;
}

static void look_back(const cr_node *n, cr_tile *t, const at *a) {
    float *w = t->scratch, *dw = w + ((const interval *)n->attr)->most, dot = 0;
    const float *dy = cr_grad(t, n) + a->i * cr_ld(n) + a->col, *q = row(t, n->in[IN_Q], a->i, a);
    float *dTK = a->dTK, *dTV = a->dTV;
    float *dq = slope(t, n, IN_Q, a->i, a);
    weigh(n, t, a, w);
    for (int64_t j = a->from; j <= a->i; j++) {
        const float *tv = part(n->in[IN_TV], apart(n, t, a->i, j), a);
        dw[j - a->from] =
            cr_kern->dot(dy, row(t, n->in[IN_V], j, a), a->d) + cr_kern->dot(dy, tv, a->d);
        dot += w[j - a->from] * dw[j - a->from];
    }
    for (int64_t j = a->from; j <= a->i; j++) {
        int64_t r = apart(n, t, a->i, j);
        float p = w[j - a->from], ds = a->scale * p * (dw[j - a->from] - dot);
        float *dk = slope(t, n, IN_K, j, a), *dv = slope(t, n, IN_V, j, a);
        if (dq) {
            cr_kern->axpy(dq, ds, row(t, n->in[IN_K], j, a), a->d);
            cr_kern->axpy(dq, ds, part(n->in[IN_TK], r, a), a->d);
        }
        if (dk) cr_kern->axpy(dk, ds, q, a->d);
        if (dv) cr_kern->axpy(dv, p, dy, a->d);
        if (dTK) cr_kern->axpy(dTK + r * n->width + a->col, ds, q, a->d);
        if (dTV) cr_kern->axpy(dTV + r * n->width + a->col, p, dy, a->d);
    }
}

static void interval_backward(const cr_node *n, cr_tile *t) {
    for (int i = IN_Q; i <= IN_V; i++)
        if (cr_wants_grad(t, n, i) && cr_first_grad(t, n, i))
            memset(cr_grad(t, n->in[i]), 0,
                   (size_t)(cr_rows(t, n->in[i]) * cr_ld(n->in[i])) * sizeof(float));
    /* the first call in a lane clears these sums, so there is one call for all positions */
    float *dTK = cr_param_sum(t, n, IN_TK), *dTV = cr_param_sum(t, n, IN_TV);
    each_head(n, t, dTK, dTV, look_back);
}

static cr_node *interval_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    int axis = cr_graph_axis(g);
    int64_t D = k ? 18 : 4;
    cr_node *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = cr_feed_seq(g, axis, D);
    cr_node *TK = cr_graph_param(g, "TK", 3, D, true, NULL, 0);
    cr_node *TV = cr_graph_param(g, "TV", 3, D, true, NULL, 0);
    return cr_seq_interval(g, x[0], x[1], x[2], cr_example_numbers(g, axis, 5), TK, TV, k ? 2 : 1,
                           k ? 9 : 4, 0.7f);
}

const cr_op_type cr_op_seq_interval = {.name = "seq_interval",
                                       .infer = interval_infer,
                                       .forward = interval_forward,
                                       .backward = interval_backward,
                                       .example = interval_example,
                                       .reads_in = true,
                                       .seq = true};

cr_node *cr_seq_interval(cr_graph *g, cr_node *q, cr_node *k, cr_node *v, cr_node *t, cr_node *TK,
                         cr_node *TV, int64_t H, int64_t most, float scale) {
    interval o = {H, most, scale};
    return cr_graph_op(g, &cr_op_seq_interval, (cr_node *[]){q, k, v, t, TK, TV}, 6, &o, sizeof(o));
}
