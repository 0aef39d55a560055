/*
 * gather.h - rows of several batches into one: how bad rows are left out, how shuffled rows meet,
 * and how a batch is cut from chunks of any size.
 */
#ifndef CR_DATA_GATHER_H
#define CR_DATA_GATHER_H

#include "data/batch.h"

/* where one row comes from */
typedef struct cr_rowref {
    uint32_t src, row;
} cr_rowref;

/* A run of rows: refs into srcs, or (refs NULL) n rows of srcs[0] from `from` on. */
typedef struct cr_run {
    const cr_batch *const *srcs;
    int n_srcs;
    const cr_rowref *refs;
    int64_t from, n;
} cr_run;

/* memory that is kept from one use to the next and grows with some slack */
typedef struct cr_region {
    char *mem;
    size_t cap, used;
    int64_t *counts; /* ids per sparse feature, then bytes per reserved column */
    int n_counts;
} cr_region;
void cr_region_clear(cr_region *g);

/* cr_gather fills out with the rows of all runs, in order; all its memory (but not out itself) lies
 * in mem, whose former content is dropped. shape tells the numbers of features, labels ... when the
 * runs are empty. A feature all of whose rows have one id gets off NULL. CR_ENOMEM, or CR_EDATA
 * when the ids or the text of one column pass 2^31. */
CR_CHECKED cr_code cr_gather(cr_batch *out, cr_region *mem, const cr_batch *shape,
                             const cr_run *runs, int n_runs, cr_err *err);

#endif
