/*
 * group_int.h - what group.c, group_seq.c and encoder.c share: feature groups, their features and
 * their tables.
 */
#ifndef CR_MODEL_GROUP_INT_H
#define CR_MODEL_GROUP_INT_H

#include "feat/config.h"
#include "model/model.h"
#include "op/input.h"

/* The members that a feature group and a sequence group inside one have in common. */
typedef struct cr_members {
    const void *conf; /* the message with feature_names */
    const char *name; /* name of the group, for messages */
    bool nested;      /* it is a sequence group */
    const cr_strs *names;
    const char *suffix; /* appended to the names of tables; NULL or "": nothing */
} cr_members;
cr_members cr_group_members(const cr_group_conf *gc);
/* Returns how messages call this kind of group. */
const char *cr_members_kind(const cr_members *g);

/* cr_group_wanted returns the group called name; it reports a mistake and returns NULL when there
 * is no such group or the group is empty. cr_group_feature returns feature number i of a group, or
 * reports that there is none of that name and returns NULL. */
const cr_group_conf *cr_group_wanted(cr_build *b, const char *name, cr_loc at);
const cr_feature *cr_group_feature(cr_build *b, const cr_members *g, int64_t i);
/* cr_group_width returns the width of the feature's own vector in that group; 0 after it reported
 * that the feature has none. */
int64_t cr_group_width(cr_build *b, const cr_members *g, const cr_feature *f);
/* cr_group_table returns the table of a feature in a group; its first use makes it. seq: the group
 * is a sequence group. */
cr_model_table *cr_group_table(cr_build *b, const cr_feature *f, int64_t D, const char *init_fn,
                               const char *suffix, const char *kind, bool seq);
/* maps.c: cr_maps_check reports what is wrong with the map of a feature's table. cr_maps_differ
 * says in what the maps of two features differ; NULL: in nothing. cr_maps_slot returns the list of
 * a batch in which the rows of f in t are. cr_maps_alloc and cr_maps_clear make and free the maps
 * of a model. */
void cr_maps_check(const cr_feature *f, cr_diag *diag);
/* cr_maps_init replaces the first values of a table's rows where its map has its own; given:
 * init_fn gives them. */
void cr_maps_init(const cr_feature *f, int64_t D, bool given, cr_init *init);
const char *cr_maps_differ(const cr_feature *a, const cr_feature *b);
int cr_maps_slot(cr_model *m, const cr_features *fs, cr_model_table *t, const cr_feature *f);
/* grown.c: tables that grow. cr_grown_rules returns the rules of a feature's table.
 * cr_grown_alloc makes a table of a training,
 * or the part of it that lies here. cr_grown_clear frees it; the others do for the table what
 * cr_model_learn_ids, cr_model_rest_rows, cr_model_maps_save and cr_model_maps_saved do for all. */
cr_grow_rules cr_grown_rules(const cr_feature *f);
CR_CHECKED cr_code cr_grown_alloc(cr_model *m, const cr_model_opts *o, cr_model_table *t,
                                  const cr_table_spec *spec, cr_err *err);
void cr_grown_clear(cr_model_table *t);
CR_CHECKED cr_code cr_grown_step(cr_model_table *t, int64_t day, cr_err *err);
bool cr_grown_wants_day(const cr_model_table *t);
void cr_grown_rest(cr_model_table *t);
CR_CHECKED cr_code cr_grown_save(cr_model_table *t, const cr_meet *meet, cr_err *err);
void cr_grown_saved(cr_model_table *t);
const char *cr_grown_differ(const cr_feature *a, const cr_feature *b);
/* ctr.c: features whose table has a CTR accessor. cr_ctr_differ says in what two of them differ;
 * NULL: in nothing. cr_group_ctr returns what the model reads of such a feature, `width` columns;
 * NULL after it reported a mistake. */
cr_ctr_rules cr_ctr_rules_of(const cr_ctr_conf *c);
const char *cr_ctr_differ(const cr_ctr_conf *p, const cr_ctr_conf *q);
cr_node *cr_group_ctr(cr_build *b, const cr_feature *f, int64_t width, const char *suffix,
                      const char *kind);
CR_CHECKED cr_code cr_maps_alloc(cr_model *m, const cr_model_opts *o, cr_err *err);
void cr_maps_clear(cr_model *m);
/* cr_group_use: piece number `piece` of the lookup `node` reads the table. */
void cr_group_use(cr_model *m, cr_model_table *t, cr_node *node, int piece);

/* group_seq.c: the plain features of a group side by side (the query of a row), and its sequences
 * side by side (the keys), with separate tables. Both become nodes at their first use; there is one
 * node of keys for each `most`, the number of steps that are read (0: all). */
typedef struct cr_seq_side {
    cr_look *v;
    cr_model_table **tables;
    int n;
    int64_t width;
} cr_seq_side;
typedef struct cr_seq_in {
    cr_members g;
    cr_seq_side query, keys;
    /* the features whose steps the keys have; the first one gives the lengths */
    const cr_feature **seqs;
    int n_seqs;
    cr_node *query_node;
    struct cr_seq_keys {
        int64_t most;
        cr_node *node;
        struct cr_seq_keys *next;
    } * made;
} cr_seq_in;
/* cr_seq_open returns false when there are mistakes. */
bool cr_seq_open(cr_build *b, cr_seq_in *in, const cr_members *g, cr_loc at);
cr_node *cr_seq_query(cr_build *b, cr_seq_in *in); /* NULL: there are no plain features */
cr_node *cr_seq_keys(cr_build *b, cr_seq_in *in, int64_t most);
/* Returns the axis of all steps, for encoders that also count the steps that they do not read. */
int cr_seq_all(cr_build *b, const cr_seq_in *in);

/* encoder.c: cr_encoders_build returns the outputs of a group's sequence_encoders,
 * gc->sequence_encoders.n of them. They are made once, however often the group is built. NULL:
 * there are mistakes. */
cr_node *const *cr_encoders_build(cr_build *b, const cr_group_conf *gc);
/* cr_encoders_fit: may a group of this type have sequence groups and encoders? Reports a mistake if
 * not. */
bool cr_encoders_fit(cr_build *b, const cr_group_conf *gc);
/* variational.c: cr_group_drop returns the group's node behind variational_dropout, or the node
 * itself when the config has none. */
cr_node *cr_group_drop(cr_build *b, const cr_group_conf *gc, const cr_group_out *g);
/* cr_seq_comparable: can the query be compared with the keys? Reports a mistake if not. */
bool cr_seq_comparable(cr_build *b, const cr_seq_in *in, cr_loc at);

#endif
