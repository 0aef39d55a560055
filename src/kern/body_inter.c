/*
 * body_inter.c - second-order interactions of F vectors of width D per row: the factorization
 * machine (Rendle 2010: half of square-of-sum minus sum-of-squares) and DLRM's pairwise products.
 *
 * Sums over f run in order of f; the products of a pair are summed as `dot` does.
 */
#include "kern/kern_int.h"

#include "kern/dot16.h"

enum { W = 16 }; /* columns at a time: sums stay in registers */

INLINE void fm_cols(float *o, const float *x, int64_t F, int64_t D, const int64_t w) {
    float s[W] = {0}, q[W] = {0};
    for (int64_t f = 0; f < F; f++) {
        const float *v = x + f * D;
        SIMD for (int64_t d = 0; d < w; d++) {
            s[d] += v[d];
            q[d] += v[d] * v[d];
        }
    }
    for (int64_t d = 0; d < w; d++)
        o[d] = 0.5f * (s[d] * s[d] - q[d]);
}

void KERN(fm)(float *out, int64_t ldo, const float *x, int64_t ldx, int64_t B, int64_t F,
              int64_t D) {
    for (int64_t b = 0; b < B; b++) {
        float *o = out + b * ldo;
        const float *r = x + b * ldx;
        int64_t d = 0;
        for (; d + W <= D; d += W)
            fm_cols(o + d, r + d, F, D, W);
        if (d < D) fm_cols(o + d, r + d, F, D, D - d);
    }
}

INLINE void fm_bwd_cols(float *dx, const float *dy, const float *x, int64_t F, int64_t D,
                        const int64_t w, bool acc) {
    float s[W] = {0};
    for (int64_t f = 0; f < F; f++) {
        SIMD for (int64_t d = 0; d < w; d++) s[d] += x[f * D + d];
    }
    for (int64_t f = 0; f < F; f++) {
        const float *v = x + f * D;
        float *g = dx + f * D;
        if (acc) {
            SIMD for (int64_t d = 0; d < w; d++) g[d] += dy[d] * (s[d] - v[d]);
        } else {
            SIMD for (int64_t d = 0; d < w; d++) g[d] = dy[d] * (s[d] - v[d]);
        }
    }
}

void KERN(fm_bwd)(float *dx, int64_t lddx, const float *dy, int64_t lddy, const float *x,
                  int64_t ldx, int64_t B, int64_t F, int64_t D, bool acc) {
    for (int64_t b = 0; b < B; b++) {
        float *g = dx + b * lddx;
        const float *y = dy + b * lddy, *r = x + b * ldx;
        int64_t d = 0;
        for (; d + W <= D; d += W)
            fm_bwd_cols(g + d, y + d, r + d, F, D, W, acc);
        if (d < D) fm_bwd_cols(g + d, y + d, r + d, F, D, D - d, acc);
    }
}

void KERN(pairs)(float *out, int64_t ldo, const float *x, int64_t ldx, int64_t B, int64_t F,
                 int64_t D) {
    for (int64_t b = 0; b < B; b++) {
        float *o = out + b * ldo;
        const float *r = x + b * ldx;
        for (int64_t i = 0; i < F; i++)
            for (int64_t j = i + 1; j < F; j++)
                *o++ = dot16(r + i * D, r + j * D, D);
    }
}

/* place of the pair (i, j), i < j, in a row of the output */
INLINE int64_t pair_at(int64_t i, int64_t j, int64_t F) {
    return i * F - i * (i + 1) / 2 + (j - i - 1);
}

INLINE void pairs_bwd_cols(float *dx, const float *dy, const float *x, int64_t F, int64_t D,
                           const int64_t w, bool acc) {
    for (int64_t i = 0; i < F; i++) {
        float s[W] = {0};
        for (int64_t j = 0; j < F; j++) {
            if (j == i) continue;
            float g = dy[j < i ? pair_at(j, i, F) : pair_at(i, j, F)];
            const float *v = x + j * D;
            SIMD for (int64_t d = 0; d < w; d++) s[d] += g * v[d];
        }
        float *o = dx + i * D;
        for (int64_t d = 0; d < w; d++)
            o[d] = acc ? o[d] + s[d] : s[d];
    }
}

void KERN(pairs_bwd)(float *dx, int64_t lddx, const float *dy, int64_t lddy, const float *x,
                     int64_t ldx, int64_t B, int64_t F, int64_t D, bool acc) {
    for (int64_t b = 0; b < B; b++) {
        float *g = dx + b * lddx;
        const float *y = dy + b * lddy, *r = x + b * ldx;
        int64_t d = 0;
        for (; d + W <= D; d += W)
            pairs_bwd_cols(g + d, y, r + d, F, D, W, acc);
        if (d < D) pairs_bwd_cols(g + d, y, r + d, F, D, D - d, acc);
    }
}
