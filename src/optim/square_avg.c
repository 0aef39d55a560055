/*
 * square_avg.c - RMSprop (without momentum) and Adadelta in torch's forms, which divide by a
 * decaying mean of squares, for rows of tables and dense parameters alike.
 *
 *   x = g + wd w;  v = k v + (1-k) x²
 *   RMSprop:   w -= lr x / (sqrt(v) + eps)
 *   Adadelta:  d = sqrt(u + eps) / sqrt(v + eps) x;  u = k u + (1-k) d²;  w -= lr d
 *
 * Adadelta's eps stands inside the roots. Rows that the batch does not touch keep u and v.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/fields_int.h"
#include "optim/list.h"
#include "optim/simd_int.h"

typedef struct square_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    union {
        double alpha, rho; /* the names that the two rules have for k */
    };
    double eps;
    double weight_decay; /* added to the gradient (L2) */
} square_conf;

#define RULE(id, row_name, dense_name, help_, ...)                                                 \
    static const cr_field row_##id##_fields[] = {CR_ROW_HEAD(square_conf), __VA_ARGS__, CR_END};   \
    static const cr_field dense_##id##_fields[] = {CR_DENSE_LR(square_conf), __VA_ARGS__, CR_END}; \
    const cr_msg cr_optim_row_##id##_msg = {                                                       \
        .name = row_name,                                                                          \
        .help = help_ " on table rows",                                                            \
        .fields = row_##id##_fields,                                                               \
        .size = sizeof(square_conf),                                                               \
    };                                                                                             \
    const cr_msg cr_optim_##id##_msg = {                                                           \
        .name = dense_name,                                                                        \
        .help = help_ " on dense parameters",                                                      \
        .fields = dense_##id##_fields,                                                             \
        .size = sizeof(square_conf),                                                               \
    };
RULE(rmsprop, "FusedRMSpropOptimizer", "RMSpropOptimizer", "RMSprop",
     CR_FLOAT(square_conf, alpha, 0.99, 0, 1, 0, CR_HELP_ALPHA),
     CR_FLOAT(square_conf, eps, 1e-8, 0, CR_INF, 0, CR_HELP_EPS),
     CR_FLOAT(square_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD_L2))
RULE(adadelta, "FusedAdadeltaOptimizer", "AdadeltaOptimizer", "Adadelta",
     CR_FLOAT(square_conf, rho, 0.95, 0, 1, 0, CR_HELP_RHO),
     CR_FLOAT(square_conf, eps, 1e-6, 0, CR_INF, 0, CR_HELP_EPS_IN),
     CR_FLOAT(square_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD_L2))

typedef struct args {
    float lr, keep, rest, eps, wd; /* k, 1 - k */
} args;

static args args_of(const square_conf *c, const cr_optim_step *s) {
    return (args){(float)s->lr, (float)c->alpha, (float)(1 - c->alpha), (float)c->eps,
                  (float)c->weight_decay};
}

CR_INLINE void rmsprop_block(float *restrict w, float *restrict v, const float *restrict g, int n,
                             args a) {
    for (int i = 0; i < n; i++) {
        float x = g[i] + a.wd * w[i];
        v[i] = a.keep * v[i] + a.rest * (x * x);
        w[i] -= a.lr * x / (sqrtf(v[i]) + a.eps);
    }
}
CR_INLINE void adadelta_block(float *restrict w, float *restrict v, float *restrict u,
                              const float *restrict g, int n, args a) {
    for (int i = 0; i < n; i++) {
        float x = g[i] + a.wd * w[i];
        v[i] = a.keep * v[i] + a.rest * (x * x);
        float d = sqrtf(u[i] + a.eps) / sqrtf(v[i] + a.eps) * x;
        u[i] = a.keep * u[i] + a.rest * (d * d);
        w[i] -= a.lr * d;
    }
}

#define PARAMS                                                                                     \
    (float *restrict w, float *restrict v, float *restrict u, const float *restrict g, int64_t n,  \
     const args *p)
CR_INLINE void rmsprop_body PARAMS {
    args a = *p;
    (void)u;
#define BLOCK(i, len) rmsprop_block(w + (i), v + (i), g + (i), len, a)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_INLINE void adadelta_body PARAMS {
    args a = *p;
#define BLOCK(i, len) adadelta_block(w + (i), v + (i), u + (i), g + (i), len, a)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_SIMD(rmsprop, PARAMS, (w, v, u, g, n, p))
CR_SIMD(adadelta, PARAMS, (w, v, u, g, n, p))

/* n_state: v, and u where the rule has it */
static const char *const names[] = {"square_avg", "acc_delta"};
#define TYPE(id, n_state)                                                                          \
    static void id##_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,     \
                           float *const *state, int64_t n) {                                       \
        args a = args_of(conf, s);                                                                 \
        id(w, state[0], (n_state) > 1 ? state[1] : NULL, g, n, &a);                                \
    }                                                                                              \
    static void id##_row(const void *conf, const cr_optim_step *s, float *w, float *state,         \
                         float *g, int64_t D) {                                                    \
        args a = args_of(conf, s);                                                                 \
        id(w, state, (n_state) > 1 ? state + D : NULL, g, D, &a);                                  \
    }                                                                                              \
    const cr_optim_type cr_optim_##id = {                                                          \
        .name = #id,                                                                               \
        .elem_state = n_state,                                                                     \
        .state_names = names,                                                                      \
        .dense = id##_dense,                                                                       \
        .row = id##_row,                                                                           \
    };
TYPE(rmsprop, 1)
TYPE(adadelta, 2)
