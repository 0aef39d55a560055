/*
 * x86/gemm_nz.c - matrix products that skip the zeros of A, for AVX2 and AVX-512, one body.
 *
 * One row of C at a time: up to NV vectors of it are registers, the bits of the nonzero elements of
 * a block of A are walked, each adds its row of B. A block is KB rows of a strip of B, which stays
 * in the first-level cache while all rows of A pass; between blocks the chains wait in C. With half
 * of A zero this does 1.6 times the work of the dense kernel in the same time.
 */
#include "kern/x86/vec_int.h"

enum { KB = 32 };

/* of the first n floats; a masked load of all is slower on AVX2 */
INLINE vec vload_first(const float *p, int64_t n) {
    return n >= VL ? vload(p) : vloadm(first(n), p);
}

#ifdef __AVX512F__
enum { NV = 16 };
/* Which of the first n elements are not zero. Both halves become one mask of 32 bits: gcc 12 spills
 * a mask of 16 as two bytes and reads back four. */
INLINE uint32_t nonzero(const float *a, int64_t n) {
    __mmask16 lo = _mm512_cmp_ps_mask(vload_first(a, n), vzero(), _CMP_NEQ_UQ);
    __mmask16 hi = _mm512_cmp_ps_mask(vload_first(a + VL, n - VL), vzero(), _CMP_NEQ_UQ);
    return _cvtmask32_u32(_mm512_kunpackw(hi, lo));
}
/* per column of VL columns: the bits of the rows where it is not zero */
INLINE void nonzero_columns(uint32_t *bits, const float *a, int64_t lda, int64_t rows, int64_t n) {
    __m512i m = _mm512_setzero_si512();
    for (int64_t r = 0; r < rows; r++) {
        __mmask16 k = _mm512_cmp_ps_mask(vload_first(a + r * lda, n), vzero(), _CMP_NEQ_UQ);
        m = _mm512_mask_or_epi32(m, k, m, _mm512_set1_epi32((int)(1u << r)));
    }
    _mm512_storeu_si512(bits, m);
}
#else
enum { NV = 8 };
INLINE uint32_t nonzero(const float *a, int64_t n) {
    uint32_t bits = 0;
    for (int i = 0; i < n; i += VL) {
        vec v = vload_first(a + i, n - i);
        bits |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(v, vzero(), _CMP_NEQ_UQ)) << i;
    }
    return bits;
}
INLINE void nonzero_columns(uint32_t *bits, const float *a, int64_t lda, int64_t rows, int64_t n) {
    __m256i m = _mm256_setzero_si256();
    for (int64_t r = 0; r < rows; r++) {
        vec k = _mm256_cmp_ps(vload_first(a + r * lda, n), vzero(), _CMP_NEQ_UQ);
        __m256i bit = _mm256_set1_epi32((int)(1u << r));
        m = _mm256_or_si256(m, _mm256_and_si256(_mm256_castps_si256(k), bit));
    }
    _mm256_storeu_si256((__m256i *)bits, m);
}
#endif

/* What the rows of one block share: a steps by sa from k to k, b by sb. */
typedef struct job {
    const float *b;
    int64_t sa, sb;
    int64_t nc;  /* columns, at most NV vectors */
    bool from_c; /* go on from C, else from zero */
    int end;     /* BIAS, RELU: the last block */
    const float *bias;
} job;

INLINE void chains(const job *j, int nv, float *c, const float *a, uint32_t bits) {
    vec s[NV];
    int64_t tail = j->nc - (nv - 1) * VL; /* columns of the last vector */
    EACH(i, nv) {
        s[i] = !j->from_c   ? vzero()
               : i < nv - 1 ? vload(c + i * VL)
                            : vload_first(c + i * VL, tail);
    }
    while (bits) {
        int64_t k = __builtin_ctz(bits);
        bits &= bits - 1;
        vec x = vset1(a[k * j->sa]);
        const float *b = j->b + k * j->sb;
        EACH(i, nv) {
            s[i] = vfma(x, vload(b + i * VL), s[i]);
        }
    }
    if (j->end & CR_GEMM_BIAS) EACH(i, nv) {
            s[i] = vadd(s[i],
                        i < nv - 1 ? vload(j->bias + i * VL) : vload_first(j->bias + i * VL, tail));
        }
    if (j->end & CR_GEMM_RELU) EACH(i, nv) {
            s[i] = vrelu(s[i]);
        }
    EACH(i, nv - 1) {
        vstore(c + i * VL, s[i]);
    }
    if (tail == VL)
        vstore(c + (nv - 1) * VL, s[nv - 1]);
    else
        vstorem(c + (nv - 1) * VL, first(tail), s[nv - 1]);
}

