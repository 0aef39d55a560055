/*
 * job.h - a job: a config with the features and the model that were built from it, and the ways
 * from there to weights and data. Every command that needs a model opens one.
 */
#ifndef CR_JOB_JOB_H
#define CR_JOB_JOB_H

#include "ckpt/ckpt.h"
#include "comm/comm.h"
#include "data/load/loader.h"
#include "feat/feat.h"
#include "job/config.h"
#include "model/model.h"
#include "op/input.h"

/* ---- rules.c: which optimizer rule trains which parameter ---- */
typedef struct cr_rule {
    const cr_choice *optim, *sched;
    const cr_optim_type *type;
    int members; /* number of tables or parameters */
} cr_rule;
typedef struct cr_rules {
    cr_rule *v; /* the main rule, then one per part (some without members) */
    int n;
    /* the rule of a table by its number, or of a dense parameter by the number of its node */
    int *of;
    cr_optim_step *steps; /* by rule: values of the last step */
} cr_rules;

/* ---- a job ---- */
typedef struct cr_job {
    cr_config cfg;
    cr_root_conf *root;
    cr_pool *pool;
    cr_features *features;
    cr_model *model;
    cr_model_opts mo;
    const cr_reader_type *reader;
    cr_rules tables, dense; /* only when training */
    cr_comm *comm;          /* the other ranks; NULL: this process is alone */
    /* the processes that have other parts of a batch; NULL: this process has all of it */
    const cr_meet *meet;
    cr_meet ranks; /* meet points to it when the ranks of comm are those processes */
    /* Parameter servers without a barrier in each step (train/ps.h): the strategy, and the way of
     * letters. CR_SYNC: every step is one of all processes. */
    cr_strategy strategy;
    const cr_mail *mail;
    int64_t batch; /* rows of a global training batch */
    int lanes;     /* lanes of a global batch */
    /* the job has labels, so eval_config says whether averages are used; else export_config */
    bool evaluates;
    char **reserved;
    int n_reserved;
    bool accept_changed_features;
    const char *plan; /* where tables lie, as the text of plan.json (placing.h); NULL: none */
    cr_ckpt *mapped;  /* a checkpoint or export whose tables are read where they lie; NULL: none */
    uint64_t
        first_weights;    /* digest of the files that a new training's weights are from; 0: none */
    const char *verified; /* a checkpoint that was compared with its digests when it was chosen */
    /* data whose reader has sessions: what the checkpoint kept of them (NULL: nothing), and those
     * that were made, by the paths of the config */
    const char *kept_sessions;
    struct cr_job_session {
        const char *paths, *text;
    } * sessions;
    int n_sessions;
    struct cr_job_parts *parts; /* files of all hosts that this rank serves; NULL: none (parts.c) */
} cr_job;
typedef struct cr_job_opts {
    const cr_config_opts *config;
    int threads;
    bool train;             /* tables get optimizer state */
    bool with_labels;       /* build losses and metrics too */
    bool no_batches;        /* no data is read, so ranks need not share lanes */
    bool rounds;            /* the caller trains in rounds where the strategy asks for it */
    const cr_mail *mail;    /* with meet: the way of letters */
    bool exported;          /* the precision is that of export_config, else that of train_config */
    const char *reserved;   /* comma list of columns that are carried along; NULL: none */
    const char *data_paths; /* the data whose columns ALL_COLUMNS means */
    /* The processes that share every batch; each brings batch_size rows to it. NULL: this process
     * is alone. Borrowed. Its lanes must be those of cr_lanes_for. */
    const cr_meet *meet;
    cr_comm *comm; /* the same for the ranks of a comm, with lanes divided evenly; NULL: none */
} cr_job_opts;
/* cr_job_is_first: is this the process that writes files and reports to users? */
static inline bool cr_job_is_first(const cr_job *j) {
    return !j->comm || cr_comm_rank(j->comm) == cr_comm_first(j->comm);
}
/* cr_job_self returns which holder of the batch this process is. */
static inline int cr_job_self(const cr_job *j) {
    return j->meet ? j->meet->self : 0;
}
/* cr_job_agree (collective) lets the ranks agree on a result that a rank found by itself and that
 * decides which calls follow. It returns the code of the first rank that cannot continue, and in
 * *stop (may be NULL) whether any rank got a signal. */
