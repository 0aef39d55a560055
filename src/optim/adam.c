/*
 * adam.c - Adam and AdamW, for dense parameters and table rows.
 *
 *   m = β1 m + (1-β1) g;  v = β2 v + (1-β2) g²;  m̂ = m/(1-β1^t);  v̂ = v/(1-β2^t)
 *   dense (torch):  L2 decay is added to g (adam) or w -= lr wd w first (adamw);
 *                   w -= lr m̂ / (sqrt(v̂) + eps); amsgrad: the largest v so far instead of v
 *   rows (FBGEMM):  decay is decoupled, eps 1e-8; w -= lr (m̂ / (sqrt(v̂) + eps) + wd w)
 *
 * t counts steps, not visits of a row. A row that the batch does not touch keeps old m and v, which
 * is not the same as Adam over all rows. cr_optim_adam_all_rows is Adam over all rows: every row
 * moves at every step. There m and v of a row that is never seen again shrink for ever, and floats
 * below the normal range are very slow, so they become 0. The powers of β are the same for every
 * row of a step, so prepare computes them once.
 */
#include "optim/optim.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "optim/adam_int.h"
#include "optim/list.h"
#include "optim/row_int.h"

typedef enum adam_mode { ADAM_LAZY = 0, ADAM_DENSE = 1 } adam_mode;
typedef struct dense_adam_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double beta1, beta2;
    double weight_decay; /* adam: added to the gradient (L2); adamw: decoupled */
    double eps;
    bool amsgrad;
} dense_adam_conf; /* also AdamW */
static const cr_enum_value adam_modes[] = {
    {"LAZY", ADAM_LAZY, "only rows that the batch touches move", NULL},
    {"DENSE", ADAM_DENSE, "every row of the table moves at every step, as torch's Adam", NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_field sparse_adam_fields[] = {
    CR_ROW_HEAD(cr_sparse_adam_conf),
    CR_BETAS(cr_sparse_adam_conf),
    CR_FLOAT(cr_sparse_adam_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD),
    CR_ENUM(cr_sparse_adam_conf, mode, adam_modes, ADAM_LAZY, CR_F_OURS,
            "which rows move: LAZY those of the batch, DENSE all"),
    CR_END,
};
static const cr_field dense_adam_fields[] = {
    CR_DENSE_LR(dense_adam_conf),
    CR_BETAS(dense_adam_conf),
    CR_FLOAT(dense_adam_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD_L2),
    CR_FLOAT(dense_adam_conf, eps, 1e-8, 0, CR_INF, 0, CR_HELP_EPS),
    CR_BOOL(dense_adam_conf, amsgrad, false, 0, CR_HELP_AMSGRAD),
    CR_K_FUSED,
    CR_END,
};
static const cr_field adamw_fields[] = {
    CR_DENSE_LR(dense_adam_conf),
    CR_BETAS(dense_adam_conf),
    CR_FLOAT(dense_adam_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD),
    CR_FLOAT(dense_adam_conf, eps, 1e-8, 0, CR_INF, 0, CR_HELP_EPS),
    CR_BOOL(dense_adam_conf, amsgrad, false, 0, CR_HELP_AMSGRAD),
    CR_K_FUSED,
    CR_END,
};
void cr_adam_check(const void *self, cr_diag *diag) {
    const cr_sparse_adam_conf *c = self;
    if (c->beta1 == 1 || c->beta2 == 1)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, c->beta1 == 1 ? "beta1" : "beta2"),
                    "%s must be below 1: with 1 no gradient would count; leave it out for %s",
                    c->beta1 == 1 ? "beta1" : "beta2", c->beta1 == 1 ? "0.9" : "0.999");
}
const cr_msg cr_optim_row_adam_msg = {
    .name = "FusedAdamOptimizer",
    .help = "Adam on the rows a batch touches",
    .fields = sparse_adam_fields,
    .size = sizeof(cr_sparse_adam_conf),
    .check = cr_adam_check,
};
const cr_msg cr_optim_adam_msg = {
    .name = "AdamOptimizer",
    .help = "Adam on dense parameters",
    .fields = dense_adam_fields,
    .size = sizeof(dense_adam_conf),
    .check = cr_adam_check,
};
const cr_msg cr_optim_adamw_msg = {
    .name = "AdamWOptimizer",
    .help = "Adam with weight decay apart from the gradient",
    .fields = adamw_fields,
    .size = sizeof(dense_adam_conf),
    .check = cr_adam_check,
};

/* The numbers that a block needs besides the arrays. */
typedef struct adam_args {
    float b1, c1; /* β1, 1-β1 */
    float b2, c2;
    float lr; /* dense: lr / (1-β1^t) */
    float eps, wd;
    float shrink;       /* dense: factor of w before the step */
    float bias1, bias2; /* rows: 1-β^t; dense: bias2 = sqrt(1-β2^t) */
} adam_args;

