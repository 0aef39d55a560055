/*
 * body_gemm_bf16.c - BF16 products in plain C. They define the result that x86/gemm_bf16.c has to
 * match bit by bit, with and without the CPU's own dot product.
 *
 * A step of the chain is a fused multiply-add that reads and writes denormals as zeros. The product
 * of two BF16 values is exact in double; the sum is rounded to odd (as in body_gemm.c), so that it
 * can be compared with the bound and rounded to float as if it had been exact.
 */
#include "kern/bf16_int.h"
#include "kern/odd_int.h"

/* A sum of at least this size rounds to the smallest normal float or above when the exponent has no
 * bound: CPUs decide by the rounded result. */
#define TINY (0x1p-126 - 0x1p-151)

/* step adds a * b to c; none of the three is denormal, and a and b are BF16 values. */
CR_INLINE float step(float a, float b, float c) {
    double s = sum_to_odd((double)a * (double)b, (double)c);
    float r = (float)s;
    return s < TINY && s > -TINY ? cr_f32_of_bits(cr_f32_bits(r) & 0x80000000u) : r;
}

/* row computes one row of C, nc <= CR_GEMM_NR columns. From k to k + 1, a advances by sa and b
 * (rounded) by nc. */
CR_INLINE void row(float *restrict c, const float *restrict a, int64_t sa, const float *restrict b,
                   int64_t nc, int64_t K, int flags, const float *restrict bias) {
    float s[CR_GEMM_NR];
    for (int64_t j = 0; j < nc; j++)
        s[j] = flags & CR_GEMM_ACC ? bf16_flush(c[j]) : 0;
    for (int64_t k = 0; k < K; k++) {
        float ak = bf16_round(a[k * sa]);
        SIMD for (int64_t j = 0; j < nc; j++) s[j] = step(ak, b[k * nc + j], s[j]);
    }
    for (int64_t j = 0; j < nc; j++)
        c[j] = bf16_finish(s[j], flags, bias, j);
}

void KERN(gemm_bf16)(float *C, int64_t ldc, const float *A, int64_t lda, const uint32_t *packed,
                     int64_t M, int64_t N, int64_t K, int flags, const float *bias,
                     float *scratch) {
    if (K == 0) bf16_empty(C, ldc, M, N, flags, bias);
    for (int64_t n = 0; n < N && M > 0; n += CR_GEMM_NR)
        for (int64_t k0 = 0; k0 < K; k0 += BF16_KC) {
            int64_t nc = N - n < CR_GEMM_NR ? N - n : CR_GEMM_NR;
            int64_t kc = K - k0 < BF16_KC ? K - k0 : BF16_KC;
            for (int64_t k = 0; k < kc; k++, packed += k % 2 ? 0 : CR_GEMM_NR)
                for (int64_t j = 0; j < nc; j++)
                    scratch[k * nc + j] =
                        cr_f32_of_bits(k % 2 ? packed[j] << 16 : packed[j] & 0xffff0000u);
            packed += kc % 2 ? CR_GEMM_NR : 0;
            for (int64_t m = 0; m < M; m++)
                row(C + m * ldc + n, A + m * lda + k0, 1, scratch, nc, kc,
                    bf16_flags(flags, k0, kc, K), bias + n);
        }
}

void KERN(gemm_bf16_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                        int64_t ldb, int64_t M, int64_t N, int64_t K, int flags, float *scratch) {
    flags &= CR_GEMM_ACC;
    if (K == 0) bf16_empty(C, ldc, M, N, flags, NULL);
    for (int64_t k0 = 0; k0 < K; k0 += TN_KC)
        for (int64_t n = 0; n < N; n += CR_GEMM_NR) {
            int64_t nc = N - n < CR_GEMM_NR ? N - n : CR_GEMM_NR;
            int64_t kc = K - k0 < TN_KC ? K - k0 : TN_KC;
            for (int64_t k = 0; k < kc; k++)
                for (int64_t j = 0; j < nc; j++)
                    scratch[k * nc + j] = bf16_round(B[(k0 + k) * ldb + n + j]);
            for (int64_t m = 0; m < M; m++)
                row(C + m * ldc + n, A + k0 * lda + m, lda, scratch, nc, kc,
                    bf16_flags(flags, k0, kc, K), NULL);
        }
}
