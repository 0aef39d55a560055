/*
 * act.c - activations. The plain ones share one op with a table of kernels; prelu, dice, rrelu and
 * the softmaxes have parameters, random numbers or need the whole row.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct act {
    cr_act kind;
    float p[3];
} act;

static void row_infer(cr_node *n) {
    cr_infer_rows(n);
    n->width = n->in[0]->width;
}

static void act_row(const act *a, float *y, const float *x, int64_t n) {
    const float *p = a->p;
    switch (a->kind) {
    case CR_ACT_RELU: cr_kern->relu(y, x, n); break;
    case CR_ACT_LEAKY: cr_kern->leaky(y, x, p[0], n); break;
    case CR_ACT_SIGMOID: cr_kern->sigmoid(y, x, n); break;
    case CR_ACT_TANH: cr_kern->tanh(y, x, n); break;
    case CR_ACT_GELU: cr_kern->gelu(y, x, n); break;
    case CR_ACT_GELU_TANH: cr_kern->gelu_tanh(y, x, n); break;
    case CR_ACT_SILU: cr_kern->silu(y, x, n); break;
    case CR_ACT_MISH: cr_kern->mish(y, x, n); break;
    case CR_ACT_ELU: cr_kern->elu(y, x, p[0] * p[1], p[1], 1 / p[2], n); break;
    case CR_ACT_SOFTPLUS: cr_kern->softplus(y, x, p[0], p[1], n); break;
    case CR_ACT_SOFTSIGN: cr_kern->softsign(y, x, n); break;
    case CR_ACT_HARDSIGMOID: cr_kern->hardsigmoid(y, x, n); break;
    case CR_ACT_HARDSWISH: cr_kern->hardswish(y, x, n); break;
    case CR_ACT_CLAMP: cr_kern->clamp(y, x, p[0], p[1], n); break;
    case CR_ACT_THRESHOLD: cr_kern->threshold(y, x, p[0], p[1], n); break;
    case CR_ACT_SHRINK: cr_kern->shrink(y, x, p[0], p[1], n); break;
    case CR_ACT_TANHSHRINK: cr_kern->tanhshrink(y, x, n); break;
    }
}

static void act_row_bwd(const act *a, float *dx, const float *dy, const float *y, const float *x,
                        int64_t n, bool acc) {
    const float *p = a->p;
    switch (a->kind) {
    case CR_ACT_RELU: cr_kern->relu_bwd(dx, dy, y, n, acc); break;
    case CR_ACT_LEAKY: cr_kern->leaky_bwd(dx, dy, x, p[0], n, acc); break;
    case CR_ACT_SIGMOID: cr_kern->sigmoid_bwd(dx, dy, y, n, acc); break;
    case CR_ACT_TANH: cr_kern->tanh_bwd(dx, dy, y, n, acc); break;
    case CR_ACT_GELU: cr_kern->gelu_bwd(dx, dy, x, n, acc); break;
    case CR_ACT_GELU_TANH: cr_kern->gelu_tanh_bwd(dx, dy, x, n, acc); break;
    case CR_ACT_SILU: cr_kern->silu_bwd(dx, dy, x, n, acc); break;
    case CR_ACT_MISH: cr_kern->mish_bwd(dx, dy, x, n, acc); break;
    case CR_ACT_ELU: cr_kern->elu_bwd(dx, dy, x, p[0] * p[1], p[1], 1 / p[2], n, acc); break;
    case CR_ACT_SOFTPLUS: cr_kern->softplus_bwd(dx, dy, x, p[0], p[1], n, acc); break;
    case CR_ACT_SOFTSIGN: cr_kern->softsign_bwd(dx, dy, x, n, acc); break;
    case CR_ACT_HARDSIGMOID: cr_kern->between_bwd(dx, dy, x, -3, 3, 1.0f / 6, n, acc); break;
    case CR_ACT_HARDSWISH: cr_kern->hardswish_bwd(dx, dy, x, n, acc); break;
    case CR_ACT_CLAMP: cr_kern->between_bwd(dx, dy, x, p[0], p[1], 1, n, acc); break;
    case CR_ACT_THRESHOLD: cr_kern->between_bwd(dx, dy, x, p[0], INFINITY, 1, n, acc); break;
    case CR_ACT_SHRINK: cr_kern->shrink_bwd(dx, dy, x, p[0], n, acc); break;
    case CR_ACT_TANHSHRINK: cr_kern->tanhshrink_bwd(dx, dy, x, n, acc); break;
    }
}

static void act_infer(cr_node *n) {
    row_infer(n);
    const act *a = n->attr;
    n->zeros = a->kind == CR_ACT_RELU || (a->kind == CR_ACT_CLAMP && a->p[0] == 0) ||
               (a->kind == CR_ACT_THRESHOLD && a->p[1] == 0);
}

/* Rows without gaps are treated as one long row; *len receives its length. */
static int64_t long_rows(const cr_node *n, const cr_tile *t, int64_t *len) {
    bool gaps = cr_ld(n) != n->width;
    *len = gaps ? n->width : cr_rows(t, n) * n->width;
    return gaps ? cr_rows(t, n) : 1;
}

