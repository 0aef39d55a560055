/*
 * kern.c - the tables, one per CPU level, and the choice among them.
 *
 * The tables are constant; only the pointer cr_kern changes, once, at start-up. A level that this
 * build does not have (another CPU family) has no table and is skipped.
 */
#include "kern/kern.h"

#include <string.h>

#include <stddef.h>

#include "kern/kern_int.h"

#define TABLE(level)                                                                               \
    CR_KERNELS(DECLARE_##level)                                                                    \
    static const cr_kernels table_##level = {CR_KERNELS(ENTRY_##level)};

#define DECLARE_c(ret, name, args) ret cr_##name##_c args;
#define ENTRY_c(ret, name, args)   .name = cr_##name##_c,
TABLE(c)
#ifdef __x86_64__
#define DECLARE_avx2(ret, name, args)   ret cr_##name##_avx2 args;
#define ENTRY_avx2(ret, name, args)     .name = cr_##name##_avx2,
#define DECLARE_avx512(ret, name, args) ret cr_##name##_avx512 args;
#define ENTRY_avx512(ret, name, args)   .name = cr_##name##_avx512,
TABLE(avx2)
TABLE(avx512)
#endif

const cr_kernels *cr_kern = &table_c;

const cr_kernels *cr_kern_at(cr_cpu_level level) {
    if (level > cr_cpu_level_max()) return NULL;
    switch (level) {
    case CR_CPU_C: return &table_c;
#ifdef __x86_64__
    case CR_CPU_AVX2: return &table_avx2;
    case CR_CPU_AVX512: return &table_avx512;
#endif
    default: return NULL;
    }
}

void cr_kern_init(void) {
    for (int level = CR_CPU_C; level < CR_CPU_LEVELS; level++) {
        const cr_kernels *t = cr_kern_at((cr_cpu_level)level);
        if (t) cr_kern = t;
    }
}

int64_t cr_gemm_tn_scratch(int64_t M, int64_t N, int64_t K) {
    (void)N;
    int64_t kc = K < TN_KC ? K : TN_KC;
    return kc * (CR_GEMM_NR + M + 16); /* a panel of B; A in whole tiles of rows */
}

int cr_half_of(const char *name) {
    if (strcmp(name, "BF16") == 0) return CR_HALF_BF16;
    return strcmp(name, "FP16") == 0 ? CR_HALF_FP16 : 0;
}
