/*
 * paired.h - two scores of the same rows compared: the difference of their AUC and of their mean
 * loss, each with its standard error. Sums run in the order of rows, so every bit is the same for
 * any number of threads.
 */
#ifndef CR_EXPLAIN_PAIRED_H
#define CR_EXPLAIN_PAIRED_H

#include <stdint.h>

#include "base/err.h"

/* The places of the rows in the order of their scores: of a positive the negatives below it, of a
 * negative the positives above it, ties counted half; all twice, so they are whole numbers. */
typedef struct cr_places {
    int64_t n, n_pos, n_neg;
    const uint8_t *positive; /* (n) borrowed */
    double *place;           /* (n) */
    double auc;              /* NaN without both classes */
} cr_places;
/* cr_places_make sorts the scores (n, none is NaN, n < 2^32) and fills place. scratch has 2 n
 * numbers. */
void cr_places_make(cr_places *p, const float *score, const uint8_t *positive, int64_t n,
                    uint64_t *scratch);

typedef struct cr_paired {
    double diff, error; /* of the second to the first, and its standard error; NaN: undefined */
} cr_paired;
/* cr_paired_auc is AUC(y) - AUC(x) with DeLong's standard error (DeLong, DeLong, Clarke-Pearson
 * 1988): the variance of the paired differences of places, over positives and over negatives. */
cr_paired cr_paired_auc(const cr_places *x, const cr_places *y);
/* cr_paired_mean is the weighted mean of y - x with its standard error sqrt(sum of w^2 (d -
 * mean)^2) / sum of w. weight NULL: all are 1. */
cr_paired cr_paired_mean(const float *x, const float *y, const float *weight, int64_t n);
/* cr_mean_of is the weighted mean of x. */
double cr_mean_of(const float *x, const float *weight, int64_t n);

#endif
