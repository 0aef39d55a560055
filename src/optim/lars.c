/*
 * lars.c - LARS-SGD on table rows: momentum with one rate per row, computed from norms (FBGEMM's
 * form).
 *
 *   k = lr η ‖w‖ / (‖g‖ + wd ‖w‖), η = 0.001;  m = μ m + k (g + wd w);  w -= m
 *
 * A row of zeros has k = 0 and moves only by its momentum.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/fields_int.h"
#include "optim/list.h"
#include "optim/row_int.h"

typedef struct lars_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double momentum;
    double weight_decay;
} lars_conf;

static const cr_field lars_sgd_fields[] = {
    CR_ROW_HEAD(lars_conf),
    CR_FLOAT(lars_conf, momentum, 0.9, 0, 1, 0, CR_HELP_MOMENTUM),
    CR_FLOAT(lars_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD_L2),
    CR_END,
};
const cr_msg cr_optim_lars_msg = {
    .name = "FusedLarsSGDOptimizer",
    .help = "Momentum SGD with a rate per row from the norms",
    .fields = lars_sgd_fields,
    .size = sizeof(lars_conf),
};

#define ETA 0.001F

CR_INLINE void block(float *restrict w, float *restrict m, const float *restrict g, int n, float k,
                     float mu, float wd) {
    for (int i = 0; i < n; i++) {
        m[i] = mu * m[i] + k * (g[i] + wd * w[i]);
        w[i] -= m[i];
    }
}
CR_INLINE void row_body(float *restrict w, float *restrict m, const float *restrict g, int64_t D,
                        float lr, float mu, float wd) {
    float norm_w = sqrtf(cr_sum_squares(w, D)), norm_g = sqrtf(cr_sum_squares(g, D));
    float div = norm_g + wd * norm_w;
    float k = div > 0 ? lr * ETA * norm_w / div : 0.0F;
#define BLOCK(i, len) block(w + (i), m + (i), g + (i), len, k, mu, wd)
    CR_BLOCKS(D, BLOCK);
#undef BLOCK
}
CR_SIMD(row,
        (float *restrict w, float *restrict m, const float *restrict g, int64_t D, float lr,
         float mu, float wd),
        (w, m, g, D, lr, mu, wd))

static void lars_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                     int64_t D) {
    const lars_conf *c = conf;
    row(w, state, g, D, (float)s->lr, (float)c->momentum, (float)c->weight_decay);
}

static const char *const names[] = {"momentum_buffer"};
const cr_optim_type cr_optim_lars = {
    .name = "lars_sgd",
    .whole_row = true,
    .elem_state = 1,
    .state_names = names,
    .row = lars_row,
};
