/*
 * blocks.h - gradients of weights whose terms are summed in blocks of CR_BF16_BLOCK rows.
 *
 * A gradient of a weight is a product L^T O over the rows of a lane. BF16 products cut that sum
 * into blocks (kern/list.h), counted from the first row of the lane, and a tile need not end with a
 * block. So the last rows of a tile that fill no block wait in the thread's carried values
 * (cr_carry) for the next tile of the lane, and the result does not depend on how the lane is cut
 * into tiles.
 */
#ifndef CR_OP_BLOCKS_H
#define CR_OP_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* Some rows of both sides: M columns of L and N of O. */
typedef struct cr_sides {
    const float *L, *O;
    int64_t ldl, ldo;
    int64_t M, N;
} cr_sides;

/* cr_blocks_carry returns the floats to be carried. */
int64_t cr_blocks_carry(int64_t M, int64_t N);

/* cr_blocks_add calls add for all whole blocks of the rows that came so far, at most twice; n is a
 * multiple of CR_BF16_BLOCK, except behind the last rows. first: these are the first rows of the
 * lane; last: the last ones. It returns whether it called add. */
typedef void (*cr_blocks_fn)(void *ctx, const cr_sides *s, int64_t n);
bool cr_blocks_add(float *carry, cr_sides s, int64_t n, bool first, bool last, cr_blocks_fn add,
                   void *ctx);

#endif
