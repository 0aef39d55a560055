/*
 * adadelta.c - Adadelta, torch's form; rows of tables and dense parameters alike.
 *
 *   x = g + wd w;  v = ρ v + (1-ρ) x²;  d = sqrt(u + eps) / sqrt(v + eps) x;  u = ρ u + (1-ρ) d²
 *   w -= lr d
 *
 * The eps stands inside the roots. Rows that the batch does not touch keep u and v.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/fields_int.h"
#include "optim/list.h"
#include "optim/simd_int.h"

typedef struct adadelta_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double rho;
    double eps;
    double weight_decay; /* added to the gradient (L2) */
} adadelta_conf;

#define ADADELTA                                                                                   \
    CR_FLOAT(adadelta_conf, rho, 0.95, 0, 1, 0, CR_HELP_RHO),                                      \
        CR_FLOAT(adadelta_conf, eps, 1e-6, 0, CR_INF, 0, CR_HELP_EPS_IN),                          \
        CR_FLOAT(adadelta_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD_L2)
static const cr_field sparse_adadelta_fields[] = {CR_ROW_HEAD(adadelta_conf), ADADELTA, CR_END};
static const cr_field dense_adadelta_fields[] = {CR_DENSE_LR(adadelta_conf), ADADELTA, CR_END};
#undef ADADELTA

const cr_msg cr_optim_row_adadelta_msg = {
    .name = "FusedAdadeltaOptimizer",
    .help = "Adadelta on table rows",
    .fields = sparse_adadelta_fields,
    .size = sizeof(adadelta_conf),
};
const cr_msg cr_optim_adadelta_msg = {
    .name = "AdadeltaOptimizer",
    .help = "Adadelta on dense parameters",
    .fields = dense_adadelta_fields,
    .size = sizeof(adadelta_conf),
};

typedef struct args {
    float lr, rho, rest, eps, wd; /* rest: 1 - ρ */
} args;

CR_INLINE void block(float *restrict w, float *restrict v, float *restrict u,
                     const float *restrict g, int n, args a) {
    for (int i = 0; i < n; i++) {
        float x = g[i] + a.wd * w[i];
        v[i] = a.rho * v[i] + a.rest * (x * x);
        float d = sqrtf(u[i] + a.eps) / sqrtf(v[i] + a.eps) * x;
        u[i] = a.rho * u[i] + a.rest * (d * d);
        w[i] -= a.lr * d;
    }
}
CR_INLINE void move_body(float *restrict w, float *restrict v, float *restrict u,
                         const float *restrict g, int64_t n, const args *p) {
    args a = *p;
#define BLOCK(i, len) block(w + (i), v + (i), u + (i), g + (i), len, a)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_SIMD(move,
        (float *restrict w, float *restrict v, float *restrict u, const float *restrict g,
         int64_t n, const args *p),
        (w, v, u, g, n, p))

static args args_of(const void *conf, const cr_optim_step *s) {
    const adadelta_conf *c = conf;
    return (args){(float)s->lr, (float)c->rho, (float)(1 - c->rho), (float)c->eps,
                  (float)c->weight_decay};
}
static void adadelta_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                           float *const *state, int64_t n) {
    args a = args_of(conf, s);
    move(w, state[0], state[1], g, n, &a);
}
static void adadelta_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                         int64_t D) {
    args a = args_of(conf, s);
    move(w, state, state + D, g, D, &a);
}

static const char *const names[] = {"square_avg", "acc_delta"};
const cr_optim_type cr_optim_adadelta = {
    .name = "adadelta",
    .elem_state = 2,
    .state_names = names,
    .dense = adadelta_dense,
    .row = adadelta_row,
};
