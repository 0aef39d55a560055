/*
 * simd_x86.c - the kernels of simd.c with AVX2, and with AVX-512 where it has byte permutes (VBMI).
 *
 * Unpacking: 8 values of bw bits are bw bytes. A byte shuffle brings the bytes of each value into
 * its lane, a shift per lane drops the bits of the neighbour below, and a mask drops those above.
 * The switches make the width known at compile time, so that shuffle and shifts are constants.
 */
#include "parquet/decode_int.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include <zlib.h>

#include "parquet/simd_int.h"

#define AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt,pclmul")))
#define AVX512                                                                                     \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi,bmi2,popcnt")))

CR_INLINE uint64_t load64(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}
CR_INLINE uint32_t load32(const uint8_t *p) {
    uint32_t x;
    memcpy(&x, p, 4);
    return x;
}

/* ---- AVX2: unpacking ---- */

AVX2 static void unpack8_avx2(const uint8_t *in, uint8_t *out, size_t n, int bw) {
    if (bw == 1) {
        const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2,
                                                2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
        const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201u);
        for (size_t i = 0; i < n; i += 32, in += 4) {
            __m256i x = _mm256_shuffle_epi8(_mm256_set1_epi32((int)load32(in)), spread);
            x = _mm256_cmpeq_epi8(_mm256_and_si256(x, bit), bit);
            _mm256_storeu_si256((void *)(out + i), _mm256_and_si256(x, _mm256_set1_epi8(1)));
        }
        return;
    }
    const uint64_t mask = ((UINT64_C(1) << bw) - 1) * UINT64_C(0x0101010101010101);
    for (size_t i = 0; i < n; i += 8, in += bw) {
        uint64_t x = _pdep_u64(load64(in), mask);
        memcpy(out + i, &x, 8);
    }
}

/* B4 and its like list the bytes of the value that begins at bit b. */
#define B4(b) (char)((b) / 8), (char)((b) / 8 + 1), (char)((b) / 8 + 2), (char)((b) / 8 + 3)
#define B8(b) B4(b), B4((b) + 32)

AVX2 CR_INLINE void unpack32_bw_avx2(const uint8_t *in, uint32_t *out, size_t n, const int bw) {
    const int hi = 4 * bw / 8, s = 4 * bw % 8; /* the byte and bit at which value 4 begins */
    if (bw == 32) {
        memcpy(out, in, n * 4);
    } else if (bw <= 25) {
        const __m256i bytes = _mm256_setr_epi8(B4(0), B4(bw), B4(2 * bw), B4(3 * bw), B4(s),
                                               B4(s + bw), B4(s + 2 * bw), B4(s + 3 * bw));
        const __m256i shift = _mm256_setr_epi32(0, bw % 8, 2 * bw % 8, 3 * bw % 8, s % 8,
                                                (s + bw) % 8, (s + 2 * bw) % 8, (s + 3 * bw) % 8);
        const __m256i mask = _mm256_set1_epi32((int)((1u << bw) - 1));
        for (size_t i = 0; i < n; i += 8, in += bw) {
            __m128i a = _mm_loadu_si128((const void *)in);
            __m128i b = _mm_loadu_si128((const void *)(in + hi));
            __m256i x = _mm256_shuffle_epi8(_mm256_set_m128i(b, a), bytes);
            x = _mm256_and_si256(_mm256_srlv_epi32(x, shift), mask);
            _mm256_storeu_si256((void *)(out + i), x);
        }
    } else {
        /* too wide for 32-bit lanes: use four values in 64-bit lanes, two for each 128 bits */
        const int t = 2 * bw % 8, u = (s + 2 * bw) % 8;
        const __m256i bytes = _mm256_setr_epi8(B8(0), B8(bw), B8(t), B8(t + bw));
        const __m256i bytes2 = _mm256_setr_epi8(B8(s), B8(s + bw), B8(u), B8(u + bw));
        const __m256i shift = _mm256_setr_epi64x(0, bw % 8, t, (t + bw) % 8);
        const __m256i shift2 = _mm256_setr_epi64x(s, (s + bw) % 8, u, (u + bw) % 8);
        const __m256i mask = _mm256_set1_epi64x((long long)((UINT64_C(1) << bw) - 1));
        const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
        for (size_t i = 0; i < n; i += 8, in += bw) {
            __m128i a = _mm_loadu_si128((const void *)in);
            __m128i b = _mm_loadu_si128((const void *)(in + 2 * bw / 8));
            __m128i c = _mm_loadu_si128((const void *)(in + hi));
            __m128i d = _mm_loadu_si128((const void *)(in + hi + (s + 2 * bw) / 8));
            __m256i x = _mm256_shuffle_epi8(_mm256_set_m128i(b, a), bytes);
            __m256i y = _mm256_shuffle_epi8(_mm256_set_m128i(d, c), bytes2);
            x = _mm256_and_si256(_mm256_srlv_epi64(x, shift), mask);
            y = _mm256_and_si256(_mm256_srlv_epi64(y, shift2), mask);
            x = _mm256_permutevar8x32_epi32(x, even);
            y = _mm256_permutevar8x32_epi32(y, even);
            _mm256_storeu_si256((void *)(out + i), _mm256_blend_epi32(x, y, 0xf0));
        }
    }
}

