/*
 * gather.h - puts rows of several batches into one. So bad rows are left out, shuffled rows meet,
 * and a batch is cut from chunks of any size.
 *
 * Rows lie in columns (a usual cr_batch) or, while they wait to be shuffled, in records. A record
 * has all values of a row that have a fixed size, side by side, so that taking a row from anywhere
 * costs a few cache lines and not one per column.
 */
#ifndef CR_DATA_LOAD_GATHER_H
#define CR_DATA_LOAD_GATHER_H

#include "data/runs.h"

/* cr_gather fills out with the rows of all runs (all in columns, or all in records), in order; all
 * its memory (but not out itself) lies in mem, whose former content is dropped. shape tells the
 * numbers of features, labels ... also when the runs are empty. rec NULL: into columns; a feature
 * all of whose rows have one id gets off NULL. Else, from columns only, into records at *rec; out
 * then holds what has no fixed size. CR_ENOMEM, or CR_EDATA when the ids or the text of one column
 * pass 2^31. */
CR_CHECKED cr_code cr_gather(cr_batch *out, const char **rec, cr_region *mem, const cr_batch *shape,
                             const cr_row_run *runs, int n_runs, cr_err *err);

#endif
