/*
 * product.c - products and sums element by element: of two rows; of a row and a parameter; the
 * cross layer of DCN, x0 * u + b + x, which is one op because it would else be three per layer; and
 * AutoDis' powers of its input and hard choice.
 *
 * A second factor may have F numbers, where F divides the width: each then multiplies one of F
 * vectors that lie side by side. One number multiplies the whole row.
 */
#include <math.h>
#include <string.h>

#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

/* ---- mul: inputs x (w), y (w) or (F) for F vectors, or a parameter (1, w) ---- */

static void mul_infer(cr_node *n) {
    const cr_node *x = n->in[0], *y = n->in[1];
    if (x->width % y->width != 0 || (y->cls == CR_PARAM && y->width != x->width))
        CR_BUG("mul: widths do not fit");
    cr_infer_rows(n);
    n->width = x->width;
}

static void mul_forward(const cr_node *n, cr_tile *t) {
    const cr_node *xn = n->in[0], *yn = n->in[1];
    bool param = yn->cls == CR_PARAM;
    int64_t F = yn->width, D = n->width / F, rows = cr_rows(t, n);
    int64_t ldx = cr_ld(xn), ldy = param ? 0 : cr_ld(yn), ld = cr_ld(n);
    const float *x = cr_val(t, xn), *y = param ? yn->w : cr_val(t, yn);
    float *out = cr_val(t, n);
    for (int64_t r = 0; r < rows; r++, x += ldx, y += ldy, out += ld) {
        if (D == 1)
            cr_kern->mul(out, x, y, F, false);
        else
            for (int64_t f = 0; f < F; f++)
                cr_kern->scale(out + f * D, y[f], x + f * D, D);
    }
}

static void mul_backward(const cr_node *n, cr_tile *t) {
    const cr_node *xn = n->in[0], *yn = n->in[1];
    bool param = yn->cls == CR_PARAM;
    bool wants_x = cr_wants_grad(t, n, 0), wants_y = !param && cr_wants_grad(t, n, 1);
    bool first_x = cr_first_grad(t, n, 0), first_y = cr_first_grad(t, n, 1);
    float *dp = param ? cr_param_sum(t, n, 1) : NULL;
    int64_t F = yn->width, D = n->width / F, rows = cr_rows(t, n);
    int64_t ldx = cr_ld(xn), ldy = param ? 0 : cr_ld(yn), ld = cr_ld(n);
    const float *x = cr_val(t, xn), *y = param ? yn->w : cr_val(t, yn), *d = cr_grad(t, n);
    float *dxs = wants_x ? cr_grad(t, xn) : NULL, *dys = wants_y ? cr_grad(t, yn) : NULL;
    for (int64_t r = 0; r < rows; r++, x += ldx, y += ldy, d += ld) {
        float *dx = dxs ? dxs + r * ldx : NULL, *dy = dys ? dys + r * ldy : NULL;
        if (D == 1) {
            if (dx) cr_kern->mul(dx, d, y, F, !first_x);
            if (dp) cr_kern->mul(dp, d, x, F, true);
            if (dy) cr_kern->mul(dy, d, x, F, !first_y);
            continue;
        }
        for (int64_t f = 0, at = 0; f < F; f++, at += D) {
            if (dx && first_x)
                cr_kern->scale(dx + at, y[f], d + at, D);
            else if (dx)
                cr_kern->axpy(dx + at, y[f], d + at, D);
            if (dy) dy[f] = (first_y ? 0 : dy[f]) + cr_kern->dot(d + at, x + at, D);
        }
    }
}

static cr_node *mul_example(cr_graph *g, int k) {
    switch (k) {
    case 0: return cr_mul(g, cr_feed(g, 7), cr_feed(g, 7));
    case 1: return cr_mul(g, cr_feed(g, 18), cr_feed(g, 1));
    case 2: return cr_mul(g, cr_feed(g, 18), cr_graph_param(g, "p", 1, 18, true, NULL, 0));
    case 3: {
        cr_node *x = cr_feed(g, 5);
        return cr_mul(g, x, x);
    }
    case 4: {
        cr_node *x = cr_feed(g, 20), *y = cr_feed(g, 4);
        return cr_concat(g, (cr_node *[]){cr_mul(g, x, y), x, y}, 3);
    }
    default: return NULL;
    }
}

const cr_op_type cr_op_mul = {.name = "mul",
                              .infer = mul_infer,
                              .forward = mul_forward,
                              .backward = mul_backward,
                              .example = mul_example,
                              .reads_in = true,
                              .rowwise = true};

