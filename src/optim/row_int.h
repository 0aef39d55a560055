/*
 * row_int.h - shared by the rules that look at a whole row: sums across the row, in the same order
 * on every CPU, and the bias corrections of Adam's family.
 */
#ifndef CR_OPTIM_ROW_INT_H
#define CR_OPTIM_ROW_INT_H

#include <stdint.h>
#include <string.h>

#include "optim/optim.h"
#include "optim/simd_int.h"

#define CR_ROW_PARTS 8
#define CR_ROW_EPS   1e-8F /* for every sparse rule whose message has no eps */

/* Eight partial sums as a vector: from an array, compilers would make transposes. */
typedef float cr_row_parts __attribute__((vector_size(CR_ROW_PARTS * sizeof(float))));

CR_INLINE float cr_sum_parts(const cr_row_parts *p) {
    const cr_row_parts part = *p;
    return ((part[0] + part[4]) + (part[2] + part[6])) +
           ((part[1] + part[5]) + (part[3] + part[7]));
}

/* cr_sum_squares_of returns the sum of (x + a y)², in eight partial sums and a fixed tree for any
 * register width. */
CR_INLINE float cr_sum_squares_of(const float *restrict x, float a, const float *restrict y,
                                  int64_t n) {
    cr_row_parts part = {0}, u, v;
    int64_t i = 0;
    for (; i + CR_ROW_PARTS <= n; i += CR_ROW_PARTS) {
        memcpy(&u, x + i, sizeof(u));
        memcpy(&v, y + i, sizeof(v));
        u += a * v;
        part += u * u;
    }
    for (int j = 0; i + j < n; j++) {
        float t = x[i + j] + a * y[i + j];
        part[j] += t * t;
    }
    return cr_sum_parts(&part);
}
CR_INLINE float cr_sum_squares(const float *restrict x, int64_t n) {
    cr_row_parts part = {0}, u;
    int64_t i = 0;
    for (; i + CR_ROW_PARTS <= n; i += CR_ROW_PARTS) {
        memcpy(&u, x + i, sizeof(u));
        part += u * u;
    }
    for (int j = 0; i + j < n; j++)
        part[j] += x[i + j] * x[i + j];
    return cr_sum_parts(&part);
}

/* cr_adam_bias returns 1 - b^t by repeated squaring, with the same bits on every machine, which pow
 * does not promise. */
static inline double cr_adam_bias(double b, int64_t t) {
    double power = 1;
    for (; t > 0; t >>= 1, b *= b) {
        if (t & 1) power *= b;
    }
    return 1 - power;
}

/* cr_adam_prepare sets pre[0] = 1 - β1^t and pre[1] = 1 - β2^t (adam.c). */
void cr_adam_prepare(const void *conf, cr_optim_step *s);

#endif
