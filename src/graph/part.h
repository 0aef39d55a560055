/*
 * part.h - which part of the global batch a process holds, and how the sums of all parts are
 * combined.
 *
 * The global batch is cut into lanes, whose number is a power of two for any number of holders; a
 * holder has consecutive lanes. Lanes are combined by one balanced tree. A holder combines the
 * largest whole subtrees that lie in its lanes (the nodes) and gives their values to all; each
 * holder then finishes the same tree. So a sum has the same bits for any division of the lanes,
 * even when the number of a holder's lanes is no power of two.
 */
#ifndef CR_GRAPH_PART_H
#define CR_GRAPH_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

/* This is also the largest number of holders of a batch, since each of them has a lane. */
#define CR_MAX_LANES 1024

/* The holders of the parts of one batch. NULL instead of a cr_meet means that one holder has the
 * whole batch. */
typedef struct cr_meet {
    int n, self;     /* number of holders, and which one this is */
    const int *lane; /* holder h has lanes [lane[h], lane[h + 1]); n + 1 numbers */
    /* gather is collective: holder h has bytes [at[h], at[h + 1]) of `all`; afterwards every holder
     * has all of them. All holders make the same calls in the same order. */
    void (*gather)(void *ctx, void *all, const size_t *at);
    /* exchange is collective: bytes [out_at[h], out_at[h + 1]) of out go to holder h, and bytes
     * [in_at[h], in_at[h + 1]) of in come from holder h. Both sides of a pair name the same number
     * of bytes. */
    void (*exchange)(void *ctx, const void *out, const size_t *out_at, void *in,
                     const size_t *in_at);
    /* exchange_start and exchange_end do the same in two calls. Everything that start is given must
     * stay until end. Other meetings may lie between, but no other exchange_start. */
    void (*exchange_start)(void *ctx, const void *out, const size_t *out_at, void *in,
                           const size_t *in_at);
    void (*exchange_end)(void *ctx);
    void *ctx;
    /* Parameter servers (docs/design/servers.md): serves[h] says that holder h has parameters and
     * their state and no lanes; then the others have lanes and no state. Holder 0 does not serve.
     * NULL: there are none, and every holder has both. */
    const bool *serves;
    /* gone[h] says that holder h was lost: gather leaves what it would bring as it is. NULL: none
     * can be. */
    const bool *gone;
} cr_meet;

/* cr_meet_keepers lists the holders that have parameters and state, the servers or all of them;
 * list has room for meet->n numbers. Returns how many they are. */
int cr_meet_keepers(const cr_meet *meet, int *list);
/* cr_meet_first returns the first holder that is left. */
int cr_meet_first(const cr_meet *meet);

typedef struct cr_lanes {
    int all;          /* lanes of the global batch */
    int first, n;     /* lanes of this holder: [first, first + n) */
    int n_nodes;      /* subtrees of all holders, in the order of their lanes */
    int mine, n_mine; /* nodes of this holder: [mine, mine + n_mine) */
    struct {
        int lane, n; /* lanes [lane, lane + n) */
    } node[CR_MAX_LANES];
    /* the rest of the tree: value of node `to` += value of node `from`, in this order */
    int n_joins;
    struct {
        int to, from;
    } join[CR_MAX_LANES];
    const cr_meet *meet;
    int *node0; /* first node of each holder, meet->n + 1 numbers; NULL without meet */
} cr_lanes;

/* cr_lanes_init sets up `all` lanes, divided as meet says; it keeps meet. */
void cr_lanes_init(cr_lanes *t, int all, const cr_meet *meet, cr_arena *arena);
/* Lane l of a batch of n rows has rows [cr_lane_begin(n, lanes, l), cr_lane_begin(n, lanes, l +
 * 1)). */
static inline int64_t cr_lane_begin(int64_t n, int lanes, int lane) {
    return n * lane / lanes;
}
/* cr_lanes_all returns the rows of the global batch: `all`, or without other holders the n that are
 * here. */
static inline int64_t cr_lanes_all(const cr_lanes *t, int64_t n, int64_t all) {
    return t->meet && all ? all : n;
}
/* cr_lanes_row0 and cr_lanes_rows return the global number of this holder's first row, and how many
 * rows it has, in a batch of n rows. */
int64_t cr_lanes_row0(const cr_lanes *t, int64_t n);
int64_t cr_lanes_rows(const cr_lanes *t, int64_t n);
/* cr_lanes_max_rows returns the most rows it can have in batches of at most n rows. */
int64_t cr_lanes_max_rows(const cr_lanes *t, int64_t n);
/* cr_lanes_gather is collective: v holds n values of `size` bytes for each node, one node after the
 * other. At first only the values of this holder's nodes are set, afterwards all are. */
void cr_lanes_gather(const cr_lanes *t, void *v, int64_t n, size_t size);
/* cr_lanes_gather_rows is collective and does the same for rows of `size` bytes of a batch of n
 * rows. */
void cr_lanes_gather_rows(const cr_lanes *t, void *rows, int64_t n, size_t size);
/* cr_lanes_add_f64 adds up the n values of each of `lanes` lanes, whose number is a power of two,
 * by the tree. A lane's values lie `stride` after those of the one before it; the sums end up in
 * v[0 .. n). */
void cr_lanes_add_f64(double *v, int lanes, int64_t stride, int64_t n);
/* cr_lanes_join_f64 finishes the tree: node k's n values lie at v + k * n; the sums end up in v[0
 * .. n). */
void cr_lanes_join_f64(const cr_lanes *t, double *v, int64_t n);
/* cr_lanes_sum_f64 is collective: v holds n sums for each lane of this holder, one lane after the
 * other, and has room for n more per node after them. Afterwards v[0 .. n) are the sums over all
 * lanes of the global batch. */
void cr_lanes_sum_f64(const cr_lanes *t, double *v, int64_t n);

#endif