static void act_forward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]);
    float *y = cr_val(t, n);
    int64_t ld = cr_ld(n), len; /* the input has the same width and so the same ld */
    int64_t rows = long_rows(n, t, &len);
    for (int64_t r = 0; r < rows; r++)
        act_row(n->attr, y + r * ld, x + r * ld, len);
}

static void act_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    const float *x = cr_val(t, n->in[0]), *y = cr_val(t, n), *dy = cr_grad(t, n);
    float *dx = cr_grad(t, n->in[0]);
    bool acc = !cr_first_grad(t, n, 0);
    int64_t ld = cr_ld(n), len, rows = long_rows(n, t, &len);
    for (int64_t r = 0; r < rows; r++)
        act_row_bwd(n->attr, dx + r * ld, dy + r * ld, y + r * ld, x + r * ld, len, acc);
}

/* The numbers of a feed lie 0.1 to 1 away from zero. Here they are multiplied by 2.9, so that no
 * step of the check crosses the places where a threshold or hard shrinking jumps, or the ends at
 * +-3. */
static cr_node *act_example(cr_graph *g, int k) {
    static const act of[] = {
        {CR_ACT_RELU, {0}},
        {CR_ACT_LEAKY, {0.2f}},
        {CR_ACT_SIGMOID, {0}},
        {CR_ACT_TANH, {0}},
        {CR_ACT_GELU, {0}},
        {CR_ACT_GELU_TANH, {0}},
        {CR_ACT_SILU, {0}},
        {CR_ACT_MISH, {0}},
        {CR_ACT_ELU, {0.2f, 1, 1}},
        {CR_ACT_ELU, {1.6f, 1.05f, 0.7f}},
        {CR_ACT_SOFTPLUS, {1, 20}},
        {CR_ACT_SOFTPLUS, {0.7f, 20}},
        {CR_ACT_SOFTPLUS, {-1, INFINITY}},
        {CR_ACT_SOFTSIGN, {0}},
        {CR_ACT_HARDSIGMOID, {0}},
        {CR_ACT_HARDSWISH, {0}},
        {CR_ACT_CLAMP, {-1.3f, 2.1f}},
        {CR_ACT_CLAMP, {0, 1.5f}},
        {CR_ACT_THRESHOLD, {1.3f, 1.3f}},
        {CR_ACT_THRESHOLD, {0.1f, -2}},
        {CR_ACT_SHRINK, {0.4f, 0.4f}},
        {CR_ACT_SHRINK, {0.2f, 0}},
        {CR_ACT_TANHSHRINK, {0}},
    };
    int n = sizeof(of) / sizeof(of[0]);
    if (k > n + 1) return NULL;
    if (k == n) return cr_activation(g, CR_ACT_TANH, NULL, cr_feed(g, 3)); /* rows without gaps */
    cr_node *x = cr_feed(g, 21);
    if (k < n) return cr_activation(g, of[k].kind, of[k].p, cr_add(g, &x, (float[]){2.9f}, 1));
    /* an input with several users */
    cr_node *y = cr_activation(g, CR_ACT_TANH, NULL, x);
    cr_node *z = cr_activation(g, CR_ACT_SILU, NULL, x);
    return cr_add(g, (cr_node *[]){y, z, x}, (float[]){1, 2, 3}, 3);
}

