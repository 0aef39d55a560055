/*
 * sequencer.h - the sequencer puts done slots, in the order of the stream, into windows. It counts
 * and reports bad rows on the way, and it closes a window when the window has enough rows.
 *
 * One worker at a time moves it (`busy`), without the loader's lock: permuting the rows of a window
 * takes long.
 */
#ifndef CR_DATA_LOAD_SEQUENCER_H
#define CR_DATA_LOAD_SEQUENCER_H

#include <pthread.h>

#include "data/load/items.h"
#include "data/load/window.h"

typedef struct cr_sequencer {
    const cr_items *in;
    cr_windows *out;
    pthread_mutex_t *lock; /* the loader's; it guards `out` and the members of this group: */
    bool busy;             /* a worker moves it */
    bool over;             /* an error ended the stream */
    int64_t open_rows;     /* of the window that is being filled */
    int64_t n_bad;         /* rows left out so far */
    cr_err first_bad;      /* the first of them; CR_OK: none yet */
    /* of the worker that moves it */
    cr_window *open;
    int64_t full; /* rows that close a window */
    int64_t skip; /* rows of the first window that were given out before the start */
    int64_t epoch_rows, epoch_bad;
    int n_logged;
} cr_sequencer;

/* cr_window_rows returns how many rows close a window. */
int64_t cr_window_rows(const cr_loader_opts *o, bool shuffle);
/* cr_sequencer_init: in->o->start tells where the run begins. */
void cr_sequencer_init(cr_sequencer *s, const cr_items *in, cr_windows *out, pthread_mutex_t *lock);
/* cr_sequencer_start tells that the stream begins `skip` rows before the start; these rows are not
 * given out again. */
void cr_sequencer_start(cr_sequencer *s, int64_t skip);
/* cr_sequencer_put puts a slot that is done, and no longer in the queue, into the stream. Called
 * by the worker that set `busy`, without the lock. */
void cr_sequencer_put(cr_sequencer *s, cr_slot *slot);
void cr_sequencer_clear(cr_sequencer *s);

#endif
