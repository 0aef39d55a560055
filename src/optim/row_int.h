/*
 * row_int.h - what the rules that look at a whole row share: sums across it, in one order on every
 * CPU, and the bias corrections of Adam's family.
 */
#ifndef CR_OPTIM_ROW_INT_H
#define CR_OPTIM_ROW_INT_H

#include <stdint.h>

#include "optim/optim.h"
#include "optim/simd_int.h"

#define CR_ROW_PARTS 8
#define CR_ROW_EPS   1e-8F /* of every sparse rule whose message has no eps */

CR_INLINE float cr_sum_parts(const float *part) {
    return ((part[0] + part[4]) + (part[2] + part[6])) +
           ((part[1] + part[5]) + (part[3] + part[7]));
}

/* sum of squares in eight partial sums and a fixed tree, whatever the register width */
CR_INLINE float cr_sum_squares(const float *restrict x, int64_t n) {
    float part[CR_ROW_PARTS] = {0};
    int64_t i = 0;
    for (; i + CR_ROW_PARTS <= n; i += CR_ROW_PARTS)
        for (int j = 0; j < CR_ROW_PARTS; j++)
            part[j] += x[i + j] * x[i + j];
    for (int j = 0; i + j < n; j++)
        part[j] += x[i + j] * x[i + j];
    return cr_sum_parts(part);
}

/* 1 - b^t by repeated squaring: the same bits on every machine, which pow does not promise */
static inline double cr_adam_bias(double b, int64_t t) {
    double power = 1;
    for (; t > 0; t >>= 1, b *= b) {
        if (t & 1) power *= b;
    }
    return 1 - power;
}

/* pre[0] = 1 - β1^t, pre[1] = 1 - β2^t (adam.c) */
void cr_adam_prepare(const void *conf, cr_optim_step *s);

#endif
