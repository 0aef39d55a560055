/*
 * table.h - an embedding table: rows of D weights with their optimizer state beside them.
 *
 * A record is [w: D floats][elem_state planes of D][row_state floats], without gaps, in huge pages:
 * a lookup is one miss, an update the same one. Initial values are a function of (seed, table name,
 * row, column) alone. Weights may be stored in 16 bits (BF16, FP16); the state stays in 32, and
 * updates are rounded by chance, with odds that keep the mean, from (seed, table, step, row,
 * column).
 */
#ifndef CR_EMB_TABLE_H
#define CR_EMB_TABLE_H

#include "base/pool.h"
#include "emb/init.h"
#include "emb/view.h"
#include "optim/optim.h"

/* widest row */
#define CR_MAX_D 65536

typedef struct cr_table {
    const char *name; /* parameter name as TorchEasyRec's checkpoints have it; borrowed */
    int64_t n_rows, D;
    int64_t stride;     /* floats per record */
    int64_t n_weights;  /* floats that its weights take */
    float *records;     /* only table.c and this header touch them: others ask for views and rows */
    size_t size;        /* bytes of records; 0: they are not the table's own (cr_table_map) */
    int half;           /* weights in 16 bits: CR_HALF_… of kern.h; 0: 32 */
    uint64_t round_key; /* of the stochastic rounding */
    bool trainable;
    const cr_optim_type *optim; /* NULL: no state (inference, frozen) */
    const void *optim_conf;
    const struct cr_owner *owner; /* has the rows (owner.h); NULL: they lie in records */
    int optim_group; /* which of the steps of cr_updater_apply is this table's; 0: the main one */
} cr_table;

/* floats per record of a table of width D under a rule (NULL: none) */
int64_t cr_table_stride(int64_t D, int half, const cr_optim_type *optim);
typedef struct cr_table_spec {
    const char *name; /* borrowed */
    int64_t n_rows, D;
    int half;
    bool trainable;
    const cr_optim_type *optim; /* ignored when not trainable */
    const void *optim_conf;
} cr_table_spec;
/* cr_table_init allocates a zeroed table; cr_table_fill gives weights and state their first
 * values. cr_table_describe: of a table that has an owner; no memory, nothing to fill. */
void cr_table_describe(cr_table *t, const cr_table_spec *spec, const struct cr_owner *owner);
CR_CHECKED cr_code cr_table_init(cr_table *t, const cr_table_spec *spec, cr_err *err);
/* cr_table_map: a table without optimizer state that reads its rows where they lie; they are D
 * floats each, or D 16-bit numbers (then D must be even), without gaps, and outlive the table. */
void cr_table_map(cr_table *t, const cr_table_spec *spec, const void *rows);
void cr_table_fill(cr_table *t, const cr_init *init, uint64_t seed, cr_pool *pool);
void cr_table_clear(cr_table *t);
/* floats from the start of a record to its state; floats of scratch cr_table_apply needs */
int64_t cr_table_state_at(const cr_table *t);
int64_t cr_table_scratch(const cr_table *t);
/* cr_table_get: the weights of one row as floats. cr_table_get_part and cr_table_put_part: n of
 * them from column col on. */
void cr_table_get(const cr_table *t, int64_t id, float *w);
void cr_table_get_part(const cr_table *t, int64_t id, int64_t col, int64_t n, float *w);
void cr_table_put_part(cr_table *t, int64_t id, int64_t col, int64_t n, const float *w);
/* cr_table_apply updates one row by the table's rule. g: D floats, may be changed. Rows are
 * independent. id: what the row is called wherever it lies, which first values and the rounding of
 * its weights depend on; the row's own number unless this memory holds some rows of a larger table.
 * cr_table_first gives a single row its first values, as cr_table_fill does. */
void cr_table_apply(const cr_table *t, int64_t row, int64_t id, const cr_optim_step *step, float *g,
                    float *scratch);
void cr_table_first(cr_table *t, int64_t row, int64_t id, const cr_init *init, uint64_t seed);
/* cr_table_clips: gradients of looked-up values are clipped one by one, so each row of a batch
 * needs its own */
static inline bool cr_table_clips(const cr_table *t) {
    const cr_optim_conf *c = t->optim_conf;
    return c && c->gradient_clipping;
}
static inline float *cr_table_row(const cr_table *t, int64_t id) {
    return t->records + id * t->stride;
}
/* cr_table_fetch asks the memory for a record that is updated soon */
CR_FETCH cr_table_fetch(const cr_table *t, int64_t id) {
    cr_fetch(cr_table_row(t, id), t->stride * (int64_t)sizeof(float), true);
}
/* cr_table_view: the table's own memory is where its rows lie */
static inline cr_view cr_table_view(const cr_table *t, const int64_t *ids) {
    return (cr_view){t->records, t->stride, ids, t->D, t->half};
}

#endif
