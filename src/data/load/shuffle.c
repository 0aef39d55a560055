/*
 * shuffle.c - the order of blocks in an epoch and of rows in a window.
 *
 * Fisher and Yates, with the i-th draw taken from a counter-based generator whose key names the
 * epoch (and window): a run that starts in the middle of an epoch makes the same permutations.
 */
#include "data/load/shuffle.h"

#include "base/rng.h"

void cr_shuffle_items(int64_t *order, int64_t n, bool shuffle, uint64_t seed, int64_t epoch) {
    uint64_t key = cr_rng_sub(cr_rng_key(seed, "shuffle", "blocks"), (uint64_t)epoch);
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n - 1; shuffle && i > 0; i--) {
        int64_t j = (int64_t)cr_rng_below(key, (uint64_t)i, (uint64_t)i + 1);
        int64_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

void cr_shuffle_rows(cr_rowref *rows, int64_t n, uint64_t seed, int64_t epoch, int64_t unit) {
    uint64_t key = cr_rng_sub(cr_rng_key(seed, "shuffle", "rows"), (uint64_t)epoch);
    key = cr_rng_sub(key, (uint64_t)unit);
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)cr_rng_below(key, (uint64_t)i, (uint64_t)i + 1);
        cr_rowref t = rows[i];
        rows[i] = rows[j];
        rows[j] = t;
    }
}