AVX2 static void unpack32_avx2(const uint8_t *in, uint32_t *out, size_t n, int bw) {
#define CASE(b)                                                                                    \
    case b: unpack32_bw_avx2(in, out, n, b); break;
    switch (bw) { CR_PQ_WIDTHS32(CASE) }
#undef CASE
}

/* ---- AVX2: the rest ---- */

/* places_avx2 gives the permutation that moves the next values to where `valid` (bytes of 0 or 1)
 * has ones. */
AVX2 CR_INLINE __m256i places_avx2(const uint8_t *valid, uint64_t *keep) {
    *keep = load64(valid) * 0xff;
    return _mm256_cvtepu8_epi32(
        _mm_cvtsi64_si128((long long)_pdep_u64(0x0706050403020100u, *keep)));
}

AVX2 static size_t expand32_avx2(uint32_t *out, const void *in, const uint8_t *valid, size_t n) {
    const uint8_t *p = in;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t keep;
        __m256i place = places_avx2(valid + i, &keep);
        __m256i mask = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128((long long)keep));
        __m256i x = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const void *)p), place);
        _mm256_storeu_si256((void *)(out + i), _mm256_and_si256(x, mask));
        p += 4 * (__builtin_popcountll(keep) / 8);
    }
    return (size_t)(p - (const uint8_t *)in) / 4 +
           cr_pq_kern_c.expand32(out + i, p, valid + i, n - i);
}

AVX2 static size_t expand64_avx2(uint64_t *out, const void *in, const uint8_t *valid, size_t n) {
    const uint8_t *p = in;
    const __m256i pair = _mm256_setr_epi32(0, 1, 0, 1, 0, 1, 0, 1);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        uint32_t keep = load32(valid + i) * 0xff;
        __m128i bytes = _mm_cvtsi32_si128((int)_pdep_u32(0x06040200u, keep));
        __m256i place = _mm256_cvtepu8_epi64(bytes);
        place = _mm256_add_epi32(_mm256_or_si256(place, _mm256_slli_epi64(place, 32)), pair);
        __m256i mask = _mm256_cvtepi8_epi64(_mm_cvtsi32_si128((int)keep));
        __m256i x = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const void *)p), place);
        _mm256_storeu_si256((void *)(out + i), _mm256_and_si256(x, mask));
        p += 8 * (__builtin_popcount(keep) / 8);
    }
    return (size_t)(p - (const uint8_t *)in) / 8 +
           cr_pq_kern_c.expand64(out + i, p, valid + i, n - i);
}

AVX2 static size_t expand8_avx2(uint8_t *out, const uint8_t *in, const uint8_t *valid, size_t n) {
    const uint8_t *p = in;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t keep = load64(valid + i) * 0xff, x = _pdep_u64(load64(p), keep);
        memcpy(out + i, &x, 8);
        p += __builtin_popcountll(keep) / 8;
    }
    return (size_t)(p - in) + cr_pq_kern_c.expand8(out + i, p, valid + i, n - i);
}

AVX2 static uint32_t largest_avx2(const uint32_t *code, size_t n) {
    __m256i m = _mm256_setzero_si256(), m2 = m;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        m = _mm256_max_epu32(m, _mm256_loadu_si256((const void *)(code + i)));
        m2 = _mm256_max_epu32(m2, _mm256_loadu_si256((const void *)(code + i + 8)));
    }
    uint32_t v[8], most = 0;
    _mm256_storeu_si256((void *)v, _mm256_max_epu32(m, m2));
    for (int j = 0; j < 8; j++)
        most = v[j] > most ? v[j] : most;
    for (; i < n; i++)
        most = code[i] > most ? code[i] : most;
    return most;
}

