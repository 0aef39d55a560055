/*
 * config.c - the messages of optimizers and learning rates, and the families they form.
 *
 * Sparse and dense messages of one rule differ (sparse ones have no eps: it is 1e-8 for all), so
 * each has its own table. Rules of later versions are known by their tables and refused by name.
 */
#include "optim/config.h"

#include "base/err.h"

extern const cr_optim_type cr_optim_sgd, cr_optim_row_sgd, cr_optim_adagrad,
    cr_optim_rowwise_adagrad, cr_optim_adam;
extern const cr_sched_type cr_sched_constant, cr_sched_exponential;

const cr_enum_value cr_wd_modes[] = {
    {"NONE", CR_WD_NONE, "no weight decay", false},
    {"L2", CR_WD_L2, "weight_decay * w is added to the gradient", false},
    {"DECOUPLE", CR_WD_DECOUPLE, "w shrinks by lr * weight_decay besides the update", false},
    {NULL, 0, NULL, false},
};

#define HELP_LR       "learning rate before the schedule"
#define HELP_CLIP     "limit each gradient element before the update"
#define HELP_MAX_GRAD "limit of gradient_clipping, up and down"
#define HELP_WD_L2    "weight decay added to the gradient"
#define HELP_WD       "weight decay, apart from the gradient"
#define HELP_BETA1    "how much of the mean of gradients is kept per step"
#define HELP_BETA2    "how much of the mean of squared gradients is kept per step"
#define HELP_EPS      "added to the root in the divisor"
#define HELP_ACC      "first value of the summed squares"
#define HELP_FUSED    "one kernel for all parameters; this is always so here"
#define HELP_MOMENTUM "how much of the last update is kept"
#define HELP_RHO      "how much of the running means is kept per step"
#define HELP_ALPHA    "how much of the mean of squares is kept per step"

/* ---- sparse ---- */
#define SPARSE_HEAD(S)                                                                             \
    CR_FLOAT(S, lr, 0.002, 0, CR_INF, 0, HELP_LR),                                                 \
        CR_BOOL(S, gradient_clipping, false, 0, HELP_CLIP),                                        \
        CR_FLOAT(S, max_gradient, 1.0, 0, CR_INF, 0, HELP_MAX_GRAD)
#define K_SPARSE_HEAD                                                                              \
    CR_K_FLOAT("lr", 0.002, 0, CR_INF, 0, HELP_LR),                                                \
        CR_K_BOOL("gradient_clipping", false, 0, HELP_CLIP),                                       \
        CR_K_FLOAT("max_gradient", 1.0, 0, CR_INF, 0, HELP_MAX_GRAD)
#define K_WD    CR_K_FLOAT("weight_decay", 0, 0, CR_INF, 0, HELP_WD)
#define K_WD_L2 CR_K_FLOAT("weight_decay", 0, 0, CR_INF, 0, HELP_WD_L2)
#define K_BETAS                                                                                    \
    CR_K_FLOAT("beta1", 0.9, 0, 1, 0, HELP_BETA1), CR_K_FLOAT("beta2", 0.999, 0, 1, 0, HELP_BETA2)
#define K_ADADELTA                                                                                 \
    CR_K_FLOAT("rho", 0.95, 0, 1, 0, HELP_RHO), CR_K_FLOAT("eps", 1e-6, 0, CR_INF, 0, HELP_EPS),   \
        K_WD_L2
#define K_RMSPROP                                                                                  \
    CR_K_FLOAT("alpha", 0.99, 0, 1, 0, HELP_ALPHA),                                                \
        CR_K_FLOAT("eps", 1e-8, 0, CR_INF, 0, HELP_EPS), K_WD_L2

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
    CR_END,
};
static const cr_field sparse_adam_fields[] = {
    SPARSE_HEAD(cr_sparse_adam_conf),
    CR_FLOAT(cr_sparse_adam_conf, beta1, 0.9, 0, 1, 0, HELP_BETA1),
    CR_FLOAT(cr_sparse_adam_conf, beta2, 0.999, 0, 1, 0, HELP_BETA2),
    CR_FLOAT(cr_sparse_adam_conf, weight_decay, 0, 0, CR_INF, 0, HELP_WD),
    CR_END,
};
static const cr_field lars_sgd_fields[] = {
    K_SPARSE_HEAD,
    CR_K_FLOAT("momentum", 0.9, 0, 1, 0, HELP_MOMENTUM),
    K_WD_L2,
    CR_END,
};
static const cr_field lamb_fields[] = {K_SPARSE_HEAD, K_BETAS, K_WD, CR_END};
static const cr_field sparse_adadelta_fields[] = {K_SPARSE_HEAD, K_ADADELTA, CR_END};
static const cr_field sparse_rmsprop_fields[] = {K_SPARSE_HEAD, K_RMSPROP, CR_END};

