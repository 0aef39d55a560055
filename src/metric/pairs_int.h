/*
 * pairs_int.h - rows as (label, score) and their pairs: a pair is right when labels and scores
 * differ in the same direction; ties in either are wrong. Shared by xauc and grouped_xauc.
 */
#ifndef CR_METRIC_PAIRS_INT_H
#define CR_METRIC_PAIRS_INT_H

#include <stdint.h>

#include "metric/rank_int.h"

/* cr_pair_row makes a row: the order of the label is in the upper half, the order of the score in
 * the lower. */
static inline uint64_t cr_pair_row(float label, float score) {
    return (uint64_t)cr_rank_key(label) << 32 | cr_rank_key(score);
}
static inline bool cr_pair_right(uint64_t a, uint64_t b) {
    uint32_t ya = (uint32_t)(a >> 32), yb = (uint32_t)(b >> 32), pa = (uint32_t)a, pb = (uint32_t)b;
    return (ya > yb && pa > pb) || (ya < yb && pa < pb);
}
/* cr_pairs_right counts how many of all n(n-1)/2 pairs are right, in n log n steps. It reorders v;
 * scratch has room for n too. */
uint64_t cr_pairs_right(uint64_t *v, uint64_t *scratch, int64_t n);
/* cr_pairs_drawn counts how many of n_draw pairs of different rows are right: pair k depends only
 * on (key, k) and n. n >= 2. */
uint64_t cr_pairs_drawn(const uint64_t *v, int64_t n, uint64_t n_draw, uint64_t key);
/* cr_pairs_sort sorts v in rising order; scratch has room for n. */
void cr_pairs_sort(uint64_t *v, uint64_t *scratch, int64_t n);

#endif
