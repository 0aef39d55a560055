/*
 * body_half_row.c - rows of 16-bit tables in plain C. They define the result that x86/half.c has to
 * match bit by bit.
 */
#include "base/half.h"
#include "base/rng.h"
#include "kern/kern_int.h"

CR_INLINE float value(uint16_t h, int half) {
    return half == CR_HALF_BF16 ? cr_bf16_unpack(h) : cr_fp16_unpack(h);
}

void KERN(from16)(float *out, const uint16_t *x, int64_t n, int half) {
    for (int64_t i = 0; i < n; i++)
        out[i] = value(x[i], half);
}

void KERN(to16)(uint16_t *out, const float *x, int64_t n, int half) {
    for (int64_t i = 0; i < n; i++)
        out[i] = half == CR_HALF_BF16 ? (uint16_t)(cr_bf16_near(cr_f32_bits(x[i])) >> 16)
                                      : cr_fp16_pack(cr_fp16_near(cr_f32_bits(x[i])));
}

void KERN(to16_chance)(uint16_t *out, const float *x, const uint16_t *rnd, int64_t n, int half) {
    for (int64_t i = 0; i < n; i++)
        out[i] = half == CR_HALF_BF16 ? (uint16_t)(cr_bf16_chance(cr_f32_bits(x[i]), rnd[i]) >> 16)
                                      : cr_fp16_pack(cr_fp16_chance(cr_f32_bits(x[i]), rnd[i]));
}

void KERN(draw16)(uint16_t *rnd, uint64_t key, int64_t n) {
    for (int64_t i = 0; i < n; i += 4) {
        uint64_t u = cr_rng_u64(key, (uint64_t)i);
        for (int64_t k = i; k < i + 4 && k < n; k++, u >>= 16)
            rnd[k] = (uint16_t)u;
    }
}

void KERN(pool16)(float *out, const uint16_t *table, int64_t stride, const int64_t *ids,
                  const float *w, int64_t n, int64_t D, int half) {
    for (int64_t d = 0; d < D; d++)
        out[d] = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint16_t *row = table + ids[i] * stride;
        float c = w ? w[i] : 1.0f;
        for (int64_t d = 0; d < D; d++)
            out[d] = out[d] + c * value(row[d], half);
    }
}