cr_code cr_job_agree(const cr_job *j, cr_code mine, bool *stop);
/* cr_job_alone passes on the result of work between two meetings of the ranks. Where it is a
 * mistake (no memory, a node that failed) the other ranks wait in the next meeting and cannot be
 * told: the rank logs it and ends all ranks. Without other ranks it returns the code. */
cr_code cr_job_alone(const cr_job *j, cr_code code, const cr_err *err);
/* cr_job_alike (collective) compares the ranks before they work together: the effective config, the
 * flags that change what is done (a text), the meaning of features with the content of their files.
 * cr_job_alike_files does the same for the files of a data set; key is the config key or flag that
 * names them, and cr_job_alike_weights for a checkpoint or an export (NULL: none), by its manifest:
 * it may lie on a disk of each host. cr_job_alike_first compares what the weights of a new training
 * were read from, j->first_weights. A difference is one finding that names ranks, hosts and what
 * differs; CR_ECONF on all ranks. */
CR_CHECKED cr_code cr_job_alike(const cr_job *j, const char *flags, cr_diag *diag);
CR_CHECKED cr_code cr_job_alike_weights(const cr_job *j, const char *path, cr_diag *diag);
CR_CHECKED cr_code cr_job_alike_first(const cr_job *j, cr_diag *diag);
CR_CHECKED cr_code cr_job_alike_files(const cr_job *j, const char *key, const char *paths,
                                      const cr_file_ids *ids, cr_diag *diag);
/* cr_job_unite (collective), before data is opened: where data_config.host_parts is set, or under
 * PADDLEREC_CLUSTER_TYPE=MPI, and hosts have different files, the paths of the config become those
 * of all files of all hosts. cr_job_close ends the serving of them, when no rank reads any more. */
CR_CHECKED cr_code cr_job_unite(cr_job *j, cr_diag *diag);
void cr_job_part(cr_job *j);
/* cr_job_profile begins a profile, of this process or of all ranks together; NULL if on is false.
 */
struct cr_profile *cr_job_profile(const cr_job *j, bool on, const char *path);
/* cr_job_open loads the config and builds features and model without memory for parameters.
 * The caller calls cr_job_close in any case. */
CR_CHECKED cr_code cr_job_open(cr_job *j, const cr_job_opts *o, cr_diag *diag);
void cr_job_close(cr_job *j);
/* cr_job_wants_ema: should averaged dense parameters be used, in an evaluation (eval) or in export
 * and prediction? */
bool cr_job_wants_ema(const cr_job *j, bool eval);
/* cr_job_check_ema reports averages that the config asks for and that training would not make. */
void cr_job_check_ema(const cr_job *j, cr_diag *diag);
/* cr_job_is_sgd: are all rules that have members plain SGD? */
bool cr_job_is_sgd(const cr_job *j);
/* cr_job_check_servers reports a training that is to use parameter servers and has none, or that
 * its strategy cannot do. */
void cr_job_check_servers(const cr_job *j, cr_diag *diag);
/* cr_job_check_refeed reports what does not go with train_config.refeed_steps. */
void cr_job_check_refeed(const cr_job *j, cr_diag *diag);
/* cr_job_check_ctr reports settings that do not go with tables that have a CTR accessor. */
void cr_job_check_ctr(const cr_job *j, cr_diag *diag);
/* cr_job_check_inner reports settings that do not go with inner_loop. cr_job_eval_files returns the
 * files whose rows an evaluation tests: eval paths, or the query rows of all tasks. */
void cr_job_check_inner(const cr_job *j, cr_diag *diag);
const char *cr_job_eval_files(const cr_job *j, const char *paths, cr_arena *a);
/* cr_job_needs says which parts of a checkpoint an evaluation, export or prediction reads. Averages
 * lie with the optimizer state. */
