/*
 * ftrl.c - FTRL-Proximal (McMahan et al. 2013, algorithm 1), for tables and dense parameters, with
 * an exponent p (learning_rate_power) instead of the paper's root, as in FBGEMM and TorchEasyRec.
 *
 *   s(n) = n^-p;  z += g - (s(n + g²) - s(n)) / α w;  n += g²
 *   w = 0 where |z| <= λ1, else -(z - sign(z) λ1) / ((β + s(n)) / α + λ2);  α is the rate lr
 *
 * w is a function of z and n, and the paper begins with w = z = 0. With TorchEasyRec's rule the
 * first gradient pulls a weight that does not begin with 0 towards 0, the more the larger β and the
 * first n are. keep_first_values avoids this: at its first gradient a weight gets the z whose
 * solution it is. Then first values count, and an element whose gradient is 0 stays as it is.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/fields_int.h"
#include "optim/list.h"
#include "optim/simd_int.h"

typedef struct ftrl_conf { /* only crank has the dense one */
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double learning_rate_power;
    double ftrl_beta;
    double l1_reg, l2_reg;
    double initial_accumulator_value;
    bool keep_first_values;
} ftrl_conf;

#define FTRL(beta, keep, ours)                                                                     \
    CR_FLOAT(ftrl_conf, learning_rate_power, -0.5, -CR_INF, 0, ours,                               \
             "exponent of the summed squares in the rate; -0.5 is the paper's root"),              \
        CR_FLOAT(ftrl_conf, ftrl_beta, beta, 0, CR_INF, ours,                                      \
                 "smooths the learning rate of rare ids"),                                         \
        CR_ALIAS("beta", CR_T_FLOAT, CR_F_OURS, "ftrl_beta"),                                      \
        CR_FLOAT(ftrl_conf, l1_reg, 0, 0, CR_INF, ours,                                            \
                 "L1 penalty: sets small weights to exactly 0, which makes the model sparse"),     \
        CR_ALIAS("l1", CR_T_FLOAT, CR_F_OURS, "l1_reg"),                                           \
        CR_FLOAT(ftrl_conf, l2_reg, 0, 0, CR_INF, ours, "L2 penalty: pulls weights towards 0"),    \
        CR_ALIAS("l2", CR_T_FLOAT, CR_F_OURS, "l2_reg"),                                           \
        CR_FLOAT(ftrl_conf, initial_accumulator_value, 0, 0, CR_INF, ours, CR_HELP_ACC),           \
        CR_BOOL(ftrl_conf, keep_first_values, keep, CR_F_OURS,                                     \
                "start from the first values of the weights, not from 0")
static const cr_field sparse_ftrl_fields[] = {CR_ROW_HEAD(ftrl_conf), FTRL(0, false, 0), CR_END};
static const cr_field dense_ftrl_fields[] = {CR_DENSE_LR(ftrl_conf), FTRL(1, true, CR_F_OURS),
                                             CR_END};
#undef FTRL

const cr_msg cr_optim_row_ftrl_msg = {
    .name = "FusedFTRLOptimizer",
    .help = "FTRL-Proximal on table rows: the rule for wide, sparse linear parts",
    .fields = sparse_ftrl_fields,
    .size = sizeof(ftrl_conf),
};
const cr_msg cr_optim_ftrl_msg = {
    .name = "FTRLOptimizer",
    .help = "FTRL-Proximal on dense parameters",
    .fields = dense_ftrl_fields,
    .size = sizeof(ftrl_conf),
};

typedef struct args {
    float alpha, beta, l1, l2;
    float n0;    /* the first n */
    float power; /* exponent of n */
    bool keep;
} args;

/* element updates one element; s0 and s1 are s(n) and s(n + g²). */
CR_INLINE void element(float *restrict w, float *restrict z, float *restrict n, float g, float n1,
                       float s0, float s1, args a) {
    float z0 = *z, sign = *w > 0 ? a.l1 : *w < 0 ? -a.l1 : 0.0F;
    float begin = -(*w * ((a.beta + s0) / a.alpha + a.l2)) - sign;
    z0 = a.keep && z0 == 0 && *n == a.n0 ? begin : z0;
    float z1 = z0 + (g - (s1 - s0) / a.alpha * *w);
    float over = z1 > a.l1 ? z1 - a.l1 : z1 < -a.l1 ? z1 + a.l1 : 0.0F;
    float div = (a.beta + s1) / a.alpha + a.l2;
    bool move = a.keep ? g != 0 && div > 0 : true;
    float w1 = over != 0 ? -over / div : 0.0F;
    *z = move ? z1 : *z;
    *n = move ? n1 : *n;
    *w = move ? w1 : *w;
}

CR_INLINE void block(float *restrict w, float *restrict z, float *restrict n,
                     const float *restrict g, int len, args a) {
    for (int i = 0; i < len; i++) {
        float n1 = n[i] + g[i] * g[i];
        element(w + i, z + i, n + i, g[i], n1, sqrtf(n[i]), sqrtf(n1), a);
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

/* move_power is for other exponents: it calls the math library for each element. */
static void move_power(float *w, float *z, float *n, const float *g, int64_t len, const args *a) {
    for (int64_t i = 0; i < len; i++) {
        float n1 = n[i] + g[i] * g[i];
        element(w + i, z + i, n + i, g[i], n1, powf(n[i], a->power), powf(n1, a->power), *a);
    }
}

static void step(const void *conf, const cr_optim_step *s, float *w, float *z, float *n,
                 const float *g, int64_t len) {
    const ftrl_conf *c = conf;
    args a = {.alpha = (float)s->lr,
              .beta = (float)c->ftrl_beta,
              .l1 = (float)c->l1_reg,
              .l2 = (float)c->l2_reg,
              .n0 = (float)c->initial_accumulator_value,
              .power = (float)-c->learning_rate_power,
              .keep = c->keep_first_values};
    if (!(a.alpha > 0)) return;
    if (c->learning_rate_power == -0.5)
        move(w, z, n, g, len, &a);
    else
        move_power(w, z, n, g, len, &a);
}
static void ftrl_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                       float *const *state, int64_t n) {
    step(conf, s, w, state[0], state[1], g, n);
}
static void ftrl_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                     int64_t D) {
    step(conf, s, w, state, state + D, g, D);
}
static float ftrl_init(const void *conf, int k) {
    return k == 1 ? (float)((const ftrl_conf *)conf)->initial_accumulator_value : 0;
}

static const char *const names[] = {"z", "n"};
const cr_optim_type cr_optim_ftrl = {
    .name = "ftrl",
    .elem_state = 2,
    .state_names = names,
    .state_init = ftrl_init,
    .dense = ftrl_dense,
    .row = ftrl_row,
};
