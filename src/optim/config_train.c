/*
 * config_train.c - the settings around an optimizer: the family of learning rates, parts with their
 * own rules, averages, clipping, loss scaling; and the two messages of TrainConfig that hold them.
 */
#include "optim/sched_list.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "conf/conf.h"

#define wrong(diag, at, ...) cr_diag_add((diag), CR_SEV_ERROR, CR_ECONF, (at), __VA_ARGS__)

/* ---- learning rates ---- */
#define ENTRY(key, s) {#key, &cr_sched_##s##_msg, &cr_sched_##s},
static const cr_oneof_member scheds[] = {
    CR_SCHEDULES(ENTRY){NULL, NULL, NULL},
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
/* table_clip_check: a limit of 0 would let no gradient through. */
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
