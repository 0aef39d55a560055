/*
 * cutter.h - the cutter makes slots out of blocks: it knows the order in which an epoch is read and
 * which block comes next.
 *
 * Files without known rows are cut by one worker at a time (`busy`), without the loader's lock.
 * Where the reader knows the rows of blocks, slots are put into the queue before their blocks are
 * read, and any worker takes one whose hand is free (hands.h).
 */
#ifndef CR_DATA_LOAD_CUTTER_H
#define CR_DATA_LOAD_CUTTER_H

#include <stdatomic.h>

#include "data/load/hands.h"
#include "data/load/items.h"
#include "data/load/slot.h"

typedef struct cr_cutter {
    const cr_items *in;
    cr_slots *out;
    const atomic_bool *stop; /* the loader is being freed */
    bool busy;               /* a worker cuts */
    bool over;               /* nothing comes after the last slot */
    /* The rest belongs to the worker that cuts or, when rows are known, to the worker that holds
     * the lock. */
    int64_t epoch, item, block;  /* what comes next; block: of a file read front to back */
    int64_t *order, order_epoch; /* of items, and the epoch it is for */
    bool front_begun;            /* the file that comes next was begun */
    int64_t hint, hint_epoch;    /* items up to here, of this epoch, were named to the reader */
    cr_hands hands;
} cr_cutter;

CR_CHECKED cr_code cr_cutter_open(cr_cutter *c, const cr_items *in, cr_slots *out,
                                  const atomic_bool *stop, cr_err *err);
void cr_cutter_close(cr_cutter *c); /* after an error of open, too */
/* cr_cutter_start goes to the position in->o->start. *skip: rows before it that the stream begins
 * with. */
CR_CHECKED cr_code cr_cutter_start(cr_cutter *c, int64_t *skip, cr_err *err);
/* cr_cutter_next cuts the next block of the stream into raw, or finds the end of the epoch; s then
 * tells which. Returns true when nothing comes after it. Called by the worker that set `busy`,
 * without the lock. */
bool cr_cutter_next(cr_cutter *c, cr_raw *raw, cr_slot *s);
/* cr_cutter_hints lists items of the epoch from `now` on that the reader should be told about, at
 * most CR_CUTTER_HINTS, and returns how many. The caller has the lock or is the worker that cuts.
 * cr_cutter_hint tells the reader; the caller does not have the lock. */
#define CR_CUTTER_HINTS 64
int cr_cutter_hints(cr_cutter *c, int64_t now, int64_t out[CR_CUTTER_HINTS]);
void cr_cutter_hint(const cr_cutter *c, const int64_t *items, int n);
/* cr_cutter_feed puts the next slots with known rows into the queue, for n_threads workers; false:
 * there is nothing to add. The caller has the lock. */
bool cr_cutter_feed(cr_cutter *c, int n_threads);
/* cr_cutter_pick returns a slot of the queue for a worker and marks it as started and its hand as
 * busy; NULL: there is none now. The caller has the lock. */
cr_slot *cr_cutter_pick(cr_cutter *c);

#endif
