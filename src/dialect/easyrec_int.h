/*
 * easyrec_int.h - parts that the files of the EasyRec dialect share.
 *
 * Three things are known before the first key is rewritten, because keys in one place decide how
 * keys in another place are converted: the columns (their types and defaults go to the features),
 * the features (their kinds decide what a group is), and which features the groups use as
 * sequences.
 */
#ifndef CR_DIALECT_EASYREC_INT_H
#define CR_DIALECT_EASYREC_INT_H

#include "dialect/dialect.h"
#include "dialect/rewrite_int.h"

/* A column of data_config.input_fields. */
typedef struct cr_er_field {
    const char *name, *type, *absent; /* absent: default_val, "" when not given */
    int n_readers;                    /* features that read this column alone */
} cr_er_field;

typedef enum cr_er_kind {
    CR_ER_ID,
    CR_ER_RAW,
    CR_ER_TAG,
    CR_ER_COMBO,
    CR_ER_LOOKUP,
    CR_ER_SEQ_ID,
    CR_ER_SEQ_RAW,
    CR_ER_EXPR,
    CR_ER_NONE /* it has no counterpart */
} cr_er_kind;

enum { CR_ER_PLAIN = 1, CR_ER_STEPS = 2, CR_ER_WIDE = 4 }; /* how groups use a feature */

/* A feature: an entry of feature_configs, or a name in the shared_names of such an entry. */
typedef struct cr_er_feature {
    const char *name;
    const char *input; /* the column, where shared_names gives it; NULL: input_names */
    const cr_conf_node *conf;
    cr_er_kind kind;
    unsigned use;
    /* width of its vector, or how many numbers a row has; 0: not known */
    double dim;
    bool table;                  /* it has ids, so a metric can group by it */
    bool in_block;               /* it is part of a sequence in fg.json */
    const cr_conf_node *autodis; /* a layer that turns its number into a vector; NULL: none */
} cr_er_feature;

typedef struct cr_er {
    cr_rw w;
    const cr_conf_node *root, *data, *model; /* messages of the EasyRec config; NULL: not given */
    const cr_conf_node *params;              /* the model's message: deepfm { ... }; NULL: none */
    const char *model_class;
    bool tasks; /* the model has several tasks */
    cr_conf_node *out;
    const cr_easyrec_opts *opts;
    cr_easyrec_result *res;
    cr_er_field *fields;
    size_t n_fields;
    cr_map field_index;
    cr_er_feature *features;
    size_t n_features, cap_features;
    cr_map feature_index;
    cr_er_feature *feature; /* the feature that is being written */
    cr_map keys_made;       /* columns for which a feature to group by was made */
    const cr_conf_node *fg; /* fg.json; NULL: none */
    int n_task;             /* number of towers so far */
} cr_er;

cr_er *cr_er_of(cr_rw *w);
cr_arena *cr_er_arena(cr_er *er);
const cr_er_field *cr_er_field_of(const cr_er *er, const char *name);
cr_er_feature *cr_er_feature_of(const cr_er *er, const char *name);
/* cr_er_expand calls `each` with the name, or with name1, name2 and name3 for "name[1-3]". It
 * returns the number of calls. */
int cr_er_expand(cr_er *er, const char *name, void (*each)(cr_er *er, const char *name, void *ctx),
                 void *ctx);
double cr_er_batch_size(const cr_er *er);
/* cr_er_label is the label of task i, "" when there is none. */
const char *cr_er_label(const cr_er *er, int i);

/* easyrec_feat.c */
void cr_er_collect_features(cr_er *er);
void cr_er_features(cr_er *er);
/* cr_er_steps_name is the name of the feature where a group reads it step by step. */
const char *cr_er_steps_name(cr_er *er, const cr_er_feature *f);
/* cr_er_group_key returns a feature that makes ids of the column. It adds such a feature if there
 * is none. */
const char *cr_er_group_key(cr_er *er, const char *column, cr_loc at);
/* easyrec_fg.c */
cr_code cr_er_fg_load(cr_er *er);
void cr_er_fg_features(cr_er *er);
/* cr_er_fg_blocks writes the sequences of fg.json with the features that are in_block. */
void cr_er_fg_blocks(cr_er *er);
/* cr_er_fg_of returns the definition of a feature in fg.json and, if block is not NULL, the
 * sequence that it belongs to. */
const cr_conf_node *cr_er_fg_of(const cr_er *er, const char *name, const cr_conf_node **block);
/* easyrec_group.c */
void cr_er_collect_groups(cr_er *er);
/* Which groups a model reads. EasyRec's models find their groups by name; some of crank's models
 * take the first. */
typedef struct cr_er_plan {
    const char *only;      /* the only group that it reads; NULL: it reads all */
    const char *from, *to; /* a group that has another name here; NULL: none */
} cr_er_plan;
void cr_er_groups(cr_er *er, const cr_er_plan *plan, cr_conf_node *out);
/* cr_er_group_width is the width of a group's row, 0 when it is not known. */
double cr_er_group_width(const cr_er *er, const char *name);
const cr_conf_node *cr_er_group_of(const cr_er *er, const char *name);
/* easyrec_model.c */
void cr_er_model(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out);
/* cr_er_find_model sets model_class, params and tasks. */
void cr_er_find_model(cr_er *er);
/* cr_er_l2 is EasyRec's l2_regularization of the model. */
double cr_er_l2(const cr_er *er);
extern const cr_rule cr_er_dnn_rules[], cr_er_mlp_rules[];
/* cr_er_attention rewrites a DNN that scores steps. Its last layer, of one unit, is built in
 * here. */
void cr_er_attention(cr_rw *w, const cr_conf_node *dnn, cr_loc at, cr_conf_node *out,
                     const cr_rule *rules);
/* easyrec_task.c */
void cr_er_metric(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out);
/* cr_er_losses writes the losses of a model or a task tower from loss_type and losses. */
void cr_er_losses(cr_rw *w, const cr_conf_node *in, cr_conf_node *out);
/* cr_er_task writes a task tower into out, a message of the result. */
void cr_er_task(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out);
/* cr_er_task_towers adds a task tower to the list `task_towers` of out. */
void cr_er_task_towers(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out);
/* easyrec_train.c */
extern const cr_rule cr_er_train_rules[];
void cr_er_train_end(cr_er *er, cr_conf_node *out);
/* easyrec_blocks.c */
void cr_er_backbone(cr_er *er, const cr_conf_node *in, cr_loc at, cr_conf_node *out);

#endif