AVX2 static size_t count_avx2(const uint8_t *v, size_t n) {
    __m256i sum = _mm256_setzero_si256();
    const __m256i zero = sum;
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        sum =
            _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_loadu_si256((const void *)(v + i)), zero));
    uint64_t part[4];
    _mm256_storeu_si256((void *)part, sum);
    size_t all = part[0] + part[1] + part[2] + part[3];
    for (; i < n; i++)
        all += v[i];
    return all;
}

AVX2 static size_t equal_avx2(const uint8_t *in, uint8_t x, uint8_t *out, size_t n) {
    const __m256i want = _mm256_set1_epi8((char)x), one = _mm256_set1_epi8(1);
    const __m256i zero = _mm256_setzero_si256();
    __m256i sum = zero;
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i is = _mm256_cmpeq_epi8(_mm256_loadu_si256((const void *)(in + i)), want);
        is = _mm256_and_si256(is, one);
        _mm256_storeu_si256((void *)(out + i), is);
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(is, zero));
    }
    uint64_t part[4];
    _mm256_storeu_si256((void *)part, sum);
    size_t all = part[0] + part[1] + part[2] + part[3];
    for (; i < n; i++)
        all += out[i] = in[i] == x;
    return all;
}

AVX2 static void reach_avx2(const uint8_t *in, uint8_t x, size_t n, uint64_t *out) {
    const __m256i least = _mm256_set1_epi8((char)x);
    for (size_t i = 0; i < n; i += 64) {
        __m256i a = _mm256_loadu_si256((const void *)(in + i));
        __m256i b = _mm256_loadu_si256((const void *)(in + i + 32));
        a = _mm256_cmpeq_epi8(_mm256_max_epu8(a, least), a);
        b = _mm256_cmpeq_epi8(_mm256_max_epu8(b, least), b);
        uint64_t lo = (uint32_t)_mm256_movemask_epi8(a), hi = (uint32_t)_mm256_movemask_epi8(b);
        out[i / 64] = lo | hi << 32;
    }
    if (n % 64) out[n / 64] &= (UINT64_C(1) << n % 64) - 1;
}

AVX2 static size_t lists_avx2(const uint64_t *begins, const uint64_t *items, const uint64_t *there,
                              size_t words, int32_t first, int32_t *off, uint8_t *valid,
                              size_t *n_items) {
    return cr_pq_lists_body(begins, items, there, words, first, off, valid, n_items);
}

AVX2 static size_t bits_at_avx2(const uint64_t *bits, const uint64_t *where, size_t words,
                                uint8_t *out) {
    size_t n = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t m = _pext_u64(bits[i], where[i]);
        size_t some = (size_t)__builtin_popcountll(where[i]);
        for (size_t j = 0; j < some; j += 8, m >>= 8) {
            uint64_t x = _pdep_u64(m, 0x0101010101010101u);
            memcpy(out + n + j, &x, 8);
        }
        n += some;
    }
    return n;
}

/* walk_avx2 takes strings eight at a time while all are as long as the previous one: independent
 * loads check that, while a walk from length to length waits for each load. */
AVX2 static size_t walk_avx2(const uint8_t *page, size_t *at, size_t size, uint32_t base,
                             uint32_t *beg, uint32_t *end, size_t n) {
    size_t p = *at, i = 0;
    unsigned same = 0; /* how many equal lengths were seen in a row */
    size_t last = SIZE_MAX;
    const __m256i seq = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    while (i < n && size - p >= 4) {
        if (same >= 8 && n - i >= 8 && last <= 4096 && (size - p) / (last + 4) >= 8) {
            const __m256i step = _mm256_mullo_epi32(seq, _mm256_set1_epi32((int)last + 4));
            __m256i len = _mm256_i32gather_epi32((const int *)(const void *)(page + p), step, 1);
            __m256i is = _mm256_cmpeq_epi32(len, _mm256_set1_epi32((int)last));
            if (_mm256_movemask_epi8(is) == -1) {
                __m256i b =
                    _mm256_add_epi32(step, _mm256_set1_epi32((int)(base + (uint32_t)p + 4)));
                _mm256_storeu_si256((void *)(beg + i), b);
                b = _mm256_add_epi32(b, _mm256_set1_epi32((int)last));
                _mm256_storeu_si256((void *)(end + i), b);
                p += 8 * (last + 4);
                i += 8;
                continue;
            }
            same = 0;
        }
        size_t len = load32(page + p);
        if (len > size - p - 4) break;
        same = len == last ? same + 1 : 0;
        last = len;
        beg[i] = base + (uint32_t)(p + 4);
        p += 4 + len;
        end[i++] = base + (uint32_t)p;
    }
    *at = p;
    return i;
}

