/*
 * grda.c - generalized regularized dual averaging (Chao and Cheng 2019), for dense parameters: the
 * rule by which AutoFIS finds the pairs of fields that matter.
 *
 *   a_1 = w_0 - lr g;  a += -lr g
 *   w = sign(a) max(|a| - c lr^(1/2 + mu) t^mu, 0)
 *
 * The limit grows from step to step, so weights whose gradients do not hold against it become
 * exactly 0 and stay there until a has grown beyond the limit again.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/fields_int.h"
#include "optim/list.h"

typedef struct grda_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double c, mu;
} grda_conf;

static const cr_field grda_fields[] = {
    CR_DENSE_LR(grda_conf),
    CR_FLOAT(grda_conf, c, 0.0005, 0, CR_INF, CR_F_OURS,
             "factor of the limit; the larger, the more weights become 0"),
    CR_FLOAT(grda_conf, mu, 0.8, 0, 1, CR_F_OURS,
             "exponent of the step in the limit: how fast it grows"),
    CR_END,
};
const cr_msg cr_optim_grda_msg = {
    .name = "GRDAOptimizer",
    .help = "Dual averaging that sets weights to 0: for the weights of pairs in AutoFIS",
    .fields = grda_fields,
    .size = sizeof(grda_conf),
    .ours = true,
};

static void grda_dense(const void *conf, const cr_optim_step *s, float *w, const float *g,
                       float *const *state, int64_t n) {
    const grda_conf *k = conf;
    float *a = state[0], lr = (float)s->lr;
    float limit = (float)(k->c * pow(s->lr, 0.5 + k->mu) * pow((double)s->t, k->mu));
    for (int64_t i = 0; i < n; i++) {
        a[i] = (s->t == 1 ? w[i] : a[i]) - lr * g[i];
        float over = fabsf(a[i]) - limit;
        w[i] = over > 0 ? copysignf(over, a[i]) : 0;
    }
}

static const char *const names[] = {"sum"};
const cr_optim_type cr_optim_grda = {
    .name = "grda",
    .elem_state = 1,
    .state_names = names,
    .dense = grda_dense,
};
