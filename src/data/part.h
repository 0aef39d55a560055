/*
 * part.h - some consecutive rows of a batch, as a batch of their own: the tasks of meta-learning
 * (train/inner.c) are such parts.
 */
#ifndef CR_DATA_PART_H
#define CR_DATA_PART_H

#include "data/batch.h"

/* The part, and the memory of its offsets. All zeros is empty. */
typedef struct cr_batch_part {
    cr_batch b;
    cr_arena arena;
    bool open;
} cr_batch_part;

/* cr_batch_part_take makes p->b the rows [first, first + n) of b, which must outlive it. Values are
 * those of b; offsets are copied, because they begin with 0. Reserved columns are left out. */
void cr_batch_part_take(cr_batch_part *p, const cr_batch *b, int64_t first, int64_t n);
void cr_batch_part_clear(cr_batch_part *p);

#endif
