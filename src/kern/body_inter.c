/*
 * body_inter.c - second-order interactions of F vectors of width D per row: the factorization
 * machine (Rendle 2010: half of square-of-sum minus sum-of-squares) and DLRM's pairwise products.
 *
 * Sums over f run in order of f, those of a pair in order of d. Pairs are computed for many j at a
 * time, from a transposed copy, because adding up the lanes of a single dot product costs more than
 * the rest of it.
 */
#include "kern/kern_int.h"

enum { W = 16 }; /* columns at a time: sums stay in registers */

CR_INLINE void fm_cols(float *o, const float *x, int64_t F, int64_t D, const int64_t w) {
    float s[W] = {0}, q[W] = {0};
    for (int64_t f = 0; f < F; f++) {
        const float *v = x + f * D;
#pragma omp simd
        for (int64_t d = 0; d < w; d++) {
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

CR_INLINE void fm_bwd_cols(float *dx, const float *dy, const float *x, int64_t F, int64_t D,
                           const int64_t w, bool acc) {
    float s[W] = {0};
    for (int64_t f = 0; f < F; f++) {
#pragma omp simd
        for (int64_t d = 0; d < w; d++)
            s[d] += x[f * D + d];
    }
    for (int64_t f = 0; f < F; f++) {
        const float *v = x + f * D;
        float *g = dx + f * D;
        if (acc) {
#pragma omp simd
            for (int64_t d = 0; d < w; d++)
                g[d] += dy[d] * (s[d] - v[d]);
        } else {
#pragma omp simd
            for (int64_t d = 0; d < w; d++)
                g[d] = dy[d] * (s[d] - v[d]);
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

/* pair_at returns the place of the pair (i, j), i < j, in a row of the output. */
CR_INLINE int64_t pair_at(int64_t i, int64_t j, int64_t F) {
    return i * F - i * (i + 1) / 2 + (j - i - 1);
}

enum { JB = 32 }; /* number of vectors j at a time */

/* pairs_n: o[j] = [o[j] +] sum over d < nd of xi[d] * t[d][j], for j < n */
CR_INLINE void pairs_n(float *o, const float *xi, const float *t, const int64_t nd,
                       const bool first, const int n) {
    float s[W];
    if (first) {
#pragma omp simd
        for (int j = 0; j < n; j++)
            s[j] = 0;
    } else {
#pragma omp simd
        for (int j = 0; j < n; j++)
            s[j] = o[j];
    }
    for (int64_t d = 0; d < nd; d++) {
#pragma omp simd
        for (int j = 0; j < n; j++)
            s[j] += xi[d] * t[d * JB + j];
    }
#pragma omp simd
    for (int j = 0; j < n; j++)
        o[j] = s[j];
}

/* pairs_any does the same for any n <= JB, in pieces of 16, 8, 4 and 1; the pieces do not change a
 * sum. */
CR_INLINE void pairs_any(float *o, const float *xi, const float *t, const int64_t nd,
                         const bool first, int64_t n) {
    for (; n >= 16; n -= 16, o += 16, t += 16)
        pairs_n(o, xi, t, nd, first, 16);
    if (n & 8) pairs_n(o, xi, t, nd, first, 8), o += 8, t += 8;
    if (n & 4) pairs_n(o, xi, t, nd, first, 4), o += 4, t += 4;
    for (n &= 3; n > 0; n--)
        pairs_n(o++, xi, t++, nd, first, 1);
}

/* pairs_row computes one row: vectors [j0, j0 + nj) are transposed to t[d][j] and multiplied with
 * all i before them. */
CR_INLINE void pairs_row(float *o, const float *x, int64_t F, int64_t D) {
    float t[W * JB];
    for (int64_t j0 = 0; j0 < F; j0 += JB) {
        int64_t nj = F - j0 < JB ? F - j0 : JB;
        for (int64_t d0 = 0; d0 < D; d0 += W) {
            int64_t nd = D - d0 < W ? D - d0 : W;
            for (int64_t j = 0; j < nj; j++)
                for (int64_t d = 0; d < nd; d++)
                    t[d * JB + j] = x[(j0 + j) * D + d0 + d];
            for (int64_t i = 0; i < j0 + nj - 1; i++) {
                const float *xi = x + i * D + d0;
                int64_t j = i + 1 > j0 ? i + 1 - j0 : 0;
                float *p = o + pair_at(i, j0 + j, F);
                if (nd == W)
                    pairs_any(p, xi, t + j, W, d0 == 0, nj - j);
                else
                    pairs_any(p, xi, t + j, nd, d0 == 0, nj - j);
            }
        }
    }
}

void KERN(pairs)(float *out, int64_t ldo, const float *x, int64_t ldx, int64_t B, int64_t F,
                 int64_t D) {
    for (int64_t b = 0; b < B; b++)
        pairs_row(out + b * ldo, x + b * ldx, F, D);
}

/* pairs_bwd_block computes w columns of dx[i .. i + ni): ni sums at a time, so that they do not
 * wait for each other. */
CR_INLINE void pairs_bwd_block(float *dx, const float *dy, const float *x, int64_t F, int64_t D,
                               int64_t i, const int64_t ni, const int64_t w, bool acc) {
    float s[4][W] = {{0}};
    for (int64_t j = 0; j < i; j++) {
        const float *v = x + j * D, *g = dy + pair_at(j, i, F);
        for (int64_t r = 0; r < ni; r++) {
#pragma omp simd
            for (int64_t d = 0; d < w; d++)
                s[r][d] += g[r] * v[d];
        }
    }
    for (int64_t j = i; j < i + ni; j++)
        for (int64_t r = 0; r < ni; r++) {
            if (i + r == j) continue;
            float g = dy[i + r < j ? pair_at(i + r, j, F) : pair_at(j, i + r, F)];
            const float *v = x + j * D;
#pragma omp simd
            for (int64_t d = 0; d < w; d++)
                s[r][d] += g * v[d];
        }
    const float *g[4];
    for (int64_t r = 0; r < ni; r++)
        g[r] = dy + pair_at(i + r, i + ni, F);
    for (int64_t j = i + ni; j < F; j++) {
        const float *v = x + j * D;
        for (int64_t r = 0; r < ni; r++) {
            float gr = *g[r]++;
#pragma omp simd
            for (int64_t d = 0; d < w; d++)
                s[r][d] += gr * v[d];
        }
    }
    for (int64_t r = 0; r < ni; r++) {
        float *o = dx + (i + r) * D;
        for (int64_t d = 0; d < w; d++)
            o[d] = acc ? o[d] + s[r][d] : s[r][d];
    }
}

CR_INLINE void pairs_bwd_cols(float *dx, const float *dy, const float *x, int64_t F, int64_t D,
                              const int64_t w, bool acc) {
    int64_t i = 0;
    for (; i + 4 <= F; i += 4)
        pairs_bwd_block(dx, dy, x, F, D, i, 4, w, acc);
    for (; i < F; i++)
        pairs_bwd_block(dx, dy, x, F, D, i, 1, w, acc);
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
