/*
 * x86/gemm.c - the matrix products for AVX2 and AVX-512, one body.
 *
 * A micro kernel keeps a tile of C (up to MR rows of one or two vectors) in registers and walks k
 * upwards, so each element is one chain of fused multiply-adds, as list.h demands: K is never split
 * into partial sums. Tails in M use smaller instances, tails in N masked loads and stores; neither
 * touches the chains. K blocks store C and go on from it, which is the same chain. Trap: a NaN or
 * infinity next to the matrix must not enter the result, so lanes past N are computed from the zero
 * padding of the packed panel and are never stored.
 */
#include "kern/x86/vec_int.h"

#ifdef __AVX512F__
enum { NV = 2, MR = 14 };
#define vunlo(a, b)    _mm512_unpacklo_ps(a, b)
#define vunhi(a, b)    _mm512_unpackhi_ps(a, b)
#define vshuf(a, b, i) _mm512_shuffle_ps(a, b, i)
CR_INLINE vec vjoin(const __m128 *x) {
    vec v = _mm512_castps128_ps512(x[0]);
    v = _mm512_insertf32x4(v, x[1], 1);
    v = _mm512_insertf32x4(v, x[2], 2);
    return _mm512_insertf32x4(v, x[3], 3);
}
#else
enum { NV = 2, MR = 6 };
#define vunlo(a, b)    _mm256_unpacklo_ps(a, b)
#define vunhi(a, b)    _mm256_unpackhi_ps(a, b)
#define vshuf(a, b, i) _mm256_shuffle_ps(a, b, i)
CR_INLINE vec vjoin(const __m128 *x) {
    return _mm256_set_m128(x[1], x[0]);
}
#endif

/* blocks of M and K: MC * KC floats of A stay in L2 together with the panels of B */
enum { MC = 12 * MR, KC = 512 };

/* Values that all tiles of one call share. */
typedef struct job {
    int64_t ldc, lda, sb; /* sb: distance in b from k to k + 1, in floats */
    int64_t K;
    int flags;
    const float *mask, *c0; /* MASK: the mask of the element at c0 */
} job;

/* tile computes a tile of C (mr, nc <= nv * VL). tn: A is a[k * lda + i], else a[i * lda + k]. */
CR_INLINE void tile(const int mr, const int nv, const bool tn, const job *j, float *c,
                    const float *a, const float *b, int64_t nc, const float *bias) {
    vec s[MR][NV];
    mask m[NV];
    const int64_t lda = j->lda, ldc = j->ldc, sb = j->sb, K = j->K;
    EACH(v, nv) {
        m[v] = first(nc - v * VL);
    }
    if (j->flags & CR_GEMM_ACC) {
        EACH(i, mr) {
            EACH(v, nv) {
                s[i][v] = vloadm(m[v], c + i * ldc + v * VL);
            }
        }
    } else {
        EACH(i, mr) {
            EACH(v, nv) {
                s[i][v] = vzero();
            }
        }
    }
    for (int64_t k = 0; k < K; k++) {
        vec bv[NV];
        EACH(v, nv) {
            bv[v] = vload(b + k * sb + v * VL);
        }
        EACH(i, mr) {
            vec av = vset1(tn ? a[k * lda + i] : a[i * lda + k]);
            EACH(v, nv) {
                s[i][v] = vfma(av, bv[v], s[i][v]);
            }
        }
    }
    if (j->flags & CR_GEMM_ADD) {
        EACH(i, mr) {
            EACH(v, nv) {
                s[i][v] = vadd(vloadm(m[v], c + i * ldc + v * VL), s[i][v]);
            }
        }
    }
    if (j->flags & CR_GEMM_BIAS) {
        vec bb[NV];
        EACH(v, nv) {
            bb[v] = vloadm(m[v], bias + v * VL);
        }
        EACH(i, mr) {
            EACH(v, nv) {
                s[i][v] = vadd(s[i][v], bb[v]);
            }
        }
    }
    if (j->flags & CR_GEMM_RELU) {
        EACH(i, mr) {
            EACH(v, nv) {
                s[i][v] = vrelu(s[i][v]);
            }
        }
    }
    if (j->flags & CR_GEMM_MASK) {
        const float *y = j->mask + (c - j->c0);
        EACH(i, mr) {
            EACH(v, nv) {
                s[i][v] = vabove0(vloadm(m[v], y + i * ldc + v * VL), s[i][v]);
            }
        }
    }
    EACH(i, mr) {
        EACH(v, nv) {
            vstorem(c + i * ldc + v * VL, m[v], s[i][v]);
        }
    }
}

