/*
 * run_int.h - what the jobs share: a built model with its data side, a training step, an
 * evaluation.
 */
#ifndef CR_RUN_RUN_INT_H
#define CR_RUN_RUN_INT_H

#include "ckpt/ckpt.h"
#include "data/load/loader.h"
#include "feat/feat.h"
#include "model/model.h"
#include "op/input.h"
#include "run/run.h"

/* ---- rules.c: which rule trains what ---- */
typedef struct rule {
    const cr_choice *optim, *sched;
    const cr_optim_type *type;
    int members; /* tables or parameters */
} rule;
typedef struct rules {
    rule *v; /* the main one, then one per part (some without members) */
    int n;
    int *of;              /* rule of a table by its number, of a dense parameter by its node's */
    cr_optim_step *steps; /* by rule: of the last step */
} rules;

/* ---- job.c: from a config to a model in memory ---- */
typedef struct job {
    cr_config cfg;
    cr_root_conf *root;
    cr_pool *pool;
    cr_features *features;
    cr_model *model;
    cr_model_opts mo;
    const cr_reader_type *reader;
    rules tables, dense; /* when training */
    const cr_meet *meet; /* processes with other parts of a batch; NULL: all of it is here */
    int64_t batch;       /* rows of a global training batch */
    int lanes;           /* lanes of a global batch */
    bool evaluates;      /* with labels: which config says whether averages are used */
    char **reserved;
    int n_reserved;
    bool accept_changed_features;
    cr_ckpt *mapped;      /* export whose tables are read where they lie; NULL: none */
    const char *verified; /* checkpoint that was compared with its digests when it was chosen */
} job;
typedef struct job_opts {
    const cr_config_opts *config;
    int threads;
    bool train;             /* tables carry optimizer state */
    bool with_labels;       /* losses and metrics */
    bool exported;          /* precision as export_config says, else as train_config */
    const char *reserved;   /* comma list of columns to carry along; NULL: none */
    const char *data_paths; /* whose columns ALL_COLUMNS means */
    /* the processes that share every batch, each of which brings batch_size rows to it; NULL: this
     * one is alone. Borrowed. Its lanes are cr_lanes_for what the config says. */
    const cr_meet *meet;
} job_opts;
/* cr_job_open loads the config and builds features and model without memory for parameters. The
 * caller always calls cr_job_close. cr_job_prepare is the same for a config loaded already into
 * j->cfg. */
CR_CHECKED cr_code cr_job_open(job *j, const job_opts *o, cr_diag *diag);
CR_CHECKED cr_code cr_job_prepare(job *j, const job_opts *o, cr_diag *diag);
void cr_job_close(job *j);
/* cr_copy_assets copies the files that features need (vocabularies, libraries) into dir, each once
 * (export.c) */
CR_CHECKED cr_code cr_copy_assets(const cr_features *fs, const char *dir, cr_arena *arena,
                                  cr_err *err);
/* cr_config_of_dir: a model_dir or an export as config means the pipeline.config in it */
void cr_config_of_dir(cr_config_opts *c, char path[1200]);
/* cr_config_defaults puts what is not given and crank supplies into the tree: optimizers,
 * schedules, losses and metrics (defaults.c) */
void cr_config_defaults(cr_conf_doc *doc);
/* cr_job_assets_from points all vocab_files of a loaded tree into dir (export.c) */
void cr_job_assets_from(cr_config *cfg, const char *dir);
/* libs.c: cr_libs_from names the libraries of a model's plug-ins as files in dir ("": without a
 * folder); cr_libs_copy puts them there. */
void cr_libs_from(cr_conf_doc *doc, const char *dir);
CR_CHECKED cr_code cr_libs_copy(cr_conf_doc *doc, const char *dir, cr_err *err);
/* cr_job_wants_ema: are averaged dense parameters to be used, in evaluation or else in export and
 * prediction? */
bool cr_job_wants_ema(const job *j, bool eval);
/* cr_job_check_ema: averages that are asked for and that training would not make */
void cr_job_check_ema(const job *j, cr_diag *diag);
/* cr_job_needs: what of a checkpoint an evaluation, export or prediction reads. Averages lie with
 * the optimizer state. */
