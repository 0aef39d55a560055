/*
 * body_row.c - kernels over rows of a matrix: copies, column sums, pooled lookup.
 *
 * Sums go through the rows in order; the inner loops run over columns, so no sum is ever split.
 */
#include "kern/kern_int.h"

void KERN(copy_rows)(float *dst, int64_t ldd, const float *src, int64_t lds, int64_t B, int64_t D,
                     bool acc) {
    for (int64_t b = 0; b < B; b++) {
        float *d = dst + b * ldd;
        const float *s = src + b * lds;
        if (acc) {
#pragma omp simd
            for (int64_t i = 0; i < D; i++)
                d[i] += s[i];
        } else {
#pragma omp simd
            for (int64_t i = 0; i < D; i++)
                d[i] = s[i];
        }
    }
}

void KERN(fill_rows)(float *dst, int64_t ldd, const float *s, int64_t B, int64_t D, bool acc) {
    for (int64_t b = 0; b < B; b++) {
        float *d = dst + b * ldd, v = s[b];
        if (acc) {
#pragma omp simd
            for (int64_t i = 0; i < D; i++)
                d[i] += v;
        } else {
#pragma omp simd
            for (int64_t i = 0; i < D; i++)
                d[i] = v;
        }
    }
}

void KERN(row_affine)(float *out, int64_t ldo, const float *x, int64_t ldx, const float *scale,
                      const float *shift, int64_t B, int64_t D, bool relu) {
    for (int64_t b = 0; b < B; b++) {
        float *o = out + b * ldo;
        const float *r = x + b * ldx;
        if (relu) {
#pragma omp simd
            for (int64_t i = 0; i < D; i++) {
                float v = r[i] * scale[i] + shift[i];
                o[i] = v <= 0 ? 0 : v;
            }
        } else {
#pragma omp simd
            for (int64_t i = 0; i < D; i++)
                o[i] = r[i] * scale[i] + shift[i];
        }
    }
}

void KERN(diag_left)(float *out, const float *x, const float *s, const float *y, int64_t B,
                     int64_t D) {
    for (int64_t b = 0; b < B; b++, out += D, x += D, y += D) {
        float v = s[b];
#pragma omp simd
        for (int64_t i = 0; i < D; i++)
            out[i] = x[i] + v * y[i];
    }
}

void KERN(diag_right)(float *out, const float *x, const float *s, const float *y, int64_t ld,
                      int64_t B, int64_t D) {
    for (int64_t b = 0; b < B; b++, out += ld, x += ld, y += ld) {
#pragma omp simd
        for (int64_t i = 0; i < D; i++)
            out[i] = x[i] + s[i] * y[i];
    }
}

void KERN(diag_right_bwd)(float *dx, float *dy, float *ds, const float *dout, int64_t ldo,
                          const float *s, const float *y, int64_t ldy, int64_t B, int64_t D) {
    for (int64_t b = 0; b < B; b++, dout += ldo, y += ldy) {
        if (dx) {
            float *dxb = dx + b * ldy, *dyb = dy + b * ldy;
#pragma omp simd
            for (int64_t i = 0; i < D; i++) {
                dxb[i] += dout[i];
                dyb[i] += dout[i] * s[i];
            }
        }
        if (ds) {
#pragma omp simd
            for (int64_t i = 0; i < D; i++)
                ds[i] += dout[i] * y[i];
        }
    }
}

void KERN(col_sum)(float *sum, const float *x, int64_t ldx, int64_t B, int64_t D) {
    for (int64_t b = 0; b < B; b++) {
        const float *r = x + b * ldx;
#pragma omp simd
        for (int64_t i = 0; i < D; i++)
            sum[i] += r[i];
    }
}

void KERN(col_sum_d)(double *sum, const float *x, int64_t ldx, int64_t B, int64_t D) {
    for (int64_t b = 0; b < B; b++) {
        const float *r = x + b * ldx;
#pragma omp simd
        for (int64_t i = 0; i < D; i++)
            sum[i] += (double)r[i];
    }
}

void KERN(col_sqdev_d)(double *sum, const float *x, int64_t ldx, const float *mean, int64_t B,
                       int64_t D) {
    for (int64_t b = 0; b < B; b++) {
        const float *r = x + b * ldx;
#pragma omp simd
        for (int64_t i = 0; i < D; i++) {
            double d = (double)r[i] - (double)mean[i];
            sum[i] += d * d;
        }
    }
}

void KERN(col_dot_d)(double *sum, const float *x, int64_t ldx, const float *y, int64_t ldy,
                     int64_t B, int64_t D) {
    for (int64_t b = 0; b < B; b++) {
        const float *r = x + b * ldx, *q = y + b * ldy;
#pragma omp simd
        for (int64_t i = 0; i < D; i++)
            sum[i] += (double)r[i] * (double)q[i];
    }
}

/* pool_cols computes D <= 16 columns of the pooled sum; with a fixed D they stay in a register. */
CR_INLINE void pool_cols(float *out, const float *table, int64_t stride, const int64_t *ids,
                         const float *w, int64_t n, const int64_t D, bool acc) {
    float s[16];
    for (int64_t d = 0; d < D; d++)
        s[d] = acc ? out[d] : 0;
    for (int64_t i = 0; i < n; i++) {
        const float *r = table + ids[i] * stride;
        float wi = w ? w[i] : 1.0f;
#pragma omp simd
        for (int64_t d = 0; d < D; d++)
            s[d] += wi * r[d];
    }
    for (int64_t d = 0; d < D; d++)
        out[d] = s[d];
}

void KERN(pool)(float *out, const float *table, int64_t stride, const int64_t *ids, const float *w,
                int64_t n, int64_t D, bool acc) {
    int64_t d = 0;
    for (; d + 16 <= D; d += 16)
        pool_cols(out + d, table + d, stride, ids, w, n, 16, acc);
    if (d + 8 <= D) {
        pool_cols(out + d, table + d, stride, ids, w, n, 8, acc);
        d += 8;
    }
    if (d < D) pool_cols(out + d, table + d, stride, ids, w, n, D - d, acc);
}