/* rows of a block: their elements of A are beside each other */
INLINE void rows_nn(const job *j, int nv, float *c, int64_t ldc, const float *a, int64_t lda,
                    int64_t M, int64_t kb) {
    for (int64_t m = 0; m < M; m++)
        chains(j, nv, c + m * ldc, a + m * lda, nonzero(a + m * lda, kb));
}

/* or below each other */
INLINE void rows_tn(const job *j, int nv, float *c, int64_t ldc, const float *a, int64_t lda,
                    int64_t M, int64_t kb) {
    uint32_t bits[VL];
    for (int64_t m = 0; m < M; m += VL) {
        int64_t n = M - m < VL ? M - m : VL;
        nonzero_columns(bits, a + m, lda, kb, n);
        for (int64_t i = 0; i < n; i++)
            chains(j, nv, c + (m + i) * ldc, a + m + i, bits[i]);
    }
}

/* one instance per number of vectors: they are registers */
#define CASE(n, rows)                                                                              \
    case n:                                                                                        \
        rows(j, n, c, ldc, a, lda, M, kb);                                                         \
        break;
#define CASES_8(rows)                                                                              \
    CASE(1, rows)                                                                                  \
    CASE(2, rows)                                                                                  \
    CASE(3, rows) CASE(4, rows) CASE(5, rows) CASE(6, rows) CASE(7, rows) CASE(8, rows)
#ifdef __AVX512F__
#define CASES(rows)                                                                                \
    CASES_8(rows)                                                                                  \
    CASE(9, rows)                                                                                  \
    CASE(10, rows)                                                                                 \
    CASE(11, rows) CASE(12, rows) CASE(13, rows) CASE(14, rows) CASE(15, rows) CASE(16, rows)
#else
#define CASES(rows) CASES_8(rows)
#endif

static void block_nn(const job *j, float *c, int64_t ldc, const float *a, int64_t lda, int64_t M,
                     int64_t kb) {
    switch ((j->nc + VL - 1) / VL) { CASES(rows_nn) }
}
static void block_tn(const job *j, float *c, int64_t ldc, const float *a, int64_t lda, int64_t M,
                     int64_t kb) {
    switch ((j->nc + VL - 1) / VL) { CASES(rows_tn) }
}

void KERN(gemm_nz)(float *C, int64_t ldc, const float *A, int64_t lda, const float *packed,
                   int64_t M, int64_t N, int64_t K, int flags, const float *bias) {
    int64_t w = cr_gemm_nz_strip(N);
    for (int64_t n = 0; n < N; n += w) {
        int64_t nc = N - n < w ? N - n : w;
        int64_t k = 0;
        do {
            int64_t kb = K - k < KB ? K - k : KB;
            for (int64_t c = 0; c < nc; c += NV * VL) {
                job j = {.b = packed + n * K + k * w + c,
                         .sa = 1,
                         .sb = w,
                         .nc = nc - c < NV * VL ? nc - c : NV * VL,
                         .from_c = k > 0 || flags & CR_GEMM_ACC,
                         .end = k + kb == K ? flags : 0,
                         .bias = bias ? bias + n + c : NULL};
                block_nn(&j, C + n + c, ldc, A + k, lda, M, kb);
            }
            k += kb;
        } while (k < K);
    }
}

void KERN(gemm_nz_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                      int64_t ldb, int64_t M, int64_t N, int64_t K, int flags) {
    int64_t w = cr_gemm_nz_strip(N), k = 0;
    do {
        int64_t kb = K - k < KB ? K - k : KB;
        for (int64_t n = 0; n < N; n += w) {
            int64_t nc = N - n < w ? N - n : w;
            for (int64_t c = 0; c < nc; c += NV * VL) {
                job j = {.b = B + k * ldb + n + c,
                         .sa = lda,
                         .sb = ldb,
                         .nc = nc - c < NV * VL ? nc - c : NV * VL,
                         .from_c = k > 0 || flags & CR_GEMM_ACC};
                block_tn(&j, C + n + c, ldc, A + k * lda, lda, M, kb);
            }
        }
        k += kb;
    } while (k < K);
}
