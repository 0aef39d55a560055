/*
 * kern.h - the arithmetic of the inner loops, one table of functions per CPU level.
 *
 * Kernels are called through the table: cr_kern->gemm(...), cr_kern->sigmoid(...). The comment
 * above an entry in list.h says what the kernel computes. All levels give the same bits: choosing
 * another level (or machine) changes the speed of a result, never the result; the one exception is
 * cr_kern_order. A row's result does not depend on where in a matrix the row stands or on how many
 * rows are computed together.
 */
#ifndef CR_KERN_KERN_H
#define CR_KERN_KERN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"
#include "kern/list.h"

/* The kinds of 16-bit floats. */
#define CR_HALF_BF16 1
#define CR_HALF_FP16 2
/* cr_half_of returns the kind that a config names; 0 for FP32 and "". */
int cr_half_of(const char *name);

/* How the inputs of matrix products are taken: as they are, rounded to 16 bits, or as sums of two
 * or three BF16 values. */
typedef enum cr_products {
    CR_PRODUCTS_FP32,
    CR_PRODUCTS_BF16,
    CR_PRODUCTS_FP16,
    CR_PRODUCTS_BF16X3,
    CR_PRODUCTS_BF16X6,
    CR_PRODUCTS_KINDS
} cr_products;
const char *cr_products_name(cr_products p);
/* cr_products_of returns the kind with that name; CR_PRODUCTS_FP32 for "" and other names. */
cr_products cr_products_of(const char *name);
/* cr_products_parts returns the BF16 parts of an input; 0: the kind has none. */
static inline int cr_products_parts(cr_products p) {
    return p == CR_PRODUCTS_BF16     ? 1
           : p == CR_PRODUCTS_BF16X3 ? 2
           : p == CR_PRODUCTS_BF16X6 ? 3
                                     : 0;
}

/* A row of one of several matrices, in a batch that is cut into lanes (lane_sums). */
typedef struct cr_entry {
    uint32_t row;
    uint32_t at; /* cr_entry_lane and cr_entry_slot; equal where both are */
} cr_entry;
enum { CR_ENTRY_LANES = 1024, CR_ENTRY_SLOTS = 1 << 22 };
static inline uint32_t cr_entry_lane(cr_entry e) {
    return e.at % CR_ENTRY_LANES;
}
/* the number of the matrix */
static inline uint32_t cr_entry_slot(cr_entry e) {
    return e.at / CR_ENTRY_LANES;
}

/* A matrix (M, N) between BF16 products (gemm_units), in up to five forms; NULL: not in this one.
 * All but the floats are units: blocks of 32 x 32 values of 16 bits, 512 words each, with zeros
 * where the matrix ends inside of a block (x86/units_int.h). */
typedef struct cr_units {
    float *f; /* floats, rows ld apart */
    int64_t ld;
    uint32_t *rows;   /* left operand of gemm_units: [M / 32][N / 32][part] */
    uint32_t *pairs;  /* right operand of gemm_units_tn: [N / 32][M / 32][part] */
    uint32_t *turned; /* left operand of gemm_units_tn: [N / 32][M / 32][part] */
    uint32_t *above;  /* which values are above 0, a bit each: [M / 32][N / 32][row] */
} cr_units;

#define CR_KERN_FIELD(ret, name, args) ret(*name) args;
typedef struct cr_kernels {
    CR_KERNELS(CR_KERN_FIELD)
    CR_KERNELS_UNITS(CR_KERN_FIELD)
} cr_kernels;
#undef CR_KERN_FIELD

/* The table in use. Plain C until cr_kern_init has run. */
extern const cr_kernels *cr_kern;
/* Its level, for loops that other folders compile for several levels themselves. */
extern cr_cpu_level cr_kern_level;
/* cr_kern_order returns the name of the order in which this level sums products of one BF16 part:
 * "tiles", or "pairs" where the CPU's dot product of pairs is so much faster that results that
 * differ in the last bits are the lesser evil (AMD; docs/design/bf16.md). */
const char *cr_kern_order(cr_cpu_level level);
/* cr_kern_init chooses the best level of this CPU (CRANK_CPU lowers it). Call once, before threads.
 */
void cr_kern_init(void);
/* cr_kern_at returns the table of a level; NULL when this CPU, or this build, does not have it. */
const cr_kernels *cr_kern_at(cr_cpu_level level);

