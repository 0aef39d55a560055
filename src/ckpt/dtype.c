/*
 * dtype.c - number types of tensor files and their conversion to and from float.
 *
 * Half and bfloat16 are converted by bit arithmetic (round to nearest even, NaN stays NaN), so the
 * result is the same on every CPU. File data may be unaligned: everything goes through memcpy.
 */
#include "ckpt/safetensors.h"

#include <string.h>

#include "base/half.h"

static const struct {
    const char *name;
    int64_t size;
} types[CR_DT_COUNT] = {
    [CR_DT_F32] = {"F32", 4},   [CR_DT_F16] = {"F16", 2},         [CR_DT_BF16] = {"BF16", 2},
    [CR_DT_F64] = {"F64", 8},   [CR_DT_I64] = {"I64", 8},         [CR_DT_I32] = {"I32", 4},
    [CR_DT_I8] = {"I8", 1},     [CR_DT_U8] = {"U8", 1},           [CR_DT_I16] = {"I16", 2},
    [CR_DT_U16] = {"U16", 2},   [CR_DT_U32] = {"U32", 4},         [CR_DT_U64] = {"U64", 8},
    [CR_DT_BOOL] = {"BOOL", 1}, [CR_DT_F8_E4M3] = {"F8_E4M3", 1}, [CR_DT_F8_E5M2] = {"F8_E5M2", 1},
};

const char *cr_dtype_name(cr_dtype t) {
    return types[t].name;
}

int64_t cr_dtype_size(cr_dtype t) {
    return types[t].size;
}

/* Eight bits of the kind without infinities; NaN is 0x7f and 0xff. */
static float e4m3_to_float(uint8_t x) {
    uint32_t sign = (uint32_t)(x & 0x80u) << 24, exp = (x >> 3) & 15u, man = x & 7u;
    if ((x & 0x7fu) == 0x7fu) return cr_f32_of_bits(sign | 0x7fc00000u);
    if (exp != 0) return cr_f32_of_bits(sign | (exp + 120) << 23 | man << 20);
    float f = (float)man * 0x1p-9f;
    return sign ? -f : f;
}

static double clamp_round(float f, double lo, double hi) {
    if (!(f == f)) return 0;
    double x = f < 0 ? (double)f - 0.5 : (double)f + 0.5;
    return x < lo ? lo : x > hi ? hi : x;
}

#define TO_LOOP(T, expr)                                                                           \
    for (int64_t i = 0; i < n; i++) {                                                              \
        T x;                                                                                       \
        memcpy(&x, (const char *)raw + (size_t)i * sizeof x, sizeof x);                            \
        out[i] = (expr);                                                                           \
    }                                                                                              \
    break

void cr_dtype_to_f32(cr_dtype t, const void *raw, int64_t n, float *out) {
    if (n <= 0) return;
    switch (t) {
    case CR_DT_F32: memcpy(out, raw, (size_t)n * 4); break;
    case CR_DT_F16: TO_LOOP(uint16_t, cr_fp16_unpack(x));
    case CR_DT_BF16: TO_LOOP(uint16_t, cr_bf16_unpack(x));
    case CR_DT_F64: TO_LOOP(double, (float)x);
    case CR_DT_I64: TO_LOOP(int64_t, (float)x);
    case CR_DT_I32: TO_LOOP(int32_t, (float)x);
    case CR_DT_I8: TO_LOOP(int8_t, (float)x);
    case CR_DT_U8: TO_LOOP(uint8_t, (float)x);
    case CR_DT_I16: TO_LOOP(int16_t, (float)x);
    case CR_DT_U16: TO_LOOP(uint16_t, (float)x);
    case CR_DT_U32: TO_LOOP(uint32_t, (float)x);
    case CR_DT_U64: TO_LOOP(uint64_t, (float)x);
    case CR_DT_BOOL: TO_LOOP(uint8_t, x ? 1.0f : 0.0f);
    case CR_DT_F8_E4M3: TO_LOOP(uint8_t, e4m3_to_float(x));
    case CR_DT_F8_E5M2: /* the upper byte of an FP16 number */
        TO_LOOP(uint8_t, cr_fp16_unpack((uint16_t)((uint32_t)x << 8)));
    case CR_DT_COUNT: CR_BUG("no such number type");
    }
}

#define FROM_LOOP(T, expr)                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                              \
        T x = (T)(expr);                                                                           \
        memcpy((char *)raw + (size_t)i * sizeof x, &x, sizeof x);                                  \
    }                                                                                              \
    break

void cr_dtype_from_f32(cr_dtype t, const float *in, int64_t n, void *raw) {
    if (n <= 0) return;
    switch (t) {
    case CR_DT_F32: memcpy(raw, in, (size_t)n * 4); break;
    case CR_DT_F16: FROM_LOOP(uint16_t, cr_fp16_pack(cr_fp16_near(cr_f32_bits(in[i]))));
    case CR_DT_BF16: FROM_LOOP(uint16_t, cr_bf16_near(cr_f32_bits(in[i])) >> 16);
    case CR_DT_F64: FROM_LOOP(double, in[i]);
    case CR_DT_I64: FROM_LOOP(int64_t, clamp_round(in[i], -0x1p63, 0x1.fffffffffffffp62));
    case CR_DT_I32: FROM_LOOP(int32_t, clamp_round(in[i], -2147483648.0, 2147483647.0));
    case CR_DT_I8: FROM_LOOP(int8_t, clamp_round(in[i], -128, 127));
    case CR_DT_U8: FROM_LOOP(uint8_t, clamp_round(in[i], 0, 255));
    default: CR_BUG("a number type that is never written");
    }
}
