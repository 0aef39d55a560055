/*
 * sink.h - the place where the summed gradients of a batch's rows go. The sink of a table in this
 * process applies the table's rule to them; the sink of an owner (owner.h) passes them to the
 * process that has the row.
 */
#ifndef CR_EMB_SINK_H
#define CR_EMB_SINK_H

#include "emb/table.h"

/* Some rows of one table, each with the gradient of the whole batch. */
typedef struct cr_row_grads {
    const int64_t *id; /* [n + more] ascending; the last `more` come with the next calls */
    int64_t n, more;
    float *g;                  /* [n][D]; the sink may change them */
    const cr_optim_step *step; /* what the rule must know about this step */
} cr_row_grads;

typedef struct cr_sink {
    void *ctx;
    int64_t scratch; /* floats of scratch that each thread must lend */
    /* take receives some rows. Over a step it gets every row of the batch once. Threads call it at
     * the same time, for different rows. */
    void (*take)(void *ctx, const cr_row_grads *r, float *scratch);
    /* These serve rules that also move rows without a gradient. The sink has the rows [row0, row0 +
     * sweep) (sweep 0: the rule is of another kind). rest moves those rows of [first, end) that are
     * not among id[0 .. n), the rows of the batch in that range. Threads call rest as they call
     * take: before, during and after it. */
    int64_t row0, sweep;
    void (*rest)(void *ctx, int64_t first, int64_t end, const int64_t *id, int64_t n,
                 const cr_optim_step *step, float *scratch);
    /* end: the step is over and all rows were given. NULL: the sink need not know. */
    void (*end)(void *ctx);
} cr_sink;

/* cr_table_sink returns the sink that applies the table's own rule. */
cr_sink cr_table_sink(cr_table *t);

#endif
