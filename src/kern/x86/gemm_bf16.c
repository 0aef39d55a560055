/*
 * x86/gemm_bf16.c - BF16 products for AVX2, AVX-512 and AVX-512 with AVX512_BF16, one body.
 *
 * With AVX512_BF16 a tile of C goes over k two at a time with the CPU's dot product of pairs. It
 * does two fused multiply-adds, upper halves first, rounds each, and treats denormals as zero
 * (measured: docs/design/kern.md). Other CPUs do the same two with plain instructions on floats: A
 * is rounded into the scratch memory, B is read packed and widened in registers, and the control
 * register makes denormals zero during the call. In both cases an element is one ascending chain,
 * which no tile, tail or block of K changes. Trap: the compiler may move arithmetic across a change
 * of the control register, so the work is always in a separate function.
 */
#include "kern/bf16_int.h"
#include "kern/x86/vec_int.h"

#define NOINLINE __attribute__((noinline))
enum { NR = CR_GEMM_NR };

#ifdef __AVX512BF16__
enum { NV = 2, MR = 14 };
typedef uint32_t in; /* a pair of values of A */
enum { IN_PER_PAIR = 1 };
#define FP32(name) CR_CAT3(cr_, name, avx512) /* this level has only BF16 products */
void cr_gemm_avx512(float *C, int64_t ldc, const float *A, int64_t lda, const float *packed,
                    int64_t M, int64_t N, int64_t K, int flags, const float *bias);
#elif defined(__AVX512F__)
enum { NV = 2, MR = 12 };
typedef float in;
enum { IN_PER_PAIR = 2 };
#define FP32(name) KERN(name)
#else
enum { NV = 2, MR = 5 };
typedef float in;
enum { IN_PER_PAIR = 2 };
#define FP32(name) KERN(name)
#endif

#ifdef __AVX512F__
typedef __m512i ivec;
#define ivload(p) _mm512_loadu_si512(p)
/* vupper and vlower give the earlier and the later value of each pair as a float. */
#define vupper(x) _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000u)))
#define vlower(x) _mm512_castsi512_ps(_mm512_slli_epi32(x, 16))
/* vround rounds as bf16_round does; what a denormal carries into the exponent is cut off with its
 * mantissa. */
CR_INLINE vec vround(vec x) {
#ifdef __AVX512BF16__
    ivec h = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(x));
    return _mm512_castsi512_ps(_mm512_slli_epi32(h, 16));
#else
#define ALL(c) _mm512_set1_epi32((int)(c))
    ivec u = _mm512_castps_si512(x);
    ivec r = _mm512_add_epi32(u, ALL(0x7fff));
    r = _mm512_add_epi32(r, _mm512_and_si512(_mm512_srli_epi32(u, 16), ALL(1)));
    r = _mm512_mask_or_epi32(r, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), u, ALL(0x00400000));
    ivec keep = _mm512_mask_mov_epi32(ALL(0x80000000u), _mm512_test_epi32_mask(u, ALL(0x7f800000)),
                                      ALL(0xffff0000u));
    return _mm512_castsi512_ps(_mm512_and_si512(r, keep));
