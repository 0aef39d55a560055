/*
 * model.h - a model: a graph with its tables, outputs, losses and metrics, built from ModelConfig.
 *
 * A model type is one file with one build function, which turns feature groups into the logits of
 * one or more tasks. group.c and model.c hold what all models share: groups and tables, losses,
 * predictions, metrics.
 */
#ifndef CR_MODEL_MODEL_H
#define CR_MODEL_MODEL_H

#include "base/pool.h"
#include "emb/owner.h"
#include "emb/shards.h"
#include "emb/update.h"
#include "emb/views.h"
#include "emb/zch.h"
#include "feat/feat.h"
#include "graph/work.h"
#include "kern/kern.h"
#include "metric/metric.h"
#include "model/config.h"

/* A table with all its uses in the graph. */
typedef struct cr_model_table {
    cr_table table;         /* the owner of its rows, if any, is set before cr_model_alloc */
    const char *short_name; /* its name without the path */
    /* the part of short_name that is the group's embedding_name_suffix; may be "" */
    const char *suffix;
    int64_t n_rows, D;
    bool mean, trainable;
    bool seq; /* used by sequence groups: another parameter than a pooled table of the same name */
    int half; /* storage of the weights: CR_HALF_… of kern.h */
    const void *mapped; /* where its rows lie already (cr_table_map); NULL: memory is allocated */
    bool in_file; /* nothing looks rows up, they are only copied from file to file: no memory */
    /* how the table is cut over the holders of the batches; NULL, or no shards: it is not. Set
     * before cr_model_alloc; borrowed. */
    const cr_placing *placing;
    /* zch, dynamicemb: the map from ids to rows. Where its two arrays lie already (cr_zch_rows),
     * else NULL; set before cr_model_alloc. And the state, while it is saved or loaded; a map that
     * is not trained reads it there. */
    cr_zch *map;
    const int64_t *map_ids, *map_rows;
    cr_zch_state map_state;
    const char *map_name; /* of its tensors, up to the last dot */
    /* The table grows in training (dynamicemb, growing): its owner makes rows, and the lists of a
     * batch hold keys (emb/keymap.h). grow: the table where one process has all of it. While it is
     * saved, grow_rows[h] is the first row of holder h. */
    bool grows, grow_loaded;
    cr_grow *grow;
    int64_t map_steps; /* training steps of its map */
    int64_t *grow_rows;
    cr_init init;
    const cr_feature *owner; /* the first feature that asked for the table, for messages */
    struct cr_table_use {
        cr_node *node; /* lookup */
        int piece;     /* of that lookup */
    } * uses;
    int n_uses, cap_uses;
    int updater; /* its number in the updater; -1: none */
    /* The table's own rule, which replaces the one in cr_model_opts; NULL: none. Set before
     * cr_model_alloc. */
    const cr_optim_type *optim;
    const void *optim_conf;
} cr_model_table;

typedef struct cr_output {
    const char *name; /* column name of the predictions: "probs" */
    cr_node *node;
} cr_output;
/* How much a row counts in a loss: its sample weight, times the weight of its part of the task's
 * space. A loss is factor * sum(w l) / sum(w). */
typedef struct cr_row_weight {
    int field; /* the weight field; -1: all weights are 1 */
    int space; /* the label field that is above 0 in the task's space; -1: no space */
    double in, out;
    double factor; /* weight of the task */
    double least;  /* with use_pareto_loss_weight: its least share of all losses */
} cr_row_weight;
/* cr_row_weight_of returns the weight of row r of a batch, without the factor. */
double cr_row_weight_of(const cr_row_weight *w, const cr_batch *b, int64_t r);
typedef struct cr_model_loss {
    const char *name;
    cr_node *row;    /* loss per row */
    cr_node *mean;   /* its mean over the batch; marked as a loss */
    int weight;      /* its number in cr_model.weights; -1: none */
    bool train_only; /* evaluation leaves it out */
    bool lists;      /* compares positive rows with others; any label is allowed */
    int label;       /* the label field; -1: none */
    int64_t K; /* labels: K > 1: whole numbers 0 .. K - 1; 1: any share 0 .. 1; 0: any number */
} cr_model_loss;
typedef struct cr_model_metric {
    const char *name;
    const cr_metric_type *type;
    const void *conf;
    cr_node *pred;
    int64_t K;
    int label;
    /* the sparse feature whose first id is the group; -1: none */
    int group_slot;
    /* only rows where this label field is above 0; -1: all rows */
    int mask;
    const cr_train_metric_conf *train; /* for a metric of training; NULL: of evaluation */
} cr_model_metric;

