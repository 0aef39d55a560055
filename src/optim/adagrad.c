/*
 * adagrad.c - Adagrad, for dense parameters and table rows.
 *
 *   m += g²;  w -= lr g / (sqrt(m) + eps)
 *
 * The dense form is torch's (eps from the config, L2 decay added to g), the row form is FBGEMM's
 * with eps 1e-8. A row that no id of the batch touched does not change, which is exact for this
 * rule: g = 0 changes nothing.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/fields_int.h"
#include "optim/list.h"
#include "optim/row_int.h"

typedef struct sparse_adagrad_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double initial_accumulator_value;
} sparse_adagrad_conf;
typedef struct dense_adagrad_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double initial_accumulator_value;
    double weight_decay;
    double eps;
} dense_adagrad_conf;

static const cr_field sparse_adagrad_fields[] = {
    CR_ROW_HEAD(sparse_adagrad_conf),
    CR_FLOAT(sparse_adagrad_conf, initial_accumulator_value, 0, 0, CR_INF, 0, CR_HELP_ACC),
    CR_END,
};
static const cr_field dense_adagrad_fields[] = {
    CR_DENSE_LR(dense_adagrad_conf),
    CR_FLOAT(dense_adagrad_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD_L2),
    CR_FLOAT(dense_adagrad_conf, initial_accumulator_value, 0, 0, CR_INF, 0, CR_HELP_ACC),
    CR_FLOAT(dense_adagrad_conf, eps, 1e-10, 0, CR_INF, 0, CR_HELP_EPS),
    CR_K_FUSED,
    CR_END,
};
const cr_msg cr_optim_row_adagrad_msg = {
    .name = "FusedAdagradOptimizer",
    .help = "Adagrad with one sum of squares per weight",
    .fields = sparse_adagrad_fields,
    .size = sizeof(sparse_adagrad_conf),
};
const cr_msg cr_optim_adagrad_msg = {
    .name = "AdagradOptimizer",
    .help = "Adagrad on dense parameters",
    .fields = dense_adagrad_fields,
    .size = sizeof(dense_adagrad_conf),
};

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

CR_INLINE void rows_body(const cr_optim_rows *r, float lr) {
#define ROW(w, m, g, D) row_body(w, m, g, D, lr)
    CR_EACH_ROW(r, ROW);
#undef ROW
}
CR_SIMD(rows, (const cr_optim_rows *r, float lr), (r, lr))

static void adagrad_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                          float *const *state, int64_t n) {
    const dense_adagrad_conf *c = conf;
    dense(w, state[0], g, n, (float)s->lr, (float)c->eps, (float)c->weight_decay);
}

static void adagrad_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                        int64_t D) {
    (void)conf;
    row(w, state, g, D, (float)s->lr);
}

static void adagrad_rows(const void *conf, const cr_optim_step *s, const cr_optim_rows *r) {
    (void)conf;
    rows(r, (float)s->lr);
}

/* The two messages have this member at the same place (config.h). */
static float adagrad_init(const void *conf, int k) {
    (void)k;
    return (float)((const sparse_adagrad_conf *)conf)->initial_accumulator_value;
}
_Static_assert(offsetof(sparse_adagrad_conf, initial_accumulator_value) ==
                   offsetof(dense_adagrad_conf, initial_accumulator_value),
               "adagrad_init reads both messages");

static const char *const adagrad_names[] = {"sum"};
const cr_optim_type cr_optim_adagrad = {
    .name = "adagrad",
    .elem_state = 1,
    .state_names = adagrad_names,
    .state_init = adagrad_init,
    .dense = adagrad_dense,
    .row = adagrad_row,
    .rows = adagrad_rows,
};
