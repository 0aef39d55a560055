/*
 * input.h - the input of a run, and the source nodes of a graph that read it: the bridge between
 * batches, tables and the graph.
 */
#ifndef CR_OP_INPUT_H
#define CR_OP_INPUT_H

#include "data/batch.h"
#include "emb/table.h"
#include "graph/work.h"

/* A batch that differs from another one, which was run before, in a few features only. */
typedef struct cr_patch {
    const int64_t *at; /* (n_rows) the number of each row in the other batch */
    /* by node: what a lookup gave for the other batch, cr_ld apart; NULL: it is made anew. For the
     * rows of sequences, axes says where the positions of each row began. */
    const float *const *rows;
    const int32_t *const *axes;
    const bool *bare; /* by node: only the pieces that differ are read of this lookup */
    /* by node: what a shifted node left in that run (cr_op_type.shift_kept) */
    const float *const *before;
    /* what differs: by list of ids, by sequence of numbers, by float of a dense row */
    const bool *sparse, *dense_seq, *dense;
} cr_patch;

/* The type of cr_run.input for every graph that has source nodes. */
typedef struct cr_step_input {
    const cr_batch *batch;
    /* For each row weight of the model, a factor per row: w_i / sum(w) of the batch, times the
     * task's weight. Missing and NULL entries mean 1/n. */
    const float *const *scale;
    int n_scale;
    double slope; /* of every loss: loss scale / batches per step; 0 stands for 1 */
    /* By cr_look.view: where the rows of tables that have an owner lie for this batch
     * (emb/views.h). NULL: all tables are in memory. */
    const cr_view *views;
    const cr_patch *patch; /* NULL: every lookup is made in full */
    /* by node: where a node that can be shifted (cr_op_type.shift) leaves what that needs; NULL, or
     * an entry NULL: nowhere */
    float *const *before;
    /* what scatter gives in the place of the batch's numbers: rows that are refed_ld apart; NULL:
     * those numbers */
    const float *refed;
    int64_t refed_ld;
} cr_step_input;
/* cr_before returns where a node leaves what a shift needs of the tile's rows; NULL: it is not
 * wanted. cr_before_of returns what it left of row r of the tile. */
float *cr_before(const cr_tile *t, const cr_node *n);
const float *cr_before_of(const cr_tile *t, const cr_node *n, int64_t r);
/* cr_loss_slope returns the factor by which a loss multiplies its gradient. */
static inline double cr_loss_slope(const cr_tile *t) {
    const cr_step_input *in = cr_tile_input(t);
    return in && in->slope != 0 ? in->slope : 1;
}

/* One piece of a looked-up row. */
typedef struct cr_look {
    const cr_table *table; /* NULL: dense floats */
    int slot;              /* of a sparse feature: its number in the batch */
    bool mean;
    int64_t dense_off; /* of a dense feature: its first float in the batch's dense row */
    int64_t width;
    int64_t out; /* its first float in the node's row; set by cr_lookup */
    int view;    /* its number in cr_step_input.views; see cr_lookup_set_view */
} cr_look;
/* cr_lookup puts pieces side by side: pooled rows of tables, and dense floats. Its gradient is kept
 * for emb/update.h. cr_lookup_pieces returns the pieces with their places. */
cr_node *cr_lookup(cr_graph *g, const cr_look *v, int n);
const cr_look *cr_lookup_pieces(const cr_node *n, int *count);
/* cr_look_differs: does a piece differ in a patched batch? seq: it is one of a cr_lookup_seq. */
bool cr_look_differs(const cr_look *k, const cr_patch *p, bool seq);
/* cr_lookup_then returns row r of the tile as a patched lookup gave it for the other batch. */
const float *cr_lookup_then(const cr_tile *t, const cr_node *n, int64_t r);
/* cr_lookup_set_view sets the view number of a piece whose table may have an owner. */
void cr_lookup_set_view(cr_node *n, int piece, int view);
/* cr_lookup_set_codes: rows of a lane with equal codes (distinct.h) leave one gradient, in the
 * first of them. col has for each piece its column in codes, or -1; it is not copied. forward: the
 * lookup too runs once per lane. */
void cr_lookup_set_codes(cr_node *n, const cr_node *codes, const int *col, bool forward);
/* cr_lookup_shared returns the flags per lane that say where gradients are shared so, for
 * emb/update.h; NULL: every row has its own gradient. */
const uint8_t *cr_lookup_shared(const cr_work *w, const cr_node *n, int piece);
/* cr_lookup_seq does the same for each position of an axis: it looks up one step of each sequence,
 * pooled when the step has several ids. A piece without a table reads number `slot` of the batch's
 * dense sequences. A sequence that is shorter than the axis gives zeros. */
cr_node *cr_lookup_seq(cr_graph *g, int axis, const cr_look *v, int n);
/* cr_label reads label field k, one float per row. */
cr_node *cr_label(cr_graph *g, int k);

#endif