cr_ckpt_need cr_job_needs(const job *j);
/* cr_job_alloc makes parameters; job_load fills them from a checkpoint. */
CR_CHECKED cr_code cr_job_alloc(job *j, cr_err *err);
/* cr_job_map, before cr_job_alloc: if path is an export, its tables are not to be copied but read
 * in the mapped files, in the type that they have there. What cannot be mapped, and all of a
 * checkpoint, is loaded as before. */
CR_CHECKED cr_code cr_job_map(job *j, const char *path, cr_err *err);
CR_CHECKED cr_code cr_job_load_weights(job *j, const char *path, cr_diag *diag);
/* cr_job_meaning: what the model's numbers mean, for its checkpoints and exports.
 * cr_job_same_meaning compares it with that of a checkpoint: differences are errors, or warnings
 * where they were accepted and for fine_tune. A checkpoint that does not say passes. */
const char *cr_job_meaning(const job *j, cr_arena *a);
CR_CHECKED cr_code cr_job_same_meaning(const job *j, const cr_ckpt *c, bool fine_tune,
                                       cr_diag *diag);
/* cr_job_checkpoint chooses: the one wanted (path of a user), else the best where the config says
 * so and best is set, else the newest of model_dir. *step -1 when it was named by path. */
CR_CHECKED cr_code cr_job_checkpoint(job *j, const char *wanted, bool best, char **path,
                                     int64_t *step, cr_err *err);
/* cr_job_best_metric: what decides which checkpoint is best: best_exporter_metric when it is given,
 * else the first AUC; NULL: there is none. cr_job_check_best finds what is wrong with it for a job
 * with labels: it must be the name of a metric or loss. */
const char *cr_job_best_metric(const job *j);
/* cr_job_larger: is a larger value of that result better (NULL: of the only one there is)? As
 * metric_larger_is_better says; when it is not given: yes, but for losses and errors. */
bool cr_job_larger(const job *j, const char *metric);
void cr_job_check_best(const job *j, cr_diag *diag);
/* cr_job_loader opens a data set for this model. */
typedef struct job_data {
    const char *paths;
    const char *key; /* of the config that names them; NULL: a flag */
    int64_t batch_size, n_epochs;
    bool shuffle, drop_remainder;
    cr_side_of side; /* with eval_fraction: the rows of one side */
    bool mask;       /* training: rows are hidden (sample_mask_prob) */
    bool once;       /* it is read one time: standard input will do */
    bool any_bad;    /* leave out and count bad rows without limit (check) */
    bool silent;     /* do not log them */
    cr_data_pos start;
    cr_trace *trace;  /* NULL: none */
    cr_file_ids *ids; /* identity of the files, see cr_loader_opts; NULL: not wanted */
} job_data;
CR_CHECKED cr_code cr_job_loader(job *j, const job_data *d, cr_loader **out, cr_diag *diag);
/* rows of a global batch of evaluations */
int64_t cr_job_eval_batch(const job *j);
/* cr_lanes_for: how many lanes a global batch of so many rows has; said: train_config.lanes */
int cr_lanes_for(int64_t said, int64_t batch);
/* cr_job_eval_paths: the data to evaluate on, of which CR_EVAL_ROWS are read; NULL: the config
 * names none. cr_job_eval_key: the key that names it. */
const char *cr_job_eval_paths(const job *j);
const char *cr_job_eval_key(const job *j);
/* all tensors of the model (weights; with trainer state when t is not NULL) */
struct trainer;
cr_ckpt_tensor *cr_job_tensors(job *j, const struct trainer *t, cr_arena *a, int *n);
/* cr_split_list cuts a comma list of a flag into words without blanks around them */
int cr_split_list(cr_arena *a, const char *text, char ***out);
/* cr_job_wrong_path: a path of the config, under key, that cannot be used; told where it is given
 */
cr_code cr_job_wrong_path(const void *conf, const char *key, const char *path, const cr_err *err,
                          cr_diag *diag);
/* adds err as one finding and returns its code */
cr_code cr_diag_err(cr_diag *diag, const cr_err *err);

/* ---- restore.c: the values that training starts from ---- */
/* cr_job_resume restores weights, optimizer state and counters; what the loop keeps goes to state,
 * of the metrics their number. */
