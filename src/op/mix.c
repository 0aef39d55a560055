/*
 * mix.c - ops of multi-task models: mix the vectors of experts by a gate, pick one of several
 * vectors by a number in the row, stop a gradient, join two logits into one, compare two nets.
 *
 * both: with p = sigmoid(a) and q = sigmoid(b) the logit of p q is -log(e^-a + e^-b + e^-(a+b)),
 * which stays exact where 1 - p q would lose its digits; so a joint probability is trained and
 * measured like any other score.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/input.h"
#include "op/loss_int.h"
#include "op/op.h"

static const float *row_of(const cr_tile *t, const cr_node *n, int64_t r) {
    return cr_val(t, n) + r * cr_ld(n);
}
static float *grad_of(const cr_tile *t, const cr_node *n, int64_t r) {
    return cr_grad(t, n) + r * cr_ld(n);
}

/* ---- mix: inputs gate (E), then E vectors (w) -> w ---- */

static void same_widths(cr_node *n) {
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i]->width != n->in[1]->width) CR_BUG("mix, pick: widths differ");
    n->cls = CR_ROW;
    n->width = n->in[1]->width;
}

static void mix_infer(cr_node *n) {
    if (n->in[0]->width != n->n_in - 1) CR_BUG("mix: the gate has not one weight per vector");
    same_widths(n);
}

static void mix_forward(const cr_node *n, cr_tile *t) {
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *gate = row_of(t, n->in[0], r);
        float *y = cr_val(t, n) + r * cr_ld(n);
        cr_kern->scale(y, gate[0], row_of(t, n->in[1], r), n->width);
        for (int i = 2; i < n->n_in; i++)
            cr_kern->axpy(y, gate[i - 1], row_of(t, n->in[i], r), n->width);
    }
}

static void mix_backward(const cr_node *n, cr_tile *t) {
    bool wants_gate = cr_wants_grad(t, n, 0), first_gate = cr_first_grad(t, n, 0);
    for (int i = 1; i < n->n_in; i++) {
        const cr_node *x = n->in[i];
        bool wants = cr_wants_grad(t, n, i), first = cr_first_grad(t, n, i);
        for (int64_t r = 0; r < t->n_rows; r++) {
            const float *d = cr_grad(t, n) + r * cr_ld(n);
            if (wants_gate) {
                float s = cr_kern->dot(d, row_of(t, x, r), n->width),
                      *to = grad_of(t, n->in[0], r) + i - 1;
                *to = first_gate ? s : *to + s;
            }
            if (!wants) continue;
            float w = row_of(t, n->in[0], r)[i - 1];
            if (first)
                cr_kern->scale(grad_of(t, x, r), w, d, n->width);
            else
                cr_kern->axpy(grad_of(t, x, r), w, d, n->width);
        }
    }
}

static cr_node *mix_example(cr_graph *g, int k) {
    switch (k) {
    case 0: return cr_mix(g, cr_feed(g, 2), (cr_node *[]){cr_feed(g, 7), cr_feed(g, 7)}, 2);
    case 1: return cr_mix(g, cr_feed(g, 1), (cr_node *[]){cr_feed(g, 5)}, 1);
    case 2: {
        cr_node *x = cr_feed(g, 18), *y = cr_feed(g, 18), *gate = cr_softmax(g, cr_feed(g, 3), 1);
        return cr_concat(g, (cr_node *[]){cr_mix(g, gate, (cr_node *[]){x, y, x}, 3), gate, x}, 3);
    }
    default: return NULL;
    }
}

const cr_op_type cr_op_mix = {.name = "mix",
                              .infer = mix_infer,
                              .forward = mix_forward,
                              .backward = mix_backward,
                              .example = mix_example,
                              .reads_in = true};

static cr_node *with_list(cr_graph *g, const cr_op_type *op, cr_node *first, cr_node *const *x,
                          int n) {
    cr_node **in = CR_NEW_N(&g->arena, cr_node *, n + 1);
    in[0] = first;
    memcpy(in + 1, x, (size_t)n * sizeof(*x));
    return cr_graph_op(g, op, in, n + 1, NULL, 0);
}

cr_node *cr_mix(cr_graph *g, cr_node *gate, cr_node *const *x, int n) {
    return with_list(g, &cr_op_mix, gate, x, n);
}

/* ---- pick: inputs k (1) without gradient, then n vectors (w) -> vector number k ---- */

static int picked(const cr_node *n, const cr_tile *t, int64_t r) {
    float k = *row_of(t, n->in[0], r);
    return !(k > 0) ? 1 : k >= (float)(n->n_in - 1) ? n->n_in - 1 : 1 + (int)k;
}

static void pick_forward(const cr_node *n, cr_tile *t) {
    for (int64_t r = 0; r < t->n_rows; r++)
        memcpy(cr_val(t, n) + r * cr_ld(n), row_of(t, n->in[picked(n, t, r)], r),
               (size_t)n->width * sizeof(float));
}

