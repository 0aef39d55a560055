/*
 * lstm.c - long short-term memory over the positions of each row.
 *
 * x holds what the gates get from the inputs, [i; f; g; o] with H numbers each; U (4H, H) and b
 * (4H) are what they get from the state before, as torch names them:
 *   i, f, o = sigmoid(x + U h + b), g = tanh(x + U h + b), c' = f c + i g, h' = o tanh(c')
 * The op's value is [h; c]. Both are 0 before the first position. It can also begin at the last
 * position and go back. The gates are not kept: backward makes them again from the values.
 */
#include <string.h>

#include "graph/gradcheck.h"
#include "op/recur.h"

typedef struct lstm {
    int64_t H;
    bool reverse;
    float *zeros; /* the state before the first position, 2H */
} lstm;

enum { IN_X, IN_U, IN_B };

static void infer(cr_node *n) {
    const lstm *a = n->attr;
    const cr_node *x = n->in[IN_X], *U = n->in[IN_U];
    if (x->cls != CR_SEQ || x->width != 4 * a->H || U->rows != 4 * a->H || U->cols != a->H ||
        n->in[IN_B]->width != 4 * a->H)
        CR_BUG("lstm: shapes do not fit");
    n->cls = CR_SEQ;
    n->axis = x->axis;
    n->width = 2 * a->H;
    n->scratch = 9 * a->H;
}

/* The gates of a position, whose state before is h. */
static void gates(const cr_node *n, const float *x, const float *h, float *w) {
    int64_t H = ((const lstm *)n->attr)->H;
    cr_gate_product(w, n->in[IN_U]->w, n->in[IN_B]->w, h, 4 * H, H);
    cr_kern->add(w, w, x, 4 * H);
    cr_kern->sigmoid(w, w, 2 * H);
    cr_kern->tanh(w + 2 * H, w + 2 * H, H);
    cr_kern->sigmoid(w + 3 * H, w + 3 * H, H);
}

static void forward(const cr_node *n, cr_tile *t) {
    const lstm *a = n->attr;
    const cr_node *x = n->in[IN_X];
    int64_t H = a->H, ld = cr_ld(n);
    float *w = t->scratch;
    for (int64_t r = 0; r < t->n_rows; r++) {
        cr_path way = cr_path_of(t, n->axis, r, a->reverse);
        for (int64_t i = 0, p = way.first; i < way.n; i++, p += way.step) {
            float *y = cr_val(t, n) + p * ld;
            const float *before = i ? y - way.step * ld : a->zeros;
            gates(n, cr_val(t, x) + p * cr_ld(x), before, w);
            for (int64_t k = 0; k < H; k++)
                y[H + k] = w[H + k] * before[H + k] + w[k] * w[2 * H + k];
            cr_kern->tanh(y, y + H, H);
            cr_kern->mul(y, y, w + 3 * H, H, false);
        }
    }
}

/* One position: dy is the slope of its [h; c]. d becomes that of what the gates get, and dc that of
 * the c before. tc is tanh(c). */
static void back_step(int64_t H, const float *w, const float *tc, const float *before,
                      const float *dy, float *d, float *dc) {
    for (int64_t k = 0; k < H; k++) {
        float i = w[k], f = w[H + k], g = w[2 * H + k], o = w[3 * H + k];
        float slope = dy[H + k] + dy[k] * o * (1 - tc[k] * tc[k]);
        d[k] = slope * g * i * (1 - i);
        d[H + k] = slope * before[H + k] * f * (1 - f);
        d[2 * H + k] = slope * i * (1 - g * g);
        d[3 * H + k] = dy[k] * tc[k] * o * (1 - o);
        dc[k] = slope * f;
    }
}

static void backward(const cr_node *n, cr_tile *t) {
    const lstm *a = n->attr;
    const cr_node *x = n->in[IN_X];
    int64_t H = a->H, ld = cr_ld(n);
    float *w = t->scratch, *d = w + 4 * H, *tc = w + 8 * H;
    float *dU = cr_param_sum(t, n, IN_U), *db = cr_param_sum(t, n, IN_B);
    float *dx = cr_wants_grad(t, n, IN_X) ? cr_grad(t, x) : NULL;
    bool first = cr_first_grad(t, n, IN_X);
    for (int64_t r = 0; r < t->n_rows; r++) {
        cr_path way = cr_path_of(t, n->axis, r, a->reverse);
        for (int64_t i = way.n - 1; i >= 0; i--) {
            int64_t p = way.first + i * way.step;
            const float *y = cr_val(t, n) + p * ld, *before = i ? y - way.step * ld : a->zeros;
            float *dy = cr_grad(t, n) + p * ld, *to = i ? dy - way.step * ld : NULL;
            gates(n, cr_val(t, x) + p * cr_ld(x), before, w);
            cr_kern->tanh(tc, y + H, H);
            back_step(H, w, tc, before, dy, d, tc);
            if (dx && first) memcpy(dx + p * cr_ld(x), d, (size_t)(4 * H) * sizeof(float));
            if (dx && !first) cr_kern->axpy(dx + p * cr_ld(x), 1, d, 4 * H);
            if (to) cr_kern->add(to + H, to + H, tc, H);
            /* nothing reads the slope of the state before the first position */
            if (!to) memset(tc, 0, (size_t)H * sizeof(float));
            cr_gate_back(dU, db, n->in[IN_U]->w, d, before, to ? to : tc, 4 * H, H);
        }
    }
}

static cr_node *example(cr_graph *g, int k) {
    static const int64_t H[] = {3, 18, 4};
    if (k > 2) return NULL;
    cr_node *x = cr_feed_seq(g, cr_graph_axis(g), 4 * H[k]);
    cr_node *U = cr_graph_param(g, "u", 4 * H[k], H[k], true, NULL, 0);
    cr_node *b = cr_graph_param(g, "b", 1, 4 * H[k], true, NULL, 0);
    cr_node *y = cr_lstm(g, x, U, b, k > 0);
    return k > 1 ? cr_slice(g, y, 0, H[k]) : y;
}

const cr_op_type cr_op_lstm = {.name = "lstm",
                               .infer = infer,
                               .forward = forward,
                               .backward = backward,
                               .example = example,
                               .keep_val = true,
                               .reads_in = true,
                               .seq = true};

cr_node *cr_lstm(cr_graph *g, cr_node *x, cr_node *U, cr_node *b, bool reverse) {
    lstm a = {.H = U->cols, .reverse = reverse};
    a.zeros = CR_NEW_N(&g->arena, float, 2 * U->cols);
    return cr_graph_op(g, &cr_op_lstm, (cr_node *[]){x, U, b}, 3, &a, sizeof(a));
}
