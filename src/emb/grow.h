/*
 * grow.h - a table whose rows are made when their ids are first seen in training.
 *
 * The table has no size. It knows its rows by key (cr_key_of of the id), and may be one of several
 * shards, each with a range of keys: so ids are spread evenly, and a shard needs to know nothing of
 * the others. A row's first values depend on (seed, table, id) alone, so it does not matter when
 * and where a row is made. Records are never copied; a new row may give them other addresses.
 * It is the owner (owner.h) of its rows: a table that is described with it is looked up and trained
 * like any other, with keys in the place of ids.
 *
 * Rules may keep ids out (admission) and let rows go (eviction). Where rows are limited, the keys
 * are cut into buckets with room for the same number of rows each, and ids compete inside their
 * bucket. What a bucket does depends on its own ids alone, so results do not depend on shards.
 */
#ifndef CR_EMB_GROW_H
#define CR_EMB_GROW_H

#include "emb/ctr.h"
#include "emb/keymap.h"
#include "emb/owner.h"
#include "emb/zch.h"

/* Who leaves a full bucket, or any bucket after some time. */
typedef enum cr_evict {
    CR_EVICT_NONE,         /* nobody; an id that comes when its bucket is full gets no row */
    CR_EVICT_LRU,          /* the one that was not seen for longest */
    CR_EVICT_LFU,          /* the one that was seen least */
    CR_EVICT_DISTANCE_LFU, /* the least count / (steps since it was seen + 1)^exponent */
} cr_evict;

typedef struct cr_grow_rules {
    int64_t most;   /* rows of the whole table; 0: no limit */
    int64_t bucket; /* rows of a bucket, where there is a limit */
    cr_evict evict;
    double exponent;
    bool counts; /* how often and when an id was seen is kept also where no rule needs it */
    /* An id gets a row when it has been seen `admit` times (0, 1: the first time). At most
     * `waiting` ids without a row are counted (0: no limit), a share of them in each bucket; when
     * there are more, that half of the bucket is forgotten that was seen longest ago. */
    int64_t admit, waiting;
    /* cells > 0: ids without a row are counted in a sketch of so many cells (sketch.h), whose
     * counts are at most `error` too high for nearly all ids; `waiting` does not matter then. */
    int64_t cells;
    double error;
    double chance; /* an id without a row gets one with this chance in each step; 0: certainly */
    /* Every `interval` steps a row is looked at. Its count is multiplied by `decay`; it goes when
     * the count is below `least`, or when it was not seen for `unseen` steps or `unseen_days` days
     * (0: it may stay). 0: rows are never looked at. */
    int64_t interval, unseen, unseen_days;
    double decay, least;
    float absent[2];  /* the weights of an id without a row: in evaluation, in training */
    cr_ctr_rules ctr; /* with an accessor (ctr_rows.c) there are no other rules */
} cr_grow_rules;

typedef struct cr_grow cr_grow;
typedef struct cr_grow_opts {
    const cr_table_spec *spec; /* copied, but for the name, which must outlive the table; n_rows
                                  does not matter */
    const cr_init *init;       /* copied */
    uint64_t seed;
    const cr_grow_rules *rules; /* copied; NULL: none */
    cr_pool *pool;              /* searches and copies; may be NULL */
    const cr_shard *shard;      /* its keys are rows [row, end); NULL: all keys */
} cr_grow_opts;
CR_CHECKED cr_code cr_grow_new(cr_grow **out, const cr_grow_opts *o, cr_err *err);
void cr_grow_free(cr_grow *g);
/* cr_grow_owner returns the owner for cr_table_describe; it lives as long as the table. */
const cr_owner *cr_grow_owner(const cr_grow *g);
/* cr_grow_cut returns the first key of shard number i of n: a multiple of buckets, and of at least
 * a thousandth of all keys. cr_grow_cut(rules, n, n) is the end of all keys. */
int64_t cr_grow_cut(const cr_grow_rules *r, int i, int n);

/* cr_grow_step begins a step of training: the first fetch that follows makes the rows of new ids,
 * and only one caller may fetch. cr_grow_rest ends it: the weights of new ids are absent[0],
 * nothing changes, and any number of callers may fetch. That is how it begins. */
CR_CHECKED cr_code cr_grow_step(cr_grow *g, cr_err *err);
void cr_grow_rest(cr_grow *g);
/* cr_grow_step_to begins step number `step` of all steps, without ids in those between; a step that
 * has begun goes on. cr_grow_set_steps says how many steps were made. Both are for parameter
 * servers, whose workers are in different steps and let them learn one after the other. */
CR_CHECKED cr_code cr_grow_step_to(cr_grow *g, int64_t step, cr_err *err);
void cr_grow_set_steps(cr_grow *g, int64_t steps);
/* cr_grow_today tells the day of the steps that follow, for unseen_days. A day before the latest
 * one changes nothing. */
void cr_grow_today(cr_grow *g, int64_t day);
/* cr_grow_learn does what the first fetch of a step does, without weights. id are keys, distinct
 * and ascending; key i was seen seg[i + 1] - seg[i] times (NULL: once each). For shards, which
 * learn the keys of all holders at once. */
CR_CHECKED cr_code cr_grow_learn(cr_grow *g, const int64_t *id, const uint32_t *seg, int64_t n,
                                 cr_err *err);
