/*
 * body_gather.c - sums of gathered rows: 64 columns at a time stay in registers while the rows to
 * be added are walked, so a row is read once and nothing is written in between.
 */
#include "kern/kern_int.h"

enum { VW = 16, NV = 4 };
typedef float vec __attribute__((vector_size(64), aligned(4)));

#define load(p)     (*(const vec *)(const void *)(p))
#define store(p, v) (*(vec *)(void *)(p) = (v))

/* nv vectors of one output row */
INLINE void gather_row(const int nv, float *out, const float *const *x, int64_t d, int64_t ldx,
                       const int32_t *code, int64_t F, int flags, const float *bias) {
    vec s[NV];
    int64_t f = 0;
    if (flags & CR_GEMM_ADD) {
        EACH(v, nv) {
            s[v] = load(out + v * VW);
        }
    } else {
        const float *r = x[0] + code[0] * ldx + d;
        EACH(v, nv) {
            s[v] = load(r + v * VW);
        }
        f = 1;
    }
    for (; f < F; f++) {
        const float *r = x[f] + code[f] * ldx + d;
        EACH(v, nv) {
            s[v] += load(r + v * VW);
        }
    }
    if (flags & CR_GEMM_BIAS) {
        EACH(v, nv) {
            s[v] += load(bias + d + v * VW);
        }
    }
    if (flags & CR_GEMM_RELU) {
        EACH(v, nv) {
            EACH(i, VW) {
                s[v][i] = s[v][i] <= 0 ? 0 : s[v][i];
            }
        }
    }
    EACH(v, nv) {
        store(out + v * VW, s[v]);
    }
}

void KERN(gather_sum)(float *out, int64_t ldo, const float *const *x, int64_t ldx,
                      const int32_t *code, int64_t ldk, int64_t B, int64_t D, int64_t F, int flags,
                      const float *bias) {
    bool add = flags & CR_GEMM_ADD;
    for (int64_t b = 0; b < B; b++, out += ldo, code += ldk) {
        int64_t d = 0;
        for (; d + NV * VW <= D; d += NV * VW)
            gather_row(NV, out + d, x, d, ldx, code, F, flags, bias);
        for (; d + VW <= D; d += VW)
            gather_row(1, out + d, x, d, ldx, code, F, flags, bias);
        for (; d < D; d++) {
            float s = add ? out[d] : x[0][code[0] * ldx + d];
            for (int64_t f = !add; f < F; f++)
                s += x[f][code[f] * ldx + d];
            if (flags & CR_GEMM_BIAS) s += bias[d];
            if (flags & CR_GEMM_RELU) s = s <= 0 ? 0 : s;
            out[d] = s;
        }
    }
}

INLINE void seg_rows(const int nv, float *out, const float *x, int64_t ldx, const int32_t *row,
                     int64_t n) {
    vec s[NV];
    const float *r = x + row[0] * ldx;
    EACH(v, nv) {
        s[v] = load(r + v * VW);
    }
    for (int64_t i = 1; i < n; i++) {
        r = x + row[i] * ldx;
        EACH(v, nv) {
            s[v] += load(r + v * VW);
        }
    }
    EACH(v, nv) {
        store(out + v * VW, s[v]);
    }
}

void KERN(seg_sum)(float *out, int64_t ldo, const float *x, int64_t ldx, const int32_t *row,
                   const int32_t *seg, int64_t U, int64_t D) {
    for (int64_t u = 0; u < U; u++, out += ldo) {
        const int32_t *rows = row + seg[u];
        int64_t n = seg[u + 1] - seg[u], d = 0;
        for (; d + NV * VW <= D; d += NV * VW)
            seg_rows(NV, out + d, x + d, ldx, rows, n);
        for (; d + VW <= D; d += VW)
            seg_rows(1, out + d, x + d, ldx, rows, n);
        for (; d < D; d++) {
            float s = x[rows[0] * ldx + d];
            for (int64_t i = 1; i < n; i++)
                s += x[rows[i] * ldx + d];
            out[d] = s;
        }
    }
}

/* whole vectors only, their number known to the compiler */
INLINE void take(const int nv, float *out, int64_t ldo, const float *x, int64_t ldx,
                 const int32_t *row, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const float *r = x + row[i] * ldx;
        EACH(v, nv) {
            store(out + i * ldo + v * VW, load(r + v * VW));
        }
    }
}

void KERN(take_rows)(float *out, int64_t ldo, const float *x, int64_t ldx, const int32_t *row,
                     int64_t n, int64_t D) {
    switch (D) {
    case VW: take(1, out, ldo, x, ldx, row, n); return;
    case 2 * VW: take(2, out, ldo, x, ldx, row, n); return;
    case 4 * VW: take(4, out, ldo, x, ldx, row, n); return;
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(out + i * ldo, x + row[i] * ldx, (size_t)D * sizeof(float));
    }
}
