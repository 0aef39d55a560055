/*
 * body_half.c - floats rounded to 16 bits and left floats (half_int.h).
 */
#include "kern/half_int.h"

void KERN(round16)(float *out, const float *x, int64_t n, int half) {
    if (half == CR_HALF_BF16) {
        SIMD for (int64_t i = 0; i < n; i++) out[i] = float_of(near_bf16(bits_of(x[i])));
    } else {
        SIMD for (int64_t i = 0; i < n; i++) out[i] = float_of(near_fp16(bits_of(x[i])));
    }
}
