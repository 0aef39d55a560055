/*
 * util.h - what the kernel tests share: random input, guarded buffers, comparison of bits.
 *
 * A guarded buffer has canaries on both sides and starts at any alignment, so that a kernel that
 * writes one float too many, or assumes alignment, is caught. NaNs are equal to each other.
 */
#ifndef CR_TESTS_KERN_UTIL_H
#define CR_TESTS_KERN_UTIL_H

#include "harness.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "kern/kern.h"

enum { GUARD = 64 };
static const uint32_t canary = 0x7fc0dead; /* a NaN: reading it shows, too */

/* n floats, `shift` floats off 64-byte alignment, canaries around */
typedef struct guarded {
    float *raw, *p;
    int64_t n;
} guarded;

static inline guarded guard_new(int64_t n, int shift) {
    guarded g = {.n = n};
    size_t bytes = ((size_t)(n + 2 * GUARD + 32) * 4 + 63) / 64 * 64;
    g.raw = aligned_alloc(64, bytes);
    if (!g.raw) abort();
    for (size_t i = 0; i < bytes / 4; i++)
        memcpy(&g.raw[i], &canary, 4);
    g.p = g.raw + GUARD + shift;
    return g;
}
static inline bool guard_intact(const guarded *g) {
    for (int i = 1; i <= GUARD; i++)
        if (memcmp(g->p - i, &canary, 4) != 0 || memcmp(g->p + g->n + i - 1, &canary, 4) != 0)
            return false;
    return true;
}
static inline void guard_free(guarded *g) {
    free(g->raw);
}

/* uniform in [-1, 1) */
static inline void fill(float *x, int64_t n, uint64_t seed) {
    for (int64_t i = 0; i < n; i++)
        x[i] = cr_rng_f32(seed, (uint64_t)i) * 2 - 1;
}

/* index of the first float that differs in its bits, -1 when none does */
static inline int64_t differ(const float *a, const float *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, 4) != 0 && !(isnan(a[i]) && isnan(b[i]))) return i;
    return -1;
}
#define CHECK_SAME(a, b, n)                                                                        \
    do {                                                                                           \
        int64_t at_ = differ(a, b, n);                                                             \
        if (at_ >= 0) {                                                                            \
            t_failed_checks++;                                                                     \
            fprintf(stderr, "%s:%d: %s: element %lld of %lld is %.9g, expected %.9g\n", __FILE__,  \
                    __LINE__, t_name, (long long)at_, (long long)(n), (double)(a)[at_],            \
                    (double)(b)[at_]);                                                             \
        }                                                                                          \
    } while (0)

#define EACH_LEVEL(k)                                                                              \
    for (int level_ = 0; level_ < CR_CPU_LEVELS; level_++)                                         \
        for (const cr_kernels *k = cr_kern_at((cr_cpu_level)level_); k; k = NULL)

/* dot and sum as list.h has them */
static inline float spec_tree(float p[16]) {
    for (int w = 8; w >= 1; w /= 2)
        for (int j = 0; j < w; j++)
            p[j] += p[j + w];
    return p[0];
}
static inline float spec_dot(const float *x, const float *y, int64_t n) {
    float p[16] = {0};
    for (int64_t i = 0; i < n; i++) {
        float m = x[i] * y[i];
        p[i % 16] += m;
    }
    return spec_tree(p);
}
static inline float spec_sum(const float *x, int64_t n) {
    float p[16] = {0};
    for (int64_t i = 0; i < n; i++)
        p[i % 16] += x[i];
    return spec_tree(p);
}

/* the best of 300 runs on each level, per row of `rows` */
#define TIME(rows, name, call)                                                                     \
    do {                                                                                           \
        printf("%-12s", name);                                                                     \
        EACH_LEVEL(k) {                                                                            \
            double best = 1e9;                                                                     \
            for (int r = 0; r < 300; r++) {                                                        \
                double t = cr_now();                                                               \
                call;                                                                              \
                t = cr_now() - t;                                                                  \
                if (t < best) best = t;                                                            \
            }                                                                                      \
            printf("  %s %8.1f", cr_cpu_level_name((cr_cpu_level)level_), best * 1e9 / (rows));    \
        }                                                                                          \
        printf("  ns per row\n");                                                                  \
    } while (0)

#endif
