/*
 * x86/vec_int.h - a vector of VL floats for bodies that are compiled for AVX2 and for AVX-512, with
 * loads and stores of the first n.
 */
#ifndef CR_KERN_X86_VEC_INT_H
#define CR_KERN_X86_VEC_INT_H

#include <immintrin.h>

#include "kern/kern_int.h"

#ifdef __AVX512F__
enum { VL = 16 };
typedef __m512 vec;
typedef __mmask16 mask;
#define vzero()          _mm512_setzero_ps()
#define vload(p)         _mm512_loadu_ps(p)
#define vstore(p, x)     _mm512_storeu_ps(p, x)
#define vset1(x)         _mm512_set1_ps(x)
#define vfma(a, b, c)    _mm512_fmadd_ps(a, b, c)
#define vadd(a, b)       _mm512_add_ps(a, b)
#define vloadm(m, p)     _mm512_maskz_loadu_ps(m, p)
#define vstorem(p, m, x) _mm512_mask_storeu_ps(p, m, x)
CR_INLINE mask first(int64_t n) {
    return (mask)(n >= VL ? 0xffffu : n <= 0 ? 0u : (1u << n) - 1u);
}
/* vrelu: x > 0 or NaN ? x : 0 */
CR_INLINE vec vrelu(vec x) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, vzero(), _CMP_NLE_UQ), x);
}
/* vabove0: y > 0 ? x : 0 */
CR_INLINE vec vabove0(vec y, vec x) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(y, vzero(), _CMP_GT_OQ), x);
}
#elif defined(__AVX2__)
enum { VL = 8 };
typedef __m256 vec;
typedef __m256i mask;
#define vzero()          _mm256_setzero_ps()
#define vload(p)         _mm256_loadu_ps(p)
#define vstore(p, x)     _mm256_storeu_ps(p, x)
#define vset1(x)         _mm256_set1_ps(x)
#define vfma(a, b, c)    _mm256_fmadd_ps(a, b, c)
#define vadd(a, b)       _mm256_add_ps(a, b)
#define vloadm(m, p)     _mm256_maskload_ps(p, m)
#define vstorem(p, m, x) _mm256_maskstore_ps(p, m, x)
CR_INLINE mask first(int64_t n) {
    int k = n > VL ? VL : n < 0 ? 0 : (int)n;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(k), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
CR_INLINE vec vrelu(vec x) {
    return _mm256_and_ps(_mm256_cmp_ps(x, vzero(), _CMP_NLE_UQ), x);
}
CR_INLINE vec vabove0(vec y, vec x) {
    return _mm256_and_ps(_mm256_cmp_ps(y, vzero(), _CMP_GT_OQ), x);
}
#endif

#endif
