/*
 * body_gemm_bf16.c - BF16 products in plain C. They define the result that the vector kernels and
 * the tile unit have to match bit by bit (bf16_int.h says in which order the sums run).
 */
#include "kern/bf16_int.h"

enum { NR = CR_GEMM_NR, KB = CR_BF16_BLOCK };

/* The parts of a block of B, and of a block of one row of A; zeros past the last k. */
typedef struct right {
    float v[3][KB][NR];
} right;
typedef struct left {
    float v[3][KB];
} left;

static void left_of(left *l, const float *a, int64_t step, int64_t kc, int parts) {
    for (int64_t k = 0; k < KB; k++) {
        float x = k < kc ? a[k * step] : 0;
        for (int p = 0; p < parts; p++) {
            uint32_t part = bf16_near(x);
            l->v[p][k] = cr_f32_of_bits(part);
            x = bf16_rest(x, part);
        }
    }
}

static void right_of(right *r, const uint32_t *packed, int parts) {
    for (int p = 0; p < parts; p++)
        for (int h = 0; h < 2; h++)
            for (int k = 0; k < KB; k += 2, packed += 16)
                for (int c = 0; c < 16; c++) {
                    r->v[p][k][16 * h + c] = cr_f32_of_bits(packed[c] << 16);
                    r->v[p][k + 1][16 * h + c] = cr_f32_of_bits(packed[c] & 0xffff0000u);
                }
}

/* add adds the products of one block to nc sums. */
CR_INLINE void add(float *restrict s, const left *a, const right *b, int64_t nc, int parts) {
    for (int i = 0; i < BF16_N_PRODUCTS(parts); i++) {
        const float *x = a->v[bf16_order[parts - 1][i].a];
        const float(*w)[NR] = b->v[bf16_order[parts - 1][i].b];
        float e[NR] = {0}, o[NR] = {0};
        for (int k = 0; k < KB; k += 2) {
            SIMD for (int64_t j = 0; j < nc; j++) e[j] = bf16_step(x[k], w[k][j], e[j]);
            SIMD for (int64_t j = 0; j < nc; j++) o[j] = bf16_step(x[k + 1], w[k + 1][j], o[j]);
        }
        SIMD for (int64_t j = 0; j < nc; j++) s[j] = bf16_step(1, bf16_step(1, e[j], o[j]), s[j]);
    }
}

/* rows adds one block along k to M rows of a panel of C. From row to row A advances by am, from k
 * to k + 1 by ak. */
static void rows(float *C, int64_t ldc, const float *A, int64_t am, int64_t ak, const right *b,
                 int64_t M, int64_t nc, int64_t kc, int flags, const float *bias, int parts) {
    left a;
    for (int64_t m = 0; m < M; m++) {
        float s[NR] = {0}, *c = C + m * ldc;
        for (int64_t j = 0; j < nc && flags & CR_GEMM_ACC; j++)
            s[j] = bf16_flush(c[j]);
        left_of(&a, A + m * am, ak, kc, parts);
        add(s, &a, b, nc, parts);
        for (int64_t j = 0; j < nc; j++)
            c[j] =
                bf16_finish(s[j], flags, bias && flags & CR_GEMM_MASK ? bias + m * ldc : bias, j);
    }
}

void KERN(gemm_bf16)(float *C, int64_t ldc, const float *A, int64_t lda, const uint32_t *packed,
                     int64_t M, int64_t N, int64_t K, int flags, const float *bias, int parts,
                     float *scratch) {
    (void)scratch;
    if (K == 0) bf16_empty(C, ldc, M, N, flags, bias);
    right b;
    for (int64_t n = 0; n < N; n += NR)
        for (int64_t k = 0; k < K; k += KB, packed += parts * BF16_UNIT) {
            int64_t kc = K - k < KB ? K - k : KB;
            right_of(&b, packed, parts);
            rows(C + n, ldc, A + k, lda, 1, &b, M, N - n < NR ? N - n : NR, kc,
                 bf16_flags(flags, k, kc, K), bias ? bias + n : NULL, parts);
        }
}

void KERN(gemm_bf16_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                        int64_t ldb, int64_t M, int64_t N, int64_t K, int flags, int parts,
                        float *scratch) {
    flags &= CR_GEMM_ACC;
    uint32_t *packed = (uint32_t *)(void *)scratch; /* one block of one panel */
    if (K == 0) bf16_empty(C, ldc, M, N, flags, NULL);
    right b;
    for (int64_t k = 0; k < K; k += KB)
        for (int64_t n = 0; n < N; n += NR) {
            int64_t kc = K - k < KB ? K - k : KB, nc = N - n < NR ? N - n : NR;
            KERN(gemm_bf16_pack)(packed, B + k * ldb + n, ldb, false, kc, nc, 0, 1, parts);
            right_of(&b, packed, parts);
            rows(C + n, ldc, A + k * lda, 1, lda, &b, M, nc, kc, bf16_flags(flags, k, kc, K), NULL,
                 parts);
        }
}

double KERN(peak_bf16)(int64_t n, float *sum) {
    return KERN(peak)(n, sum);
}