/* Instances of tile: nn_<rows>_<vectors>, tn_<rows>_<vectors>. */
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
/* Indexed by [tn][vectors - 1][rows - 1]. */
static const tile_fn tiles[2][NV][MR] = {{{ROWS(NAME, 0, 1)}, {ROWS(NAME, 0, 2)}},
                                         {{ROWS(NAME, 1, 1)}, {ROWS(NAME, 1, 2)}}};

/* panel computes M rows of C for one panel (nc <= CR_GEMM_NR columns). step is the distance in a
 * from tile to tile, in floats. */
CR_INLINE void panel(const bool tn, const job *j, float *C, const float *A, int64_t step,
                     const float *b, int64_t M, int64_t nc, const float *bias) {
    for (int64_t v = 0; v < nc; v += NV * VL) {
        int64_t w = nc - v < NV * VL ? nc - v : NV * VL;
        const tile_fn *fn = tiles[tn][(w - 1) / VL];
        const float *bn = bias ? bias + v : NULL, *a = A;
        for (int64_t i = 0; i < M; i += MR, a += step) {
            int64_t mr = M - i < MR ? M - i : MR;
            fn[mr - 1](j, C + i * j->ldc + v, a, b + v, w, bn);
        }
    }
}

/* rows4: lane l of the result = p[4 l + q][k .. k+3], the first kn of them */
CR_INLINE vec rows4(const float *const *p, int q, int64_t k, int kn) {
    __m128 x[VL / 4];
    const __m128i m =
        _mm_cmpgt_epi32(_mm_set1_epi32(kn), _mm_setr_epi32(0, 1, 2, 3)); /* unused when kn is 4 */
    EACH(l, VL / 4) {
        x[l] = kn == 4 ? _mm_loadu_ps(p[4 * l + q] + k) : _mm_maskload_ps(p[4 * l + q] + k, m);
    }
    return vjoin(x);
}

/* narrow is for one or two columns: vectors run along the rows of C, from 4 x 4 transposes of A. It
 * takes G groups of VL rows at a time, so that their chains overlap. With 3 columns the tiles are
 * as fast. */
