/*
 * body_soft.c - softmax over short rows, as attention has them: 20 to 100 scores.
 *
 * One long loop computes the exponentials of all rows, so only its end has less than a vector.
 * Masked stores at the end of each row were tried: they take twice as long.
 */
#include <math.h>

#include "kern/sum_int.h"

typedef int32_t i8 __attribute__((vector_size(32)));

/* max8: m = x > m ? x : m; a NaN in x is ignored */
CR_INLINE void max8(v8 *m, const v8 *x) {
    i8 more = *x > *m;
    *m = (v8)((more & (i8)*x) | (~more & (i8)*m));
}

CR_INLINE float max_of(const float *x, int64_t n) {
    part16 a, m;
    load_rest16(&m, x, 0, -INFINITY);
    for (; n >= 16; n -= 16, x += 16) {
        load8(&a.lo, x), load8(&a.hi, x + 8);
        max8(&m.lo, &a.lo), max8(&m.hi, &a.hi);
    }
    if (n > 0) {
        load_rest16(&a, x, n, -INFINITY);
        max8(&m.lo, &a.lo), max8(&m.hi, &a.hi);
    }
    max8(&m.lo, &m.hi);
    float t[8], most = -INFINITY;
    memcpy(t, &m.lo, 32);
    for (int j = 0; j < 8; j++)
        most = t[j] > most ? t[j] : most;
    return most;
}

void KERN(softmax)(float *x, float scale, int64_t B, int64_t n) {
    for (int64_t b = 0; b < B; b++) {
        float *r = x + b * n, most = max_of(r, n);
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            r[j] = (r[j] - most) * scale;
    }
    KERN(exp)(x, x, B * n);
    for (int64_t b = 0; b < B; b++) {
        float *r = x + b * n, s = 1.0f / sum16(r, n);
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            r[j] = s * r[j];
    }
}

void KERN(softmax_bwd)(float *out, const float *y, const float *dy, int64_t ldd, float scale,
                       int64_t B, int64_t n) {
    for (int64_t b = 0; b < B; b++, out += n, y += n, dy += ldd) {
        float dot = dot16(y, dy, n);
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            out[j] = (scale * y[j]) * (dy[j] - dot);
    }
}
