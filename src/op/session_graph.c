/*
 * session_graph.c - a session as a graph of its items (SR-GNN, Wu et al. 2019): rows of a matrix by
 * number, and messages along the edges of the graph.
 *
 * A position of the session holds the number of its item. Positions with the same number are one
 * node, and two items that follow each other are an edge, which counts once however often it comes.
 * gather: y = row number k of W; a number that W has no row for gives zeros.
 * graph_mix: x = [a; b] at each position, where positions of one node hold the same. y = [mean of a
 * over the nodes with an edge to this one; mean of b over the nodes that this one has an edge to],
 * and zeros where there are none. So the value of a node is read at its first position.
 * The numbers pass no gradient.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

/* ---- gather: W (V, D), k (1) ---- */

enum { IN_W, IN_K };

static void gather_infer(cr_node *n) {
    if (n->in[IN_W]->cls != CR_PARAM || n->in[IN_K]->width != 1) CR_BUG("gather: shapes");
    n->cls = n->in[IN_K]->cls;
    n->axis = n->in[IN_K]->axis;
    n->width = n->in[IN_W]->cols;
}

/* The row of W that a number names; -1: there is none. */
static int64_t row_of(const cr_node *W, float k) {
    return k >= 0 && k < (float)W->rows ? (int64_t)k : -1;
}

static void gather_forward(const cr_node *n, cr_tile *t) {
    const cr_node *W = n->in[IN_W], *k = n->in[IN_K];
    for (int64_t r = 0; r < cr_rows(t, n); r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        int64_t row = row_of(W, cr_val(t, k)[r * cr_ld(k)]);
        if (row < 0)
            memset(y, 0, (size_t)n->width * sizeof(float));
        else
            memcpy(y, W->w + row * W->cols, (size_t)n->width * sizeof(float));
    }
}

static void gather_backward(const cr_node *n, cr_tile *t) {
    const cr_node *W = n->in[IN_W], *k = n->in[IN_K];
    float *dW = cr_param_sum(t, n, IN_W);
    for (int64_t r = 0; dW && r < cr_rows(t, n); r++) {
        int64_t row = row_of(W, cr_val(t, k)[r * cr_ld(k)]);
        if (row >= 0) cr_kern->axpy(dW + row * W->cols, 1, cr_grad(t, n) + r * cr_ld(n), n->width);
    }
}

/* ---- numbers 0, 1, 2, 0, 1, ... per position, for examples ---- */

static void numbers_infer(cr_node *n) {
    n->cls = CR_SEQ;
    n->axis = 0;
    n->width = 1;
}
static void numbers_forward(const cr_node *n, cr_tile *t) {
    const int32_t *off = cr_seq_off(t, n->axis);
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int32_t p = off[r]; p < off[r + 1]; p++) {
            int64_t i = p - off[r];
            cr_val(t, n)[(p - off[0]) * cr_ld(n)] = (float)(i * (i + 1) / 2 % 3);
        }
}
static const cr_op_type numbers = {.name = "numbers",
                                   .infer = numbers_infer,
                                   .forward = numbers_forward,
                                   .seq = true};
static cr_node *example_numbers(cr_graph *g) {
    (void)cr_graph_axis(g);
    return cr_graph_op(g, &numbers, NULL, 0, NULL, 0);
}

static cr_node *gather_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    cr_node *W = cr_graph_param(g, "W", k ? 2 : 4, k ? 17 : 3, true, NULL, 0);
    return cr_gather_rows(g, W, example_numbers(g));
}

const cr_op_type cr_op_gather = {.name = "gather",
                                 .infer = gather_infer,
                                 .forward = gather_forward,
                                 .backward = gather_backward,
                                 .example = gather_example,
                                 .reads_in = true,
                                 .seq = true};

cr_node *cr_gather_rows(cr_graph *g, cr_node *W, cr_node *k) {
    return cr_graph_op(g, &cr_op_gather, (cr_node *[]){W, k}, 2, NULL, 0);
}

/* ---- graph_mix: x (2 H), k (1) ---- */

enum { IN_X };

static void mix_infer(cr_node *n) {
    const cr_node *x = n->in[IN_X], *k = n->in[IN_K];
    if (x->cls != CR_SEQ || k->cls != CR_SEQ || x->axis != k->axis || k->width != 1 ||
        x->width % 2 != 0)
        CR_BUG("graph_mix: shapes");
    n->cls = CR_SEQ;
    n->axis = x->axis;
    n->width = x->width;
}

