/*
 * simd_int.h - shared by the kernels in C and those for x86: a list of all bit widths, for code
 * that needs them at compile time, and the C kernels that x86 uses too.
 */
#ifndef CR_PARQUET_SIMD_INT_H
#define CR_PARQUET_SIMD_INT_H

#include <stddef.h>
#include <stdint.h>

#define CR_PQ_WIDTHS32(X)                                                                          \
    X(0)                                                                                           \
    X(1)                                                                                           \
    X(2)                                                                                           \
    X(3)                                                                                           \
    X(4)                                                                                           \
    X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20)     \
        X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)

void cr_pq_unpack64_c(const uint8_t *in, uint64_t *out, size_t n, int bw);
void cr_pq_gather32_c(uint32_t *out, const uint32_t *dict, const uint32_t *code, size_t n);
void cr_pq_gather64_c(uint64_t *out, const uint64_t *dict, const uint32_t *code, size_t n);

/* The body of the kernel `lists`, compiled with and without an instruction that counts bits. */
static inline __attribute__((always_inline)) size_t
cr_pq_lists_body(const uint64_t *begins, const uint64_t *items, const uint64_t *there, size_t words,
                 int32_t first, int32_t *off, uint8_t *valid, size_t *n_items) {
    size_t n = 0;
    int32_t at = first;
    for (size_t i = 0; i < words; i++) {
        for (uint64_t r = begins[i]; r; r &= r - 1) {
            const uint64_t bit = r & -r;
            off[n] = at + (int32_t)__builtin_popcountll(items[i] & (bit - 1));
            valid[n++] = (there[i] & bit) != 0;
        }
        at += (int32_t)__builtin_popcountll(items[i]);
    }
    *n_items = (size_t)(at - first);
    return n;
}

#endif
