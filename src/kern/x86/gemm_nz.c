/*
 * x86/gemm_nz.c - matrix products that skip the zeros of A, for AVX2 and AVX-512, one body.
 *
 * One row of C is computed at a time. Up to NV vectors of it are in registers; the loop goes over
 * the bits of the nonzero elements of a block of A, and each adds its row of B. A block is up to 64
 * rows of a strip of B, which stays in the first-level cache for all rows of A; between blocks the
 * sums are kept in C. When half of A is zero this does 1.6 times the work of the dense kernel in
 * the same time. Rows that have their zeros in the same places are computed together and share the
 * loads of B. This choice does not change a bit of the result.
 */
#include "kern/x86/vec_int.h"

/* block_rows returns the rows of a block of K: as few blocks as possible of at most `most` rows,
 * all of the same size. */
CR_INLINE int64_t block_rows(int64_t K, int64_t most) {
    int64_t blocks = (K + most - 1) / most;
    return blocks > 0 ? (K + blocks - 1) / blocks : 1;
}

/* most_rows: at most 32 KiB of B, the first-level cache, and no more rows than a mask has bits. */
CR_INLINE int64_t most_rows(int64_t columns) {
    return columns <= 128 ? 64 : 8192 / columns;
}

/* vload_first loads the first n floats; a masked load of all is slower on AVX2. */
CR_INLINE vec vload_first(const float *p, int64_t n) {
    return n >= VL ? vload(p) : vloadm(first(n), p);
}

/* NV: the most vectors of a row in registers. AR rows of AV vectors are computed together. */
#ifdef __AVX512F__
enum { NV = 10, AR = 6, AV = 4 };
/* nonzero_32: which of the first n elements are not zero? Two vectors become one mask of 32 bits:
 * gcc 12 spills a mask of 16 as two bytes and reads back four. */
CR_INLINE uint32_t nonzero_32(const float *a, int64_t n) {
    __mmask16 lo = _mm512_cmp_ps_mask(vload_first(a, n), vzero(), _CMP_NEQ_UQ);
    __mmask16 hi = _mm512_cmp_ps_mask(vload_first(a + VL, n - VL), vzero(), _CMP_NEQ_UQ);
    return _cvtmask32_u32(_mm512_kunpackw(hi, lo));
}
/* columns_32 gives for each of VL columns the bits of the rows where it is not zero. */
CR_INLINE void columns_32(uint32_t *bits, const float *a, int64_t lda, int64_t rows, int64_t n) {
    __m512i m = _mm512_setzero_si512();
    for (int64_t r = 0; r < rows; r++) {
        __mmask16 k = _mm512_cmp_ps_mask(vload_first(a + r * lda, n), vzero(), _CMP_NEQ_UQ);
        m = _mm512_mask_or_epi32(m, k, m, _mm512_set1_epi32((int)(1u << r)));
    }
    _mm512_storeu_si512(bits, m);
}
#else
enum { NV = 8, AR = 4, AV = 2 };
CR_INLINE uint32_t nonzero_32(const float *a, int64_t n) {
    uint32_t bits = 0;
    for (int i = 0; i < 32 && i < n; i += VL) {
        vec v = vload_first(a + i, n - i);
        bits |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(v, vzero(), _CMP_NEQ_UQ)) << i;
    }
    return bits;
}
CR_INLINE void columns_32(uint32_t *bits, const float *a, int64_t lda, int64_t rows, int64_t n) {
    __m256i m = _mm256_setzero_si256();
    for (int64_t r = 0; r < rows; r++) {
        vec k = _mm256_cmp_ps(vload_first(a + r * lda, n), vzero(), _CMP_NEQ_UQ);
        __m256i bit = _mm256_set1_epi32((int)(1u << r));
        m = _mm256_or_si256(m, _mm256_and_si256(_mm256_castps_si256(k), bit));
    }
    _mm256_storeu_si256((__m256i *)bits, m);
}
#endif