AVX2 static void split4_avx2(const uint8_t *in, size_t stride, uint8_t *out, size_t n) {
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i a = _mm256_loadu_si256((const void *)(in + i));
        __m256i b = _mm256_loadu_si256((const void *)(in + stride + i));
        __m256i c = _mm256_loadu_si256((const void *)(in + 2 * stride + i));
        __m256i d = _mm256_loadu_si256((const void *)(in + 3 * stride + i));
        __m256i ab = _mm256_unpacklo_epi8(a, b), ab2 = _mm256_unpackhi_epi8(a, b);
        __m256i cd = _mm256_unpacklo_epi8(c, d), cd2 = _mm256_unpackhi_epi8(c, d);
        __m256i r0 = _mm256_unpacklo_epi16(ab, cd), r1 = _mm256_unpackhi_epi16(ab, cd);
        __m256i r2 = _mm256_unpacklo_epi16(ab2, cd2), r3 = _mm256_unpackhi_epi16(ab2, cd2);
        uint8_t *o = out + 4 * i;
        _mm256_storeu_si256((void *)o, _mm256_permute2x128_si256(r0, r1, 0x20));
        _mm256_storeu_si256((void *)(o + 32), _mm256_permute2x128_si256(r2, r3, 0x20));
        _mm256_storeu_si256((void *)(o + 64), _mm256_permute2x128_si256(r0, r1, 0x31));
        _mm256_storeu_si256((void *)(o + 96), _mm256_permute2x128_si256(r2, r3, 0x31));
    }
    cr_pq_kern_c.split4(in + i, stride, out + 4 * i, n - i);
}

AVX2 static void split8_avx2(const uint8_t *in, size_t stride, uint8_t *out, size_t n) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m128i v[8], t[8];
        for (size_t b = 0; b < 8; b++)
            v[b] = _mm_loadu_si128((const void *)(in + b * stride + i));
        for (size_t b = 0; b < 4; b++) { /* bytes of neighbours: 01 23 45 67, low and high half */
            t[b] = _mm_unpacklo_epi8(v[2 * b], v[2 * b + 1]);
            t[b + 4] = _mm_unpackhi_epi8(v[2 * b], v[2 * b + 1]);
        }
        for (size_t h = 0; h < 2; h++) {
            __m128i q0 = _mm_unpacklo_epi16(t[4 * h], t[4 * h + 1]);
            __m128i q1 = _mm_unpackhi_epi16(t[4 * h], t[4 * h + 1]);
            __m128i q2 = _mm_unpacklo_epi16(t[4 * h + 2], t[4 * h + 3]);
            __m128i q3 = _mm_unpackhi_epi16(t[4 * h + 2], t[4 * h + 3]);
            uint8_t *o = out + 8 * i + 64 * h;
            _mm_storeu_si128((void *)o, _mm_unpacklo_epi32(q0, q2));
            _mm_storeu_si128((void *)(o + 16), _mm_unpackhi_epi32(q0, q2));
            _mm_storeu_si128((void *)(o + 32), _mm_unpacklo_epi32(q1, q3));
            _mm_storeu_si128((void *)(o + 48), _mm_unpackhi_epi32(q1, q3));
        }
    }
    cr_pq_kern_c.split8(in + i, stride, out + 8 * i, n - i);
}

/* Folding multiplies 64 bytes of input onto the next 64 modulo the polynomial, until only the last
 * 16 bytes are left; these have the same remainder and go through zlib. The constants are the
 * powers x^(512 + 32), x^(512 - 32), x^(128 + 32), x^(128 - 32) modulo the polynomial, with their
 * bits reversed. */
AVX2 CR_INLINE __m128i fold(__m128i x, __m128i k, __m128i next) {
    __m128i lo = _mm_clmulepi64_si128(x, k, 0x00), hi = _mm_clmulepi64_si128(x, k, 0x11);
    return _mm_xor_si128(_mm_xor_si128(lo, hi), next);
}