/* The positions of one row: their numbers, and where they begin in the tile. */
typedef struct session {
    const float *k;
    int64_t ld, from, n;
} session;

static session session_of(const cr_node *n, const cr_tile *t, int64_t r) {
    const cr_node *k = n->in[IN_K];
    const int32_t *off = cr_seq_off(t, n->axis);
    session s = {.ld = cr_ld(k), .from = off[r] - off[0], .n = off[r + 1] - off[r]};
    s.k = cr_val(t, k) + s.from * s.ld;
    return s;
}

static float at(const session *s, int64_t p) {
    return s->k[p * s->ld];
}

static int64_t first_of(const session *s, int64_t p) {
    int64_t q = 0;
    while (at(s, q) != at(s, p))
        q++;
    return q;
}

/* Is the edge from position p to the next one the first of its kind? */
static bool first_edge(const session *s, int64_t p) {
    for (int64_t q = 0; q < p; q++)
        if (at(s, q) == at(s, p) && at(s, q + 1) == at(s, p + 1)) return false;
    return true;
}

/* Finds the next edge at or after *p that ends (out: begins) at the node of position v, and the
 * first position of its other node; false: there is none. */
static bool next_edge(const session *s, int64_t v, bool out, int64_t *p, int64_t *other) {
    for (; *p + 1 < s->n; ++*p) {
        int64_t here = out ? *p : *p + 1, there = out ? *p + 1 : *p;
        if (at(s, here) != at(s, v) || !first_edge(s, *p)) continue;
        *other = first_of(s, there);
        ++*p;
        return true;
    }
    return false;
}

static int64_t degree(const session *s, int64_t v, bool out) {
    int64_t n = 0, p = 0, other;
    while (next_edge(s, v, out, &p, &other))
        n++;
    return n;
}

static void mix_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[IN_X];
    int64_t H = n->width / 2;
    for (int64_t r = 0; r < t->n_rows; r++) {
        session s = session_of(n, t, r);
        for (int64_t v = 0; v < s.n; v++)
            for (int out = 0; out < 2; out++) {
                float *y = cr_val(t, n) + (s.from + v) * cr_ld(n) + out * H;
                int64_t d = degree(&s, v, out), p = 0, other;
                memset(y, 0, (size_t)H * sizeof(float));
                while (next_edge(&s, v, out, &p, &other))
                    cr_kern->axpy(y, 1 / (float)d,
                                  cr_val(t, x) + (s.from + other) * cr_ld(x) + out * H, H);
            }
    }
}

static void mix_backward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[IN_X];
    int64_t H = n->width / 2;
    if (!cr_wants_grad(t, n, IN_X)) return;
    float *dx = cr_grad(t, x);
    if (cr_first_grad(t, n, IN_X))
        memset(dx, 0, (size_t)(cr_rows(t, x) * cr_ld(x)) * sizeof(float));
    for (int64_t r = 0; r < t->n_rows; r++) {
        session s = session_of(n, t, r);
        for (int64_t v = 0; v < s.n; v++)
            for (int out = 0; out < 2; out++) {
                const float *dy = cr_grad(t, n) + (s.from + v) * cr_ld(n) + out * H;
                int64_t d = degree(&s, v, out), p = 0, other;
                while (next_edge(&s, v, out, &p, &other))
                    cr_kern->axpy(dx + (s.from + other) * cr_ld(x) + out * H, 1 / (float)d, dy, H);
            }
    }
}

static cr_node *mix_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    cr_node *k_ = example_numbers(g);
    return cr_graph_mix(g, cr_feed_seq(g, k_->axis, k ? 18 : 4), k_);
}

const cr_op_type cr_op_graph_mix = {.name = "graph_mix",
                                    .infer = mix_infer,
                                    .forward = mix_forward,
                                    .backward = mix_backward,
                                    .example = mix_example,
                                    .reads_in = true,
                                    .seq = true};

cr_node *cr_graph_mix(cr_graph *g, cr_node *x, cr_node *k) {
    return cr_graph_op(g, &cr_op_graph_mix, (cr_node *[]){x, k}, 2, NULL, 0);
}
