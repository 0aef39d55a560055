/*
 * x86/bf16_vec_int.h - vectors of floats rounded to BF16, for AVX2 and AVX-512, and the control
 * register during BF16 products.
 */
#ifndef CR_KERN_X86_BF16_VEC_INT_H
#define CR_KERN_X86_BF16_VEC_INT_H

#include "kern/bf16_int.h"
#include "kern/x86/vec_int.h"

#define NOINLINE __attribute__((noinline))

/* Bits of the control register: flush to zero, denormals are zero. Trap: the compiler may move
 * arithmetic across a change of the register, so the work is always in a separate function. */
enum { BF16_DENORMALS_ZERO = 0x8040 };

/* vround rounds as bf16_near does; what a denormal carries into the exponent is cut off with its
 * mantissa. vupper and vlower give the odd and the even value of each word as a float. */
#ifdef __AVX512F__
typedef __m512i ivec;
#define ivload(p)  _mm512_loadu_si512(p)
#define vsub(a, b) _mm512_sub_ps(a, b)
#define vupper(x)  _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000u)))
#define vlower(x)  _mm512_castsi512_ps(_mm512_slli_epi32(x, 16))
CR_INLINE vec vround(vec x) {
#define ALL(c) _mm512_set1_epi32((int)(c))
    ivec u = _mm512_castps_si512(x);
    ivec r = _mm512_add_epi32(u, ALL(0x7fff));
    r = _mm512_add_epi32(r, _mm512_and_si512(_mm512_srli_epi32(u, 16), ALL(1)));
    r = _mm512_mask_or_epi32(r, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), u, ALL(0x00400000));
    ivec keep = _mm512_mask_mov_epi32(ALL(0x80000000u), _mm512_test_epi32_mask(u, ALL(0x7f800000)),
                                      ALL(0xffff0000u));
    return _mm512_castsi512_ps(_mm512_and_si512(r, keep));
#undef ALL
}
#elif defined(__AVX2__)
typedef __m256i ivec;
#define ivload(p)  _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define vsub(a, b) _mm256_sub_ps(a, b)
#define vupper(x)  _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32((int)0xffff0000u)))
#define vlower(x)  _mm256_castsi256_ps(_mm256_slli_epi32(x, 16))
CR_INLINE vec vround(vec x) {
#define ALL(c)     _mm256_set1_epi32((int)(c))
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

#endif
