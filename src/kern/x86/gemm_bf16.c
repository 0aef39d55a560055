/*
 * x86/gemm_bf16.c - BF16 products for AVX2 and AVX-512, one body: the sums of the tile unit
 * (bf16_int.h) by multiply-adds of floats.
 *
 * A is rounded into the scratch memory, one matrix of floats per part; B is read packed and widened
 * in registers. An element needs two chains at a time, even and odd k, so a tile of C is half as
 * large as in FP32, and the sums of C wait in the first-level cache while a block is multiplied.
 * The control register makes denormals zero during the call.
 */
#include "kern/x86/bf16_vec_int.h"

enum { NR = CR_GEMM_NR, KB = CR_BF16_BLOCK };
#ifdef __AVX512F__
enum { MR = 6, NV = 2, NEXT = 256 }; /* NEXT: words from a vector of B to the one beside it */
#else
enum { MR = 3, NV = 2, NEXT = 8 };
#endif

/* Values that all tiles of one call share. Value k of row m of part p of A is at p * part + m * row
 * + k * step. */
typedef struct job {
    int64_t ldc, part, row, step;
    int64_t blocks; /* along k */
    int last;       /* pairs of the last block: what follows are zeros */
    int flags, parts;
} job;

/* tile computes a tile of C (mr, nc <= nv * VL). */
CR_INLINE void tile(const int mr, const int nv, const job *j, float *c, const float *a,
                    const uint32_t *b, int64_t nc, const float *bias) {
    vec s[MR][NV];
    EACH(i, mr) {
        EACH(v, nv) {
            s[i][v] = j->flags & CR_GEMM_ACC ? vloadm(first(nc - v * VL), c + i * j->ldc + v * VL)
                                             : vzero();
        }
    }
    const int64_t row = j->row, step = j->step;
    const int n_products = BF16_N_PRODUCTS(j->parts);
    const bf16_pair_of_parts *order = bf16_order[j->parts - 1];
    for (int64_t k = 0; k < j->blocks; k++, a += KB * step, b += j->parts * BF16_UNIT)
        for (int p = 0; p < n_products; p++) {
            const float *x = a + order[p].a * j->part;
            const uint32_t *w = b + order[p].b * BF16_UNIT;
            vec e[MR][NV], o[MR][NV];
            EACH(i, mr) {
                EACH(v, nv) {
                    e[i][v] = o[i][v] = vzero();
                }
            }
            const int pairs = k + 1 < j->blocks ? KB / 2 : j->last;
            for (int q = 0; q < pairs; q++, w += 16, x += 2 * step) {
                vec we[NV], wo[NV];
                EACH(v, nv) {
                    we[v] = vlower(ivload(w + v * NEXT));
                    wo[v] = vupper(ivload(w + v * NEXT));
                }
                EACH(i, mr) {
                    vec xe = vset1(x[i * row]), xo = vset1(x[i * row + step]);
                    EACH(v, nv) {
                        e[i][v] = vfma(xe, we[v], e[i][v]);
                        o[i][v] = vfma(xo, wo[v], o[i][v]);
                    }
                }
            }
            if (pairs < KB / 2) { /* what adding zeros would do: -0 becomes +0 */
                EACH(i, mr) {
                    EACH(v, nv) {
                        e[i][v] = vadd(e[i][v], vzero());
                        o[i][v] = vadd(o[i][v], vzero());
                    }
                }
            }
            EACH(i, mr) {
                EACH(v, nv) {
                    s[i][v] = vadd(s[i][v], vadd(e[i][v], o[i][v]));
                }
            }
        }
    /* masks are computed again: keeping them would push sums out of registers */
    __asm__("" : "+r"(nc));
    EACH(i, mr) {
        EACH(v, nv) {
            mask m = first(nc - v * VL);
            vec y = s[i][v];
            if (j->flags & CR_GEMM_BIAS) y = vadd(y, vloadm(m, bias + v * VL));
            if (j->flags & CR_GEMM_RELU) y = vrelu(y);
            if (j->flags & CR_GEMM_MASK) y = vabove0(vloadm(m, bias + i * j->ldc + v * VL), y);
            vstorem(c + i * j->ldc + v * VL, m, y);
        }
    }
}

/* Instances of tile: tile_<rows>_<vectors>. */
typedef void (*tile_fn)(const job *, float *, const float *, const uint32_t *, int64_t,
                        const float *);
#define TILE(mr, nv)                                                                               \
    static void tile_##mr##_##nv(const job *j, float *c, const float *a, const uint32_t *b,        \
                                 int64_t nc, const float *bias) {                                  \
        tile(mr, nv, j, c, a, b, nc, bias);                                                        \
    }
#define ROWS_3(X, v) X(1, v) X(2, v) X(3, v)
#ifdef __AVX512F__
#define ROWS(X, v) ROWS_3(X, v) X(4, v) X(5, v) X(6, v)
#else
#define ROWS ROWS_3
#endif
ROWS(TILE, 1)
ROWS(TILE, 2)
#define NAME(mr, nv) tile_##mr##_##nv,
static const tile_fn tiles[NV][MR] = {{ROWS(NAME, 1)}, {ROWS(NAME, 2)}};

