/*
 * x86/pack.c - packing of the right-hand matrix, with AVX registers on both levels.
 *
 * Rows of B are copied to rows of a panel. Columns (trans) go through 8 x 8 transposes in
 * registers; the plain loop jumps ldb floats per element and is ten times slower when ldb is a
 * power of two, because the lines it visits then share a few cache sets.
 */
#include "kern/kern_int.h"

#include <immintrin.h>

enum { NR = CR_GEMM_NR };

/* turn8: d[k * ldd + c] = b[c * ldb + k] for k, c < 8 */
CR_INLINE void turn8(float *d, int64_t ldd, const float *b, int64_t ldb) {
    __m256 r[8], t[8];
    EACH(i, 8) {
        r[i] = _mm256_loadu_ps(b + i * ldb);
    }
    EACH(i, 4) { /* exchange within pairs of rows, then between pairs, then between halves */
        t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    EACH(i, 2) {
        const __m256 *q = t + 4 * i;
        r[4 * i] = _mm256_shuffle_ps(q[0], q[2], 0x44);
        r[4 * i + 1] = _mm256_shuffle_ps(q[0], q[2], 0xee);
        r[4 * i + 2] = _mm256_shuffle_ps(q[1], q[3], 0x44);
        r[4 * i + 3] = _mm256_shuffle_ps(q[1], q[3], 0xee);
    }
    EACH(i, 4) {
        _mm256_storeu_ps(d + i * ldd, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(d + (i + 4) * ldd, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

void KERN(gemm_pack)(float *dst, const float *B, int64_t ldb, bool trans, int64_t K, int64_t N,
                     int64_t p0, int64_t p1) {
    for (int64_t p = p0; p < p1; p++) {
        float *d = dst + p * cr_gemm_panel(K);
        int64_t n0 = p * NR, nc = N - n0 < NR ? N - n0 : NR;
        if (!trans) {
            const float *b = B + n0;
            if (nc == NR) {
                for (int64_t k = 0; k < K; k++)
                    memcpy(d + k * NR, b + k * ldb, NR * sizeof(float));
                continue;
            }
            for (int64_t k = 0; k < K; k++) {
                float *row = d + k * NR;
                int64_t c = 0;
                for (; c < nc; c++)
                    row[c] = b[k * ldb + c];
                for (; c < NR; c++)
                    row[c] = 0;
            }
            continue;
        }
        const float *b = B + n0 * ldb;
        int64_t k = 0;
        for (; k + 8 <= K; k += 8) {
            int64_t c = 0;
            for (; c + 8 <= nc; c += 8)
                turn8(d + k * NR + c, NR, b + c * ldb + k, ldb);
            for (; c < NR; c++)
                for (int64_t i = 0; i < 8; i++)
                    d[(k + i) * NR + c] = c < nc ? b[c * ldb + k + i] : 0;
        }
        for (; k < K; k++)
            for (int64_t c = 0; c < NR; c++)
                d[k * NR + c] = c < nc ? b[c * ldb + k] : 0;
    }
}

void KERN(gemm_nz_pack)(float *dst, const float *B, int64_t ldb, bool trans, int64_t K, int64_t N,
                        int64_t k0, int64_t k1) {
    int64_t w = cr_gemm_nz_strip(N);
    for (int64_t n = 0; n < N; n += w) {
        float *d = dst + n * K;
        int64_t nc = N - n < w ? N - n : w, k = k0;
        for (; trans && k + 8 <= k1; k += 8) {
            int64_t c = 0;
            for (; c + 8 <= nc; c += 8)
                turn8(d + k * w + c, w, B + (n + c) * ldb + k, ldb);
            for (; c < w; c++)
                for (int64_t i = 0; i < 8; i++)
                    d[(k + i) * w + c] = c < nc ? B[(n + c) * ldb + k + i] : 0;
        }
        for (; k < k1; k++)
            for (int64_t c = 0; c < w; c++)
                d[k * w + c] = c >= nc ? 0 : trans ? B[(n + c) * ldb + k] : B[k * ldb + n + c];
    }
}
