/*
 * partial_adam.c - Adam with one second moment per table row (FBGEMM's partial_rowwise_adam).
 *
 *   m = β1 m + (1-β1) g;  v = β2 v + (1-β2) mean(g²), one v per row
 *   w -= lr (m̂ / (sqrt(v̂) + eps) + wd w)
 *
 * Nearly half the state of Adam. Rows that the batch does not touch keep m and v.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/adam_int.h"
#include "optim/list.h"
#include "optim/row_int.h"

static const cr_field partial_adam_fields[] = {
    CR_ROW_HEAD(cr_sparse_adam_conf),
    CR_BETAS(cr_sparse_adam_conf),
    CR_FLOAT(cr_sparse_adam_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD),
    CR_END,
};
const cr_msg cr_optim_partial_adam_msg = {
    .name = "FusedPartialRowWiseAdamOptimizer",
    .help = "Adam with one second moment per row",
    .fields = partial_adam_fields,
    .size = sizeof(cr_sparse_adam_conf),
    .check = cr_adam_check,
};

typedef struct args {
    float b1, c1, lr, wd;
    float bias1;
    float div; /* sqrt(v̂) + eps */
} args;

CR_INLINE void block(float *restrict w, float *restrict m, const float *restrict g, int n, args a) {
    for (int i = 0; i < n; i++) {
        m[i] = a.b1 * m[i] + a.c1 * g[i];
        w[i] -= a.lr * (m[i] / a.bias1 / a.div + a.wd * w[i]);
    }
}
CR_INLINE void row_body(float *restrict w, float *restrict m, float *restrict v,
                        const float *restrict g, int64_t D, const cr_sparse_adam_conf *c,
                        const cr_optim_step *s) {
    *v = (float)c->beta2 * *v + (float)(1 - c->beta2) * (cr_sum_squares(g, D) / (float)D);
    args a = {.b1 = (float)c->beta1,
              .c1 = (float)(1 - c->beta1),
              .lr = (float)s->lr,
              .wd = (float)c->weight_decay,
              .bias1 = s->pre[0],
              .div = sqrtf(*v / s->pre[1]) + CR_ROW_EPS};
#define BLOCK(i, len) block(w + (i), m + (i), g + (i), len, a)
    CR_BLOCKS(D, BLOCK);
#undef BLOCK
}
CR_SIMD(row,
        (float *restrict w, float *restrict m, float *restrict v, const float *restrict g,
         int64_t D, const cr_sparse_adam_conf *c, const cr_optim_step *s),
        (w, m, v, g, D, c, s))

static void partial_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                        int64_t D) {
    cr_optim_step own = *s;
    if (own.pre[0] == 0) cr_adam_prepare(conf, &own);
    row(w, state, state + D, g, D, conf, &own);
}

static const char *const names[] = {"exp_avg", "exp_avg_sq"};
const cr_optim_type cr_optim_partial_adam = {
    .name = "partial_rowwise_adam",
    .elem_state = 1,
    .row_state = 1,
    .state_names = names,
    .row = partial_row,
    .prepare = cr_adam_prepare,
};