static void pick_backward(const cr_node *n, cr_tile *t) {
    for (int i = 1; i < n->n_in; i++) {
        if (!cr_wants_grad(t, n, i)) continue;
        bool first = cr_first_grad(t, n, i);
        for (int64_t r = 0; r < t->n_rows; r++) {
            float *to = grad_of(t, n->in[i], r);
            if (picked(n, t, r) == i)
                cr_kern->copy_rows(to, n->width, cr_grad(t, n) + r * cr_ld(n), n->width, 1,
                                   n->width, !first);
            else if (first)
                memset(to, 0, (size_t)n->width * sizeof(float));
        }
    }
}

static cr_node *pick_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *x = cr_feed(g, 3), *y = cr_feed(g, 3);
    cr_node *p = cr_pick(g, cr_example_labels(g, 3), (cr_node *[]){x, y, x}, 3);
    return cr_concat(g, (cr_node *[]){p, x}, 2);
}

const cr_op_type cr_op_pick = {.name = "pick",
                               .infer = same_widths,
                               .forward = pick_forward,
                               .backward = pick_backward,
                               .example = pick_example,
                               .reads_in = true};

cr_node *cr_pick(cr_graph *g, cr_node *k, cr_node *const *x, int n) {
    return with_list(g, &cr_op_pick, k, x, n);
}

/* ---- detach: x, through which no gradient passes ---- */

static void detach_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
}

static void detach_forward(const cr_node *n, cr_tile *t) {
    cr_kern->copy_rows(cr_val(t, n), cr_ld(n), cr_val(t, n->in[0]), cr_ld(n->in[0]), t->n_rows,
                       n->width, false);
}

const cr_op_type cr_op_detach = {.name = "detach",
                                 .infer = detach_infer,
                                 .forward = detach_forward};

cr_node *cr_detach(cr_graph *g, cr_node *x) {
    return cr_graph_op(g, &cr_op_detach, &x, 1, NULL, 0);
}

/* ---- both: the logit of sigmoid(a) sigmoid(b) ---- */

static void both_infer(cr_node *n) {
    if (n->in[0]->width != 1 || n->in[1]->width != 1) CR_BUG("both: needs two logits");
    n->cls = CR_ROW;
    n->width = 1;
}

/* Writes e^-a, e^-b and e^-(a+b), each divided by the greatest of them; returns that one's
 * exponent. */
static float parts_of(float a, float b, float e[3]) {
    float x[3] = {-a, -b, -a - b}, max = fmaxf(fmaxf(x[0], x[1]), x[2]);
    for (int i = 0; i < 3; i++)
        e[i] = expf(x[i] - max);
    return max;
}

static void both_forward(const cr_node *n, cr_tile *t) {
    for (int64_t r = 0; r < t->n_rows; r++) {
        float e[3], max = parts_of(*row_of(t, n->in[0], r), *row_of(t, n->in[1], r), e);
        cr_val(t, n)[r * cr_ld(n)] = -max - logf(e[0] + e[1] + e[2]);
    }
}

static void both_backward(const cr_node *n, cr_tile *t) {
    for (int64_t r = 0; r < t->n_rows; r++) {
        float e[3], d = cr_grad(t, n)[r * cr_ld(n)];
        (void)parts_of(*row_of(t, n->in[0], r), *row_of(t, n->in[1], r), e);
        for (int i = 0; i < 2; i++) {
            if (!cr_wants_grad(t, n, i)) continue;
            float g = d * (e[i] + e[2]) / (e[0] + e[1] + e[2]), *to = grad_of(t, n->in[i], r);
            *to = cr_first_grad(t, n, i) ? g : *to + g;
        }
    }
}

static cr_node *both_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    cr_node *a = cr_feed(g, 1);
    return cr_both(g, a, k ? a : cr_feed(g, 1));
}

const cr_op_type cr_op_both = {.name = "both",
                               .infer = both_infer,
                               .forward = both_forward,
                               .backward = both_backward,
                               .example = both_example,
                               .reads_in = true};

cr_node *cr_both(cr_graph *g, cr_node *a, cr_node *b) {
    return cr_graph_op(g, &cr_op_both, (cr_node *[]){a, b}, 2, NULL, 0);
}

/* ---- cosine of two vectors; torch's normalize divides by at least 1e-12 ---- */

#define LEAST_NORM 1e-12f

static void cosine_infer(cr_node *n) {
    if (n->in[0]->width != n->in[1]->width) CR_BUG("cosine: widths differ");
    n->cls = CR_ROW;
    n->width = 1;
}

static float norm_of(const float *x, int64_t w) {
    return fmaxf(sqrtf(cr_kern->dot(x, x, w)), LEAST_NORM);
}

static void cosine_forward(const cr_node *n, cr_tile *t) {
    int64_t w = n->in[0]->width;
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = row_of(t, n->in[0], r), *y = row_of(t, n->in[1], r);
        cr_val(t, n)[r * cr_ld(n)] = cr_kern->dot(x, y, w) / norm_of(x, w) / norm_of(y, w);
    }
}