CR_INLINE void dense_block(float *restrict w, float *restrict m, float *restrict v,
                           const float *restrict g, int n, adam_args a) {
    for (int i = 0; i < n; i++) {
        float x = g[i] + a.wd * w[i], y = a.shrink * w[i];
        m[i] = a.b1 * m[i] + a.c1 * x;
        v[i] = a.b2 * v[i] + a.c2 * x * x;
        w[i] = y - a.lr * m[i] / (sqrtf(v[i]) / a.bias2 + a.eps);
    }
}
CR_INLINE void dense_body(float *restrict w, float *restrict m, float *restrict v,
                          const float *restrict g, int64_t n, const adam_args *args) {
    adam_args a = *args; /* a copy in registers: stores through w could change *args */
#define BLOCK(i, len) dense_block(w + (i), m + (i), v + (i), g + (i), len, a)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_SIMD(dense,
        (float *restrict w, float *restrict m, float *restrict v, const float *restrict g,
         int64_t n, const adam_args *args),
        (w, m, v, g, n, args))

CR_INLINE void max_block(float *restrict w, float *restrict m, float *restrict v,
                         float *restrict top, const float *restrict g, int n, adam_args a) {
    for (int i = 0; i < n; i++) {
        float x = g[i] + a.wd * w[i], y = a.shrink * w[i];
        m[i] = a.b1 * m[i] + a.c1 * x;
        v[i] = a.b2 * v[i] + a.c2 * x * x;
        top[i] = v[i] > top[i] ? v[i] : top[i];
        w[i] = y - a.lr * m[i] / (sqrtf(top[i]) / a.bias2 + a.eps);
    }
}
CR_INLINE void max_body(float *restrict w, float *restrict m, float *restrict v,
                        float *restrict top, const float *restrict g, int64_t n,
                        const adam_args *args) {
    adam_args a = *args;
#define BLOCK(i, len) max_block(w + (i), m + (i), v + (i), top + (i), g + (i), len, a)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_SIMD(max,
        (float *restrict w, float *restrict m, float *restrict v, float *restrict top,
         const float *restrict g, int64_t n, const adam_args *args),
        (w, m, v, top, g, n, args))

CR_INLINE void row_block(float *restrict w, float *restrict m, float *restrict v,
                         const float *restrict g, int n, adam_args a) {
    for (int i = 0; i < n; i++) {
        m[i] = a.b1 * m[i] + a.c1 * g[i];
        v[i] = a.b2 * v[i] + a.c2 * (g[i] * g[i]);
        w[i] -= a.lr * (m[i] / a.bias1 / (sqrtf(v[i] / a.bias2) + a.eps) + a.wd * w[i]);
    }
}
CR_INLINE void row_body(float *restrict w, float *restrict m, float *restrict v,
                        const float *restrict g, int64_t D, const adam_args *args) {
    adam_args a = *args; /* a copy in registers: stores through w could change *args */
#define BLOCK(i, len) row_block(w + (i), m + (i), v + (i), g + (i), len, a)
    CR_BLOCKS(D, BLOCK);
#undef BLOCK
}
CR_SIMD(row,
        (float *restrict w, float *restrict m, float *restrict v, const float *restrict g,
         int64_t D, const adam_args *args),
        (w, m, v, g, D, args))

CR_INLINE void all_block(float *restrict w, float *restrict m, float *restrict v,
                         const float *restrict g, int n, adam_args a) {
    for (int i = 0; i < n; i++) {
        float x = a.b1 * m[i] + a.c1 * g[i], y = a.b2 * v[i] + a.c2 * (g[i] * g[i]);
        m[i] = fabsf(x) < FLT_MIN / FLT_EPSILON ? 0.0F : x;
        v[i] = y < FLT_MIN / FLT_EPSILON ? 0.0F : y;
        w[i] -= a.lr * (m[i] / a.bias1 / (sqrtf(v[i] / a.bias2) + a.eps) + a.wd * w[i]);
    }
}
/* all_zero: most rows of a large table have not been seen yet, and need not be written when they
 * stay as they are. Bits are compared, so a row with -0 takes the long way to the same result. */
static bool all_zero(const float *x, int64_t n) {
    uint64_t any = 0, bits[4];
    int64_t i = 0;
    for (; i + 8 <= n && !any; i += 8) {
        memcpy(bits, x + i, sizeof(bits));
        any = (bits[0] | bits[1]) | (bits[2] | bits[3]);
    }
    for (; i < n && !any; i++) {
        uint32_t one;
        memcpy(&one, x + i, sizeof(one));
        any = one;
    }
    return any == 0;
}
CR_INLINE void all_body(float *restrict w, float *restrict m, float *restrict v,
                        const float *restrict g, int64_t D, const adam_args *args) {
    adam_args a = *args;
#define BLOCK(i, len) all_block(w + (i), m + (i), v + (i), g + (i), len, a)
    CR_BLOCKS(D, BLOCK);
#undef BLOCK
}
CR_SIMD(all,
        (float *restrict w, float *restrict m, float *restrict v, const float *restrict g,
         int64_t D, const adam_args *args),
        (w, m, v, g, D, args))

