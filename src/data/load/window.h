/*
 * window.h - a window is the rows that are permuted together: many slots, or one when nothing is
 * shuffled. Windows wait in one queue, in the order of the stream: the sequencer fills it and the
 * planner makes batches of the rows at its front. The end of an epoch and an error are windows
 * without rows.
 *
 * A window whose rows are all planned leaves the queue. Its memory stays until the last batch that
 * holds rows of it is assembled.
 */
#ifndef CR_DATA_LOAD_WINDOW_H
#define CR_DATA_LOAD_WINDOW_H

#include "data/load/slot.h"

typedef enum cr_window_kind { CR_WIN_ROWS, CR_WIN_END, CR_WIN_FAILED } cr_window_kind;
typedef struct cr_window {
    struct cr_window *next;
    cr_window_kind kind;
    cr_slot **slots;
    const cr_batch **srcs; /* slots[i]->rows */
    const char **recs;     /* slots[i]->rec */
    int n_slots, cap_slots;
    cr_rowref *refs; /* the permutation; unused without shuffle */
    int64_t cap_refs;
    int64_t n_rows, used; /* used: in planned batches */
    int readers;          /* batches being assembled from it */
    bool popped;          /* no longer in the queue */
    int64_t epoch, unit, next_unit, rows_before, bad_before, bad;
    int64_t base, lead; /* of its one slot, where rows are taken by number */
    bool block_end;
    cr_tally tally; /* of its slots, until a batch has it */
    bool last;      /* CR_WIN_END: of the last epoch */
    cr_err err;     /* CR_WIN_FAILED */
} cr_window;

typedef struct cr_windows {
    cr_window *head, *tail, *spare;
    cr_slots *slots; /* where slots go when their window is dropped */
    int64_t rows;    /* of windows in the queue, not in a batch */
} cr_windows;
/* All but cr_window_add are called with the loader's lock held. */
cr_window *cr_windows_new(cr_windows *q, cr_window_kind kind); /* empty, not in the queue */
void cr_window_add(cr_window *w, cr_slot *s);                  /* its slot then belongs to it */
void cr_windows_push(cr_windows *q, cr_window *w);
void cr_windows_pop(cr_windows *q);
void cr_windows_drop(cr_windows *q, cr_window *w); /* w, not in the queue, becomes a spare one */
/* cr_windows_release: a batch no longer reads w. */
void cr_windows_release(cr_windows *q, cr_window *w);
void cr_windows_clear(cr_windows *q); /* call it when no window is read any more */

#endif
