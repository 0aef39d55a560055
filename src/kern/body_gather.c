/*
 * body_gather.c - copies, adds and sums rows that are given by number. In sums, 64 columns at a
 * time stay in registers while the loop goes over the rows, so a row is read once and nothing is
 * written in between.
 */
#include "base/mem.h"
#include "kern/kern_int.h"

enum { VW = 16, NV = 4 };
typedef float vec __attribute__((vector_size(64), aligned(4)));

#define load(p)     (*(const vec *)(const void *)(p))
#define store(p, v) (*(vec *)(void *)(p) = (v))

/* gather_row computes nv vectors of one output row. */
CR_INLINE void gather_row(const int nv, float *out, const float *const *x, int64_t d, int64_t ldx,
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
        for (; d + 2 * VW <= D; d += 2 * VW)
            gather_row(2, out + d, x, d, ldx, code, F, flags, bias);
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

CR_INLINE void seg_rows(const int nv, float *out, const float *x, int64_t ldx, const int32_t *row,
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

/* copy copies D floats, as whole vectors where the compiler knows their number (nv > 0). */
CR_INLINE void copy(const int nv, float *out, const float *x, int64_t D) {
    if (nv == 0) memcpy(out, x, (size_t)D * sizeof(float));
    EACH(v, nv) {
        store(out + v * VW, load(x + v * VW));
    }
}
CR_INLINE void add(const int nv, float *out, const float *x, int64_t D) {
    for (int64_t d = 0; nv == 0 && d < D; d++)
        out[d] += x[d];
    EACH(v, nv) {
        store(out + v * VW, load(out + v * VW) + load(x + v * VW));
    }
}

CR_INLINE void take(const int nv, float *out, int64_t ldo, const float *x, int64_t ldx,
                    const int32_t *row, int64_t n, int64_t D) {
    for (int64_t i = 0; i < n; i++)
        copy(nv, out + i * ldo, x + row[i] * ldx, D);
}

CR_INLINE void put(const int nv, float *out, int64_t ldo, const int32_t *to, const float *x,
                   int64_t ldx, const int32_t *from, int64_t n, int64_t D, bool acc) {
    for (int64_t i = 0; i < n; i++) {
        float *o = out + to[i] * ldo;
        const float *r = x + (from ? from[i] : i) * ldx;
        if (acc)
            add(nv, o, r, D);
        else
            copy(nv, o, r, D);
    }
}

/* records lie anywhere in memory, so they are fetched this many rows in advance */
enum { AHEAD = 16 };
CR_INLINE void look(const int nv, float *out, int64_t ldo, const float *table, int64_t stride,
                    const int64_t *ids, int64_t n, int64_t more, int64_t D) {
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n + more)
            cr_fetch(table + ids[i + AHEAD] * stride, D * (int64_t)sizeof(float), false);
        copy(nv, out + i * ldo, table + ids[i] * stride, D);
    }
}

/* BY_WIDTH chooses by the number of vectors; a few floats are copied without a call where D is a
 * constant. */
#define BY_WIDTH(fn, ...)                                                                          \
    switch (D) {                                                                                   \
    case 1: fn(0, __VA_ARGS__); break;                                                             \
    case 4: fn(0, __VA_ARGS__); break;                                                             \
    case 8: fn(0, __VA_ARGS__); break;                                                             \
    case VW: fn(1, __VA_ARGS__); break;                                                            \
    case 2 * VW: fn(2, __VA_ARGS__); break;                                                        \
    case 4 * VW: fn(4, __VA_ARGS__); break;                                                        \
    default: fn(0, __VA_ARGS__);                                                                   \
    }

void KERN(take_rows)(float *out, int64_t ldo, const float *x, int64_t ldx, const int32_t *row,
                     int64_t n, int64_t D) {
    BY_WIDTH(take, out, ldo, x, ldx, row, n, D)
}

void KERN(put_rows)(float *out, int64_t ldo, const int32_t *to, const float *x, int64_t ldx,
                    const int32_t *from, int64_t n, int64_t D, bool acc) {
    BY_WIDTH(put, out, ldo, to, x, ldx, from, n, D, acc)
}

void KERN(look_rows)(float *out, int64_t ldo, const float *table, int64_t stride,
                     const int64_t *ids, int64_t n, int64_t more, int64_t D) {
    BY_WIDTH(look, out, ldo, table, stride, ids, n, more, D)
}