/* cr_grow_found returns the record of key number i of those that were learned last, until
 * cr_grow_rest; without a row that of all such ids, and *has is false. */
float *cr_grow_found(const cr_grow *g, int64_t i, bool *has);
bool cr_grow_due(const cr_grow *g); /* has a step begun whose keys were not learned yet? */
/* cr_grow_copy writes the weights of n keys, `step` bytes from one to the next, and changes
 * nothing. Any thread may call it. */
void cr_grow_copy(const cr_grow *g, const int64_t *id, int64_t n, char *rows, size_t step);
/* cr_grow_counts: do the rules want to know how often an id was seen? cr_grow_keeps: do they have
 * something else that a checkpoint must keep (cr_zch_state.kept)? */
bool cr_grow_counts(const cr_grow_rules *r);
bool cr_grow_keeps(const cr_grow_rules *r);

/* cr_grow_rows returns how many ids have rows. */
int64_t cr_grow_rows(const cr_grow *g);
/* cr_grow_record returns the record of a key (weights, then state); NULL: it has none. cr_grow_make
 * makes it if needed. cr_grow_drop forgets a key; its record is used for the next new one. */
float *cr_grow_record(const cr_grow *g, int64_t key);
int64_t cr_grow_row(cr_grow *g, int64_t key, cr_table **table); /* the same, in a table; -1: none */
CR_CHECKED cr_code cr_grow_make(cr_grow *g, int64_t key, float **record, cr_err *err);
bool cr_grow_drop(cr_grow *g, int64_t key);
/* cr_grow_bytes returns the memory of records and map; cr_grow_row_bytes that of the map of a row,
 * at most. */
int64_t cr_grow_bytes(const cr_grow *g);
int64_t cr_grow_row_bytes(const cr_grow_rules *r);

/* ---- tables with a CTR accessor (ctr_rows.c); their width is CR_CTR_HEAD + X ---- */

/* cr_grow_ctr returns the accessor's rules; NULL: the table has none. */
const cr_ctr_rules *cr_grow_ctr(const cr_grow *g);
int64_t cr_grow_extended(const cr_grow *g); /* rows that have their second part */
/* cr_grow_shrink ends a day for all rows; *gone becomes the number of those that went. */
CR_CHECKED cr_code cr_grow_shrink(cr_grow *g, int64_t *gone, cr_err *err);
/* cr_grow_listed lists the ids of the rows that a save of this mode has, by (id mod shards, id);
 * the caller frees them. cr_grow_write adds the line of an id to out. When all are written,
 * cr_grow_noted makes the changes that follow a save. cr_grow_read takes a row that cr_ctr_read
 * has read, in the place of the one that the id may have; ids of other shards are left out. */
CR_CHECKED cr_code cr_grow_listed(const cr_grow *g, cr_ctr_mode mode, int64_t shards, int64_t **ids,
                                  int64_t *n, cr_err *err);
void cr_grow_write(const cr_grow *g, int64_t id, cr_buf *out);
void cr_grow_noted(cr_grow *g, cr_ctr_mode mode);
CR_CHECKED cr_code cr_grow_read(cr_grow *g, int64_t id, const float *record, bool brief,
                                cr_err *err);
/* A plane of such rows in a checkpoint: the weights (-1), or floats that follow them. The second
 * part of a brief row reads as zeros, and what is put there is dropped. row is that of cr_grow_at;
 * false: it does not lie here. */
typedef struct cr_ctr_plane {
    const char *name;
    int64_t width;
} cr_ctr_plane;
#define CR_CTR_PLANES 4
cr_ctr_plane cr_ctr_plane_of(const cr_ctr_rules *r, int64_t X, int k);
bool cr_grow_get(cr_grow *g, int64_t row, int plane, int64_t col, int64_t n, float *out);
bool cr_grow_put(cr_grow *g, int64_t row, int plane, int64_t col, int64_t n, const float *in);

/* ---- what a checkpoint keeps (grow_state.c) ---- */

/* cr_grow_save (collective with meet) writes the ids of all shards to a state (zch.h), the same on
 * every holder but for its steps: rows are numbered by their keys, ascending, over all shards, and
 * the last number is that of ids without a row. g is the shard of this holder; NULL: it has none.
 * rows[h] becomes the first row of holder h, rows[meet->n] the number of all; without meet there
 * are two numbers. cr_grow_at finds the record of a row that lies here: it holds until
 * cr_grow_saved or a change. */
CR_CHECKED cr_code cr_grow_save(cr_grow *g, const cr_meet *meet, cr_zch_state *out, int64_t *rows,
                                cr_err *err);
float *cr_grow_at(cr_grow *g, int64_t row, cr_table **table, int64_t *at);
void cr_grow_saved(cr_grow *g);
/* cr_grow_load takes the ids of a state that lie in this shard, and makes their rows; row i of a
 * state without ids (size 0) of n rows belongs to the id i. cr_grow_at then finds the records of
 * the rows of the state; NULL: it lies elsewhere, or belongs to no id. It fails when the arrays
 * contradict each other. */
CR_CHECKED cr_code cr_grow_load(cr_grow *g, const cr_zch_state *s, int64_t n, cr_err *err);

#endif
