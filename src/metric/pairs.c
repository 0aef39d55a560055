/*
 * pairs.c - counts pairs of rows whose scores are in the order of their labels.
 *
 * To count all pairs, rows are sorted by label, and rows of equal label by falling score. Then
 * every right pair is a rise of the score from left to right, and a merge sort counts rises while
 * it sorts. Scores of equal labels fall, so they never count. Drawn pairs come from a counter, so
 * they depend on neither batches nor time.
 */
#include "metric/pairs_int.h"

#include "base/rng.h"

#define SMALL 16

void cr_pairs_sort(uint64_t *v, uint64_t *scratch, int64_t n) {
    uint64_t any = 0, all = ~(uint64_t)0;
    for (int64_t i = 0; i < n; i++) {
        any |= v[i];
        all &= v[i];
    }
    uint64_t varies = any & ~all, *a = v, *b = scratch;
    for (int shift = 0; shift < 64; shift += 8) {
        if (((varies >> shift) & 255) == 0) continue;
        int64_t at[256] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++) {
            at[(a[i] >> shift) & 255]++;
        }
        for (int d = 0; d < 256; d++) {
            int64_t count = at[d];
            at[d] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++) {
            b[at[(a[i] >> shift) & 255]++] = a[i];
        }
        uint64_t *t = a;
        a = b;
        b = t;
    }
    if (a != v) memcpy(v, a, (size_t)n * sizeof *v);
}

/* count_rises counts the pairs i < j with v[i] < v[j]; afterwards v is sorted. */
static uint64_t count_rises(uint32_t *v, uint32_t *scratch, int64_t n) {
    if (n <= SMALL) {
        uint64_t rises = 0;
        for (int64_t j = 1; j < n; j++) {
            uint32_t x = v[j];
            int64_t i = j;
            for (; i > 0 && v[i - 1] > x; i--) { /* greater ones move right */
                v[i] = v[i - 1];
            }
            v[i] = x;
            for (; i > 0 && v[i - 1] == x;) { /* equal ones do not count */
                i--;
            }
            rises += (uint64_t)i;
        }
        return rises;
    }
    int64_t half = n / 2;
    uint64_t rises = count_rises(v, scratch, half) + count_rises(v + half, scratch, n - half);
    memcpy(scratch, v, (size_t)half * sizeof *v);
    /* merge from the left: an element of the right half is a rise from all smaller ones of the left
     * half */
    int64_t i = 0, j = half, out = 0;
    while (i < half && j < n) {
        if (scratch[i] < v[j]) {
            v[out++] = scratch[i++];
        } else {
            rises += (uint64_t)i;
            v[out++] = v[j++];
        }
    }
    rises += (uint64_t)(n - j) * (uint64_t)i;
    memcpy(v + out, scratch + i, (size_t)(half - i) * sizeof *v);
    return rises;
}

uint64_t cr_pairs_right(uint64_t *v, uint64_t *scratch, int64_t n) {
    if (n <= SMALL) {
        uint64_t right = 0;
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < i; j++) {
                right += cr_pair_right(v[i], v[j]);
            }
        }
        return right;
    }
    for (int64_t i = 0; i < n; i++) {
        v[i] ^= 0xffffffffU; /* so that scores fall */
    }
    cr_pairs_sort(v, scratch, n);
    uint32_t *score = (uint32_t *)scratch;
    for (int64_t i = 0; i < n; i++) {
        v[i] ^= 0xffffffffU;
        score[i] = (uint32_t)v[i];
    }
    return count_rises(score, score + n, n);
}

uint64_t cr_pairs_drawn(const uint64_t *v, int64_t n, uint64_t n_draw, uint64_t key) {
    uint64_t right = 0;
    for (uint64_t k = 0; k < n_draw; k++) {
        uint64_t i = cr_rng_below(key, 2 * k, (uint64_t)n);
        uint64_t j = cr_rng_below(key, 2 * k + 1, (uint64_t)n - 1);
        right += cr_pair_right(v[i], v[j + (j >= i)]);
    }
    return right;
}
