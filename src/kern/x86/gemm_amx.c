/*
 * x86/gemm_amx.c - BF16 products on the tile unit of Intel CPUs (AMX).
 *
 * Operands are units of 32 x 32 BF16 values (2 KiB, two tiles of 16 rows of 64 bytes). The right
 * one is packed in them already (body_bf16.c). The left one is made here: rows as they are for A,
 * and for A^T the 16 x 16 transpose of the words that the packing makes. 2 x 2 tiles of C are
 * computed at a time, so there is one load per multiplication. The outer loop runs over columns: a
 * panel of the right operand stays in the first-level cache, and the left one is streamed.
 *
 * The vector work on a finished block of C (bias, ReLU, mask) is done a few rows at a time in the
 * loop of the next block, because the vector units are idle there. The tile registers are set up at
 * the start of a call and released at its end, so no thread keeps their state.
 *
 * With CR_TILE_MODEL the same code runs on a model of the tile unit in plain C: tests run it on
 * CPUs without AMX. Trap: the compiler does not know that tile loads read memory (FENCE).
 */
#ifdef CR_TILE_MODEL
#include "kern/x86/tile_model_int.h"
#else
#include <immintrin.h>
#define FENCE                 __asm__ volatile("" ::: "memory")
#define TILE_ZERO(t)          _tile_zero(t)
#define TILE_LOAD(t, p, ld)   _tile_loadd(t, p, ld)
#define TILE_STREAM(t, p, ld) _tile_stream_loadd(t, p, ld)
#define TILE_STORE(t, p, ld)  _tile_stored(t, p, ld)
#define TILE_DOT(c, a, b)     _tile_dpbf16ps(c, a, b)
#endif
#include "kern/bf16_int.h"

enum { NR = CR_GEMM_NR, KB = CR_BF16_BLOCK, MB = 32, UNIT = 2048, FEW_ROWS = 16 };

#ifdef __AVX512F__
#include "kern/x86/bf16_vec_int.h"
/* to_bf16 makes 32 values: those of x first. */
CR_INLINE __m512i to_bf16(__m512 x, __m512 y) {
#ifdef __AVX512BF16__
    return (__m512i)_mm512_cvtne2ps_pbh(y, x);
#else
    float f[32];
    uint16_t h[32];
    _mm512_storeu_ps(f, x);
    _mm512_storeu_ps(f + 16, y);
    for (int i = 0; i < 32; i++)
        h[i] = (uint16_t)(bf16_near(f[i]) >> 16);
    return _mm512_loadu_si512(h);
#endif
}
/* rest subtracts half h of the values w from x. */
CR_INLINE __m512 rest(__m512 x, __m512i w, const int h) {
    __m512i wide =
        _mm512_cvtepu16_epi32(h ? _mm512_extracti64x4_epi64(w, 1) : _mm512_castsi512_si256(w));
    return _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16)));
}
/* left_row makes a row of 32 values in each part's unit, from n <= 32 floats. */
CR_INLINE void left_row(char *d, const float *x, int64_t n, int parts) {
    __m512 a = vloadm(first(n), x), b = vloadm(first(n - 16), x + 16);
    for (int p = 0; p < parts; p++, d += UNIT) {
        __m512i w = to_bf16(a, b);
        _mm512_storeu_si512(d, w);
        if (p + 1 < parts) a = rest(a, w, 0), b = rest(b, w, 1);
    }
}
/* pair_rows makes the words of two rows of 32 columns in each part's unit, half by half, from nx
 * and ny floats. */
CR_INLINE void pair_rows(char *d, const float *x, int64_t nx, const float *y, int64_t ny,
                         int parts) {
    static const uint16_t order[2][32] = {{0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                           37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                           11, 43, 12, 44, 13, 45, 14, 46, 15, 47},
                                          {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21,
                                           53, 22, 54, 23, 55, 24, 56, 25, 57, 26, 58,
                                           27, 59, 28, 60, 29, 61, 30, 62, 31, 63}};
    __m512 a = vloadm(first(nx), x), b = vloadm(first(nx - 16), x + 16);
    __m512 e = vloadm(first(ny), y), f = vloadm(first(ny - 16), y + 16);
    for (int p = 0; p < parts; p++, d += UNIT) {
        __m512i u = to_bf16(a, b), v = to_bf16(e, f);
        for (int h = 0; h < 2; h++)
            _mm512_storeu_si512(d + h * UNIT / 2,
                                _mm512_permutex2var_epi16(u, _mm512_loadu_si512(order[h]), v));
        if (p + 1 == parts) break;
        a = rest(a, u, 0), b = rest(b, u, 1), e = rest(e, v, 0), f = rest(f, v, 1);
    }
}
/* quarter makes rows 4 q to 4 q + 3 of the transpose of a tile of 16 x 16 words; the loads do half
 * of the work. */
