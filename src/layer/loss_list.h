/*
 * loss_list.h - every loss. A loss is one line here, one line of meson.build and one file, which
 * holds the struct of its config, its message cr_loss_<key>_msg and its type cr_loss_<key>. The
 * order is that of the help texts.
 */
#ifndef CR_LAYER_LOSS_LIST_H
#define CR_LAYER_LOSS_LIST_H

#include "layer/loss.h"

#define CR_LOSSES(X)                                                                               \
    X(binary_cross_entropy)                                                                        \
    X(softmax_cross_entropy)                                                                       \
    X(l2_loss)                                                                                     \
    X(jrc_loss)                                                                                    \
    X(binary_focal_loss)                                                                           \
    X(listwise_rank_loss)                                                                          \
    X(pairwise_loss)                                                                               \
    X(multi_margin_loss)                                                                           \
    X(negative_sampling_loss)                                                                      \
    X(excess_loss)                                                                                 \
    X(log_loss)                                                                                    \
    X(counterfactual_loss)

#define CR_LOSS_DECLARE(l)                                                                         \
    extern const cr_msg cr_loss_##l##_msg;                                                         \
    extern const cr_loss_type cr_loss_##l;
CR_LOSSES(CR_LOSS_DECLARE)

#endif