CR_INLINE void narrow(const int N, float *C, int64_t ldc, const float *A, int64_t lda,
                      const float *b, int64_t M, int64_t K, int flags, const float *bias) {
    enum { G = 2 };
    for (int64_t m0 = 0; m0 < M; m0 += G * VL) {
        const float *p[G * VL];
        float c[2][G * VL];
        int64_t mc = M - m0 < G * VL ? M - m0 : G * VL;
        for (int64_t i = 0; i < G * VL; i++) { /* rows past the end repeat the last one */
            int64_t m = m0 + (i < mc ? i : mc - 1);
            p[i] = A + m * lda;
            for (int n = 0; n < N; n++)
                c[n][i] = flags & CR_GEMM_ACC ? C[m * ldc + n] : 0;
        }
        vec s[G][2];
        EACH(g, G) {
            EACH(n, N) {
                s[g][n] = vload(c[n] + g * VL);
            }
        }
        for (int64_t k = 0; k < K; k += 4) {
            int kn = K - k < 4 ? (int)(K - k) : 4;
            EACH(g, G) {
                vec r[4], x[4];
                EACH(q, 4) {
                    r[q] = rows4(p + g * VL, q, k, kn);
                }
                vec t0 = vunlo(r[0], r[1]), t1 = vunhi(r[0], r[1]);
                vec t2 = vunlo(r[2], r[3]), t3 = vunhi(r[2], r[3]);
                x[0] = vshuf(t0, t2, 0x44), x[1] = vshuf(t0, t2, 0xee);
                x[2] = vshuf(t1, t3, 0x44), x[3] = vshuf(t1, t3, 0xee);
                EACH(q, 4) {
                    if (q >= kn) break;
                    EACH(n, N) {
                        s[g][n] = vfma(x[q], vset1(b[(k + q) * CR_GEMM_NR + n]), s[g][n]);
                    }
                }
            }
        }
        EACH(g, G) {
            EACH(n, N) {
                vstore(c[n] + g * VL, s[g][n]);
            }
        }
        for (int64_t i = 0; i < mc; i++)
            for (int n = 0; n < N; n++) {
                float v = c[n][i];
                if (flags & CR_GEMM_ADD) v = C[(m0 + i) * ldc + n] + v;
                if (flags & CR_GEMM_BIAS) v += bias[n];
                if (flags & CR_GEMM_RELU) v = v <= 0 ? 0 : v;
                if (flags & CR_GEMM_MASK) v = bias[(m0 + i) * ldc + n] > 0 ? v : 0;
                C[(m0 + i) * ldc + n] = v;
            }
    }
}

/* block computes rows of C for [k0, k0 + kc) of K; a starts at k0. */
CR_INLINE void block(float *C, int64_t ldc, const float *a, int64_t lda, const float *packed,
                     int64_t M, int64_t N, int64_t K, int64_t k0, int64_t kc, int flags,
                     const float *bias) {
    job j = {.ldc = ldc, .lda = lda, .sb = CR_GEMM_NR, .K = kc, .flags = flags};
    j.mask = bias;
    j.c0 = C;
    if (k0 > 0) j.flags |= CR_GEMM_ACC;
    if (k0 + kc < K) j.flags &= CR_GEMM_ACC;
    for (int64_t n = 0; n < N; n += CR_GEMM_NR) {
        int64_t nc = N - n < CR_GEMM_NR ? N - n : CR_GEMM_NR;
        const float *bn = j.flags & CR_GEMM_BIAS ? bias + n : NULL;
        panel(false, &j, C + n, a, MR * lda, packed + n * K + k0 * CR_GEMM_NR, M, nc, bn);
    }
}

/* gemm_copied is for rows that lie a multiple of 4096 bytes apart: all rows of a tile would fall
 * into one set of the first-level cache, so blocks of A are copied to a better distance. */
static __attribute__((noinline)) void gemm_copied(float *C, int64_t ldc, const float *A,
                                                  int64_t lda, const float *packed, int64_t M,
                                                  int64_t N, int64_t K, int flags,
                                                  const float *bias) {
    enum { ROWS = 3 * MR, COLS = 256, LD = COLS + 16 };
    float copy[ROWS * LD];
    for (int64_t m0 = 0; m0 < M; m0 += ROWS) {
        int64_t mc = M - m0 < ROWS ? M - m0 : ROWS;
        for (int64_t k0 = 0; k0 < K; k0 += COLS) {
            int64_t kc = K - k0 < COLS ? K - k0 : COLS;
            for (int64_t i = 0; i < mc; i++)
                memcpy(copy + i * LD, A + (m0 + i) * lda + k0, (size_t)kc * sizeof(float));
            block(C + m0 * ldc, ldc, copy, LD, packed, mc, N, K, k0, kc, flags,
                  flags & CR_GEMM_MASK ? bias + m0 * ldc : bias);
        }
    }
}

