/*
 * bf16_int.h - shared by the BF16 products: how a float becomes an input, and where the input is
 * stored.
 *
 * An input is the nearest BF16 value (ties to even) of the float, and a denormal float counts as
 * zero. So a packed value is never denormal; AVX512_BF16's conversion follows the same rule. Two
 * neighbours along k share a 32-bit word, the earlier in its upper half: the CPU's dot product
 * takes the upper halves first, which makes its sums one ascending chain. An odd K ends with (-0) *
 * (+0), which leaves every sum as it is, -0 and infinities too.
 */
#ifndef CR_KERN_BF16_INT_H
#define CR_KERN_BF16_INT_H

#include "base/half.h"
#include "kern/kern_int.h"

#define BF16_PAD_A (-0.0f)
#define BF16_PAD_B 0.0f

/* Sizes of the blocks of A that are rounded into the scratch memory at a time. */
enum { BF16_MC = 56, BF16_KC = 512 };

/* bf16_near returns the bits of the BF16 value of x as a float; the lower 16 are zero. */
CR_INLINE uint32_t bf16_near(float x) {
    uint32_t u = cr_f32_bits(x), r = u + 0x7fffu + ((u >> 16) & 1u);
    int32_t a = (int32_t)(u & 0x7fffffffu); /* AVX2 compares signed integers only */
    r = a < 0x00800000 ? u & 0x80000000u : a > 0x7f800000 ? u | 0x00400000u : r;
    return r & 0xffff0000u;
}
CR_INLINE float bf16_round(float x) {
    return cr_f32_of_bits(bf16_near(x));
}
CR_INLINE uint32_t bf16_pair(float first, float second) {
    return bf16_near(first) | bf16_near(second) >> 16;
}

/* bf16_flush turns denormals into zero. */
CR_INLINE float bf16_flush(float x) {
    uint32_t u = cr_f32_bits(x);
    return (u & 0x7f800000u) == 0 ? cr_f32_of_bits(u & 0x80000000u) : x;
}

/* bf16_finish applies the steps after a chain in column n, in plain C. bias is read only with BIAS;
 * else it may be NULL. */
CR_INLINE float bf16_finish(float s, int flags, const float *bias, int64_t n) {
    if (flags & CR_GEMM_BIAS) s = bf16_flush(s + bf16_flush(bias[n]));
    if (flags & CR_GEMM_RELU) s = s <= 0 ? 0 : s;
    return s;
}

/* bf16_flags returns the flags for the block [k0, k0 + kc) of K: later blocks go on from C, and
 * only the last one applies bias and ReLU. */
CR_INLINE int bf16_flags(int flags, int64_t k0, int64_t kc, int64_t K) {
    if (k0 > 0) flags |= CR_GEMM_ACC;
    return k0 + kc < K ? flags & CR_GEMM_ACC : flags;
}

/* bf16_empty handles K = 0: there is no chain, but C is read and the result written by the same
 * rule. */
static inline void bf16_empty(float *C, int64_t ldc, int64_t M, int64_t N, int flags,
                              const float *bias) {
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            float *c = C + m * ldc + n;
            *c = bf16_finish(flags & CR_GEMM_ACC ? bf16_flush(*c) : 0, flags, bias, n);
        }
}

#endif
