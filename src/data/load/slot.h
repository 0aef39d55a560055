/*
 * slot.h - a slot holds one block of a file: first where the block is, then its encoded rows
 * without the bad ones. Slots wait in one queue, in the order of the stream: the cutter puts them
 * in at its end, any worker fills them, and the sequencer takes them out at its front.
 *
 * Where rows are taken by number (hands.h), a slot stands for more rows of its block than it holds.
 */
#ifndef CR_DATA_LOAD_SLOT_H
#define CR_DATA_LOAD_SLOT_H

#include "data/load/gather.h"
#include "data/load/loader.h"

/* What the encoder counted in some rows. The memory stays from use to use; zeros: no memory yet. */
typedef struct cr_tally {
    void *sum;
    bool any; /* false: nothing was counted */
} cr_tally;
/* cr_tally_add adds the counts `from` as the loader's caller wants them added. */
void cr_tally_add(cr_tally *to, const void *from, const cr_loader_opts *o);

typedef struct cr_slot {
    struct cr_slot *next; /* in the queue, or of spare slots */
    bool done;            /* parsed and encoded, or failed */
    bool started;         /* where rows are known: a worker has it */
    bool end;             /* no block: the epoch is over */
    /* the block */
    int64_t epoch, unit, next_unit;
    int64_t file, block;        /* block: where rows are known */
    int64_t offset, first_line; /* for messages */
    int64_t first_row;          /* of those it holds, in the file; -1: not known */
    int hand;                   /* where rows are known: who reads it */
    /* rows by number */
    int64_t base;     /* rows of the block before those it stands for */
    int64_t n_stands; /* rows it stands for; -1: those it holds */
    int64_t lead;     /* rows it stands for and does not hold, in front */
    int64_t n_read;   /* rows to be read; 0: not known */
    bool block_end;   /* it stands for the last rows of its block */
    bool of_all;      /* every process reads its rows, and the first share counts them */
    /* what came of it */
    cr_code code;
    cr_err err;
    cr_batch rows;
    const char *rec; /* shuffled: rows lie in records */
    cr_region mem;   /* of rows that were copied */
    cr_arena arena;  /* of rows that were taken over from the encoder */
    cr_tally tally;
    int64_t n_bad;
    cr_bad_row *bad; /* the first few */
    int64_t n_bad_kept;
} cr_slot;

typedef struct cr_slots {
    cr_slot *head, *tail, *spare;
    int n;        /* in the queue */
    int64_t rows; /* n_read of these */
} cr_slots;
/* All are called with the loader's lock held. */
cr_slot *cr_slots_new(cr_slots *q); /* an empty slot, not in the queue */
void cr_slots_push(cr_slots *q, cr_slot *s);
cr_slot *cr_slots_pop(cr_slots *q);
void cr_slots_drop(cr_slots *q, cr_slot *s); /* s, not in the queue, becomes a spare one */
void cr_slots_clear(cr_slots *q);

#endif
