/*
 * x86/gemm.c - the matrix products for AVX2 and AVX-512, one body.
 *
 * A micro kernel keeps a tile of C (up to MR rows of one or two vectors) in registers and walks k
 * upwards, so each element is one chain of fused multiply-adds, as list.h demands: K is never
 * split into partial sums. Tails in M use smaller instances, tails in N masked loads and stores;
 * neither touches the chains. K blocks store C and go on from it, which is the same chain.
 * Trap: a NaN or infinity beside the matrix must not leak in: lanes past N are computed from the
 * zero padding of the packed panel and never stored.
 */
#include "kern/kern_int.h"

#include <immintrin.h>

#ifdef __AVX512F__
enum { VL = 16, NV = 2, MR = 14 };
typedef __m512 vec;
typedef __mmask16 mask;
#define vzero()          _mm512_setzero_ps()
#define vload(p)         _mm512_loadu_ps(p)
#define vset1(x)         _mm512_set1_ps(x)
#define vfma(a, b, c)    _mm512_fmadd_ps(a, b, c)
#define vadd(a, b)       _mm512_add_ps(a, b)
#define vloadm(m, p)     _mm512_maskz_loadu_ps(m, p)
#define vstorem(p, m, x) _mm512_mask_storeu_ps(p, m, x)
INLINE mask first(int64_t n) {
    return n >= VL ? (mask)0xffff : n <= 0 ? (mask)0 : (mask)((1u << n) - 1);
}
/* x > 0 or NaN ? x : 0 */
INLINE vec vrelu(vec x) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLE_UQ), x);
}
#else
enum { VL = 8, NV = 2, MR = 6 };
typedef __m256 vec;
typedef __m256i mask;
#define vzero()          _mm256_setzero_ps()
#define vload(p)         _mm256_loadu_ps(p)
#define vset1(x)         _mm256_set1_ps(x)
#define vfma(a, b, c)    _mm256_fmadd_ps(a, b, c)
#define vadd(a, b)       _mm256_add_ps(a, b)
#define vloadm(m, p)     _mm256_maskload_ps(p, m)
#define vstorem(p, m, x) _mm256_maskstore_ps(p, m, x)
INLINE mask first(int64_t n) {
    int k = n > VL ? VL : n < 0 ? 0 : (int)n;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(k), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE vec vrelu(vec x) {
    return _mm256_and_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NLE_UQ), x);
}
#endif

/* what every tile of one call shares */
typedef struct job {
    int64_t ldc, lda, sb; /* sb: floats from k to k in b */
    int64_t K;
    int flags;
} job;

/* C tile (mr, nc <= nv * VL). tn: a[k * lda + i], else a[i * lda + k]. */
INLINE void tile(const int mr, const int nv, const bool tn, const job *j, float *c, const float *a,
                 const float *b, int64_t nc, const float *bias) {
    vec s[MR][NV];
    mask m[NV];
    const int64_t lda = j->lda, ldc = j->ldc, sb = j->sb, K = j->K;
    for (int v = 0; v < nv; v++)
        m[v] = first(nc - v * VL);
    if (j->flags & CR_GEMM_ACC) {
#pragma GCC unroll 16
        for (int i = 0; i < mr; i++)
            for (int v = 0; v < nv; v++)
                s[i][v] = vloadm(m[v], c + i * ldc + v * VL);
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < mr; i++)
            for (int v = 0; v < nv; v++)
                s[i][v] = vzero();
    }
    for (int64_t k = 0; k < K; k++) {
        vec bv[NV];
        for (int v = 0; v < nv; v++)
            bv[v] = vload(b + k * sb + v * VL);
#pragma GCC unroll 16
        for (int i = 0; i < mr; i++) {
            vec av = vset1(tn ? a[k * lda + i] : a[i * lda + k]);
            for (int v = 0; v < nv; v++)
                s[i][v] = vfma(av, bv[v], s[i][v]);
        }
    }
    if (j->flags & CR_GEMM_BIAS) {
        vec bb[NV];
        for (int v = 0; v < nv; v++)
            bb[v] = vloadm(m[v], bias + v * VL);
#pragma GCC unroll 16
        for (int i = 0; i < mr; i++)
            for (int v = 0; v < nv; v++)
                s[i][v] = vadd(s[i][v], bb[v]);
    }
    if (j->flags & CR_GEMM_RELU) {
#pragma GCC unroll 16
        for (int i = 0; i < mr; i++)
            for (int v = 0; v < nv; v++)
                s[i][v] = vrelu(s[i][v]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < mr; i++)
        for (int v = 0; v < nv; v++)
            vstorem(c + i * ldc + v * VL, m[v], s[i][v]);
}