cr_ckpt_need cr_job_needs(const cr_job *j);
/* cr_job_alloc allocates the parameters; cr_job_load fills them from a checkpoint. */
CR_CHECKED cr_code cr_job_alloc(cr_job *j, cr_err *err);
/* cr_job_map is called before cr_job_alloc. If path is an export, its tables are not copied but
 * read in the mapped files, in their stored type. Tables that cannot be mapped, and everything in a
 * checkpoint, are loaded as usual. */
CR_CHECKED cr_code cr_job_map(cr_job *j, const char *path, cr_err *err);
/* cr_job_copy is called before cr_job_alloc by a job that only writes the weights of path to other
 * files: no table gets memory, and the tensors of cr_job_tensors read rows from the files of path.
 * cr_job_load_weights then compares tables and loads the rest. */
CR_CHECKED cr_code cr_job_copy(cr_job *j, const char *path, cr_err *err);
CR_CHECKED cr_code cr_job_load_weights(cr_job *j, const char *path, cr_diag *diag);
/* cr_job_meaning returns the meaning of the model's numbers, for its checkpoints and exports.
 * cr_job_same_meaning compares it with that of a checkpoint: differences are errors, or warnings if
 * they were accepted or for fine_tune. A checkpoint without such a text passes. */
const char *cr_job_meaning(const cr_job *j, cr_arena *a);
CR_CHECKED cr_code cr_job_same_meaning(const cr_job *j, const cr_ckpt *c, bool fine_tune,
                                       cr_diag *diag);
/* cr_job_checkpoint chooses a checkpoint: the wanted one (a user's path); else the best, if best is
 * set and the config asks for it; else the newest of model_dir. *step is -1 when it was named by
 * path. */
CR_CHECKED cr_code cr_job_checkpoint(cr_job *j, const char *wanted, bool best, char **path,
                                     int64_t *step, cr_err *err);
/* cr_job_checkpoint_of_all (collective) is the same among several ranks: the first one chooses,
 * since another run may add checkpoints meanwhile. All fail if it fails. */
CR_CHECKED cr_code cr_job_checkpoint_of_all(cr_job *j, const char *wanted, bool best, char **path,
                                            int64_t *step, cr_diag *diag);
/* cr_job_best_metric returns the metric that decides which checkpoint is best: best_exporter_metric
 * if it is given, else the first AUC; NULL: there is none. cr_job_check_best reports a mistake in
 * it for a job with labels: it must be the name of a metric or loss. */
const char *cr_job_best_metric(const cr_job *j);
/* cr_job_larger: is a larger value of that result better (NULL: of the only result there is)?
 * metric_larger_is_better decides; if it is not given, larger is better except for losses and
 * errors. */
bool cr_job_larger(const cr_job *j, const char *metric);
void cr_job_check_best(const cr_job *j, cr_diag *diag);
/* cr_job_loader opens a data set for this model. */
typedef struct cr_job_data {
    const char *paths;
    const char *key; /* the config key that names them; NULL: a flag does */
    int64_t batch_size, n_epochs;
    bool shuffle, drop_remainder;
    cr_side_of side; /* with eval_fraction: the rows of one side */
    bool mask;       /* training: some rows are hidden (sample_mask_prob) */
    bool once;       /* it is read only once, so standard input is allowed */
    bool any_bad;    /* leave out and count bad rows without a limit (check) */
    bool silent;     /* do not log bad rows */
    cr_data_pos start;
    const char *places; /* of a stream, for `start`; see cr_loader_opts */
    const int *lanes;   /* the rows of lanes [lanes[0], lanes[1]); NULL: those of this process */
    cr_trace *trace;    /* NULL: none */
    cr_file_ids *ids;   /* identity of the files, see cr_loader_opts; NULL: not wanted */
} cr_job_data;
CR_CHECKED cr_code cr_job_loader(cr_job *j, const cr_job_data *d, cr_loader **out, cr_diag *diag);
/* Returns the rows of a global batch of an evaluation. */
int64_t cr_job_eval_batch(const cr_job *j);
/* cr_lanes_for returns how many lanes a global batch of so many rows has; said is
 * train_config.lanes. */