/* An axis of the graph: the sequences of a feature, at most `most` steps of each (0: all). */
typedef struct cr_seq_axis {
    int slot;
    bool sparse;
    int64_t most;
    const char *name; /* name of the feature */
    /* Features of other columns that must have the same lengths; a row where they differ is an
     * error of the run. */
    const cr_feature **others;
    int n_others;
} cr_seq_axis;

/* The rows that the ids of a feature have in a table with a map. They are list number
 * features->n_sparse + k of a batch (cr_model_map_batch). */
typedef struct cr_mapped {
    cr_model_table *t;
    int slot; /* of the feature */
} cr_mapped;

typedef struct cr_model {
    cr_arena arena;
    cr_graph graph;
    const cr_features *features;
    cr_model_table **tables;
    int n_tables, cap_tables;
    int n_views;        /* number of uses of all tables */
    cr_output *outputs; /* sorted by name */
    int n_outputs;
    cr_row_weight *weights;
    int n_weights;
    int64_t missing_group; /* the group, or session, of rows without an id: -1 or 0 */
    /* the label field that has the number of the row's domain, below n_domains; -1: no domains */
    int domain_label;
    int64_t n_domains;
    cr_model_loss *losses;
    int n_losses;
    cr_model_metric *metrics;
    int n_metrics;
    cr_model_metric *train_metrics;
    int n_train_metrics;
    /* masked_error: what refeed_steps feeds in again, the last of n_refeeds; and scatter: where it
     * goes to, vectors of n_refed widths, of which refed_width is the last */
    cr_node *refeeds;
    int n_refeeds, n_refed;
    int64_t refed_width;
    cr_seq_axis *axes; /* [graph.n_axes] */
    int n_axes;
    cr_shards *shards; /* the tables that are cut; NULL: there are none */
    cr_mapped *mapped; /* n_mapped 0: no table has a map */
    int n_mapped;
    int64_t day;       /* of the step under way (feat/clock.h); INT64_MIN: not known */
    uint64_t map_seed; /* of first values */
    /* Told of an id that gets a row of a table with zch, and of the one that leaves it (INT64_MAX:
     * none); NULL: nobody wants to know. */
    void (*moved)(void *ctx, const struct cr_model_table *t, int64_t came, int64_t left);
    void *moved_ctx;
} cr_model;

/* One caller's side of a model: its work of a plan, and the lengths of the sequences in the current
 * batch. The model and the plan do not change in a run, so several callers may use them at once,
 * each with its own cr_model_work. */
typedef struct cr_model_work {
    const cr_model *m;
    cr_work *w;          /* NULL: it was made without a plan */
    const int32_t **off; /* per axis: where the positions of each row begin */
    struct cr_axis_cut { /* per axis: off where steps are cut */
        int32_t *off;
        int64_t cap;
    } * cut;
    cr_pool *pool; /* may be NULL */
    struct cr_mapped_batch {
        cr_batch b;
        cr_jagged *sparse;
        int64_t *rows, cap;
    } * mapped;      /* NULL: no table has a map */
    cr_views *views; /* rows of tables that have an owner; NULL: no table has one */
    /* lists of features that the caller has grouped for the batch of a run (cr_updater_groups);
     * NULL: none */
    const cr_groups *grouped;
    /* asks: the next run announces the batch after it as soon as its own rows are there
     * (cr_views_ask, with `next`) */
    bool asks;
    const cr_groups *next;
} cr_model_work;

