/*
 * shuffle.h - permutations that are a pure function of a key.
 */
#ifndef CR_DATA_LOAD_SHUFFLE_H
#define CR_DATA_LOAD_SHUFFLE_H

#include "data/load/gather.h"

/* cr_shuffle_items fills order[0, n) with a permutation of 0..n-1 for one epoch (shuffle false: as
 * is). */
void cr_shuffle_items(int64_t *order, int64_t n, bool shuffle, uint64_t seed, int64_t epoch);
/* cr_shuffle_rows permutes the rows of the window that begins at `unit` in an epoch. */
void cr_shuffle_rows(cr_rowref *rows, int64_t n, uint64_t seed, int64_t epoch, int64_t unit);

#endif
