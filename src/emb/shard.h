/*
 * shard.h - where the rows of a table lie when several holders (graph/part.h) share a training.
 *
 * A placing cuts a table into rectangles of rows and columns, the shards, and gives each to one
 * holder. A table that is not cut (data_parallel) lies with every holder. The names are TorchRec's;
 * results do not depend on the placing.
 */
#ifndef CR_EMB_SHARD_H
#define CR_EMB_SHARD_H

#include "base/mem.h"

typedef enum cr_shard_kind {
    CR_DATA_PARALLEL,     /* every holder has all rows */
    CR_TABLE_WISE,        /* one holder has all rows */
    CR_ROW_WISE,          /* ranges of rows, one per holder */
    CR_TABLE_ROW_WISE,    /* the same, over the holders of one machine */
    CR_COLUMN_WISE,       /* ranges of columns, each with one holder */
    CR_TABLE_COLUMN_WISE, /* the same, over the holders of one machine */
    CR_GRID_SHARD,        /* ranges of columns, each cut by rows over one machine */
    CR_SHARD_KINDS
} cr_shard_kind;

typedef struct cr_shard {
    int holder;
    int64_t row, end;     /* rows [row, end) */
    int64_t col, col_end; /* columns [col, col_end) */
} cr_shard;

typedef struct cr_placing {
    cr_shard_kind kind;
    int n;            /* 0: every holder has the whole table */
    cr_shard *shards; /* they cover the table and do not overlap; by row, then by column */
} cr_placing;

/* cr_shard_name returns the name that configs have for a kind; cr_shard_find the kind of a name, -1
 * when there is none. */
const char *cr_shard_name(cr_shard_kind kind);
int cr_shard_find(const char *name);

/* cr_placing_make cuts a table of n_rows rows of D columns evenly over the holders in the list, in
 * its order: ranges of rows (ROW_WISE, TABLE_ROW_WISE), ranges of columns whose bounds are
 * multiples of 4 (COLUMN_WISE, TABLE_COLUMN_WISE), or the whole (TABLE_WISE: the first of the
 * list). A table with fewer rows or columns than holders leaves the last ones without a shard. For
 * GRID_SHARD the list has n holders, n / n_cols of them for each of n_cols ranges of columns; else
 * n_cols is 0. */
cr_placing cr_placing_make(cr_arena *a, cr_shard_kind kind, int64_t n_rows, int64_t D,
                           const int *holders, int n, int n_cols);
/* cr_placing_check says what is wrong with a placing of holders 0 .. n_holders - 1; NULL: nothing.
 */
const char *cr_placing_check(const cr_placing *p, int64_t n_rows, int64_t D, int n_holders);

#endif
