/*
 * config.h - the learning-rate messages as structs.
 */
#ifndef CR_OPTIM_CONFIG_H
#define CR_OPTIM_CONFIG_H

#include "optim/optim.h"

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

extern const cr_sched_type cr_sched_constant, cr_sched_exponential, cr_sched_manual,
    cr_sched_cosine, cr_sched_restarts, cr_sched_linear;

#endif
