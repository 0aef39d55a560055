/*
 * registry.c - every op crank knows, in alphabetical order.
 */
#include "op/op.h"

#define OPS(X)                                                                                     \
    X(activation)                                                                                  \
    X(add)                                                                                         \
    X(bce)                                                                                         \
    X(bn_apply)                                                                                    \
    X(bn_stats)                                                                                    \
    X(concat)                                                                                      \
    X(dice)                                                                                        \
    X(dropout)                                                                                     \
    X(fm)                                                                                          \
    X(l2)                                                                                          \
    X(label)                                                                                       \
    X(layer_norm)                                                                                  \
    X(lookup)                                                                                      \
    X(matmul)                                                                                      \
    X(mean_loss)                                                                                   \
    X(pairs)                                                                                       \
    X(prelu)                                                                                       \
    X(row_sum)                                                                                     \
    X(slice)                                                                                       \
    X(softmax)                                                                                     \
    X(softmax_ce)
#define ENTRY(o) &cr_op_##o,
const cr_op_type *const cr_ops[] = {OPS(ENTRY) NULL};
