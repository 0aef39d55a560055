/*
 * config_train.c - what goes with an optimizer: learning-rate schedules, parts with rules of their
 * own, averages, clipping, loss scaling; and the two messages of TrainConfig that hold them.
 */
#include "optim/config.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "conf/conf.h"

#define wrong(diag, at, ...) cr_diag_add((diag), CR_SEV_ERROR, CR_ECONF, (at), __VA_ARGS__)

/* ---- learning rates ---- */
#define HELP_MIN_LR    "the rate never falls below this"
#define HELP_WARM_LR   "rate at step 0 of the warm-up"
#define HELP_WARM_SIZE "steps (or epochs) of a linear rise to lr; 0: none"
#define HELP_BY_EPOCH  "count epochs instead of steps"
#define WARM_TAIL(S)                                                                               \
    CR_FLOAT(S, min_learning_rate, 0, 0, CR_INF, 0, HELP_MIN_LR),                                  \
        CR_FLOAT(S, warmup_learning_rate, 0, 0, CR_INF, 0, HELP_WARM_LR),                          \
        CR_INT(S, warmup_size, 0, 0, CR_U32_MAX, 0, HELP_WARM_SIZE),                               \
        CR_BOOL(S, by_epoch, false, 0, HELP_BY_EPOCH)

static const cr_field no_fields[] = {CR_END};
static const cr_field exponential_fields[] = {
    CR_INT(cr_exponential_conf, decay_size, 0, 0, CR_U32_MAX, 0,
           "steps (or epochs) after which the rate is multiplied by decay_factor"),
    CR_FLOAT(cr_exponential_conf, decay_factor, 0.95, 0, CR_INF, 0,
             "factor of the rate per decay_size"),
    CR_BOOL(cr_exponential_conf, staircase, true, 0, "fall in steps instead of smoothly"),
    CR_FLOAT(cr_exponential_conf, warmup_learning_rate, 0, 0, CR_INF, 0, HELP_WARM_LR),
    CR_INT(cr_exponential_conf, warmup_size, 0, 0, CR_U32_MAX, 0, HELP_WARM_SIZE),
    CR_FLOAT(cr_exponential_conf, min_learning_rate, 0, 0, CR_INF, 0, HELP_MIN_LR),
    CR_BOOL(cr_exponential_conf, by_epoch, false, 0, HELP_BY_EPOCH),
    CR_END,
};
static const cr_field manual_fields[] = {
    CR_INT(cr_manual_conf, schedule_sizes, 0, 0, CR_U32_MAX, CR_F_REPEATED,
           "steps (or epochs) after which the rate changes, ascending"),
    CR_FLOAT(cr_manual_conf, learning_rates, 0, 0, CR_INF, CR_F_REPEATED,
             "the rate after each of them"),
    CR_BOOL(cr_manual_conf, warmup, false, 0, "rise in a line to the first rate"),
    CR_BOOL(cr_manual_conf, by_epoch, false, 0, HELP_BY_EPOCH),
    CR_END,
};
static const cr_field cosine_fields[] = {
    CR_INT(cr_cosine_conf, T_max, 0, 0, CR_U32_MAX, 0,
           "steps (or epochs) from lr down to the lowest rate"),
    WARM_TAIL(cr_cosine_conf),
    CR_END,
};
static const cr_field restarts_fields[] = {
    CR_INT(cr_restarts_conf, T_0, 0, 0, CR_U32_MAX, 0, "steps (or epochs) of the first period"),
    CR_INT(cr_restarts_conf, T_mult, 1, 1, CR_U32_MAX, 0,
           "each period is this many times the last"),
    WARM_TAIL(cr_restarts_conf),
    CR_END,
};
static const cr_field linear_fields[] = {
    CR_INT(cr_linear_conf, num_training_steps, 0, 0, CR_U32_MAX, 0,
           "steps (or epochs) from the start, warm-up included, to the lowest rate"),
    WARM_TAIL(cr_linear_conf),
    CR_END,
};
static void linear_check(const void *self, cr_diag *diag) {
    const cr_linear_conf *c = self;
    if (c->num_training_steps == 0)
        wrong(diag, cr_conf_at(c, "num_training_steps"),
              "num_training_steps must be given and above 0: the steps from the start to "
              "min_learning_rate");
    else if (c->warmup_size >= c->num_training_steps)
        wrong(diag, cr_conf_at(c, "warmup_size"),
              "warmup_size is %lld and must be below num_training_steps, %lld, which counts it; "
              "make one smaller or the other larger",
              (long long)c->warmup_size, (long long)c->num_training_steps);
}
static void exponential_check(const void *self, cr_diag *diag) {
    const cr_exponential_conf *c = self;
    if (c->decay_size == 0)
        wrong(diag, cr_conf_at(c, "decay_size"),
              "decay_size must be given and above 0; use constant_learning_rate for a rate "
              "that stays");
}
static void manual_check(const void *self, cr_diag *diag) {
    const cr_manual_conf *c = self;
    int64_t n = c->schedule_sizes.n;
    if (n == 0)
        wrong(diag, cr_conf_at(c, "schedule_sizes"),
              "schedule_sizes must be given; use constant_learning_rate for a rate that stays");
    if (n != c->learning_rates.n)
        wrong(diag, cr_conf_at(c, n < c->learning_rates.n ? "learning_rates" : "schedule_sizes"),
              "schedule_sizes has %lld values and learning_rates %lld; give one rate for each size",
              (long long)n, (long long)c->learning_rates.n);
    for (int64_t i = 1; i < n; i++) {
        long long a = c->schedule_sizes.v[i - 1], b = c->schedule_sizes.v[i];
        if (b > a) continue;
        wrong(diag, cr_conf_at_item(c, "schedule_sizes", i),
              "schedule_sizes must rise, but %lld follows %lld; sort them with their rates", b, a);
        break;
    }
    if (c->warmup && n > 0 && c->schedule_sizes.v[0] == 0)
        wrong(diag, cr_conf_at_item(c, "schedule_sizes", 0),
              "warmup needs a first schedule size above 0; raise it or leave warmup out");
}
static void cosine_check(const void *self, cr_diag *diag) {
    if (((const cr_cosine_conf *)self)->T_max == 0)
        wrong(diag, cr_conf_at(self, "T_max"),
              "T_max must be given and above 0: the steps from lr down to min_learning_rate");
}
static void restarts_check(const void *self, cr_diag *diag) {
    if (((const cr_restarts_conf *)self)->T_0 == 0)
        wrong(diag, cr_conf_at(self, "T_0"),
              "T_0 must be given and above 0: the steps of the first period");
}
static const cr_msg constant_msg = {
    .name = "ConstantLR",
    .help = "The rate stays as it is",
    .fields = no_fields,
    .size = sizeof(cr_constant_conf),
};
static const cr_msg exponential_msg = {
    .name = "ExponentialDecayLR",
    .help = "The rate falls by a factor after every decay_size steps",
    .fields = exponential_fields,
    .size = sizeof(cr_exponential_conf),
    .check = exponential_check,
};
static const cr_msg manual_msg = {
    .name = "ManualStepLR",
    .help = "Rates given step by step",
    .fields = manual_fields,
    .size = sizeof(cr_manual_conf),
    .check = manual_check,
};
static const cr_msg cosine_msg = {
    .name = "CosineAnnealingLR",
    .help = "Half a cosine wave down",
    .fields = cosine_fields,
    .size = sizeof(cr_cosine_conf),
    .check = cosine_check,
};
static const cr_msg restarts_msg = {
    .name = "CosineAnnealingWarmRestartsLR",
    .help = "Cosine waves that start again at the full rate",
    .fields = restarts_fields,
    .size = sizeof(cr_restarts_conf),
    .check = restarts_check,
};
static const cr_msg linear_msg = {
    .name = "LinearDecayLR",
    .help = "A straight line down",
    .fields = linear_fields,
    .size = sizeof(cr_linear_conf),
    .check = linear_check,
};
static const cr_oneof_member scheds[] = {
    {"constant_learning_rate", &constant_msg, &cr_sched_constant},
    {"exponential_decay_learning_rate", &exponential_msg, &cr_sched_exponential},
    {"manual_step_learning_rate", &manual_msg, &cr_sched_manual},
    {"cosine_annealing_learning_rate", &cosine_msg, &cr_sched_cosine},
    {"cosine_annealing_warm_restarts_learning_rate", &restarts_msg, &cr_sched_restarts},
    {"linear_decay_learning_rate", &linear_msg, &cr_sched_linear},
    {NULL, NULL, NULL},
};
const cr_oneof cr_sched_family = {"learning rate", true, scheds};
static const cr_oneof part_sched_family = {"learning rate", false, scheds};

