/*
 * meet.h - puts together the table-row gradients of all holders of a batch.
 *
 * This is the step between reducing (one holder's sum per distinct id) and the sink (a rule,
 * applied once per row). A holder does not finish its sums: it keeps one part per id and node of
 * the lane tree (graph/part.h) and gives these parts to all holders. Each holder then has the ids
 * of the global batch in ascending order, and for each id its parts in the order of their lanes. So
 * the rest of the tree is the same everywhere, and the same as if one process had the whole batch.
 */
#ifndef CR_EMB_MEET_H
#define CR_EMB_MEET_H

#include "base/pool.h"
#include "emb/reduce.h"

typedef struct cr_row_meet cr_row_meet;
/* lanes and pool are borrowed; lanes->meet is not NULL. */
cr_row_meet *cr_row_meet_new(const cr_lanes *lanes, cr_pool *pool);
void cr_row_meet_free(cr_row_meet *m);
/* cr_row_meet_add adds a table of width D. Tables are numbered from 0. */
void cr_row_meet_add(cr_row_meet *m, int64_t D);

/* The calls of one step. cr_row_meet_ids_here names the ids of table t in this holder's rows; they
 * must stay unchanged until the step ends. cr_row_meet_open (collective) follows when the ids of
 * all tables are named. */
void cr_row_meet_ids_here(cr_row_meet *m, int t, const cr_group *g);
void cr_row_meet_open(cr_row_meet *m);
/* cr_row_meet_parts returns where to write the parts of this holder's distinct id k: D floats for
 * each of its nodes that has the id, in the order of the nodes. */
float *cr_row_meet_parts(const cr_row_meet *m, int t, int64_t k);
/* cr_row_meet_close (collective) follows when all parts are written. bad says that a gradient of
 * this holder is not finite; the result says whether that is so for any holder. */
bool cr_row_meet_close(cr_row_meet *m, bool bad);

/* After cr_row_meet_close: the distinct ids of the global batch, ascending. */
typedef struct cr_met_ids {
    int64_t n;
    const int64_t *id;
} cr_met_ids;
cr_met_ids cr_row_meet_ids(const cr_row_meet *m, int t);
/* cr_row_meet_get copies the parts of distinct id k, lanes->n_nodes of them at most, for
 * cr_parts_join. */
void cr_row_meet_get(const cr_row_meet *m, int t, int64_t k, cr_row_parts *p);

#endif