/* The same for up to 64 elements or rows. */
CR_INLINE uint64_t nonzero(const float *a, int64_t n) {
    uint64_t bits = nonzero_32(a, n);
    return n > 32 ? bits | (uint64_t)nonzero_32(a + 32, n - 32) << 32 : bits;
}
CR_INLINE void nonzero_columns(uint64_t *bits, const float *a, int64_t lda, int64_t rows,
                               int64_t n) {
    uint32_t lo[VL], hi[VL];
    columns_32(lo, a, lda, rows < 32 ? rows : 32, n);
    if (rows > 32) columns_32(hi, a + 32 * lda, lda, rows - 32, n);
    for (int64_t i = 0; i < VL; i++)
        bits[i] = rows > 32 ? (uint64_t)hi[i] << 32 | lo[i] : lo[i];
}

/* Values that the rows of one block share. From k to k + 1, a advances by sa and b by sb. */
typedef struct job {
    const float *b;
    int64_t sa, sb;
    int64_t nc;  /* columns, at most NV vectors */
    bool from_c; /* start from C, else from zero */
    int end;     /* BIAS, RELU and MASK, for the last block */
    const float *bias;
    const float *mask, *c0; /* MASK: the mask of the element at c0 */
} job;

CR_INLINE void chains_begin(const job *j, int nv, vec *s, const float *c) {
    int64_t tail = j->nc - (nv - 1) * VL; /* columns of the last vector */
    EACH(i, nv) {
        s[i] = !j->from_c   ? vzero()
               : i < nv - 1 ? vload(c + i * VL)
                            : vload_first(c + i * VL, tail);
    }
}
/* chains_step adds the lowest element of bits and removes it from them. */
CR_INLINE void chains_step(const job *j, int nv, vec *s, const float *a, uint64_t *bits) {
    int64_t k = __builtin_ctzll(*bits);
    *bits &= *bits - 1;
    vec x = vset1(a[k * j->sa]);
    const float *b = j->b + k * j->sb;
    EACH(i, nv) {
        s[i] = vfma(x, vload(b + i * VL), s[i]);
    }
}
CR_INLINE void chains_end(const job *j, int nv, vec *s, float *c) {
    int64_t tail = j->nc - (nv - 1) * VL;
    if (j->end & CR_GEMM_BIAS) EACH(i, nv) {
            s[i] = vadd(s[i],
                        i < nv - 1 ? vload(j->bias + i * VL) : vload_first(j->bias + i * VL, tail));
        }
    if (j->end & CR_GEMM_RELU) EACH(i, nv) {
            s[i] = vrelu(s[i]);
        }
    if (j->end & CR_GEMM_MASK) {
        const float *y = j->mask + (c - j->c0);
        EACH(i, nv) {
            vec v = i < nv - 1 ? vload(y + i * VL) : vload_first(y + i * VL, tail);
            s[i] = vabove0(v, s[i]);
        }
    }
    EACH(i, nv - 1) {
        vstore(c + i * VL, s[i]);
    }
    if (tail == VL)
        vstore(c + (nv - 1) * VL, s[nv - 1]);
    else
        vstorem(c + (nv - 1) * VL, first(tail), s[nv - 1]);
}

CR_INLINE void chains(const job *j, int nv, float *c, const float *a, uint64_t bits) {
    vec s[NV];
    chains_begin(j, nv, s, c);
    while (bits)
        chains_step(j, nv, s, a, &bits);
    chains_end(j, nv, s, c);
}

/* Few vectors are too few chains to hide the latency of a multiply-add: then two rows take
 * turns. */
#define PAIRED(nv) ((nv) <= 4)
CR_INLINE void chains_of_two(const job *j, int nv, float *const *c, const float *const *a,
                             const uint64_t *bits) {
    vec s[NV], z[NV];
    uint64_t left[2] = {bits[0], bits[1]};
    chains_begin(j, nv, s, c[0]);
    chains_begin(j, nv, z, c[1]);
    while (left[0] && left[1]) {
        chains_step(j, nv, s, a[0], &left[0]);
        chains_step(j, nv, z, a[1], &left[1]);
    }
    while (left[0])
        chains_step(j, nv, s, a[0], &left[0]);
    while (left[1])
        chains_step(j, nv, z, a[1], &left[1]);
    chains_end(j, nv, s, c[0]);
    chains_end(j, nv, z, c[1]);
}

