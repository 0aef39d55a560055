/*
 * sched_list.h - every learning-rate schedule: its key, and its name. The file of a schedule holds
 * the struct of its config, its message cr_sched_<name>_msg and its type cr_sched_<name>. The order
 * is that of the help texts.
 */
#ifndef CR_OPTIM_SCHED_LIST_H
#define CR_OPTIM_SCHED_LIST_H

#include "optim/optim.h"

#define CR_SCHEDULES(X)                                                                            \
    X(constant_learning_rate, constant)                                                            \
    X(exponential_decay_learning_rate, exponential)                                                \
    X(manual_step_learning_rate, manual)                                                           \
    X(cosine_annealing_learning_rate, cosine)                                                      \
    X(cosine_annealing_warm_restarts_learning_rate, restarts)                                      \
    X(linear_decay_learning_rate, linear)                                                          \
    X(warmup_decay_learning_rate, warm)

#define CR_SCHED_DECLARE(key, s)                                                                   \
    extern const cr_msg cr_sched_##s##_msg;                                                        \
    extern const cr_sched_type cr_sched_##s;
CR_SCHEDULES(CR_SCHED_DECLARE)

#endif
