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

#include "emb/owner.h"
#include "graph/part.h"

typedef struct cr_shards cr_shards;
/* meet and pool are borrowed. */
cr_shards *cr_shards_new(const cr_meet *meet, cr_pool *pool);
void cr_shards_free(cr_shards *s);
/* cr_shards_add makes the shards of a table that lie here, without first values. *owner is the
 * table's owner and is valid until cr_shards_free; so must placing be. All holders add the same
 * tables in the same order. */
CR_CHECKED cr_code cr_shards_add(cr_shards *s, const cr_table_spec *spec, const cr_placing *placing,
                                 const cr_owner **owner, cr_err *err);

#endif
