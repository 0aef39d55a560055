/*
 * fill.h - a filler parses and encodes the raw block of a slot and leaves the good rows in the
 * slot. Every worker has one, and with it the memory that it keeps from block to block.
 */
#ifndef CR_DATA_LOAD_FILL_H
#define CR_DATA_LOAD_FILL_H

#include "data/load/items.h"
#include "data/load/slot.h"

typedef struct cr_filler {
    const cr_items *in;
    int row; /* in the trace */
    cr_chunk chunk;
    cr_chunk_rows enc;
    cr_bad bad;
    uint8_t *mark;   /* per row of the block: bad */
    cr_rowref *good; /* the other rows */
    int64_t cap_rows;
    uint8_t *hidden; /* per row of the block */
    int64_t cap_hidden;
    int32_t *kept; /* rows of the block on the side that is wanted */
    cr_skipper skipper;
    int64_t cap_kept;
    double parse_s, encode_s; /* CPU seconds of the last block */
    /* the most bytes that an encoded row of any block took so far: packed in a batch; waiting in a
     * slot */
    double row_bytes, slot_bytes;
} cr_filler;

void cr_filler_init(cr_filler *f, const cr_items *in, int row);
void cr_filler_clear(cr_filler *f);
/* cr_fill fills the slot, which tells the epoch, with the good rows of a raw block. */
CR_CHECKED cr_code cr_fill(cr_filler *f, const cr_raw *raw, cr_slot *s);

#endif