int cr_lanes_for(int64_t said, int64_t batch);
/* cr_job_eval_paths returns the data to evaluate on, of which CR_EVAL_ROWS are read; NULL: the
 * config names none. cr_job_eval_key returns the key that names it. */
const char *cr_job_eval_paths(const cr_job *j);
const char *cr_job_eval_key(const cr_job *j);
/* The values that a trainer keeps beside each dense parameter p: count planes, each with a name and
 * values. Holder h of j->meet has those of floats [slice[h], slice[h + 1]) of the parameter block;
 * data is where its elements of p begin. slice NULL: all of them are here. */
typedef struct cr_planes {
    int (*count)(const void *ctx, const cr_node *p);
    const char *(*plane)(const void *ctx, const cr_node *p, int k, float **data);
    const int64_t *slice;
    const void *ctx;
} cr_planes;
/* cr_job_tensors lists all weights of the model and, when planes is not NULL, the optimizer
 * state. */
cr_ckpt_tensor *cr_job_tensors(cr_job *j, const cr_planes *planes, cr_arena *a, int *n);
/* cr_job_maps_loaded follows the loading of a training's checkpoint: the maps of tables take what
 * was loaded for them. */
CR_CHECKED cr_code cr_job_maps_loaded(cr_job *j, cr_diag *diag);
/* cr_split_list cuts the comma list of a flag into words without blanks around them. */
int cr_split_list(cr_arena *a, const char *text, char ***out);
/* cr_job_wrong_path reports that a path of the config, given under key, cannot be used. */
cr_code cr_job_wrong_path(const void *conf, const char *key, const char *path, const cr_err *err,
                          cr_diag *diag);

/* cr_job_tell_products logs what a user may not expect of products of this kind on a CPU of this
 * level, whose tile unit is in this state. */
void cr_job_tell_products(cr_products p, cr_cpu_level level, cr_cpu_tiles tiles);

/* ---- assets.c: files beside the weights ---- */
/* cr_each_asset calls fn for each feature of a tree that names files, with the feature's full name;
 * sep stands between the name of a sequence and that of its feature. */
typedef void (*cr_asset_fn)(cr_conf_doc *doc, cr_conf_node *feature, const char *name, void *ctx);
void cr_each_asset(cr_conf_doc *doc, const char *sep, cr_asset_fn fn, void *ctx);
/* cr_copy_assets copies the files that features need (vocabularies, libraries) into dir, each
 * once. */
CR_CHECKED cr_code cr_copy_assets(const cr_features *fs, const char *dir, cr_arena *arena,
                                  cr_err *err);
/* cr_assets_from lets all files of features and plug-ins of a loaded tree point into dir. */
void cr_assets_from(cr_config *cfg, const char *dir);
/* cr_libs_from names the libraries of a model's plug-ins as files in dir ("": without a folder);
 * cr_libs_copy copies them there. */
void cr_libs_from(cr_conf_doc *doc, const char *dir);
CR_CHECKED cr_code cr_libs_copy(cr_conf_doc *doc, const char *dir, cr_err *err);

/* ---- rules.c: which optimizer trains which table and parameter ---- */
/* cr_job_rules decides the rule of all tables and dense parameters of j->model; it warns of a part
 * without members. */
void cr_job_rules(cr_job *j, cr_diag *diag);
/* cr_rules_step fills the steps for update t; steps and epochs are those of the schedules so
 * far. */
void cr_rules_step(cr_rules *r, int64_t steps, int64_t epochs, int64_t t);
void cr_rules_tell(const cr_job *j); /* logs which tables and parameters are in a part */
/* cr_dense_planes: floats that are kept per dense parameter besides its weight. The next: does a
 * step write its gradients to memory? */
int cr_dense_planes(const cr_job *j);
bool cr_dense_keeps_grad(const cr_train_conf *tc);

#endif