AVX2 static uint32_t crc_avx2(const uint8_t *in, size_t n) {
    if (n < 128) return cr_pq_kern_c.crc(in, n);
    const __m128i far = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i near = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    __m128i x[4];
    for (size_t i = 0; i < 4; i++)
        x[i] = _mm_loadu_si128((const void *)(in + 16 * i));
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(-1));
    in += 64;
    n -= 64;
    for (; n >= 64; in += 64, n -= 64) {
        for (size_t i = 0; i < 4; i++)
            x[i] = fold(x[i], far, _mm_loadu_si128((const void *)(in + 16 * i)));
    }
    for (size_t i = 1; i < 4; i++)
        x[i] = fold(x[i - 1], near, x[i]);
    for (; n >= 16; in += 16, n -= 16)
        x[3] = fold(x[3], near, _mm_loadu_si128((const void *)in));
    uint8_t last[16];
    _mm_storeu_si128((void *)last, x[3]);
    /* zlib inverts its state before and after */
    return (uint32_t)crc32_z(crc32_z(0xffffffff, last, 16), in, n);
}

/* ---- AVX-512 ---- */

AVX512 static void unpack8_avx512(const uint8_t *in, uint8_t *out, size_t n, int bw) {
    if (bw == 1) {
        for (size_t i = 0; i < n; i += 64, in += 8)
            _mm512_storeu_si512((void *)(out + i), _mm512_maskz_set1_epi8(load64(in), 1));
        return;
    }
    const uint64_t mask = ((UINT64_C(1) << bw) - 1) * UINT64_C(0x0101010101010101);
    for (size_t i = 0; i < n; i += 8, in += bw) {
        uint64_t x = _pdep_u64(load64(in), mask);
        memcpy(out + i, &x, 8);
    }
}

/* W4 gives four byte numbers of a permute: b / 8 and the three after it. */
#define W4(b) (int)((unsigned)((b) / 8) * 0x01010101u + 0x03020100u)

AVX512 CR_INLINE void unpack32_bw_avx512(const uint8_t *in, uint32_t *out, size_t n, const int bw) {
    if (bw == 32) {
        memcpy(out, in, n * 4);
    } else if (bw <= 25) {
        const __m512i bytes =
            _mm512_setr_epi32(W4(0), W4(bw), W4(2 * bw), W4(3 * bw), W4(4 * bw), W4(5 * bw),
                              W4(6 * bw), W4(7 * bw), W4(8 * bw), W4(9 * bw), W4(10 * bw),
                              W4(11 * bw), W4(12 * bw), W4(13 * bw), W4(14 * bw), W4(15 * bw));
        const __m512i shift =
            _mm512_setr_epi32(0, bw % 8, 2 * bw % 8, 3 * bw % 8, 4 * bw % 8, 5 * bw % 8, 6 * bw % 8,
                              7 * bw % 8, 0, bw % 8, 2 * bw % 8, 3 * bw % 8, 4 * bw % 8, 5 * bw % 8,
                              6 * bw % 8, 7 * bw % 8);
        const __m512i mask = _mm512_set1_epi32((int)((1u << bw) - 1));
        for (size_t i = 0; i < n; i += 16, in += 2 * bw) {
            __m512i x = _mm512_permutexvar_epi8(bytes, _mm512_loadu_si512((const void *)in));
            x = _mm512_and_si512(_mm512_srlv_epi32(x, shift), mask);
            _mm512_storeu_si512((void *)(out + i), x);
        }
    } else {
        const __m512i bytes =
            _mm512_setr_epi32(W4(0), W4(32), W4(bw), W4(bw + 32), W4(2 * bw), W4(2 * bw + 32),
                              W4(3 * bw), W4(3 * bw + 32), W4(4 * bw), W4(4 * bw + 32), W4(5 * bw),
                              W4(5 * bw + 32), W4(6 * bw), W4(6 * bw + 32), W4(7 * bw),
                              W4(7 * bw + 32));
        const __m512i shift = _mm512_setr_epi64(0, bw % 8, 2 * bw % 8, 3 * bw % 8, 4 * bw % 8,
                                                5 * bw % 8, 6 * bw % 8, 7 * bw % 8);
        const __m512i mask = _mm512_set1_epi64((long long)((UINT64_C(1) << bw) - 1));
        for (size_t i = 0; i < n; i += 8, in += bw) {
            __m512i x = _mm512_permutexvar_epi8(bytes, _mm512_loadu_si512((const void *)in));
            x = _mm512_and_si512(_mm512_srlv_epi64(x, shift), mask);
            _mm256_storeu_si256((void *)(out + i), _mm512_cvtepi64_epi32(x));
        }
    }
}

AVX512 static void unpack32_avx512(const uint8_t *in, uint32_t *out, size_t n, int bw) {
#define CASE(b)                                                                                    \
    case b: unpack32_bw_avx512(in, out, n, b); break;
    switch (bw) { CR_PQ_WIDTHS32(CASE) }
#undef CASE
}

