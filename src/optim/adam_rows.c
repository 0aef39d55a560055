/*
 * adam_rows.c - the rules of Adam's family that only table rows have (FBGEMM's forms): LAMB, which
 * scales the step in Adam's direction by the norm of the row, and Adam and LAMB with one second
 * moment per row.
 *
 *   r = m̂ / (sqrt(v̂) + eps) + wd w;  Adam: w -= lr r;  LAMB: w -= lr ‖w‖/‖r‖ r
 *
 * v is per element or, in the partial row-wise rules, one per row, of mean(g²). A row of zeros has
 * the norm 0 and LAMB never moves it: tables that LAMB trains must not begin with zeros. LAMB
 * overwrites the gradient with r, which the caller allows.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/adam_int.h"
#include "optim/list.h"
#include "optim/row_int.h"

static const cr_field fields[] = {
    CR_ROW_HEAD(cr_sparse_adam_conf),
    CR_BETAS(cr_sparse_adam_conf),
    CR_FLOAT(cr_sparse_adam_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD),
    CR_END,
};
const cr_msg cr_optim_lamb_msg = {
    .name = "FusedLAMBOptimizer",
    .help = "Adam scaled by the norms of row and update",
    .fields = fields,
    .size = sizeof(cr_sparse_adam_conf),
    .check = cr_adam_check,
};
const cr_msg cr_optim_partial_lamb_msg = {
    .name = "FusedPartialRowWiseLAMBOptimizer",
    .help = "LAMB with one second moment per row",
    .fields = fields,
    .size = sizeof(cr_sparse_adam_conf),
    .check = cr_adam_check,
};
const cr_msg cr_optim_partial_adam_msg = {
    .name = "FusedPartialRowWiseAdamOptimizer",
    .help = "Adam with one second moment per row",
    .fields = fields,
    .size = sizeof(cr_sparse_adam_conf),
    .check = cr_adam_check,
};

typedef struct args {
    float b1, c1, b2, c2, wd, lr;
    float bias1, bias2;
    float div; /* partial: sqrt(v̂) + eps */
} args;

/* for LAMB: replaces g by r */
CR_INLINE void whole_block(const float *restrict w, float *restrict m, float *restrict v,
                           float *restrict g, int n, args a) {
    for (int i = 0; i < n; i++) {
        m[i] = a.b1 * m[i] + a.c1 * g[i];
        v[i] = a.b2 * v[i] + a.c2 * (g[i] * g[i]);
        g[i] = m[i] / a.bias1 / (sqrtf(v[i] / a.bias2) + CR_ROW_EPS) + a.wd * w[i];
    }
}
CR_INLINE void partial_block(float *restrict w, float *restrict m, float *restrict g, int n, args a,
                             bool lamb) {
    for (int i = 0; i < n; i++) {
        m[i] = a.b1 * m[i] + a.c1 * g[i];
        float r = m[i] / a.bias1 / a.div + a.wd * w[i];
        if (lamb)
            g[i] = r;
        else
            w[i] -= a.lr * r;
    }
}
CR_INLINE void move_block(float *restrict w, const float *restrict r, int n, float k) {
    for (int i = 0; i < n; i++)
        w[i] -= k * r[i];
}

CR_INLINE args args_of(const cr_sparse_adam_conf *c, const cr_optim_step *s) {
    return (args){.b1 = (float)c->beta1,
                  .c1 = (float)(1 - c->beta1),
                  .b2 = (float)c->beta2,
                  .c2 = (float)(1 - c->beta2),
                  .wd = (float)c->weight_decay,
                  .lr = (float)s->lr,
                  .bias1 = s->pre[0],
                  .bias2 = s->pre[1]};
}
CR_INLINE void move(float *restrict w, const float *restrict r, int64_t D, double lr) {
    float ww = cr_sum_squares(w, D), rr = cr_sum_squares(r, D);
    float k = rr > 0 ? (float)lr * sqrtf(ww / rr) : 0.0F;
#define BLOCK(i, len) move_block(w + (i), r + (i), len, k)
    CR_BLOCKS(D, BLOCK);
#undef BLOCK
}

CR_INLINE void whole_body(float *restrict w, float *restrict state, float *restrict g, int64_t D,
                          const cr_sparse_adam_conf *c, const cr_optim_step *s) {
    args a = args_of(c, s);
#define BLOCK(i, len) whole_block(w + (i), state + (i), state + D + (i), g + (i), len, a)
    CR_BLOCKS(D, BLOCK);
#undef BLOCK
    move(w, g, D, s->lr);
}
CR_SIMD(whole,
        (float *restrict w, float *restrict state, float *restrict g, int64_t D,
         const cr_sparse_adam_conf *c, const cr_optim_step *s),
        (w, state, g, D, c, s))

CR_INLINE void partial(float *restrict w, float *restrict state, float *restrict g, int64_t D,
                       const cr_sparse_adam_conf *c, const cr_optim_step *s, bool lamb) {
    args a = args_of(c, s);
    float *v = state + D;
    *v = a.b2 * *v + a.c2 * (cr_sum_squares(g, D) / (float)D);
    a.div = sqrtf(*v / a.bias2) + CR_ROW_EPS;
#define BLOCK(i, len) partial_block(w + (i), state + (i), g + (i), len, a, lamb)
    CR_BLOCKS(D, BLOCK);
#undef BLOCK
    if (lamb) move(w, g, D, s->lr);
}
CR_INLINE void partial_lamb_body(float *restrict w, float *restrict state, float *restrict g,
                                 int64_t D, const cr_sparse_adam_conf *c, const cr_optim_step *s) {
    partial(w, state, g, D, c, s, true);
}
CR_INLINE void partial_adam_body(float *restrict w, float *restrict state, float *restrict g,
                                 int64_t D, const cr_sparse_adam_conf *c, const cr_optim_step *s) {
    partial(w, state, g, D, c, s, false);
}
CR_SIMD(partial_lamb,
        (float *restrict w, float *restrict state, float *restrict g, int64_t D,
         const cr_sparse_adam_conf *c, const cr_optim_step *s),
        (w, state, g, D, c, s))
CR_SIMD(partial_adam,
        (float *restrict w, float *restrict state, float *restrict g, int64_t D,
         const cr_sparse_adam_conf *c, const cr_optim_step *s),
        (w, state, g, D, c, s))

#define ROW(name, rule)                                                                            \
    static void name(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,   \
                     int64_t D) {                                                                  \
        cr_optim_step own = *s;                                                                    \
        if (own.pre[0] == 0) cr_adam_prepare(conf, &own);                                          \
        rule(w, state, g, D, conf, &own);                                                          \
    }
ROW(lamb_row, whole)
ROW(partial_lamb_row, partial_lamb)
ROW(partial_adam_row, partial_adam)

static const char *const names[] = {"exp_avg", "exp_avg_sq"};
const cr_optim_type cr_optim_lamb = {
    .name = "lamb",
    .whole_row = true,
    .elem_state = 2,
    .state_names = names,
    .row = lamb_row,
    .prepare = cr_adam_prepare,
};
const cr_optim_type cr_optim_partial_lamb = {
    .name = "partial_rowwise_lamb",
    .whole_row = true,
    .elem_state = 1,
    .row_state = 1,
    .state_names = names,
    .row = partial_lamb_row,
    .prepare = cr_adam_prepare,
};
const cr_optim_type cr_optim_partial_adam = {
    .name = "partial_rowwise_adam",
    .whole_row = true,
    .elem_state = 1,
    .row_state = 1,
    .state_names = names,
    .row = partial_adam_row,
    .prepare = cr_adam_prepare,
};
