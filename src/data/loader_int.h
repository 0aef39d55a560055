/*
 * loader_int.h - what loader.c (threads, the way in and out) and loader_plan.c (what is in which
 * batch) share.
 *
 *   slot    one block of a file, encoded, bad rows left out
 *   window  rows that are permuted together: many slots, or one when nothing is shuffled
 *   job     one batch: which rows of which windows, then the batch itself
 *
 * Slots are cut in the order of the stream and put into windows in that order, whenever they are
 * done; batches are planned from windows in order, assembled by any thread and handed out in order.
 * Nothing that decides on content looks at time.
 */
#ifndef CR_DATA_LOADER_INT_H
#define CR_DATA_LOADER_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "data/gather.h"
#include "data/loader.h"

typedef struct cr_slot {
    struct cr_slot *next; /* in the queue of cut blocks, or of free slots */
    int64_t epoch, unit, next_unit;
    int64_t file, offset, first_line; /* of the block, for messages */
    bool done;                        /* parsed and encoded, or failed */
    bool end;                         /* no block: the epoch is over */
    cr_code code;
    cr_err err;
    cr_batch rows;
    const char *rec; /* shuffled: rows lie in records */
    cr_region mem;
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
    cr_err first_bad; /* CR_OK: none yet */
    bool finished; /* the caller has seen the end */
    cr_err failed; /* the caller has seen an error */
};

/* All with the lock held, unless said. */

/* cr_plan_slot puts a done slot into the stream. Called by the holder of `sequencing`, without the
 * lock. */
void cr_plan_slot(cr_loader *l, cr_slot *s);
/* cr_plan_jobs plans as many batches as there are free jobs and rows. */
void cr_plan_jobs(cr_loader *l);
/* cr_plan_done: a job was assembled, its windows are released. */
void cr_plan_done(cr_loader *l, cr_job *j);
void cr_plan_clear(cr_loader *l);

#endif