void KERN(gemm)(float *C, int64_t ldc, const float *A, int64_t lda, const float *packed, int64_t M,
                int64_t N, int64_t K, int flags, const float *bias) {
    switch (M >= VL / 2 ? N : 0) {
    case 1: narrow(1, C, ldc, A, lda, packed, M, K, flags, bias); return;
    case 2: narrow(2, C, ldc, A, lda, packed, M, K, flags, bias); return;
    default: break;
    }
    if (lda % 1024 == 0 && M > 8 && N > 2 * CR_GEMM_NR && K > 0 && !(flags & CR_GEMM_ADD)) {
        gemm_copied(C, ldc, A, lda, packed, M, N, K, flags, bias);
        return;
    }
    for (int64_t m0 = 0; m0 < M; m0 += MC) {
        int64_t mc = M - m0 < MC ? M - m0 : MC, k0 = 0;
        do { /* runs once for K = 0 too */
            int64_t kc = K - k0 < KC ? K - k0 : KC;
            block(C + m0 * ldc, ldc, A + m0 * lda + k0, lda, packed, mc, N, K, k0, kc, flags,
                  flags & CR_GEMM_MASK ? bias + m0 * ldc : bias);
            k0 += kc;
        } while (k0 < K);
    }
}

/* dst[i / MR][k][i % MR] = a[k * lda + i], i < M; places past M are left as they are */
static void pack_a(float *dst, const float *a, int64_t lda, int64_t M, int64_t K) {
    for (int64_t k = 0; k < K; k++) {
        const float *r = a + k * lda;
        float *d = dst + k * MR;
        int64_t i = 0;
        for (; i + MR <= M; i += MR, d += K * MR)
            memcpy(d, r + i, MR * sizeof(float));
        if (i < M) memcpy(d, r + i, (size_t)(M - i) * sizeof(float));
    }
}

void KERN(gemm_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B, int64_t ldb,
                   int64_t M, int64_t N, int64_t K, int flags, float *scratch) {
    job j = {.ldc = ldc, .flags = flags & CR_GEMM_ACC};
    float *packed_b = scratch;
    int64_t k0 = 0;
    do { /* runs once for K = 0 too */
        j.K = K - k0 < TN_KC ? K - k0 : TN_KC;
        float *packed_a = scratch + j.K * CR_GEMM_NR;
        const float *a = A + k0 * lda;
        int64_t step = MR;
        j.lda = lda;
        /* then a copy in the order of use is worth while */
        if (lda >= 1024 && M > MR && N > 2 * CR_GEMM_NR) {
            pack_a(packed_a, a, lda, M, j.K);
            a = packed_a;
            step = MR * j.K;
            j.lda = MR;
        }
        for (int64_t n = 0; n < N; n += CR_GEMM_NR) {
            int64_t nc = N - n < CR_GEMM_NR ? N - n : CR_GEMM_NR;
            const float *b = B + k0 * ldb + n;
            j.sb = ldb;
            bool close = nc % VL == 0 && ldb <= CR_GEMM_NR; /* B can be used as it is */
            /* it would be read more than once, or past its end */
            if (!close && (M > MR || nc < CR_GEMM_NR)) {
                KERN(gemm_pack)(packed_b, b, ldb, false, j.K, nc, 0, 1);
                b = packed_b;
                j.sb = CR_GEMM_NR;
            }
            panel(true, &j, C + n, a, step, b, M, nc, NULL);
        }
        j.flags = CR_GEMM_ACC;
        k0 += TN_KC;
    } while (k0 < K);
}

double KERN(peak)(int64_t n, float *sum) {
    enum { CHAINS = 12 };
    vec s[CHAINS], a = vset1(0.5f), b = vset1(1.0f);
    EACH(i, CHAINS) {
        s[i] = vset1((float)i);
    }
    for (int64_t k = 0; k < n; k++) {
        EACH(i, CHAINS) {
            s[i] = vfma(s[i], a, b);
        }
    }
    float out[VL];
    *sum = 0;
    EACH(i, CHAINS) {
        vstore(out, s[i]);
        *sum += out[0];
    }
    return 2.0 * CHAINS * VL * (double)n;
}