/* AR rows of C, with the bits of their elements of A. */
typedef struct rows {
    float *c[AR];
    const float *a[AR];
    uint64_t bits[AR], any, all;
} rows;

CR_INLINE void one_by_one(const job *j, int nv, const rows *t) {
    for (int r = 0; r < AR; r += PAIRED(nv) ? 2 : 1)
        if (PAIRED(nv))
            chains_of_two(j, nv, t->c + r, t->a + r, t->bits + r);
        else
            chains(j, nv, t->c[r], t->a[r], t->bits[r]);
}

/* alike_columns: AR rows with zeros at the same k share the loads of B, AV vectors at a time. Where
 * the rows differ (a bit of any that is not in all), each tests its own bits. */
CR_INLINE void alike_columns(const job *j, const rows *t, int nv, int64_t at) {
    vec s[AR][AV];
    job part = *j;
    part.nc = j->nc - at < nv * VL ? j->nc - at : nv * VL;
    if (j->bias) part.bias = j->bias + at;
    EACH(r, AR) {
        chains_begin(&part, nv, s[r], t->c[r] + at);
    }
    for (uint64_t any = t->any; any; any &= any - 1) {
        int64_t k = __builtin_ctzll(any);
        vec b[AV];
        EACH(i, nv) {
            b[i] = vload(j->b + k * j->sb + at + i * VL);
        }
        bool all = t->all >> k & 1;
        EACH(r, AR) {
            if (!all && !(t->bits[r] >> k & 1)) continue;
            vec x = vset1(t->a[r][k * j->sa]);
            EACH(i, nv) {
                s[r][i] = vfma(x, b[i], s[r][i]);
            }
        }
    }
    EACH(r, AR) {
        chains_end(&part, nv, s[r], t->c[r] + at);
    }
}

CR_INLINE void alike(const job *j, int nv, const rows *t) {
    int i = 0;
    for (; i + AV <= nv; i += AV)
        alike_columns(j, t, AV, i * VL);
    if (nv % AV) alike_columns(j, t, nv % AV, i * VL);
}

/* are_alike: do AR rows have their zeros in so many common places that computing them together is
 * less work? */
CR_INLINE bool are_alike(rows *t) {
    int64_t terms = 0;
    t->any = 0, t->all = ~UINT64_C(0);
    for (int r = 0; r < AR; r++) {
        t->any |= t->bits[r];
        t->all &= t->bits[r];
        terms += __builtin_popcountll(t->bits[r]);
    }
    int64_t any = __builtin_popcountll(t->any), all = __builtin_popcountll(t->all);
    return 4 * AR * (2 * any - all) < 5 * terms;
}

/* rows_nn is for rows whose elements of A lie next to each other. */
CR_INLINE void rows_nn(const job *j, int nv, float *c, int64_t ldc, const float *a, int64_t lda,
                       int64_t M, int64_t kb) {
    int64_t m = 0;
    for (; m + AR <= M; m += AR) {
        rows t;
        for (int r = 0; r < AR; r++) {
            t.c[r] = c + (m + r) * ldc;
            t.a[r] = a + (m + r) * lda;
            t.bits[r] = nonzero(t.a[r], kb);
        }
        if (are_alike(&t))
            alike(j, nv, &t);
        else
            one_by_one(j, nv, &t);
    }
    for (; m < M; m++)
        chains(j, nv, c + m * ldc, a + m * lda, nonzero(a + m * lda, kb));
}

/* Rows of C are fetched in advance: the hardware does not look that far ahead. */
enum { AHEAD = 2 };

/* rows_tn is for rows whose elements of A lie below each other. Rows without a zero are computed
 * together; rows with only zeros are skipped. */