struct trainer;
CR_CHECKED cr_code cr_job_resume(job *j, struct trainer *t, const char *path, bool ignore_optimizer,
                                 cr_ckpt_state *state, cr_diag *diag);
/* cr_job_begin: first values from the seed, pretrained tables, fine_tune_checkpoint. */
CR_CHECKED cr_code cr_job_begin(job *j, struct trainer *t, bool ignore_optimizer, cr_diag *diag);
/* cr_job_check_begin finds what cr_job_begin would refuse; needs no memory for parameters. */
void cr_job_check_begin(job *j, cr_diag *diag);

/* ---- pareto.c: weights of the tasks' losses, chosen in each step ---- */
typedef struct pareto pareto;
/* *out is NULL when the config does not ask for it */
CR_CHECKED cr_code cr_pareto_new(pareto **out, job *j, cr_model_work *w, cr_err *err);
void cr_pareto_free(pareto *p);
/* cr_pareto_step runs the batch once per task and multiplies the scale of each by its weight. */
CR_CHECKED cr_code cr_pareto_step(pareto *p, const cr_batch *b, const cr_run *run,
                                  float *const *scale, cr_err *err);
/* loss k of the last step before it was weighed, and its weight */
double cr_pareto_loss(const pareto *p, int k, double *weight);
/* the weights of n tasks from the products of their gradients, gram (n, n) */
void cr_pareto_solve(const double *gram, const double *least, int n, double *out);

/* ---- step.c: one training step ---- */
typedef struct trainer trainer;
CR_CHECKED cr_code cr_trainer_new(trainer **out, job *j, cr_err *err);
void cr_trainer_free(trainer *t);
/* cr_trainer_step: forward, backward, update. Fails when the loss is not finite (the weights are
 * then as before the step). Allocates nothing once the largest batch was seen. */
CR_CHECKED cr_code cr_trainer_step(trainer *t, const cr_batch *b, int64_t step, cr_err *err);
double cr_trainer_loss(const trainer *t, int k); /* loss k of the last step */
double cr_trainer_total(const trainer *t);       /* all of them, as they were weighed */
cr_updater *cr_trainer_updater(const trainer *t);
/* rows of an output node in the last step, before the update; cr_ld apart */
const float *cr_trainer_val(const trainer *t, const cr_node *n);
const cr_lanes *cr_trainer_lanes(const trainer *t);
void cr_trainer_epoch_end(trainer *t);
/* counters that a checkpoint keeps */
typedef struct trainer_state {
    int64_t updates, sched_steps, sched_epochs; /* updates: of tables */
    int64_t dense_updates;
    int64_t averages;    /* dense updates that went into the averages */
    int64_t accumulated; /* batches whose gradients wait for the next dense step */
    double loss_scale;   /* 0: none yet */
    int64_t quiet;       /* dense steps since the scale changed */
    bool overflow;       /* in a batch that waits */
} trainer_state;
trainer_state cr_trainer_get_state(const trainer *t);
void cr_trainer_set_state(trainer *t, trainer_state s);
/* the same in a checkpoint */
trainer_state cr_trainer_saved(const cr_ckpt_state *s);
void cr_trainer_save(const trainer *t, cr_ckpt_state *s);
/* cr_trainer_begin: once, after weights have their first values or were restored: averages begin
 * with them unless they were restored too. anew: no optimizer state was restored. */
void cr_trainer_begin(trainer *t, bool anew);
/* cr_trainer_swap_ema exchanges the dense parameters with their averages (where training has them
 * and eval_config wants them) for an evaluation; a second call puts them back. */
void cr_trainer_swap_ema(trainer *t);
/* rates of the last step: g0 tables, g1 dense, then one per part that has members, dense ones first
 */
int cr_trainer_lrs(const trainer *t, const double **lr);
/* cr_trainer_grad: gradient of a dense parameter in the last batch, before clipping (p->width
 * floats); false: it has none */
bool cr_trainer_grad(const trainer *t, const cr_node *p, float *out);
/* dense optimizer state of a trainable parameter: plane k and its name, and how many there are */
int cr_trainer_planes(const trainer *t, const cr_node *p);
const char *cr_trainer_plane(const trainer *t, const cr_node *p, int k, float **data);
typedef struct trainer_times {
    double group, step, update;
} trainer_times;
trainer_times cr_trainer_get_times(const trainer *t);

