/*
 * body_act.c - activations and their slopes: polynomials that the compiler can vectorize.
 *
 * Everything comes from exp1, the exponential after Cody and Waite (x = n ln2 + r). Branches are
 * written as selects, so that a loop has one path; each function is written so that it stays
 * accurate to a few units in the last place over the whole range, also where the textbook form
 * cancels. The polynomials are Chebyshev fits. Trap: min/max style selects must let a NaN through,
 * so conditions are written to be false for NaN on the clamping side.
 */
#include "base/half.h"
#include "kern/kern_int.h"

CR_INLINE float abs1(float x) {
    return cr_f32_of_bits(cr_f32_bits(x) & 0x7fffffffu);
}

/* pow2 returns 2^n for n in [-126, 127]. */
CR_INLINE float pow2(int32_t n) {
    return cr_f32_of_bits(((uint32_t)n + 127u) << 23);
}

/* reduce splits x = n ln2 + r with |r| <= ln2 / 2, adds lo to r and returns r + r^2 P(r) = e^r -
 * 1. */
CR_INLINE float reduce(float x, float lo, int32_t *n) {
    const float magic = 0x1.8p23f; /* adding it moves the rounded integer into the low bits */
    float t = x * 0x1.715476p+0f + magic;
    *n = (int32_t)(cr_f32_bits(t) - 0x4b400000u);
    float fn = t - magic;
    float r = (x - fn * 0x1.62ep-1f) - fn * 0x1.0bfbe8p-15f;
    r += lo;
    float p = 0.001392692661f;
    p = p * r + 0.008363773874f;
    p = p * r + 0.04166655011f;
    p = p * r + 0.1666657338f;
    p = p * r + 0.5f;
    return r + r * r * p;
}

/* clamp_exp keeps n in the range of pow2 and of the result; NaN stays NaN. */
CR_INLINE float clamp_exp(float x) {
    x = x > 89.0f ? 89.0f : x;
    return x < -104.0f ? -104.0f : x;
}

/* exp_hl returns e^(x + lo) for a small lo. Scaling in two steps reaches the denormals and
 * infinity. */
CR_INLINE float exp_hl(float x, float lo) {
    int32_t n;
    float p = reduce(clamp_exp(x), lo, &n);
    int32_t h = n >> 1;
    return ((1.0f + p) * pow2(h)) * pow2(n - h);
}
CR_INLINE float exp1(float x) {
    return exp_hl(x, 0.0f);
}

/* expm1_neg returns e^x - 1 for x <= 0. */
CR_INLINE float expm1_neg(float x) {
    int32_t n;
    float p = reduce(x < -30.0f ? -30.0f : x, 0.0f, &n);
    float s = pow2(n);
    return s * p + (s - 1.0f);
}

CR_INLINE float sigmoid1(float x) {
    float e = exp1(-abs1(x));
    float num = x < 0.0f ? e : 1.0f;
    return num / (1.0f + e);
}

/* tanh_small returns tanh(x) / x - 1 for |x| < 0.625. */
CR_INLINE float tanh_small(float x) {
    float z = x * x, p = -0.006045165097f;
    p = p * z + 0.02096132911f;
    p = p * z - 0.05384326318f;
    p = p * z + 0.1333271885f;
    p = p * z - 0.3333332843f;
    return z * p;
}
CR_INLINE float tanh1(float x) {
    float a = abs1(x), e = exp1(-2.0f * a);
    float big = (1.0f - e) / (1.0f + e);
    big = cr_f32_of_bits(cr_f32_bits(big) | (cr_f32_bits(x) & 0x80000000u));
    float small = x + x * tanh_small(x);
    return a < 0.625f ? small : big;
}

/* softplus1 returns max(x, 0) + log(1 + e^-|x|), with the logarithm as 2 atanh(e / (2 + e)). */
CR_INLINE float softplus1(float x) {
    float e = exp1(-abs1(x));
    float s = e / (2.0f + e), z = s * s;
    float p = 0.1342574901f;
    p = p * z + 0.141183099f;
    p = p * z + 0.2000378032f;
    p = p * z + 0.3333332017f;
    float l = 2.0f * (s + s * (z * p));
    return (x < 0.0f ? 0.0f : x) + l; /* for NaN, l is NaN */
}

