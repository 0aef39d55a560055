/*
 * table.h - an embedding table: rows of D weights with their optimizer state beside them.
 *
 * A record is [w: D floats][elem_state planes of D][row_state floats], padded to 16 bytes, in huge
 * pages: a lookup is one miss, an update the same one. Initial values are a function of (seed,
 * table name, row, column) alone.
 */
#ifndef CR_EMB_TABLE_H
#define CR_EMB_TABLE_H

#include "base/pool.h"
#include "emb/init.h"
#include "optim/optim.h"

typedef struct cr_table {
    const char *name; /* parameter name as TorchEasyRec's checkpoints have it; borrowed */
    int64_t n_rows, D;
    int64_t stride; /* floats per record */
    float *data;
    size_t size;
    bool trainable;
    const cr_optim_type *optim; /* NULL: no state (inference, frozen) */
    const void *optim_conf;
} cr_table;

/* floats per record of a table of width D under a rule (NULL: none) */
int64_t cr_table_stride(int64_t D, const cr_optim_type *optim);
/* cr_table_init allocates a zeroed table; cr_table_fill gives weights and state their first values.
 */
CR_CHECKED cr_code cr_table_init(cr_table *t, const char *name, int64_t n_rows, int64_t D,
                                 bool trainable, const cr_optim_type *optim, const void *optim_conf,
                                 cr_err *err);
void cr_table_fill(cr_table *t, const cr_init *init, uint64_t seed, cr_pool *pool);
void cr_table_clear(cr_table *t);
static inline float *cr_table_row(const cr_table *t, int64_t id) {
    return t->data + id * t->stride;
}

#endif
