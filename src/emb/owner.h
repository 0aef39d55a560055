/*
 * owner.h - who has the rows of a table that does not lie in this process's memory: another
 * process, a server, or a map that grows. The table then is only a description (name, width,
 * storage, rule).
 */
#ifndef CR_EMB_OWNER_H
#define CR_EMB_OWNER_H

#include "emb/sink.h"

typedef struct cr_owner {
    void *ctx;
    /* fetch: the weights of n distinct ids, ascending as unsigned numbers, as the table stores them
     * (32 or 16 bits), to records that are `stride` floats apart. By the thread that runs a batch;
     * several callers of a model may fetch at the same time. */
    cr_code (*fetch)(void *ctx, const int64_t *id, int64_t n, float *rows, int64_t stride,
                     cr_err *err);
    cr_sink sink; /* takes the gradients */
} cr_owner;

#endif
