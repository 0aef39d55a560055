/*
 * update.h - from the gradients of a batch's lookups to updated table rows.
 *
 * 1. group: the ids of a batch are sorted once per distinct list of features (tables that read the
 * same features, as a deep and a wide one, share it); equal ids become one segment.
 * 2. apply: for each distinct id the gradients are summed - inside a lane in order, lanes by the
 * same balanced tree as everything else - and the row is updated once. Distinct ids touch distinct
 *    rows, so any thread may take any segment: no locks, no order that depends on time.
 */
#ifndef CR_EMB_UPDATE_H
#define CR_EMB_UPDATE_H

#include "base/pool.h"
#include "data/batch.h"
#include "emb/table.h"
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

typedef struct cr_updater cr_updater;
/* lanes: those of the plan, borrowed. */
cr_updater *cr_updater_new(const cr_lanes *lanes, cr_pool *pool);
void cr_updater_free(cr_updater *u);
/* cr_updater_add registers a trainable table with its uses (copied); returns its number. */
int cr_updater_add(cr_updater *u, cr_table *t, const cr_use *uses, int n_uses);
/* cr_updater_set_grad: use number k of table number t has its gradient elsewhere now. */
void cr_updater_set_grad(cr_updater *u, int t, int k, const float *grad);
/* cr_updater_group sorts the ids of a batch; allocates only when a batch has more ids than any
 * before. Ids must be in range. axes: of the run (cr_run.axes). */
void cr_updater_group(cr_updater *u, const cr_batch *b, const int32_t *const *axes);
/* cr_updater_apply updates all tables from the batch of the last group; steps[k] is for the tables
 * whose optim_group is k. */
void cr_updater_apply(cr_updater *u, const cr_optim_step *steps);

/* What is done to gradients before a rule sees them, until it is set again. */
typedef struct cr_adjust {
    float unscale; /* factor of the looked-up values' gradients, before the tables' own clipping */
    float factor;  /* of a row's summed gradient */
    float limit;   /* of each of its elements, up and down; 0: none */
} cr_adjust;
void cr_updater_adjust(cr_updater *u, cr_adjust a); /* at first: 1, 1, 0 */
/* cr_updater_measure adds |g|^p of every element of the gradients of all touched rows to *sum (p
 * infinite: *sum becomes the largest |g| if that is larger), after unscale and before factor and
 * limit. In an order that depends on the ids alone. Returns false when one is not finite, also one
 * that the table's own clipping would limit. */
bool cr_updater_measure(cr_updater *u, double p, double *sum);

#endif
