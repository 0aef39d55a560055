/*
 * paired.c - see paired.h. Places are found with one radix sort of the 32 bits of each score.
 */
#include "explain/paired.h"

#include <math.h>
#include <string.h>

#define DIGIT   11
#define BUCKETS (1 << DIGIT)

/* Orders floats as unsigned numbers; -0 and 0 are the same score. */
static uint32_t key_of(float x) {
    uint32_t b;
    x += 0.0F;
    memcpy(&b, &x, sizeof b);
    return b & 0x80000000U ? ~b : b | 0x80000000U;
}

/* Three stable passes over the keys, which are the upper halves; returns where the result lies. */
static const uint64_t *sort(uint64_t *a, uint64_t *b, int64_t n) {
    for (int shift = 32; shift < 64; shift += DIGIT) {
        int64_t at[BUCKETS] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++)
            at[(a[i] >> shift) & (BUCKETS - 1)]++;
        for (int d = 0; d < BUCKETS; d++) {
            int64_t here = at[d];
            at[d] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++)
            b[at[(a[i] >> shift) & (BUCKETS - 1)]++] = a[i];
        uint64_t *t = a;
        a = b;
        b = t;
    }
    return a;
}

void cr_places_make(cr_places *p, const float *score, const uint8_t *positive, int64_t n,
                    uint64_t *scratch) {
    for (int64_t i = 0; i < n; i++)
        scratch[i] = (uint64_t)key_of(score[i]) << 32 | (uint64_t)i;
    const uint64_t *v = sort(scratch, scratch + n, n);
    p->n = n;
    p->positive = positive;
    p->n_pos = 0;
    for (int64_t i = 0; i < n; i++)
        p->n_pos += positive[i];
    p->n_neg = n - p->n_pos;
    int64_t pos_below = 0, neg_below = 0;
    double twice = 0; /* whole numbers, which doubles add exactly up to 2^53 */
    for (int64_t i = 0; i < n;) {
        int64_t k = i, pos = 0, neg = 0;
        for (; k < n && v[k] >> 32 == v[i] >> 32; k++) {
            bool is = positive[v[k] & 0xffffffffU];
            pos += is;
            neg += !is;
        }
        double above = (double)(2 * (p->n_pos - pos_below - pos) + pos),
               below = (double)(2 * neg_below + neg);
        for (int64_t q = i; q < k; q++) {
            int64_t r = (int64_t)(v[q] & 0xffffffffU);
            p->place[r] = positive[r] ? below : above;
        }
        twice += (double)pos * below;
        pos_below += pos;
        neg_below += neg;
        i = k;
    }
    p->auc = p->n_pos && p->n_neg ? twice / 2 / ((double)p->n_pos * (double)p->n_neg) : NAN;
}

/* The mean of the paired differences of places within a class, and the variance of that mean. */
static void class_stats(const cr_places *x, const cr_places *y, bool positive, double *mean,
                        double *var) {
    double n = (double)(positive ? x->n_pos : x->n_neg), sum = 0, sq = 0;
    double per = 2 * (double)(positive ? x->n_neg : x->n_pos);
    for (int64_t i = 0; i < x->n; i++)
        if (x->positive[i] == positive) sum += y->place[i] - x->place[i];
    *mean = sum / n;
    for (int64_t i = 0; i < x->n; i++)
        if (x->positive[i] == positive) {
            double d = y->place[i] - x->place[i] - *mean;
            sq += d * d;
        }
    *mean /= per;
    *var = n > 1 ? sq / (per * per) / (n - 1) / n : NAN;
}

cr_paired cr_paired_auc(const cr_places *x, const cr_places *y) {
    double pos, neg, mean;
    if (!x->n_pos || !x->n_neg) return (cr_paired){NAN, NAN};
    class_stats(x, y, true, &mean, &pos);
    class_stats(x, y, false, &mean, &neg);
    return (cr_paired){y->auc - x->auc, sqrt(pos + neg)};
}

double cr_mean_of(const float *x, const float *weight, int64_t n) {
    double sum = 0, all = 0;
    for (int64_t i = 0; i < n; i++) {
        double w = weight ? (double)weight[i] : 1;
        sum += w * (double)x[i];
        all += w;
    }
    return all > 0 ? sum / all : 0;
}

cr_paired cr_paired_mean(const float *x, const float *y, const float *weight, int64_t n) {
    double sum = 0, all = 0, sq = 0;
    for (int64_t i = 0; i < n; i++) {
        double w = weight ? (double)weight[i] : 1;
        sum += w * ((double)y[i] - (double)x[i]);
        all += w;
    }
    if (!(all > 0)) return (cr_paired){NAN, NAN};
    double mean = sum / all;
    for (int64_t i = 0; i < n; i++) {
        double w = weight ? (double)weight[i] : 1, d = w * ((double)y[i] - (double)x[i] - mean);
        sq += d * d;
    }
    return (cr_paired){mean, sqrt(sq) / all};
}