CR_INLINE void quarter(char *d, const char *s, int q) {
#define C(r) _mm_loadu_si128((const __m128i *)(const void *)(s + 64 * (r) + 16 * q))
#define Z(i)                                                                                       \
    _mm512_inserti32x4(_mm512_inserti32x4(_mm512_inserti32x4(_mm512_castsi128_si512(C(i)),         \
                                                             C((i) + 4), 1),                       \
                                          C((i) + 8), 2),                                          \
                       C((i) + 12), 3)
    __m512i a = Z(0), b = Z(1), c = Z(2), e = Z(3);
    __m512i ab = _mm512_unpacklo_epi32(a, b), AB = _mm512_unpackhi_epi32(a, b);
    __m512i ce = _mm512_unpacklo_epi32(c, e), CE = _mm512_unpackhi_epi32(c, e);
    d += 256 * q;
    _mm512_storeu_si512(d, _mm512_unpacklo_epi64(ab, ce));
    _mm512_storeu_si512(d + 64, _mm512_unpackhi_epi64(ab, ce));
    _mm512_storeu_si512(d + 128, _mm512_unpacklo_epi64(AB, CE));
    _mm512_storeu_si512(d + 192, _mm512_unpackhi_epi64(AB, CE));
#undef C
#undef Z
}
/* finish_row applies the flags to a row of sums and writes its n <= 32 columns. */
CR_INLINE void finish_row(float *c, const float *s, int64_t n, int flags, const float *bias) {
    for (int h = 0; h < 32 && h < n; h += 16) {
        mask m = first(n - h);
        vec y = vload(s + h);
        if (flags & CR_GEMM_BIAS) y = vadd(y, vloadm(m, bias + h));
        if (flags & CR_GEMM_RELU) y = vrelu(y);
        if (flags & CR_GEMM_MASK) y = vabove0(vloadm(m, bias + h), y);
        vstorem(c + h, m, y);
    }
}
#else /* the same in plain C, for the model on CPUs without AVX-512 */
#define NOINLINE
CR_INLINE void left_row(char *d, const float *x, int64_t n, int parts) {
    for (int64_t k = 0; k < KB; k++) {
        float v = k < n ? x[k] : 0;
        for (int p = 0; p < parts; p++) {
            uint32_t w = bf16_near(v);
            uint16_t h = (uint16_t)(w >> 16);
            memcpy(d + p * UNIT + 2 * k, &h, 2);
            v = bf16_rest(v, w);
        }
    }
}
CR_INLINE void pair_rows(char *d, const float *x, int64_t nx, const float *y, int64_t ny,
                         int parts) {
    for (int64_t c = 0; c < 32; c++) {
        float v[2] = {c < nx ? x[c] : 0, c < ny ? y[c] : 0};
        for (int p = 0; p < parts; p++) {
            uint32_t a = bf16_near(v[0]), b = bf16_near(v[1]), w = a >> 16 | b;
            memcpy(d + p * UNIT + c / 16 * UNIT / 2 + c % 16 * 4, &w, 4);
            v[0] = bf16_rest(v[0], a);
            v[1] = bf16_rest(v[1], b);
        }
    }
}
CR_INLINE void quarter(char *d, const char *s, int q) {
    for (int r = 4 * q; r < 4 * q + 4; r++)
        for (int c = 0; c < 16; c++)
            memcpy(d + 64 * r + 4 * c, s + 64 * c + 4 * r, 4);
}
CR_INLINE void finish_row(float *c, const float *s, int64_t n, int flags, const float *bias) {
    for (int64_t j = 0; j < n; j++)
        c[j] = bf16_finish(s[j], flags, bias, j);
}
#endif

