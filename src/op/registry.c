/*
 * registry.c - the ops of list.h as an array.
 */
#include "op/op.h"

#define ENTRY(o) &cr_op_##o,
const cr_op_type *const cr_ops[] = {CR_OPS(ENTRY) NULL};