cr_node *cr_mul(cr_graph *g, cr_node *x, cr_node *y) {
    return cr_graph_op(g, &cr_op_mul, (cr_node *[]){x, y}, 2, NULL, 0);
}

/* ---- bias: inputs x (w), b: a parameter (1, w) ---- */

static void bias_infer(cr_node *n) {
    if (n->in[1]->width != n->in[0]->width) CR_BUG("bias: widths differ");
    cr_infer_rows(n);
    n->width = n->in[0]->width;
}

static void bias_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    for (int64_t r = 0; r < cr_rows(t, n); r++)
        cr_kern->add(cr_val(t, n) + r * cr_ld(n), cr_val(t, x) + r * cr_ld(x), n->in[1]->w,
                     n->width);
}

static void bias_backward(const cr_node *n, cr_tile *t) {
    const cr_node *x = n->in[0];
    if (cr_wants_grad(t, n, 0))
        cr_kern->copy_rows(cr_grad(t, x), cr_ld(x), cr_grad(t, n), cr_ld(n), cr_rows(t, n),
                           n->width, !cr_first_grad(t, n, 0));
    float *db = cr_param_sum(t, n, 1);
    if (db) cr_kern->col_sum(db, cr_grad(t, n), cr_ld(n), cr_rows(t, n), n->width);
}

static cr_node *bias_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    return cr_bias(g, cr_feed(g, 6), cr_graph_param(g, "b", 1, 6, true, NULL, 0));
}

const cr_op_type cr_op_bias = {.name = "bias",
                               .infer = bias_infer,
                               .forward = bias_forward,
                               .backward = bias_backward,
                               .example = bias_example,
                               .rowwise = true};

cr_node *cr_bias(cr_graph *g, cr_node *x, cr_node *b) {
    return cr_graph_op(g, &cr_op_bias, (cr_node *[]){x, b}, 2, NULL, 0);
}

/* ---- cross: inputs x0 (w), u (w) or (1), x (w), [b: a parameter (1, w)] ---- */

static void cross_infer(cr_node *n) {
    int64_t w = n->in[0]->width, u = n->in[1]->width;
    if (n->in[2]->width != w || (u != w && u != 1)) CR_BUG("cross: widths differ");
    if (n->n_in > 3 && n->in[3]->width != w) CR_BUG("cross: bias width");
    n->cls = CR_ROW;
    n->width = w;
}

static void cross_forward(const cr_node *n, cr_tile *t) {
    const cr_node *x0 = n->in[0], *u = n->in[1], *x = n->in[2];
    for (int64_t r = 0; r < t->n_rows; r++) {
        float *y = cr_val(t, n) + r * cr_ld(n);
        const float *xr = cr_val(t, x) + r * cr_ld(x), *ur = cr_val(t, u) + r * cr_ld(u);
        const float *x0r = cr_val(t, x0) + r * cr_ld(x0);
        if (n->n_in > 3)
            cr_kern->add(y, xr, n->in[3]->w, n->width);
        else
            memcpy(y, xr, (size_t)n->width * sizeof(float));
        if (u->width == n->width)
            cr_kern->mul(y, x0r, ur, n->width, true);
        else
            cr_kern->axpy(y, *ur, x0r, n->width);
    }
}

static void cross_backward(const cr_node *n, cr_tile *t) {
    const cr_node *x0 = n->in[0], *u = n->in[1], *x = n->in[2];
    bool wants[3], first[3], whole = u->width == n->width;
    for (int i = 0; i < 3; i++) {
        wants[i] = cr_wants_grad(t, n, i);
        first[i] = cr_first_grad(t, n, i);
    }
    int64_t w = n->width;
    /* x and x0 may be one node, so its gradient is written in the order of the inputs */
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *d = cr_grad(t, n) + r * cr_ld(n), *ur = cr_val(t, u) + r * cr_ld(u);
        if (wants[0]) {
            float *dx0 = cr_grad(t, x0) + r * cr_ld(x0);
            if (whole)
                cr_kern->mul(dx0, d, ur, w, !first[0]);
            else if (first[0])
                cr_kern->scale(dx0, *ur, d, w);
            else
                cr_kern->axpy(dx0, *ur, d, w);
        }
        if (!wants[1]) continue;
        const float *x0r = cr_val(t, x0) + r * cr_ld(x0);
        float *du = cr_grad(t, u) + r * cr_ld(u);
        if (whole) {
            cr_kern->mul(du, d, x0r, w, !first[1]);
        } else {
            float s = cr_kern->dot(d, x0r, w);
            *du = first[1] ? s : *du + s;
        }
    }
    if (wants[2])
        cr_kern->copy_rows(cr_grad(t, x), cr_ld(x), cr_grad(t, n), cr_ld(n), t->n_rows, w,
                           !first[2]);
    float *db = n->n_in > 3 ? cr_param_sum(t, n, 3) : NULL;
    if (db) cr_kern->col_sum(db, cr_grad(t, n), cr_ld(n), t->n_rows, w);
}

