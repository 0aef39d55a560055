/*
 * fields_int.h - rows that the messages of several optimizers have in common.
 *
 * The struct of an optimizer begins with the members of cr_optim_conf in the same order; no dense
 * message sets gradient_clipping and max_gradient. Most sparse messages have no eps: it is 1e-8
 * (CR_ROW_EPS) for all.
 */
#ifndef CR_OPTIM_FIELDS_INT_H
#define CR_OPTIM_FIELDS_INT_H

#include "optim/optim.h"

#define CR_HELP_LR       "learning rate before the schedule"
#define CR_HELP_CLIP     "limit each gradient element before the update"
#define CR_HELP_MAX_GRAD "limit of gradient_clipping, up and down"
#define CR_HELP_WD_L2    "weight decay added to the gradient"
#define CR_HELP_WD       "weight decay, apart from the gradient"
#define CR_HELP_BETA1    "how much of the mean of gradients is kept per step"
#define CR_HELP_BETA2    "how much of the mean of squared gradients is kept per step"
#define CR_HELP_EPS      "added to the root in the divisor"
#define CR_HELP_EPS_IN   "added inside both roots"
#define CR_HELP_ACC      "first value of the summed squares"
#define CR_HELP_FUSED    "one kernel for all parameters; this is always so here"
#define CR_HELP_MOMENTUM "how much of the last update is kept"
#define CR_HELP_AMSGRAD  "divide by the largest second moment so far"
#define CR_HELP_RHO      "how much of the running means is kept per step"
#define CR_HELP_ALPHA    "how much of the mean of squares is kept per step"

#define CR_ROW_HEAD(S)                                                                             \
    CR_FLOAT(S, lr, 0.002, 0, CR_INF, 0, CR_HELP_LR),                                              \
        CR_BOOL(S, gradient_clipping, false, 0, CR_HELP_CLIP),                                     \
        CR_FLOAT(S, max_gradient, 1.0, 0, CR_INF, 0, CR_HELP_MAX_GRAD)
#define CR_DENSE_LR(S) CR_FLOAT(S, lr, 0.002, 0, CR_INF, 0, CR_HELP_LR)
#define CR_K_FUSED     CR_K_BOOL("fused", false, CR_F_SPEED, CR_HELP_FUSED)
#define CR_BETAS(S)                                                                                \
    CR_FLOAT(S, beta1, 0.9, 0, 1, 0, CR_HELP_BETA1),                                               \
        CR_FLOAT(S, beta2, 0.999, 0, 1, 0, CR_HELP_BETA2)

#endif
