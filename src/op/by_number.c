/*
 * by_number.c - choices by numbers that the data gives: steps at the places that a second sequence
 * names, the means of the steps with each number, and of a row's columns those that a sequence
 * names.
 *
 * take:  y_j = s_k with k = k_j, the number of a position of the same row, from 0; a number without
 *        a position gives zeros.
 * mean:  y_j = the mean of the s_i whose number is k_j; zeros when there are none.
 * among: y_c = x_c where c is one of the row's numbers, else a constant; a row without numbers
 *        keeps all of its columns.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

/* ---- whole numbers 0, 1, 3, 6, ... modulo m at the positions of an axis, for examples ---- */

typedef struct counted {
    int axis;
    int64_t m;
} counted;

static void counted_infer(cr_node *n) {
    n->cls = CR_SEQ;
    n->axis = ((const counted *)n->attr)->axis;
    n->width = 1;
}
static void counted_forward(const cr_node *n, cr_tile *t) {
    const int32_t *off = cr_seq_off(t, n->axis);
    int64_t m = ((const counted *)n->attr)->m;
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int32_t p = off[r]; p < off[r + 1]; p++) {
            int64_t i = p - off[r];
            cr_val(t, n)[(p - off[0]) * cr_ld(n)] = (float)(i * (i + 1) / 2 % m);
        }
}
static const cr_op_type counted_op = {.name = "counted",
                                      .infer = counted_infer,
                                      .forward = counted_forward,
                                      .seq = true};

cr_node *cr_example_numbers(cr_graph *g, int axis, int64_t m) {
    counted c = {axis, m};
    return cr_graph_op(g, &counted_op, NULL, 0, &c, sizeof(c));
}

/* ---- take: s (w), k (1) of another axis ---- */

enum { IN_S, IN_K };

static void take_infer(cr_node *n) {
    if (n->in[IN_S]->cls != CR_SEQ || n->in[IN_K]->cls != CR_SEQ || n->in[IN_K]->width != 1)
        CR_BUG("seq_take: not a sequence and one of numbers");
    n->cls = CR_SEQ;
    n->axis = n->in[IN_K]->axis;
    n->width = n->in[IN_S]->width;
}

/* Calls fn for each position q of the numbers with the position p of the steps that it names; p is
 * -1 when there is none. */
static void each_taken(const cr_node *n, cr_tile *t, void (*fn)(float *to, float *from, int64_t w),
                       float *to, float *from) {
    const cr_node *s = n->in[IN_S], *k = n->in[IN_K];
    const int32_t *so = cr_seq_off(t, s->axis), *ko = cr_seq_off(t, k->axis);
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int32_t q = ko[r] - ko[0]; q < ko[r + 1] - ko[0]; q++) {
            float place = cr_val(t, k)[q * cr_ld(k)];
            bool there = place >= 0 && place < (float)(so[r + 1] - so[r]);
            int64_t p = there ? so[r] - so[0] + (int64_t)place : -1;
            fn(to + q * cr_ld(n), p < 0 ? NULL : from + p * cr_ld(s), n->width);
        }
}

static void copy_step(float *to, float *from, int64_t w) {
    if (from)
        memcpy(to, from, (size_t)w * sizeof(float));
    else
        memset(to, 0, (size_t)w * sizeof(float));
}

static void add_back(float *dy, float *ds, int64_t w) {
    if (ds) cr_kern->axpy(ds, 1, dy, w);
}

static void take_forward(const cr_node *n, cr_tile *t) {
    each_taken(n, t, copy_step, cr_val(t, n), cr_val(t, n->in[IN_S]));
}

static void take_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, IN_S)) return;
    const cr_node *s = n->in[IN_S];
    if (cr_first_grad(t, n, IN_S))
        memset(cr_grad(t, s), 0, (size_t)(cr_rows(t, s) * cr_ld(s)) * sizeof(float));
    each_taken(n, t, add_back, cr_grad(t, n), cr_grad(t, s));
}

static cr_node *take_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    int steps = cr_graph_axis(g), places = cr_graph_axis(g);
    return cr_seq_take(g, cr_feed_seq(g, steps, k ? 17 : 3), cr_example_numbers(g, places, 4));
}

const cr_op_type cr_op_seq_take = {.name = "seq_take",
                                   .infer = take_infer,
                                   .forward = take_forward,
                                   .backward = take_backward,
                                   .example = take_example,
                                   .reads_in = true,
                                   .seq = true};

cr_node *cr_seq_take(cr_graph *g, cr_node *s, cr_node *k) {
    return cr_graph_op(g, &cr_op_seq_take, (cr_node *[]){s, k}, 2, NULL, 0);
}

/* ---- mean: s (w) and its numbers (1), k (1) of another axis ---- */

enum { IN_OF = 1, IN_TO };

static void mean_infer(cr_node *n) {
    const cr_node *s = n->in[IN_S], *of = n->in[IN_OF], *k = n->in[IN_TO];
    if (s->cls != CR_SEQ || of->cls != CR_SEQ || of->axis != s->axis || of->width != 1 ||
        k->cls != CR_SEQ || k->width != 1)
        CR_BUG("seq_mean_by: not a sequence with numbers, and one of numbers");
    n->cls = CR_SEQ;
    n->axis = k->axis;
    n->width = s->width;
}

/* Calls fn for each position q of the numbers and each step p with the same number; share is 1 by
 * how many such steps there are. */