/* ---- rules.c ---- */
/* cr_job_rules decides for all tables and dense parameters of j->model; a part without members is
 * a warning. */
void cr_job_rules(job *j, cr_diag *diag);
void cr_rules_step(rules *r, const trainer_state *s, int64_t t); /* fills steps */
void cr_rules_tell(const job *j);                                /* log lines: who is in a part */
/* floats kept per dense parameter besides its weight; does a step write its gradients down? */
int cr_dense_planes(const job *j);
bool cr_dense_keeps_grad(const cr_train_conf *tc);

/* ---- dense.c: dense parameters and their optimizer state ---- */
typedef struct dense_side dense_side;
CR_CHECKED cr_code cr_dense_new(dense_side **out, job *j, const cr_work *w, cr_err *err);
void cr_dense_free(dense_side *d);
/* cr_dense_gather sets (first) or adds this batch's gradients to those that wait, and adds |g|^p of
 * unscale times what waits to *sum (as cr_updater_measure). Returns false when a gradient of this
 * batch is not finite. Only when gradients are kept. */
bool cr_dense_gather(dense_side *d, cr_pool *pool, bool first, float unscale, double p,
                     double *sum);
/* cr_dense_apply: one step of all parameters from the waiting (or the batch's) gradients; the
 * averages follow, first: begin with a copy. */
void cr_dense_apply(dense_side *d, cr_pool *pool, cr_adjust a, bool first);
void cr_dense_begin_ema(dense_side *d);
void cr_dense_swap_ema(dense_side *d);
int cr_dense_count(const dense_side *d, const cr_node *p);
const char *cr_dense_plane(const dense_side *d, const cr_node *p, int k, float **data);

/* ---- all_rows.c: what metrics read, of all rows of the global batch ---- */
typedef struct metric_rows {
    cr_metric_in in;
    const float *mask; /* only rows where it is above 0 count; NULL: all do */
} metric_rows;
typedef struct all_rows all_rows;
/* lanes: borrowed; K: the most values that a prediction has */
CR_CHECKED cr_code cr_all_rows_new(all_rows **out, const cr_lanes *lanes, int64_t max_rows,
                                   int64_t K, cr_err *err);
void cr_all_rows_free(all_rows *a);
/* cr_all_rows_take, collective: *m becomes the n_all rows of the global batch, until the next call.
 * Nothing changes where they are all here. */
void cr_all_rows_take(all_rows *a, int64_t n_all, metric_rows *m);

/* ---- evaluate.c: metrics of the weights in memory ---- */
typedef struct evaluator evaluator;
CR_CHECKED cr_code cr_evaluator_new(evaluator **out, job *j, cr_err *err);
void cr_evaluator_free(evaluator *e);
typedef struct eval_run {
    const char *paths;
    int64_t max_steps; /* 0: all */
    int64_t log_every; /* batches; 0: never */
    const char *title; /* of log lines: "Evaluating Epoch-0 model-1000" */
    const cr_watch *watch;
    struct counter *counter; /* gets the counts of the data; NULL: nobody does */
    bool once;               /* the only evaluation of this run: standard input will do */
} eval_run;
/* cr_evaluator_probe reads a batch of the eval data before the first step: a wrong path or column,
 * an empty file, a label that a metric cannot take must not wait for the first evaluation. */
CR_CHECKED cr_code cr_evaluator_probe(evaluator *e, const char *paths, cr_diag *diag);
/* what the data was when it was first read */
cr_data_digest cr_evaluator_data(const evaluator *e);
/* cr_evaluator_run, collective, fails when the data is another one than in the run before. Each
 * holder sees its rows; at the end all have the metrics of all rows. */
CR_CHECKED cr_code cr_evaluator_run(evaluator *e, const eval_run *r, cr_eval_result *res,
                                    cr_arena *names, cr_diag *diag);
/* {"global_step": N, "auc": 0.7, ...} as one line; step < 0: null */
void cr_eval_line(cr_buf *out, int64_t step, const cr_eval_result *r);
/* "auc:0.712345 binary_cross_entropy:0.234567" */
void cr_eval_text(cr_buf *out, const cr_eval_result *r);

#endif
