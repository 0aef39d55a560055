/*
 * body_bf16.c - packing of the right-hand matrix of a BF16 product: panels of CR_GEMM_NR columns
 * whose rows hold pairs along k (bf16_int.h). It takes half the bytes of gemm_pack.
 */
#include "kern/bf16_int.h"

enum { NR = CR_GEMM_NR, PAIRS = 64 /* pairs of a block that is transposed at a time */ };

/* across packs n pairs from two rows. */
CR_INLINE void across(uint32_t *restrict d, const float *restrict a, const float *restrict b,
                      int64_t n) {
    SIMD for (int64_t c = 0; c < n; c++) d[c] = bf16_pair(a[c], b[c]);
}

/* along packs the pairs of n neighbours in a row. */
CR_INLINE void along(uint32_t *restrict d, const float *restrict x, int64_t n) {
    SIMD for (int64_t j = 0; j < n / 2; j++) d[j] = bf16_pair(x[2 * j], x[2 * j + 1]);
    if (n % 2) d[n / 2] = bf16_pair(x[n - 1], BF16_PAD_B);
}

void KERN(gemm_bf16_pack)(uint32_t *dst, const float *B, int64_t ldb, bool trans, int64_t K,
                          int64_t N, int64_t p0, int64_t p1) {
    static const float pad[NR]; /* BF16_PAD_B */
    for (int64_t p = p0; p < p1; p++) {
        uint32_t *d = dst + p * cr_gemm_bf16_panel(K);
        int64_t n0 = p * NR, nc = N - n0 < NR ? N - n0 : NR;
        for (int64_t k = 0; k < K && !trans; k += 2, d += NR) {
            const float *a = B + k * ldb + n0, *b = k + 1 < K ? a + ldb : pad;
            if (nc == NR) {
                across(d, a, b, NR);
            } else {
                across(d, a, b, nc);
                memset(d + nc, 0, (size_t)(NR - nc) * sizeof(*d));
            }
        }
        /* columns of B: make pairs first, then transpose the words as gemm_pack transposes
         * floats */
        for (int64_t k = 0; k < K && trans; k += 2 * PAIRS, d += PAIRS * NR) {
            int64_t kc = K - k < 2 * PAIRS ? K - k : 2 * PAIRS;
            union {
                uint32_t pair[NR * PAIRS];
                float word[NR * PAIRS];
            } t;
            for (int64_t c = 0; c < nc; c++)
                along(t.pair + c * PAIRS, B + (n0 + c) * ldb + k, kc);
            KERN(gemm_pack)((float *)(void *)d, t.word, PAIRS, true, (kc + 1) / 2, nc, 0, 1);
        }
    }
}
