/*
 * list.h - every optimizer. An optimizer is one line here, one line of meson.build and one file,
 * which holds the struct of its config, its message cr_optim_<m>_msg, the layout of its state and
 * its rule cr_optim_<t>:
 *   TABLES(key, m, t)  for rows of tables (SparseOptimizer)
 *   DENSE(key, m, t)   for dense parameters (DenseOptimizer)
 *   BOTH(key, m, t)    for both with one message
 * The order is that of the help texts.
 */
#ifndef CR_OPTIM_LIST_H
#define CR_OPTIM_LIST_H

#include "optim/optim.h"

#define CR_OPTIMIZERS(TABLES, DENSE, BOTH)                                                         \
    TABLES(sgd_optimizer, row_sgd, row_sgd)                                                        \
    TABLES(adagrad_optimizer, row_adagrad, adagrad)                                                \
    TABLES(adam_optimizer, row_adam, row_adam)                                                     \
    TABLES(lars_sgd_optimizer, lars, lars)                                                         \
    TABLES(lamb_optimizer, lamb, lamb)                                                             \
    TABLES(partial_rowwise_lamb_optimizer, partial_lamb, partial_lamb)                             \
    TABLES(partial_rowwise_adam_optimizer, partial_adam, partial_adam)                             \
    TABLES(rowwise_adagrad_optimizer, rowwise_adagrad, rowwise_adagrad)                            \
    TABLES(adadelta_optimizer, row_adadelta, adadelta)                                             \
    TABLES(rmsprop_optimizer, row_rmsprop, rmsprop)                                                \
    TABLES(ftrl_optimizer, row_ftrl, ftrl)                                                         \
    DENSE(sgd_optimizer, sgd, sgd)                                                                 \
    DENSE(adagrad_optimizer, adagrad, adagrad)                                                     \
    DENSE(adam_optimizer, adam, adam)                                                              \
    DENSE(adamw_optimizer, adamw, adamw)                                                           \
    DENSE(adadelta_optimizer, adadelta, adadelta)                                                  \
    DENSE(rmsprop_optimizer, rmsprop, rmsprop)                                                     \
    DENSE(ftrl_optimizer, ftrl, ftrl)                                                              \
    DENSE(grda_optimizer, grda, grda)

#define CR_OPTIM_DECLARE(key, m, t)                                                                \
    extern const cr_msg cr_optim_##m##_msg;                                                        \
    extern const cr_optim_type cr_optim_##t;
CR_OPTIMIZERS(CR_OPTIM_DECLARE, CR_OPTIM_DECLARE, CR_OPTIM_DECLARE)

#endif
