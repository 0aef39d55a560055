/*
 * rmsprop.c - RMSprop, torch's form without momentum; rows of tables and dense parameters alike.
 *
 *   x = g + wd w;  v = α v + (1-α) x²;  w -= lr x / (sqrt(v) + eps)
 *
 * Rows that the batch does not touch keep v.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/fields_int.h"
#include "optim/list.h"
#include "optim/simd_int.h"

typedef struct rmsprop_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double alpha;
    double eps;
    double weight_decay; /* added to the gradient (L2) */
} rmsprop_conf;

#define RMSPROP                                                                                    \
    CR_FLOAT(rmsprop_conf, alpha, 0.99, 0, 1, 0, CR_HELP_ALPHA),                                   \
        CR_FLOAT(rmsprop_conf, eps, 1e-8, 0, CR_INF, 0, CR_HELP_EPS),                              \
        CR_FLOAT(rmsprop_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD_L2)
static const cr_field sparse_rmsprop_fields[] = {CR_ROW_HEAD(rmsprop_conf), RMSPROP, CR_END};
static const cr_field dense_rmsprop_fields[] = {CR_DENSE_LR(rmsprop_conf), RMSPROP, CR_END};
#undef RMSPROP

const cr_msg cr_optim_row_rmsprop_msg = {
    .name = "FusedRMSpropOptimizer",
    .help = "RMSprop on table rows",
    .fields = sparse_rmsprop_fields,
    .size = sizeof(rmsprop_conf),
};
const cr_msg cr_optim_rmsprop_msg = {
    .name = "RMSpropOptimizer",
    .help = "RMSprop on dense parameters",
    .fields = dense_rmsprop_fields,
    .size = sizeof(rmsprop_conf),
};

typedef struct args {
    float lr, alpha, rest, eps, wd; /* rest: 1 - α */
} args;

CR_INLINE void block(float *restrict w, float *restrict v, const float *restrict g, int n, args a) {
    for (int i = 0; i < n; i++) {
        float x = g[i] + a.wd * w[i];
        v[i] = a.alpha * v[i] + a.rest * (x * x);
        w[i] -= a.lr * x / (sqrtf(v[i]) + a.eps);
    }
}
CR_INLINE void move_body(float *restrict w, float *restrict v, const float *restrict g, int64_t n,
                         const args *p) {
    args a = *p;
#define BLOCK(i, len) block(w + (i), v + (i), g + (i), len, a)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_SIMD(move,
        (float *restrict w, float *restrict v, const float *restrict g, int64_t n, const args *p),
        (w, v, g, n, p))

static args args_of(const void *conf, const cr_optim_step *s) {
    const rmsprop_conf *c = conf;
    return (args){(float)s->lr, (float)c->alpha, (float)(1 - c->alpha), (float)c->eps,
                  (float)c->weight_decay};
}
static void rmsprop_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                          float *const *state, int64_t n) {
    args a = args_of(conf, s);
    move(w, state[0], g, n, &a);
}
static void rmsprop_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                        int64_t D) {
    args a = args_of(conf, s);
    move(w, state, g, D, &a);
}

static const char *const names[] = {"square_avg"};
const cr_optim_type cr_optim_rmsprop = {
    .name = "rmsprop",
    .elem_state = 1,
    .state_names = names,
    .dense = rmsprop_dense,
    .row = rmsprop_row,
};
