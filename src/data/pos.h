/*
 * pos.h - a position in the stream of batches.
 */
#ifndef CR_DATA_POS_H
#define CR_DATA_POS_H

#include <stdbool.h>
#include <stdint.h>

#define CR_MAX_SOURCES 16

/* Where the stream of one of several sources stands (load/mix.h). */
typedef struct cr_data_more {
    int64_t epoch, unit, row, rows, bad_rows; /* as below, of this source */
    bool done;                                /* it was read through in this epoch */
} cr_data_more;

/* Where the data stream stands after a batch; part of a checkpoint. It speaks of global batches, so
 * it is the same on every rank and for any number of ranks with the same global batch. After the
 * last batch of an epoch the position still lies in that epoch: going on from there gives the end
 * of the epoch first. The start of epoch e is {e, 0, 0, 0, 0}. */
typedef struct cr_data_pos {
    int64_t epoch; /* passes finished */
    int64_t
        unit; /* first block of the window in the epoch's order: item << 32 | block of the item */
    int64_t row;      /* rows of that window already given out */
    int64_t rows;     /* rows given out in this epoch */
    int64_t bad_rows; /* left out in this epoch before that window */
    /* of several sources: unit counts batches, and each source has its own position */
    int n_more; /* 0: there is one source, or an epoch begins */
    cr_data_more more[CR_MAX_SOURCES];
} cr_data_pos;

#endif
