/*
 * simd_int.h - one body, three instruction sets, the same bits.
 *
 * The rules are element-wise: no sum runs across lanes, and multiply-add is never contracted (C11
 * mode for gcc, the pragma below for clang), so wider registers cannot change a result. A body is
 * written over blocks of constant length, which the compiler turns into whole vectors at -O2. Each
 * call chooses by the level of the kernels, and not by an ifunc, because this works under valgrind,
 * the sanitizers and static linking alike.
 */
#ifndef CR_OPTIM_SIMD_INT_H
#define CR_OPTIM_SIMD_INT_H

#include <stdint.h>

#include "base/err.h"
#include "kern/kern.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* Defines name(params), which runs name_body(args) compiled for the level in use. */
#if defined(__x86_64__)
#define CR_SIMD(name, params, args)                                                                \
    __attribute__((target("avx512f"))) static void name##_avx512 params {                          \
        name##_body args;                                                                          \
    }                                                                                              \
    __attribute__((target("avx2"))) static void name##_avx2 params {                               \
        name##_body args;                                                                          \
    }                                                                                              \
    static void name##_c params {                                                                  \
        name##_body args;                                                                          \
    }                                                                                              \
    static void name params {                                                                      \
        static void(*const of[CR_CPU_LEVELS]) params = {name##_c, name##_avx2, name##_avx512};     \
        CR_CPU_PICK(of, cr_kern_level) args;                                                       \
    }
#else
#define CR_SIMD(name, params, args)                                                                \
    static void name params {                                                                      \
        name##_body args;                                                                          \
    }
#endif

/* Runs block(i, length) over [0, n) in blocks of 16, then 4, then 1. */
#define CR_BLOCKS(n, block)                                                                        \
    do {                                                                                           \
        int64_t i_ = 0;                                                                            \
        for (; i_ + 16 <= (n); i_ += 16) {                                                         \
            block(i_, 16);                                                                         \
        }                                                                                          \
        for (; i_ + 4 <= (n); i_ += 4) {                                                           \
            block(i_, 4);                                                                          \
        }                                                                                          \
        for (; i_ < (n); i_++) {                                                                   \
            block(i_, 1);                                                                          \
        }                                                                                          \
    } while (0)

#endif
