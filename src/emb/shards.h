/*
 * shards.h - the tables of a model that are cut into shards over the holders of its batches: the
 * shards of this holder, and the way of rows from their holders to the lookups.
 *
 * Before a pass over a batch each holder asks for its distinct ids, once each; the holders of the
 * rows send the weights, and every sum over them is made where the batch is, in the order that one
 * process has. All holders make the same passes.
 */
#ifndef CR_EMB_SHARDS_H
#define CR_EMB_SHARDS_H

#include "emb/grow.h"
#include "emb/owner.h"
#include "graph/part.h"

typedef struct cr_shards cr_shards;

/* Another way of rows and gradients than that of the holders' exchanges (docs/design/servers.md).
 * The functions are those of cr_owner, with the number of the table in the order of cr_shards_add.
 * Id i is seg[i + 1] - seg[i] times in the batch; NULL: the table need not know. fetched and asked
 * are called once for all tables. */
typedef struct cr_shards_way {
    void *ctx;
    void (*fetch)(void *ctx, int table, const int64_t *id, const uint32_t *seg, int64_t n,
                  float *rows, int64_t stride, bool asked);
    cr_code (*fetched)(void *ctx, cr_err *err);
    void (*ask)(void *ctx, int table, const int64_t *id, const uint32_t *seg, int64_t n, bool sure);
    cr_code (*asked)(void *ctx, bool *sure, cr_err *err);
} cr_shards_way;
/* meet and pool are borrowed. */
cr_shards *cr_shards_new(const cr_meet *meet, cr_pool *pool);
void cr_shards_free(cr_shards *s);
/* cr_shards_add makes the shards of a table that lie here, without first values. *owner is the
 * table's owner and is valid until cr_shards_free; so must placing be. All holders add the same
 * tables in the same order. grow: the table grows (grow.h), and the rows of the placing are keys,
 * cut by cr_grow_cut, at most one shard for a holder; its spec and shard need not be set. */
CR_CHECKED cr_code cr_shards_add(cr_shards *s, const cr_table_spec *spec, const cr_placing *placing,
                                 const cr_grow_opts *grow, const cr_owner **owner, cr_err *err);
/* cr_shards_via lets coming passes take another way; NULL: that of the holders again. No request
 * may be under way. cr_shards_sink: an updater whose lanes have no other holders gives the
 * gradients of a table to this sink. It is set before such an updater is made. */
void cr_shards_via(cr_shards *s, const cr_shards_way *way);
void cr_shards_sink(cr_shards *s, int table, cr_sink sink);

#endif
