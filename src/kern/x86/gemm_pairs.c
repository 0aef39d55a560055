/*
 * x86/gemm_pairs.c - products of one BF16 part with the CPU's dot product of pairs (AVX512_BF16),
 * in an order of their own (list.h); products of several parts are those of avx512.
 *
 * The instruction does two fused multiply-adds, upper halves first, rounds each, and treats
 * denormals as zero whatever the control register says. So an element is one chain over k in the
 * order 1 0 3 2 5 4 ..., which no tile, tail or block of K changes. On AMD it has twice the rate of
 * multiply-adds of floats (docs/design/bf16.md has the figures and why the order differs).
 */
#include "kern/x86/units_int.h"

#define CR_DECLARE(ret, nm, args) ret cr_##nm##_avx512 args;
CR_KERNELS_BF16_DOT(CR_DECLARE)
#undef CR_DECLARE

enum { NR = CR_GEMM_NR, KB = CR_BF16_BLOCK, MR = 14, NV = 2 };

/* Values that all tiles of one call share. Pair p of row m of A is at m * row + p * step. */
typedef struct job {
    int64_t ldc, row, step;
    int64_t pairs;
    int flags;
} job;

CR_INLINE void tile(const int mr, const int nv, const job *j, float *c, const uint32_t *a,
                    const uint32_t *b, int64_t nc, const float *bias) {
    vec s[MR][NV];
    const int64_t ldc = j->ldc, row = j->row, step = j->step;
    EACH(i, mr) {
        EACH(v, nv) {
            s[i][v] =
                j->flags & CR_GEMM_ACC ? vloadm(first(nc - v * VL), c + i * ldc + v * VL) : vzero();
        }
    }
    for (int64_t p = 0; p < j->pairs; p += KB / 2, b += 256)
        for (int64_t q = p; q < p + KB / 2 && q < j->pairs; q++, a += step, b += 16) {
            __m512bh w[NV];
            EACH(v, nv) {
                w[v] = (__m512bh)ivload(b + v * 256);
            }
            EACH(i, mr) {
                __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[i * row]);
                EACH(v, nv) {
                    s[i][v] = _mm512_dpbf16_ps(s[i][v], x, w[v]);
                }
            }
        }
    __asm__("" : "+r"(nc)); /* masks are computed again, as in gemm_bf16.c */
    EACH(i, mr) {
        EACH(v, nv) {
            mask m = first(nc - v * VL);
            vec y = s[i][v];
            if (j->flags & CR_GEMM_BIAS) y = vadd(y, vloadm(m, bias + v * VL));
            if (j->flags & CR_GEMM_RELU) y = vrelu(y);
            if (j->flags & CR_GEMM_MASK) y = vabove0(vloadm(m, bias + i * ldc + v * VL), y);
            vstorem(c + i * ldc + v * VL, m, y);
        }
    }
}

/* Instances of tile: tile_<rows>_<vectors>. */
typedef void (*tile_fn)(const job *, float *, const uint32_t *, const uint32_t *, int64_t,
                        const float *);
#define TILE(mr, nv)                                                                               \
    static void tile_##mr##_##nv(const job *j, float *c, const uint32_t *a, const uint32_t *b,     \
                                 int64_t nc, const float *bias) {                                  \
        tile(mr, nv, j, c, a, b, nc, bias);                                                        \
    }
#define ROWS(X, v)                                                                                 \
    X(1, v)                                                                                        \
    X(2, v)                                                                                        \
    X(3, v)                                                                                        \
    X(4, v)                                                                                        \
    X(5, v)                                                                                        \
    X(6, v) X(7, v) X(8, v) X(9, v) X(10, v) X(11, v) X(12, v) X(13, v) X(14, v)
ROWS(TILE, 1)
ROWS(TILE, 2)
#define NAME(mr, nv) tile_##mr##_##nv,
static const tile_fn tiles[NV][MR] = {{ROWS(NAME, 1)}, {ROWS(NAME, 2)}};

/* panel computes M rows of C for one panel (nc <= NR columns); `next` words lie between tiles of
 * rows of A. */
static void panel(const job *j, float *C, const uint32_t *A, int64_t next, const uint32_t *b,
                  int64_t M, int64_t nc, const float *bias) {
    const tile_fn *fn = tiles[(nc - 1) / VL];
    for (int64_t i = 0; i < M; i += MR, A += next)
        fn[(M - i < MR ? M - i : MR) - 1](j, C + i * j->ldc, A, b, nc,
                                          j->flags & CR_GEMM_MASK ? bias + i * j->ldc : bias);
}

/* along makes the pairs of a row of n floats, with zeros up to `to` pairs. */
CR_INLINE void along(uint32_t *d, const float *x, int64_t n, int64_t to) {
    for (int64_t k = 0; k < 2 * to; k += 32) {
        ivec w = (ivec)_mm512_cvtne2ps_pbh(vloadm(first(n - k - 16), x + k + 16),
                                           vloadm(first(n - k), x + k));
        _mm512_storeu_si512(d + k / 2, w);
    }
}

