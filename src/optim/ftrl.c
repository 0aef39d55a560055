/*
 * ftrl.c - FTRL-Proximal (McMahan et al. 2013, algorithm 1), for tables and dense parameters. Ours.
 *
 *   σ = (sqrt(n + g²) - sqrt(n)) / α;  z += g - σ w;  n += g²
 *   w = 0 where |z| <= λ1, else -(z - sign(z) λ1) / ((β + sqrt(n)) / α + λ2);  α is the rate lr
 *
 * w is a function of z and n, and the paper begins with w = z = n = 0. A weight that does not begin
 * with 0 gets, at its first gradient, the z whose solution it is: then first values count, and for
 * 0 it is the paper's rule. An element whose gradient is 0 stays as it is.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/config.h"
#include "optim/simd_int.h"

typedef struct args {
    float alpha, beta, l1, l2;
} args;

CR_INLINE void block(float *restrict w, float *restrict z, float *restrict n,
                     const float *restrict g, int len, args a) {
    for (int i = 0; i < len; i++) {
        float n1 = n[i] + g[i] * g[i], root = sqrtf(n1);
        float z0 = z[i], sign = w[i] > 0 ? a.l1 : w[i] < 0 ? -a.l1 : 0.0F;
        float begin = -(w[i] * (a.beta / a.alpha + a.l2)) - sign;
        z0 = z0 == 0 && n[i] == 0 ? begin : z0;
        float z1 = z0 + (g[i] - (root - sqrtf(n[i])) / a.alpha * w[i]);
        float over = z1 > a.l1 ? z1 - a.l1 : z1 < -a.l1 ? z1 + a.l1 : 0.0F;
        float div = (a.beta + root) / a.alpha + a.l2;
        bool move = g[i] != 0 && div > 0;
        z[i] = move ? z1 : z[i];
        n[i] = move ? n1 : n[i];
        w[i] = move ? -over / div : w[i];
    }
}
CR_INLINE void move_body(float *restrict w, float *restrict z, float *restrict n,
                         const float *restrict g, int64_t len, const args *p) {
    args a = *p;
#define BLOCK(i, k) block(w + (i), z + (i), n + (i), g + (i), k, a)
    CR_BLOCKS(len, BLOCK);
#undef BLOCK
}
CR_SIMD(move,
        (float *restrict w, float *restrict z, float *restrict n, const float *restrict g,
         int64_t len, const args *p),
        (w, z, n, g, len, p))

static args args_of(const void *conf, const cr_optim_step *s) {
    const cr_ftrl_conf *c = conf;
    return (args){(float)s->lr, (float)c->beta, (float)c->l1, (float)c->l2};
}
static void ftrl_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                       float *const *state, int64_t n) {
    args a = args_of(conf, s);
    if (a.alpha > 0) move(w, state[0], state[1], g, n, &a);
}
static void ftrl_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                     int64_t D) {
    args a = args_of(conf, s);
    if (a.alpha > 0) move(w, state, state + D, g, D, &a);
}

static const char *const names[] = {"z", "n"};
const cr_optim_type cr_optim_ftrl = {
    .name = "ftrl",
    .elem_state = 2,
    .state_names = names,
    .dense = ftrl_dense,
    .row = ftrl_row,
};