CR_INLINE void rows_tn(const job *j, int nv, float *c, int64_t ldc, const float *a, int64_t lda,
                       int64_t M, int64_t kb) {
    uint64_t bits[VL], all = kb > 0 ? ~UINT64_C(0) >> (64 - kb) : 0;
    rows full = {.any = all, .all = all}, some;
    int n_full = 0, n_some = 0;
    for (int64_t m = 0; m < M; m += VL) {
        int64_t n = M - m < VL ? M - m : VL;
        nonzero_columns(bits, a + m, lda, kb, n);
        for (int64_t i = 0; i < n; i++) {
            float *ci = c + (m + i) * ldc;
            if (j->from_c) EACH(v, nv) {
                    __builtin_prefetch(ci + AHEAD * ldc + v * VL, 1);
                }
            if (bits[i] == all) {
                full.c[n_full] = ci;
                full.a[n_full++] = a + m + i;
                if (n_full < AR) continue;
                alike(j, nv, &full);
                n_full = 0;
            } else if (bits[i] == 0 && j->from_c) {
                continue;
            } else if (PAIRED(nv)) {
                some.c[n_some] = ci;
                some.a[n_some] = a + m + i;
                some.bits[n_some++] = bits[i];
                if (n_some < 2) continue;
                chains_of_two(j, nv, some.c, some.a, some.bits);
                n_some = 0;
            } else {
                chains(j, nv, ci, a + m + i, bits[i]);
            }
        }
    }
    for (int r = 0; r < n_full; r++)
        chains(j, nv, full.c[r], full.a[r], all);
    if (n_some) chains(j, nv, some.c[0], some.a[0], some.bits[0]);
}

/* One instance per number of vectors, because the vectors are registers. */
#define CASE(n, rows)                                                                              \
    case n:                                                                                        \
        rows(j, n, c, ldc, a, lda, M, kb);                                                         \
        break;
#define CASES_8(rows)                                                                              \
    CASE(1, rows)                                                                                  \
    CASE(2, rows)                                                                                  \
    CASE(3, rows) CASE(4, rows) CASE(5, rows) CASE(6, rows) CASE(7, rows) CASE(8, rows)
#ifdef __AVX512F__
#define CASES(rows) CASES_8(rows) CASE(9, rows) CASE(10, rows)
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
        int64_t nc = N - n < w ? N - n : w, most = block_rows(K, most_rows(nc));
        int64_t k = 0;
        do {
            int64_t kb = K - k < most ? K - k : most;
            for (int64_t c = 0; c < nc; c += NV * VL) {
                job j = {.b = packed + n * K + k * w + c,
                         .sa = 1,
                         .sb = w,
                         .nc = nc - c < NV * VL ? nc - c : NV * VL,
                         .from_c = k > 0 || flags & CR_GEMM_ACC,
                         .end = k + kb == K ? flags : 0,
                         .bias = flags & CR_GEMM_BIAS ? bias + n + c : NULL,
                         .mask = bias,
                         .c0 = C};
                block_nn(&j, C + n + c, ldc, A + k, lda, M, kb);
            }
            k += kb;
        } while (k < K);
    }
}

enum { TN_ROWS = 56 }; /* rows of a block of B in gemm_nz_tn */

/* pack_block copies rows of a strip of B side by side. Where they lie they are a row of the whole
 * matrix apart, often a power of two, and would throw each other out of the first-level cache. */
CR_INLINE void pack_block(float *out, int64_t w, const float *b, int64_t ldb, int64_t kb,
                          int64_t nc) {
    for (int64_t r = 0; r < kb; r++, out += w, b += ldb)
        for (int64_t i = 0; i < nc; i += VL)
            vstore(out + i, vload_first(b + i, nc - i));
}

void KERN(gemm_nz_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                      int64_t ldb, int64_t M, int64_t N, int64_t K, int flags) {
    float block[TN_ROWS * NV * VL];
    int64_t w = cr_gemm_nz_strip(N) < NV * VL ? cr_gemm_nz_strip(N) : NV * VL;
    for (int64_t n = 0; n < N; n += w) {
        int64_t k = 0, nc = N - n < w ? N - n : w, most = block_rows(K, TN_ROWS);
        do {
            int64_t kb = K - k < most ? K - k : most;
            pack_block(block, w, B + k * ldb + n, ldb, kb, nc);
            job j = {
                .b = block, .sa = lda, .sb = w, .nc = nc, .from_c = k > 0 || flags & CR_GEMM_ACC};
            block_tn(&j, C + n, ldc, A + k * lda, lda, M, kb);
            k += kb;
        } while (k < K);
    }
}
