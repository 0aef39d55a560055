/*
 * interval.h - self-attention that knows how far apart in time two steps are.
 */
#ifndef CR_OP_INTERVAL_H
#define CR_OP_INTERVAL_H

#include "graph/graph.h"

/* cr_seq_interval: each position attends to itself and to the `most` - 1 positions before it, with
 * H heads. q, k and v (D) and the times t (1, without a gradient) are sequences of one axis; TK and
 * TV (span + 1, D) have a vector for each interval. With r_ij = min(|t_i - t_j|, span), in whole
 * numbers, the weights are the softmax over j of scale * q_i . (k_j + TK[r_ij]), and the output is
 * the weighted sum of v_j + TV[r_ij]. */
cr_node *cr_seq_interval(cr_graph *g, cr_node *q, cr_node *k, cr_node *v, cr_node *t, cr_node *TK,
                         cr_node *TV, int64_t H, int64_t most, float scale);

#endif
