/*
 * dot16.h - the sum of products with 16 partial sums (see body_vec.c), shared by the bodies.
 */
#ifndef CR_KERN_DOT16_H
#define CR_KERN_DOT16_H

#include "kern/kern_int.h"

INLINE float tree16(float p[16]) {
    for (int w = 8; w >= 1; w /= 2)
        for (int j = 0; j < w; j++)
            p[j] += p[j + w];
    return p[0];
}

INLINE float dot16(const float *x, const float *y, int64_t n) {
    float p[16] = {0};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        SIMD for (int j = 0; j < 16; j++) p[j] += x[i + j] * y[i + j];
    }
    for (int j = 0; i + j < n; j++)
        p[j] += x[i + j] * y[i + j];
    return tree16(p);
}

#endif
