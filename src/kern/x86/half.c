/*
 * x86/half.c - rows of 16-bit tables for AVX2 and AVX-512, one body: it widens and pools them,
 * draws random numbers and rounds by chance. body_half_row.c defines the result. Rows are short, so
 * a single vector without a prologue matters most; compilers made two to four times as many
 * instructions from the plain loops.
 */
#include "kern/kern_int.h"

#include <immintrin.h>

#include "base/half.h"
#include "base/rng.h"

#ifdef __AVX512F__
enum { VL = 16 };
typedef __m512 vec;
typedef __m512i ivec;
#define vload(p)        _mm512_loadu_ps(p)
#define vstore(p, x)    _mm512_storeu_ps(p, x)
#define vset1(x)        _mm512_set1_ps(x)
#define vzero()         _mm512_setzero_ps()
#define vadd(a, b)      _mm512_add_ps(a, b)
#define vmul(a, b)      _mm512_mul_ps(a, b)
#define ivset1(x)       _mm512_set1_epi32((int)(x))
#define ivadd(a, b)     _mm512_add_epi32(a, b)
#define ivand(a, b)     _mm512_and_si512(a, b)
#define ivor(a, b)      _mm512_or_si512(a, b)
#define ivright(a, n)   _mm512_srli_epi32(a, n)
#define ivleft(a, n)    _mm512_slli_epi32(a, n)
#define bits(x)         _mm512_castps_si512(x)
#define floats(x)       _mm512_castsi512_ps(x)
#define to_int(x)       _mm512_cvttps_epi32(x)
#define to_float(x)     _mm512_cvtepi32_ps(x)
#define widen(p)        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(p)))
#define narrow(p, x)    _mm256_storeu_si256((void *)(p), _mm512_cvtepi32_epi16(x))
#define fp16_load(p)    _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(p)))
#define fp16_save(p, x) _mm256_storeu_si256((void *)(p), _mm512_cvtps_ph(x, 0))
/* if_above gives a where x > y, compared as signed numbers, else b. */
#define if_above(x, y, a, b) _mm512_mask_mov_epi32(b, _mm512_cmpgt_epi32_mask(x, y), a)
#else
enum { VL = 8 };
typedef __m256 vec;
typedef __m256i ivec;
#define vload(p)             _mm256_loadu_ps(p)
#define vstore(p, x)         _mm256_storeu_ps(p, x)
#define vset1(x)             _mm256_set1_ps(x)
#define vzero()              _mm256_setzero_ps()
#define vadd(a, b)           _mm256_add_ps(a, b)
#define vmul(a, b)           _mm256_mul_ps(a, b)
#define ivset1(x)            _mm256_set1_epi32((int)(x))
#define ivadd(a, b)          _mm256_add_epi32(a, b)
#define ivand(a, b)          _mm256_and_si256(a, b)
#define ivor(a, b)           _mm256_or_si256(a, b)
#define ivright(a, n)        _mm256_srli_epi32(a, n)
#define ivleft(a, n)         _mm256_slli_epi32(a, n)
#define bits(x)              _mm256_castps_si256(x)
#define floats(x)            _mm256_castsi256_ps(x)
#define to_int(x)            _mm256_cvttps_epi32(x)
#define to_float(x)          _mm256_cvtepi32_ps(x)
#define widen(p)             _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(p)))
#define fp16_load(p)         _mm256_cvtph_ps(_mm_loadu_si128((const void *)(p)))
#define fp16_save(p, x)      _mm_storeu_si128((void *)(p), _mm256_cvtps_ph(x, 0))
#define if_above(x, y, a, b) _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi32(x, y))
CR_INLINE void narrow(uint16_t *p, ivec x) {
    ivec t = _mm256_permute4x64_epi64(_mm256_packus_epi32(x, x), 0x08);
    _mm_storeu_si128((void *)p, _mm256_castsi256_si128(t));
}
#endif

