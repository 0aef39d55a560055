/*
 * body_slope.c - activations whose slope below zero is learned: prelu and dice, over B rows of D
 * columns, ld floats from row to row.
 *
 * Gradients of a slope per column run over the rows in order; the gradient of a shared slope is
 * leaky_dot of each row, which the caller adds up row after row. Each loop computes one output:
 * values that a loop reads again are in the nearest cache, and no loop has to test which outputs
 * are wanted.
 */
#include "kern/sum_int.h"

/* pick gets both values computed before the choice, so that a loop has one path on every level. */
CR_INLINE float pick(float x, float above, float below) {
    return x > 0.0f ? above : below;
}

void KERN(prelu)(float *out, const float *x, int64_t ld, const float *a, int64_t B, int64_t D) {
    for (int64_t b = 0; b < B; b++, out += ld, x += ld) {
        SIMD for (int64_t i = 0; i < D; i++) out[i] = pick(x[i], x[i], a[i] * x[i]);
    }
}

void KERN(prelu_bwd)(float *dx, float *da, const float *dy, const float *x, int64_t ld,
                     const float *a, int64_t B, int64_t D, bool acc) {
    for (int64_t b = 0; b < B; b++, dy += ld, x += ld) {
        if (da) {
            SIMD for (int64_t i = 0; i < D; i++) da[i] += pick(x[i], 0.0f, dy[i] * x[i]);
        }
        if (dx) {
            float *o = dx + b * ld;
            SET_OR_ADD(o, D, acc, pick(x[i], dy[i], a[i] * dy[i]));
        }
    }
}

float KERN(leaky_dot)(const float *x, const float *y, int64_t n) {
    float s;
    SUM16(s, n, pick(x[i], 0.0f, x[i] * y[i]));
    return s;
}

void KERN(dice)(float *out, const float *x, const float *xn, int64_t ld, const float *a, float *p,
                int64_t B, int64_t D) {
    for (int64_t b = 0; b < B; b++, out += ld, x += ld, xn += ld) {
        KERN(sigmoid)(p, xn, D);
        SIMD for (int64_t i = 0; i < D; i++) out[i] = (a[i] * (1.0f - p[i]) + p[i]) * x[i];
    }
}

void KERN(dice_bwd)(float *dx, float *dxn, float *da, const float *dy, const float *x,
                    const float *xn, int64_t ld, const float *a, float *p, int64_t B, int64_t D,
                    bool acc, bool acc_n) {
    for (int64_t b = 0; b < B; b++, dy += ld, x += ld, xn += ld) {
        KERN(sigmoid)(p, xn, D);
        if (da) {
            SIMD for (int64_t i = 0; i < D; i++) da[i] += (dy[i] * x[i]) * (1.0f - p[i]);
        }
        if (dx) {
            float *o = dx + b * ld;
            SET_OR_ADD(o, D, acc, dy[i] * (a[i] * (1.0f - p[i]) + p[i]));
        }
        if (dxn) {
            float *o = dxn + b * ld;
            SET_OR_ADD(o, D, acc_n, (dy[i] * x[i]) * (1.0f - a[i]) * (p[i] * (1.0f - p[i])));
        }
    }
}
