/*
 * adagrad.c - Adagrad, for dense parameters and table rows.
 *
 *   m += g²;  w -= lr g / (sqrt(m) + eps)
 *
 * The dense form is torch's (eps from the config, L2 decay added to g), the row form FBGEMM's with
 * eps 1e-8. A row that no id of the batch touched is left alone, which is exact for this rule:
 * g = 0 changes nothing.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/config.h"
#include "optim/row_int.h"

CR_INLINE void block(float *restrict w, float *restrict m, const float *restrict g, int n, float lr,
                     float eps, float wd) {
    for (int i = 0; i < n; i++) {
        float x = g[i] + wd * w[i];
        m[i] += x * x;
        w[i] -= lr * x / (sqrtf(m[i]) + eps);
    }
}

CR_INLINE void row_block(float *restrict w, float *restrict m, const float *restrict g, int n,
                         float lr) {
    for (int i = 0; i < n; i++) {
        m[i] += g[i] * g[i];
        w[i] -= lr * g[i] / (sqrtf(m[i]) + CR_ROW_EPS);
    }
}

CR_INLINE void dense_body(float *restrict w, float *restrict m, const float *restrict g, int64_t n,
                          float lr, float eps, float wd) {
#define BLOCK(i, len) block(w + (i), m + (i), g + (i), len, lr, eps, wd)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_SIMD(dense,
        (float *restrict w, float *restrict m, const float *restrict g, int64_t n, float lr,
         float eps, float wd),
        (w, m, g, n, lr, eps, wd))

CR_INLINE void row_body(float *restrict w, float *restrict m, const float *restrict g, int64_t D,
                        float lr) {
#define BLOCK(i, len) row_block(w + (i), m + (i), g + (i), len, lr)
    CR_BLOCKS(D, BLOCK);
#undef BLOCK
}
CR_SIMD(row, (float *restrict w, float *restrict m, const float *restrict g, int64_t D, float lr),
        (w, m, g, D, lr))

static void adagrad_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                          float *const *state, int64_t n) {
    const cr_dense_adagrad_conf *c = conf;
    dense(w, state[0], g, n, (float)s->lr, (float)c->eps, (float)c->weight_decay);
}

static void adagrad_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                        int64_t D) {
    (void)conf;
    row(w, state, g, D, (float)s->lr);
}

/* the two messages keep this member at the same place (config.h) */
static float adagrad_init(const void *conf, int k) {
    (void)k;
    return (float)((const cr_sparse_adagrad_conf *)conf)->initial_accumulator_value;
}
_Static_assert(offsetof(cr_sparse_adagrad_conf, initial_accumulator_value) ==
                   offsetof(cr_dense_adagrad_conf, initial_accumulator_value),
               "adagrad_init reads both messages");

static const char *const adagrad_names[] = {"sum"};
const cr_optim_type cr_optim_adagrad = {
    .name = "adagrad",
    .elem_state = 1,
    .state_names = adagrad_names,
    .state_init = adagrad_init,
    .dense = adagrad_dense,
    .row = adagrad_row,
};
