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
#include "optim/optim.h"

typedef struct cr_table {
    const char *name; /* parameter name as TorchEasyRec's checkpoints have it */
    int64_t n_rows, D;
    int64_t stride; /* floats per record */
    float *data;
    size_t size;
    bool trainable;
    const cr_optim_type *optim;
    const void *optim_conf;
} cr_table;

/* how a parameter is filled: torch's init functions by name */
typedef enum cr_init_kind { CR_INIT_UNIFORM, CR_INIT_NORMAL, CR_INIT_CONST } cr_init_kind;
typedef struct cr_init {
    cr_init_kind kind;
    double a, b; /* uniform: low, high; normal: mean, std; const: value */
} cr_init;

/* cr_init_parse understands "nn.init.uniform_,a=-0.01,b=0.01" and the other torch.nn.init names;
 * fan_in/fan_out are of the matrix as torch stores it (rows = out). */
CR_CHECKED cr_code cr_init_parse(cr_init *out, const char *text, int64_t fan_out, int64_t fan_in, cr_err *err);
/* cr_init_fill writes n values number first..first+n-1 of the stream key. */
void cr_init_fill(const cr_init *init, uint64_t key, int64_t first, int64_t n, float *out);

CR_CHECKED cr_code cr_table_init(cr_table *t, const char *name, int64_t n_rows, int64_t D,
                                 const cr_optim_type *optim, const void *optim_conf, cr_err *err);
void cr_table_fill(cr_table *t, const cr_init *init, uint64_t seed, cr_pool *pool);
void cr_table_clear(cr_table *t);

#endif
