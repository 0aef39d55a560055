/*
 * adam.c - Adam, for dense parameters and table rows.
 *
 *   m = β1 m + (1-β1) g;  v = β2 v + (1-β2) g²;  m̂ = m/(1-β1^t);  v̂ = v/(1-β2^t)
 *   dense (torch):  L2 decay is added to g;       w -= lr m̂ / (sqrt(v̂) + eps)
 *   rows (FBGEMM):  decay is decoupled, eps 1e-8; w -= lr (m̂ / (sqrt(v̂) + eps) + wd w)
 *
 * t counts steps, not visits of a row: an untouched row keeps stale m and v ("lazy" Adam), which
 * is not the same as dense Adam over all rows. The powers of β are the same for every row of a
 * step, so prepare computes them once.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/config.h"
#include "optim/simd_int.h"

#define ROW_EPS 1e-8F

/* what a block needs besides the arrays */
typedef struct adam_args {
    float b1, c1; /* β1, 1-β1 */
    float b2, c2;
    float lr; /* dense: lr / (1-β1^t) */
    float eps, wd;
    float bias1, bias2; /* rows: 1-β^t; dense: bias2 = sqrt(1-β2^t) */
} adam_args;

CR_INLINE void dense_block(float *restrict w, float *restrict m, float *restrict v,
                           const float *restrict g, int n, adam_args a) {
    for (int i = 0; i < n; i++) {
        float x = g[i] + a.wd * w[i];
        m[i] = a.b1 * m[i] + a.c1 * x;
        v[i] = a.b2 * v[i] + a.c2 * x * x;
        w[i] -= a.lr * m[i] / (sqrtf(v[i]) / a.bias2 + a.eps);
    }
}
CR_INLINE void dense_body(float *restrict w, float *restrict m, float *restrict v,
                          const float *restrict g, int64_t n, const adam_args *args) {
    adam_args a = *args; /* into registers: stores through w could change *args */
#define BLOCK(i, len) dense_block(w + (i), m + (i), v + (i), g + (i), len, a)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_SIMD(dense,
        (float *restrict w, float *restrict m, float *restrict v, const float *restrict g,
         int64_t n, const adam_args *args),
        (w, m, v, g, n, args))

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
    adam_args a = *args; /* into registers: stores through w could change *args */
#define BLOCK(i, len) row_block(w + (i), m + (i), v + (i), g + (i), len, a)
    CR_BLOCKS(D, BLOCK);
#undef BLOCK
}
CR_SIMD(row,
        (float *restrict w, float *restrict m, float *restrict v, const float *restrict g,
         int64_t D, const adam_args *args),
        (w, m, v, g, D, args))

/* 1 - b^t by repeated squaring: the same bits on every machine, which pow does not promise */
static double bias(double b, int64_t t) {
    double power = 1;
    for (; t > 0; t >>= 1, b *= b) {
        if (t & 1) power *= b;
    }
    return 1 - power;
}

/* both messages have beta1 and beta2 at the same place (config.h) */
_Static_assert(offsetof(cr_sparse_adam_conf, beta1) == offsetof(cr_dense_adam_conf, beta1) &&
                   offsetof(cr_sparse_adam_conf, beta2) == offsetof(cr_dense_adam_conf, beta2),
               "adam_prepare reads both messages");
static void adam_prepare(const void *conf, cr_optim_step *s) {
    const cr_sparse_adam_conf *c = conf;
    s->pre[0] = (float)bias(c->beta1, s->t);
    s->pre[1] = (float)bias(c->beta2, s->t);
}

static void adam_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                       float *const *state, int64_t n) {
    const cr_dense_adam_conf *c = conf;
    adam_args a = {.b1 = (float)c->beta1,
                   .c1 = (float)(1 - c->beta1),
                   .b2 = (float)c->beta2,
                   .c2 = (float)(1 - c->beta2),
                   .lr = (float)(s->lr / bias(c->beta1, s->t)),
                   .eps = (float)c->eps,
                   .wd = (float)c->weight_decay,
                   .bias2 = (float)sqrt(bias(c->beta2, s->t))};
    dense(w, state[0], state[1], g, n, &a);
}

static void adam_row(const void *conf, const cr_optim_step *s, float *rec, float *g, int64_t D) {
    const cr_sparse_adam_conf *c = conf;
    cr_optim_step own;
    if (s->pre[0] == 0) { /* 1 - β1^t is positive for every t >= 1 */
        own = *s;
        adam_prepare(conf, &own);
        s = &own;
    }
    adam_args a = {.b1 = (float)c->beta1,
                   .c1 = (float)(1 - c->beta1),
                   .b2 = (float)c->beta2,
                   .c2 = (float)(1 - c->beta2),
                   .lr = (float)s->lr,
                   .eps = ROW_EPS,
                   .wd = (float)c->weight_decay,
                   .bias1 = s->pre[0],
                   .bias2 = s->pre[1]};
    row(rec, rec + D, rec + 2 * D, g, D, &a);
}

static const char *const adam_names[] = {"exp_avg", "exp_avg_sq"};
const cr_optim_type cr_optim_adam = {
    .name = "adam",
    .elem_state = 2,
    .state_names = adam_names,
    .dense = adam_dense,
    .row = adam_row,
    .prepare = adam_prepare,
};