/* across makes the pairs of two rows of n floats, 32 at a time; y NULL: zeros. */
CR_INLINE void across(uint32_t *d, const float *x, const float *y, int64_t n) {
    for (int64_t i = 0; i < n; i += 32)
        put_words(d + i, d + i + 16, to_bf16(row_load(x + i, n - i)),
                  to_bf16(row_load(y ? y + i : x + i, y ? n - i : 0)));
}

static NOINLINE void gemm(float *C, int64_t ldc, const float *A, int64_t lda,
                          const uint32_t *packed, int64_t M, int64_t N, int64_t K, int flags,
                          const float *bias, uint32_t *x) {
    int64_t most = bf16_blocks(K < BF16_KC ? K : BF16_KC) * KB / 2, ld = most + 16;
    job j = {.ldc = ldc, .row = ld, .step = 1};
    for (int64_t m = 0; m < M; m += BF16_MC)
        for (int64_t k = 0; k < K; k += BF16_KC) {
            int64_t mc = M - m < BF16_MC ? M - m : BF16_MC, kc = K - k < BF16_KC ? K - k : BF16_KC;
            j.flags = bf16_flags(flags, k, kc, K);
            j.pairs = (kc + 1) / 2;
            for (int64_t i = 0; i < mc; i++)
                along(x + i * ld, A + (m + i) * lda + k, kc, j.pairs);
            for (int64_t n = 0; n < N; n += NR)
                panel(&j, C + m * ldc + n, x, MR * ld,
                      packed + n / NR * cr_gemm_bf16_panel(K, 1) + k / KB * BF16_UNIT, mc,
                      N - n < NR ? N - n : NR,
                      flags & CR_GEMM_BIAS   ? bias + n
                      : flags & CR_GEMM_MASK ? bias + m * ldc + n
                                             : NULL);
        }
}

static NOINLINE void gemm_tn(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                             int64_t ldb, int64_t M, int64_t N, int64_t K, int flags,
                             uint32_t *scratch) {
    for (int64_t k = 0; k < K; k += TN_KC) {
        int64_t kc = K - k < TN_KC ? K - k : TN_KC;
        int64_t pairs = (kc + 1) / 2;
        const int64_t ld = PAIRS_LD(M);
        job j = {.ldc = ldc, .row = 1, .step = ld, .pairs = pairs};
        j.flags = bf16_flags(flags, k, kc, K);
        uint32_t *b = scratch, *a = b + cr_gemm_bf16_pack_size(kc, N, 1);
        KERN(gemm_bf16_pack)(b, B + k * ldb, ldb, false, kc, N, 0, cr_gemm_panels(N), 1);
        for (int64_t p = 0; p < pairs; p++) {
            const float *x = A + (k + 2 * p) * lda;
            across(a + p * ld, x, 2 * p + 1 < kc ? x + lda : NULL, M);
        }
        for (int64_t n = 0; n < N; n += NR)
            panel(&j, C + n, a, MR, b + n / NR * cr_gemm_bf16_panel(kc, 1), M,
                  N - n < NR ? N - n : NR, NULL);
    }
}

void KERN(gemm_bf16)(float *C, int64_t ldc, const float *A, int64_t lda, const uint32_t *packed,
                     int64_t M, int64_t N, int64_t K, int flags, const float *bias, int parts,
                     float *scratch) {
    if (K == 0 || parts > 1) {
        cr_gemm_bf16_avx512(C, ldc, A, lda, packed, M, N, K, flags, bias, parts, scratch);
        return;
    }
    unsigned was = _mm_getcsr();
    _mm_setcsr(was | BF16_DENORMALS_ZERO);
    gemm(C, ldc, A, lda, packed, M, N, K, flags, bias, (uint32_t *)(void *)scratch);
    _mm_setcsr(was);
}

void KERN(gemm_bf16_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                        int64_t ldb, int64_t M, int64_t N, int64_t K, int flags, int parts,
                        float *scratch) {
    if (K == 0 || parts > 1) {
        cr_gemm_bf16_tn_avx512(C, ldc, A, lda, B, ldb, M, N, K, flags, parts, scratch);
        return;
    }
    unsigned was = _mm_getcsr();
    _mm_setcsr(was | BF16_DENORMALS_ZERO);
    gemm_tn(C, ldc, A, lda, B, ldb, M, N, K, flags & CR_GEMM_ACC, (uint32_t *)(void *)scratch);
    _mm_setcsr(was);
}

double KERN(peak_bf16)(int64_t n, float *sum) {
    enum { CHAINS = 12 };
    vec s[CHAINS];
    __m512bh a = (__m512bh)_mm512_set1_epi32(0x3f003e80),
             b = (__m512bh)_mm512_set1_epi32(0x3e803f00);
    EACH(i, CHAINS) {
        s[i] = vset1((float)i);
    }
    for (int64_t k = 0; k < n; k++) {
        EACH(i, CHAINS) {
            s[i] = _mm512_dpbf16_ps(s[i], a, b);
            __asm__("" : "+v"(s[i])); /* the same product each time: it must not be moved out */
        }
    }
    float out[VL];
    *sum = 0;
    EACH(i, CHAINS) {
        vstore(out, s[i]);
        *sum += out[0];
    }
    return 4.0 * CHAINS * VL * (double)n;
}