typedef struct cr_model_opts {
    const cr_model_conf *conf;
    const cr_features *features;
    bool with_labels;           /* build losses and metrics too (train, eval) */
    const cr_optim_type *optim; /* rule of the tables; NULL: no state (inference) */
    const void *optim_conf;
    uint64_t seed;
    cr_products products; /* how matrix products take their inputs */
    const char *inside;   /* the export that libraries must lie in; NULL: anywhere */
    /* the holders over which tables are cut; NULL: no table is */
    const cr_meet *meet;
    cr_pool *pool; /* for the rows of these tables */
} cr_model_opts;
/* cr_model_new builds everything but allocates no parameters. All mistakes go to diag; the result
 * is then NULL. */
cr_model *cr_model_new(const cr_model_opts *o, cr_diag *diag);
void cr_model_free(cr_model *m);
/* Computes the bytes of the tables (with their state) and of the dense parameters. */
void cr_model_bytes(const cr_model *m, const cr_optim_type *optim, int64_t *tables, int64_t *dense);
/* cr_model_alloc makes the memory, cr_model_fill the first values. */
CR_CHECKED cr_code cr_model_alloc(cr_model *m, const cr_model_opts *o, cr_err *err);
void cr_model_fill(cr_model *m, uint64_t seed, cr_pool *pool);
/* first_values.c: gives dense parameters the first values that model_config.first_values names; for
 * cr_model_new. */
void cr_first_values(cr_model *m, const cr_msgs *list, cr_diag *diag);
/* cr_model_scales (collective) computes the scale of a step's input (cr_step_input): for each of
 * m->weights an array as long as the batch has rows. The weights are divided by their sum over the
 * rows of all lanes. */
void cr_model_scales(const cr_model *m, const cr_batch *b, const cr_lanes *lanes,
                     float *const *scale);
/* work.c. cr_model_work_new takes plan and pool as cr_work_new does; without a plan (NULL) only
 * cr_model_axes may follow. cr_model_axes finds where the positions of a batch's rows begin, per
 * axis; the result holds until the next call. cr_model_run makes a pass over a batch and fills in
 * its rows and axes. cr_model_check_batch finds what is wrong with the data of a batch;
 * cr_model_run does it too, but holders meet there, so they check and agree before.
 * cr_model_seq_grads is called after it and tells the updater where the gradients of sequences lie
 * now. */
CR_CHECKED cr_code cr_model_work_new(cr_model_work **out, const cr_model *m, const cr_plan *plan,
                                     cr_pool *pool, cr_err *err);
void cr_model_work_free(cr_model_work *w);
CR_CHECKED cr_code cr_model_axes(cr_model_work *w, const cr_batch *b, const int32_t *const **axes,
                                 cr_err *err);
CR_CHECKED cr_code cr_model_check_batch(const cr_model *m, const cr_batch *b, cr_err *err);
CR_CHECKED cr_code cr_model_run(cr_model_work *w, const cr_batch *b, cr_run *run, cr_err *err);
void cr_model_seq_grads(const cr_model_work *w, cr_updater *u);
/* maps.c: tables with a map (zch, dynamicemb, growing). cr_model_map_batch makes the batch that
 * lookups read: the features' ids, and behind them the rows of tables with a map. It holds until
 * the next call, and b must stay. Without such tables, or where b is such a batch already, it is b
 * itself. cr_model_run calls it; those who group ids do it before. */
CR_CHECKED cr_code cr_model_map_batch(cr_model_work *w, const cr_batch *b, const cr_batch **out,
                                      cr_err *err);
/* cr_model_maps_ahead: can batches be mapped before their step, since no table has a map that
 * changes (zch)? */
bool cr_model_maps_ahead(const cr_model *m);
/* cr_model_learn_ids makes the maps' step of training, before the batch (of the loader) is mapped.
 * It is collective where the batch has several holders; they do not hear of a failure. */
CR_CHECKED cr_code cr_model_learn_ids(cr_model *m, const cr_batch *b, const cr_meet *meet,
                                      cr_err *err);
