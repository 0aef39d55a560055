/*
 * rank_int.h - an exact record of (score, label) pairs: how many positives and negatives had each
 * distinct score. It is shared by the metrics that depend only on the order of scores.
 */
#ifndef CR_METRIC_RANK_INT_H
#define CR_METRIC_RANK_INT_H

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

/* One distinct score. */
typedef struct cr_rank_run {
    uint64_t key; /* cr_rank_key of the score */
    uint64_t n_pos, n_neg;
} cr_rank_run;

/* Rows wait unsorted in `wait` until it is full; then they are sorted and merged into `runs`. The
 * memory is 24 bytes per distinct score, and at most about 100 bytes each during a merge; the
 * number of rows does not matter. */
typedef struct cr_rank {
    cr_rank_run *runs; /* in the order of rising keys */
    int64_t n_runs;
    uint64_t *wait; /* key * 2 + label; the upper half of the block is scratch memory of the sort */
    int64_t n_wait, cap_wait;
} cr_rank;

/* cr_rank_key orders floats as unsigned numbers; -0 and 0 are the same score. x is not NaN. */
static inline uint32_t cr_rank_key(float x) {
    uint32_t b;
    x += 0.0F; /* -0 + 0 = +0 */
    memcpy(&b, &x, sizeof b);
    return b & 0x80000000U ? ~b : b | 0x80000000U;
}

void cr_rank_clear(cr_rank *r);
/* cr_rank_reset drops the rows and keeps the waiting block. */
void cr_rank_reset(cr_rank *r);
/* cr_rank_reserve makes room for at least one more row. When it fails, r does not change. */
CR_CHECKED cr_code cr_rank_reserve(cr_rank *r, cr_err *err);
/* cr_rank_add adds one row; there must be room (n_wait < cap_wait). */
static inline void cr_rank_add(cr_rank *r, float score, bool positive) {
    r->wait[r->n_wait++] = (uint64_t)cr_rank_key(score) * 2 + positive;
}
/* cr_rank_pack appends the runs of all rows; cr_rank_merge adds the n runs of another record, whose
 * keys rise. */
void cr_rank_pack(cr_rank *r, cr_buf *out);
CR_CHECKED cr_code cr_rank_merge(cr_rank *r, const cr_rank_run *runs, int64_t n, cr_err *err);
/* cr_rank_auc returns the probability that a positive scores above a negative, where ties count
 * half; NaN without both classes. It is exact: everything before the division is an integer count.
 * It sorts the waiting rows in place. */
double cr_rank_auc(cr_rank *r);

#endif