static void each_member(const cr_node *n, cr_tile *t,
                        void (*fn)(const cr_node *n, cr_tile *t, int64_t q, int64_t p,
                                   float share)) {
    const cr_node *of = n->in[IN_OF], *k = n->in[IN_TO];
    const int32_t *so = cr_seq_off(t, of->axis), *ko = cr_seq_off(t, k->axis);
    const float *number = cr_val(t, of);
    for (int64_t r = 0; r < t->n_rows; r++)
        for (int64_t q = ko[r] - ko[0]; q < ko[r + 1] - ko[0]; q++) {
            float here = cr_val(t, k)[q * cr_ld(k)];
            int64_t from = so[r] - so[0], end = so[r + 1] - so[0], members = 0;
            for (int64_t p = from; p < end; p++)
                members += number[p * cr_ld(of)] == here;
            for (int64_t p = from; p < end; p++)
                if (number[p * cr_ld(of)] == here) fn(n, t, q, p, 1 / (float)members);
        }
}

static void mean_add(const cr_node *n, cr_tile *t, int64_t q, int64_t p, float share) {
    const cr_node *s = n->in[IN_S];
    cr_kern->axpy(cr_val(t, n) + q * cr_ld(n), share, cr_val(t, s) + p * cr_ld(s), n->width);
}

static void mean_add_back(const cr_node *n, cr_tile *t, int64_t q, int64_t p, float share) {
    const cr_node *s = n->in[IN_S];
    cr_kern->axpy(cr_grad(t, s) + p * cr_ld(s), share, cr_grad(t, n) + q * cr_ld(n), n->width);
}

static void mean_forward(const cr_node *n, cr_tile *t) {
    memset(cr_val(t, n), 0, (size_t)(cr_rows(t, n) * cr_ld(n)) * sizeof(float));
    each_member(n, t, mean_add);
}

static void mean_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, IN_S)) return;
    const cr_node *s = n->in[IN_S];
    if (cr_first_grad(t, n, IN_S))
        memset(cr_grad(t, s), 0, (size_t)(cr_rows(t, s) * cr_ld(s)) * sizeof(float));
    each_member(n, t, mean_add_back);
}

static cr_node *mean_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    int steps = cr_graph_axis(g), groups = cr_graph_axis(g);
    return cr_seq_mean_by(g, cr_feed_seq(g, steps, k ? 17 : 3), cr_example_numbers(g, steps, 3),
                          cr_example_numbers(g, groups, 4));
}

const cr_op_type cr_op_seq_mean_by = {.name = "seq_mean_by",
                                      .infer = mean_infer,
                                      .forward = mean_forward,
                                      .backward = mean_backward,
                                      .example = mean_example,
                                      .reads_in = true,
                                      .seq = true};

cr_node *cr_seq_mean_by(cr_graph *g, cr_node *s, cr_node *of, cr_node *k) {
    return cr_graph_op(g, &cr_op_seq_mean_by, (cr_node *[]){s, of, k}, 3, NULL, 0);
}

/* ---- among: x (K) of a row, c (1) of its positions ---- */

static void among_infer(cr_node *n) {
    if (n->in[0]->cls != CR_ROW || n->in[1]->cls != CR_SEQ || n->in[1]->width != 1)
        CR_BUG("among: not a row and a sequence of numbers");
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
}

/* The columns of row r that its numbers name, from x to y; without numbers all of them. */
static void keep_named(const cr_node *n, const cr_tile *t, int64_t r, float *y, const float *x) {
    const cr_node *c = n->in[1];
    const int32_t *off = cr_seq_off(t, c->axis);
    if (off[r] == off[r + 1]) memcpy(y, x, (size_t)n->width * sizeof(float));
    for (int32_t p = off[r] - off[0]; p < off[r + 1] - off[0]; p++) {
        float k = cr_val(t, c)[p * cr_ld(c)];
        if (k >= 0 && k < (float)n->width) y[(int64_t)k] = x[(int64_t)k];
    }
}

static void among_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    float others = *(const float *)n->attr;
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        for (int64_t k = 0; k < n->width; k++)
            y[k] = others;
        keep_named(n, t, r, y, cr_val(t, x) + r * cr_ld(x));
    }
}

static void among_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *x = n->in[0];
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *dx = cr_grad(t, x) + r * cr_ld(x), *d = first ? dx : t->scratch;
        memset(d, 0, (size_t)n->width * sizeof(float));
        keep_named(n, t, r, d, cr_grad(t, n) + r * cr_ld(n));
        if (!first) cr_kern->axpy(dx, 1, d, n->width);
    }
}

static void among_infer_scratch(cr_node *n) {
    among_infer(n);
    n->scratch = n->width;
}

static cr_node *among_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    cr_node *x = cr_feed(g, k ? 17 : 3);
    cr_node *y = cr_among(g, x, cr_example_numbers(g, cr_graph_axis(g), 5), -2);
    return k ? cr_add(g, (cr_node *[]){x, y}, (float[]){1, 1}, 2) : y;
}

const cr_op_type cr_op_among = {.name = "among",
                                .infer = among_infer_scratch,
                                .forward = among_forward,
                                .backward = among_backward,
                                .example = among_example,
                                .reads_in = true,
                                .seq = true};

cr_node *cr_among(cr_graph *g, cr_node *x, cr_node *c, float others) {
    return cr_graph_op(g, &cr_op_among, (cr_node *[]){x, c}, 2, &others, sizeof(others));
}
