/*
 * config.h - the optimizer and learning-rate messages as structs.
 *
 * Every struct begins with the members of cr_optim_conf in the same order, and the two Adagrads
 * keep their initial accumulator at the same place, so that a rule used for both dense parameters
 * and table rows may read either.
 */
#ifndef CR_OPTIM_CONFIG_H
#define CR_OPTIM_CONFIG_H

#include "optim/optim.h"

/* ---- tables (SparseOptimizer) ---- */
typedef struct cr_sparse_sgd_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
} cr_sparse_sgd_conf;
typedef struct cr_sparse_adagrad_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double initial_accumulator_value;
} cr_sparse_adagrad_conf;
typedef enum cr_wd_mode { CR_WD_NONE = 0, CR_WD_L2 = 1, CR_WD_DECOUPLE = 2 } cr_wd_mode;
typedef struct cr_rowwise_adagrad_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double weight_decay;
    int weight_decay_mode; /* cr_wd_mode */
    double initial_accumulator_value;
} cr_rowwise_adagrad_conf;
typedef struct cr_sparse_adam_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double beta1, beta2;
    double weight_decay; /* decoupled: w -= lr * weight_decay * w */
    int mode;            /* cr_adam_mode; only adam_optimizer has the key */
} cr_sparse_adam_conf;   /* also LAMB and both partial row-wise rules */
typedef enum cr_adam_mode { CR_ADAM_LAZY = 0, CR_ADAM_DENSE = 1 } cr_adam_mode;
typedef struct cr_lars_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double momentum;
    double weight_decay;
} cr_lars_conf;

/* ---- tables and dense parameters alike ---- */
typedef struct cr_adadelta_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double rho;
    double eps;
    double weight_decay; /* added to the gradient (L2) */
} cr_adadelta_conf;
typedef struct cr_rmsprop_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double alpha;
    double eps;
    double weight_decay; /* added to the gradient (L2) */
} cr_rmsprop_conf;
typedef struct cr_ftrl_conf { /* the dense one is ours */
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double learning_rate_power;
    double ftrl_beta;
    double l1_reg, l2_reg;
    double initial_accumulator_value;
    bool keep_first_values;
} cr_ftrl_conf;

/* ---- dense parameters (DenseOptimizer) ----
 * gradient_clipping and max_gradient keep the common layout; no dense message sets them. */
typedef struct cr_dense_sgd_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double momentum;
    double weight_decay;
    double dampening;
    bool nesterov;
} cr_dense_sgd_conf;
typedef struct cr_dense_adagrad_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double initial_accumulator_value;
    double weight_decay;
    double eps;
} cr_dense_adagrad_conf;
typedef struct cr_dense_adam_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double beta1, beta2;
    double weight_decay; /* adam: added to the gradient (L2); adamw: decoupled */
    double eps;
    bool amsgrad;
} cr_dense_adam_conf; /* also AdamW */

/* ---- learning rates ---- */
typedef struct cr_constant_conf {
    cr_conf_base base;
} cr_constant_conf;
typedef struct cr_exponential_conf {
    cr_conf_base base;
    int64_t decay_size; /* at least 1 */
    double decay_factor;
    bool staircase;
    double warmup_learning_rate;
    int64_t warmup_size;
    double min_learning_rate;
    bool by_epoch;
} cr_exponential_conf;
typedef struct cr_manual_conf {
    cr_conf_base base;
    cr_ints schedule_sizes;   /* ascending, at least one */
    cr_floats learning_rates; /* as many */
    bool warmup;
    bool by_epoch;
} cr_manual_conf;
typedef struct cr_cosine_conf {
    cr_conf_base base;
    int64_t T_max; /* at least 1 */
    double min_learning_rate;
    double warmup_learning_rate;
    int64_t warmup_size;
    bool by_epoch;
} cr_cosine_conf;
typedef struct cr_linear_conf {
    cr_conf_base base;
    int64_t num_training_steps;
    double min_learning_rate, warmup_learning_rate;
    int64_t warmup_size;
    bool by_epoch;
} cr_linear_conf;
typedef struct cr_restarts_conf {
    cr_conf_base base;
    int64_t T_0, T_mult; /* at least 1 */
    double min_learning_rate;
    double warmup_learning_rate;
    int64_t warmup_size;
    bool by_epoch;
} cr_restarts_conf;

extern const cr_enum_value cr_wd_modes[], cr_adam_modes[];
extern const cr_optim_type cr_optim_sgd, cr_optim_row_sgd, cr_optim_adagrad,
    cr_optim_rowwise_adagrad, cr_optim_adam, cr_optim_adamw, cr_optim_row_adam,
    cr_optim_adam_all_rows, cr_optim_partial_adam, cr_optim_lamb, cr_optim_partial_lamb,
    cr_optim_lars, cr_optim_adadelta, cr_optim_rmsprop, cr_optim_ftrl;
extern const cr_sched_type cr_sched_constant, cr_sched_exponential, cr_sched_manual,
    cr_sched_cosine, cr_sched_restarts, cr_sched_linear;

#endif