static const cr_msg sparse_sgd_msg = {"FusedSGDOptimizer",
                                      "Plain gradient descent on table rows",
                                      sparse_sgd_fields,
                                      sizeof(cr_sparse_sgd_conf),
                                      false,
                                      NULL};
static const cr_msg sparse_adagrad_msg = {"FusedAdagradOptimizer",
                                          "Adagrad with one sum of squares per weight",
                                          sparse_adagrad_fields,
                                          sizeof(cr_sparse_adagrad_conf),
                                          false,
                                          NULL};
static void rowwise_check(const void *self, cr_diag *diag) {
    const cr_rowwise_adagrad_conf *c = self;
    if (c->weight_decay > 0 && c->weight_decay_mode == CR_WD_NONE)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(c, "weight_decay"),
                    "weight_decay has no effect with weight_decay_mode NONE; "
                    "set weight_decay_mode to L2 or DECOUPLE");
}
static const cr_msg rowwise_adagrad_msg = {"FusedRowWiseAdagradOptimizer",
                                           "Adagrad with one sum of squares per row",
                                           rowwise_adagrad_fields,
                                           sizeof(cr_rowwise_adagrad_conf),
                                           false,
                                           rowwise_check};
static const cr_msg sparse_adam_msg = {"FusedAdamOptimizer",
                                       "Adam on the rows a batch touches",
                                       sparse_adam_fields,
                                       sizeof(cr_sparse_adam_conf),
                                       false,
                                       NULL};
static const cr_msg lars_sgd_msg = {"FusedLarsSGDOptimizer",
                                    "Momentum SGD with a rate per row from the norms",
                                    lars_sgd_fields,
                                    0,
                                    true,
                                    NULL};
static const cr_msg lamb_msg = {
    "FusedLAMBOptimizer", "Adam scaled by the norms of row and update", lamb_fields, 0, true, NULL};
static const cr_msg partial_lamb_msg = {"FusedPartialRowWiseLAMBOptimizer",
                                        "LAMB with one second moment per row",
                                        lamb_fields,
                                        0,
                                        true,
                                        NULL};
static const cr_msg partial_adam_msg = {"FusedPartialRowWiseAdamOptimizer",
                                        "Adam with one second moment per row",
                                        lamb_fields,
                                        0,
                                        true,
                                        NULL};
static const cr_msg sparse_adadelta_msg = {
    "FusedAdadeltaOptimizer", "Adadelta on table rows", sparse_adadelta_fields, 0, true, NULL};
static const cr_msg sparse_rmsprop_msg = {
    "FusedRMSpropOptimizer", "RMSprop on table rows", sparse_rmsprop_fields, 0, true, NULL};

static const cr_oneof_member sparse_members[] = {
    {"sgd_optimizer", &sparse_sgd_msg, &cr_optim_row_sgd},
    {"adagrad_optimizer", &sparse_adagrad_msg, &cr_optim_adagrad},
    {"adam_optimizer", &sparse_adam_msg, &cr_optim_adam},
    {"lars_sgd_optimizer", &lars_sgd_msg, NULL},
    {"lamb_optimizer", &lamb_msg, NULL},
    {"partial_rowwise_lamb_optimizer", &partial_lamb_msg, NULL},
    {"partial_rowwise_adam_optimizer", &partial_adam_msg, NULL},
    {"rowwise_adagrad_optimizer", &rowwise_adagrad_msg, &cr_optim_rowwise_adagrad},
    {"adadelta_optimizer", &sparse_adadelta_msg, NULL},
    {"rmsprop_optimizer", &sparse_rmsprop_msg, NULL},
    {NULL, NULL, NULL},
};
const cr_oneof cr_sparse_optim_family = {"sparse optimizer", true, sparse_members};