/* Both messages have beta1 and beta2 at the same place (config.h). */
_Static_assert(offsetof(cr_sparse_adam_conf, beta1) == offsetof(dense_adam_conf, beta1) &&
                   offsetof(cr_sparse_adam_conf, beta2) == offsetof(dense_adam_conf, beta2),
               "cr_adam_prepare reads both messages");
void cr_adam_prepare(const void *conf, cr_optim_step *s) {
    const cr_sparse_adam_conf *c = conf;
    s->pre[0] = (float)cr_adam_bias(c->beta1, s->t);
    s->pre[1] = (float)cr_adam_bias(c->beta2, s->t);
}

static void dense_step(const dense_adam_conf *c, const cr_optim_step *s, float *w, const float *g,
                       float *const *state, int64_t n, bool decoupled) {
    adam_args a = {.b1 = (float)c->beta1,
                   .c1 = (float)(1 - c->beta1),
                   .b2 = (float)c->beta2,
                   .c2 = (float)(1 - c->beta2),
                   .lr = (float)(s->lr / cr_adam_bias(c->beta1, s->t)),
                   .eps = (float)c->eps,
                   .wd = decoupled ? 0 : (float)c->weight_decay,
                   .shrink = decoupled ? (float)(1 - s->lr * c->weight_decay) : 1,
                   .bias2 = (float)sqrt(cr_adam_bias(c->beta2, s->t))};
    if (c->amsgrad)
        max(w, state[0], state[1], state[2], g, n, &a);
    else
        dense(w, state[0], state[1], g, n, &a);
}
static void adam_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                       float *const *state, int64_t n) {
    dense_step(conf, s, w, g, state, n, false);
}
static void adamw_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                        float *const *state, int64_t n) {
    dense_step(conf, s, w, g, state, n, true);
}

static adam_args row_args(const cr_sparse_adam_conf *c, const cr_optim_step *s) {
    cr_optim_step own = *s;
    if (own.pre[0] == 0) cr_adam_prepare(c, &own); /* 1 - β1^t is positive for every t >= 1 */
    return (adam_args){.b1 = (float)c->beta1,
                       .c1 = (float)(1 - c->beta1),
                       .b2 = (float)c->beta2,
                       .c2 = (float)(1 - c->beta2),
                       .lr = (float)s->lr,
                       .eps = CR_ROW_EPS,
                       .wd = (float)c->weight_decay,
                       .bias1 = own.pre[0],
                       .bias2 = own.pre[1]};
}
static void adam_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                     int64_t D) {
    adam_args a = row_args(conf, s);
    row(w, state, state + D, g, D, &a);
}
static void adam_any_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                         int64_t D) {
    const cr_sparse_adam_conf *c = conf;
    if (c->weight_decay == 0 && all_zero(state, 2 * D) && all_zero(g, D)) return;
    adam_args a = row_args(conf, s);
    all(w, state, state + D, g, D, &a);
}

static const char *const adam_names[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
static const cr_optim_type adam_max = {.name = "adam",
                                       .elem_state = 3,
                                       .state_names = adam_names,
                                       .dense = adam_dense};
static const cr_optim_type adamw_max = {.name = "adamw",
                                        .elem_state = 3,
                                        .state_names = adam_names,
                                        .dense = adamw_dense};
static const cr_optim_type *adam_resolve(const void *conf) {
    return ((const dense_adam_conf *)conf)->amsgrad ? &adam_max : &cr_optim_adam;
}
static const cr_optim_type *adamw_resolve(const void *conf) {
    return ((const dense_adam_conf *)conf)->amsgrad ? &adamw_max : &cr_optim_adamw;
}
static const cr_optim_type *row_resolve(const void *conf) {
    return ((const cr_sparse_adam_conf *)conf)->mode == ADAM_DENSE ? &cr_optim_adam_all_rows
                                                                   : &cr_optim_row_adam;
}

const cr_optim_type cr_optim_adam = {
    .name = "adam",
    .elem_state = 2,
    .state_names = adam_names,
    .dense = adam_dense,
    .row = adam_row,
    .prepare = cr_adam_prepare,
    .resolve = adam_resolve,
};
const cr_optim_type cr_optim_adamw = {
    .name = "adamw",
    .elem_state = 2,
    .state_names = adam_names,
    .dense = adamw_dense,
    .resolve = adamw_resolve,
};
const cr_optim_type cr_optim_row_adam = {
    .name = "adam",
    .elem_state = 2,
    .state_names = adam_names,
    .row = adam_row,
    .prepare = cr_adam_prepare,
    .resolve = row_resolve,
};
const cr_optim_type cr_optim_adam_all_rows = {
    .name = "adam over all rows",
    .elem_state = 2,
    .state_names = adam_names,
    .row = adam_any_row,
    .prepare = cr_adam_prepare,
    .every_row = true,
};
