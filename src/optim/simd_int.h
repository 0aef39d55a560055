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

#include "base/mem.h"
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

/* Runs row(w, state, g, D) for all rows of a cr_optim_rows, while later ones are fetched. The
 * compiler knows D where it is 1 or 16. */
#define CR_ROWS_AHEAD 8
#define CR_EACH_ROW(r, row)                                                                        \
    do {                                                                                           \
        switch ((r)->D) {                                                                          \
        case 1: CR_EACH_ROW_OF(r, row, 1); break;                                                  \
        case 16: CR_EACH_ROW_OF(r, row, 16); break;                                                \
        default: CR_EACH_ROW_OF(r, row, (r)->D);                                                   \
        }                                                                                          \
    } while (0)
#define CR_EACH_ROW_OF(r, row, width)                                                              \
    for (int64_t k_ = 0; k_ < (r)->n; k_++) {                                                      \
        float *w_ = (r)->base + ((r)->id[k_] - (r)->row0) * (r)->stride;                           \
        if (k_ + CR_ROWS_AHEAD < (r)->n + (r)->more)                                               \
            cr_fetch((r)->base + ((r)->id[k_ + CR_ROWS_AHEAD] - (r)->row0) * (r)->stride,          \
                     (r)->stride * (int64_t)sizeof(float), true);                                  \
        row(w_, w_ + (width), (r)->g + k_ * (width), (int64_t)(width));                            \
    }

#endif