/* ---- the two messages of TrainConfig ---- */
static void part_check(const void *self, cr_diag *diag) {
    const cr_part_conf *c = self;
    cr_err err;
    if (cr_pattern_check(c->regex_pattern, &err) != CR_OK)
        wrong(diag, cr_conf_at(c, "regex_pattern"), "'%s' cannot be read: %s; correct it",
              c->regex_pattern, err.msg);
}
/* a limit of 0 would let no gradient through */
static void table_clip_check(const cr_choice *optim, cr_diag *diag) {
    const cr_optim_conf *c = optim->conf;
    if (c && c->gradient_clipping && c->max_gradient == 0)
        wrong(diag, cr_conf_at(c, "max_gradient"),
              "max_gradient is 0, so nothing could be trained; raise it or leave gradient_clipping "
              "out");
}
static void sparse_part_check(const void *self, cr_diag *diag) {
    part_check(self, diag);
    table_clip_check(&((const cr_part_conf *)self)->optimizer, diag);
}
static void sparse_check(const void *self, cr_diag *diag) {
    table_clip_check(&((const cr_sparse_optim_conf *)self)->optimizer, diag);
}
#define HELP_PATTERN "matches the whole name of a parameter, as `crank params` prints it"
#define PART_TAIL                                                                                  \
    CR_STR(cr_part_conf, regex_pattern, NULL, CR_F_REQUIRED, HELP_PATTERN),                        \
        CR_ONEOF(cr_part_conf, learning_rate, &part_sched_family, 0,                               \
                 "how the rate changes; the main schedule when not given")
