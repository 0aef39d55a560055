/*
 * input.h - what a run feeds into a graph, and the source nodes that read it: the bridge between
 * batches, tables and the graph.
 */
#ifndef CR_OP_INPUT_H
#define CR_OP_INPUT_H

#include "data/batch.h"
#include "emb/table.h"
#include "graph/work.h"

/* cr_run.input of every graph that has sources. */
typedef struct cr_step_input {
    const cr_batch *batch;
    /* per row weight of the model: w_i / sum(w) of the batch, times the task's weight; NULL entries
     * and absent ones mean 1/n */
    const float *const *scale;
    int n_scale;
    double slope; /* of every loss: loss scale / batches per step; 0: 1 */
    /* for this batch, by cr_look.view: where the rows of tables lie that have an owner
     * (emb/views.h); NULL: all tables are in memory */
    const cr_view *views;
} cr_step_input;
/* cr_loss_slope: what a loss multiplies the gradient that it starts with by */
static inline double cr_loss_slope(const cr_tile *t) {
    const cr_step_input *in = cr_tile_input(t);
    return in && in->slope != 0 ? in->slope : 1;
}

/* One piece of a looked-up row. */
typedef struct cr_look {
    const cr_table *table; /* NULL: dense floats */
    int slot;              /* sparse: feature of the batch */
    bool mean;
    int64_t dense_off; /* dense: first float in the batch's dense row */
    int64_t width;
    int64_t out; /* first float in the node's row; filled by cr_lookup */
    int view;    /* number in cr_step_input.views; see cr_lookup_set_view */
} cr_look;
/* cr_lookup: pieces side by side, pooled rows of tables and dense floats. The gradient is kept for
 * emb/update.h. cr_lookup_pieces gives the pieces back with their places. */
cr_node *cr_lookup(cr_graph *g, const cr_look *v, int n);
const cr_look *cr_lookup_pieces(const cr_node *n, int *count);
/* cr_lookup_set_view numbers the view of a piece, where its table may have an owner. */
void cr_lookup_set_view(cr_node *n, int piece, int view);
/* cr_lookup_set_codes: rows of a lane with equal codes (distinct.h) leave one gradient, in the
 * first of them. col: per piece its column of the codes, -1: none; not copied. forward: the lookup
 * runs once per lane too. */
void cr_lookup_set_codes(cr_node *n, const cr_node *codes, const int *col, bool forward);
/* the flags per lane that say so, for emb/update.h; NULL: every row has its own gradient */
const uint8_t *cr_lookup_shared(const cr_work *w, const cr_node *n, int piece);
/* cr_lookup_seq: the same for each position of an axis: a step of each sequence, pooled when it has
 * several ids. A piece without a table is number `slot` of the batch's dense sequences. A sequence
 * that is shorter than the axis gives zeros. */
cr_node *cr_lookup_seq(cr_graph *g, int axis, const cr_look *v, int n);
/* label field k, one float per row */
cr_node *cr_label(cr_graph *g, int k);

#endif