static void cosine_backward(const cr_node *n, cr_tile *t) {
    int64_t w = n->in[0]->width;
    for (int i = 0; i < 2; i++) {
        if (!cr_wants_grad(t, n, i)) continue;
        bool first = cr_first_grad(t, n, i);
        for (int64_t r = 0; r < t->n_rows; r++) {
            const float *x = row_of(t, n->in[i], r), *y = row_of(t, n->in[1 - i], r);
            float nx = norm_of(x, w), ny = norm_of(y, w), d = cr_grad(t, n)[r * cr_ld(n)],
                  c = cr_kern->dot(x, y, w) / nx / ny, *to = grad_of(t, n->in[i], r);
            if (first)
                cr_kern->scale(to, d / nx / ny, y, w);
            else
                cr_kern->axpy(to, d / nx / ny, y, w);
            if (nx > LEAST_NORM) cr_kern->axpy(to, -d * c / nx / nx, x, w);
        }
    }
}

static cr_node *cosine_example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_cosine(g, cr_feed(g, 5), cr_feed(g, 5));
}

const cr_op_type cr_op_cosine = {.name = "cosine",
                                 .infer = cosine_infer,
                                 .forward = cosine_forward,
                                 .backward = cosine_backward,
                                 .example = cosine_example,
                                 .reads_in = true};

cr_node *cr_cosine(cr_graph *g, cr_node *x, cr_node *y) {
    return cr_graph_op(g, &cr_op_cosine, (cr_node *[]){x, y}, 2, NULL, 0);
}

/* ---- root: rows whose mean over the batch is sqrt(sum of x); total (WHOLE) is that sum ---- */

static double weight_in(const cr_node *n, const cr_tile *t, int64_t r) {
    const cr_step_input *in = cr_tile_input(t);
    int k = *(const int *)n->attr;
    bool has = in && k >= 0 && k < in->n_scale && in->scale[k];
    return has ? (double)in->scale[k][t->row0 + r] * (double)cr_global_rows(t, n->in[0]) : 1;
}

static void total_infer(cr_node *n) {
    n->cls = CR_WHOLE;
    n->width = 1;
}

static void total_forward(const cr_node *n, cr_tile *t) {
    double *sum = cr_lane_sum(t, n);
    for (int64_t r = 0; r < t->n_rows; r++)
        *sum += weight_in(n, t, r) * (double)*row_of(t, n->in[0], r);
}

static void total_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    bool first = cr_first_grad(t, n, 0);
    float d = *cr_whole_grad(t, n);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *to = grad_of(t, n->in[0], r), v = d * (float)weight_in(n, t, r);
        *to = first ? v : *to + v;
    }
}

const cr_op_type cr_op_total = {.name = "total",
                                .infer = total_infer,
                                .forward = total_forward,
                                .backward = total_backward,
                                .train_only = true};

static void root_infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = 1;
}

static void root_forward(const cr_node *n, cr_tile *t) {
    double s = (double)*cr_whole(t, n->in[1]),
           k = s > 0 ? (double)cr_global_rows(t, n->in[0]) / sqrt(s) : 0;
    for (int64_t r = 0; r < t->n_rows; r++)
        cr_val(t, n)[r * cr_ld(n)] = (float)(k * (double)*row_of(t, n->in[0], r));
}

static void root_backward(const cr_node *n, cr_tile *t) {
    double s = (double)*cr_whole(t, n->in[1]),
           k = s > 0 ? (double)cr_global_rows(t, n->in[0]) / sqrt(s) : 0;
    bool wants = cr_wants_grad(t, n, 0), first = cr_first_grad(t, n, 0);
    double *sum = cr_wants_grad(t, n, 1) ? cr_lane_grad(t, n->in[1]) : NULL;
    for (int64_t r = 0; r < t->n_rows; r++) {
        double d = (double)cr_grad(t, n)[r * cr_ld(n)];
        if (sum && s > 0) *sum -= d * k * (double)*row_of(t, n->in[0], r) / (2 * s);
        if (!wants) continue;
        float *to = grad_of(t, n->in[0], r), v = (float)(d * k);
        *to = first ? v : *to + v;
    }
}

static cr_node *root_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *x = cr_feed(g, 1);
    return cr_root(g, cr_mul(g, x, x), -1);
}

const cr_op_type cr_op_root = {.name = "root",
                               .infer = root_infer,
                               .forward = root_forward,
                               .backward = root_backward,
                               .example = root_example,
                               .reads_in = true,
                               .train_only = true};

cr_node *cr_root(cr_graph *g, cr_node *x, int weight) {
    cr_node *total = cr_graph_op(g, &cr_op_total, &x, 1, &weight, sizeof(weight));
    return cr_graph_op(g, &cr_op_root, (cr_node *[]){x, total}, 2, NULL, 0);
}