const cr_op_type cr_op_activation = {.name = "activation",
                                     .infer = act_infer,
                                     .forward = act_forward,
                                     .backward = act_backward,
                                     .example = act_example,
                                     .keep_val = true,
                                     .reads_in = true,
                                     .rowwise = true};

cr_node *cr_activation(cr_graph *g, cr_act kind, const float p[3], cr_node *x) {
    act a = {kind, {0}};
    if (p) memcpy(a.p, p, sizeof(a.p));
    return cr_graph_op(g, &cr_op_activation, &x, 1, &a, sizeof(a));
}

/* ---- prelu ---- */

static void prelu_forward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]), *a = n->in[1]->w;
    float *y = cr_val(t, n);
    int64_t ld = cr_ld(n), rows = cr_rows(t, n);
    if (n->in[1]->width > 1)
        cr_kern->prelu(y, x, ld, a, rows, n->width);
    else
        for (int64_t r = 0; r < rows; r++)
            cr_kern->leaky(y + r * ld, x + r * ld, *a, n->width);
}

static void prelu_backward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]), *dy = cr_grad(t, n), *a = n->in[1]->w;
    float *dx = cr_wants_grad(t, n, 0) ? cr_grad(t, n->in[0]) : NULL, *da = cr_param_sum(t, n, 1);
    int64_t ld = cr_ld(n), rows = cr_rows(t, n), w = n->width;
    bool acc = !cr_first_grad(t, n, 0);
    if (n->in[1]->width > 1) {
        cr_kern->prelu_bwd(dx, da, dy, x, ld, a, rows, w, acc);
        return;
    }
    for (int64_t r = 0; r < rows; r++, x += ld, dy += ld) {
        if (da) *da += cr_kern->leaky_dot(x, dy, w);
        if (dx) cr_kern->leaky_bwd(dx + r * ld, dy, x, *a, w, acc);
    }
}

static cr_node *prelu_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    return cr_prelu(g, cr_feed(g, 5), cr_graph_param(g, "a", 1, k ? 5 : 1, true, NULL, 0));
}

const cr_op_type cr_op_prelu = {.name = "prelu",
                                .infer = row_infer,
                                .forward = prelu_forward,
                                .backward = prelu_backward,
                                .example = prelu_example,
                                .reads_in = true,
                                .rowwise = true};

cr_node *cr_prelu(cr_graph *g, cr_node *x, cr_node *a) {
    return cr_graph_op(g, &cr_op_prelu, (cr_node *[]){x, a}, 2, NULL, 0);
}

/* ---- rrelu: in training the slope below zero is drawn for each number ---- */

typedef struct rrelu {
    float lower, upper;
    uint64_t key;
} rrelu;

static void rrelu_infer(cr_node *n) {
    row_infer(n);
    n->scratch = (n->width + 1) / 2; /* the 16-bit draws of a row */
}

/* out = v times the slopes at x; acc: is added to out */
static void rrelu_apply(const cr_node *n, cr_tile *t, float *out, const float *v, bool acc) {
    const rrelu *a = n->attr;
    const float *x = cr_val(t, n->in[0]);
    uint64_t step_key = cr_rng_sub(a->key, (uint64_t)cr_tile_step(t));
    uint16_t *rnd = (uint16_t *)(void *)t->scratch;
    float step = (a->upper - a->lower) / 65536, lo = a->lower + step / 2;
    int64_t ld = cr_ld(n), at = 0;
    const int32_t *off = n->cls == CR_SEQ ? cr_seq_off(t, n->axis) : NULL;
    for (int64_t r = 0; r < t->n_rows; r++) {
        uint64_t row = cr_rng_sub(step_key, (uint64_t)(cr_global_row(t) + r));
        for (int64_t k = 0, len = off ? off[r + 1] - off[r] : 1; k < len; k++, at++) {
            cr_kern->draw16(rnd, off ? cr_rng_sub(row, (uint64_t)k) : row, n->width);
            cr_kern->leaky_draw(out + at * ld, v + at * ld, x + at * ld, rnd, lo, step, n->width,
                                acc);
        }
    }
}