/* phi1 returns Phi(x), the normal distribution, and *e = e^(-x^2/2), from Phi(-a) = e^(-a^2/2) t
 * P(t) with t = 1/(1+0.3a). x^2 is computed in two parts, else its rounding error would be
 * multiplied by the size of the exponent. */
CR_INLINE float phi1(float x, float *e) {
    float a = abs1(x);
    a = a > 16.0f ? 16.0f : a;
    float h = cr_f32_of_bits(cr_f32_bits(a) & 0xfffff000u);
    *e = exp_hl(-0.5f * (h * h), -0.5f * ((a - h) * (a + h)));
    float t = 1.0f / (1.0f + 0.3f * a);
    float q = t - 0.5f; /* centred, so that nothing cancels near x = 0 */
    float p = -0.02098466936f;
    p = p * q + 0.01997109974f;
    p = p * q + 0.03591094015f;
    p = p * q - 0.03652679186f;
    p = p * q - 0.07754212451f;
    p = p * q + 0.02906066571f;
    p = p * q + 0.2220820552f;
    p = p * q + 0.3461987526f;
    p = p * q + 0.3291589798f;
    p = p * q + 0.2219706134f;
    float tail = *e * (t * p);
    return x < 0.0f ? tail : 1.0f - tail;
}

CR_INLINE float gelu1(float x) {
    float e;
    float y = x * phi1(x, &e);
    return x < -16.0f ? -0.0f : y; /* also -inf, where the product would be NaN */
}
CR_INLINE float gelu_slope(float x) {
    float e, phi = phi1(x, &e);
    float c = x > 16.0f ? 16.0f : x;
    c = c < -16.0f ? -16.0f : c;
    return phi + c * (e * 0x1.988454p-2f); /* 1/sqrt(2 pi) */
}
CR_INLINE float silu1(float x) {
    float y = x * sigmoid1(x);
    return x < -110.0f ? -0.0f : y; /* also -inf */
}
CR_INLINE float silu_slope(float x) {
    float s = sigmoid1(x), c = x < -110.0f ? -110.0f : x;
    c = c > 110.0f ? 110.0f : c;
    return s + c * (s * sigmoid1(-c));
}
/* gelu_tanh1 returns x Phi(x) with Phi(x) = sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3). This
 * is the textbook's (1 + tanh(u)) / 2 without its cancellation. */
CR_INLINE float gelu_tanh1(float x) {
    float y = x * sigmoid1(x * (1.595769122f + 0.07135481283f * (x * x)));
    return x < -16.0f ? -0.0f : y; /* also -inf */
}
CR_INLINE float gelu_tanh_slope(float x) {
    float c = x > 16.0f ? 16.0f : x;
    c = c < -16.0f ? -16.0f : c;
    float z = c * c, u = c * (1.595769122f + 0.07135481283f * z);
    float e = exp1(-abs1(u)), d = 1.0f / (1.0f + e);
    float s = (u < 0.0f ? e : 1.0f) * d; /* and s (1 - s) = e d^2 */
    return s + c * ((e * d) * (d * (1.595769122f + 0.2140644385f * z)));
}
/* mish_gate returns t = tanh(softplus(x)) = n / (n + 2) with n = e^x (e^x + 2), where for x > 0
 * both are divided by e^(2x). *rest = 1 - t; *s = sigmoid(x). */
