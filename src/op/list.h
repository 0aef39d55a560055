/*
 * list.h - every op, in alphabetical order. An op is one line here, one line of meson.build and one
 * file, which holds its type cr_op_<name>; tests run over the list (cr_ops).
 */
#ifndef CR_OP_LIST_H
#define CR_OP_LIST_H

#include "graph/graph.h"

#define CR_OPS(X)                                                                                  \
    X(activation)                                                                                  \
    X(add)                                                                                         \
    X(among)                                                                                       \
    X(attention)                                                                                   \
    X(bce)                                                                                         \
    X(bias)                                                                                        \
    X(bmm)                                                                                         \
    X(bn_apply)                                                                                    \
    X(bn_stats)                                                                                    \
    X(both)                                                                                        \
    X(capsules)                                                                                    \
    X(cin)                                                                                         \
    X(codes)                                                                                       \
    X(concat)                                                                                      \
    X(conv)                                                                                        \
    X(cosine)                                                                                      \
    X(counterfact)                                                                                 \
    X(cross)                                                                                       \
    X(ctr)                                                                                         \
    X(custom)                                                                                      \
    X(detach)                                                                                      \
    X(dice)                                                                                        \
    X(din)                                                                                         \
    X(din_parts)                                                                                   \
    X(drop_fields)                                                                                 \
    X(drop_gate)                                                                                   \
    X(drop_penalty)                                                                                \
    X(dropout)                                                                                     \
    X(each_class)                                                                                  \
    X(emb_matmul)                                                                                  \
    X(ffm)                                                                                         \
    X(ffm_mul)                                                                                     \
    X(field_sum)                                                                                   \
    X(fm)                                                                                          \
    X(focal)                                                                                       \
    X(fold_affine)                                                                                 \
    X(fold_columns)                                                                                \
    X(fold_exp)                                                                                    \
    X(fold_gram)                                                                                   \
    X(fold_heads)                                                                                  \
    X(fold_items)                                                                                  \
    X(fold_product)                                                                                \
    X(fold_social)                                                                                 \
    X(gather)                                                                                      \
    X(gates_open)                                                                                  \
    X(ge)                                                                                          \
    X(graph_mix)                                                                                   \
    X(group_attend)                                                                                \
    X(group_near)                                                                                  \
    X(group_pool)                                                                                  \
    X(group_spread)                                                                                \
    X(gru)                                                                                         \
    X(hard_concrete)                                                                               \
    X(l2)                                                                                          \
    X(label)                                                                                       \
    X(layer_norm)                                                                                  \
    X(leave_out)                                                                                   \
    X(listwise)                                                                                    \
    X(log_loss)                                                                                    \
    X(log_softmax)                                                                                 \
    X(lookup)                                                                                      \
    X(lookup_seq)                                                                                  \
    X(lstm)                                                                                        \
    X(margin)                                                                                      \
    X(masked_error)                                                                                \
    X(matmul)                                                                                      \
    X(max_pool)                                                                                    \
    X(mean_loss)                                                                                   \
    X(members)                                                                                     \
    X(mix)                                                                                         \
    X(mul)                                                                                         \
    X(norms)                                                                                       \
    X(pad)                                                                                         \
    X(pair_mean)                                                                                   \
    X(pair_mul)                                                                                    \
    X(pairs)                                                                                       \
    X(pairwise)                                                                                    \
    X(periodic)                                                                                    \
    X(pick)                                                                                        \
    X(piecewise)                                                                                   \
    X(powers)                                                                                      \
    X(prelu)                                                                                       \
    X(root)                                                                                        \
    X(row_sum)                                                                                     \
    X(rrelu)                                                                                       \
    X(scatter)                                                                                     \
    X(selectors)                                                                                   \
    X(seq_attend)                                                                                  \
    X(seq_attention)                                                                               \
    X(seq_end)                                                                                     \
    X(seq_interval)                                                                                \
    X(seq_mean_by)                                                                                 \
    X(seq_members)                                                                                 \
    X(seq_near)                                                                                    \
    X(seq_next)                                                                                    \
    X(seq_pool)                                                                                    \
    X(seq_row)                                                                                     \
    X(seq_softmax)                                                                                 \
    X(seq_spread)                                                                                  \
    X(seq_take)                                                                                    \
    X(seq_weigh)                                                                                   \
    X(seq_windows)                                                                                 \
    X(session)                                                                                     \
    X(slice)                                                                                       \
    X(social_draw)                                                                                 \
    X(social_loss)                                                                                 \
    X(softmax)                                                                                     \
    X(softmax_ce)                                                                                  \
    X(squares)                                                                                     \
    X(there)                                                                                       \
    X(top)                                                                                         \
    X(total)                                                                                       \
    X(transpose)                                                                                   \
    X(turn)

#define CR_OP_DECLARE(o) extern const cr_op_type cr_op_##o;
CR_OPS(CR_OP_DECLARE)

#endif
