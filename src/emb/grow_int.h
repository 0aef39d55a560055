/*
 * grow_int.h - what grow.c, grow_rules.c and grow_state.c share.
 */
#ifndef CR_EMB_GROW_INT_H
#define CR_EMB_GROW_INT_H

#include <pthread.h>
#include <string.h>

#include "base/stretch.h"
#include "emb/grow.h"
#include "emb/keymap_int.h"
#include "emb/sketch.h"

/* How often the id of a row was seen, in units of grow_unit, and in which step last. */
typedef struct grow_note {
    uint32_t count, last;
} grow_note;

/* An id that waits for a row. */
typedef struct grow_wait {
    int64_t key;
    uint32_t count, last;
} grow_wait;

/* A day of the data, and the first step in which it was known. */
typedef struct grow_day {
    int64_t day, step;
} grow_day;

/* Records that no key has any more. The first 4 bytes of each name the next; the one that was
 * dropped last is used first. */
typedef struct grow_unused {
    int64_t n;
    uint32_t row; /* the first, where there are any */
} grow_unused;

/* A row, or an id that wants one. */
typedef struct grow_cand {
    double score;
    int64_t row; /* -1: a newcomer */
    int64_t id, key;
    uint32_t count, last;
} grow_cand;

/* The brief rows of a table with an accessor: their numbers in the key map begin at GROW_BRIEF.
 * Keys that have earned their second part wait in `due` until the gradients of a step are in;
 * threads add to it one at a time. */
#define GROW_BRIEF ((int64_t)1 << 31)
typedef struct grow_brief {
    cr_table rows;
    size_t touched;
    int64_t n_made;
    grow_unused unused;
    pthread_mutex_t lock;
    int64_t *due, n_due, cap_due;
    uint64_t key; /* of the first values */
    cr_err failed;
} grow_brief;

struct cr_grow {
    cr_table_spec spec;
    cr_init init;
    uint64_t seed;
    cr_grow_rules rules;
    cr_pool *pool;
    bool learns;
    int64_t now;     /* training steps so far */
    int64_t learned; /* the last step whose ids were learned */
    int64_t key0, key_end;
    cr_keymap map;
    cr_table rows;    /* its row 0 is that of ids without one */
    grow_note *notes; /* by row; NULL: nothing is noted */
    cr_stretch notes_mem;
    size_t rows_touched, notes_touched, waits_touched; /* see cr_grow_touch */
    int64_t n_made;                                    /* records that were ever used */
    grow_unused unused;                                /* those of dropped keys */
    /* buckets of all shards; those of this one are bucket0 on. fill: rows by bucket, waiting: ids
     * that wait; NULL where no rule needs them. */
    int64_t n_buckets, bucket0, n_here;
    uint32_t *fill, *waiting;
    cr_keymap waits_at;
    grow_wait *waits;
    cr_stretch waits_mem;
    int64_t n_waits;
    cr_sketch sketch; /* in the place of waits, where the rules say so */
    /* Days ascend. The last one is the day of this step; before the first there may have been
     * others, of which only the newest that is past unseen_days is kept. */
    grow_day *days;
    int64_t n_days, cap_days, today; /* today: INT64_MIN: not known */
    grow_cand *cand, *out;
    int64_t cap_cand, cap_out;
    /* the keys of the last pass of training, and their rows; 0: none */
    const int64_t *ids;
    const uint32_t *seg;
    int64_t n_ids;
    int64_t *row, cap_row;
    /* while a state is saved or loaded: rows by their number, from `first` on */
    int64_t *order, n_order, first;
    grow_brief *brief; /* NULL: no accessor */
    cr_owner owner;
};

static inline grow_note *grow_note_of(const cr_grow *g, int64_t row) {
    return &g->notes[row];
}
/* What seeing an id once adds to its count. Where counts decay they have 8 bits behind the point.
 */
static inline uint32_t grow_unit(const cr_grow *g) {
    return g->rules.interval > 0 && g->rules.decay < 1 ? 256 : 1;
}
static inline uint32_t grow_add(uint32_t a, uint32_t b) {
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}
/* cr_grow_room makes room for n things, of which those that were there stay. */
CR_CHECKED cr_code cr_grow_room(void **p, int64_t *cap, int64_t n, size_t size, cr_err *err);
/* cr_grow_new_row makes the row of a key that has none. */
CR_CHECKED cr_code cr_grow_new_row(cr_grow *g, int64_t key, int64_t *row, cr_err *err);
/* cr_grow_take_row takes a record of g->rows: one that a dropped key had, or the next. */
CR_CHECKED cr_code cr_grow_take_row(cr_grow *g, int64_t *row, cr_err *err);
/* cr_grow_extend gives a table memory for more rows: as much as it has, in pieces of 2 to 32 MB. */
CR_CHECKED cr_code cr_grow_extend(cr_table *t, cr_err *err);
/* cr_grow_touch touches at most one fresh huge page for a key that is added to m, and for what is
 * kept of it in n arrays: one that is needed now, or else one that will be soon. cr_grow_soon:
 * shall an array of so many bytes become longer, so that its next page can be touched in time? */
