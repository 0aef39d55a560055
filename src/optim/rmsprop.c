/*
 * rmsprop.c - RMSprop, torch's form without momentum; rows of tables and dense parameters alike.
 *
 *   x = g + wd w;  v = α v + (1-α) x²;  w -= lr x / (sqrt(v) + eps)
 *
 * Rows that the batch does not touch keep v.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/config.h"
#include "optim/simd_int.h"

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
    const cr_rmsprop_conf *c = conf;
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
