/*
 * rowwise_adagrad.c - Adagrad with one accumulator per table row (FBGEMM's form, tables only).
 *
 *   m += mean(g²);  k = lr / (sqrt(m) + eps);  w = c w - k g
 *
 * Weight decay L2 adds wd w to g before it is squared, so c = 1 - k wd; DECOUPLE gives c = 1 - lr
 * wd. The mean is the only sum across a row: it runs in eight fixed partial sums for any register
 * width, so every CPU gives the same bits.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/fields_int.h"
#include "optim/list.h"
#include "optim/row_int.h"

typedef enum wd_mode { WD_NONE = 0, WD_L2 = 1, WD_DECOUPLE = 2 } wd_mode;
typedef struct rowwise_adagrad_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double weight_decay;
    int weight_decay_mode; /* wd_mode */
    double initial_accumulator_value;
} rowwise_adagrad_conf;
static const cr_enum_value wd_modes[] = {
    {"NONE", WD_NONE, "no weight decay", NULL},
    {"L2", WD_L2, "weight_decay * w is added to the gradient", NULL},
    {"DECOUPLE", WD_DECOUPLE, "w shrinks by lr * weight_decay besides the update", NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_field rowwise_adagrad_fields[] = {
    CR_ROW_HEAD(rowwise_adagrad_conf),
    CR_FLOAT(rowwise_adagrad_conf, weight_decay, 0, 0, CR_INF, 0,
             "weight decay; acts as weight_decay_mode says"),
    CR_ENUM(rowwise_adagrad_conf, weight_decay_mode, wd_modes, WD_NONE, 0, "how weight_decay acts"),
    CR_FLOAT(rowwise_adagrad_conf, initial_accumulator_value, 0, 0, CR_INF, 0, CR_HELP_ACC),
    CR_END,
};
static void rowwise_check(const void *self, cr_diag *diag) {
    const rowwise_adagrad_conf *c = self;
    if (c->weight_decay > 0 && c->weight_decay_mode == WD_NONE)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "weight_decay"),
                    "weight_decay has no effect with weight_decay_mode NONE; "
                    "set weight_decay_mode to L2 or DECOUPLE");
}
const cr_msg cr_optim_rowwise_adagrad_msg = {
    .name = "FusedRowWiseAdagradOptimizer",
    .help = "Adagrad with one sum of squares per row",
    .fields = rowwise_adagrad_fields,
    .size = sizeof(rowwise_adagrad_conf),
    .check = rowwise_check,
};

CR_INLINE void block(float *restrict w, const float *restrict g, int n, float c, float k) {
    for (int i = 0; i < n; i++) {
        w[i] = c * w[i] - k * g[i];
    }
}

CR_INLINE void row_body(float *restrict w, float *restrict m, const float *restrict g, int64_t D,
                        float lr, float l2, float decay) {
    *m += cr_sum_squares_of(g, l2, w, D) / (float)D;
    float k = lr / (sqrtf(*m) + CR_ROW_EPS);
    float c = 1.0F - k * l2 - lr * decay;
#define BLOCK(i, len) block(w + (i), g + (i), len, c, k)
    CR_BLOCKS(D, BLOCK);
#undef BLOCK
}
CR_SIMD(row,
        (float *restrict w, float *restrict m, const float *restrict g, int64_t D, float lr,
         float l2, float decay),
        (w, m, g, D, lr, l2, decay))

CR_INLINE void rows_body(const cr_optim_rows *r, float lr, float l2, float decay) {
#define ROW(w, m, g, D) row_body(w, m, g, D, lr, l2, decay)
    CR_EACH_ROW(r, ROW);
#undef ROW
}
CR_SIMD(rows, (const cr_optim_rows *r, float lr, float l2, float decay), (r, lr, l2, decay))

static void rowwise_adagrad_rows(const void *conf, const cr_optim_step *s, const cr_optim_rows *r) {
    const rowwise_adagrad_conf *c = conf;
    float wd = (float)c->weight_decay;
    rows(r, (float)s->lr, c->weight_decay_mode == WD_L2 ? wd : 0.0F,
         c->weight_decay_mode == WD_DECOUPLE ? wd : 0.0F);
}

static void rowwise_adagrad_row(const void *conf, const cr_optim_step *s, float *w, float *state,
                                float *g, int64_t D) {
    const rowwise_adagrad_conf *c = conf;
    float wd = (float)c->weight_decay;
    row(w, state, g, D, (float)s->lr, c->weight_decay_mode == WD_L2 ? wd : 0.0F,
        c->weight_decay_mode == WD_DECOUPLE ? wd : 0.0F);
}

static float rowwise_adagrad_init(const void *conf, int k) {
    (void)k;
    return (float)((const rowwise_adagrad_conf *)conf)->initial_accumulator_value;
}

static const char *const rowwise_adagrad_names[] = {"sum"};
const cr_optim_type cr_optim_rowwise_adagrad = {
    .name = "rowwise_adagrad",
    .whole_row = true,
    .row_state = 1,
    .state_names = rowwise_adagrad_names,
    .state_init = rowwise_adagrad_init,
    .row = rowwise_adagrad_row,
    .rows = rowwise_adagrad_rows,
};
