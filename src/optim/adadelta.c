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

#include "optim/config.h"
#include "optim/simd_int.h"

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
    const cr_adadelta_conf *c = conf;
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
