/*
 * update.h - from the gradients of a batch's lookups to updated table rows.
 *
 * 1. group: the ids of a batch are sorted once per distinct list of features (tables that read the
 *    same features, as a deep and a wide one may, share the result); equal ids become one segment.
 * 2. reduce: the gradients of each distinct id are summed (reduce.h).
 * 3. meet: where other processes hold other rows of the batch, they put their sums together
 *    (meet.h).
 * 4. sink: the sums are adjusted (unscaled, clipped) and go to the table's sink (sink.h), which for
 *    a table in this process updates each row once. Distinct ids are distinct rows, so any thread
 *    may take any of them: there are no locks, and no order depends on timing.
 */
#ifndef CR_EMB_UPDATE_H
#define CR_EMB_UPDATE_H

#include "base/pool.h"
#include "emb/reduce.h"
#include "emb/sink.h"

typedef struct cr_updater cr_updater;
/* lanes are those of the plan; they are borrowed. */
cr_updater *cr_updater_new(const cr_lanes *lanes, cr_pool *pool);
void cr_updater_free(cr_updater *u);
/* cr_updater_add registers a trainable table with its uses (copied); returns its number. Its
 * gradients go to the sink of its owner, or to the holders of its shards; a table without an owner
 * is updated in its memory. */
int cr_updater_add(cr_updater *u, cr_table *t, const cr_use *uses, int n_uses);
/* cr_updater_add_to is the same with a sink of the caller's, for a table without an owner and an
 * updater that has the whole batch. The id of the rows that the sink gets points into the ids of
 * cr_updater_ids. */
int cr_updater_add_to(cr_updater *u, cr_table *t, const cr_use *uses, int n_uses, cr_sink sink);
/* cr_updater_set_grad: the gradient of use k of table t now lies elsewhere. */
void cr_updater_set_grad(cr_updater *u, int t, int k, const float *grad);
/* cr_updater_group sorts the ids of a batch, which must be in range. It allocates only when a batch
 * has more ids than any before. axes are those of the run (cr_run.axes). */
void cr_updater_group(cr_updater *u, const cr_batch *b, const int32_t *const *axes);
/* cr_updater_fit makes the room that cr_updater_group needs for the ids of b. It fails with a
 * message where cr_updater_group would abort: there is no memory, or there are too many ids. */
CR_CHECKED cr_code cr_updater_fit(cr_updater *u, const cr_batch *b, cr_err *err);
/* cr_updater_groups returns the lists of features that cr_updater_group groups. */
const cr_groups *cr_updater_groups(const cr_updater *u);
/* cr_updater_ids returns the distinct ids of table t, which cr_updater_group has found. */
const cr_group *cr_updater_ids(const cr_updater *u, int t);
/* cr_updater_group_next groups the batch after this one; its lists become those of
 * cr_updater_groups when cr_updater_group is called for that batch. */
CR_CHECKED cr_code cr_updater_group_next(cr_updater *u, const cr_batch *next,
                                         const int32_t *const *axes, const cr_groups **out,
                                         cr_err *err);
/* cr_updater_meet (collective) is called after the step and before measure and apply. It does
 * nothing unless the batch has several holders. It uses the adjustment that is set, whose unscale
 * must not change before apply. It fails when there is no memory for what the others have; they do
 * not hear of that. */
CR_CHECKED cr_code cr_updater_meet(cr_updater *u, cr_err *err);
/* cr_updater_apply gives the gradients of the last group's batch to the sinks; steps[k] is for the
 * tables whose optim_group is k. */
void cr_updater_apply(cr_updater *u, const cr_optim_step *steps);

/* What is done to gradients before a rule sees them; it holds until it is set again. */
typedef struct cr_adjust {
    float unscale; /* factor of the looked-up values' gradients, before the tables' own clipping */
    float factor;  /* of the summed gradient of a row */
    float limit;   /* of each of its elements, up and down; 0: no limit */
} cr_adjust;
void cr_updater_adjust(cr_updater *u, cr_adjust a); /* at first: 1, 1, 0 */
/* cr_updater_measure adds |g|^p of every element of the gradients of all touched rows to *sum (p
 * infinite: *sum becomes the largest |g| if that is larger), after unscale and before factor and
 * limit. Each row has its own sum, and these are added without rounding: neither their order nor
 * the number of threads or processes changes the result. It is collective where the batch has
 * several holders. Returns false when a gradient is not finite, even one that the table's own
 * clipping would limit. */
bool cr_updater_measure(cr_updater *u, double p, double *sum);

#endif