/* ---- dense ---- */
#define DENSE_LR(S) CR_FLOAT(S, lr, 0.002, 0, CR_INF, 0, HELP_LR)
#define K_LR        CR_K_FLOAT("lr", 0.002, 0, CR_INF, 0, HELP_LR)
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
    CR_FLOAT(cr_dense_adam_conf, beta1, 0.9, 0, 1, 0, HELP_BETA1),
    CR_FLOAT(cr_dense_adam_conf, beta2, 0.999, 0, 1, 0, HELP_BETA2),
    CR_FLOAT(cr_dense_adam_conf, weight_decay, 0, 0, CR_INF, 0, HELP_WD_L2),
    CR_FLOAT(cr_dense_adam_conf, eps, 1e-8, 0, CR_INF, 0, HELP_EPS),
    CR_K_BOOL("amsgrad", false, CR_F_LATER, "divide by the largest second moment so far"),
    K_FUSED,
    CR_END,
};
static const cr_field adamw_fields[] = {
    K_LR,
    K_BETAS,
    K_WD,
    CR_K_FLOAT("eps", 1e-8, 0, CR_INF, 0, HELP_EPS),
    CR_K_BOOL("amsgrad", false, 0, "divide by the largest second moment so far"),
    K_FUSED,
    CR_END,
};
static const cr_field dense_adadelta_fields[] = {K_LR, K_ADADELTA, CR_END};
static const cr_field dense_rmsprop_fields[] = {K_LR, K_RMSPROP, CR_END};

static void dense_sgd_check(const void *self, cr_diag *diag) {
    const cr_dense_sgd_conf *c = self;
    if (c->nesterov && (c->momentum <= 0 || c->dampening != 0))
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "nesterov"),
                    "nesterov needs a momentum above 0 and no dampening; set them or leave it out");
}
static const cr_msg dense_sgd_msg = {"SGDOptimizer",
                                     "Gradient descent with momentum",
                                     dense_sgd_fields,
                                     sizeof(cr_dense_sgd_conf),
                                     false,
                                     dense_sgd_check};
static const cr_msg dense_adagrad_msg = {"AdagradOptimizer",
                                         "Adagrad on dense parameters",
                                         dense_adagrad_fields,
                                         sizeof(cr_dense_adagrad_conf),
                                         false,
                                         NULL};
static const cr_msg dense_adam_msg = {"AdamOptimizer",
                                      "Adam on dense parameters",
                                      dense_adam_fields,
                                      sizeof(cr_dense_adam_conf),
                                      false,
                                      NULL};
static const cr_msg adamw_msg = {"AdamWOptimizer",
                                 "Adam with weight decay apart from the gradient",
                                 adamw_fields,
                                 0,
                                 true,
                                 NULL};
static const cr_msg dense_adadelta_msg = {
    "AdadeltaOptimizer", "Adadelta on dense parameters", dense_adadelta_fields, 0, true, NULL};
static const cr_msg dense_rmsprop_msg = {
    "RMSpropOptimizer", "RMSprop on dense parameters", dense_rmsprop_fields, 0, true, NULL};

static const cr_oneof_member dense_members[] = {
    {"sgd_optimizer", &dense_sgd_msg, &cr_optim_sgd},
    {"adagrad_optimizer", &dense_adagrad_msg, &cr_optim_adagrad},
    {"adam_optimizer", &dense_adam_msg, &cr_optim_adam},
    {"adamw_optimizer", &adamw_msg, NULL},
    {"adadelta_optimizer", &dense_adadelta_msg, NULL},
    {"rmsprop_optimizer", &dense_rmsprop_msg, NULL},
    {NULL, NULL, NULL},
};
const cr_oneof cr_dense_optim_family = {"dense optimizer", true, dense_members};

/* ---- learning rates ---- */
#define HELP_MIN_LR    "the rate never falls below this"
#define HELP_WARM_LR   "rate at step 0 of the warm-up"
#define HELP_WARM_SIZE "steps (or epochs) of a linear rise to lr; 0: none"
#define HELP_BY_EPOCH  "count epochs instead of steps"
#define K_WARM_TAIL                                                                                \
    CR_K_FLOAT("min_learning_rate", 0, 0, CR_INF, 0, HELP_MIN_LR),                                 \
        CR_K_FLOAT("warmup_learning_rate", 0, 0, CR_INF, 0, HELP_WARM_LR),                         \
        CR_K_INT("warmup_size", 0, 0, CR_U32_MAX, 0, HELP_WARM_SIZE),                              \
        CR_K_BOOL("by_epoch", false, 0, HELP_BY_EPOCH)

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
    CR_K_INT("schedule_sizes", 0, 0, CR_U32_MAX, CR_F_REPEATED, "steps at which the rate changes"),
    CR_K_FLOAT("learning_rates", 0, 0, CR_INF, CR_F_REPEATED, "the rate after each of them"),
    CR_K_BOOL("warmup", false, 0, "go in a line to the first rate"),
    CR_K_BOOL("by_epoch", false, 0, HELP_BY_EPOCH),
    CR_END,
};
static const cr_field cosine_fields[] = {
    CR_K_INT("T_max", 0, 0, CR_U32_MAX, 0, "steps from lr down to the lowest rate"),
    K_WARM_TAIL,
    CR_END,
};
static const cr_field restarts_fields[] = {
    CR_K_INT("T_0", 0, 0, CR_U32_MAX, 0, "steps of the first period"),
    CR_K_INT("T_mult", 1, 1, CR_U32_MAX, 0, "each period is this many times the last"),
    K_WARM_TAIL,
    CR_END,
};
static void exponential_check(const void *self, cr_diag *diag) {
    const cr_exponential_conf *c = self;
    if (c->decay_size == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "decay_size"),
                    "decay_size must be given and above 0; use constant_learning_rate for a rate "
                    "that stays");
}
static const cr_msg constant_msg = {"ConstantLR", "The rate stays as it is",
                                    no_fields,    sizeof(cr_constant_conf),
                                    false,        NULL};
