/*
 * config.c - the messages of the optimizers, and the two families they form.
 *
 * Sparse and dense messages of one rule differ (most sparse ones have no eps: it is 1e-8 for all),
 * so each has its own table, and often the same struct. What goes with them (schedules, parts,
 * averages, clipping) is in config_train.c.
 */
#include "optim/config.h"

#include "base/err.h"

const cr_enum_value cr_wd_modes[] = {
    {"NONE", CR_WD_NONE, "no weight decay", NULL},
    {"L2", CR_WD_L2, "weight_decay * w is added to the gradient", NULL},
    {"DECOUPLE", CR_WD_DECOUPLE, "w shrinks by lr * weight_decay besides the update", NULL},
    {NULL, 0, NULL, NULL},
};
const cr_enum_value cr_adam_modes[] = {
    {"LAZY", CR_ADAM_LAZY, "only rows that the batch touches move", NULL},
    {"DENSE", CR_ADAM_DENSE, "every row of the table moves at every step, as torch's Adam", NULL},
    {NULL, 0, NULL, NULL},
};

#define HELP_LR       "learning rate before the schedule"
#define HELP_CLIP     "limit each gradient element before the update"
#define HELP_MAX_GRAD "limit of gradient_clipping, up and down"
#define HELP_WD_L2    "weight decay added to the gradient"
#define HELP_WD       "weight decay, apart from the gradient"
#define HELP_BETA1    "how much of the mean of gradients is kept per step"
#define HELP_BETA2    "how much of the mean of squared gradients is kept per step"
#define HELP_EPS      "added to the root in the divisor"
#define HELP_EPS_IN   "added inside both roots"
#define HELP_ACC      "first value of the summed squares"
#define HELP_FUSED    "one kernel for all parameters; this is always so here"
#define HELP_MOMENTUM "how much of the last update is kept"
#define HELP_AMSGRAD  "divide by the largest second moment so far"
#define HELP_RHO      "how much of the running means is kept per step"
#define HELP_ALPHA    "how much of the mean of squares is kept per step"

/* ---- sparse ---- */
#define SPARSE_HEAD(S)                                                                             \
    CR_FLOAT(S, lr, 0.002, 0, CR_INF, 0, HELP_LR),                                                 \
        CR_BOOL(S, gradient_clipping, false, 0, HELP_CLIP),                                        \
        CR_FLOAT(S, max_gradient, 1.0, 0, CR_INF, 0, HELP_MAX_GRAD)
#define BETAS(S)                                                                                   \
    CR_FLOAT(S, beta1, 0.9, 0, 1, 0, HELP_BETA1), CR_FLOAT(S, beta2, 0.999, 0, 1, 0, HELP_BETA2)
#define ADADELTA                                                                                   \
    CR_FLOAT(cr_adadelta_conf, rho, 0.95, 0, 1, 0, HELP_RHO),                                      \
        CR_FLOAT(cr_adadelta_conf, eps, 1e-6, 0, CR_INF, 0, HELP_EPS_IN),                          \
        CR_FLOAT(cr_adadelta_conf, weight_decay, 0, 0, CR_INF, 0, HELP_WD_L2)
#define RMSPROP                                                                                    \
    CR_FLOAT(cr_rmsprop_conf, alpha, 0.99, 0, 1, 0, HELP_ALPHA),                                   \
        CR_FLOAT(cr_rmsprop_conf, eps, 1e-8, 0, CR_INF, 0, HELP_EPS),                              \
        CR_FLOAT(cr_rmsprop_conf, weight_decay, 0, 0, CR_INF, 0, HELP_WD_L2)
#define FTRL(beta, keep, ours)                                                                     \
    CR_FLOAT(cr_ftrl_conf, learning_rate_power, -0.5, -CR_INF, 0, ours,                            \
             "exponent of the summed squares in the rate; -0.5 is the paper's root"),              \
        CR_FLOAT(cr_ftrl_conf, ftrl_beta, beta, 0, CR_INF, ours,                                   \
                 "smooths the learning rate of rare ids"),                                         \
        CR_ALIAS("beta", CR_T_FLOAT, CR_F_OURS, "ftrl_beta"),                                      \
        CR_FLOAT(cr_ftrl_conf, l1_reg, 0, 0, CR_INF, ours,                                         \
                 "L1 penalty: sets small weights to exactly 0, which makes the model sparse"),     \
        CR_ALIAS("l1", CR_T_FLOAT, CR_F_OURS, "l1_reg"),                                           \
        CR_FLOAT(cr_ftrl_conf, l2_reg, 0, 0, CR_INF, ours, "L2 penalty: pulls weights towards 0"), \
        CR_ALIAS("l2", CR_T_FLOAT, CR_F_OURS, "l2_reg"),                                           \
        CR_FLOAT(cr_ftrl_conf, initial_accumulator_value, 0, 0, CR_INF, ours, HELP_ACC),           \
        CR_BOOL(cr_ftrl_conf, keep_first_values, keep, CR_F_OURS,                                  \
                "start from the first values of the weights, not from 0")

