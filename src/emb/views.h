/*
 * views.h - views of tables that have an owner (owner.h): before a pass over a batch, the distinct
 * rows of the batch are fetched into a buffer, and numbers into the buffer take the place of ids.
 *
 * A cr_views belongs to one caller. Tables that read the same features share the grouping of ids
 * and the rewritten ids.
 */
#ifndef CR_EMB_VIEWS_H
#define CR_EMB_VIEWS_H

#include "base/pool.h"
#include "emb/group.h"
#include "emb/table.h"

typedef struct cr_views cr_views;
/* cr_views_new: the caller numbers its views 0 .. n_views - 1. pool is borrowed and may be NULL. */
cr_views *cr_views_new(int n_views, cr_pool *pool);
void cr_views_free(cr_views *s);
/* cr_views_add adds a table that has an owner, with the features that read it; view[k] is the
 * number of the view of slots[k]. */
void cr_views_add(cr_views *s, const cr_table *t, const cr_group_slot *slots, const int *view,
                  int n);
/* cr_views_stage fetches the rows of a batch; axes as in cr_group_run. done are lists of features
 * that were grouped for this batch already; the others are grouped now (NULL: all of them). After a
 * failure the views must not be used. */
CR_CHECKED cr_code cr_views_stage(cr_views *s, const cr_batch *b, const int32_t *const *axes,
                                  const cr_groups *done, cr_err *err);
/* cr_views_ask announces the batch whose rows the next cr_views_stage fetches, so that its ids
 * travel meanwhile. next are the same lists of features, grouped for that batch; they must stay
 * until then. NULL: this caller does not know the batch yet, so nothing travels. Where holders
 * share the tables it is collective. */
CR_CHECKED cr_code cr_views_ask(cr_views *s, const cr_groups *next, cr_err *err);
/* cr_views_get returns the views by number; they are valid until the next cr_views_stage. Views of
 * tables without an owner are not set. */
const cr_view *cr_views_get(const cr_views *s);

#endif
