/*
 * rowwise_adagrad.c - Adagrad with one accumulator per table row (FBGEMM's form, tables only).
 *
 *   m += mean(g²);  k = lr / (sqrt(m) + eps);  w = c w - k g
 *
 * Weight decay L2 adds wd w to g before the square, so c = 1 - k wd; DECOUPLE gives c = 1 - lr wd.
 * The mean is the only sum across a row: it runs in eight fixed partial sums, whatever the
 * register width, so every CPU gives the same bits.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/config.h"
#include "optim/row_int.h"

CR_INLINE void block(float *restrict w, const float *restrict g, int n, float c, float k) {
    for (int i = 0; i < n; i++) {
        w[i] = c * w[i] - k * g[i];
    }
}

CR_INLINE void row_body(float *restrict w, float *restrict m, const float *restrict g, int64_t D,
                        float lr, float l2, float decay) {
    *m += cr_sum_squares_of(g, l2, w, D) / (float)D;
    float k = lr / (sqrtf(*m) + CR_ROW_EPS);
    float c = 1.0F - k * l2 - lr * decay;
#define BLOCK(i, len) block(w + (i), g + (i), len, c, k)
    CR_BLOCKS(D, BLOCK);
#undef BLOCK
}
CR_SIMD(row,
        (float *restrict w, float *restrict m, const float *restrict g, int64_t D, float lr,
         float l2, float decay),
        (w, m, g, D, lr, l2, decay))

static void rowwise_adagrad_row(const void *conf, const cr_optim_step *s, float *w, float *state,
                                float *g, int64_t D) {
    const cr_rowwise_adagrad_conf *c = conf;
    float wd = (float)c->weight_decay;
    row(w, state, g, D, (float)s->lr, c->weight_decay_mode == CR_WD_L2 ? wd : 0.0F,
        c->weight_decay_mode == CR_WD_DECOUPLE ? wd : 0.0F);
}

static float rowwise_adagrad_init(const void *conf, int k) {
    (void)k;
    return (float)((const cr_rowwise_adagrad_conf *)conf)->initial_accumulator_value;
}

static const char *const rowwise_adagrad_names[] = {"sum"};
const cr_optim_type cr_optim_rowwise_adagrad = {
    .name = "rowwise_adagrad",
    .row_state = 1,
    .state_names = rowwise_adagrad_names,
    .state_init = rowwise_adagrad_init,
    .row = rowwise_adagrad_row,
};