CR_INLINE vec load_half(const uint16_t *p, const bool bf16) {
    return bf16 ? floats(ivleft(widen(p), 16)) : fp16_load(p);
}
CR_INLINE float load_one(const uint16_t *p, const bool bf16) {
    return bf16 ? cr_bf16_unpack(*p) : cr_fp16_unpack(*p);
}

CR_INLINE void from_all(float *out, const uint16_t *x, int64_t n, const bool bf16) {
    int64_t i = 0;
    for (; i + VL <= n; i += VL)
        vstore(out + i, load_half(x + i, bf16));
    for (; i < n; i++)
        out[i] = load_one(x + i, bf16);
}

void KERN(from16)(float *out, const uint16_t *x, int64_t n, int half) {
    if (half == CR_HALF_BF16)
        from_all(out, x, n, true);
    else
        from_all(out, x, n, false);
}

/* bf16_near is cr_bf16_near of base/half.h. FP16 has an instruction, which keeps more of a NaN than
 * cr_fp16_near. */
CR_INLINE ivec bf16_near(ivec u) {
    ivec up = ivadd(ivadd(u, ivset1(0x7fff)), ivand(ivright(u, 16), ivset1(1)));
    ivec a = ivand(u, ivset1(0x7fffffff));
    return if_above(a, ivset1(0x7f800000), ivor(u, ivset1(0x00400000)), up);
}
CR_INLINE vec one_nan(ivec u) {
    ivec nan = ivor(ivand(u, ivset1(0x80000000u)), ivset1(0x7fc00000));
    return floats(if_above(ivand(u, ivset1(0x7fffffff)), ivset1(0x7f800000), nan, u));
}

void KERN(to16)(uint16_t *out, const float *x, int64_t n, int half) {
    int64_t i = 0;
    if (half == CR_HALF_BF16) {
        for (; i + VL <= n; i += VL)
            narrow(out + i, ivright(bf16_near(bits(vload(x + i))), 16));
        for (; i < n; i++)
            out[i] = (uint16_t)(cr_bf16_near(cr_f32_bits(x[i])) >> 16);
    } else {
        for (; i + VL <= n; i += VL)
            fp16_save(out + i, one_nan(bits(vload(x + i))));
        for (; i < n; i++)
            out[i] = cr_fp16_pack(cr_fp16_near(cr_f32_bits(x[i])));
    }
}

/* These are cr_bf16_chance and cr_fp16_chance of base/half.h. */
CR_INLINE ivec bf16_by_chance(ivec u, ivec r) {
    const ivec inf = ivset1(0x7f800000), upper = ivset1(0xffff0000u);
    ivec up = ivand(ivadd(u, r), upper), a = ivand(u, ivset1(0x7fffffff));
    ivec top = ivand(up, ivset1(0x7fffffff)), down = ivand(u, upper);
    /* it became infinite, or was a NaN before */
    ivec v = if_above(inf, top, up, down);
    return if_above(a, inf, ivor(down, ivset1(0x00400000)), v);
}
CR_INLINE vec fp16_by_chance(ivec u, ivec r) {
    ivec a = ivand(u, ivset1(0x7fffffff)), low = ivset1(0x38800000), most = ivset1(0x477fe000);
    ivec normal = ivand(ivadd(a, ivright(r, 3)), ivset1(0xffffe000u));
    normal = if_above(normal, most, most, normal);
    ivec small = if_above(low, a, a, ivset1(0));
    vec scaled = vadd(vmul(floats(small), vset1(16777216.0f)), vmul(to_float(r), vset1(0x1p-16f)));
    ivec tiny = bits(vmul(to_float(to_int(scaled)), vset1(0x1p-24f)));
    ivec v = if_above(low, a, tiny, normal);
    v = if_above(a, ivset1(0x7f7fffff), if_above(a, ivset1(0x7f800000), ivset1(0x7fc00000), a), v);
    return floats(ivor(v, ivand(u, ivset1(0x80000000u))));
}

