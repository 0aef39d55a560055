/*
 * kern_int.h - shared by the kernel sources: the name of a kernel on the level that is being
 * compiled.
 *
 * Every body is compiled once per level with CR_LEVEL set to c, avx2 or avx512 (those of BF16
 * products for the levels above too); KERN(dot) is then cr_dot_c, cr_dot_avx2, cr_dot_avx512. No
 * file here may define a function with outside linkage under a name without that suffix.
 */
#ifndef CR_KERN_KERN_INT_H
#define CR_KERN_KERN_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "kern/kern.h"

#define CR_CAT3_(a, b, c) a##b##_##c
#define CR_CAT3(a, b, c)  CR_CAT3_(a, b, c)

#ifdef CR_LEVEL
#define KERN(name)                CR_CAT3(cr_, name, CR_LEVEL)
#define CR_DECLARE(ret, nm, args) ret KERN(nm) args;
CR_KERNELS(CR_DECLARE)
CR_KERNELS_UNITS(CR_DECLARE)
#undef CR_DECLARE
#endif

/* marks a loop whose iterations are independent */
#define SIMD _Pragma("omp simd")
/* implements [acc] of list.h: out[i] = expr or out[i] += expr for i < n; expr uses i */
#define SET_OR_ADD(out, n, acc, expr)                                                              \
    do {                                                                                           \
        if (acc) {                                                                                 \
            SIMD for (int64_t i = 0; i < (n); i++) out[i] += (expr);                               \
        } else {                                                                                   \
            SIMD for (int64_t i = 0; i < (n); i++) out[i] = (expr);                                \
        }                                                                                          \
    } while (0)

/* EACH is a loop of at most 16 steps, fully unrolled, so that an array of vectors stays in
 * registers. */
#ifdef __clang__
#define EACH(i, n) _Pragma("unroll") for (int i = 0; i < (n); i++)
#else
#define EACH(i, n) _Pragma("GCC unroll 16") for (int i = 0; i < (n); i++)
#endif

/* gemm_tn works through K in blocks of this many rows */
#define TN_KC 256

#endif
