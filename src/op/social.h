/*
 * social.h - MHCN (Yu et al., 2021: self-supervised multi-channel hypergraph convolution): vectors
 * of all users and items that follow from a graph of both, made once per step.
 */
#ifndef CR_OP_SOCIAL_H
#define CR_OP_SOCIAL_H

#include "graph/graph.h"
#include "op/sparse.h"

/* Users see each other in three channels: by relations alone, by relations between users of one
 * item, and by items alone. */
#define CR_SOCIAL_CHANNELS 3

/* The graph; turned is the transpose. */
typedef struct cr_social {
    int64_t users, items;
    cr_sparse channel[CR_SOCIAL_CHANNELS], turned[CR_SOCIAL_CHANNELS]; /* (users, users) */
    cr_sparse rated, rated_turned;                                     /* (users, items) */
} cr_social;

/* cr_social_new makes the graph from pairs: a user and an item that the user has, and a user and
 * another one that the user trusts. Its memory is g's. */
const cr_social *cr_social_new(cr_graph *g, int64_t users, int64_t items, const int64_t *rated,
                               int64_t n_rated, const int64_t *trusts, int64_t n_trusts);

/* fold_social.c: users P (users, D), items Q (items, D), gates W (4 D, D) and b (4, D), attention v
 * (D, 1) -> (users + items, D), a folded parameter. */
cr_node *cr_fold_social(cr_graph *g, cr_node *P, cr_node *Q, cr_node *W, cr_node *b, cr_node *v,
                        const cr_social *s, int64_t layers);

/* social_loss.c: the sum of x (1) over the batch, plus weight times the contrast of the users Z
 * with their channels in training, as rows whose mean it is; gates W (3 D, D), b (3, D). */
cr_node *cr_social_loss(cr_graph *g, cr_node *Z, cr_node *W, cr_node *b, cr_node *x,
                        const cr_social *s, double weight);
/* The rows of Z that belong to a user (1) and an item (1) of the data, and to a drawn item that the
 * user does not have -> 3 numbers; -1: there is none. */
cr_node *cr_social_draw(cr_graph *g, cr_node *user, cr_node *item, const cr_social *s);

/* y = x * sigmoid(x W + b) for n rows of D numbers; gate gets the sigmoids. The scratch memory of
 * both has cr_gate_scratch floats. */
int64_t cr_gate_scratch(int64_t n, int64_t D);
void cr_gate(float *y, float *gate, const float *x, int64_t n, int64_t D, const float *W,
             const float *b, float *scratch);
/* From dy, adds to dx, dW and db, any of which may be NULL; temp has n D floats. */
void cr_gate_back(const float *dy, const float *gate, const float *x, int64_t n, int64_t D,
                  const float *W, float *dx, float *dW, float *db, float *temp, float *scratch);
/* For examples: a graph of 7 users and 5 items, with users and items that nothing leads to. */
const cr_social *cr_social_example(cr_graph *g);

#endif