static const cr_field sparse_sgd_fields[] = {SPARSE_HEAD(cr_sparse_sgd_conf), CR_END};
static const cr_field sparse_adagrad_fields[] = {
    SPARSE_HEAD(cr_sparse_adagrad_conf),
    CR_FLOAT(cr_sparse_adagrad_conf, initial_accumulator_value, 0, 0, CR_INF, 0, HELP_ACC),
    CR_END,
};
static const cr_field rowwise_adagrad_fields[] = {
    SPARSE_HEAD(cr_rowwise_adagrad_conf),
    CR_FLOAT(cr_rowwise_adagrad_conf, weight_decay, 0, 0, CR_INF, 0,
             "weight decay; acts as weight_decay_mode says"),
    CR_ENUM(cr_rowwise_adagrad_conf, weight_decay_mode, cr_wd_modes, CR_WD_NONE, 0,
            "how weight_decay acts"),
    CR_FLOAT(cr_rowwise_adagrad_conf, initial_accumulator_value, 0, 0, CR_INF, 0, HELP_ACC),
    CR_END,
};
static const cr_field sparse_adam_fields[] = {
    SPARSE_HEAD(cr_sparse_adam_conf),
    BETAS(cr_sparse_adam_conf),
    CR_FLOAT(cr_sparse_adam_conf, weight_decay, 0, 0, CR_INF, 0, HELP_WD),
    CR_ENUM(cr_sparse_adam_conf, mode, cr_adam_modes, CR_ADAM_LAZY, CR_F_OURS,
            "which rows move: LAZY those of the batch, DENSE all"),
    CR_END,
};
static const cr_field lars_sgd_fields[] = {
    SPARSE_HEAD(cr_lars_conf),
    CR_FLOAT(cr_lars_conf, momentum, 0.9, 0, 1, 0, HELP_MOMENTUM),
    CR_FLOAT(cr_lars_conf, weight_decay, 0, 0, CR_INF, 0, HELP_WD_L2),
    CR_END,
};
static const cr_field lamb_fields[] = {
    SPARSE_HEAD(cr_sparse_adam_conf),
    BETAS(cr_sparse_adam_conf),
    CR_FLOAT(cr_sparse_adam_conf, weight_decay, 0, 0, CR_INF, 0, HELP_WD),
    CR_END,
};
static const cr_field sparse_adadelta_fields[] = {SPARSE_HEAD(cr_adadelta_conf), ADADELTA, CR_END};
static const cr_field sparse_rmsprop_fields[] = {SPARSE_HEAD(cr_rmsprop_conf), RMSPROP, CR_END};
static const cr_field sparse_ftrl_fields[] = {SPARSE_HEAD(cr_ftrl_conf), FTRL(0, false, 0), CR_END};