/* cr_model_grown_steps: growing tables have made so many steps more than `before`, which has a
 * number for each table. For workers of parameter servers, who do not make steps together. */
void cr_model_grown_steps(cr_model *m, const int64_t *before, int64_t steps);
/* cr_model_rest_rows ends the maps' step: tables that grow only look ids up from now on. Where such
 * a table only has rows of a file, it sets the last one, that of ids without one, to its
 * constant. */
void cr_model_rest_rows(cr_model *m);
/* cr_model_map_bytes returns the memory of the map of a table with so many rows, in training.
 * cr_model_grown_placing cuts a table that grows by the hash of its ids over n holders. */
int64_t cr_model_map_bytes(const cr_model_table *t, int64_t n_rows);
cr_placing *cr_model_grown_placing(cr_arena *a, const cr_model_table *t, const int *holders, int n);
/* cr_model_absent returns every number of the vector of ids without a row, outside of training. */
float cr_model_absent(const cr_model_table *t);
/* cr_model_grown_load makes the rows of a table that grows, which map_state has, or without one
 * those of the ids 0 .. rows - 1. It is called before their values are put. */
bool cr_model_grown_keeps(const cr_model_table *t); /* cr_grow_keeps */
CR_CHECKED cr_code cr_model_grown_load(cr_model_table *t, int64_t rows, cr_err *err);
/* cr_model_maps_save (collective with meet) copies the states of all maps to map_state, where
 * checkpoints read them; cr_model_maps_load takes what was loaded there (first: this holder is the
 * first one). cr_model_maps_saved frees these copies. */
CR_CHECKED cr_code cr_model_maps_save(cr_model *m, const cr_meet *meet, cr_err *err);
CR_CHECKED cr_code cr_model_maps_load(cr_model *m, bool first, cr_err *err);
void cr_model_maps_saved(cr_model *m);
/* cr_model_feature_slot returns the list of ids that a feature has in the loader's batches, for the
 * list that a lookup reads. */
int cr_model_feature_slot(const cr_model *m, int slot);
/* cr_model_check_ops tries each op of a library by itself and reports gradients that are not the
 * slope of the forward function, and bits that depend on threads. Returns how many mistakes there
 * are. */
int cr_model_check_ops(const cr_model *m, cr_diag *diag);
/* cr_model_updater registers all trainable tables that get a gradient in w, whose plan trains. */
cr_updater *cr_model_updater(cr_model *m, const cr_work *w, cr_pool *pool);
/* cr_model_updater_to gives the gradients to sinks of the caller's, one for each table by its
 * number; tables then need no rule of their own. */
cr_updater *cr_model_updater_to(cr_model *m, const cr_work *w, cr_pool *pool,
                                cr_sink (*sink)(void *ctx, int table), void *ctx);

/* ---- for model types ---- */

/* One prediction task: the result of a model's build. */
typedef struct cr_task {
    const char *suffix; /* "" or "_<tower>" */
    /* (K); with domains: those of the row's own domain, or NULL without labels */
    cr_node *logits;
    int label, weight; /* the label field; the number in cr_model.weights (-1: none) */
    const cr_msgs *losses, *metrics;
    const cr_msgs *train_metrics; /* cr_train_metric_conf; may be NULL */
    /* with domains there are predictions of each domain: "_<tower>_<domain>" */
    cr_node *const *domains;
    int n_domains;
    bool train_only; /* it has no predictions and is not evaluated */
    bool no_loss;    /* it has predictions and metrics only */
    int mask;        /* for metrics, as in cr_model_metric */
} cr_task;
/* A loss that belongs to no task: row (1) per row, averaged like any other. Only training has it,
 * unless it is the loss of the whole model: then it is averaged with the weights of the first task,
 * evaluation shows it, and the tasks have predictions and metrics only. */