#undef ALL
#endif
}
#else
typedef __m256i ivec;
#define ivload(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define vupper(x) _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32((int)0xffff0000u)))
#define vlower(x) _mm256_castsi256_ps(_mm256_slli_epi32(x, 16))
CR_INLINE vec vround(vec x) {
#define ALL(c)    _mm256_set1_epi32((int)(c))
    ivec u = _mm256_castps_si256(x);
    ivec r = _mm256_add_epi32(u, ALL(0x7fff));
    r = _mm256_add_epi32(r, _mm256_and_si256(_mm256_srli_epi32(u, 16), ALL(1)));
    vec nan = _mm256_castsi256_ps(_mm256_or_si256(u, ALL(0x00400000)));
    vec y = _mm256_blendv_ps(_mm256_castsi256_ps(r), nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    ivec tiny = _mm256_cmpeq_epi32(_mm256_and_si256(u, ALL(0x7f800000)), _mm256_setzero_si256());
    ivec cut = _mm256_or_si256(_mm256_and_si256(tiny, ALL(0x7fffffff)), ALL(0x0000ffff));
    return _mm256_andnot_ps(_mm256_castsi256_ps(cut), y);
#undef ALL
}
#endif

/* Values that all tiles of one call share. */
typedef struct job {
    int64_t ldc, lda; /* lda: distance from row to row (tn: from pair to pair) */
    int64_t pairs;
    int flags;
} job;

/* tile computes a tile of C (mr, nc <= nv * VL) from pairs of A (row i is at a + i * lda; tn: pair
 * p is at a + p * lda) and a panel of B. */
CR_INLINE void tile(const int mr, const int nv, const bool tn, const job *j, float *c, const in *a,
                    const uint32_t *b, int64_t nc, const float *bias) {
    vec s[MR][NV];
    const int64_t lda = j->lda, ldc = j->ldc, pairs = j->pairs;
    EACH(i, mr) {
        EACH(v, nv) {
            s[i][v] =
                j->flags & CR_GEMM_ACC ? vloadm(first(nc - v * VL), c + i * ldc + v * VL) : vzero();
        }
    }
    for (int64_t p = 0; p < pairs; p++, b += NR) {
#ifdef __AVX512BF16__
        __m512bh w[NV];
        EACH(v, nv) {
            w[v] = (__m512bh)ivload(b + v * VL);
        }
        EACH(i, mr) {
            __m512bh x = (__m512bh)_mm512_set1_epi32((int)(tn ? a[p * lda + i] : a[i * lda + p]));
            EACH(v, nv) {
                s[i][v] = _mm512_dpbf16_ps(s[i][v], x, w[v]);
            }
        }
#else
        vec w[NV], u[NV];
        EACH(v, nv) {
            w[v] = vupper(ivload(b + v * VL));
            u[v] = vlower(ivload(b + v * VL));
        }
        EACH(i, mr) {
            vec x = vset1(a[i * lda + 2 * p]), y = vset1(a[i * lda + 2 * p + 1]);
            EACH(v, nv) {
                s[i][v] = vfma(y, u[v], vfma(x, w[v], s[i][v]));
            }
        }
        (void)tn;
#endif
    }
    /* masks are computed again: keeping them would push sums out of registers */
    __asm__("" : "+r"(nc));
    if (j->flags & CR_GEMM_BIAS) {
        EACH(v, nv) {
            vec bb = vloadm(first(nc - v * VL), bias + v * VL);
            EACH(i, mr) {
                s[i][v] = vadd(s[i][v], bb);
            }
        }
    }
    EACH(i, mr) {
        EACH(v, nv) {
            vstorem(c + i * ldc + v * VL, first(nc - v * VL),
                    j->flags & CR_GEMM_RELU ? vrelu(s[i][v]) : s[i][v]);
        }
    }
}

/* Instances of tile: tile_<tn>_<rows>_<vectors>. */
typedef void (*tile_fn)(const job *, float *, const in *, const uint32_t *, int64_t, const float *);
#define TILE(tnn, mr, nv)                                                                          \
    static void tile_##tnn##_##mr##_##nv(const job *j, float *c, const in *a, const uint32_t *b,   \
                                         int64_t nc, const float *bias) {                          \
        tile(mr, nv, tnn, j, c, a, b, nc, bias);                                                   \
    }
#define ROWS_5(X, t, v) X(t, 1, v) X(t, 2, v) X(t, 3, v) X(t, 4, v) X(t, 5, v)
#define ROWS_12(X, t, v)                                                                           \
    ROWS_5(X, t, v) X(t, 6, v) X(t, 7, v) X(t, 8, v) X(t, 9, v) X(t, 10, v) X(t, 11, v) X(t, 12, v)
#define ROWS_14(X, t, v) ROWS_12(X, t, v) X(t, 13, v) X(t, 14, v)
#ifdef __AVX512BF16__
#define ROWS ROWS_14
ROWS(TILE, 1, 1)
ROWS(TILE, 1, 2)
#elif defined(__AVX512F__)
#define ROWS ROWS_12
#else
#define ROWS ROWS_5
#endif
ROWS(TILE, 0, 1)
ROWS(TILE, 0, 2)
#define NAME(tnn, mr, nv) tile_##tnn##_##mr##_##nv,
static const tile_fn tiles[NV][MR] = {{ROWS(NAME, 0, 1)}, {ROWS(NAME, 0, 2)}};

/* panel computes M rows of C for one panel (nc <= NR columns). step is the number of inputs from
 * tile to tile. */
CR_INLINE void panel(const tile_fn (*fns)[MR], const job *j, float *C, const in *A, int64_t step,
                     const uint32_t *b, int64_t M, int64_t nc, const float *bias) {
    for (int64_t v = 0; v < nc; v += NV * VL) {
        int64_t w = nc - v < NV * VL ? nc - v : NV * VL;
        const tile_fn *fn = fns[(w - 1) / VL];
        const in *a = A;
        for (int64_t i = 0; i < M; i += MR, a += step) {
            int64_t mr = M - i < MR ? M - i : MR;
            fn[mr - 1](j, C + i * j->ldc + v, a, b + v, w, bias ? bias + v : NULL);
        }
    }
}