/* instances: nn_<rows>_<vectors>, tn_<rows>_<vectors> */
typedef void (*tile_fn)(const job *, float *, const float *, const float *, int64_t, const float *);
#define TILE(tnn, mr, nv)                                                                          \
    static void tile_##tnn##_##mr##_##nv(const job *j, float *c, const float *a, const float *b,   \
                                         int64_t nc, const float *bias) {                          \
        tile(mr, nv, tnn, j, c, a, b, nc, bias);                                                   \
    }
#define ROWS_6(X, t, v) X(t, 1, v) X(t, 2, v) X(t, 3, v) X(t, 4, v) X(t, 5, v) X(t, 6, v)
#define ROWS_14(X, t, v)                                                                           \
    ROWS_6(X, t, v)                                                                                \
    X(t, 7, v) X(t, 8, v) X(t, 9, v) X(t, 10, v) X(t, 11, v) X(t, 12, v) X(t, 13, v) X(t, 14, v)
#ifdef __AVX512F__
#define ROWS ROWS_14
#else
#define ROWS ROWS_6
#endif
ROWS(TILE, 0, 1)
ROWS(TILE, 0, 2)
ROWS(TILE, 1, 1)
ROWS(TILE, 1, 2)
#define NAME(tnn, mr, nv) tile_##tnn##_##mr##_##nv,
/* [tn][vectors - 1][rows - 1] */
static const tile_fn tiles[2][NV][MR] = {{{ROWS(NAME, 0, 1)}, {ROWS(NAME, 0, 2)}},
                                         {{ROWS(NAME, 1, 1)}, {ROWS(NAME, 1, 2)}}};

/* all rows of C against one packed panel (nc <= CR_GEMM_NR columns) */
INLINE void panel(const bool tn, const job *j, float *C, const float *A, const float *b, int64_t M,
                  int64_t nc, const float *bias) {
    for (int64_t v = 0; v < nc; v += NV * VL) {
        int64_t w = nc - v < NV * VL ? nc - v : NV * VL;
        const tile_fn *fn = tiles[tn][(w - 1) / VL];
        const float *bn = bias ? bias + v : NULL;
        for (int64_t i = 0; i < M; i += MR) {
            int64_t mr = M - i < MR ? M - i : MR;
            fn[mr - 1](j, C + i * j->ldc + v, A + (tn ? i : i * j->lda), b + v, w, bn);
        }
    }
}

void KERN(gemm)(float *C, int64_t ldc, const float *A, int64_t lda, const float *packed, int64_t M,
                int64_t N, int64_t K, int flags, const float *bias) {
    job j = {.ldc = ldc, .lda = lda, .sb = CR_GEMM_NR, .K = K, .flags = flags};
    for (int64_t n = 0; n < N; n += CR_GEMM_NR) {
        int64_t nc = N - n < CR_GEMM_NR ? N - n : CR_GEMM_NR;
        panel(false, &j, C + n, A, packed + n * K, M, nc, flags & CR_GEMM_BIAS ? bias + n : NULL);
    }
}

void KERN(gemm_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B, int64_t ldb,
                   int64_t M, int64_t N, int64_t K, int flags, float *scratch) {
    job j = {.ldc = ldc, .lda = lda, .sb = CR_GEMM_NR, .flags = flags & CR_GEMM_ACC};
    int64_t k0 = 0;
    do { /* once also for K = 0 */
        j.K = K - k0 < TN_KC ? K - k0 : TN_KC;
        for (int64_t n = 0; n < N; n += CR_GEMM_NR) {
            int64_t nc = N - n < CR_GEMM_NR ? N - n : CR_GEMM_NR;
            KERN(gemm_pack)(scratch, B + k0 * ldb + n, ldb, false, j.K, nc, 0, 1);
            panel(true, &j, C + n, A + k0 * lda, scratch, M, nc, NULL);
        }
        j.flags = CR_GEMM_ACC;
        k0 += TN_KC;
    } while (k0 < K);
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
