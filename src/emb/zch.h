/*
 * zch.h - zero-collision hash: a map from 63-bit ids to the rows of a table of fixed size, in which
 * the ids with the best scores have a row of their own and all others share the last row.
 *
 * Training counts the ids of its steps. Every `interval` steps the map is updated: ids that were
 * seen often or lately take the rows of those that were not. Evaluation and prediction only look
 * ids up. The results are those of TorchRec's MCHManagedCollisionModule in one process; they do not
 * depend on how the ids of a step were divided over threads and holders.
 */
#ifndef CR_EMB_ZCH_H
#define CR_EMB_ZCH_H

#include "base/pool.h"
#include "graph/part.h"

typedef enum cr_zch_policy { CR_ZCH_LFU, CR_ZCH_LRU, CR_ZCH_DISTANCE_LFU } cr_zch_policy;
/* Which of the counted ids an update considers. */
typedef enum cr_zch_pass {
    CR_ZCH_ALL,
    CR_ZCH_ABOVE,    /* those with a count above `arg` */
    CR_ZCH_AT_LEAST, /* those with a count of `arg` or more */
    CR_ZCH_DYNAMIC,  /* above `arg` times the mean count */
    CR_ZCH_AVERAGE,  /* above the mean count */
    CR_ZCH_CHANCE    /* by chance, 1 - (1 - arg)^count */
} cr_zch_pass;

typedef struct cr_zch_opts {
    const char *name; /* of the table; borrowed */
    int64_t size;     /* rows of the table, 2 or more; the last one is the fallback */
    int64_t interval; /* steps between two updates */
    cr_zch_policy policy;
    double exponent; /* of LRU and DISTANCE_LFU */
    cr_zch_pass pass;
    double arg;
    uint64_t seed; /* for CR_ZCH_CHANCE */
} cr_zch_opts;
/* The most rows. */
#define CR_ZCH_ROWS ((int64_t)1 << 31)

typedef struct cr_zch cr_zch;
CR_CHECKED cr_code cr_zch_new(cr_zch **out, const cr_zch_opts *o, cr_err *err);
/* cr_zch_view makes a map that can only be read: ids and rows (size numbers each, those of
 * cr_zch_rows) must outlive it. A row outside the table counts as the fallback. */
cr_zch *cr_zch_view(const cr_zch_opts *o, const int64_t *ids, const int64_t *rows);
void cr_zch_free(cr_zch *z);

/* cr_zch_find writes the row of each of n ids. Any number of threads may call it. pool may be
 * NULL. */
void cr_zch_find(const cr_zch *z, const int64_t *ids, int64_t n, int64_t *rows, cr_pool *pool);

/* A training step: cr_zch_count for each list of ids, then cr_zch_step. cr_zch_step is collective
 * where the batch has several holders (meet not NULL), of which each counts its own ids. Where an
 * update is due it calls fresh for every row that has a new id now; left is the id that it had,
 * INT64_MAX: none. After a failure (no memory) the map may only be freed; the other holders do not
 * hear of it. */
CR_CHECKED cr_code cr_zch_count(cr_zch *z, const int64_t *ids, int64_t n, cr_err *err);
CR_CHECKED cr_code cr_zch_step(cr_zch *z, const cr_meet *meet,
                               void (*fresh)(void *ctx, int64_t row, int64_t id, int64_t left),
                               void *ctx, cr_err *err);

/* ---- what a checkpoint keeps ---- */

/* Arrays by the place of an id among all, ascending; behind the ids lie the free rows and the
 * fallback with the id INT64_MAX. As many numbers each as the table has rows. */
typedef struct cr_zch_rows {
    int64_t *id, *row, *count, *last;
} cr_zch_rows;
/* What was counted since the last update, ids ascending. */
typedef struct cr_zch_seen {
    int64_t n;
    int64_t *id, *count, *last;
} cr_zch_seen;
typedef struct cr_zch_state {
    int64_t size;
    cr_zch_rows rows;
    cr_zch_seen seen;
    int64_t steps[2]; /* training steps so far; the step of the last update */
    /* of a growing table: the number of days that it knows, each with its first step, and the words
     * of its sketch; n_kept 0: its rules need none of both */
    int64_t n_kept, *kept;
} cr_zch_state;
/* cr_zch_save (collective with meet) copies the state, the same on every holder. cr_zch_room makes
 * room for a state of `size` rows with n_seen counted ids, or changes these numbers; the caller
 * fills it in, and cr_zch_load takes it. A map may have more rows than the state: an id's row is
 * then as far from the end as before. A state with more rows than the map is left alone. It fails
 * when the arrays contradict each other; the map is then as before. Of several holders one
 * (`first`) keeps what was counted. cr_zch_state_clear frees a state; all zeros is an empty one. */
CR_CHECKED cr_code cr_zch_save(cr_zch *z, const cr_meet *meet, cr_zch_state *out, cr_err *err);
CR_CHECKED cr_code cr_zch_room(int64_t size, int64_t n_seen, cr_zch_state *s, cr_err *err);
CR_CHECKED cr_code cr_zch_room_kept(int64_t n, cr_zch_state *s, cr_err *err);
CR_CHECKED cr_code cr_zch_load(cr_zch *z, const cr_zch_state *s, bool first, cr_err *err);
void cr_zch_state_clear(cr_zch_state *s);

bool cr_zch_learns(const cr_zch *z);       /* false: it was made by cr_zch_view */
int64_t cr_zch_free_rows(const cr_zch *z); /* rows [0, this) never had an id */
int64_t cr_zch_known(const cr_zch *z);     /* ids that have a row of their own */
int64_t cr_zch_bytes(int64_t size);        /* memory of a map that is trained */

#endif
