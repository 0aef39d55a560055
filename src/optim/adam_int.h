/*
 * adam_int.h - shared by the rules of Adam's family on table rows: Adam, LAMB and their partial
 * row-wise forms.
 */
#ifndef CR_OPTIM_ADAM_INT_H
#define CR_OPTIM_ADAM_INT_H

#include "optim/fields_int.h"
#include "optim/list.h"

typedef struct cr_sparse_adam_conf {
    cr_conf_base base;
    double lr;
    bool gradient_clipping;
    double max_gradient;
    double beta1, beta2;
    double weight_decay; /* decoupled: w -= lr * weight_decay * w */
    int mode;            /* only adam_optimizer has the key */
} cr_sparse_adam_conf;   /* also LAMB and both partial row-wise rules */

/* cr_adam_check refuses a beta of 1. beta1 and beta2 are at the same place in all messages of the
 * family, also in the dense ones (adam.c). */
void cr_adam_check(const void *self, cr_diag *diag);
/* row_adam becomes this rule with mode DENSE. */
extern const cr_optim_type cr_optim_adam_all_rows;

#endif
