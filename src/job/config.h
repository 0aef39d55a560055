/*
 * config.h - the root message of a config (EasyRecConfig), and TrainConfig, EvalConfig,
 * ExportConfig.
 */
#ifndef CR_RUN_CONFIG_H
#define CR_RUN_CONFIG_H

#include "conf/conf.h"
#include "data/config.h"
#include "dialect/dialect.h"
#include "feat/config.h"
#include "kern/kern.h"
#include "metric/metric.h"
#include "model/config.h"
#include "optim/optim.h"

/* Training with parameter servers (docs/design/servers.md); crank only. */
typedef struct cr_servers_conf {
    cr_conf_base base;
    const char *strategy, *lost_worker; /* one of cr_strategy_names */
    int64_t max_merge_var_num, send_queue_size, send_wait_times;
    int64_t min_send_grad_num_before_recv;
    bool independent_recv_thread, merge_sparse_grad, fake_rpc;
    bool is_sgd_optimizer; /* valid only if it is given (cr_conf_has) */
    int64_t k_steps;
    int64_t rpc_deadline, rpc_retry_times, worker_update_interval_secs;
} cr_servers_conf;
typedef enum cr_strategy { CR_SYNC, CR_HALF_ASYNC, CR_ASYNC, CR_GEO, CR_STRATEGIES } cr_strategy;
extern const char *const cr_strategy_names[];
/* cr_strategy_find returns the strategy of a name, -1 when there is none. */
int cr_strategy_find(const char *name);
/* cr_servers_flags returns the settings that FLAGS_... of the environment give, as edits of the
 * config ("train_config.servers.key=value"). */
int cr_servers_flags(cr_arena *a, const char ***out);

typedef enum cr_delta_quant { CR_DELTA_F32, CR_DELTA_INT8 } cr_delta_quant;
typedef struct cr_delta_conf {
    cr_conf_base base;
    int64_t dump_interval_steps;
    int64_t dump_interval_minutes; /* 0: steps count */
    const char *output_dir;        /* "": in model_dir */
    const char *file_prefix;
    int quant_type; /* cr_delta_quant */
} cr_delta_conf;
extern const cr_msg cr_delta_msg;
/* Training day by day (days_conf.c); crank only. */
typedef struct cr_daily_conf {
    cr_conf_base base;
    const char *data_dir;
    int64_t start_day, end_day; /* as 20260131 */
    int64_t split_interval, split_per_pass;
    int64_t checkpoint_per_pass, save_delta_frequency;
    bool save_first_base, evaluate;
    const char *data_donefile;
    int64_t data_sleep_second, data_wait_second;
    const char *output_dir;
    int64_t shard_num;
} cr_daily_conf;
/* Pass k of a run, counted from 0: its day, its number in the day, from 1 on. */
typedef struct cr_pass {
    int64_t day, number;
    bool ends_day;
} cr_pass;
cr_pass cr_daily_pass(const cr_daily_conf *c, int64_t k);
/* cr_daily_find returns k of a day and a number; it may lie outside of the run. cr_daily_passes
 * returns the passes of a day, cr_daily_total those of the run. */
int64_t cr_daily_find(const cr_daily_conf *c, int64_t day, int64_t number);
int64_t cr_daily_passes(const cr_daily_conf *c);
int64_t cr_daily_total(const cr_daily_conf *c);
/* cr_daily_folder returns folder i, below split_per_pass, of pass k. */
const char *cr_daily_folder(const cr_daily_conf *c, int64_t k, int64_t i, cr_arena *a);
/* cr_daily_checkpoint: is a checkpoint due after so many passes? */
bool cr_daily_checkpoint(const cr_daily_conf *c, int64_t done);
int64_t cr_day_after(int64_t day);

/* Meta-learning by inner steps (docs/design/inner.md): see inner.c. */
typedef struct cr_inner_conf {
    cr_conf_base base;
    int64_t support_rows, query_rows; /* rows of a task in a training batch; 0 in eval_config */
    int64_t steps;                    /* passes over the support rows of a task */
    cr_choice optimizer;              /* rule of the inner steps, for tables, too */
    bool batch_statistics;            /* evaluation: query rows run as in training */
} cr_inner_conf;
extern const cr_msg cr_inner_msg;

