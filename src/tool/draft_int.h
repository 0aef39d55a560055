/*
 * draft_int.h - what the parts of `crank init` share: draft.c chooses features, draft_history.c
 * finds the lists that are histories of another column.
 */
#ifndef CR_TOOL_DRAFT_INT_H
#define CR_TOOL_DRAFT_INT_H

#include "tool/draft.h"

/* cr_draft_dense_end: whole numbers from 0 to below this are ids as they are; with larger ones most
 * rows of the table would never be used. */
double cr_draft_dense_end(double distinct);
/* cr_draft_buckets returns the rows of a table of hashed names. */
int64_t cr_draft_buckets(double distinct);
/* cr_draft_histories makes sequences of the lists that are histories. */
void cr_draft_histories(cr_draft *c, cr_arena *a);

#endif