CR_INLINE float mish_gate(float x, float *rest, float *s) {
    float e = exp1(-abs1(x)), z = e * e;
    bool low = x < 0.0f;
    float n = low ? z + 2.0f * e : 1.0f + 2.0f * e;
    float inv = 1.0f / (n + (low ? 2.0f : 2.0f * z));
    *rest = (low ? 2.0f : 2.0f * z) * inv;
    *s = (low ? e : 1.0f) / (1.0f + e);
    return n * inv;
}
CR_INLINE float mish1(float x) {
    float rest, s, y = x * mish_gate(x, &rest, &s);
    return x < -110.0f ? -0.0f : y; /* also -inf */
}
CR_INLINE float mish_slope(float x) {
    float c = x < -110.0f ? -110.0f : x;
    c = c > 110.0f ? 110.0f : c;
    float rest, s, t = mish_gate(c, &rest, &s);
    return t + c * ((rest * (1.0f + t)) * s);
}
/* elu1 serves ELU, SELU and CELU: a line above zero, and neg (e^(in x) - 1) below. */
CR_INLINE float elu1(float x, float neg, float pos, float in) {
    return x > 0.0f ? pos * x : neg * expm1_neg(in * x);
}
CR_INLINE float elu_slope(float x, float neg, float pos, float in) {
    return x > 0.0f ? pos : neg * (in * exp1(in * x));
}
/* softplus_of returns softplus(beta x) / beta; inv = 1 / beta. */
CR_INLINE float softplus_of(float x, float beta, float inv, float limit) {
    float y = softplus1(beta * x) * inv;
    return beta * x > limit ? x : y;
}
CR_INLINE float softplus_slope(float x, float beta, float limit) {
    float s = sigmoid1(beta * x);
    return beta * x > limit ? 1.0f : s;
}
CR_INLINE float hardswish1(float x) {
    float y = x * (x + 3.0f) / 6.0f;
    y = x >= 3.0f ? x : y;
    return x <= -3.0f ? -0.0f : y;
}
CR_INLINE float hardswish_slope(float x) {
    float y = x / 3.0f + 0.5f;
    y = x >= 3.0f ? 1.0f : y;
    return x <= -3.0f ? 0.0f : y;
}
CR_INLINE float hardsigmoid1(float x) {
    float y = (x + 3.0f) / 6.0f;
    y = x >= 3.0f ? 1.0f : y;
    return x <= -3.0f ? 0.0f : y;
}
CR_INLINE float softsign1(float x) {
    float c = x > 0x1p60f ? 0x1p60f : x;
    c = c < -0x1p60f ? -0x1p60f : c;
    return c / (1.0f + abs1(c));
}
CR_INLINE float softsign_slope(float x) {
    float t = 1.0f / (1.0f + abs1(x));
    return t * t;
}
CR_INLINE float tanhshrink1(float x) {
    float small = -(x * tanh_small(x));
    float big = x - tanh1(x);
    return abs1(x) < 0.625f ? small : big;
}
CR_INLINE float tanhshrink_slope(float x) {
    float t = tanh1(x);
    return t * t;
}
CR_INLINE float clamp1(float x, float lo, float hi) {
    float y = x < lo ? lo : x;
    return y > hi ? hi : y;
}
CR_INLINE float shrink1(float x, float limit, float less) {
    float y = x - cr_f32_of_bits(cr_f32_bits(less) | (cr_f32_bits(x) & 0x80000000u));
    return abs1(x) <= limit ? 0.0f : y;
}
CR_INLINE float relu1(float x) {
    return x <= 0.0f ? 0.0f : x;
}
CR_INLINE float leaky1(float x, float slope) {
    return x > 0.0f ? x : slope * x;
}

/* pick gets both values computed before the choice, so that a loop has one path on every level. */
CR_INLINE float pick(bool c, float yes, float no) {
    return c ? yes : no;
}

/* The last arguments of FORWARD and BACKWARD are the parameters of the function after out and x, or
 * after dy and from. */
#define FORWARD(name, expr, ...)                                                                   \
    void KERN(name)(float *out, const float *x, __VA_ARGS__) {                                     \
        SIMD for (int64_t i = 0; i < n; i++) out[i] = expr;                                        \
    }
#define BACKWARD(name, from, expr, ...)                                                            \
    void KERN(name)(float *dx, const float *dy, const float *from, __VA_ARGS__) {                  \
        SET_OR_ADD(dx, n, acc, expr);                                                              \
    }

