/*
 * body_vec.c - sums and elementwise arithmetic on plain vectors.
 *
 * dot and sum keep 16 partial sums whatever the register width, so that AVX-512 (one register),
 * AVX2 (two) and SSE2 (four) add in the same order and agree in every bit.
 */
#include "kern/kern_int.h"

INLINE float tree16(float p[16]) {
    for (int w = 8; w >= 1; w /= 2)
        for (int j = 0; j < w; j++)
            p[j] += p[j + w];
    return p[0];
}

float KERN(dot)(const float *x, const float *y, int64_t n) {
    float p[16] = {0};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
#pragma omp simd
        for (int j = 0; j < 16; j++)
            p[j] += x[i + j] * y[i + j];
    }
    for (int j = 0; i + j < n; j++)
        p[j] += x[i + j] * y[i + j];
    return tree16(p);
}

float KERN(sum)(const float *x, int64_t n) {
    float p[16] = {0};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
#pragma omp simd
        for (int j = 0; j < 16; j++)
            p[j] += x[i + j];
    }
    for (int j = 0; i + j < n; j++)
        p[j] += x[i + j];
    return tree16(p);
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
    if (acc) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            out[i] += x[i] * y[i];
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            out[i] = x[i] * y[i];
    }
}
