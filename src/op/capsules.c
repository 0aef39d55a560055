/*
 * capsules.c - the positions of a row as K vectors, by dynamic routing (MIND's paper, B2I routing).
 *
 * low (D) are the positions, already multiplied by the shared matrix. Position j belongs to
 * interest k with the share w_kj, a softmax of the routing logits b_kj:
 *   z_k = sum_j w_kj low_j,  v_k = squash(z_k) = |z|^2 / (1 + |z|^2) * z / sqrt(|z|^2 + 1e-8)
 * After each round but the last b_kj grows by v_k . low_j. b begins with fixed numbers, one per
 * interest and position, without which all interests would stay equal.
 *
 * The shares pass no gradient: the slope of v runs through z to low alone. So the gradient is that
 * of the output with the shares held fixed, as in the paper's code.
 *
 * w is a softmax over the interests. PaddleRec takes it over the positions in all rounds but the
 * last (over_steps).
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct capsules {
    int64_t K, most, rounds; /* most: positions that count */
    bool over_steps;
} capsules;

enum { IN_LOW, IN_B };

static void infer(cr_node *n) {
    const capsules *a = n->attr;
    const cr_node *low = n->in[IN_LOW], *b = n->in[IN_B];
    if (low->cls != CR_SEQ || b->rows != a->K || b->cols != a->most)
        CR_BUG("capsules: shapes do not fit");
    n->cls = CR_ROW;
    n->width = a->K * low->width;
    n->scratch = 2 * a->K * a->most + a->K * low->width;
}

/* Positions of a row that count. */
typedef struct steps {
    const float *x;
    int64_t from, n, ld, D;
} steps;

static steps steps_of(const cr_node *n, const cr_tile *t, int64_t r) {
    const cr_node *low = n->in[IN_LOW];
    const int32_t *off = cr_seq_off(t, low->axis);
    int64_t len = off[r + 1] - off[r], most = ((const capsules *)n->attr)->most;
    steps s = {.from = off[r] - off[0], .n = len < most ? len : most, .ld = cr_ld(low)};
    s.x = cr_val(t, low) + s.from * s.ld;
    s.D = low->width;
    return s;
}

/* w = softmax of b over the interests, or over the positions. */
static void shares(const capsules *a, const float *b, float *w, int64_t n, bool over_steps) {
    int64_t outer = over_steps ? a->K : n, inner = over_steps ? n : a->K;
    int64_t so = over_steps ? a->most : 1, si = over_steps ? 1 : a->most;
    for (int64_t i = 0; i < outer; i++) {
        const float *x = b + i * so;
        float *y = w + i * so, most = x[0], sum = 0;
        for (int64_t j = 1; j < inner; j++)
            most = x[j * si] > most ? x[j * si] : most;
        for (int64_t j = 0; j < inner; j++) {
            float e = x[j * si] - most;
            cr_kern->exp(&e, &e, 1);
            y[j * si] = e;
            sum += e;
        }
        for (int64_t j = 0; j < inner; j++)
            y[j * si] /= sum;
    }
}

/* z_k of the shares. */
static void mixed(const capsules *a, const steps *s, const float *w, int64_t k, float *z) {
    memset(z, 0, (size_t)s->D * sizeof(float));
    for (int64_t j = 0; j < s->n; j++)
        cr_kern->axpy(z, w[k * a->most + j], s->x + j * s->ld, s->D);
}

/* |v| / |z| of squash, for |z|^2 = q. */
static float squash(float q) {
    return q / (1 + q) / sqrtf(q + 1e-8f);
}

/* Computes the shares of the last round into w. */
static void route(const cr_node *n, const steps *s, float *b, float *w, float *z) {
    const capsules *a = n->attr;
    memcpy(b, n->in[IN_B]->w, (size_t)(a->K * a->most) * sizeof(float));
    for (int64_t i = 0; i < a->rounds; i++) {
        bool last = i == a->rounds - 1;
        shares(a, b, w, s->n, a->over_steps && !last);
        for (int64_t k = 0; !last && k < a->K; k++) {
            mixed(a, s, w, k, z);
            float c = squash(cr_kern->dot(z, z, s->D));
            for (int64_t j = 0; j < s->n; j++)
                b[k * a->most + j] += c * cr_kern->dot(z, s->x + j * s->ld, s->D);
        }
    }
}

static void forward(const cr_node *n, cr_tile *t) {
    const capsules *a = n->attr;
    float *b = t->scratch, *w = b + a->K * a->most, *z = w + a->K * a->most;
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        steps s = steps_of(n, t, r);
        memset(y, 0, (size_t)n->width * sizeof(float));
        if (s.n == 0) continue;
        route(n, &s, b, w, z);
        for (int64_t k = 0; k < a->K; k++) {
            mixed(a, &s, w, k, z);
            cr_kern->scale(y + k * s.D, squash(cr_kern->dot(z, z, s.D)), z, s.D);
        }
    }
}

static void backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, IN_LOW)) return;
    const capsules *a = n->attr;
    const cr_node *low = n->in[IN_LOW];
    float *b = t->scratch, *w = b + a->K * a->most, *z = w + a->K * a->most;
    float *dx = cr_grad(t, low);
    if (cr_first_grad(t, n, IN_LOW))
        memset(dx, 0, (size_t)(cr_rows(t, low) * cr_ld(low)) * sizeof(float));
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *dy = cr_grad(t, n) + r * cr_ld(n);
        steps s = steps_of(n, t, r);
        if (s.n == 0) continue;
        route(n, &s, b, w, z);
        for (int64_t k = 0; k < a->K; k++, dy += s.D) {
            mixed(a, &s, w, k, z);
            /* v = c(q) z: dz = c dv + 2 c'(q) (z . dv) z */
            float q = cr_kern->dot(z, z, s.D), e = q + 1e-8f, c = squash(q);
            float slope = 1 / ((1 + q) * (1 + q) * sqrtf(e)) - 0.5f * q / ((1 + q) * e * sqrtf(e));
            cr_kern->scale_add(dy, c, dy, 2 * slope * cr_kern->dot(z, dy, s.D), z, s.D);
            for (int64_t j = 0; j < s.n; j++)
                cr_kern->axpy(dx + (s.from + j) * s.ld, w[k * a->most + j], dy, s.D);
        }
    }
}

/* One round: then the shares do not depend on the input, and the gradient is the slope. */
static cr_node *example(cr_graph *g, int k) {
    static const int64_t K[] = {3, 2}, most[] = {4, 50}, D[] = {5, 17};
    if (k > 1) return NULL;
    cr_node *b = cr_graph_param(g, "b", K[k], most[k], false, NULL, 0);
    return cr_capsules(g, cr_feed_seq(g, cr_graph_axis(g), D[k]), b, 1, false);
}

const cr_op_type cr_op_capsules = {.name = "capsules",
                                   .infer = infer,
                                   .forward = forward,
                                   .backward = backward,
                                   .example = example,
                                   .reads_in = true,
                                   .seq = true};

cr_node *cr_capsules(cr_graph *g, cr_node *low, cr_node *b, int64_t rounds, bool over_steps) {
    capsules a = {b->rows, b->cols, rounds, over_steps};
    return cr_graph_op(g, &cr_op_capsules, (cr_node *[]){low, b}, 2, &a, sizeof(a));
}
