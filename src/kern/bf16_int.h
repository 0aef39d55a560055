/*
 * bf16_int.h - shared by the BF16 products: how a float becomes parts, where the parts are stored,
 * and in which order they are multiplied.
 *
 * The order is that of the tile unit of Intel CPUs (AMX), on every level. Along k a sum is cut into
 * blocks of 32. Inside a block there are two chains of fused multiply-adds from +0, one over even k
 * and one over odd k; then s = s + (even + odd). A block is always whole: zeros follow the last k.
 *
 * A float is one BF16 value (the nearest, ties to even; a denormal counts as zero), or the sum of
 * two or three of them, its parts: part 0 is near(x), part 1 is near(x - part 0), and so on; the
 * differences are exact, but those that are denormal count as zero too. With two parts a block is
 * multiplied three times, with three parts six times (bf16_order); the products of small parts are
 * left out.
 */
#ifndef CR_KERN_BF16_INT_H
#define CR_KERN_BF16_INT_H

#include "base/half.h"
#include "kern/kern_int.h"
#include "kern/odd_int.h"

enum { BF16_UNIT = CR_BF16_BLOCK * CR_GEMM_NR / 2 }; /* words of a block of a panel */

/* Sizes of the blocks of A that are rounded into the scratch memory at a time: the vector kernels
 * take BF16_MC rows of BF16_KC columns, or BF16_MT columns of TN_KC rows; the tile unit takes
 * bf16_tile_rows rows. */
enum { BF16_MC = 42, BF16_KC = 512, BF16_MT = 96 };
static inline int64_t bf16_tile_rows(int parts) {
    return parts == 1 ? 256 : 128;
}
/* Words from a pair of rows of A to the next, for M columns, where gemm_pairs.c takes A^T: whole
 * vectors, and never a multiple of the size of a page. */
#define PAIRS_LD(M) (((M) + 31) / 32 * 32 + 16)
static inline int64_t bf16_blocks(int64_t K) {
    return (K + CR_BF16_BLOCK - 1) / CR_BF16_BLOCK;
}

/* The pairs of the last block that are not zeros alone. */
static inline int bf16_last_pairs(int64_t K) {
    return (int)((K - (bf16_blocks(K) - 1) * CR_BF16_BLOCK + 1) / 2);
}

/* The products of parts, in order: parts a of A with b of B. */
typedef struct bf16_pair_of_parts {
    signed char a, b;
} bf16_pair_of_parts;
enum { BF16_PRODUCTS = 6 };
static const bf16_pair_of_parts bf16_order[3][BF16_PRODUCTS] = {
    {{0, 0}},
    {{0, 1}, {0, 0}, {1, 0}},
    {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {0, 0}},
};
#define BF16_N_PRODUCTS(parts) ((parts) == 1 ? 1 : (parts) == 2 ? 3 : 6)

/* bf16_near returns the bits of the BF16 value of x as a float; the lower 16 are zero. */
CR_INLINE uint32_t bf16_near(float x) {
    uint32_t u = cr_f32_bits(x), r = u + 0x7fffu + ((u >> 16) & 1u);
    int32_t a = (int32_t)(u & 0x7fffffffu); /* AVX2 compares signed integers only */
    r = a < 0x00800000 ? u & 0x80000000u : a > 0x7f800000 ? u | 0x00400000u : r;
    return r & 0xffff0000u;
}

/* bf16_flush turns denormals into zero. */
CR_INLINE float bf16_flush(float x) {
    uint32_t u = cr_f32_bits(x);
    return (u & 0x7f800000u) == 0 ? cr_f32_of_bits(u & 0x80000000u) : x;
}

/* bf16_rest returns what a part (the bits of near(x)) leaves of x for the next one. */
CR_INLINE float bf16_rest(float x, uint32_t part) {
    return bf16_flush(bf16_flush(x) - cr_f32_of_bits(part));
}

/* A sum of at least this size rounds to the smallest normal float or above when the exponent has no
 * bound: CPUs decide by the rounded result. */
#define BF16_TINY (0x1p-126 - 0x1p-151)

/* bf16_step adds a * b to c in one rounding; none of the three is denormal, and a denormal result
 * becomes zero. The product of two BF16 values is exact in double; the sum is rounded to odd, so
 * that it can be compared with the bound and rounded to float as if it had been exact. */
CR_INLINE float bf16_step(float a, float b, float c) {
    double s = sum_to_odd((double)a * (double)b, (double)c);
    float r = (float)s;
    return s < BF16_TINY && s > -BF16_TINY ? cr_f32_of_bits(cr_f32_bits(r) & 0x80000000u) : r;
}

/* bf16_finish applies the steps after the sums at column n of a row, in plain C. bias is the bias,
 * or a row of the mask; else it may be NULL. */
CR_INLINE float bf16_finish(float s, int flags, const float *bias, int64_t n) {
    if (flags & CR_GEMM_BIAS) s = bf16_flush(s + bf16_flush(bias[n]));
    if (flags & CR_GEMM_RELU) s = s <= 0 ? 0 : s;
    if (flags & CR_GEMM_MASK) s = bf16_flush(bias[n]) > 0 ? s : 0;
    return s;
}

/* bf16_flags returns the flags for the block [k0, k0 + kc) of K: later blocks go on from C, and
 * only the last one applies bias, ReLU and mask. */
CR_INLINE int bf16_flags(int flags, int64_t k0, int64_t kc, int64_t K) {
    if (k0 > 0) flags |= CR_GEMM_ACC;
    return k0 + kc < K ? flags & CR_GEMM_ACC : flags;
}

/* bf16_empty handles K = 0: nothing is summed, but C is read and the result written by the same
 * rule. */
static inline void bf16_empty(float *C, int64_t ldc, int64_t M, int64_t N, int flags,
                              const float *bias) {
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            float *c = C + m * ldc + n;
            *c = bf16_finish(flags & CR_GEMM_ACC ? bf16_flush(*c) : 0, flags,
                             bias && flags & CR_GEMM_MASK ? bias + m * ldc : bias, n);
        }
}

#endif
