/*
 * gradcheck.h - is the backward of an op the derivative of its forward?
 *
 * cr_feed makes a source of random rows that receives a gradient; the `example` of an op builds its
 * case from feeds and parameters. cr_gradcheck then compares, for every feed and parameter, the
 * gradient with the numeric slope along random directions. The test for "same bits" uses it too.
 */
#ifndef CR_GRAPH_GRADCHECK_H
#define CR_GRAPH_GRADCHECK_H

#include "graph/work.h"

/* not a multiple of anything, so that tiles, lanes and blocks have incomplete ends */
#define CR_FEED_ROWS 37

/* cr_feed makes (CR_FEED_ROWS, width) values of size 0.1..1 and random sign, from the graph's seed.
 * With g->feed_seq it has the positions of axis 0 instead of rows. */
cr_node *cr_feed(cr_graph *g, int64_t width);
/* cr_feed_seq does the same for the positions of an axis: sequences of no, few and many
 * positions. */
cr_node *cr_feed_seq(cr_graph *g, int axis, int64_t width);
/* cr_feed_data returns the feed's values, which may be changed (rows are `width` apart). */
float *cr_feed_data(cr_node *feed);
/* cr_feed_fill fills a parameter with the same kind of values; call it after cr_graph_alloc. */
void cr_feed_fill(float *w, int64_t n, uint64_t key);

typedef struct cr_gradcheck_opts {
    int threads, lanes;
    int64_t tile_rows;
    const cr_meet *meet; /* for cr_grad_hash: this process is one of several holders of the rows */
} cr_gradcheck_opts;
/* cr_gradcheck returns the worst |slope - gradient·direction|, relative to the gradient's norm,
 * over all leaves, and writes the name of the worst leaf into worst. The graph must not be
 * allocated yet. */
CR_CHECKED cr_code cr_gradcheck(cr_graph *g, cr_node *out, const cr_gradcheck_opts *o,
                                double *result, char *worst, size_t worst_size, cr_err *err);
/* cr_grad_hash runs one training step and hashes loss, buffers and all gradients: they must not
 * depend on threads and tiles. Several holders all get the same `whole`, and their `rows` add up to
 * the `rows` of a single holder. */
typedef struct cr_grad_bits {
    uint64_t whole; /* loss, buffers, gradients of parameters */
    uint64_t rows;  /* gradients of the feeds' rows that this holder has */
} cr_grad_bits;
CR_CHECKED cr_code cr_grad_hash(cr_graph *g, cr_node *out, const cr_gradcheck_opts *o,
                                cr_grad_bits *bits, cr_err *err);

#endif