/* panel computes M rows of C for one panel (nc <= NR columns). */
static void panel(const job *j, float *C, const float *A, const uint32_t *b, int64_t M, int64_t nc,
                  const float *bias) {
    for (int64_t n = 0; n < nc; n += NV * VL, b += 256) {
        int64_t w = nc - n < NV * VL ? nc - n : NV * VL;
        const tile_fn *fn = tiles[(w - 1) / VL];
        for (int64_t i = 0; i < M; i += MR) {
            int64_t mr = M - i < MR ? M - i : MR;
            const float *extra = j->flags & CR_GEMM_BIAS   ? bias + n
                                 : j->flags & CR_GEMM_MASK ? bias + i * j->ldc + n
                                                           : NULL;
            fn[mr - 1](j, C + i * j->ldc + n, A + i * j->row, b, w, extra);
        }
    }
}

/* round_row rounds n floats of a row, into a row per part, with zeros up to `to`. */
CR_INLINE void round_row(float *d, int64_t part, const float *x, int64_t n, int64_t to, int parts) {
    for (int64_t k = 0; k < to; k += VL) {
        vec v = k + VL <= n ? vload(x + k) : vloadm(first(n - k), x + k);
        for (int p = 0; p < parts; p++) {
            vec r = vround(v);
            if (k + VL <= to)
                vstore(d + p * part + k, r);
            else
                vstorem(d + p * part + k, first(to - k), r);
            v = vsub(v, r);
        }
    }
}

static NOINLINE void gemm(float *C, int64_t ldc, const float *A, int64_t lda,
                          const uint32_t *packed, int64_t M, int64_t N, int64_t K, int flags,
                          const float *bias, int parts, float *scratch) {
    int64_t most = bf16_blocks(K < BF16_KC ? K : BF16_KC) * KB, ld = most + 16;
    job j = {.ldc = ldc, .part = BF16_MC * ld, .row = ld, .step = 1, .parts = parts};
    for (int64_t m = 0; m < M; m += BF16_MC)
        for (int64_t k = 0; k < K; k += BF16_KC) {
            int64_t mc = M - m < BF16_MC ? M - m : BF16_MC, kc = K - k < BF16_KC ? K - k : BF16_KC;
            j.flags = bf16_flags(flags, k, kc, K);
            j.blocks = bf16_blocks(kc);
            j.last = bf16_last_pairs(kc);
            if (M < BF16_MC) j.part = M * ld;
            for (int64_t i = 0; i < mc; i++)
                round_row(scratch + i * ld, j.part, A + (m + i) * lda + k, kc, j.blocks * KB,
                          parts);
            for (int64_t n = 0; n < N; n += NR)
                panel(&j, C + m * ldc + n, scratch,
                      packed + n / NR * cr_gemm_bf16_panel(K, parts) + k / KB * parts * BF16_UNIT,
                      mc, N - n < NR ? N - n : NR,
                      flags & CR_GEMM_BIAS   ? bias + n
                      : flags & CR_GEMM_MASK ? bias + m * ldc + n
                                             : NULL);
        }
}

static NOINLINE void gemm_tn(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                             int64_t ldb, int64_t M, int64_t N, int64_t K, int flags, int parts,
                             float *scratch) {
    for (int64_t k = 0; k < K; k += TN_KC) {
        int64_t kc = K - k < TN_KC ? K - k : TN_KC, mt = M < BF16_MT ? M : BF16_MT;
        job j = {.ldc = ldc, .row = 1, .step = mt, .blocks = bf16_blocks(kc), .parts = parts};
        j.last = bf16_last_pairs(kc);
        j.flags = bf16_flags(flags, k, kc, K);
        j.part = j.blocks * KB * mt;
        uint32_t *b = (uint32_t *)(void *)scratch;
        float *a = scratch + cr_gemm_bf16_pack_size(kc, N, parts);
        KERN(gemm_bf16_pack)(b, B + k * ldb, ldb, false, kc, N, 0, cr_gemm_panels(N), parts);
        for (int64_t m = 0; m < M; m += mt) {
            int64_t mc = M - m < mt ? M - m : mt;
            for (int64_t i = 0; i < j.blocks * KB; i++)
                round_row(a + i * mt, j.part, i < kc ? A + (k + i) * lda + m : A, i < kc ? mc : 0,
                          mc, parts);
            for (int64_t n = 0; n < N; n += NR)
                panel(&j, C + m * ldc + n, a, b + n / NR * cr_gemm_bf16_panel(kc, parts), mc,
                      N - n < NR ? N - n : NR, NULL);
        }
    }
}

void KERN(gemm_bf16)(float *C, int64_t ldc, const float *A, int64_t lda, const uint32_t *packed,
                     int64_t M, int64_t N, int64_t K, int flags, const float *bias, int parts,
                     float *scratch) {
    if (K == 0) {
        bf16_empty(C, ldc, M, N, flags, bias);
        return;
    }
    unsigned was = _mm_getcsr();
    _mm_setcsr(was | BF16_DENORMALS_ZERO);
    gemm(C, ldc, A, lda, packed, M, N, K, flags, bias, parts, scratch);
    _mm_setcsr(was);
}

void KERN(gemm_bf16_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                        int64_t ldb, int64_t M, int64_t N, int64_t K, int flags, int parts,
                        float *scratch) {
    if (K == 0) {
        bf16_empty(C, ldc, M, N, flags & CR_GEMM_ACC, NULL);
        return;
    }
    unsigned was = _mm_getcsr();
    _mm_setcsr(was | BF16_DENORMALS_ZERO);
    gemm_tn(C, ldc, A, lda, B, ldb, M, N, K, flags & CR_GEMM_ACC, parts, scratch);
    _mm_setcsr(was);
}

double KERN(peak_bf16)(int64_t n, float *sum) {
    return KERN(peak)(n, sum);
}
