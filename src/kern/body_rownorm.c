/*
 * body_rownorm.c - layer norm, which needs a whole row before its first output.
 *
 * Sums of a row run in the order of `dot`; a row's values are computed again in each loop instead
 * of being kept, as the row itself is in the nearest cache. Division and square root are rounded
 * the same way on every level.
 */
#include <math.h>

#include "kern/sum_int.h"

typedef struct moments {
    float mean, rstd;
} moments;

CR_INLINE moments row_moments(const float *x, float eps, int64_t D) {
    float mean = sum16(x, D) / (float)D, s;
    SUM16(s, D, (x[i] - mean) * (x[i] - mean));
    return (moments){mean, 1.0f / sqrtf(s / (float)D + eps)};
}

void KERN(layer_norm)(float *out, const float *x, const float *gamma, const float *beta, float eps,
                      int64_t B, int64_t D) {
    for (int64_t b = 0; b < B; b++, out += D, x += D) {
        moments m = row_moments(x, eps, D);
        SIMD for (int64_t i = 0; i < D; i++) out[i] = (x[i] - m.mean) * m.rstd * gamma[i] + beta[i];
    }
}

void KERN(layer_norm_bwd)(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
                          const float *gamma, float eps, int64_t B, int64_t D, bool acc) {
    for (int64_t b = 0; b < B; b++, dy += D, x += D) {
        moments m = row_moments(x, eps, D);
        if (dgamma) {
            SIMD for (int64_t i = 0; i < D; i++) dgamma[i] += dy[i] * ((x[i] - m.mean) * m.rstd);
        }
        if (dbeta) {
            SIMD for (int64_t i = 0; i < D; i++) dbeta[i] += dy[i];
        }
        if (!dx) continue;
        float s = dot16(dy, gamma, D) / (float)D, t, *o = dx + b * D;
        SUM16(t, D, (dy[i] * gamma[i]) * ((x[i] - m.mean) * m.rstd));
        t /= (float)D;
        SET_OR_ADD(o, D, acc, m.rstd * (dy[i] * gamma[i] - s - ((x[i] - m.mean) * m.rstd) * t));
    }
}