static const cr_field sparse_part_fields[] = {
    CR_ONEOF(cr_part_conf, optimizer, &cr_sparse_optim_family, 0, "rule for these tables"),
    PART_TAIL,
    CR_END,
};
static const cr_field part_fields[] = {
    CR_ONEOF(cr_part_conf, optimizer, &cr_dense_optim_family, 0, "rule for these parameters"),
    PART_TAIL,
    CR_END,
};
static const cr_msg sparse_part_msg = {
    .name = "SparsePartOptimizer",
    .help = "Another optimizer for some tables",
    .fields = sparse_part_fields,
    .size = sizeof(cr_part_conf),
    .check = sparse_part_check,
};
static const cr_msg part_msg = {
    .name = "PartOptimizer",
    .help = "Another optimizer for some dense parameters",
    .fields = part_fields,
    .size = sizeof(cr_part_conf),
    .check = part_check,
};

static const cr_field sparse_optim_fields[] = {
    CR_ONEOF_DEF(cr_sparse_optim_conf, optimizer, &cr_sparse_optim_family, 0,
                 "adagrad_optimizer: {lr: 0.02}", "rule for table rows"),
    CR_ONEOF_DEF(cr_sparse_optim_conf, learning_rate, &cr_sched_family, 0,
                 "constant_learning_rate: {}", "how the rate changes"),
    CR_MSG(cr_sparse_optim_conf, part_optimizers, &sparse_part_msg, CR_F_REPEATED | CR_F_OURS,
           "other optimizers for tables found by name; the first match counts"),
    CR_END,
};
const cr_msg cr_sparse_optim_msg = {
    .name = "SparseOptimizer",
    .help = "How embedding tables are trained",
    .fields = sparse_optim_fields,
    .size = sizeof(cr_sparse_optim_conf),
    .check = sparse_check,
};

static const cr_field ema_fields[] = {
    CR_FLOAT(cr_ema_conf, decay, 0.999, 0, 1, 0, "how much of the average is kept per step"),
    CR_END,
};
static const cr_msg ema_msg = {
    .name = "EMAConfig",
    .help = "A running average of dense parameters",
    .fields = ema_fields,
    .size = sizeof(cr_ema_conf),
};
static const cr_field dense_optim_fields[] = {
    CR_ONEOF_DEF(cr_dense_optim_conf, optimizer, &cr_dense_optim_family, 0,
                 "adam_optimizer: {lr: 0.001}", "rule for everything but tables"),
    CR_ONEOF_DEF(cr_dense_optim_conf, learning_rate, &cr_sched_family, 0,
                 "constant_learning_rate: {}", "how the rate changes"),
    CR_MSG(cr_dense_optim_conf, part_optimizers, &part_msg, CR_F_REPEATED,
           "other optimizers for parameters found by name; the first match counts"),
    CR_MSG(cr_dense_optim_conf, ema, &ema_msg, 0, "evaluate and export averaged parameters"),
    CR_END,
};
const cr_msg cr_dense_optim_msg = {
    .name = "DenseOptimizer",
    .help = "How all parameters outside tables are trained",
    .fields = dense_optim_fields,
    .size = sizeof(cr_dense_optim_conf),
};