static cr_node *cross_example(cr_graph *g, int k) {
    cr_node *x0 = cr_feed(g, k ? 20 : 6), *b = NULL;
    switch (k) {
    case 0: return cr_cross(g, x0, cr_feed(g, 6), cr_feed(g, 6), NULL);
    case 1: b = cr_graph_param(g, "b", 1, 20, true, NULL, 0); break;
    case 2: break;
    default: return NULL;
    }
    return cr_cross(g, x0, cr_feed(g, k == 1 ? 1 : 20), x0, b);
}

const cr_op_type cr_op_cross = {.name = "cross",
                                .infer = cross_infer,
                                .forward = cross_forward,
                                .backward = cross_backward,
                                .example = cross_example,
                                .reads_in = true};

cr_node *cr_cross(cr_graph *g, cr_node *x0, cr_node *u, cr_node *x, cr_node *b) {
    return cr_graph_op(g, &cr_op_cross, (cr_node *[]){x0, u, x, b}, b ? 4 : 3, NULL, 0);
}

/* ---- powers: x (1) -> x, x^2, sqrt(max(x, 0)) ---- */

static void powers_infer(cr_node *n) {
    if (n->in[0]->width != 1) CR_BUG("powers: takes one number");
    n->cls = CR_ROW;
    n->width = 3;
}

static void powers_forward(const cr_node *n, cr_tile *t) {
    for (int64_t r = 0; r < t->n_rows; r++) {
        float x = cr_val(t, n->in[0])[r * cr_ld(n->in[0])], *y = cr_val(t, n) + r * cr_ld(n);
        y[0] = x;
        y[1] = x * x;
        y[2] = x > 0 ? sqrtf(x) : 0;
    }
}

static void powers_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    bool first = cr_first_grad(t, n, 0);
    for (int64_t r = 0; r < t->n_rows; r++) {
        float x = cr_val(t, n->in[0])[r * cr_ld(n->in[0])];
        const float *d = cr_grad(t, n) + r * cr_ld(n);
        float *dx = cr_grad(t, n->in[0]) + r * cr_ld(n->in[0]);
        float v = d[0] + 2 * x * d[1] + (x > 0 ? 0.5f / sqrtf(x) * d[2] : 0);
        *dx = first ? v : *dx + v;
    }
}

static cr_node *powers_example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_powers(g, cr_feed(g, 1));
}

const cr_op_type cr_op_powers = {.name = "powers",
                                 .infer = powers_infer,
                                 .forward = powers_forward,
                                 .backward = powers_backward,
                                 .example = powers_example,
                                 .reads_in = true};

cr_node *cr_powers(cr_graph *g, cr_node *x) {
    return cr_graph_op(g, &cr_op_powers, &x, 1, NULL, 0);
}

/* ---- top: 1 for the k largest of the row (the first of equal ones), else 0; no gradient ---- */

static void top_infer(cr_node *n) {
    int64_t k = *(const int64_t *)n->attr;
    if (k < 1 || k > n->in[0]->width) CR_BUG("top: k is out of range");
    n->cls = CR_ROW;
    n->width = n->in[0]->width;
}

static void top_forward(const cr_node *n, cr_tile *t) {
    int64_t k = *(const int64_t *)n->attr, w = n->width;
    for (int64_t r = 0; r < t->n_rows; r++) {
        const float *x = cr_val(t, n->in[0]) + r * cr_ld(n->in[0]);
        float *y = cr_val(t, n) + r * cr_ld(n);
        memset(y, 0, (size_t)w * sizeof(float));
        for (int64_t i = 0; i < k; i++) {
            int64_t best = -1;
            for (int64_t j = 0; j < w; j++)
                if (y[j] == 0 && (best < 0 || x[j] > x[best])) best = j;
            y[best] = 1;
        }
    }
}

static cr_node *top_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    /* times x: the chosen values pass a gradient, the choice does not */
    cr_node *x = cr_feed(g, 6);
    return cr_mul(g, x, cr_top(g, cr_feed(g, 6), 2));
}

const cr_op_type cr_op_top = {.name = "top",
                              .infer = top_infer,
                              .forward = top_forward,
                              .example = top_example};

cr_node *cr_top(cr_graph *g, cr_node *x, int64_t k) {
    return cr_graph_op(g, &cr_op_top, &x, 1, &k, sizeof(k));
}
