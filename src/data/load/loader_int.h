/*
 * loader_int.h - what loader.c (threads, the way in and out) and plan.c (what is in which
 * batch) share.
 *
 *   slot    one block of a file, encoded, bad rows left out
 *   window  rows that are permuted together: many slots, or one when nothing is shuffled
 *   job     one batch: which rows of which windows, then the batch itself
 *
 * Slots are cut in the order of the stream and put into windows in that order, whenever they are
 * done; batches are planned from windows in order, assembled by any thread and handed out in order.
 * Nothing that decides on content looks at time.
 *
 * Where the reader knows the rows of blocks, slots are put into the queue before they are cut and
 * any worker takes one whose hand is free (rows.c). With `exact` rows are taken by number:
 * what was given out before, or belongs to other processes, is not read; a slot then stands for
 * more rows of its block than it holds.
 */
#ifndef CR_DATA_LOAD_LOADER_INT_H
#define CR_DATA_LOAD_LOADER_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "data/load/gather.h"
#include "data/load/loader.h"

typedef struct cr_slot {
    struct cr_slot *next; /* in the queue of cut blocks, or of free slots */
    int64_t epoch, unit, next_unit;
    int64_t file, offset, first_line; /* of the block, for messages */
    bool done;                        /* parsed and encoded, or failed */
    bool started;                     /* with block_rows: a worker has it */
    int hand;
    int64_t block, first_row; /* with block_rows; of the file, -1: not known */
    int64_t base;             /* rows of the block before those it stands for */
    int64_t n_stands;         /* rows it stands for; -1: those it holds */
    int64_t lead, n_read;     /* rows not read in front of those it holds */
    bool block_end;           /* it stands for the last rows of its block */
    bool end;                 /* no block: the epoch is over */
    cr_code code;
    cr_err err;
    cr_batch rows;
    const char *rec; /* shuffled: rows lie in records */
    cr_region mem;
    void *tally;  /* room for counts, kept from use to use; so below */
    bool counted; /* it holds some */
    int64_t n_bad;
    cr_bad_row *bad; /* the first few */
    int64_t n_bad_kept;
} cr_slot;

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
    int64_t base, lead; /* of its one slot, exact only */
    bool block_end;
    void *tally; /* of its slots, until a batch has it */
    bool counted;
    bool last;  /* CR_WIN_END: of the last epoch */
    cr_err err; /* CR_WIN_FAILED */
} cr_window;

typedef enum cr_job_kind { CR_JOB_BATCH, CR_JOB_END, CR_JOB_FAILED } cr_job_kind;
typedef struct cr_job {
    cr_batch batch; /* first: the caller's pointer */
    struct cr_job *next;
    cr_job_kind kind;
    bool started, ready;
    bool last;
    cr_err err;
    cr_region mem;
    void *tally; /* of the windows that begin in it */
    bool counted;
    const cr_batch *shape;
    cr_row_run *runs;
    cr_window **wins; /* of the runs */
    int n_runs, cap_runs;
} cr_job;

struct cr_loader {
    cr_loader_opts o;
    const cr_reader_type *reader;
    cr_source *src;
    int64_t n_files, n_items;
    int64_t
        *first_item; /* per file, and the end: blocks of plain files, one for a compressed file */
    bool *front;     /* per file: front to back only */
    int64_t G;       /* rows of a global batch */
    int64_t W;       /* rows that close a window */

    pthread_mutex_t lock;
    pthread_cond_t work, ready; /* for workers; for the caller */
    pthread_t *threads;
    int n_threads;
    atomic_bool stop;
    int n_rows_traced; /* workers that have a row of the trace */

    /* the cutter's, who holds `cutting` */
    bool cutting, cut_over;
    int64_t epoch, item, block;
    int64_t *order, order_epoch;
    bool front_begun;
    int64_t hint, hint_epoch; /* items up to here, of this epoch, were named to the reader */

    /* rows.c */
    bool known; /* the reader knows the rows of blocks */
    bool exact; /* and rows are taken by number */
    bool split; /* exact, and rows of other processes are passed over */
    cr_raw *hands;
    bool *busy;
    int n_hands, hand;
    int32_t *hand_of;       /* shuffled: beside order */
    int64_t *rows_before;   /* per item and the end, in file order */
    int64_t *runs, n_runs;  /* first item of each stretch, and the end */
    int64_t run, block_row; /* not shuffled: the stretch and the row of the block that come next */
    int64_t batch_base;     /* rows of the epoch before its first batch of this run */
    int64_t queued, max_queued; /* rows of slots in the queue */

    /* cut slots in order, and what was made of them; the sequencer holds `sequencing` */
    cr_slot *head, *tail, *free_slots;
    int n_pending;
    bool sequencing, seq_over;
    cr_window *open;
    int64_t open_rows, epoch_rows, epoch_bad;
    int64_t skip; /* rows of the first window that were given out before the start */
    int n_logged;

    cr_window *win_head, *win_tail, *free_wins;
    int64_t closed_rows; /* in the queue and not in a batch */
    bool plan_over;
    int64_t epoch_batches;

    cr_job jobs[CR_LOADER_AHEAD];
    cr_job *job_head, *job_tail, *free_jobs;

    cr_loader_stats stats;
    void *tally;      /* of what was given out */
    double row_bytes; /* encoded, the most of any block so far */
    cr_err first_bad; /* CR_OK: none yet */
    bool finished;    /* the caller has seen the end */
    cr_err failed;    /* the caller has seen an error */
};

/* All with the lock held, unless said. */

/* cr_rows_open, after the items were listed and before anything starts. */
CR_CHECKED cr_code cr_rows_open(cr_loader *l, cr_err *err);
CR_CHECKED cr_code cr_rows_start(cr_loader *l, cr_err *err); /* exact: where to begin */
void cr_rows_close(cr_loader *l);
/* cr_rows_feed puts the next slots into the queue; false: there is nothing to add. */
bool cr_rows_feed(cr_loader *l);
/* cr_rows_pick: a slot for a worker, marked as started, its hand as busy; NULL: none now. */
cr_slot *cr_rows_pick(cr_loader *l);
cr_slot *cr_loader_slot(cr_loader *l); /* an empty one */
void cr_loader_queue(cr_loader *l, cr_slot *s);
/* cr_loader_hints: items of the epoch from `now` on that the reader is to hear of, at most
 * CR_LOADER_HINTS; returns how many. cr_loader_hint tells it, without the lock. */
#define CR_LOADER_HINTS 64
int cr_loader_hints(cr_loader *l, int64_t now, int64_t out[CR_LOADER_HINTS]);
void cr_loader_hint(cr_loader *l, const int64_t *items, int n);
int64_t cr_loader_file_of(const cr_loader *l, int64_t item);

/* cr_plan_slot puts a done slot into the stream. Called by the holder of `sequencing`, without the
 * lock. */
void cr_plan_slot(cr_loader *l, cr_slot *s);
/* cr_plan_jobs plans as many batches as there are free jobs and rows. */
void cr_plan_jobs(cr_loader *l);
/* cr_plan_done: a job was assembled, its windows are released. */
void cr_plan_done(cr_loader *l, cr_job *j);
void cr_plan_clear(cr_loader *l);

#endif
