/*
 * registry.c - the two families that the optimizers of list.h form. The settings around them
 * (schedules, parts, averages, clipping) are in config_train.c.
 */
#include "optim/list.h"

#define ENTRY(key, m, t) {#key, &cr_optim_##m##_msg, &cr_optim_##t},
#define SKIP(key, m, t)

static const cr_oneof_member sparse_members[] = {
    CR_OPTIMIZERS(ENTRY, SKIP, ENTRY){NULL, NULL, NULL},
};
const cr_oneof cr_sparse_optim_family = {"sparse optimizer", true, sparse_members};

static const cr_oneof_member dense_members[] = {
    CR_OPTIMIZERS(SKIP, ENTRY, ENTRY){NULL, NULL, NULL},
};
const cr_oneof cr_dense_optim_family = {"dense optimizer", true, dense_members};
