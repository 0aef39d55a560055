/*
 * sparse.h - constant sparse matrices: products, sums and transposes that make them, and their
 * product with the rows of a dense one. The numbers lie in an arena, rows in order, columns
 * ascending in each row.
 */
#ifndef CR_OP_SPARSE_H
#define CR_OP_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

typedef struct cr_sparse {
    int64_t rows, cols;
    int64_t *off; /* rows + 1: where each row begins in col and v */
    int32_t *col;
    float *v;
} cr_sparse;

/* cr_sparse_pairs has a 1 at each (row, column) of n pairs, however often the pair comes. */
cr_sparse cr_sparse_pairs(cr_arena *a, int64_t rows, int64_t cols, const int64_t *pairs, int64_t n);
/* The transpose. */
cr_sparse cr_sparse_turn(cr_arena *a, const cr_sparse *m);
/* x y, element by element times `mask`; NULL: the product itself. */
cr_sparse cr_sparse_product(cr_arena *a, const cr_sparse *x, const cr_sparse *y,
                            const cr_sparse *mask);
/* fx x + fy y without the zeros that come out. */
cr_sparse cr_sparse_sum(cr_arena *a, const cr_sparse *x, float fx, const cr_sparse *y, float fy);
/* The numbers above a limit, each row divided by its sum; a row without numbers has zeros. */
cr_sparse cr_sparse_means(cr_arena *a, const cr_sparse *m, float limit);
/* out (rows, D) = [out +] m x, with x (cols, D). */
void cr_sparse_apply(float *out, const cr_sparse *m, const float *x, int64_t D, bool add);

#endif
