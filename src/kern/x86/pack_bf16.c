/*
 * x86/pack_bf16.c - packing of the right-hand matrix of a BF16 product (body_bf16.c says how it
 * lies) on CPUs that round to BF16 by an instruction: from rows that lie along n, and, for rows
 * that lie along k, by the transposes of words.
 */
#include "kern/x86/units_int.h"

enum { NR = CR_GEMM_NR, KB = CR_BF16_BLOCK };

static NOINLINE void pack(char *d, const float *B, int64_t ldb, bool trans, int64_t K, int64_t N,
                          int64_t p0, int64_t p1, int parts) {
    char t[3 * UNIT] __attribute__((aligned(64)));
    d += p0 * cr_gemm_bf16_panel(K, parts) * (int64_t)sizeof(uint32_t);
    for (int64_t n = p0 * NR; n < p1 * NR; n += NR)
        for (int64_t k = 0; k < K; k += KB, d += parts * UNIT) {
            if (!trans) {
                pair_unit(d, B + k * ldb + n, ldb, K - k, N - n, parts);
                continue;
            }
            row_unit(t, B + n * ldb + k, ldb, N - n, K - k, parts);
            turn_unit(d, t, parts);
        }
}

void KERN(gemm_bf16_pack)(uint32_t *dst, const float *B, int64_t ldb, bool trans, int64_t K,
                          int64_t N, int64_t p0, int64_t p1, int parts) {
    unsigned was = _mm_getcsr();
    _mm_setcsr(was | BF16_DENORMALS_ZERO);
    pack((char *)dst, B, ldb, trans, K, N, p0, p1, parts);
    _mm_setcsr(was);
}
