/*
 * gradcheck.h - is the backward of an op the derivative of its forward?
 *
 * cr_feed makes a source of random rows that takes a gradient; an op's `example` builds its case
 * from feeds and parameters. cr_gradcheck then compares, for every feed and parameter, the
 * gradient with the numeric slope along random directions. Also the bench for "same bits".
 */
#ifndef CR_GRAPH_GRADCHECK_H
#define CR_GRAPH_GRADCHECK_H

#include "graph/work.h"

#define CR_FEED_ROWS 37 /* not a multiple of anything: tiles, lanes and blocks get tails */

/* cr_feed: (CR_FEED_ROWS, width) values of size 0.1..1 and random sign, from the graph's seed; the
 * positions of axis 0 in the place of rows when g->feed_seq. */
cr_node *cr_feed(cr_graph *g, int64_t width);
/* the same for the positions of an axis: sequences of no, few and many positions */
cr_node *cr_feed_seq(cr_graph *g, int axis, int64_t width);
/* the feed's values, to change them (rows are `width` apart) */
float *cr_feed_data(cr_node *feed);
/* fills a parameter with the same kind of values; after cr_graph_alloc */
void cr_feed_fill(float *w, int64_t n, uint64_t key);

typedef struct cr_gradcheck_opts {
    int threads, lanes;
    int64_t tile_rows;
    const cr_meet *meet; /* cr_grad_hash: this is one of several holders of the rows */
} cr_gradcheck_opts;
/* cr_gradcheck returns the worst |slope - gradient·direction| relative to the gradient's norm over
 * all leaves and writes what was worst into worst. The graph must not be allocated yet. */
CR_CHECKED cr_code cr_gradcheck(cr_graph *g, cr_node *out, const cr_gradcheck_opts *o,
                                double *result, char *worst, size_t worst_size, cr_err *err);
/* cr_grad_hash runs one training step and hashes loss, buffers and all gradients: they must not
 * depend on threads and tiles. Of several holders each has the same `whole`, and their `rows` add
 * up to those of one. */
typedef struct cr_grad_bits {
    uint64_t whole; /* loss, buffers, gradients of parameters */
    uint64_t rows;  /* gradients of the feeds' rows that are here */
} cr_grad_bits;
CR_CHECKED cr_code cr_grad_hash(cr_graph *g, cr_node *out, const cr_gradcheck_opts *o,
                                cr_grad_bits *bits, cr_err *err);

#endif
