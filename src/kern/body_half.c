/*
 * body_half.c - arrays of floats rounded to 16 bits, nearest even (half_int.h).
 */
#include "kern/half_int.h"

void KERN(round16)(float *out, const float *x, int64_t n, int half) {
    if (half == CR_HALF_BF16) {
        SIMD for (int64_t i = 0; i < n; i++) out[i] = float_of(near_bf16(bits_of(x[i])));
    } else {
        SIMD for (int64_t i = 0; i < n; i++) out[i] = float_of(near_fp16(bits_of(x[i])));
    }
}

void KERN(to16)(uint16_t *out, const float *x, int64_t n, int half) {
    if (half == CR_HALF_BF16) {
        SIMD for (int64_t i = 0; i < n; i++) out[i] = (uint16_t)(near_bf16(bits_of(x[i])) >> 16);
    } else {
        SIMD for (int64_t i = 0; i < n; i++) out[i] = pack_fp16(near_fp16(bits_of(x[i])));
    }
}