/* ---- gradients ---- */
static const cr_field grad_scaler_fields[] = {
    CR_FLOAT(cr_grad_scaler_conf, init_scale, 65536, 0, CR_INF, 0, "first factor of the loss"),
    CR_FLOAT(cr_grad_scaler_conf, growth_factor, 2, 1, CR_INF, 0,
             "factor of the scale after quiet steps"),
    CR_FLOAT(cr_grad_scaler_conf, backoff_factor, 0.5, 0, 1, 0,
             "factor of the scale after an overflow"),
    CR_INT(cr_grad_scaler_conf, growth_interval, 2000, 1, CR_U32_MAX, 0,
           "quiet steps before the scale grows"),
    CR_END,
};
static void scaler_check(const void *self, cr_diag *diag) {
    const cr_grad_scaler_conf *c = self;
    if (!(c->init_scale > 0) || isinf(c->init_scale))
        wrong(diag, cr_conf_at(c, "init_scale"),
              "init_scale is %g and must be above 0 and finite; "
              "leave it out for 65536",
              c->init_scale);
    if (c->backoff_factor == 0 || c->backoff_factor == 1)
        wrong(diag, cr_conf_at(c, "backoff_factor"),
              "backoff_factor is %g and must lie between 0 and 1; leave it out for 0.5",
              c->backoff_factor);
}
const cr_msg cr_grad_scaler_msg = {
    .name = "GradScaler",
    .help = "Scales the loss, so that small gradients survive 16-bit floats",
    .fields = grad_scaler_fields,
    .size = sizeof(cr_grad_scaler_conf),
    .check = scaler_check,
};

static const cr_field grad_clip_fields[] = {
    CR_STR(cr_grad_clip_conf, clipping_type, "none", 0, "norm, value or none"),
    CR_FLOAT(cr_grad_clip_conf, max_gradient, 1.0, 0, CR_INF, 0,
             "limit of the norm or of each value"),
    CR_FLOAT(cr_grad_clip_conf, norm_type, 2.0, 0, CR_INF, 0,
             "power of the norm; inf: the largest value"),
    CR_BOOL(cr_grad_clip_conf, enable_global_grad_clip, false, 0,
            "clip the embedding tables too, with one norm over all gradients"),
    CR_END,
};
static const char *const clip_types[] = {"none", "norm", "value"};
cr_clip_type cr_grad_clip(const cr_grad_clip_conf *c) {
    for (int i = 0; c && i < 3; i++)
        if (strcmp(c->clipping_type, clip_types[i]) == 0) return (cr_clip_type)i;
    return CR_CLIP_NONE;
}
static void clip_check(const void *self, cr_diag *diag) {
    const cr_grad_clip_conf *c = self;
    if (cr_grad_clip(c) == CR_CLIP_NONE && strcmp(c->clipping_type, "none") != 0)
        wrong(diag, cr_conf_at(c, "clipping_type"),
              "unknown clipping_type '%s'; use norm, value or none", c->clipping_type);
    if (!cr_conf_has(c, "clipping_type"))
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, c->base.at,
                    "grad_clipping has no effect: clipping_type is not given and none is its "
                    "default; write %s or \"value\"",
                    CR_SAY(c, "clipping_type", "\"norm\""));
    if (cr_grad_clip(c) != CR_CLIP_NONE && c->max_gradient == 0)
        wrong(
            diag, cr_conf_at(c, "max_gradient"),
            "max_gradient is 0, so nothing could be trained; raise it or leave grad_clipping out");
    if (c->norm_type == 0)
        wrong(diag, cr_conf_at(c, "norm_type"),
              "norm_type must be above 0; use 2 for the length, inf for the largest value");
}
const cr_msg cr_grad_clip_msg = {
    .name = "GradClipping",
    .help = "Limits dense gradients",
    .fields = grad_clip_fields,
    .size = sizeof(cr_grad_clip_conf),
    .check = clip_check,
};
