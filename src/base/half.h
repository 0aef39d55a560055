/*
 * half.h - one 16-bit float at a time: BF16 (8 bits of exponent, 7 of mantissa) and FP16 (5 and
 * 10). Conversions are integer arithmetic on the bits, so every CPU level gives the same result;
 * rounding is to nearest even, or stochastic from bits that the caller draws.
 */
#ifndef CR_BASE_HALF_H
#define CR_BASE_HALF_H

#include <stdint.h>
#include <string.h>

#include "base/err.h"

CR_INLINE uint32_t cr_f32_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof(u));
    return u;
}
CR_INLINE float cr_f32_of_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof(x));
    return x;
}

/* nearest BF16 value, as float bits; NaN stays NaN */
CR_INLINE uint32_t cr_bf16_near(uint32_t u) {
    uint32_t r = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
    return (u & 0x7fffffffu) > 0x7f800000u ? (u | 0x00400000u) & 0xffff0000u : r;
}

/* nearest FP16 value, as float bits. Below 2^-14 the FP16 values are the multiples of 2^-24, and so
 * are the floats just above 0.5: adding 0.5 and subtracting it rounds to them. */
CR_INLINE uint32_t cr_fp16_near(uint32_t u) {
    uint32_t sign = u & 0x80000000u, a = u & 0x7fffffffu;
    uint32_t normal = (a + 0xfffu + ((a >> 13) & 1u)) & 0xffffe000u;
    float grid = cr_f32_of_bits(a) + 0.5f;
    uint32_t tiny = cr_f32_bits(grid - 0.5f);
    uint32_t r = a < 0x38800000u ? tiny : a >= 0x477ff000u ? 0x7f800000u : normal;
    r = a > 0x7f800000u ? 0x7fc00000u : r;
    return r | sign;
}

/* FP16 bits of a float that is an FP16 value */
CR_INLINE uint16_t cr_fp16_pack(uint32_t u) {
    uint32_t sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    uint32_t normal = (a - 0x38000000u) >> 13;
    /* below 2^-14: multiples of 2^-24 */
    uint32_t tiny = (uint32_t)(int32_t)(cr_f32_of_bits(a < 0x38800000u ? a : 0) * 16777216.0f);
    uint32_t r = a < 0x38800000u    ? tiny
                 : a > 0x7f800000u  ? 0x7e00u
                 : a == 0x7f800000u ? 0x7c00u
                                    : normal;
    return (uint16_t)(r | sign);
}

CR_INLINE float cr_fp16_unpack(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h & 0x7c00u, m = h & 0x3ffu;
    uint32_t normal = ((uint32_t)(h & 0x7fffu) << 13) + 0x38000000u;
    uint32_t tiny = cr_f32_bits((float)(int32_t)m * 0x1p-24f);
    uint32_t nan = m ? 0x00400000u : 0; /* a quiet NaN, as CPUs make it */
    uint32_t r = e == 0 ? tiny : e == 0x7c00u ? 0x7f800000u | nan | m << 13 : normal;
    return cr_f32_of_bits(r | sign);
}

CR_INLINE float cr_bf16_unpack(uint16_t h) {
    return cr_f32_of_bits((uint32_t)h << 16);
}

/* The magnitude is rounded up or down at random, up with the probability of its distance from the
 * lower value; r holds 16 random bits. Values beyond the largest FP16 number become that number: a
 * weight must not become infinite by chance. */
CR_INLINE uint32_t cr_bf16_chance(uint32_t u, uint32_t r) {
    uint32_t up = (u + r) & 0xffff0000u;
    return (u & 0x7f800000u) == 0x7f800000u    ? cr_bf16_near(u)
           : (up & 0x7f800000u) == 0x7f800000u ? u & 0xffff0000u
                                               : up;
}

CR_INLINE uint32_t cr_fp16_chance(uint32_t u, uint32_t r) {
    uint32_t sign = u & 0x80000000u, a = u & 0x7fffffffu;
    uint32_t normal = (a + (r >> 3)) & 0xffffe000u;
    /* in units of 2^-24, plus a random fraction below one; the conversion to an integer cuts off */
    float scaled =
        cr_f32_of_bits(a < 0x38800000u ? a : 0) * 16777216.0f + (float)(int32_t)r * 0x1p-16f;
    uint32_t tiny = cr_f32_bits((float)(int32_t)scaled * 0x1p-24f);
    uint32_t v = a < 0x38800000u ? tiny : normal > 0x477fe000u ? 0x477fe000u : normal;
    return a >= 0x7f800000u ? cr_fp16_near(u) : v | sign;
}

#endif
