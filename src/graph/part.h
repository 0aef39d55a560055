/*
 * part.h - which part of the global batch a process holds, and how the sums of all parts meet.
 *
 * The global batch is cut into lanes, a power of two of them, whatever the number of holders; a
 * holder has some lanes that follow each other. Lanes are combined by one balanced tree. A holder
 * combines the largest whole subtrees that lie in its lanes (the nodes) and gives their values to
 * all; each holder then finishes the same tree. So a sum has the same bits for any division of the
 * lanes, also where a holder's lanes are no power of two.
 */
#ifndef CR_GRAPH_PART_H
#define CR_GRAPH_PART_H

#include <stdint.h>

#include "base/mem.h"

#define CR_MAX_LANES 64

/* The holders of the parts of one batch. NULL in the place of a cr_meet: one holder has it all. */
typedef struct cr_meet {
    int n, self;     /* holders, and which one this is */
    const int *lane; /* holder h has lanes [lane[h], lane[h + 1]); n + 1 numbers */
    /* gather, collective: holder h has bytes [at[h], at[h + 1]) of `all`; afterwards everyone has
     * all of them. All holders make the same calls in the same order. */
    void (*gather)(void *ctx, void *all, const size_t *at);
    void *ctx;
} cr_meet;

typedef struct cr_lanes {
    int all;          /* lanes of the global batch */
    int first, n;     /* those of this holder: [first, first + n) */
    int n_nodes;      /* subtrees of all holders, in the order of their lanes */
    int mine, n_mine; /* this holder's: [mine, mine + n_mine) */
    struct {
        int lane, n; /* lanes [lane, lane + n) */
    } node[CR_MAX_LANES];
    int n_joins; /* the rest of the tree: value of node `to` += value of node `from`, in this order
                  */
    struct {
        int to, from;
    } join[CR_MAX_LANES];
    const cr_meet *meet;
    int *node0; /* per holder its first node, meet->n + 1 numbers; NULL without meet */
} cr_lanes;

/* cr_lanes_init: `all` lanes, divided as meet says (kept). */
void cr_lanes_init(cr_lanes *t, int all, const cr_meet *meet, cr_arena *arena);
/* rows of lane l of a batch of n rows: [cr_lane_begin(n, lanes, l), cr_lane_begin(n, lanes, l + 1))
 */
static inline int64_t cr_lane_begin(int64_t n, int lanes, int lane) {
    return n * lane / lanes;
}
/* rows of the global batch: `all`, or without other holders the n that are here */
static inline int64_t cr_lanes_all(const cr_lanes *t, int64_t n, int64_t all) {
    return t->meet && all ? all : n;
}
/* global number of the first row of this holder, and how many rows it has, in a batch of n rows */
int64_t cr_lanes_row0(const cr_lanes *t, int64_t n);
int64_t cr_lanes_rows(const cr_lanes *t, int64_t n);
/* the most rows it can have in batches of at most n rows */
int64_t cr_lanes_max_rows(const cr_lanes *t, int64_t n);
/* cr_lanes_gather, collective: v holds n values of `size` bytes for each node, one node after the
 * other; those of this holder are there, all are afterwards. */
void cr_lanes_gather(const cr_lanes *t, void *v, int64_t n, size_t size);
/* cr_lanes_gather_rows, collective: the same for rows of `size` bytes of a batch of n rows */
void cr_lanes_gather_rows(const cr_lanes *t, void *rows, int64_t n, size_t size);
/* cr_lanes_join_f64 finishes the tree: node k's n values lie at v + k * n; sums end up in v[0 .. n)
 */
void cr_lanes_join_f64(const cr_lanes *t, double *v, int64_t n);
/* cr_lanes_sum_f64, collective: v holds n sums for each lane of this holder, one lane after the
 * other, and has room for n more per node behind them; afterwards v[0 .. n) are the sums over all
 * lanes of the global batch. */
void cr_lanes_sum_f64(const cr_lanes *t, double *v, int64_t n);

#endif
