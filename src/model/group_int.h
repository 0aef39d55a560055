/*
 * group_int.h - what group.c, group_seq.c and encoder.c share: groups, their features and tables.
 */
#ifndef CR_MODEL_GROUP_INT_H
#define CR_MODEL_GROUP_INT_H

#include "model/model.h"
#include "op/input.h"

/* What a feature group and a sequence group inside one have in common. */
typedef struct cr_members {
    const void *conf; /* the message with feature_names */
    const char *name; /* of the group, for messages */
    bool nested;      /* a sequence group */
    const cr_strs *names;
    const char *suffix; /* put after the names of tables; NULL or "": nothing */
} cr_members;
cr_members cr_group_members(const cr_group_conf *gc);
/* what the group is called in messages */
const char *cr_members_kind(const cr_members *g);

/* cr_group_wanted: the group called name; NULL with a mistake when there is none, or it is empty.
 * cr_group_feature: feature number i of a group; NULL with a mistake when there is none of that
 * name. */
const cr_group_conf *cr_group_wanted(cr_build *b, const char *name, cr_loc at);
const cr_feature *cr_group_feature(cr_build *b, const cr_members *g, int64_t i);
/* cr_group_width: width of the feature's own vector in that group; 0 after an error: it has none */
int64_t cr_group_width(cr_build *b, const cr_members *g, const cr_feature *f);
/* cr_group_table: the table of a feature in a group, made at first use. seq: of a sequence group */
cr_model_table *cr_group_table(cr_build *b, const cr_feature *f, int64_t D, const char *init_fn,
                               const char *suffix, const char *kind, bool seq);
/* cr_group_use: piece number `piece` of the lookup `node` reads the table */
void cr_group_use(cr_model *m, cr_model_table *t, cr_node *node, int piece);

/* group_seq.c: the plain features of a group side by side (the query of a row) and its sequences
 * side by side (the keys), from tables of their own. Both become nodes at first use, the keys once
 * per `most`: steps that are read, 0: all. */
typedef struct cr_seq_side {
    cr_look *v;
    cr_model_table **tables;
    int n;
    int64_t width;
} cr_seq_side;
typedef struct cr_seq_in {
    cr_members g;
    cr_seq_side query, keys;
    const cr_feature **seqs; /* whose steps the keys have; the first has the lengths */
    int n_seqs;
    cr_node *query_node;
    struct cr_seq_keys {
        int64_t most;
        cr_node *node;
        struct cr_seq_keys *next;
    } * made;
} cr_seq_in;
/* cr_seq_open: false when there were mistakes */
bool cr_seq_open(cr_build *b, cr_seq_in *in, const cr_members *g, cr_loc at);
cr_node *cr_seq_query(cr_build *b, cr_seq_in *in); /* NULL: there are no plain features */
cr_node *cr_seq_keys(cr_build *b, cr_seq_in *in, int64_t most);
/* the axis of all steps, for encoders that count those they do not read */
int cr_seq_all(cr_build *b, const cr_seq_in *in);

/* encoder.c: the outputs of a group's sequence_encoders, as many as gc->sequence_encoders.n, made
 * once however often the group is built; NULL when there were mistakes */
cr_node *const *cr_encoders_build(cr_build *b, const cr_group_conf *gc);
/* cr_encoders_fit: may a group of its type have those it has? Else a mistake. */
bool cr_encoders_fit(cr_build *b, const cr_group_conf *gc);
/* variational.c: what a group is behind variational_dropout; its node itself without */
cr_node *cr_group_drop(cr_build *b, const cr_group_conf *gc, const cr_group_out *g);
/* a query that can be compared with keys, else a mistake */
bool cr_seq_comparable(cr_build *b, const cr_seq_in *in, cr_loc at);

#endif