typedef struct cr_extra_loss {
    const char *name;
    cr_node *row;
    int weight;
    bool whole;
} cr_extra_loss;
#define CR_MAX_TASKS 32
#define CR_MAX_EXTRA 64
typedef struct cr_build {
    cr_model *m;
    cr_graph *g;
    const cr_model_opts *o;
    const cr_model_conf *conf;
    cr_diag *diag;
    int64_t wide_dim;      /* width of tables in groups of type WIDE; CR_WIDE_DIM unless set */
    const char *wide_init; /* init_fn of these tables; NULL: the default */
    cr_task tasks[CR_MAX_TASKS];
    int n_tasks;
    cr_extra_loss extra[CR_MAX_EXTRA];
    int n_extra;
    cr_output *inner; /* predictions of a row's own domain, for metrics only */
    int n_inner;
    struct cr_dense_use { /* autodis and mlp embeddings that were made: one per feature */
        const cr_feature *f;
        cr_node *node;
        struct cr_dense_use *next;
    } * dense;
    struct cr_dropped *dropped; /* variational.c */
    struct cr_encoded {         /* groups whose sequence encoders were made */
        const cr_group_conf *group;
        cr_node *const *out;
        struct cr_encoded *next;
    } * encoded;
} cr_build;
#define CR_WIDE_DIM 4
struct cr_model_type {
    const char *name;
    /* build adds nodes and tasks. Mistakes go to b->diag; after one, the graph that it leaves is
     * not used. */
    void (*build)(cr_build *b, const void *conf);
    /* check reports what does not fit between the model's config and the feature groups. It runs
     * before any feature is built, so that its mistakes are reported together with those of
     * features. NULL: build finds everything. */
    void (*check)(const cr_model_conf *m, const void *conf, cr_diag *diag);
};

/* cr_feature_ctr returns the accessor of a feature's table (feat/config.h); NULL: it has none. */
const struct cr_ctr_conf *cr_feature_ctr(const cr_feature *f);
/* cr_model_ctr_rules returns the rules of a table that has one. */
cr_ctr_rules cr_model_ctr_rules(const cr_model_table *t);
/* cr_model_ctr_plane returns plane k of what its rows keep beside the weights (emb/grow.h). */
cr_ctr_plane cr_model_ctr_plane(const cr_model_table *t, int k);
/* cr_model_axis returns the axis of a sequence feature, cut to `most` steps (0: not cut).
 * cr_model_axis_also adds another feature that is read along it. */
int cr_model_axis(cr_build *b, const cr_feature *f, int64_t most);
void cr_model_axis_also(cr_build *b, int axis, const cr_feature *f);

/* A feature group in the graph. */
typedef struct cr_group_out {
    cr_node *node;            /* (sum of the widths); NULL when there were mistakes */
    int64_t F;                /* number of features and, behind them, of sequence encoders */
    int64_t D;                /* the width that all of them have; 0: widths differ */
    const int64_t *widths;    /* (F) */
    const bool *tables;       /* (F) does the feature come from a table? */
    const char *const *names; /* (F) names of features, or <group>_seq_encoder_<i> */
} cr_group_out;
/* cr_group_find returns the group's config, or NULL. */
const cr_group_conf *cr_group_find(const cr_model_conf *c, const char *name);
/* For checks. cr_group_needed returns a group that the model must have; cr_group_named a group that
 * the config names (what, at its place). Both report a mistake if there is no group of that name.
 * cr_towers_check: every tower (cr_tower_conf) names a group. */
const cr_group_conf *cr_group_needed(const cr_model_conf *m, const char *name, cr_diag *diag);
void cr_group_named(const cr_model_conf *m, cr_loc at, const char *what, const char *name,
                    cr_diag *diag);
void cr_towers_check(const cr_model_conf *m, const cr_msgs *towers, cr_diag *diag);
/* cr_group_build adds the group called name. The group's group_type says whether its tables are the
 * features' own or wide ones. at is the place in the config that asked for the group, for
 * messages. */
cr_group_out cr_group_build(cr_build *b, const char *name, cr_loc at);
/* cr_towers_build adds a tower (cr_tower_conf) per feature group to parts. Returns how many there
 * are, which are fewer when there are mistakes. */
