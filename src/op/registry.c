/*
 * registry.c - every op crank knows, in alphabetical order.
 */
#include "op/op.h"

#define OPS(X)                                                                                     \
    X(activation)                                                                                  \
    X(add)                                                                                         \
    X(attention)                                                                                   \
    X(bce)                                                                                         \
    X(bias)                                                                                        \
    X(bmm)                                                                                         \
    X(bn_apply)                                                                                    \
    X(bn_stats)                                                                                    \
    X(both)                                                                                        \
    X(cin)                                                                                         \
    X(codes)                                                                                       \
    X(concat)                                                                                      \
    X(cosine)                                                                                      \
    X(cross)                                                                                       \
    X(custom)                                                                                      \
    X(detach)                                                                                      \
    X(dice)                                                                                        \
    X(din)                                                                                         \
    X(drop_fields)                                                                                 \
    X(drop_gate)                                                                                   \
    X(drop_penalty)                                                                                \
    X(dropout)                                                                                     \
    X(emb_matmul)                                                                                  \
    X(ffm)                                                                                         \
    X(field_sum)                                                                                   \
    X(fm)                                                                                          \
    X(focal)                                                                                       \
    X(fold_affine)                                                                                 \
    X(fold_columns)                                                                                \
    X(fold_exp)                                                                                    \
    X(fold_heads)                                                                                  \
    X(fold_product)                                                                                \
    X(ge)                                                                                          \
    X(l2)                                                                                          \
    X(label)                                                                                       \
    X(layer_norm)                                                                                  \
    X(listwise)                                                                                    \
    X(log_softmax)                                                                                 \
    X(lookup)                                                                                      \
    X(lookup_seq)                                                                                  \
    X(matmul)                                                                                      \
    X(mean_loss)                                                                                   \
    X(mix)                                                                                         \
    X(mul)                                                                                         \
    X(pad)                                                                                         \
    X(pairs)                                                                                       \
    X(pairwise)                                                                                    \
    X(pick)                                                                                        \
    X(powers)                                                                                      \
    X(prelu)                                                                                       \
    X(root)                                                                                        \
    X(row_sum)                                                                                     \
    X(rrelu)                                                                                       \
    X(seq_attention)                                                                               \
    X(seq_pool)                                                                                    \
    X(seq_softmax)                                                                                 \
    X(seq_spread)                                                                                  \
    X(seq_weigh)                                                                                   \
    X(seq_windows)                                                                                 \
    X(session)                                                                                     \
    X(slice)                                                                                       \
    X(softmax)                                                                                     \
    X(softmax_ce)                                                                                  \
    X(squares)                                                                                     \
    X(top)                                                                                         \
    X(total)                                                                                       \
    X(transpose)
#define ENTRY(o) &cr_op_##o,
const cr_op_type *const cr_ops[] = {OPS(ENTRY) NULL};