AVX512 static void unpack64_avx512(const uint8_t *in, uint64_t *out, size_t n, int bw) {
    if (bw > 57) {
        cr_pq_kern_c.unpack64(in, out, n, bw);
        return;
    }
    const __m512i bit =
        _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(bw));
    const __m512i shift = _mm512_and_si512(bit, _mm512_set1_epi64(7));
    /* for every byte of a lane: the number of the lane's first byte, plus 0 .. 7 */
    __m512i bytes = _mm512_mullo_epi64(_mm512_srli_epi64(bit, 3),
                                       _mm512_set1_epi64((long long)0x0101010101010101u));
    bytes = _mm512_add_epi8(bytes, _mm512_set1_epi64((long long)0x0706050403020100u));
    const __m512i mask = _mm512_set1_epi64((long long)((UINT64_C(1) << bw) - 1));
    for (size_t i = 0; i < n; i += 8, in += bw) {
        __m512i x = _mm512_permutexvar_epi8(bytes, _mm512_loadu_si512((const void *)in));
        _mm512_storeu_si512((void *)(out + i), _mm512_and_si512(_mm512_srlv_epi64(x, shift), mask));
    }
}

/* on some CPUs the expanding load is slow from memory, and fast from a register */
AVX512 static size_t expand32_avx512(uint32_t *out, const void *in, const uint8_t *valid,
                                     size_t n) {
    const uint8_t *p = in;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m128i v = _mm_loadu_si128((const void *)(valid + i));
        __mmask16 m = _mm_test_epi8_mask(v, v);
        __m512i x = _mm512_maskz_expand_epi32(m, _mm512_loadu_si512((const void *)p));
        _mm512_storeu_si512((void *)(out + i), x);
        p += 4 * __builtin_popcount(m);
    }
    return (size_t)(p - (const uint8_t *)in) / 4 +
           cr_pq_kern_c.expand32(out + i, p, valid + i, n - i);
}

AVX512 static size_t expand64_avx512(uint64_t *out, const void *in, const uint8_t *valid,
                                     size_t n) {
    const uint8_t *p = in;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128i v = _mm_loadl_epi64((const void *)(valid + i));
        __mmask8 m = (__mmask8)_mm_test_epi8_mask(v, v);
        __m512i x = _mm512_maskz_expand_epi64(m, _mm512_loadu_si512((const void *)p));
        _mm512_storeu_si512((void *)(out + i), x);
        p += 8 * __builtin_popcount(m);
    }
    return (size_t)(p - (const uint8_t *)in) / 8 +
           cr_pq_kern_c.expand64(out + i, p, valid + i, n - i);
}

static const cr_pq_kern kern_avx2 = {unpack8_avx2,     unpack32_avx2,    cr_pq_unpack64_c,
                                     expand8_avx2,     expand32_avx2,    expand64_avx2,
                                     cr_pq_gather32_c, cr_pq_gather64_c, largest_avx2,
                                     count_avx2,       equal_avx2,       reach_avx2,
                                     lists_avx2,       bits_at_avx2,     walk_avx2,
                                     split4_avx2,      split8_avx2,      crc_avx2};
static const cr_pq_kern kern_avx512 = {unpack8_avx512,   unpack32_avx512,  unpack64_avx512,
                                       expand8_avx2,     expand32_avx512,  expand64_avx512,
                                       cr_pq_gather32_c, cr_pq_gather64_c, largest_avx2,
                                       count_avx2,       equal_avx2,       reach_avx2,
                                       lists_avx2,       bits_at_avx2,     walk_avx2,
                                       split4_avx2,      split8_avx2,      crc_avx2};

/* usable: the first CPUs with AVX-512 do not have VBMI. */
static cr_cpu_level usable(cr_cpu_level level) {
    __builtin_cpu_init();
    return level > CR_CPU_AVX2 && !__builtin_cpu_supports("avx512vbmi") ? CR_CPU_AVX2 : level;
}
#else
#define usable(level) (level)
#endif

const cr_pq_kern *cr_pq_kern_for(cr_cpu_level level) {
    static const cr_pq_kern *const of[CR_CPU_LEVELS] = {
        [CR_CPU_C] = &cr_pq_kern_c,
#if defined(__x86_64__)
        [CR_CPU_AVX2] = &kern_avx2,
        [CR_CPU_AVX512] = &kern_avx512,
#endif
    };
    return CR_CPU_PICK(of, usable(level));
}
