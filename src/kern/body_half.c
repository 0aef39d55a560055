/*
 * body_half.c - rounds floats to 16-bit values that stay stored as floats (base/half.h).
 */
#include "base/half.h"
#include "kern/kern_int.h"

void KERN(round16)(float *out, const float *x, int64_t n, int half) {
    if (half == CR_HALF_BF16) {
        SIMD for (int64_t i = 0; i < n; i++) out[i] =
            cr_f32_of_bits(cr_bf16_near(cr_f32_bits(x[i])));
    } else {
        SIMD for (int64_t i = 0; i < n; i++) out[i] =
            cr_f32_of_bits(cr_fp16_near(cr_f32_bits(x[i])));
    }
}
