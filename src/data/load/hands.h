/*
 * hands.h - divides the rows of an epoch among the hands, when the reader knows how many rows a
 * block has. It is a part of the cutter. A hand reads blocks in turn and keeps its files open.
 *
 * With `exact`, rows are taken by number: rows that were given out before, or that belong to other
 * processes, are not read.
 */
#ifndef CR_DATA_LOAD_HANDS_H
#define CR_DATA_LOAD_HANDS_H

#include "data/load/items.h"
#include "data/load/slot.h"

typedef struct cr_hands {
    bool exact;      /* rows are taken by number */
    bool split;      /* exact, and rows of other processes are passed over */
    int64_t *before; /* per item and the end: rows of the items before it, in file order */
    int64_t *runs;   /* first item of each stretch, and the end */
    int64_t n_runs;
    cr_raw *raw; /* of each hand */
    bool *busy;  /* per hand: a worker moves it */
    int n_hands;
    int32_t *hand_of;   /* shuffled: beside the order of items */
    int64_t run, row;   /* not shuffled: the stretch and the row of the block that come next */
    int64_t batch_base; /* rows of the epoch before its first batch of this run */
    int64_t max_queued; /* rows that may wait in the queue of slots */
} cr_hands;

CR_CHECKED cr_code cr_hands_open(cr_hands *h, const cr_items *in, cr_err *err);
void cr_hands_close(cr_hands *h, const cr_items *in);
/* cr_hands_start is for `exact`: it finds the item that holds the row where the run begins, or the
 * end. */
CR_CHECKED cr_code cr_hands_start(cr_hands *h, const cr_items *in, int64_t *item, cr_err *err);
/* cr_hands_deal fills the order of items of an epoch, shuffled, and hand_of beside it. */
void cr_hands_deal(cr_hands *h, const cr_items *in, int64_t epoch, int64_t *order);
/* cr_hands_share fills in which rows a slot of item `k` stands for, and which of them are read. */
void cr_hands_share(cr_hands *h, const cr_items *in, int64_t k, cr_slot *s);
/* cr_hands_all returns the rows of an epoch; it is an estimate when rows are split. */
int64_t cr_hands_all(const cr_hands *h, const cr_items *in);

#endif
