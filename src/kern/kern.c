/*
 * kern.c - the tables, one per CPU level, and the choice among them.
 *
 * The tables are constant; only the pointer cr_kern and its level change, once, at start-up. A
 * level that this build does not have (another CPU family) has no table and is skipped.
 */
#include "kern/kern.h"

#include <string.h>

#include <stddef.h>

#include "kern/bf16_int.h"

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
/* avx512 with the CPU's BF16 dot product */
#define DECLARE_avx512_bf16(ret, name, args) ret cr_##name##_avx512_bf16 args;
#define ENTRY_avx512_bf16(ret, name, args)   .name = cr_##name##_avx512_bf16,
CR_KERNELS_BF16_DOT(DECLARE_avx512_bf16)
static const cr_kernels table_avx512_bf16 = {CR_KERNELS_REST(ENTRY_avx512)
                                                 CR_KERNELS_BF16_DOT(ENTRY_avx512_bf16)};
#endif

static const cr_kernels *const tables[CR_CPU_LEVELS] = {
    [CR_CPU_C] = &table_c,
#ifdef __x86_64__
    [CR_CPU_AVX2] = &table_avx2,
    [CR_CPU_AVX512] = &table_avx512,
    [CR_CPU_AVX512_BF16] = &table_avx512_bf16,
#endif
};
const cr_kernels *cr_kern = &table_c;
cr_cpu_level cr_kern_level = CR_CPU_C;

const cr_kernels *cr_kern_at(cr_cpu_level level) {
    return level <= cr_cpu_level_max() ? tables[level] : NULL;
}

void cr_kern_init(void) {
    cr_cpu_level level = cr_cpu_level_max();
    /* models may be opened while others run, so values that are right already are not written
     * again */
    if (cr_kern != CR_CPU_PICK(tables, level)) cr_kern = CR_CPU_PICK(tables, level);
    if (cr_kern_level != level) cr_kern_level = level;
}

int64_t cr_gemm_tn_scratch(int64_t M, int64_t N, int64_t K) {
    (void)N;
    int64_t kc = K < TN_KC ? K : TN_KC;
    return kc * (CR_GEMM_NR + M + 16); /* room for a panel of B, and for A in whole tiles of rows */
}

int64_t cr_gemm_bf16_scratch(int64_t M, int64_t K) {
    int64_t rows = M < BF16_MC ? M : BF16_MC, kc = K < BF16_KC ? K : BF16_KC;
    /* room for a block of A, and for one of B when it has few columns */
    return rows * (kc + 18) + kc * CR_GEMM_NR;
}

int64_t cr_gemm_bf16_tn_scratch(int64_t M, int64_t N, int64_t K) {
    int64_t kc = K < TN_KC ? K : TN_KC; /* room for both sides rounded, and for gemm_tn */
    return kc * (M + N + 32) + cr_gemm_tn_scratch(M, N, kc);
}

int cr_half_of(const char *name) {
    if (strcmp(name, "BF16") == 0) return CR_HALF_BF16;
    return strcmp(name, "FP16") == 0 ? CR_HALF_FP16 : 0;
}
