/*
 * act.c - activations. The plain ones share one op with a table of kernels; prelu, dice and softmax
 * have parameters or need the whole row.
 */
#include "graph/gradcheck.h"
#include "kern/kern.h"
#include "op/op.h"

typedef struct act {
    cr_act kind;
    float param;
} act;

static void row_infer(cr_node *n) {
    cr_infer_rows(n);
    n->width = n->in[0]->width;
}

static void act_row(const act *a, float *y, const float *x, int64_t n) {
    switch (a->kind) {
    case CR_ACT_RELU: cr_kern->relu(y, x, n); break;
    case CR_ACT_LEAKY: cr_kern->leaky(y, x, a->param, n); break;
    case CR_ACT_SIGMOID: cr_kern->sigmoid(y, x, n); break;
    case CR_ACT_TANH: cr_kern->tanh(y, x, n); break;
    case CR_ACT_GELU: cr_kern->gelu(y, x, n); break;
    case CR_ACT_SILU: cr_kern->silu(y, x, n); break;
    case CR_ACT_ELU: cr_kern->elu(y, x, a->param, n); break;
    case CR_ACT_SOFTPLUS: cr_kern->softplus(y, x, n); break;
    }
}

static void act_row_bwd(const act *a, float *dx, const float *dy, const float *y, const float *x,
                        int64_t n, bool acc) {
    switch (a->kind) {
    case CR_ACT_RELU: cr_kern->relu_bwd(dx, dy, y, n, acc); break;
    case CR_ACT_LEAKY: cr_kern->leaky_bwd(dx, dy, x, a->param, n, acc); break;
    case CR_ACT_SIGMOID: cr_kern->sigmoid_bwd(dx, dy, y, n, acc); break;
    case CR_ACT_TANH: cr_kern->tanh_bwd(dx, dy, y, n, acc); break;
    case CR_ACT_GELU: cr_kern->gelu_bwd(dx, dy, x, n, acc); break;
    case CR_ACT_SILU: cr_kern->silu_bwd(dx, dy, x, n, acc); break;
    case CR_ACT_ELU: cr_kern->elu_bwd(dx, dy, x, a->param, n, acc); break;
    case CR_ACT_SOFTPLUS: cr_kern->softplus_bwd(dx, dy, x, n, acc); break;
    }
}

static void act_infer(cr_node *n) {
    row_infer(n);
    n->zeros = ((const act *)n->attr)->kind == CR_ACT_RELU;
}

/* rows without gaps are one long row; sets its length */
static int64_t long_rows(const cr_node *n, const cr_tile *t, int64_t *len) {
    bool gaps = cr_ld(n) != n->width;
    *len = gaps ? n->width : cr_rows(t, n) * n->width;
    return gaps ? cr_rows(t, n) : 1;
}

static void act_forward(const cr_node *n, cr_tile *t) {
    const float *x = cr_val(t, n->in[0]);
    float *y = cr_val(t, n);
    int64_t ld = cr_ld(n), len; /* the input has the same width, so the same ld */
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

static cr_node *act_example(cr_graph *g, int k) {
    if (k > CR_ACT_SOFTPLUS + 2) return NULL;
    if (k == CR_ACT_SOFTPLUS + 2) /* rows without gaps */
        return cr_activation(g, CR_ACT_TANH, 0, cr_feed(g, 3));
    cr_node *x = cr_feed(g, 21);
    if (k == CR_ACT_SOFTPLUS + 1) { /* an input with several users */
        cr_node *y = cr_activation(g, CR_ACT_TANH, 0, x), *z = cr_activation(g, CR_ACT_SILU, 0, x);
        return cr_add(g, (cr_node *[]){y, z, x}, (float[]){1, 2, 3}, 3);
    }
    return cr_activation(g, (cr_act)k, 0.2f, x);
}

const cr_op_type cr_op_activation = {.name = "activation",
                                     .infer = act_infer,
                                     .forward = act_forward,
                                     .backward = act_backward,
                                     .example = act_example,
                                     .keep_val = true,
                                     .reads_in = true,
                                     .rowwise = true};

cr_node *cr_activation(cr_graph *g, cr_act kind, float param, cr_node *x) {
    act a = {kind, param};
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
    float *out = first ? dx : dy; /* nobody needs dy any more */
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