static void rrelu_forward(const cr_node *n, cr_tile *t) {
    const rrelu *a = n->attr;
    const float *x = cr_val(t, n->in[0]);
    float *y = cr_val(t, n);
    if (t->train) {
        rrelu_apply(n, t, y, x, false);
        return;
    }
    int64_t ld = cr_ld(n), len, rows = long_rows(n, t, &len);
    for (int64_t r = 0; r < rows; r++)
        cr_kern->leaky(y + r * ld, x + r * ld, (a->lower + a->upper) / 2, len);
}

static void rrelu_backward(const cr_node *n, cr_tile *t) {
    if (cr_wants_grad(t, n, 0))
        rrelu_apply(n, t, cr_grad(t, n->in[0]), cr_grad(t, n), !cr_first_grad(t, n, 0));
}

static cr_node *rrelu_example(cr_graph *g, int k) {
    return k > 0 ? NULL : cr_rrelu(g, cr_feed(g, 9), 0.1f, 0.7f);
}

const cr_op_type cr_op_rrelu = {.name = "rrelu",
                                .infer = rrelu_infer,
                                .forward = rrelu_forward,
                                .backward = rrelu_backward,
                                .example = rrelu_example,
                                .reads_in = true,
                                .rowwise = true};

cr_node *cr_rrelu(cr_graph *g, cr_node *x, float lower, float upper) {
    rrelu a = {lower, upper, cr_rng_sub(cr_rng_key(g->seed, "rrelu", NULL), (uint64_t)g->n)};
    return cr_graph_op(g, &cr_op_rrelu, &x, 1, &a, sizeof(a));
}

/* ---- dice: inputs x, xn, alpha ---- */

static void dice_infer(cr_node *n) {
    row_infer(n);
    n->scratch = n->width;
}

static void dice_forward(const cr_node *n, cr_tile *t) {
    cr_kern->dice(cr_val(t, n), cr_val(t, n->in[0]), cr_val(t, n->in[1]), cr_ld(n), n->in[2]->w,
                  t->scratch, cr_rows(t, n), n->width);
}

static void dice_backward(const cr_node *n, cr_tile *t) {
    float *dx = cr_wants_grad(t, n, 0) ? cr_grad(t, n->in[0]) : NULL;
    float *dxn = cr_wants_grad(t, n, 1) ? cr_grad(t, n->in[1]) : NULL;
    cr_kern->dice_bwd(dx, dxn, cr_param_sum(t, n, 2), cr_grad(t, n), cr_val(t, n->in[0]),
                      cr_val(t, n->in[1]), cr_ld(n), n->in[2]->w, t->scratch, cr_rows(t, n),
                      n->width, !cr_first_grad(t, n, 0), !cr_first_grad(t, n, 1));
}

static cr_node *dice_example(cr_graph *g, int k) {
    if (k > 0) return NULL;
    cr_node *x = cr_feed(g, 5), *xn = cr_feed(g, 5);
    return cr_dice(g, x, xn, cr_graph_param(g, "alpha", 1, 5, true, NULL, 0));
}

const cr_op_type cr_op_dice = {.name = "dice",
                               .infer = dice_infer,
                               .forward = dice_forward,
                               .backward = dice_backward,
                               .example = dice_example,
                               .reads_in = true,
                               .rowwise = true};

cr_node *cr_dice(cr_graph *g, cr_node *x, cr_node *xn, cr_node *alpha) {
    return cr_graph_op(g, &cr_op_dice, (cr_node *[]){x, xn, alpha}, 3, NULL, 0);
}

/* ---- softmax over the row ---- */

static void softmax_forward(const cr_node *n, cr_tile *t) {
    float *y = cr_val(t, n), scale = *(const float *)n->attr;
    int64_t ld = cr_ld(n), w = n->width, len, rows = long_rows(n, t, &len);
    cr_kern->copy_rows(y, ld, cr_val(t, n->in[0]), ld, cr_rows(t, n), w, false);
    for (int64_t r = 0; r < rows; r++)
        cr_kern->softmax(y + r * ld, scale, len / w, w);
}