static const cr_msg exponential_msg = {"ExponentialDecayLR",
                                       "The rate falls by a factor every so many steps",
                                       exponential_fields,
                                       sizeof(cr_exponential_conf),
                                       false,
                                       exponential_check};
static const cr_msg manual_msg = {"ManualStepLR", "Rates given step by step",
                                  manual_fields,  0,
                                  true,           NULL};
static const cr_msg cosine_msg = {
    "CosineAnnealingLR", "Half a cosine wave down", cosine_fields, 0, true, NULL};
static const cr_msg restarts_msg = {"CosineAnnealingWarmRestartsLR",
                                    "Cosine waves that start again at the full rate",
                                    restarts_fields,
                                    0,
                                    true,
                                    NULL};
static const cr_oneof_member scheds[] = {
    {"constant_learning_rate", &constant_msg, &cr_sched_constant},
    {"exponential_decay_learning_rate", &exponential_msg, &cr_sched_exponential},
    {"manual_step_learning_rate", &manual_msg, NULL},
    {"cosine_annealing_learning_rate", &cosine_msg, NULL},
    {"cosine_annealing_warm_restarts_learning_rate", &restarts_msg, NULL},
    {NULL, NULL, NULL},
};
const cr_oneof cr_sched_family = {"learning rate", true, scheds};
static const cr_oneof part_sched_family = {"learning rate", false, scheds};

/* ---- the two messages of TrainConfig ---- */
static const cr_field sparse_optim_fields[] = {
    CR_ONEOF(cr_sparse_optim_conf, optimizer, &cr_sparse_optim_family, 0, "rule for table rows"),
    CR_ONEOF(cr_sparse_optim_conf, learning_rate, &cr_sched_family, 0, "how the rate changes"),
    CR_END,
};
const cr_msg cr_sparse_optim_msg = {"SparseOptimizer",
                                    "How embedding tables are trained",
                                    sparse_optim_fields,
                                    sizeof(cr_sparse_optim_conf),
                                    false,
                                    NULL};

static const cr_field part_fields[] = {
    CR_K_ONEOF("optimizer", &cr_dense_optim_family, 0, "rule for these parameters"),
    CR_K_STR("regex_pattern", NULL, CR_F_REQUIRED, "matches the whole name of a parameter"),
    CR_K_ONEOF("learning_rate", &part_sched_family, 0,
               "how the rate changes; the main schedule when not given"),
    CR_END,
};
static const cr_msg part_msg = {
    "PartOptimizer", "Another optimizer for some dense parameters", part_fields, 0, true, NULL};
static const cr_field ema_fields[] = {
    CR_K_FLOAT("decay", 0.999, 0, 1, 0, "how much of the average is kept per step"),
    CR_END,
};
static const cr_msg ema_msg = {"EMAConfig", "A running average of dense parameters",
                               ema_fields,  0,
                               true,        NULL};
static const cr_field dense_optim_fields[] = {
    CR_ONEOF(cr_dense_optim_conf, optimizer, &cr_dense_optim_family, 0,
             "rule for everything but tables"),
    CR_ONEOF(cr_dense_optim_conf, learning_rate, &cr_sched_family, 0, "how the rate changes"),
    CR_K_MSG("part_optimizers", &part_msg, CR_F_REPEATED | CR_F_LATER,
             "other optimizers for parameters found by name"),
    CR_K_MSG("ema", &ema_msg, CR_F_LATER, "evaluate and export averaged parameters"),
    CR_END,
};
const cr_msg cr_dense_optim_msg = {"DenseOptimizer",
                                   "How all parameters outside tables are trained",
                                   dense_optim_fields,
                                   sizeof(cr_dense_optim_conf),
                                   false,
                                   NULL};
