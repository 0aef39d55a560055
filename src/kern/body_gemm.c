/*
 * body_gemm.c - the matrix products in plain C. They define the result that x86/gemm.c has to match
 * bit by bit.
 *
 * Each element of C is one chain of fused multiply-adds over k in ascending order. The plain build
 * has no such instruction and a library call per element is slow, so fma1 computes it with doubles:
 * the product of two floats is exact in double; the sum is rounded to odd (odd_int.h).
 */
#include "kern/kern_int.h"

#include <math.h>

#include "kern/odd_int.h"

CR_INLINE float fma1(float a, float b, float c) {
#ifdef __FP_FAST_FMAF
    return fmaf(a, b, c);
#else
    return (float)sum_to_odd((double)a * (double)b, (double)c);
#endif
}

void KERN(gemm_pack)(float *dst, const float *B, int64_t ldb, bool trans, int64_t K, int64_t N,
                     int64_t p0, int64_t p1) {
    for (int64_t p = p0; p < p1; p++) {
        float *d = dst + p * cr_gemm_panel(K);
        int64_t n0 = p * CR_GEMM_NR, nc = N - n0 < CR_GEMM_NR ? N - n0 : CR_GEMM_NR;
        for (int64_t k = 0; k < K; k++) {
            for (int64_t c = 0; c < nc; c++)
                d[k * CR_GEMM_NR + c] = trans ? B[(n0 + c) * ldb + k] : B[k * ldb + n0 + c];
            for (int64_t c = nc; c < CR_GEMM_NR; c++)
                d[k * CR_GEMM_NR + c] = 0;
        }
    }
}

/* last_step returns what the last step reads for a row from column n on: the mask, the bias or
 * nothing. */
CR_INLINE const float *last_step(int flags, const float *bias, int64_t m, int64_t ldc, int64_t n) {
    return flags & CR_GEMM_MASK ? bias + m * ldc + n : flags & CR_GEMM_BIAS ? bias + n : NULL;
}

/* row computes one row of C, at most CR_GEMM_NR columns. From k to k + 1, a advances by sa and b by
 * sb. */
CR_INLINE void row(float *restrict c, const float *restrict a, int64_t sa, const float *restrict b,
                   int64_t sb, int64_t nc, int64_t K, int flags, const float *restrict bias) {
    float s[CR_GEMM_NR];
    for (int64_t j = 0; j < nc; j++)
        s[j] = flags & CR_GEMM_ACC ? c[j] : 0;
    for (int64_t k = 0; k < K; k++) {
        float ak = a[k * sa];
#pragma omp simd
        for (int64_t j = 0; j < nc; j++)
            s[j] = fma1(ak, b[k * sb + j], s[j]);
    }
    for (int64_t j = 0; j < nc; j++) {
        if (flags & CR_GEMM_ADD) s[j] = c[j] + s[j];
        if (flags & CR_GEMM_BIAS) s[j] += bias[j];
        if (flags & CR_GEMM_RELU) s[j] = s[j] <= 0 ? 0 : s[j];
        if (flags & CR_GEMM_MASK) s[j] = bias[j] > 0 ? s[j] : 0;
        c[j] = s[j];
    }
}

void KERN(gemm)(float *C, int64_t ldc, const float *A, int64_t lda, const float *packed, int64_t M,
                int64_t N, int64_t K, int flags, const float *bias) {
    for (int64_t n = 0; n < N; n += CR_GEMM_NR) {
        int64_t nc = N - n < CR_GEMM_NR ? N - n : CR_GEMM_NR;
        const float *b = packed + n * K;
        for (int64_t m = 0; m < M; m++)
            row(C + m * ldc + n, A + m * lda, 1, b, CR_GEMM_NR, nc, K, flags,
                last_step(flags, bias, m, ldc, n));
    }
}

void KERN(gemm_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B, int64_t ldb,
                   int64_t M, int64_t N, int64_t K, int flags, float *scratch) {
    (void)scratch;
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n += CR_GEMM_NR) {
            int64_t nc = N - n < CR_GEMM_NR ? N - n : CR_GEMM_NR;
            row(C + m * ldc + n, A + m, lda, B + n, ldb, nc, K, flags & CR_GEMM_ACC, NULL);
        }
}

void KERN(gemm_nz_pack)(float *dst, const float *B, int64_t ldb, bool trans, int64_t K, int64_t N,
                        int64_t k0, int64_t k1) {
    int64_t w = cr_gemm_nz_strip(N);
    for (int64_t n = 0; n < N; n += w)
        for (int64_t k = k0; k < k1; k++)
            for (int64_t c = 0; c < w; c++)
                dst[n * K + k * w + c] = n + c >= N ? 0
                                         : trans    ? B[(n + c) * ldb + k]
                                                    : B[k * ldb + n + c];
}

/* row_nz computes one row of C. From k to k + 1, a advances by sa and b by sb. */
CR_INLINE void row_nz(float *restrict c, const float *restrict a, int64_t sa,
                      const float *restrict b, int64_t sb, int64_t N, int64_t K, int flags,
                      const float *restrict bias) {
    for (int64_t n = 0; n < N && !(flags & CR_GEMM_ACC); n++)
        c[n] = 0;
    for (int64_t k = 0; k < K; k++) {
        float ak = a[k * sa];
        if (ak == 0) continue;
#pragma omp simd
        for (int64_t n = 0; n < N; n++)
            c[n] = fma1(ak, b[k * sb + n], c[n]);
    }
    for (int64_t n = 0; n < N; n++) {
        if (flags & CR_GEMM_BIAS) c[n] += bias[n];
        if (flags & CR_GEMM_RELU) c[n] = c[n] <= 0 ? 0 : c[n];
        if (flags & CR_GEMM_MASK) c[n] = bias[n] > 0 ? c[n] : 0;
    }
}

void KERN(gemm_nz)(float *C, int64_t ldc, const float *A, int64_t lda, const float *packed,
                   int64_t M, int64_t N, int64_t K, int flags, const float *bias) {
    int64_t w = cr_gemm_nz_strip(N);
    for (int64_t n = 0; n < N; n += w)
        for (int64_t m = 0; m < M; m++)
            row_nz(C + m * ldc + n, A + m * lda, 1, packed + n * K, w, N - n < w ? N - n : w, K,
                   flags, last_step(flags, bias, m, ldc, n));
}

void KERN(gemm_nz_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                      int64_t ldb, int64_t M, int64_t N, int64_t K, int flags) {
    for (int64_t m = 0; m < M; m++)
        row_nz(C + m * ldc, A + m, lda, B, ldb, N, K, flags & CR_GEMM_ACC, NULL);
}

double KERN(peak)(int64_t n, float *sum) {
    enum { LANES = 64 };
    float s[LANES];
    for (int i = 0; i < LANES; i++)
        s[i] = (float)i;
    for (int64_t k = 0; k < n; k++)
        for (int i = 0; i < LANES; i++)
            s[i] = s[i] * 0.5f + 1.0f;
    *sum = 0;
    for (int i = 0; i < LANES; i++)
        *sum += s[i];
    return 2.0 * LANES * (double)n;
}