/* round_row rounds n floats of a row, and adds one for the pad. */
CR_INLINE void round_row(float *d, const float *x, int64_t n) {
    int64_t k = 0;
    for (; k + VL <= n; k += VL)
        vstore(d + k, vround(vload(x + k)));
    if (k < n) vstorem(d + k, first(n - k), vround(vloadm(first(n - k), x + k)));
    d[n] = BF16_PAD_A;
}

#ifdef __AVX512BF16__
/* pair16 makes 16 pairs (first, second). */
CR_INLINE ivec pair16(vec a, vec b) {
    static const uint16_t order[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                       21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                       11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_permutexvar_epi16(ivload(order), (ivec)_mm512_cvtne2ps_pbh(a, b));
}

/* in_row makes the pairs of a row. */
CR_INLINE void in_row(in *d, const float *x, int64_t n) {
    int64_t k = 0;
    for (; k + 32 <= n; k += 32) {
        ivec w = (ivec)_mm512_cvtne2ps_pbh(vload(x + k + 16), vload(x + k));
        _mm512_storeu_si512(d + k / 2, _mm512_rol_epi32(w, 16));
    }
    if (k == n) return;
    const vec pad = vset1(BF16_PAD_A);
    ivec w = (ivec)_mm512_cvtne2ps_pbh(_mm512_mask_loadu_ps(pad, first(n - k - 16), x + k + 16),
                                       _mm512_mask_loadu_ps(pad, first(n - k), x + k));
    _mm512_mask_storeu_epi32(d + k / 2, first((n - k + 1) / 2), _mm512_rol_epi32(w, 16));
}
#else
#define in_row round_row
#endif

/* block computes rows of C for [k0, k0 + kc) of K, from rounded rows that lie `ld` inputs apart. */
CR_INLINE void block(float *C, int64_t ldc, const in *a, int64_t ld, const uint32_t *packed,
                     int64_t M, int64_t N, int64_t K, int64_t k0, int64_t kc, int flags,
                     const float *bias) {
    job j = {.ldc = ldc, .lda = ld, .pairs = (kc + 1) / 2, .flags = flags};
    for (int64_t n = 0; n < N; n += NR) {
        const uint32_t *b = packed + n / NR * cr_gemm_bf16_panel(K) + k0 / 2 * NR;
        panel(tiles, &j, C + n, a, MR * ld, b, M, N - n < NR ? N - n : NR,
              flags & CR_GEMM_BIAS ? bias + n : NULL);
    }
}

/* narrow is for one or two columns: the FP32 kernel, whose vectors run along the rows, computes
 * them from rounded floats. */
CR_INLINE void narrow(float *C, int64_t ldc, const float *a, int64_t ld, const uint32_t *packed,
                      int64_t M, int64_t N, int64_t k0, int64_t kc, int flags, const float *bias,
                      float *b) {
    for (int64_t k = 0; k < kc; k++)
        for (int64_t n = 0; n < N; n++) {
            uint32_t pair = packed[(k0 + k) / 2 * NR + n];
            b[k * NR + n] = cr_f32_of_bits(k % 2 ? pair << 16 : pair & 0xffff0000u);
        }
    FP32(gemm)(C, ldc, a, ld, b, M, N, kc, flags, bias);
}

static NOINLINE void gemm(float *C, int64_t ldc, const float *A, int64_t lda,
                          const uint32_t *packed, int64_t M, int64_t N, int64_t K, int flags,
                          const float *bias, float *scratch) {
    bool few = N <= 2 && M >= VL / 2;
    int64_t most = K < BF16_KC ? K : BF16_KC;
    /* distance from row to row: room for the pad, and no power of two */
    int64_t ld = few ? most + 1 : (most * IN_PER_PAIR / 2 + 16) / 16 * 16 + 1;
    for (int64_t m = 0; m < M; m += BF16_MC)
        for (int64_t k = 0; k < K; k += BF16_KC) {
            int64_t mc = M - m < BF16_MC ? M - m : BF16_MC, kc = K - k < BF16_KC ? K - k : BF16_KC;
            int f = bf16_flags(flags, k, kc, K);
            const float *a = A + m * lda + k;
            float *c = C + m * ldc;
            if (few) {
                for (int64_t i = 0; i < mc; i++)
                    round_row(scratch + i * ld, a + i * lda, kc);
                narrow(c, ldc, scratch, ld, packed, mc, N, k, kc, f, bias, scratch + mc * ld);
                continue;
            }
            in *x = (in *)(void *)scratch;
            for (int64_t i = 0; i < mc; i++)
                in_row(x + i * ld, a + i * lda, kc);
            block(c, ldc, x, ld, packed, mc, N, K, k, kc, f, bias);
        }
}

#ifdef __AVX512BF16__
static const tile_fn tn_tiles[NV][MR] = {{ROWS(NAME, 1, 1)}, {ROWS(NAME, 1, 2)}};

/* pairs_across: d[p * ldd + i] = the pair of rows 2 p and 2 p + 1 of x for i < n <= 16, zeros up to
 * w. pad is used instead of a row past K. */
CR_INLINE void pairs_across(uint32_t *d, int64_t ldd, const float *x, int64_t ldx, int64_t K,
                            int64_t n, int64_t w, float pad) {
    const mask mi = first(n), mo = first(w);
    int64_t k = 0;
    for (; k + 2 <= K; k += 2, d += ldd, x += 2 * ldx)
        _mm512_mask_storeu_epi32(d, mo, pair16(vloadm(mi, x), vloadm(mi, x + ldx)));
    if (k < K) _mm512_mask_storeu_epi32(d, mo, pair16(vloadm(mi, x), vset1(pad)));
}

static NOINLINE void gemm_tn(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                             int64_t ldb, int64_t M, int64_t N, int64_t K, int flags,
                             float *scratch) {
    job j = {.ldc = ldc, .lda = MR, .flags = flags & CR_GEMM_ACC};
    for (int64_t k = 0; k < K; k += TN_KC, j.flags = CR_GEMM_ACC) {
        int64_t kc = K - k < TN_KC ? K - k : TN_KC;
        j.pairs = (kc + 1) / 2;
        uint32_t *b = (uint32_t *)(void *)scratch, *a = b + j.pairs * NR;
        for (int64_t i = 0; i < M; i += MR)
            pairs_across(a + i * j.pairs, MR, A + k * lda + i, lda, kc, M - i < MR ? M - i : MR, MR,
                         BF16_PAD_A);
        for (int64_t n = 0; n < N; n += NR) {
            int64_t nc = N - n < NR ? N - n : NR;
            for (int64_t v = 0; v < nc; v += VL)
                pairs_across(b + v, NR, B + k * ldb + n + v, ldb, kc, nc - v, VL, BF16_PAD_B);
            panel(tn_tiles, &j, C + n, a, MR * j.pairs, b, M, nc, NULL);
        }
    }
}
#else
static NOINLINE void gemm_tn(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                             int64_t ldb, int64_t M, int64_t N, int64_t K, int flags,
                             float *scratch) {
    for (int64_t k = 0; k < K; k += TN_KC, flags |= CR_GEMM_ACC) {
        int64_t kc = K - k < TN_KC ? K - k : TN_KC;
        float *a = scratch, *b = a + kc * M + 1, *rest = b + kc * N + 1;
        for (int64_t i = 0; i < kc; i++) {
            round_row(a + i * M, A + (k + i) * lda, M); /* the pad falls on the next row */
            round_row(b + i * N, B + (k + i) * ldb, N);
        }
        FP32(gemm_tn)(C, ldc, a, M, b, N, M, N, kc, flags, rest);
    }
}
#endif

/* bits of the control register: flush to zero, denormals are zero */
enum { DENORMALS_ZERO = 0x8040 };

void KERN(gemm_bf16)(float *C, int64_t ldc, const float *A, int64_t lda, const uint32_t *packed,
                     int64_t M, int64_t N, int64_t K, int flags, const float *bias,
                     float *scratch) {
    if (K == 0) {
        bf16_empty(C, ldc, M, N, flags, bias);
        return;
    }
    unsigned was = _mm_getcsr();
    _mm_setcsr(was | DENORMALS_ZERO);
    gemm(C, ldc, A, lda, packed, M, N, K, flags, bias, scratch);
    _mm_setcsr(was);
}

void KERN(gemm_bf16_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                        int64_t ldb, int64_t M, int64_t N, int64_t K, int flags, float *scratch) {
    if (K == 0) {
        bf16_empty(C, ldc, M, N, flags & CR_GEMM_ACC, NULL);
        return;
    }
    unsigned was = _mm_getcsr();
    _mm_setcsr(was | DENORMALS_ZERO);
    gemm_tn(C, ldc, A, lda, B, ldb, M, N, K, flags & CR_GEMM_ACC, scratch);
    _mm_setcsr(was);
}
