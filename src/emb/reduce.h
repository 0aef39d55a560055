/*
 * reduce.h - the gradients of a batch's lookups, summed per distinct row of a table.
 *
 * A row's gradient is summed inside a lane in the order of entries, and over lanes by the balanced
 * tree of the engine (a lane without the row is left out, which is adding nothing): the same bits
 * for any number of threads.
 */
#ifndef CR_EMB_REDUCE_H
#define CR_EMB_REDUCE_H

#include "emb/group.h"
#include "graph/part.h"

/* One use of a table: feature `slot` of the batch, pooled into floats [off, off+D) of rows that are
 * `ld` floats apart at *grad. */
typedef struct cr_use {
    int slot;
    bool mean;
    const float *grad; /* row 0, column off; read by each apply; see cr_updater_set_grad */
    int64_t ld;
    /* per lane, as the last step left it: of the rows with equal ids only the first has a gradient,
     * that of all of them. NULL: every row has its own */
    const uint8_t *shared;
    int seq; /* a sequence: rows of grad are positions of axis seq - 1; 0: rows of the batch */
} cr_use;

/* The gradients of one table in one batch. */
typedef struct cr_reduce {
    int64_t D;
    float clip; /* the limit of each looked-up value's gradient; 0: none */
    cr_use *uses;
    int n_uses;
    /* the rest is of the batch: see cr_reduce_begin */
    const cr_batch *batch;
    const cr_group *g;
    const cr_lanes *lanes;
    float unscale;
    /* the entries of each id that have a gradient, [seg[k], seg[k + 1]) of entry; some: those that
     * are counted() have none */
    const uint32_t *entry;
    const int64_t *seg;
    bool some;
} cr_reduce;

/* cr_reduce_begin, after a step: its batch, grouped by the slots of the uses. unscale: the factor
 * of the looked-up values' gradients, before clip. */
void cr_reduce_begin(cr_reduce *r, const cr_batch *b, const cr_group *g, const cr_lanes *lanes,
                     float unscale);
/* cr_reduce_rows: gradients of distinct ids number k .. k + n - 1, D floats each. out has room for
 * n + lanes - 1 of them. more: ids that the next calls want. Any thread. cr_reduce_fetch asks the
 * memory for what the first of such calls needs. */
void cr_reduce_rows(const cr_reduce *r, int64_t k, int64_t n, int64_t more, float *out);
void cr_reduce_fetch(const cr_reduce *r, int64_t k, int64_t n);
/* cr_reduce_finite: is everything finite that goes into distinct id number k, also what clip
 * limits? */
bool cr_reduce_finite(const cr_reduce *r, int64_t k);

/* The gradient of one row before it is whole: partial sums of lanes, or of subtrees of lanes. */
typedef struct cr_row_parts {
    int lane[CR_MAX_LANES]; /* [n] ascending, as numbered in the global batch: the lane, or the
                             * first of the subtree that has the row */
    int n;
    float *part; /* [n][D] */
} cr_row_parts;
/* cr_reduce_lanes: one partial sum per lane that has distinct id number k; part has room for all
 * lanes. cr_parts_join adds them up by the tree of lanes. node, by lane: only lanes with the same
 * number are added, which are whole subtrees; the parts of several holders of a batch, side by
 * side, are joined by another call without it. NULL: everything is added, into part[0 .. D). */
void cr_reduce_lanes(const cr_reduce *r, int64_t k, cr_row_parts *p);
void cr_parts_join(cr_row_parts *p, int64_t D, const uint8_t *node);

#endif
