/*
 * group_int.h - what group.c and group_seq.c share: groups, their features and tables.
 */
#ifndef CR_MODEL_GROUP_INT_H
#define CR_MODEL_GROUP_INT_H

#include "model/model.h"

/* cr_group_wanted: the group called name; NULL with a mistake when there is none, or it is empty.
 * cr_group_feature: its feature number i; NULL with a mistake when there is none of that name. */
const cr_group_conf *cr_group_wanted(cr_build *b, const char *name, cr_loc at);
const cr_feature *cr_group_feature(cr_build *b, const cr_group_conf *gc, int64_t i);
/* cr_group_table: the table of a feature in a group, made at first use. seq: of a sequence group */
cr_model_table *cr_group_table(cr_build *b, const cr_feature *f, int64_t D, const char *init_fn,
                               const char *suffix, const char *kind, bool seq);
/* cr_group_use: piece number `piece` of the lookup `node` reads the table */
void cr_group_use(cr_model *m, cr_model_table *t, cr_node *node, int piece);

#endif
