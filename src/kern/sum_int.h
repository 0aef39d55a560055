/*
 * sum_int.h - sums in 16 partial sums and one tree, for every kernel that promises dot's order.
 *
 * Two vectors of 8 hold the partial sums: they stay in registers on AVX2 and AVX-512, and the tree
 * adds halves of registers. Trap: when they are arrays, gcc sends each step of the tree, and a rest
 * of less than 16 elements, through memory (21 ns instead of 3 for 26 elements). A rest is filled
 * up with zeros: a partial sum starts from +0 and is never -0, so adding +0 changes nothing.
 */
#ifndef CR_KERN_SUM_INT_H
#define CR_KERN_SUM_INT_H

#include "kern/kern_int.h"

typedef float v8 __attribute__((vector_size(32)));
typedef float v4 __attribute__((vector_size(16)));

/* Partial sums 0 .. 7 and 8 .. 15. */
typedef struct part16 {
    v8 lo, hi;
} part16;

/* Vectors are passed by pointer: by value they would need AVX in the calling convention. */
CR_INLINE void load8(v8 *to, const float *x) {
    memcpy(to, x, 32);
}
/* load_rest loads the first n of 8 elements and puts `fill` after them. */
CR_INLINE void load_rest(v8 *to, const float *x, int n, const float fill) {
#ifdef __AVX2__
    float t[8];
#pragma omp simd
    for (int j = 0; j < 8; j++)
        t[j] = j < n ? x[j] : fill; /* compiles to one masked load */
#else
    float t[8] = {fill, fill, fill, fill, fill, fill, fill, fill};
    for (int j = 0; j < n; j++)
        t[j] = x[j];
#endif
    load8(to, t);
}
/* load_rest16 loads the n < 16 elements that are left and puts `fill` after them. */
CR_INLINE void load_rest16(part16 *to, const float *x, int64_t n, const float fill) {
    if (n >= 8) {
        load8(&to->lo, x);
        load_rest(&to->hi, x + 8, (int)n - 8, fill);
    } else {
        load_rest(&to->lo, x, (int)n, fill);
        to->hi = (v8){fill, fill, fill, fill, fill, fill, fill, fill};
    }
}

CR_INLINE float tree16(const part16 *p) {
    v8 a = p->lo + p->hi;
    v4 c, d;
    memcpy(&c, &a, 16), memcpy(&d, (const char *)&a + 16, 16);
    c += d;
    return (c[0] + c[2]) + (c[1] + c[3]);
}

CR_INLINE float sum16(const float *x, int64_t n) {
    part16 p = {{0}, {0}}, a;
    for (; n >= 16; n -= 16, x += 16) {
        load8(&a.lo, x), load8(&a.hi, x + 8);
        p.lo += a.lo, p.hi += a.hi;
    }
    if (n > 0) {
        load_rest16(&a, x, n, 0);
        p.lo += a.lo, p.hi += a.hi;
    }
    return tree16(&p);
}

CR_INLINE float dot16(const float *x, const float *y, int64_t n) {
    part16 p = {{0}, {0}}, a, b;
    for (; n >= 16; n -= 16, x += 16, y += 16) {
        load8(&a.lo, x), load8(&a.hi, x + 8), load8(&b.lo, y), load8(&b.hi, y + 8);
        p.lo += a.lo * b.lo, p.hi += a.hi * b.hi;
    }
    if (n > 0) {
        load_rest16(&a, x, n, 0), load_rest16(&b, y, n, 0);
        p.lo += a.lo * b.lo, p.hi += a.hi * b.hi;
    }
    return tree16(&p);
}

/* SUM16 sets `to` to the sum of expr for i < n in the same order; expr uses i. The first 16
 * elements initialise p_: if narrower stores cleared it, reading it back in whole registers would
 * have to wait. A rest goes through memory, so this is mostly for rows of whole registers. */
#define SUM16(to, n, expr)                                                                         \
    do {                                                                                           \
        float p_[16];                                                                              \
        part16 q_;                                                                                 \
        int64_t at_ = 0;                                                                           \
        if ((n) >= 16) {                                                                           \
            SIMD for (int j_ = 0; j_ < 16; j_++) {                                                 \
                int64_t i = j_;                                                                    \
                p_[j_] = 0.0f + (expr);                                                            \
            }                                                                                      \
            for (at_ = 16; at_ + 16 <= (n); at_ += 16) {                                           \
                SIMD for (int j_ = 0; j_ < 16; j_++) {                                             \
                    int64_t i = at_ + j_;                                                          \
                    p_[j_] += (expr);                                                              \
                }                                                                                  \
            }                                                                                      \
        } else {                                                                                   \
            SIMD for (int j_ = 0; j_ < 16; j_++) p_[j_] = 0.0f;                                    \
        }                                                                                          \
        for (int j_ = 0; at_ + j_ < (n); j_++) {                                                   \
            int64_t i = at_ + j_;                                                                  \
            p_[j_] += (expr);                                                                      \
        }                                                                                          \
        load8(&q_.lo, p_), load8(&q_.hi, p_ + 8);                                                  \
        to = tree16(&q_);                                                                          \
    } while (0)

#endif
