/*
 * body_norm.c - the gradient of batch norm.
 *
 * A block of columns keeps its sums in registers while all rows pass, so every sum is one chain in
 * order of rows.
 */
#include "kern/kern_int.h"

enum { W = 16 };

/* The statistics of the columns of a block, and their sums. */
typedef struct cols {
    float mean[W], rstd[W], scale[W], shift[W], half[W], dgamma[W], dbeta[W];
    double dmean[W], dvar[W];
} cols;

CR_INLINE void bn_row(cols *c, float *dx, const float *dy, const float *x, const int64_t w,
                      const bool relu, const bool acc) {
#pragma omp simd
    for (int64_t d = 0; d < w; d++) {
        float on = x[d] * c->scale[d] + c->shift[d];
        float g = !relu || on > 0.0f ? dy[d] : 0.0f, dev = x[d] - c->mean[d];
        float gx = g * c->scale[d], gd = g * dev;
        c->dgamma[d] += gd * c->rstd[d];
        c->dbeta[d] += g;
        c->dmean[d] -= (double)gx;
        c->dvar[d] -= (double)(gd * c->half[d]);
        if (dx) dx[d] = acc ? dx[d] + gx : gx;
    }
}

CR_INLINE void bn_block(float *dx, float *dgamma, float *dbeta, double *dstat, const float *dy,
                        const float *x, int64_t ld, const float *col, int64_t B, int64_t D,
                        const int64_t w, bool relu, bool acc) {
    cols c;
    for (int64_t d = 0; d < w; d++) {
        c.mean[d] = col[d];
        c.rstd[d] = col[D + d];
        c.scale[d] = col[2 * D + d];
        c.shift[d] = col[3 * D + d];
        c.half[d] = 0.5f * c.scale[d] * c.rstd[d] * c.rstd[d];
        c.dgamma[d] = dgamma[d];
        c.dbeta[d] = dbeta[d];
        c.dmean[d] = dstat[d];
        c.dvar[d] = dstat[D + d];
    }
    for (int64_t b = 0; b < B; b++, dy += ld, x += ld) {
        if (!dx)
            bn_row(&c, NULL, dy, x, w, relu, false);
        else if (acc)
            bn_row(&c, dx + b * ld, dy, x, w, relu, true);
        else
            bn_row(&c, dx + b * ld, dy, x, w, relu, false);
    }
    for (int64_t d = 0; d < w; d++) {
        dgamma[d] = c.dgamma[d];
        dbeta[d] = c.dbeta[d];
        dstat[d] = c.dmean[d];
        dstat[D + d] = c.dvar[d];
    }
}

void KERN(bn_bwd)(float *dx, float *dgamma, float *dbeta, double *dstat, const float *dy,
                  const float *x, int64_t ld, const float *col, int64_t B, int64_t D, bool relu,
                  bool acc) {
    int64_t d = 0;
#define BLOCK(w)                                                                                   \
    bn_block(dx ? dx + d : NULL, dgamma + d, dbeta + d, dstat + d, dy + d, x + d, ld, col + d, B,  \
             D, w, relu, acc)
    for (; d + W <= D; d += W)
        BLOCK(W);
    if (d < D) BLOCK(D - d);
#undef BLOCK
}

void KERN(center_rows)(float *out, int64_t ld, const float *x, const float *mean, const float *c,
                       int64_t B, int64_t D, bool acc) {
    for (int64_t b = 0; b < B; b++, out += ld, x += ld) {
        if (acc) {
#pragma omp simd
            for (int64_t d = 0; d < D; d++)
                out[d] += c[d] + c[D + d] * (x[d] - mean[d]);
        } else {
#pragma omp simd
            for (int64_t d = 0; d < D; d++)
                out[d] = c[d] + c[D + d] * (x[d] - mean[d]);
        }
    }
}
