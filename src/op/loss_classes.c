/*
 * loss_classes.c - losses over K scores of which the label names the right one, besides the softmax
 * of loss.c: by a margin, and class by class.
 *
 *   margin:  sum over k != y of max(0, m - z_y + z_k), or only the largest of them
 *   each:    softplus(-z_y) + sum over k != y of softplus(z_k), the loss of negative sampling
 */
#include <math.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/loss_int.h"
#include "op/op.h"

typedef struct margin {
    float m;
    bool hardest;
} margin;

static void infer(cr_node *n) {
    n->cls = CR_ROW;
    n->width = 1;
    n->scratch = n->in[0]->width;
}

/* The class of a row; -1: the label is out of range, which must show. */
static int64_t class_of(const cr_node *n, const cr_tile *t, int64_t r) {
    float y = cr_val(t, n->in[1])[r * cr_ld(n->in[1])];
    return y >= 0 && y < (float)n->in[0]->width ? (int64_t)y : -1;
}

/* The class other than y with the largest score; -1: there is none. */
static int64_t rival(const float *z, int64_t K, int64_t y) {
    int64_t at = -1;
    for (int64_t k = 0; k < K; k++)
        if (k != y && (at < 0 || z[k] > z[at])) at = k;
    return at;
}

static void margin_forward(const cr_node *n, cr_tile *t) {
    const margin *a = n->attr;
    const cr_node *in = n->in[0];
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *z = cr_val(t, in) + r * cr_ld(in);
        int64_t y = class_of(n, t, r), best = a->hardest ? rival(z, in->width, y) : -1;
        float *l = cr_val(t, n) + r * cr_ld(n);
        *l = y < 0 ? NAN : 0;
        for (int64_t k = 0; y >= 0 && k < in->width; k++)
            if (k != y && (!a->hardest || k == best)) *l += fmaxf(a->m - z[y] + z[k], 0);
    }
}

static void margin_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const margin *a = n->attr;
    const cr_node *in = n->in[0];
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *z = cr_val(t, in) + r * cr_ld(in);
        float *dz = cr_grad(t, in) + r * cr_ld(in), dl = cr_grad(t, n)[r * cr_ld(n)];
        int64_t y = class_of(n, t, r), best = a->hardest ? rival(z, in->width, y) : -1;
        for (int64_t k = 0; first && k < in->width; k++)
            dz[k] = 0;
        for (int64_t k = 0; y >= 0 && k < in->width; k++)
            if (k != y && (!a->hardest || k == best) && a->m - z[y] + z[k] > 0) {
                dz[k] += dl;
                dz[y] -= dl;
            }
    }
}

static cr_node *margin_example(cr_graph *g, int k) {
    return k > 1 ? NULL : cr_margin(g, cr_feed(g, 3 + k), cr_example_labels(g, 3), 0.3f, k == 1);
}

const cr_op_type cr_op_margin = {.name = "margin",
                                 .infer = infer,
                                 .forward = margin_forward,
                                 .backward = margin_backward,
                                 .example = margin_example,
                                 .reads_in = true};

cr_node *cr_margin(cr_graph *g, cr_node *logits, cr_node *y, float m, bool hardest) {
    margin a = {m, hardest};
    return cr_graph_op(g, &cr_op_margin, (cr_node *[]){logits, y}, 2, &a, sizeof(a));
}

/* ---- class by class ---- */

static void each_forward(const cr_node *n, cr_tile *t) {
    const cr_node *in = n->in[0];
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *z = cr_val(t, in) + r * cr_ld(in);
        int64_t y = class_of(n, t, r);
        cr_kern->softplus(t->scratch, z, 1, INFINITY, in->width);
        float *l = cr_val(t, n) + r * cr_ld(n);
        *l = y < 0 ? NAN : cr_kern->sum(t->scratch, in->width) - z[y];
    }
}

static void each_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const cr_node *in = n->in[0];
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *z = cr_val(t, in) + r * cr_ld(in);
        float *dz = cr_grad(t, in) + r * cr_ld(in), dl = cr_grad(t, n)[r * cr_ld(n)];
        int64_t y = class_of(n, t, r);
        cr_kern->sigmoid(t->scratch, z, in->width);
        for (int64_t k = 0; k < in->width; k++) {
            float d = dl * (t->scratch[k] - (k == y ? 1.0f : 0.0f));
            dz[k] = first ? d : dz[k] + d;
        }
    }
}

static cr_node *each_example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_each_class(g, cr_feed(g, 4), cr_example_labels(g, 4));
}

const cr_op_type cr_op_each_class = {.name = "each_class",
                                     .infer = infer,
                                     .forward = each_forward,
                                     .backward = each_backward,
                                     .example = each_example,
                                     .reads_in = true};

cr_node *cr_each_class(cr_graph *g, cr_node *logits, cr_node *y) {
    return cr_graph_op(g, &cr_op_each_class, (cr_node *[]){logits, y}, 2, NULL, 0);
}
