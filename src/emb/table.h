/*
 * table.h - an embedding table: rows of D weights with their optimizer state beside them.
 *
 * A record is [w: D floats][elem_state planes of D][row_state floats], without gaps, in huge pages:
 * a lookup costs one cache miss, and the update that follows costs no other. Initial values are a
 * function of (seed, table name, row, column) alone. Weights may be stored in 16 bits (BF16, FP16);
 * the state stays in 32, and updates are rounded at random, with odds that keep the mean, drawn
 * from (seed, table, step, row, column).
 */
#ifndef CR_EMB_TABLE_H
#define CR_EMB_TABLE_H

#include "base/pool.h"
#include "emb/init.h"
#include "emb/shard.h"
#include "emb/view.h"
#include "optim/optim.h"

/* the widest row */
#define CR_MAX_D 65536

typedef struct cr_table {
    const char *name; /* parameter name as TorchEasyRec's checkpoints have it; borrowed */
    int64_t n_rows, D;
    int64_t stride;    /* floats per record */
    int64_t n_weights; /* floats of a record that the weights take */
    /* only table.c and this header touch them; other files ask for views and rows */
    float *records;
    size_t size;        /* bytes of records; 0: the table does not own them (cr_table_map) */
    size_t range;       /* bytes that are reserved for more of them (cr_table_open); 0: none */
    int half;           /* weights in 16 bits: CR_HALF_… of kern.h; 0: 32 bits */
    uint64_t round_key; /* key of the stochastic rounding */
    bool trainable;
    const cr_optim_type *optim; /* NULL: no state (inference, frozen) */
    const void *optim_conf;
    const struct cr_owner *owner; /* the owner has the rows (owner.h); NULL: they lie in records */
    int optim_group;              /* index into the steps of cr_updater_apply; 0: the main group */
    /* A shard is a table of its own. Its row 0 is row row0 of the whole table, and its columns
     * begin with column col0 of all_D. 0, 0 and D for a table that is not cut. */
    int64_t row0, col0, all_D;
} cr_table;

/* Returns the floats per record of a table of width D under a rule (NULL: no rule). */
int64_t cr_table_stride(int64_t D, int half, const cr_optim_type *optim);
typedef struct cr_table_spec {
    const char *name; /* borrowed */
    int64_t n_rows, D;
    int half;
    bool trainable;
    const cr_optim_type *optim; /* ignored when not trainable */
    const void *optim_conf;
} cr_table_spec;
/* cr_table_init allocates a zeroed table; cr_table_fill gives weights and state their first values.
 * cr_table_describe is for a table that has an owner: it takes no memory and is not filled. */
void cr_table_describe(cr_table *t, const cr_table_spec *spec, const struct cr_owner *owner);
CR_CHECKED cr_code cr_table_init(cr_table *t, const cr_table_spec *spec, cr_err *err);
/* cr_table_init_shard makes a part of the table that spec describes; NULL is all of it. */
CR_CHECKED cr_code cr_table_init_shard(cr_table *t, const cr_table_spec *spec,
                                       const cr_shard *shard, cr_err *err);
/* cr_table_open makes a table without rows that can become longer: cr_table_extend gives it memory
 * for so many more rows at least, zeroed; its records are not copied, but may get other addresses.
 * It fails where there is no memory, or no room for them. */
CR_CHECKED cr_code cr_table_open(cr_table *t, const cr_table_spec *spec, cr_err *err);
CR_CHECKED cr_code cr_table_extend(cr_table *t, int64_t rows, cr_err *err);
/* cr_table_map makes a table without optimizer state that reads its rows where they lie. They are D
 * floats each, or D 16-bit numbers (then D must be even), without gaps, and must outlive the
 * table. */
void cr_table_map(cr_table *t, const cr_table_spec *spec, const void *rows);
void cr_table_fill(cr_table *t, const cr_init *init, uint64_t seed, cr_pool *pool);
void cr_table_clear(cr_table *t);
/* Floats from the start of a record to its state; floats of scratch that cr_table_apply needs. */
int64_t cr_table_state_at(const cr_table *t);
int64_t cr_table_scratch(const cr_table *t);
/* cr_table_get reads the weights of one row as floats. cr_table_get_part and cr_table_put_part read
 * and write n of them from column col on. */
void cr_table_get(const cr_table *t, int64_t id, float *w);
void cr_table_get_part(const cr_table *t, int64_t id, int64_t col, int64_t n, float *w);
void cr_table_put_part(cr_table *t, int64_t id, int64_t col, int64_t n, const float *w);
/* cr_table_apply updates one row by the table's rule; it may change the D floats of g. Rows are
 * independent. id is the name of the row wherever it lies: the first values and the rounding depend
 * on it. It is row + row0, unless this memory holds some rows of a larger table in another order.
 * cr_table_first gives a single row its first values, as cr_table_fill does. */
void cr_table_apply(const cr_table *t, int64_t row, int64_t id, const cr_optim_step *step, float *g,
                    float *scratch);
void cr_table_first(cr_table *t, int64_t row, int64_t id, const cr_init *init, uint64_t seed);
/* cr_table_clips: are the gradients of looked-up values clipped one by one? Then each row of a
 * batch needs its own. */
static inline bool cr_table_clips(const cr_table *t) {
    const cr_optim_conf *c = t->optim_conf;
    return c && c->gradient_clipping;
}
static inline float *cr_table_row(const cr_table *t, int64_t id) {
    return t->records + id * t->stride;
}
/* cr_table_fetch prefetches a record that is updated soon. */
CR_FETCH cr_table_fetch(const cr_table *t, int64_t id) {
    cr_fetch(cr_table_row(t, id), t->stride * (int64_t)sizeof(float), true);
}
/* cr_table_rows describes rows whose ids are given, with their gradients, to a rule. The weights
 * must have 32 bits. */
static inline cr_optim_rows cr_table_rows(const cr_table *t, const int64_t *id, int64_t n,
                                          int64_t more, float *g) {
    return (cr_optim_rows){t->records, t->stride, t->row0, t->D, id, n, more, g};
}
/* cr_table_view returns the view of a table whose rows lie in its own memory. */
static inline cr_view cr_table_view(const cr_table *t, const int64_t *ids) {
    return (cr_view){t->records, t->stride, ids, t->D, t->half};
}

#endif