typedef struct cr_train_conf {
    cr_conf_base base;
    cr_sparse_optim_conf *sparse_optimizer;
    cr_dense_optim_conf *dense_optimizer;
    int64_t num_steps, num_epochs; /* exactly one is not 0 */
    int64_t save_checkpoints_steps;
    int64_t save_checkpoints_epochs;  /* > 0: takes the place of steps */
    int64_t save_checkpoints_batches; /* > 0: also inside epochs */
    int64_t keep_checkpoint_max;      /* 0: all */
    const char *fine_tune_checkpoint;
    const char *fine_tune_ckpt_param_map;
    int64_t log_step_count_steps;
    const char *mixed_precision; /* "", "BF16" or "FP16" */
    bool cuda_matmul_allow_tf32;
    const char *fp32_matmul; /* "", "FP32", "BF16x3" or "BF16x6" */
    bool is_profiling;
    bool use_tensorboard;
    cr_strs tensorboard_summaries;
    cr_constraints_conf *global_embedding_constraints; /* NULL: none */
    cr_grad_scaler_conf *grad_scaler;                  /* NULL: the loss is not scaled */
    int64_t gradient_accumulation_steps;               /* 0 and 1: none */
    cr_grad_clip_conf *grad_clipping;                  /* NULL: none */
    cr_delta_conf *delta_embedding_dump_config;        /* NULL: no dumps */
    /* crank only */
    const char *project_name, *experiment_name; /* "": not given */
    int64_t refeed_steps;                       /* 0: none */
    uint64_t seed;
    int64_t lanes; /* power of two, 1..64 */
    bool save_in_background;
    int64_t eval_interval_steps;      /* 0: evaluation follows checkpoints only */
    int64_t max_steps_per_epoch;      /* 0: all data */
    double save_checkpoints_fraction; /* of an epoch; 0: none */
    bool metrics_over_epochs;
    bool keep_best_checkpoints;
    const char *checkpoint_link, *mirror_dir; /* "": none */
    cr_servers_conf *servers;                 /* NULL: not given */
    cr_daily_conf *daily;                     /* NULL: not given; else its passes are the epochs */
    const char *warmup_model_path;
    cr_inner_conf *inner_loop; /* NULL: plain steps */
} cr_train_conf;

typedef struct cr_eval_conf {
    cr_conf_base base;
    int64_t num_steps; /* batches; 0: all */
    int64_t log_step_count_steps;
    bool use_dense_ema;              /* valid only if it is given (cr_conf_has) */
    int64_t early_stopping_patience; /* crank only: evaluations; 0: off */
    cr_inner_conf *inner_loop;       /* crank only; NULL: the weights are evaluated as they are */
} cr_eval_conf;

typedef struct cr_export_conf {
    cr_conf_base base;
    const char *exporter_type; /* "latest" or "best" */
    const char *best_exporter_metric;
    bool metric_larger_is_better;
    bool use_dense_ema; /* valid only if it is given (cr_conf_has) */
    const char *mixed_precision;
    bool cuda_matmul_allow_tf32;
    const char *fp32_matmul;
} cr_export_conf;

typedef struct cr_root_conf { /* EasyRecConfig */
    cr_conf_base base;
    const char *train_input_path;
    const char *eval_input_path;
    const char *model_dir;
    cr_train_conf *train_config;
    cr_eval_conf *eval_config;
    cr_export_conf *export_config;
    cr_data_conf *data_config;
    cr_msgs feature_configs; /* cr_feature_conf */
    cr_model_conf *model_config;
} cr_root_conf;

extern const cr_msg cr_train_msg, cr_eval_msg, cr_export_msg, cr_servers_msg, cr_daily_msg;
extern const cr_msg cr_root_msg;

/* cr_root_finish is called once after binding. It applies cr_data_conf_finish and fills every
 * sub-config that was not given with its defaults, so that no pointer of c is NULL afterwards. */
void cr_root_finish(cr_root_conf *c, cr_arena *arena, cr_diag *diag);

/* cr_root_check finds mistakes between messages: unknown feature or group names, names given twice,
 * losses that do not fit num_class, grouping keys, groups that a model needs, expressions that are
 * missing where fg_mode needs them. It is called after cr_root_finish and reads no file. */
void cr_root_check(const cr_root_conf *c, cr_diag *diag);

/* How a config is put together: file, then path overrides, then --edit_config_json, then --set. */
typedef struct cr_config_opts {
    const char *path;      /* the config file */
    const char *model_dir; /* overrides the config; NULL: as the config says */
    const char *train_input_path;
    const char *eval_input_path;
    const char *fine_tune_checkpoint;
    const char *edit_config_json;
    /* the folder of the vocabularies (in an export); NULL: as the config says */
    const char *asset_dir;
    const char *const *set; /* n_set assignments a.b[0].c=v */
    int n_set;
    int n_env;                /* the first so many of them are FLAGS_... of the environment */
    const char *const *tries; /* n_tries more of them, behind those; messages name --try */
    int n_tries;
    cr_dialect_opts dialect;      /* how a config of another program is read */
    bool accept_changed_features; /* use a model even if the meaning of its features has changed */
} cr_config_opts;

/* A loaded config: the tree and the bound structs. */
typedef struct cr_config {
    cr_conf_doc doc;
    cr_arena arena;
    cr_root_conf *root;
} cr_config;
/* cr_config_load reads, edits, binds and checks a config; all mistakes go to diag. After errors
 * root may be incomplete and is only good for further checks. cr_config_clear must follow in any
 * case. */
CR_CHECKED cr_code cr_config_load(cr_config *c, const cr_config_opts *o, cr_diag *diag);
void cr_config_clear(cr_config *c);
/* cr_config_of_dir: when the config is a model_dir or an export, it takes the pipeline.config in
 * it. */
void cr_config_of_dir(cr_config_opts *c, char path[1200]);
/* cr_config_defaults puts settings that are not given and that crank supplies into the tree:
 * optimizers, schedules, losses and metrics (defaults.c). */
void cr_config_defaults(cr_conf_doc *doc);

/* cr_conf_products returns how matrix products take their inputs, from the keys mixed_precision,
 * fp32_matmul and cuda_matmul_allow_tf32; the earlier one wins. */
cr_products cr_conf_products(const char *mixed, const char *matmul, bool tf32);

#endif
