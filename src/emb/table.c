/*
 * table.c - memory and first values of a table. Filling is cut into pieces of rows of a fixed size,
 * so that it scales over threads and gives the same values with any number of them.
 */
#include "emb/table.h"

#include <string.h>

#include "base/rng.h"

#define FILL_ROWS 4096

int64_t cr_table_stride(int64_t D, const cr_optim_type *optim) {
    int64_t n = D;
    if (optim) n += D * optim->elem_state + optim->row_state;
    return n < 4 ? n : (n + 3) / 4 * 4;
}

cr_code cr_table_init(cr_table *t, const char *name, int64_t n_rows, int64_t D, bool trainable,
                      const cr_optim_type *optim, const void *optim_conf, cr_err *err) {
    memset(t, 0, sizeof(*t));
    if (!trainable) optim = NULL;
    int64_t stride = cr_table_stride(D, optim);
    if (n_rows > INT64_MAX / (stride * (int64_t)sizeof(float)))
        return cr_fail(err, CR_ENOMEM, "table '%s' of %lld rows is too large to address", name,
                       (long long)n_rows);
    void *p;
    size_t size = (size_t)(n_rows * stride) * sizeof(float);
    CR_TRY(cr_big_alloc(&p, size, name, err));
    *t = (cr_table){.name = name,
                    .n_rows = n_rows,
                    .D = D,
                    .stride = stride,
                    .data = p,
                    .size = size,
                    .trainable = trainable,
                    .optim = optim,
                    .optim_conf = optim_conf};
    return CR_OK;
}

void cr_table_clear(cr_table *t) {
    if (t->data) cr_big_free(t->data, t->size);
    memset(t, 0, sizeof(*t));
}

typedef struct fill {
    cr_table *t;
    const cr_init *init;
    uint64_t key;
} fill;

static void fill_piece(void *ctx, int64_t item, int thread) {
    (void)thread;
    const fill *f = ctx;
    cr_table *t = f->t;
    int64_t row = item * FILL_ROWS, end = row + FILL_ROWS < t->n_rows ? row + FILL_ROWS : t->n_rows;
    for (; row < end; row++) {
        float *rec = cr_table_row(t, row);
        cr_init_fill(f->init, f->key, row * t->D, t->D, rec);
        if (!t->optim || !t->optim->state_init) continue;
        float *s = rec + t->D;
        for (int k = 0; k < t->optim->elem_state; k++, s += t->D) {
            float v = t->optim->state_init(t->optim_conf, k);
            for (int64_t i = 0; i < t->D; i++)
                s[i] = v;
        }
        for (int k = 0; k < t->optim->row_state; k++)
            *s++ = t->optim->state_init(t->optim_conf, t->optim->elem_state + k);
    }
}

void cr_table_fill(cr_table *t, const cr_init *init, uint64_t seed, cr_pool *pool) {
    fill f = {t, init, cr_rng_key(seed, "init", t->name)};
    cr_pool_run(pool, (t->n_rows + FILL_ROWS - 1) / FILL_ROWS, fill_piece, &f);
}
