/*
 * body_field.c - products between fields: the outer products of xDeepFM's compressed interaction
 * network and the field-aware factorization machine.
 *
 * Widths are small (a few fields, vectors of 4 to 16), so the common ones get loops of fixed
 * length.
 */
#include "kern/sum_int.h"

enum { W = 16 }; /* columns at a time: sums stay in registers */

void KERN(outer)(float *z, const float *a, int64_t lda, const float *b, int64_t M, int64_t H,
                 int64_t F) {
    for (int64_t m = 0; m < M; m++, a += lda, b += F)
        for (int64_t h = 0; h < H; h++, z += F) {
            float s = a[h];
#pragma omp simd
            for (int64_t f = 0; f < F; f++)
                z[f] = s * b[f];
        }
}

void KERN(outer_bwd_a)(float *da, int64_t lda, const float *dz, const float *b, int64_t M,
                       int64_t H, int64_t F, bool acc) {
    for (int64_t m = 0; m < M; m++, da += lda, b += F)
        for (int64_t h = 0; h < H; h++, dz += F) {
            float s = dot16(dz, b, F);
            da[h] = acc ? da[h] + s : s;
        }
}

CR_INLINE void bwd_b_cols(float *db, const float *dz, const float *a, int64_t H, int64_t F,
                          const int64_t w, bool acc) {
    float s[W] = {0};
    for (int64_t h = 0; h < H; h++) {
        float x = a[h];
#pragma omp simd
        for (int64_t f = 0; f < w; f++)
            s[f] += x * dz[h * F + f];
    }
    for (int64_t f = 0; f < w; f++)
        db[f] = acc ? db[f] + s[f] : s[f];
}

void KERN(outer_bwd_b)(float *db, const float *dz, const float *a, int64_t lda, int64_t M,
                       int64_t H, int64_t F, bool acc) {
    for (int64_t m = 0; m < M; m++, a += lda, db += F, dz += H * F) {
        int64_t f = 0;
        for (; f + W <= F; f += W)
            bwd_b_cols(db + f, dz + f, a, H, F, W, acc);
        if (f < F) bwd_b_cols(db + f, dz + f, a, H, F, F - f, acc);
    }
}

CR_INLINE float ffm_sum(const float *x, int64_t F, const int64_t D) {
    float p[16] = {0};
    for (int64_t i = 0; i < F; i++)
        for (int64_t j = i + 1; j < F; j++) {
            const float *a = x + (i * F + j) * D, *b = x + (j * F + i) * D;
            int64_t d = 0;
            for (; d + 16 <= D; d += 16) {
#pragma omp simd
                for (int k = 0; k < 16; k++)
                    p[k] += a[d + k] * b[d + k];
            }
            const int64_t rest = D - d;
#pragma omp simd
            for (int64_t k = 0; k < rest; k++)
                p[k] += a[d + k] * b[d + k];
        }
    part16 s;
    load8(&s.lo, p), load8(&s.hi, p + 8);
    return tree16(&s);
}

float KERN(ffm)(const float *x, int64_t F, int64_t D) {
    switch (D) {
    case 4: return ffm_sum(x, F, 4);
    case 8: return ffm_sum(x, F, 8);
    case 16: return ffm_sum(x, F, 16);
    default: return ffm_sum(x, F, D);
    }
}

CR_INLINE void ffm_grad(float *dx, float dy, const float *x, int64_t F, const int64_t D, bool acc) {
    for (int64_t i = 0; i < F; i++)
        for (int64_t j = 0; j < F; j++) {
            float *o = dx + (i * F + j) * D;
            const float *v = x + (j * F + i) * D;
            if (acc) {
                if (i == j) continue;
#pragma omp simd
                for (int64_t d = 0; d < D; d++)
                    o[d] += dy * v[d];
            } else if (i == j) {
                for (int64_t d = 0; d < D; d++)
                    o[d] = 0;
            } else {
#pragma omp simd
                for (int64_t d = 0; d < D; d++)
                    o[d] = dy * v[d];
            }
        }
}

void KERN(ffm_bwd)(float *dx, float dy, const float *x, int64_t F, int64_t D, bool acc) {
    switch (D) {
    case 4: ffm_grad(dx, dy, x, F, 4, acc); break;
    case 8: ffm_grad(dx, dy, x, F, 8, acc); break;
    case 16: ffm_grad(dx, dy, x, F, 16, acc); break;
    default: ffm_grad(dx, dy, x, F, D, acc);
    }
}
