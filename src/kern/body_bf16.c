/*
 * body_bf16.c - packing of the right-hand matrix of a BF16 product, in the layout that the tile
 * unit reads: [panel of 32 columns][block of 32 along k][part][half of the columns][pair][column].
 * A word holds the values of an even k (lower 16 bits) and of the odd k behind it.
 */
#include "kern/bf16_int.h"

enum { NR = CR_GEMM_NR, KB = CR_BF16_BLOCK };

/* unit makes one part of a block t (KB, NR), and leaves in t what is left for the next part. */
CR_INLINE void unit(uint32_t *restrict d, float *restrict t) {
    for (int h = 0; h < 2; h++)
        for (int q = 0; q < KB / 2; q++, d += 16) {
            float *a = t + 2 * q * NR + 16 * h, *b = a + NR;
            SIMD for (int c = 0; c < 16; c++) {
                uint32_t even = bf16_near(a[c]), odd = bf16_near(b[c]);
                d[c] = even >> 16 | odd;
                a[c] = bf16_rest(a[c], even);
                b[c] = bf16_rest(b[c], odd);
            }
        }
}

/* whole makes the only part of a whole block that lies in rows of ld floats. */
CR_INLINE void whole(uint32_t *restrict d, const float *restrict t, int64_t ld) {
    for (int q = 0; q < KB / 2; q++, d += 16) {
        const float *a = t + 2 * q * ld, *b = a + ld;
        SIMD for (int c = 0; c < 16; c++) d[c] = bf16_near(a[c]) >> 16 | bf16_near(b[c]);
        SIMD for (int c = 0; c < 16; c++) d[c + BF16_UNIT / 2] =
            bf16_near(a[c + 16]) >> 16 | bf16_near(b[c + 16]);
    }
}

void KERN(gemm_bf16_pack)(uint32_t *dst, const float *B, int64_t ldb, bool trans, int64_t K,
                          int64_t N, int64_t p0, int64_t p1, int parts) {
    float t[KB * NR];
    for (int64_t p = p0; p < p1; p++) {
        uint32_t *d = dst + p * cr_gemm_bf16_panel(K, parts);
        int64_t n0 = p * NR, nc = N - n0 < NR ? N - n0 : NR;
        for (int64_t k = 0; k < K; k += KB) {
            int64_t kc = K - k < KB ? K - k : KB;
            const float *from = trans ? B + n0 * ldb + k : B + k * ldb + n0;
            if (!trans && parts == 1 && kc == KB && nc == NR) {
                whole(d, from, ldb);
                d += BF16_UNIT;
                continue;
            }
            KERN(gemm_pack)(t, from, ldb, trans, kc, nc, 0, 1);
            memset(t + kc * NR, 0, (size_t)((KB - kc) * NR) * sizeof(*t));
            for (int i = 0; i < parts; i++, d += BF16_UNIT)
                unit(d, t);
        }
    }
}
