/*
 * x86/units_int.h - units: blocks of 32 x 32 BF16 values in the forms in which the tile unit reads
 * them, 2 KiB each, one behind the other for the parts of a value. From 32 rows of 32 floats:
 *   rows    the values as they are: left operand, sum over columns
 *   pairs   words of two rows, [half of the columns][pair][column]: right operand, sum over rows
 *   turned  the 16 x 16 transposes of the words of pairs: left operand, sum over rows
 * and the transposes of the words of rows are the pairs of the transposed block. Rows and columns
 * that are not there count as zeros. Without AVX-512 the same is done in plain C, for tests.
 *
 * Trap: the vector code needs denormals as zeros in the control register (BF16_DENORMALS_ZERO) when
 * there are several parts.
 */
#ifndef CR_KERN_X86_UNITS_INT_H
#define CR_KERN_X86_UNITS_INT_H

#include "kern/bf16_int.h"

enum { UNIT = 2048 };

/* A row of 32 floats is row32. row_load takes n of them (zeros behind), row_store writes n, row_add
 * adds, row_relu leaves what is above 0 or NaN, row_above has a bit for each that is above 0, and
 * row_where keeps those whose bit is set. put_row writes a row into each part's unit, put_pair the
 * words of two rows, half by half; quarter makes rows 4 q to 4 q + 3 of the transpose of a tile of
 * 16 x 16 words. */
#ifdef __AVX512F__
#include "kern/x86/bf16_vec_int.h"

typedef struct row32 {
    vec a, b;
} row32;
CR_INLINE row32 row_load(const float *x, int64_t n) {
    return (row32){vloadm(first(n), x), vloadm(first(n - 16), x + 16)};
}
CR_INLINE void row_store(float *x, row32 r, int64_t n) {
    vstorem(x, first(n), r.a);
    vstorem(x + 16, first(n - 16), r.b);
}
CR_INLINE row32 row_add(row32 x, row32 y) {
    return (row32){vadd(x.a, y.a), vadd(x.b, y.b)};
}
CR_INLINE row32 row_relu(row32 r) {
    return (row32){vrelu(r.a), vrelu(r.b)};
}
CR_INLINE uint32_t row_above(row32 r) {
    return (uint32_t)_mm512_cmp_ps_mask(r.a, vzero(), _CMP_GT_OQ) |
           (uint32_t)_mm512_cmp_ps_mask(r.b, vzero(), _CMP_GT_OQ) << 16;
}
CR_INLINE row32 row_where(row32 r, uint32_t bits) {
    return (row32){_mm512_maskz_mov_ps((mask)bits, r.a),
                   _mm512_maskz_mov_ps((mask)(bits >> 16), r.b)};
}

