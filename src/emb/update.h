/*
 * update.h - from the gradients of a batch's lookups to updated table rows.
 *
 * 1. group: the ids of a batch are sorted once per distinct list of features (tables that read the
 *    same features, as a deep and a wide one, share it); equal ids become one segment.
 * 2. reduce: the gradients of each distinct id are summed (reduce.h).
 * 3. meet: where other processes hold other rows of the batch, they put their sums together
 *    (meet.h).
 * 4. sink: the sums are adjusted (unscaled, clipped) and go to the table's sink (sink.h), which for
 *    a table in this process updates each row once. Distinct ids are distinct rows, so any thread
 *    may take any of them: no locks, no order that depends on time.
 */
#ifndef CR_EMB_UPDATE_H
#define CR_EMB_UPDATE_H

#include "base/pool.h"
#include "emb/reduce.h"
#include "emb/sink.h"

typedef struct cr_updater cr_updater;
/* lanes: those of the plan, borrowed. */
cr_updater *cr_updater_new(const cr_lanes *lanes, cr_pool *pool);
void cr_updater_free(cr_updater *u);
/* cr_updater_add registers a trainable table with its uses (copied); returns its number. Its rows go
 * to the sink of its owner, or are updated in its memory. */
int cr_updater_add(cr_updater *u, cr_table *t, const cr_use *uses, int n_uses);
/* cr_updater_set_grad: use number k of table number t has its gradient elsewhere now. */
void cr_updater_set_grad(cr_updater *u, int t, int k, const float *grad);
/* cr_updater_group sorts the ids of a batch; allocates only when a batch has more ids than any
 * before. Ids must be in range. axes: of the run (cr_run.axes). */
void cr_updater_group(cr_updater *u, const cr_batch *b, const int32_t *const *axes);
/* cr_updater_meet, collective: after the step and before measure and apply, where the batch has
 * several holders; else it does nothing. Uses the adjustment that is set, of which unscale must
 * stay. */
void cr_updater_meet(cr_updater *u);
/* cr_updater_apply gives the gradients of the last group's batch to the sinks; steps[k] is for the
 * tables whose optim_group is k. */
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
 * limit. Each row has its sum, and these are added without rounding: neither their order nor how
 * many threads or processes have the rows changes the result. Returns false when one is not finite,
 * also one that the table's own clipping would limit. */
bool cr_updater_measure(cr_updater *u, double p, double *sum);

#endif
