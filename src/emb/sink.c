/*
 * sink.c - see sink.h: the sink of a table in this process's memory.
 */
#include "emb/sink.h"

#include <string.h>

#define AHEAD 8 /* rows between fetching a record and updating it */

static void take(void *ctx, const cr_row_grads *r, float *scratch) {
    const cr_table *t = ctx;
    if (t->optim->rows && !t->half) {
        cr_optim_rows rows = cr_table_rows(t, r->id, r->n, r->more, r->g);
        t->optim->rows(t->optim_conf, r->step, &rows);
        return;
    }
    for (int64_t k = 0; k < r->n; k++) {
        if (k + AHEAD < r->n + r->more) cr_table_fetch(t, r->id[k + AHEAD] - t->row0);
        cr_table_apply(t, r->id[k] - t->row0, r->id[k], r->step, r->g + k * t->D, scratch);
    }
}

/* The gradient of zeros lies behind the scratch of cr_table_apply; rules do not change it. */
static void rest(void *ctx, int64_t first, int64_t end, const int64_t *id, int64_t n,
                 const cr_optim_step *step, float *scratch) {
    const cr_table *t = ctx;
    float *zeros = scratch + cr_table_scratch(t);
    memset(zeros, 0, (size_t)t->D * sizeof(float));
    int64_t k = 0;
    for (int64_t row = first; row < end; row++) {
        if (k < n && id[k] == row)
            k++;
        else
            cr_table_apply(t, row - t->row0, row, step, zeros, scratch);
    }
}

cr_sink cr_table_sink(cr_table *t) {
    bool every = t->optim->every_row;
    return (cr_sink){.ctx = t,
                     .scratch = cr_table_scratch(t) + (every ? t->D : 0),
                     .take = take,
                     .row0 = t->row0,
                     .sweep = every ? t->n_rows : 0,
                     .rest = every ? rest : NULL};
}