/* to_bf16 makes 32 values. */
CR_INLINE __m512i to_bf16(row32 r) {
#ifdef __AVX512BF16__
    return (__m512i)_mm512_cvtne2ps_pbh(r.b, r.a);
#else
    float f[32];
    uint16_t h[32];
    _mm512_storeu_ps(f, r.a);
    _mm512_storeu_ps(f + 16, r.b);
    for (int i = 0; i < 32; i++)
        h[i] = (uint16_t)(bf16_near(f[i]) >> 16);
    return _mm512_loadu_si512(h);
#endif
}
/* rest returns what the values w leave of a row for the next part. */
CR_INLINE row32 rest(row32 r, __m512i w) {
#define WIDE(x) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16))
    return (row32){vsub(r.a, WIDE(_mm512_castsi512_si256(w))),
                   vsub(r.b, WIDE(_mm512_extracti64x4_epi64(w, 1)))};
#undef WIDE
}
CR_INLINE void put_row(char *d, row32 r, int parts) {
    for (int p = 0; p < parts; p++, d += UNIT) {
        __m512i w = to_bf16(r);
        _mm512_storeu_si512(d, w);
        if (p + 1 < parts) r = rest(r, w);
    }
}
/* put_words writes the words of two rows of values, 16 to each place. */
CR_INLINE void put_words(void *lo, void *hi, __m512i x, __m512i y) {
    static const uint16_t order[2][32] = {{0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                           37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                           11, 43, 12, 44, 13, 45, 14, 46, 15, 47},
                                          {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21,
                                           53, 22, 54, 23, 55, 24, 56, 25, 57, 26, 58,
                                           27, 59, 28, 60, 29, 61, 30, 62, 31, 63}};
    _mm512_storeu_si512(lo, _mm512_permutex2var_epi16(x, _mm512_loadu_si512(order[0]), y));
    _mm512_storeu_si512(hi, _mm512_permutex2var_epi16(x, _mm512_loadu_si512(order[1]), y));
}
CR_INLINE void put_pair(char *d, row32 x, row32 y, int parts) {
    for (int p = 0; p < parts; p++, d += UNIT) {
        __m512i u = to_bf16(x), v = to_bf16(y);
        put_words(d, d + UNIT / 2, u, v);
        if (p + 1 < parts) x = rest(x, u), y = rest(y, v);
    }
}
/* The loads do half of the work of a transpose. */
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
#else
typedef struct row32 {
    float v[32];
} row32;
CR_INLINE row32 row_load(const float *x, int64_t n) {
    row32 r = {{0}};
    for (int64_t k = 0; k < 32 && k < n; k++)
        r.v[k] = x[k];
    return r;
}
CR_INLINE void row_store(float *x, row32 r, int64_t n) {
    for (int64_t k = 0; k < 32 && k < n; k++)
        x[k] = r.v[k];
}
CR_INLINE row32 row_add(row32 x, row32 y) {
    for (int k = 0; k < 32; k++)
        x.v[k] = bf16_flush(x.v[k] + bf16_flush(y.v[k]));
    return x;
}
CR_INLINE row32 row_relu(row32 r) {
    for (int k = 0; k < 32; k++)
        r.v[k] = r.v[k] <= 0 ? 0 : r.v[k];
    return r;
}
CR_INLINE uint32_t row_above(row32 r) {
    uint32_t bits = 0;
    for (int k = 0; k < 32; k++)
        bits |= (uint32_t)(bf16_flush(r.v[k]) > 0) << k;
    return bits;
}
CR_INLINE row32 row_where(row32 r, uint32_t bits) {
    for (int k = 0; k < 32; k++)
        if (!(bits >> k & 1)) r.v[k] = 0;
    return r;
}
CR_INLINE void put_row(char *d, row32 r, int parts) {
    for (int k = 0; k < 32; k++)
        for (int p = 0; p < parts; p++) {
            uint32_t w = bf16_near(r.v[k]);
            uint16_t h = (uint16_t)(w >> 16);
            memcpy(d + p * UNIT + 2 * k, &h, 2);
            r.v[k] = bf16_rest(r.v[k], w);
        }
}
CR_INLINE void put_pair(char *d, row32 x, row32 y, int parts) {
    for (int c = 0; c < 32; c++)
        for (int p = 0; p < parts; p++) {
            uint32_t a = bf16_near(x.v[c]), b = bf16_near(y.v[c]), w = a >> 16 | b;
            memcpy(d + p * UNIT + c / 16 * UNIT / 2 + c % 16 * 4, &w, 4);
            x.v[c] = bf16_rest(x.v[c], a);
            y.v[c] = bf16_rest(y.v[c], b);
        }
}
CR_INLINE void quarter(char *d, const char *s, int q) {
    for (int r = 4 * q; r < 4 * q + 4; r++)
        for (int c = 0; c < 16; c++)
            memcpy(d + 64 * r + 4 * c, s + 64 * c + 4 * r, 4);
}
#endif

/* row_unit makes the rows of the parts of a block, from `rows` rows of `columns` floats; there may
 * be more of both. */
CR_INLINE void row_unit(char *d, const float *X, int64_t ldx, int64_t rows, int64_t columns,
                        int parts) {
    for (int64_t r = 0; r < 32; r++)
        put_row(d + 64 * r, row_load(r < rows ? X + r * ldx : X, r < rows ? columns : 0), parts);
}
/* pair_unit makes the pairs of a block. */
CR_INLINE void pair_unit(char *d, const float *X, int64_t ldx, int64_t rows, int64_t columns,
                         int parts) {
    for (int64_t r = 0; r < 32; r += 2, d += 64) {
        const float *x = r < rows ? X + r * ldx : X, *y = r + 1 < rows ? x + ldx : X;
        put_pair(d, row_load(x, r < rows ? columns : 0), row_load(y, r + 1 < rows ? columns : 0),
                 parts);
    }
}
/* turn_unit makes the transposes of the words of a block. */
CR_INLINE void turn_unit(char *d, const char *s, int parts) {
    for (int i = 0; i < 8 * parts; i++)
        quarter(d + i / 4 * 1024, s + i / 4 * 1024, i % 4);
}

#endif