void KERN(to16_chance)(uint16_t *out, const float *x, const uint16_t *rnd, int64_t n, int half) {
    int64_t i = 0;
    if (half == CR_HALF_BF16) {
        for (; i + VL <= n; i += VL)
            narrow(out + i, ivright(bf16_by_chance(bits(vload(x + i)), widen(rnd + i)), 16));
        for (; i < n; i++)
            out[i] = (uint16_t)(cr_bf16_chance(cr_f32_bits(x[i]), rnd[i]) >> 16);
    } else {
        for (; i + VL <= n; i += VL)
            fp16_save(out + i, fp16_by_chance(bits(vload(x + i)), widen(rnd + i)));
        for (; i < n; i++)
            out[i] = cr_fp16_pack(cr_fp16_chance(cr_f32_bits(x[i]), rnd[i]));
    }
}

/* mix is cr_mix64 for a vector of 64-bit words. */
#ifdef __AVX512F__
CR_INLINE ivec mix(ivec x) {
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 30));
    x = _mm512_mullo_epi64(x, _mm512_set1_epi64((long long)0xbf58476d1ce4e5b9u));
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 27));
    x = _mm512_mullo_epi64(x, _mm512_set1_epi64((long long)0x94d049bb133111ebu));
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
}
#define words(base, step) _mm512_add_epi64(_mm512_set1_epi64((long long)(base)), step)
#define save_words(p, x)  _mm512_storeu_si512(p, x)
#else
CR_INLINE ivec times(ivec x, uint64_t c) {
    ivec lo = _mm256_set1_epi64x((long long)c), hi = _mm256_set1_epi64x((long long)(c >> 32));
    ivec mid =
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), lo), _mm256_mul_epu32(x, hi));
    return _mm256_add_epi64(_mm256_mul_epu32(x, lo), _mm256_slli_epi64(mid, 32));
}
CR_INLINE ivec mix(ivec x) {
    x = times(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)), 0xbf58476d1ce4e5b9u);
    x = times(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)), 0x94d049bb133111ebu);
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
}
#define words(base, step) _mm256_add_epi64(_mm256_set1_epi64x((long long)(base)), step)
#define save_words(p, x)  _mm256_storeu_si256((void *)(p), x)
#endif

void KERN(draw16)(uint16_t *rnd, uint64_t key, int64_t n) {
    enum { PER = 2 * VL }; /* draws from one vector of words */
    uint64_t first[VL / 2];
    for (int k = 0; k < VL / 2; k++)
        first[k] = (uint64_t)(4 * k + 1) * CR_RNG_STEP;
    ivec step;
    memcpy(&step, first, sizeof(step));
    for (int64_t i = 0; i < n; i += PER) {
        ivec u = mix(words(key + (uint64_t)i * CR_RNG_STEP, step));
        if (i + PER <= n) {
            save_words(rnd + i, u);
        } else {
            memcpy(first, &u, sizeof(u));
            memcpy(rnd + i, first, (size_t)(n - i) * sizeof(*rnd));
        }
    }
}

/* pool_all pools one bag: the sums of a vector of columns stay in a register. */
CR_INLINE void pool_all(float *out, const uint16_t *table, int64_t stride, const int64_t *ids,
                        const float *w, int64_t n, int64_t D, const bool bf16) {
    int64_t d = 0;
    for (; d + VL <= D; d += VL) {
        vec s = vzero();
        for (int64_t i = 0; i < n; i++)
            s = vadd(s, vmul(vset1(w ? w[i] : 1.0f), load_half(table + ids[i] * stride + d, bf16)));
        vstore(out + d, s);
    }
    for (; d < D; d++) {
        float s = 0;
        for (int64_t i = 0; i < n; i++)
            s = s + (w ? w[i] : 1.0f) * load_one(table + ids[i] * stride + d, bf16);
        out[d] = s;
    }
}

void KERN(pool16)(float *out, const uint16_t *table, int64_t stride, const int64_t *ids,
                  const float *w, int64_t n, int64_t D, int half) {
    if (half == CR_HALF_BF16)
        pool_all(out, table, stride, ids, w, n, D, true);
    else
        pool_all(out, table, stride, ids, w, n, D, false);
}
