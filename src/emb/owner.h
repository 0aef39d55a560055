/*
 * owner.h - the owner of a table whose rows do not lie in this process's memory, or not all of
 * them: another process, a server, or a map that grows. The table itself is then only a description
 * (name, width, storage, rule).
 */
#ifndef CR_EMB_OWNER_H
#define CR_EMB_OWNER_H

#include "emb/sink.h"

typedef struct cr_owner {
    void *ctx;
    /* fetch copies the weights of n distinct ids, which ascend as unsigned numbers, into records
     * that are `stride` floats apart. The weights come as the table stores them (32 or 16 bits).
     * The thread that runs a batch calls it; several callers of a model may fetch at the same
     * time. */
    cr_code (*fetch)(void *ctx, const int64_t *id, int64_t n, float *rows, int64_t stride,
                     bool asked, cr_err *err);
    /* find is for an owner whose records lie in this process: it writes the number of the record of
     * each of n ids, as fetch has them, and sets base (base, stride) to where record 0 lies. They
     * stay until the next change. NULL: fetch copies the weights. */
    cr_code (*find)(void *ctx, const int64_t *id, int64_t n, int64_t *rows, cr_view *base,
                    cr_err *err);
    /* counts tells, before find, fetch or ask (ahead), how often each id is in the batch: id i
     * seg[i + 1] - seg[i] times. seg stays as long as the ids. NULL: the owner need not know. */
    void (*counts)(void *ctx, const uint32_t *seg, bool ahead);
    /* ask announces the ids of the coming batch, so that they can travel while this one is
     * computed. The caller calls it for all tables, then `asked` for each; both are collective
     * where holders share the tables, and may be NULL. sure: these are the ids. asked tells in
     * *sure whether all holders were; then the caller's next fetch has the same ids, which must
     * stay until then, and sets its own `asked`. */
    void (*ask)(void *ctx, const int64_t *id, int64_t n, bool sure);
    cr_code (*asked)(void *ctx, bool *sure, cr_err *err);
    /* fetched is called for each table when all tables of a batch were asked for: an owner of
     * several tables may wait with all of them until then. NULL: fetch does it at once. */
    cr_code (*fetched)(void *ctx, cr_err *err);
    cr_sink sink; /* takes the gradients; not used with a placing */
    /* With a placing the rows lie with the holders of the batch (shards.h). The gradients go to the
     * holders of the shards; held are those of this holder, in the order of the placing. NULL: the
     * sink takes the gradients. */
    const cr_placing *placing;
    cr_table *held;
    int n_held;
    struct cr_grow *grow; /* the rows of this process grow (grow.h); NULL: they do not, or it has
                             none */
} cr_owner;

#endif
