/*
 * sgd.c - stochastic gradient descent.
 *
 * Dense: torch's momentum form, x = g + wd w; v = μ v + (1-d) x; w -= lr v (nesterov: x + μ v). The
 * first update sets v = x, without dampening. Rows: w -= lr g, no state; so tables use a type of
 * their own, cr_optim_row_sgd, whose records hold weights only. cr_optim_sgd has the row form too:
 * right, but its records would carry an unused plane.
 */
#include "optim/optim.h"

#include "optim/config.h"
#include "optim/simd_int.h"

CR_INLINE void plain_block(float *restrict w, const float *restrict g, int n, float lr, float wd) {
    for (int i = 0; i < n; i++) {
        w[i] -= lr * (g[i] + wd * w[i]);
    }
}
CR_INLINE void plain_body(float *restrict w, const float *restrict g, int64_t n, float lr,
                          float wd) {
#define BLOCK(i, len) plain_block(w + (i), g + (i), len, lr, wd)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_SIMD(plain, (float *restrict w, const float *restrict g, int64_t n, float lr, float wd),
        (w, g, n, lr, wd))

/* one step with momentum; mu_v is 0 and damp 1 on the first update */
CR_INLINE void momentum_block(float *restrict w, float *restrict v, const float *restrict g, int n,
                              float lr, float wd, float mu_v, float damp, float g_part,
                              float v_part) {
    for (int i = 0; i < n; i++) {
        float x = g[i] + wd * w[i];
        v[i] = mu_v * v[i] + damp * x;
        w[i] -= lr * (g_part * x + v_part * v[i]);
    }
}
CR_INLINE void momentum_body(float *restrict w, float *restrict v, const float *restrict g,
                             int64_t n, float lr, float wd, float mu_v, float damp, float g_part,
                             float v_part) {
#define BLOCK(i, len)                                                                              \
    momentum_block(w + (i), v + (i), g + (i), len, lr, wd, mu_v, damp, g_part, v_part)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_SIMD(momentum,
        (float *restrict w, float *restrict v, const float *restrict g, int64_t n, float lr,
         float wd, float mu_v, float damp, float g_part, float v_part),
        (w, v, g, n, lr, wd, mu_v, damp, g_part, v_part))

static void sgd_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                      float *const *state, int64_t n) {
    const cr_dense_sgd_conf *c = conf;
    float lr = (float)s->lr, wd = (float)c->weight_decay, mu = (float)c->momentum;
    if (c->momentum == 0) {
        plain(w, g, n, lr, wd);
        return;
    }
    bool first = s->t <= 1;
    momentum(w, state[0], g, n, lr, wd, first ? 0.0F : mu,
             first ? 1.0F : (float)(1.0 - c->dampening), c->nesterov ? 1.0F : 0.0F,
             c->nesterov ? mu : 1.0F);
}

static void sgd_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                    int64_t D) {
    (void)conf;
    (void)state;
    plain(w, g, D, (float)s->lr, 0.0F);
}

static const char *const sgd_names[] = {"momentum_buffer"};
const cr_optim_type cr_optim_sgd = {
    .name = "sgd",
    .elem_state = 1,
    .state_names = sgd_names,
    .dense = sgd_dense,
    .row = sgd_row,
};
const cr_optim_type cr_optim_row_sgd = {
    .name = "sgd",
    .state_names = sgd_names,
    .row = sgd_row,
};