static const cr_msg sparse_sgd_msg = {
    .name = "FusedSGDOptimizer",
    .help = "Plain gradient descent on table rows",
    .fields = sparse_sgd_fields,
    .size = sizeof(cr_sparse_sgd_conf),
};
static const cr_msg sparse_adagrad_msg = {
    .name = "FusedAdagradOptimizer",
    .help = "Adagrad with one sum of squares per weight",
    .fields = sparse_adagrad_fields,
    .size = sizeof(cr_sparse_adagrad_conf),
};
static void rowwise_check(const void *self, cr_diag *diag) {
    const cr_rowwise_adagrad_conf *c = self;
    if (c->weight_decay > 0 && c->weight_decay_mode == CR_WD_NONE)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "weight_decay"),
                    "weight_decay has no effect with weight_decay_mode NONE; "
                    "set weight_decay_mode to L2 or DECOUPLE");
}
static const cr_msg rowwise_adagrad_msg = {
    .name = "FusedRowWiseAdagradOptimizer",
    .help = "Adagrad with one sum of squares per row",
    .fields = rowwise_adagrad_fields,
    .size = sizeof(cr_rowwise_adagrad_conf),
    .check = rowwise_check,
};
/* beta1 and beta2 lie at the same place in all messages of the family (adam.c) */
static void adam_check(const void *self, cr_diag *diag) {
    const cr_sparse_adam_conf *c = self;
    if (c->beta1 == 1 || c->beta2 == 1)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, c->beta1 == 1 ? "beta1" : "beta2"),
                    "%s must be below 1: with 1 no gradient would count; leave it out for %s",
                    c->beta1 == 1 ? "beta1" : "beta2", c->beta1 == 1 ? "0.9" : "0.999");
}
static const cr_msg sparse_adam_msg = {
    .name = "FusedAdamOptimizer",
    .help = "Adam on the rows a batch touches",
    .fields = sparse_adam_fields,
    .size = sizeof(cr_sparse_adam_conf),
    .check = adam_check,
};
static const cr_msg lars_sgd_msg = {
    .name = "FusedLarsSGDOptimizer",
    .help = "Momentum SGD with a rate per row from the norms",
    .fields = lars_sgd_fields,
    .size = sizeof(cr_lars_conf),
};
static const cr_msg lamb_msg = {
    .name = "FusedLAMBOptimizer",
    .help = "Adam scaled by the norms of row and update",
    .fields = lamb_fields,
    .size = sizeof(cr_sparse_adam_conf),
    .check = adam_check,
};
static const cr_msg partial_lamb_msg = {
    .name = "FusedPartialRowWiseLAMBOptimizer",
    .help = "LAMB with one second moment per row",
    .fields = lamb_fields,
    .size = sizeof(cr_sparse_adam_conf),
    .check = adam_check,
};
static const cr_msg partial_adam_msg = {
    .name = "FusedPartialRowWiseAdamOptimizer",
    .help = "Adam with one second moment per row",
    .fields = lamb_fields,
    .size = sizeof(cr_sparse_adam_conf),
    .check = adam_check,
};
static const cr_msg sparse_adadelta_msg = {
    .name = "FusedAdadeltaOptimizer",
    .help = "Adadelta on table rows",
    .fields = sparse_adadelta_fields,
    .size = sizeof(cr_adadelta_conf),
};
static const cr_msg sparse_rmsprop_msg = {
    .name = "FusedRMSpropOptimizer",
    .help = "RMSprop on table rows",
    .fields = sparse_rmsprop_fields,
    .size = sizeof(cr_rmsprop_conf),
};
static const cr_msg sparse_ftrl_msg = {
    .name = "FusedFTRLOptimizer",
    .help = "FTRL-Proximal on table rows: the rule for wide, sparse linear parts",
    .fields = sparse_ftrl_fields,
    .size = sizeof(cr_ftrl_conf),
};

static const cr_oneof_member sparse_members[] = {
    {"sgd_optimizer", &sparse_sgd_msg, &cr_optim_row_sgd},
    {"adagrad_optimizer", &sparse_adagrad_msg, &cr_optim_adagrad},
    {"adam_optimizer", &sparse_adam_msg, &cr_optim_row_adam},
    {"lars_sgd_optimizer", &lars_sgd_msg, &cr_optim_lars},
    {"lamb_optimizer", &lamb_msg, &cr_optim_lamb},
    {"partial_rowwise_lamb_optimizer", &partial_lamb_msg, &cr_optim_partial_lamb},
    {"partial_rowwise_adam_optimizer", &partial_adam_msg, &cr_optim_partial_adam},
    {"rowwise_adagrad_optimizer", &rowwise_adagrad_msg, &cr_optim_rowwise_adagrad},
    {"adadelta_optimizer", &sparse_adadelta_msg, &cr_optim_adadelta},
    {"rmsprop_optimizer", &sparse_rmsprop_msg, &cr_optim_rmsprop},
    {"ftrl_optimizer", &sparse_ftrl_msg, &cr_optim_ftrl},
    {NULL, NULL, NULL},
};
const cr_oneof cr_sparse_optim_family = {"sparse optimizer", true, sparse_members};

/* ---- dense ---- */
#define DENSE_LR(S) CR_FLOAT(S, lr, 0.002, 0, CR_INF, 0, HELP_LR)
#define K_FUSED     CR_K_BOOL("fused", false, CR_F_SPEED, HELP_FUSED)

