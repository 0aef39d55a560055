/*
 * body_vec.c - sums and elementwise arithmetic on plain vectors.
 *
 * dot and sum keep 16 partial sums whatever the register width (sum_int.h), so that AVX-512,
 * AVX2 and SSE2 add in the same order and agree in every bit.
 */
#include "kern/sum_int.h"

float KERN(dot)(const float *x, const float *y, int64_t n) {
    return dot16(x, y, n);
}

float KERN(sum)(const float *x, int64_t n) {
    return sum16(x, n);
}

void KERN(axpy)(float *y, float a, const float *x, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = y[i] + a * x[i];
}

void KERN(scale_add)(float *out, float a, const float *x, float b, const float *y, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        out[i] = a * x[i] + b * y[i];
}

void KERN(scale)(float *out, float a, const float *x, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        out[i] = a * x[i];
}

void KERN(add)(float *out, const float *x, const float *y, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] + y[i];
}

void KERN(mul)(float *out, const float *x, const float *y, int64_t n, bool acc) {
    SET_OR_ADD(out, n, acc, x[i] * y[i]);
}

CR_INLINE void drop_some(float *out, const float *x, const uint16_t *rnd, uint32_t limit,
                         float scale, int64_t n, const bool acc) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float v = rnd[i] < limit ? 0.0f : x[i] * scale;
        out[i] = acc ? out[i] + v : v;
    }
}

void KERN(drop)(float *out, const float *x, const uint16_t *rnd, uint32_t limit, float scale,
                int64_t n, bool acc) {
    if (acc)
        drop_some(out, x, rnd, limit, scale, n, true);
    else
        drop_some(out, x, rnd, limit, scale, n, false);
}