/* left_units makes the units of M rows of K columns: [block of rows][block along k][part]. */
static void left_units(char *d, const float *A, int64_t lda, int64_t M, int64_t K, int parts) {
    for (int64_t m = 0; m < M; m += MB)
        for (int64_t k = 0; k < K; k += KB, d += parts * UNIT)
            for (int64_t r = 0; r < MB; r++)
                left_row(d + 64 * r, A + (m + r < M ? m + r : 0) * lda + k, m + r < M ? K - k : 0,
                         parts);
}

/* right_units makes the units of the transpose of K rows of N columns, or (turn) of the rows
 * themselves as a left operand: [block of columns][block along k][part]. */
static void right_units(char *d, const float *X, int64_t ldx, int64_t K, int64_t N, int parts,
                        bool turn, char *tmp) {
    for (int64_t n = 0; n < N; n += NR)
        for (int64_t k = 0; k < K; k += KB, d += parts * UNIT) {
            char *v = turn ? tmp : d;
            for (int64_t q = 0; q < KB / 2; q++) {
                bool even = k + 2 * q < K, odd = k + 2 * q + 1 < K;
                const float *x = X + (even ? k + 2 * q : k) * ldx + n, *y = odd ? x + ldx : x;
                pair_rows(v + 64 * q, x, even ? N - n : 0, y, odd ? N - n : 0, parts);
            }
            for (int i = 0; turn && i < 8 * parts; i++)
                quarter(d + i / 4 * 1024, v + i / 4 * 1024, i % 4);
        }
    FENCE;
}

/* both multiplies unit x by unit w; left and right only change one operand. A load stands just
 * before its first use. C: tiles 0 1 above 2 3; A: 4 above 5; B: 6 beside 7. */
CR_INLINE void both(const char *x, const char *w) {
    TILE_LOAD(6, w, 64);
    TILE_STREAM(4, x, 64);
    TILE_DOT(0, 4, 6);
    TILE_LOAD(7, w + 1024, 64);
    TILE_DOT(1, 4, 7);
    TILE_STREAM(5, x + 1024, 64);
    TILE_DOT(2, 5, 6);
    TILE_DOT(3, 5, 7);
}
CR_INLINE void left(const char *x) {
    TILE_STREAM(4, x, 64);
    TILE_DOT(0, 4, 6);
    TILE_DOT(1, 4, 7);
    TILE_STREAM(5, x + 1024, 64);
    TILE_DOT(2, 5, 6);
    TILE_DOT(3, 5, 7);
}
CR_INLINE void right(const char *w) {
    TILE_LOAD(6, w, 64);
    TILE_DOT(0, 4, 6);
    TILE_DOT(2, 5, 6);
    TILE_LOAD(7, w + 1024, 64);
    TILE_DOT(1, 4, 7);
    TILE_DOT(3, 5, 7);
}

/* block multiplies one block along k: the products of bf16_order, each of which changes one operand
 * only. */
CR_INLINE void block(const int parts, const char *a, const char *b) {
    switch (parts) {
    case 1: both(a, b); return;
    case 2:
        both(a, b + UNIT);
        right(b);
        left(a + UNIT);
        return;
    default:
        both(a + 2 * UNIT, b);
        left(a + UNIT);
        right(b + UNIT);
        left(a);
        right(b + 2 * UNIT);
        right(b);
        return;
    }
}

/* A block of C whose sums lie in s (32 x 32 floats) and whose rows [row, rows) are not finished. */
typedef struct out {
    float *c;
    const float *s, *bias;
    int64_t ldc, row, rows, columns;
    int flags;
} out;

CR_INLINE void finish(out *o, int64_t n) {
    for (int64_t end = o->row + n < o->rows ? o->row + n : o->rows; o->row < end; o->row++)
        finish_row(o->c + o->row * o->ldc, o->s + o->row * 32, o->columns, o->flags,
                   o->flags & CR_GEMM_MASK ? o->bias + o->row * o->ldc : o->bias);
}

CR_INLINE void load_sums(const char *c, int64_t ld) {
    TILE_LOAD(0, c, ld);
    TILE_LOAD(1, c + 64, ld);
    TILE_LOAD(2, c + 16 * ld, ld);
    TILE_LOAD(3, c + 16 * ld + 64, ld);
}
CR_INLINE void store_sums(char *c, int64_t ld) {
    TILE_STORE(0, c, ld);
    TILE_STORE(1, c + 64, ld);
    TILE_STORE(2, c + 16 * ld, ld);
    TILE_STORE(3, c + 16 * ld + 64, ld);
    FENCE;
}