static void softmax_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    float *dx = cr_grad(t, n->in[0]), *dy = cr_grad(t, n), scale = *(const float *)n->attr;
    bool first = cr_first_grad(t, n, 0);
    float *out = first ? dx : dy; /* dy is not needed any more */
    int64_t ld = cr_ld(n), w = n->width, len, rows = long_rows(n, t, &len);
    for (int64_t r = 0; r < rows; r++)
        cr_kern->softmax_bwd(out + r * ld, cr_val(t, n) + r * ld, dy + r * ld, w, scale, len / w,
                             w);
    if (!first) cr_kern->copy_rows(dx, ld, dy, ld, cr_rows(t, n), w, true);
}

static cr_node *softmax_example(cr_graph *g, int k) {
    if (k > 2) return NULL;
    cr_node *x = cr_feed(g, k ? 18 : 3), *y = cr_softmax(g, x, k ? 2.0f : 1.0f);
    if (k < 2) return y;                                       /* rows without gaps and with them */
    return cr_add(g, (cr_node *[]){y, x}, (float[]){1, 1}, 2); /* x has two users */
}

const cr_op_type cr_op_softmax = {.name = "softmax",
                                  .infer = row_infer,
                                  .forward = softmax_forward,
                                  .backward = softmax_backward,
                                  .example = softmax_example,
                                  .keep_val = true,
                                  .rowwise = true};

cr_node *cr_softmax(cr_graph *g, cr_node *x, float scale) {
    if (!(scale > 0)) CR_BUG("softmax: scale must be positive");
    return cr_graph_op(g, &cr_op_softmax, &x, 1, &scale, sizeof(scale));
}

/* ---- log_softmax: x - log(sum of e^x) ---- */

static void log_infer(cr_node *n) {
    row_infer(n);
    n->scratch = n->width;
}

/* log p of the largest x is exact enough at any distance from zero; the others are computed from
 * it. */
static void log_forward(const cr_node *n, cr_tile *t) {
    int64_t ld = cr_ld(n), w = n->width;
    for (int64_t r = 0; r < cr_rows(t, n); r++) {
        const float *x = cr_val(t, n->in[0]) + r * ld;
        float *y = cr_val(t, n) + r * ld, *p = t->scratch, most = x[0];
        cr_kern->copy_rows(p, w, x, w, 1, w, false);
        cr_kern->softmax(p, 1, 1, w);
        float log_p = p[0];
        for (int64_t j = 1; j < w; j++)
            if (x[j] > most) most = x[j], log_p = p[j];
        log_p = (float)log((double)log_p);
        for (int64_t j = 0; j < w; j++)
            y[j] = (x[j] - most) + log_p;
    }
}

static void log_backward(const cr_node *n, cr_tile *t) {
    if (!cr_wants_grad(t, n, 0)) return;
    bool first = cr_first_grad(t, n, 0);
    int64_t ld = cr_ld(n), w = n->width;
    for (int64_t r = 0; r < cr_rows(t, n); r++) {
        const float *dy = cr_grad(t, n) + r * ld;
        float *dx = cr_grad(t, n->in[0]) + r * ld, *p = t->scratch;
        cr_kern->exp(p, cr_val(t, n) + r * ld, w);
        cr_kern->copy_rows(dx, w, dy, w, 1, w, !first);
        cr_kern->axpy(dx, -cr_kern->sum(dy, w), p, w);
    }
}

static cr_node *log_example(cr_graph *g, int k) {
    if (k > 1) return NULL;
    cr_node *x = cr_feed(g, k ? 18 : 3), *y = cr_log_softmax(g, x);
    return k ? cr_add(g, (cr_node *[]){y, x}, (float[]){1, 1}, 2) : y;
}

const cr_op_type cr_op_log_softmax = {.name = "log_softmax",
                                      .infer = log_infer,
                                      .forward = log_forward,
                                      .backward = log_backward,
                                      .example = log_example,
                                      .keep_val = true,
                                      .rowwise = true};

cr_node *cr_log_softmax(cr_graph *g, cr_node *x) {
    return cr_graph_op(g, &cr_op_log_softmax, &x, 1, NULL, 0);
}