FORWARD(exp, exp1(x[i]), int64_t n)
FORWARD(sigmoid, sigmoid1(x[i]), int64_t n)
FORWARD(tanh, tanh1(x[i]), int64_t n)
FORWARD(gelu, gelu1(x[i]), int64_t n)
FORWARD(gelu_tanh, gelu_tanh1(x[i]), int64_t n)
FORWARD(silu, silu1(x[i]), int64_t n)
FORWARD(mish, mish1(x[i]), int64_t n)
FORWARD(hardswish, hardswish1(x[i]), int64_t n)
FORWARD(hardsigmoid, hardsigmoid1(x[i]), int64_t n)
FORWARD(softsign, softsign1(x[i]), int64_t n)
FORWARD(tanhshrink, tanhshrink1(x[i]), int64_t n)
FORWARD(relu, relu1(x[i]), int64_t n)
FORWARD(leaky, leaky1(x[i], slope), float slope, int64_t n)
FORWARD(clamp, clamp1(x[i], lo, hi), float lo, float hi, int64_t n)
FORWARD(threshold, x[i] <= at ? value : x[i], float at, float value, int64_t n)
FORWARD(shrink, shrink1(x[i], limit, less), float limit, float less, int64_t n)
FORWARD(elu, elu1(x[i], neg, pos, in), float neg, float pos, float in, int64_t n)

void KERN(softplus)(float *out, const float *x, float beta, float limit, int64_t n) {
    float inv = 1.0f / beta;
    SIMD for (int64_t i = 0; i < n; i++) out[i] = softplus_of(x[i], beta, inv, limit);
}

BACKWARD(sigmoid_bwd, y, dy[i] * (y[i] * (1.0f - y[i])), int64_t n, bool acc)
BACKWARD(tanh_bwd, y, dy[i] * (1.0f - y[i] * y[i]), int64_t n, bool acc)
BACKWARD(softplus_bwd, x, dy[i] * softplus_slope(x[i], beta, limit), float beta, float limit,
         int64_t n, bool acc)
BACKWARD(gelu_bwd, x, dy[i] * gelu_slope(x[i]), int64_t n, bool acc)
BACKWARD(gelu_tanh_bwd, x, dy[i] * gelu_tanh_slope(x[i]), int64_t n, bool acc)
BACKWARD(silu_bwd, x, dy[i] * silu_slope(x[i]), int64_t n, bool acc)
BACKWARD(mish_bwd, x, dy[i] * mish_slope(x[i]), int64_t n, bool acc)
BACKWARD(hardswish_bwd, x, dy[i] * hardswish_slope(x[i]), int64_t n, bool acc)
BACKWARD(softsign_bwd, x, dy[i] * softsign_slope(x[i]), int64_t n, bool acc)
BACKWARD(tanhshrink_bwd, x, dy[i] * tanhshrink_slope(x[i]), int64_t n, bool acc)
BACKWARD(relu_bwd, y, y[i] > 0.0f ? dy[i] : 0.0f, int64_t n, bool acc)
BACKWARD(leaky_bwd, x, x[i] > 0.0f ? dy[i] : slope * dy[i], float slope, int64_t n, bool acc)
BACKWARD(between_bwd, x, pick(x[i] > lo && x[i] < hi, a *dy[i], 0.0f), float lo, float hi, float a,
         int64_t n, bool acc)
BACKWARD(shrink_bwd, x, pick(abs1(x[i]) <= limit, 0.0f, dy[i]), float limit, int64_t n, bool acc)
BACKWARD(elu_bwd, x, dy[i] * elu_slope(x[i], neg, pos, in), float neg, float pos, float in,
         int64_t n, bool acc)

void KERN(leaky_draw)(float *out, const float *v, const float *x, const uint16_t *rnd, float lo,
                      float step, int64_t n, bool acc) {
    SET_OR_ADD(out, n, acc, pick(x[i] > 0.0f, v[i], (lo + step * (float)rnd[i]) * v[i]));
}
