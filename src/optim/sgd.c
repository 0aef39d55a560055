/*
 * sgd.c - stochastic gradient descent.
 *
 * The dense form is torch's with momentum, x = g + wd w; v = μ v + (1-d) x; w -= lr v (nesterov: x
 * + μ v). The first update sets v = x, without dampening. The row form is w -= lr g without state,
 * so tables use a separate type, cr_optim_row_sgd, whose records hold only weights. cr_optim_sgd
 * has the row form too: its result is right, but its records would carry an unused plane.
 */
#include "optim/optim.h"

#include "optim/fields_int.h"
#include "optim/list.h"
#include "optim/simd_int.h"

typedef struct sparse_sgd_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
} sparse_sgd_conf;
typedef struct dense_sgd_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double momentum;
    double weight_decay;
    double dampening;
    bool nesterov;
} dense_sgd_conf;

static const cr_field sparse_sgd_fields[] = {CR_ROW_HEAD(sparse_sgd_conf), CR_END};
static const cr_field dense_sgd_fields[] = {
    CR_DENSE_LR(dense_sgd_conf),
    CR_FLOAT(dense_sgd_conf, momentum, 0.9, 0, CR_INF, 0, CR_HELP_MOMENTUM),
    CR_FLOAT(dense_sgd_conf, weight_decay, 0, 0, CR_INF, 0, CR_HELP_WD_L2),
    CR_FLOAT(dense_sgd_conf, dampening, 0, -CR_INF, CR_INF, 0,
             "share of the new gradient left out of the momentum"),
    CR_BOOL(dense_sgd_conf, nesterov, false, 0, "look one momentum step ahead"),
    CR_K_FUSED,
    CR_END,
};
static void dense_sgd_check(const void *self, cr_diag *diag) {
    const dense_sgd_conf *c = self;
    if (c->nesterov && (c->momentum <= 0 || c->dampening != 0))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "nesterov"),
                    "nesterov needs a momentum above 0 and no dampening; set them or leave it out");
}
const cr_msg cr_optim_row_sgd_msg = {
    .name = "FusedSGDOptimizer",
    .help = "Plain gradient descent on table rows",
    .fields = sparse_sgd_fields,
    .size = sizeof(sparse_sgd_conf),
};
const cr_msg cr_optim_sgd_msg = {
    .name = "SGDOptimizer",
    .help = "Gradient descent with momentum",
    .fields = dense_sgd_fields,
    .size = sizeof(dense_sgd_conf),
    .check = dense_sgd_check,
};

CR_INLINE void plain_block(float *restrict w, const float *restrict g, int n, float lr, float wd) {
    for (int i = 0; i < n; i++) {
        w[i] -= lr * (g[i] + wd * w[i]);
    }
}
CR_INLINE void plain_body(float *restrict w, const float *restrict g, int64_t n, float lr,
                          float wd) {
#define BLOCK(i, len) plain_block(w + (i), g + (i), len, lr, wd)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_SIMD(plain, (float *restrict w, const float *restrict g, int64_t n, float lr, float wd),
        (w, g, n, lr, wd))

/* momentum_block makes one step with momentum; mu_v is 0 and damp is 1 on the first update. */
CR_INLINE void momentum_block(float *restrict w, float *restrict v, const float *restrict g, int n,
                              float lr, float wd, float mu_v, float damp, float g_part,
                              float v_part) {
    for (int i = 0; i < n; i++) {
        float x = g[i] + wd * w[i];
        v[i] = mu_v * v[i] + damp * x;
        w[i] -= lr * (g_part * x + v_part * v[i]);
    }
}
CR_INLINE void momentum_body(float *restrict w, float *restrict v, const float *restrict g,
                             int64_t n, float lr, float wd, float mu_v, float damp, float g_part,
                             float v_part) {
#define BLOCK(i, len)                                                                              \
    momentum_block(w + (i), v + (i), g + (i), len, lr, wd, mu_v, damp, g_part, v_part)
    CR_BLOCKS(n, BLOCK);
#undef BLOCK
}
CR_SIMD(momentum,
        (float *restrict w, float *restrict v, const float *restrict g, int64_t n, float lr,
         float wd, float mu_v, float damp, float g_part, float v_part),
        (w, v, g, n, lr, wd, mu_v, damp, g_part, v_part))

static void sgd_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                      float *const *state, int64_t n) {
    const dense_sgd_conf *c = conf;
    float lr = (float)s->lr, wd = (float)c->weight_decay, mu = (float)c->momentum;
    if (c->momentum == 0) {
        plain(w, g, n, lr, wd);
        return;
    }
    bool first = s->t <= 1;
    momentum(w, state[0], g, n, lr, wd, first ? 0.0F : mu,
             first ? 1.0F : (float)(1.0 - c->dampening), c->nesterov ? 1.0F : 0.0F,
             c->nesterov ? mu : 1.0F);
}

static void sgd_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                    int64_t D) {
    (void)conf;
    (void)state;
    plain(w, g, D, (float)s->lr, 0.0F);
}

CR_INLINE void rows_body(const cr_optim_rows *r, float lr) {
#define ROW(w, state, g, D) (void)(state), plain_body(w, g, D, lr, 0.0F)
    CR_EACH_ROW(r, ROW);
#undef ROW
}
CR_SIMD(rows, (const cr_optim_rows *r, float lr), (r, lr))

static void sgd_rows(const void *conf, const cr_optim_step *s, const cr_optim_rows *r) {
    (void)conf;
    rows(r, (float)s->lr);
}

static const char *const sgd_names[] = {"momentum_buffer"};
const cr_optim_type cr_optim_sgd = {
    .name = "sgd",
    .elem_state = 1,
    .state_names = sgd_names,
    .dense = sgd_dense,
    .row = sgd_row,
};
const cr_optim_type cr_optim_row_sgd = {
    .name = "sgd",
    .state_names = sgd_names,
    .row = sgd_row,
    .rows = sgd_rows,
};
