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
} cr_rowwise_adagrad_conf;
typedef struct cr_sparse_adam_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double beta1, beta2;
    double weight_decay; /* decoupled: w -= lr * weight_decay * w */
} cr_sparse_adam_conf;

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
    double weight_decay; /* added to the gradient (L2) */
    double eps;
} cr_dense_adam_conf;

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

extern const cr_enum_value cr_wd_modes[];

#endif