typedef struct grow_fresh {
    char *p;
    size_t size, used; /* bytes of memory; those that are in use when the key was added */
    size_t *touched;   /* bytes in pages that were touched */
} grow_fresh;
void cr_grow_touch(cr_keymap *m, const grow_fresh *v, int n);
static inline size_t grow_used(const cr_table *t, int64_t rows) {
    return (size_t)(rows * t->stride) * sizeof(float);
}
static inline grow_fresh grow_fresh_rows(const cr_table *t, int64_t rows, size_t *touched) {
    return (grow_fresh){(char *)cr_table_row(t, 0), t->size, grow_used(t, rows), touched};
}
bool cr_grow_soon(size_t used, size_t size);
static inline void grow_drop_record(cr_table *t, grow_unused *u, int64_t row) {
    memcpy(cr_table_row(t, row), &u->row, sizeof u->row);
    u->row = (uint32_t)row;
    u->n++;
}
static inline void grow_take_record(const cr_table *t, grow_unused *u) {
    memcpy(&u->row, cr_table_row(t, u->row), sizeof u->row);
    u->n--;
}

/* ctr_rows.c: what a table with an accessor does in the place of others. cr_brief_open makes the
 * memory of its rows and sets its owner, _clear frees it. cr_brief_add makes the row of a key that
 * has none, cr_brief_drop gives back the record of a row, cr_brief_copy copies its weights, and
 * cr_brief_settle extends the rows that have earned it. */
CR_CHECKED cr_code cr_brief_open(cr_grow *g, cr_err *err);
void cr_brief_clear(cr_grow *g);
CR_CHECKED cr_code cr_brief_add(cr_grow *g, int64_t key, bool brief, int64_t *row, cr_err *err);
void cr_brief_drop(cr_grow *g, int64_t row);
void cr_brief_copy(const cr_grow *g, const int64_t *row, int64_t n, char *rows, size_t step);
CR_CHECKED cr_code cr_brief_settle(cr_grow *g, cr_err *err);
int64_t cr_brief_bytes(const cr_grow *g);
static inline float *cr_brief_record(const cr_grow *g, int64_t row) {
    return row < GROW_BRIEF ? cr_table_row(&g->rows, row)
                            : cr_table_row(&g->brief->rows, row - GROW_BRIEF);
}
/* The show of a row, in whole numbers. */
uint32_t cr_brief_shows(const cr_grow *g, int64_t row);

/* grow_rules.c. cr_grow_buckets sets up the buckets. cr_grow_arrive gives rows to those of the n
 * keys that have none, as the rules allow, and writes them to row. cr_grow_look looks at the rows
 * whose turn it is. cr_grow_wait adds to what is known of an id without a row. */
CR_CHECKED cr_code cr_grow_buckets(cr_grow *g, const cr_shard *shard, cr_err *err);
int64_t cr_grow_part(const cr_grow *g, int64_t key); /* of the sketch */
/* cr_grow_note_day: today is known from `step` on. */
CR_CHECKED cr_code cr_grow_note_day(cr_grow *g, int64_t step, cr_err *err);
static inline bool cr_grow_ruled(const cr_grow *g) {
    return g->rules.most > 0 || g->rules.admit > 1 || g->rules.chance > 0;
}
int64_t cr_grow_bucket(const cr_grow *g, int64_t key);
CR_CHECKED cr_code cr_grow_arrive(cr_grow *g, const int64_t *id, const uint32_t *seg, int64_t n,
                                  int64_t *row, cr_err *err);
/* cr_grow_thin lets rows go from buckets that have more than their share. */
CR_CHECKED cr_code cr_grow_thin(cr_grow *g, cr_err *err);
CR_CHECKED cr_code cr_grow_look(cr_grow *g, cr_err *err);
CR_CHECKED cr_code cr_grow_wait(cr_grow *g, int64_t key, uint32_t count, uint32_t last,
                                uint32_t *sum, cr_err *err);

#endif
