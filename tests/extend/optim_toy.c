/*
 * toy.c - an optimizer for tables and dense parameters: plain gradient descent, faster by a factor.
 */
#include "optim/fields_int.h"
#include "optim/list.h"

typedef struct toy_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double factor;
} toy_conf;

static const cr_field fields[] = {
    CR_ROW_HEAD(toy_conf),
    CR_FLOAT(toy_conf, factor, 2, 0, CR_INF, CR_F_OURS, "what the rate is multiplied by"),
    CR_END,
};
const cr_msg cr_optim_toy_msg = {
    .name = "ToyOptimizer",
    .help = "Gradient descent, faster by a factor",
    .ours = true,
    .fields = fields,
    .size = sizeof(toy_conf),
};

static void move(const void *conf, const cr_optim_step *s, float *w, const float *g, int64_t n) {
    float rate = (float)(s->lr * ((const toy_conf *)conf)->factor);
    for (int64_t i = 0; i < n; i++)
        w[i] -= rate * g[i];
}

static void toy_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                      float *const *state, int64_t n) {
    (void)state;
    move(conf, s, w, g, n);
}

static void toy_row(const void *conf, const cr_optim_step *s, float *w, float *state, float *g,
                    int64_t D) {
    (void)state;
    move(conf, s, w, g, D);
}

static const char *const names[] = {NULL};
const cr_optim_type cr_optim_toy = {
    .name = "toy",
    .state_names = names,
    .dense = toy_dense,
    .row = toy_row,
};
