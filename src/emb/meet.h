/*
 * meet.h - puts together the table-row gradients of all holders of a batch.
 *
 * This is the step between reducing (one holder's sum per distinct id) and the sink (a rule,
 * applied once per row). A holder does not finish its sums: it keeps one part per id and node of
 * the lane tree (graph/part.h) and gives these parts to the holder of the row, or to all holders
 * when each of them has the whole table. The taker then has the ids of the global batch in
 * ascending order, and for each id its parts in the order of their lanes. So the rest of the tree
 * is the same for every division of the rows and every placing of the table, and the same as if
 * one process had everything.
 *
 * A source is a table whose gradients this holder has parts of. A target is a table, or a shard of
 * one, whose rows this holder updates.
 */
#ifndef CR_EMB_MEET_H
#define CR_EMB_MEET_H

#include "base/pool.h"
#include "emb/reduce.h"
#include "emb/shard.h"

typedef struct cr_row_meet cr_row_meet;
/* lanes and pool are borrowed; lanes->meet is not NULL. */
cr_row_meet *cr_row_meet_new(const cr_lanes *lanes, cr_pool *pool);
void cr_row_meet_free(cr_row_meet *m);
/* cr_row_meet_add adds a table of n_rows rows of width D. Sources are numbered from 0. placing is
 * borrowed; NULL: every holder has the whole table. Returns how many targets the table has here:
 * one, or with a placing one per shard of this holder. Targets are numbered in the same order. */
int cr_row_meet_add(cr_row_meet *m, int64_t n_rows, int64_t D, const cr_placing *placing);

/* The calls of one step. cr_row_meet_ids_here names the ids of a source in this holder's rows; they
 * must stay unchanged until the step ends. cr_row_meet_open (collective) follows when the ids of
 * all sources are named. It and cr_row_meet_close fail when there is no memory for what comes; the
 * other holders do not hear of that, so they must be ended (cr_job_alone). */
void cr_row_meet_ids_here(cr_row_meet *m, int source, const cr_group *g);
CR_CHECKED cr_code cr_row_meet_open(cr_row_meet *m, cr_err *err);
/* cr_row_meet_put gives the parts of this holder's distinct id k: one for each of its nodes that
 * has the id, in the order of the nodes. Threads may put different ids at the same time. */
void cr_row_meet_put(const cr_row_meet *m, int source, int64_t k, const cr_row_parts *p);
/* cr_row_meet_room is the quick way for a holder of a single node, whose parts are whole sums: it
 * returns where the sums of distinct ids k, k + 1 ... belong, one row behind the other, and lowers
 * *n to how many of them lie there. NULL: these ids have to be put, because this holder has several
 * nodes or their rows are cut by columns. */
float *cr_row_meet_room(const cr_row_meet *m, int source, int64_t k, int64_t *n);
/* cr_row_meet_close (collective) follows when all parts of all sources are put. */
CR_CHECKED cr_code cr_row_meet_close(cr_row_meet *m, cr_err *err);

/* After cr_row_meet_close: the distinct ids of the global batch that belong to a target,
 * ascending. */
typedef struct cr_met_ids {
    int64_t n;
    const int64_t *id;
} cr_met_ids;
cr_met_ids cr_row_meet_ids(const cr_row_meet *m, int target);
/* cr_row_meet_sums finishes the tree for n distinct ids of a target, from k on. Behind these n
 * rows, out must have room for the parts of one id: lanes->n_nodes rows. */
void cr_row_meet_sums(const cr_row_meet *m, int target, int64_t k, int64_t n, float *out);

#endif