static const cr_field dense_sgd_fields[] = {
    DENSE_LR(cr_dense_sgd_conf),
    CR_FLOAT(cr_dense_sgd_conf, momentum, 0.9, 0, CR_INF, 0, HELP_MOMENTUM),
    CR_FLOAT(cr_dense_sgd_conf, weight_decay, 0, 0, CR_INF, 0, HELP_WD_L2),
    CR_FLOAT(cr_dense_sgd_conf, dampening, 0, -CR_INF, CR_INF, 0,
             "share of the new gradient left out of the momentum"),
    CR_BOOL(cr_dense_sgd_conf, nesterov, false, 0, "look one momentum step ahead"),
    K_FUSED,
    CR_END,
};
static const cr_field dense_adagrad_fields[] = {
    DENSE_LR(cr_dense_adagrad_conf),
    CR_FLOAT(cr_dense_adagrad_conf, weight_decay, 0, 0, CR_INF, 0, HELP_WD_L2),
    CR_FLOAT(cr_dense_adagrad_conf, initial_accumulator_value, 0, 0, CR_INF, 0, HELP_ACC),
    CR_FLOAT(cr_dense_adagrad_conf, eps, 1e-10, 0, CR_INF, 0, HELP_EPS),
    K_FUSED,
    CR_END,
};
static const cr_field dense_adam_fields[] = {
    DENSE_LR(cr_dense_adam_conf),
    BETAS(cr_dense_adam_conf),
    CR_FLOAT(cr_dense_adam_conf, weight_decay, 0, 0, CR_INF, 0, HELP_WD_L2),
    CR_FLOAT(cr_dense_adam_conf, eps, 1e-8, 0, CR_INF, 0, HELP_EPS),
    CR_BOOL(cr_dense_adam_conf, amsgrad, false, 0, HELP_AMSGRAD),
    K_FUSED,
    CR_END,
};
static const cr_field adamw_fields[] = {
    DENSE_LR(cr_dense_adam_conf),
    BETAS(cr_dense_adam_conf),
    CR_FLOAT(cr_dense_adam_conf, weight_decay, 0, 0, CR_INF, 0, HELP_WD),
    CR_FLOAT(cr_dense_adam_conf, eps, 1e-8, 0, CR_INF, 0, HELP_EPS),
    CR_BOOL(cr_dense_adam_conf, amsgrad, false, 0, HELP_AMSGRAD),
    K_FUSED,
    CR_END,
};
static const cr_field dense_adadelta_fields[] = {DENSE_LR(cr_adadelta_conf), ADADELTA, CR_END};
static const cr_field dense_rmsprop_fields[] = {DENSE_LR(cr_rmsprop_conf), RMSPROP, CR_END};
static const cr_field dense_ftrl_fields[] = {DENSE_LR(cr_ftrl_conf), FTRL(1, true, CR_F_OURS),
                                             CR_END};

static void dense_sgd_check(const void *self, cr_diag *diag) {
    const cr_dense_sgd_conf *c = self;
    if (c->nesterov && (c->momentum <= 0 || c->dampening != 0))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "nesterov"),
                    "nesterov needs a momentum above 0 and no dampening; set them or leave it out");
}
static const cr_msg dense_sgd_msg = {
    .name = "SGDOptimizer",
    .help = "Gradient descent with momentum",
    .fields = dense_sgd_fields,
    .size = sizeof(cr_dense_sgd_conf),
    .check = dense_sgd_check,
};
static const cr_msg dense_adagrad_msg = {
    .name = "AdagradOptimizer",
    .help = "Adagrad on dense parameters",
    .fields = dense_adagrad_fields,
    .size = sizeof(cr_dense_adagrad_conf),
};
static const cr_msg dense_adam_msg = {
    .name = "AdamOptimizer",
    .help = "Adam on dense parameters",
    .fields = dense_adam_fields,
    .size = sizeof(cr_dense_adam_conf),
    .check = adam_check,
};
static const cr_msg adamw_msg = {
    .name = "AdamWOptimizer",
    .help = "Adam with weight decay apart from the gradient",
    .fields = adamw_fields,
    .size = sizeof(cr_dense_adam_conf),
    .check = adam_check,
};
static const cr_msg dense_adadelta_msg = {
    .name = "AdadeltaOptimizer",
    .help = "Adadelta on dense parameters",
    .fields = dense_adadelta_fields,
    .size = sizeof(cr_adadelta_conf),
};
static const cr_msg dense_rmsprop_msg = {
    .name = "RMSpropOptimizer",
    .help = "RMSprop on dense parameters",
    .fields = dense_rmsprop_fields,
    .size = sizeof(cr_rmsprop_conf),
};
static const cr_msg dense_ftrl_msg = {
    .name = "FTRLOptimizer",
    .help = "FTRL-Proximal on dense parameters",
    .fields = dense_ftrl_fields,
    .size = sizeof(cr_ftrl_conf),
};

static const cr_oneof_member dense_members[] = {
    {"sgd_optimizer", &dense_sgd_msg, &cr_optim_sgd},
    {"adagrad_optimizer", &dense_adagrad_msg, &cr_optim_adagrad},
    {"adam_optimizer", &dense_adam_msg, &cr_optim_adam},
    {"adamw_optimizer", &adamw_msg, &cr_optim_adamw},
    {"adadelta_optimizer", &dense_adadelta_msg, &cr_optim_adadelta},
    {"rmsprop_optimizer", &dense_rmsprop_msg, &cr_optim_rmsprop},
    {"ftrl_optimizer", &dense_ftrl_msg, &cr_optim_ftrl},
    {NULL, NULL, NULL},
};
const cr_oneof cr_dense_optim_family = {"dense optimizer", true, dense_members};
