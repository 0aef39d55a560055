/*
 * grow.h - a table whose rows are made when their keys are first seen in training.
 *
 * Keys have 64 bits and need not be known beforehand; the table has no size. A row's first values
 * depend on (seed, table, key) alone, so it does not matter when and where a row is made. Records
 * lie in blocks that are allocated one at a time and never move. It is the owner (owner.h) of its
 * rows: a table that is described with it is looked up and trained like any other.
 */
#ifndef CR_EMB_GROW_H
#define CR_EMB_GROW_H

#include "emb/owner.h"
#include "emb/table.h"

typedef struct cr_grow cr_grow;
typedef struct cr_grow_opts {
    const cr_table_spec *spec; /* copied, but for the name, which must outlive the table; n_rows is
                                  the most rows there may be; 0: as many as memory allows */
    const cr_init *init;       /* copied */
    uint64_t seed;
} cr_grow_opts;
CR_CHECKED cr_code cr_grow_new(cr_grow **out, const cr_grow_opts *o, cr_err *err);
void cr_grow_free(cr_grow *g);
/* cr_grow_owner returns the owner for cr_table_describe; it lives as long as the table. */
const cr_owner *cr_grow_owner(const cr_grow *g);

/* cr_grow_learns: true (as it is at first): a fetch makes the rows of new keys, and only one caller
 * may fetch at a time. false: the weights of new keys are zeros, nothing changes, and any number of
 * callers may fetch. */
void cr_grow_learns(cr_grow *g, bool learns);

/* cr_grow_rows returns how many keys have rows. cr_grow_keys writes them, ascending as unsigned
 * numbers. */
int64_t cr_grow_rows(const cr_grow *g);
void cr_grow_keys(const cr_grow *g, int64_t *keys);
/* cr_grow_record returns the record of a key (weights, then state); NULL: it has none. cr_grow_make
 * makes it if needed. cr_grow_drop forgets a key; its record is used for the next new one. */
float *cr_grow_record(const cr_grow *g, int64_t key);
CR_CHECKED cr_code cr_grow_make(cr_grow *g, int64_t key, float **record, cr_err *err);
bool cr_grow_drop(cr_grow *g, int64_t key);
/* cr_grow_bytes returns the memory of records and map. */
int64_t cr_grow_bytes(const cr_grow *g);

#endif
