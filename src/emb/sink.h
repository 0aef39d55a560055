/*
 * sink.h - where the summed gradients of a batch's rows go: the sink of a table that lies here
 * applies its rule to them; others will send them to the process that has the row.
 */
#ifndef CR_EMB_SINK_H
#define CR_EMB_SINK_H

#include "emb/table.h"

/* Some rows of one table, each with the gradient of the whole batch. */
typedef struct cr_row_grads {
    const int64_t *id; /* [n + more] ascending; the last `more` come with the next calls */
    int64_t n, more;
    float *g;                  /* [n][D]; the sink may change them */
    const cr_optim_step *step; /* what the rule needs to know of this step */
} cr_row_grads;

typedef struct cr_sink {
    void *ctx;
    int64_t scratch; /* floats that each thread must lend it */
    /* take: some rows. Of each step it gets every row of the batch once. Threads call it at the
     * same time, for different rows. */
    void (*take)(void *ctx, const cr_row_grads *r, float *scratch);
    /* Rules that move rows without a gradient, too: how many rows the table has (0: other rules),
     * and rest, which moves those of rows [first, end) that are not among id[0 .. n), the rows of
     * the batch in that range. Threads call it as they call take, before, during and after that. */
    int64_t sweep;
    void (*rest)(void *ctx, int64_t first, int64_t end, const int64_t *id, int64_t n,
                 const cr_optim_step *step, float *scratch);
    /* end: the step is over, all rows were given. NULL: the sink need not know. */
    void (*end)(void *ctx);
} cr_sink;

/* cr_table_sink: applies the table's rule */
cr_sink cr_table_sink(cr_table *t);

#endif