/* product: C (M, N) from left units (blocks of rows are `blocks` units apart) and panels of the
 * right operand (`panel` bytes apart). sums has room for two blocks of C. */
CR_INLINE void product(const int parts, float *C, int64_t ldc, const char *A, const char *B,
                       int64_t panel, int64_t M, int64_t N, int64_t blocks, int flags,
                       const float *bias, float *sums) {
    out o = {0};
    const int64_t some = (MB + blocks - 1) / blocks;
    float *s = sums;
    for (int64_t n = 0; n < N; n += NR)
        for (int64_t m = 0; m < M; m += MB) {
            const char *a = A + m / MB * blocks * parts * UNIT, *b = B + n / NR * panel;
            int64_t rows = M - m < MB ? M - m : MB, columns = N - n < NR ? N - n : NR;
            float *c = C + m * ldc + n;
            const bool whole = rows == MB && columns == NR;
            if (!(flags & CR_GEMM_ACC)) {
                TILE_ZERO(0);
                TILE_ZERO(1);
                TILE_ZERO(2);
                TILE_ZERO(3);
            } else if (whole) {
                load_sums((const char *)c, ldc * 4);
            } else { /* what else is in s adds to sums that finish leaves out */
                for (int64_t r = 0; r < rows; r++)
                    memcpy(s + 32 * r, c + r * ldc, (size_t)columns * sizeof(float));
                FENCE;
                load_sums((const char *)s, 128);
            }
            for (int64_t k = 0; k < blocks; k++, a += parts * UNIT, b += parts * UNIT) {
                block(parts, a, b);
                finish(&o, some);
            }
            finish(&o, MB);
            if (whole && !(flags & ~CR_GEMM_ACC)) {
                store_sums((char *)c, ldc * 4);
                continue;
            }
            store_sums((char *)s, 128);
            o = (out){c, s, NULL, ldc, 0, rows, columns, flags};
            if (flags & CR_GEMM_BIAS) o.bias = bias + n;
            if (flags & CR_GEMM_MASK) o.bias = bias + m * ldc + n;
            s = s == sums ? sums + 1024 : sums;
        }
    finish(&o, MB);
}

static void any_product(int parts, float *C, int64_t ldc, const char *A, const char *B,
                        int64_t panel, int64_t M, int64_t N, int64_t blocks, int flags,
                        const float *bias, float *sums) {
    switch (parts) {
    case 1: product(1, C, ldc, A, B, panel, M, N, blocks, flags, bias, sums); return;
    case 2: product(2, C, ldc, A, B, panel, M, N, blocks, flags, bias, sums); return;
    default: product(3, C, ldc, A, B, panel, M, N, blocks, flags, bias, sums); return;
    }
}

/* The first bytes of the scratch that begin at a multiple of 64. */
static char *aligned(float *scratch) {
    return (char *)scratch + (64 - (uintptr_t)scratch % 64) % 64;
}

static NOINLINE void gemm(float *C, int64_t ldc, const float *A, int64_t lda, const char *packed,
                          int64_t M, int64_t N, int64_t K, int flags, const float *bias, int parts,
                          float *scratch) {
    float *sums = (float *)(void *)aligned(scratch);
    char *units = (char *)(sums + 2048);
    const int64_t panel = cr_gemm_bf16_panel(K, parts) * 4, most = bf16_tile_rows(parts);
    for (int64_t m = 0; m < M; m += most)
        for (int64_t k = 0; k < K; k += BF16_KC) {
            int64_t mc = M - m < most ? M - m : most, kc = K - k < BF16_KC ? K - k : BF16_KC;
            left_units(units, A + m * lda + k, lda, mc, kc, parts);
            FENCE;
            any_product(parts, C + m * ldc, ldc, units, packed + k / KB * parts * UNIT, panel, mc,
                        N, bf16_blocks(kc), bf16_flags(flags, k, kc, K),
                        bias && flags & CR_GEMM_MASK ? bias + m * ldc : bias, sums);
        }
}