/* gemm: C = [C +] A * B [+ bias] [relu] [mask] */
#define CR_GEMM_ACC  1  /* start each chain from C */
#define CR_GEMM_BIAS 2  /* add bias[n] last */
#define CR_GEMM_RELU 4  /* then max(., 0) */
#define CR_GEMM_MASK 16 /* 0 where the mask, a matrix like C given instead of bias, is not > 0 */
/* each chain starts from 0, and its result is added to C before bias; K <= 512 */
#define CR_GEMM_ADD 8

/* The right-hand matrix is packed once, in panels of CR_GEMM_NR columns, and used by many calls.
 * The layout is the same on every level. Panels are independent, so threads can share the packing
 * (gemm_pack with disjoint [p0, p1)), and a gemm over the columns from panel p on uses packed + p *
 * cr_gemm_panel(K). Memory that is 64-byte aligned is faster, but not required. */
#define CR_GEMM_NR 32
static inline int64_t cr_gemm_panels(int64_t N) {
    return (N + CR_GEMM_NR - 1) / CR_GEMM_NR;
}
/* The number of floats of one panel, and of a whole packed (K, N) matrix. */
static inline int64_t cr_gemm_panel(int64_t K) {
    return K * CR_GEMM_NR;
}
static inline int64_t cr_gemm_pack_size(int64_t K, int64_t N) {
    return cr_gemm_panels(N) * cr_gemm_panel(K);
}
/* cr_gemm_pack packs all of B (K, N), or all of B given as (N, K) when trans. */
static inline void cr_gemm_pack(float *dst, const float *B, int64_t ldb, bool trans, int64_t K,
                                int64_t N) {
    cr_kern->gemm_pack(dst, B, ldb, trans, K, N, 0, cr_gemm_panels(N));
}
/* gemm_nz is faster than gemm from this many columns on, when half of A is zero. */
#define CR_GEMM_NZ_COLUMNS 64
/* For gemm_nz: the columns of a strip (a multiple of 16 up to 160, the same for all strips), and
 * the floats of a packed (K, N) matrix. Threads can share the packing by rows. */
static inline int64_t cr_gemm_nz_strip(int64_t N) {
    int64_t v = (N + 15) / 16, strips = (v + 9) / 10;
    return strips > 0 ? (v + strips - 1) / strips * 16 : 16;
}
static inline int64_t cr_gemm_nz_pack_size(int64_t K, int64_t N) {
    int64_t w = cr_gemm_nz_strip(N);
    return (N + w - 1) / w * w * K;
}
/* cr_gemm_tn_scratch returns the floats of scratch memory that gemm_tn may use for C (M, N) = A^T
 * (M, K) * B (K, N). */
int64_t cr_gemm_tn_scratch(int64_t M, int64_t N, int64_t K);

/* The BF16 products (list.h) take each float as the sum of `parts` BF16 values: 1 rounds it to 8
 * bits, 2 keeps 16 bits (three products, "BF16x3"), 3 keeps all 24 ("BF16x6"). Sums are cut into
 * blocks of CR_BF16_BLOCK along k, so a product whose k is cut into several calls gives the same
 * bits when each call but the last has a multiple of that. */
#define CR_BF16_BLOCK 32
/* Words (two values each) of one panel and of a whole packed (K, N) matrix; words of the first k
 * values along k of a panel (k a multiple of CR_BF16_BLOCK); floats of scratch memory. */
static inline int64_t cr_gemm_bf16_panel(int64_t K, int parts) {
    return (K + CR_BF16_BLOCK - 1) / CR_BF16_BLOCK * (CR_BF16_BLOCK * CR_GEMM_NR / 2) * parts;
}
static inline int64_t cr_gemm_bf16_pack_size(int64_t K, int64_t N, int parts) {
    return cr_gemm_panels(N) * cr_gemm_bf16_panel(K, parts);
}
int64_t cr_gemm_bf16_scratch(int64_t M, int64_t K, int parts);
int64_t cr_gemm_bf16_tn_scratch(int64_t M, int64_t N, int64_t K, int parts);
/* For cr_units (M, N): words of one form, and of `above`; floats of scratch memory. */
static inline int64_t cr_units_size(int64_t M, int64_t N, int parts) {
    return cr_gemm_bf16_pack_size(M, N, parts);
}
static inline int64_t cr_units_above(int64_t M, int64_t N) {
    return cr_gemm_panels(M) * cr_gemm_panels(N) * 32;
}
int64_t cr_gemm_units_scratch(int64_t M, int64_t K, int parts);

#endif
