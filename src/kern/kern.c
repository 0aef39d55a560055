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
/* avx512 with the tile unit */
#ifdef CR_HAVE_AMX
#define DECLARE_amx(ret, name, args) ret cr_##name##_amx args;
#define ENTRY_amx(ret, name, args)   .name = cr_##name##_amx,
CR_KERNELS_BF16_DOT(DECLARE_amx)
CR_KERNELS_UNITS(DECLARE_amx)
static const cr_kernels table_amx = {CR_KERNELS_REST(ENTRY_avx512) CR_KERNELS_BF16_DOT(ENTRY_amx)
                                         CR_KERNELS_UNITS(ENTRY_amx)};
#endif
#endif

static const cr_kernels *const tables[CR_CPU_LEVELS] = {
    [CR_CPU_C] = &table_c,
#ifdef __x86_64__
    [CR_CPU_AVX2] = &table_avx2,
    [CR_CPU_AVX512] = &table_avx512,
    [CR_CPU_AVX512_BF16] = &table_avx512_bf16,
#ifdef CR_HAVE_AMX
    [CR_CPU_AMX] = &table_amx,
#endif
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

/* Words of units for n rows or columns and K along k; they have half as many words as values. */
static int64_t units(int64_t n, int64_t K, int parts) {
    return cr_gemm_bf16_pack_size(K, n, parts);
}

int64_t cr_gemm_bf16_scratch(int64_t M, int64_t K, int parts) {
    int64_t kc = K < BF16_KC ? K : BF16_KC, most = bf16_tile_rows(parts);
    /* a block of A: as rounded floats, or as units for the tile unit with three blocks of C */
    int64_t rows = (M < BF16_MC ? M : BF16_MC) * (bf16_blocks(kc) * CR_BF16_BLOCK + 16) * parts;
    int64_t tiles = units(M < most ? M : most, kc, parts) + 3072 + 16;
    return rows > tiles ? rows : tiles;
}

int64_t cr_gemm_bf16_tn_scratch(int64_t M, int64_t N, int64_t K, int parts) {
    int64_t kc = K < TN_KC ? K : TN_KC, mt = M < BF16_MT ? M : BF16_MT;
    /* B packed and some columns of A as floats; B packed and A in pairs;
     * or the units of both, three blocks of C and a unit per part */
    int64_t k_all = bf16_blocks(kc) * CR_BF16_BLOCK, B = units(N, kc, parts);
    int64_t rows = B + k_all * mt * parts, pairs = B + k_all / 2 * PAIRS_LD(M);
    int64_t tiles = B + units(M, kc, parts) + 3072 + 3 * BF16_UNIT + 16;
    if (rows < pairs) rows = pairs;
    return rows > tiles ? rows : tiles;
}

int64_t cr_gemm_units_scratch(int64_t M, int64_t K, int parts) {
    int64_t most = bf16_tile_rows(parts);
    return units(M < most ? M : most, K, parts) + 3072 + 3 * BF16_UNIT + 16;
}

const char *cr_kern_order(cr_cpu_level level) {
    return level == CR_CPU_AVX512_BF16 ? "pairs" : "tiles";
}

static const char *const products_names[CR_PRODUCTS_KINDS] = {
    [CR_PRODUCTS_FP32] = "FP32",     [CR_PRODUCTS_BF16] = "BF16",     [CR_PRODUCTS_FP16] = "FP16",
    [CR_PRODUCTS_BF16X3] = "BF16x3", [CR_PRODUCTS_BF16X6] = "BF16x6",
};
const char *cr_products_name(cr_products p) {
    return products_names[p];
}
cr_products cr_products_of(const char *name) {
    for (int p = 0; p < CR_PRODUCTS_KINDS; p++)
        if (strcmp(products_names[p], name) == 0) return (cr_products)p;
    return CR_PRODUCTS_FP32;
}

int cr_half_of(const char *name) {
    if (strcmp(name, "BF16") == 0) return CR_HALF_BF16;
    return strcmp(name, "FP16") == 0 ? CR_HALF_FP16 : 0;
}