int cr_towers_build(cr_build *b, const cr_msgs *towers, cr_node **parts);
/* cr_group_build_seq adds a group of type SEQUENCE: its plain features side by side are the query
 * of a row; its sequences side by side are the keys, at least as wide, with separate tables. most
 * is the number of steps that are read (0: all). Both nodes are NULL when there are mistakes. */
typedef struct cr_seq_out {
    cr_node *query, *keys;
} cr_seq_out;
cr_seq_out cr_group_build_seq(cr_build *b, const char *name, int64_t most, cr_loc at);
/* cr_group_build_as adds a group, whatever its type, with tables of width dim, names that end in
 * suffix ("_ffm") and init. project: plain numbers also become vectors of width dim, each through
 * its own matrix <suffix without _>.<feature>.weight. */
cr_group_out cr_group_build_as(cr_build *b, const char *name, int64_t dim, const char *suffix,
                               const char *init, bool project, cr_loc at);
/* cr_group_first returns the name of the first group, for models with one input, and warns that
 * other groups are not read. It returns NULL after it reported that there is no group. cr_group_or
 * returns `name` if there is such a group, else `other`. */
const char *cr_group_first(cr_build *b, const char *model, cr_loc at);
const char *cr_group_or(const cr_build *b, const char *name, const char *other);
/* cr_fields_build makes the fields of dlrm and wukong: the features of the only group or of
 * `sparse`, with the group `dense`, passed through dense_mlp, in front of them. node is NULL when
 * there are mistakes. */
typedef struct cr_fields_out {
    cr_node *node; /* (F, D) */
    cr_node *dense, *sparse;
    int64_t F, D;
} cr_fields_out;
cr_fields_out cr_fields_build(cr_build *b, const char *model, const cr_mlp_conf *dense_mlp,
                              cr_loc at);
/* cr_linear_part adds the group's linear model with num_class outputs: the rows of tables of that
 * width (<feature>_emb_wide) are summed, everything else passes through linear.weight, and
 * linear.bias is added. NULL: there are mistakes. */
cr_node *cr_linear_part(cr_build *b, const char *group, const char *init, cr_loc at);
/* cr_same_width: can the features of g be multiplied with each other? Reports a mistake if not. */
bool cr_same_width(cr_build *b, const char *model, const char *group, const cr_group_out *g);
/* cr_one_class reports a mistake when num_class is not 1. */
bool cr_one_class(cr_build *b, const char *model);
/* cr_end_task ends a single-task model with these logits. cr_add_task adds one task and returns it,
 * so that the caller can set more members. */
void cr_end_task(cr_build *b, cr_node *logits);
cr_task *cr_add_task(cr_build *b, const char *suffix, cr_node *logits);
/* cr_add_weight returns the number of a row weight; -1 for a weight that changes nothing. */
int cr_add_weight(cr_build *b, cr_row_weight w);
/* task.c: cr_tower_task adds a task with the label, weights, losses and metrics of a task tower and
 * with these logits (NULL when the caller sets domains). NULL: there are mistakes. */
cr_task *cr_tower_task(cr_build *b, const cr_task_conf *t, cr_node *logits);
/* Adds the tower's own layers and its logits, as TorchEasyRec's TaskTower `name` has them:
 * tower_mlp, linear. */
cr_node *cr_tower_logits(cr_build *b, const char *name, const cr_task_conf *t, cr_node *x);
/* cr_end_towers ends a model with one tower per task over x[i], named _task_tower.i. */
void cr_end_towers(cr_build *b, const cr_msgs *towers, cr_node *const *x);
/* Returns the number of a label field, or reports a mistake at `at` and returns -1. The model must
 * be built with labels (cr_model_opts). */
int cr_find_label(cr_build *b, const char *name, cr_loc at);
/* cr_single_task ends a single-task model: logits = FC_K(x), named output_mlp, plus the n_extra
 * scalars in extra. */
void cr_single_task(cr_build *b, cr_node *x, bool bias, cr_node *const *extra, int n_extra);
/* cr_output_task does so without a bias and under another name: logits = FC_K(x). */
void cr_output_task(cr_build *b, const char *name, cr_node *x);

#endif