static NOINLINE void gemm_tn(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                             int64_t ldb, int64_t M, int64_t N, int64_t K, int flags, int parts,
                             float *scratch) {
    float *sums = (float *)(void *)aligned(scratch);
    char *tmp = (char *)(sums + 2048), *a = tmp + 3 * UNIT;
    for (int64_t k = 0; k < K; k += TN_KC) {
        int64_t kc = K - k < TN_KC ? K - k : TN_KC, blocks = bf16_blocks(kc);
        char *b = a + (M + MB - 1) / MB * blocks * parts * UNIT;
        right_units(a, A + k * lda, lda, kc, M, parts, true, tmp);
        right_units(b, B + k * ldb, ldb, kc, N, parts, false, NULL);
        any_product(parts, C, ldc, a, b, blocks * parts * UNIT, M, N, blocks,
                    bf16_flags(flags, k, kc, K), NULL, sums);
    }
}

#ifdef CR_TILE_MODEL
#define TILES_BEGIN() ((void)0)
#define TILES_END()   ((void)0)
#else
#define CR_DECLARE(ret, nm, args) ret cr_##nm##_avx512 args;
CR_KERNELS_BF16_DOT(CR_DECLARE)
#undef CR_DECLARE
/* tiles_begin sets the layout of the tile registers: 8 tiles of 16 rows of 64 bytes. */
static void tiles_begin(void) {
    struct {
        uint8_t palette, start, zero[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } c __attribute__((aligned(64))) = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.bytes[i] = 64;
        c.rows[i] = 16;
    }
    __asm__ volatile("" ::"r"(&c) : "memory"); /* _tile_loadconfig says that it reads 8 bytes */
    _tile_loadconfig(&c);
}
#define TILES_BEGIN() tiles_begin()
#define TILES_END()   _tile_release()
#endif
#ifdef __AVX512F__
#define BEGIN                                                                                      \
    unsigned was = _mm_getcsr();                                                                   \
    _mm_setcsr(was | BF16_DENORMALS_ZERO);                                                         \
    TILES_BEGIN()
#define END                                                                                        \
    TILES_END();                                                                                   \
    _mm_setcsr(was)
#else
#define BEGIN TILES_BEGIN()
#define END   TILES_END()
#endif

void KERN(gemm_bf16)(float *C, int64_t ldc, const float *A, int64_t lda, const uint32_t *packed,
                     int64_t M, int64_t N, int64_t K, int flags, const float *bias, int parts,
                     float *scratch) {
    if (K == 0) {
        bf16_empty(C, ldc, M, N, flags, bias);
        return;
    }
#ifndef CR_TILE_MODEL
    if (M < FEW_ROWS) { /* half of the tiles would be empty; the bits are the same */
        cr_gemm_bf16_avx512(C, ldc, A, lda, packed, M, N, K, flags, bias, parts, scratch);
        return;
    }
#endif
    BEGIN;
    gemm(C, ldc, A, lda, (const char *)packed, M, N, K, flags, bias, parts, scratch);
    END;
}

void KERN(gemm_bf16_tn)(float *C, int64_t ldc, const float *A, int64_t lda, const float *B,
                        int64_t ldb, int64_t M, int64_t N, int64_t K, int flags, int parts,
                        float *scratch) {
    if (K == 0) {
        bf16_empty(C, ldc, M, N, flags & CR_GEMM_ACC, NULL);
        return;
    }
    BEGIN;
    gemm_tn(C, ldc, A, lda, B, ldb, M, N, K, flags & CR_GEMM_ACC, parts, scratch);
    END;
}

double KERN(peak_bf16)(int64_t n, float *sum) {
    float x[32 * 32], c[256] = {0};
    char a[UNIT], b[UNIT];
    uint32_t r = 1;
    for (int i = 0; i < 32 * 32; i++) {
        r = r * 1664525 + 1013904223;
        x[i] = (float)(r >> 8) * 0x1p-24f - 0.5f;
    }
    left_units(a, x, 32, 32, 32, 1);
    right_units(b, x, 32, 32, 32, 1, false, NULL);
    n /= 16; /* one multiplication of tiles is as much as 512 of vectors */
    BEGIN;
    both(a, b);
    for (int64_t k = 0; k < n; k++) {
        TILE_DOT(0, 4, 6);
        TILE_DOT(1, 4, 7);
        TILE_DOT(2, 5, 6);
        TILE_DOT(3, 5, 7);
    }
    TILE_STORE(0, c, 64);
    FENCE;
    END;
    *sum = c[0];
    return 4.0 * 16384 * (double)n;
}
