/*
 * reduce.h - the gradients of a batch's lookups, summed per distinct row of a table.
 *
 * A row's gradient is summed inside a lane in the order of entries, and over lanes by the balanced
 * tree of the engine (a lane without the row is left out, which is the same as adding nothing). So
 * the bits are the same for any number of threads.
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
    const float *grad; /* row 0, column off; each apply reads it; see cr_updater_set_grad */
    int64_t ld;
    /* Per lane, as the last step left it: does only the first of the rows with equal ids have a
     * gradient, which is the sum of theirs? NULL: every row has its own. */
    const uint8_t *shared;
    int seq; /* a sequence: rows of grad are positions of axis seq - 1; 0: rows of the batch */
} cr_use;

/* The gradients of one table in one batch. */
typedef struct cr_reduce {
    int64_t D;
    float clip; /* the limit of each looked-up value's gradient; 0: none */
    cr_use *uses;
    int n_uses;
    /* the members below describe the current batch; cr_reduce_begin sets them */
    const cr_batch *batch;
    const cr_group *g;
    const cr_lanes *lanes;
    float unscale;
    /* The entries of id k that have a gradient are entry[seg[k] .. seg[k + 1]). some: in some lanes
     * equal ids share a gradient, so entries for which counted() holds (reduce.c) are skipped. */
    const cr_entry *entry;
    const uint32_t *seg, *pos; /* pos NULL: it is the row */
    bool some;
    bool plain; /* gradients are added as they are: without weights, scale or limit */
    /* by use: the first row of its gradient, the distance of rows, and its `shared` */
    const float **x;
    int64_t *ld;
    const uint8_t **shared;
} cr_reduce;

/* cr_reduce_init copies the uses. */
void cr_reduce_init(cr_reduce *r, int64_t D, float clip, const cr_use *uses, int n_uses);
void cr_reduce_clear(cr_reduce *r);
/* cr_reduce_begin is called after a step, with the step's batch, grouped by the slots of the uses.
 * The gradients of looked-up values are multiplied by unscale before they are clipped. */
void cr_reduce_begin(cr_reduce *r, const cr_batch *b, const cr_group *g, const cr_lanes *lanes,
                     float unscale);
/* cr_reduce_rows writes the gradients of the distinct ids k .. k + n - 1 to out, D floats each; out
 * has room for n + lanes - 1 rows. `more` is how many ids the next calls will ask for. Any thread
 * may call it. cr_reduce_fetch prefetches what the first of such calls needs. */
void cr_reduce_rows(const cr_reduce *r, int64_t k, int64_t n, int64_t more, float *out);
void cr_reduce_fetch(const cr_reduce *r, int64_t k, int64_t n);
/* cr_reduce_ahead does so while distinct id k, of those before `last`, is summed by itself. */
void cr_reduce_ahead(const cr_reduce *r, int64_t k, int64_t last);
/* cr_reduce_finite: are all gradients that go into distinct id k finite, even those that clipping
 * would limit? */
bool cr_reduce_finite(const cr_reduce *r, int64_t k);

/* The gradient of one row before it is whole: the partial sums of lanes, or of subtrees of
 * lanes. */
typedef struct cr_row_parts {
    /* [n] ascending, as numbered in the global batch: the lane, or the first lane of the subtree
     * that has the row */
    int lane[CR_MAX_LANES];
    int n;
    float *part; /* [n][D] */
} cr_row_parts;
/* cr_reduce_lanes makes one partial sum per lane that has distinct id k; part must have room for
 * all lanes. cr_parts_join adds partial sums up along the tree of lanes. With `node` (by lane) it
 * adds only lanes of the same node number, which are whole subtrees; another call without it later
 * joins the parts of several holders. With NULL everything is added, into part[0 .. D). */
void cr_reduce_lanes(const cr_reduce *r, int64_t k, cr_row_parts *p);
void cr_parts_join(cr_row_parts *p, int64_t D, const uint16_t *node);

#endif
