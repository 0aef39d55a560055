/*
 * run.h - the jobs: train, eval, export, predict, check. The command line fills an options struct
 * and calls one function; nothing here prints for people except through the log, and nothing exits.
 */
#ifndef CR_RUN_RUN_H
#define CR_RUN_RUN_H

#include "base/buf.h"
#include "base/pool.h"
#include "base/stop.h"
#include "dialect/dialect.h"
#include "run/config.h"
#include "synth/synth.h"

/* How a config is put together: file, then path overrides, then --edit_config_json, then --set. */
typedef struct cr_config_opts {
    const char *path;      /* the config file */
    const char *model_dir; /* overrides; NULL: as the config says */
    const char *train_input_path;
    const char *eval_input_path;
    const char *fine_tune_checkpoint;
    const char *edit_config_json;
    const char *asset_dir;  /* where vocabularies lie (an export); NULL: as the config says */
    const char *const *set; /* n_set assignments a.b[0].c=v */
    int n_set;
    bool accept_changed_features; /* use a model though its numbers meant something else */
} cr_config_opts;

/* A loaded config: tree and bound structs. */
typedef struct cr_config {
    cr_conf_doc doc;
    cr_arena arena;
    cr_root_conf *root;
} cr_config;
/* cr_config_load reads, edits, binds and checks; everything wrong goes to diag. On errors root may
 * be incomplete: use it for nothing but further checks. Always cr_config_clear afterwards. */
CR_CHECKED cr_code cr_config_load(cr_config *c, const cr_config_opts *o, cr_diag *diag);
void cr_config_clear(cr_config *c);

/* Where a run tells how it goes. All members may be NULL. Called from the thread that runs the job.
 */
typedef struct cr_progress {
    const char *stage;       /* "train", "eval", "predict", "synth" */
    int64_t step, n_steps;   /* n_steps 0: not known */
    int64_t epoch, n_epochs; /* n_epochs 0: not known */
    int64_t rows;
    double rows_per_s, loss, seconds_left; /* seconds_left < 0: not known */
    const char *metric;                    /* of training or the last evaluation; NULL: none yet */
    double metric_value;
} cr_progress;
typedef struct cr_watch {
    void (*progress)(void *ctx, const cr_progress *p);
    void *ctx;
    void (*begins)(void *ctx); /* the work begins: what was found so far can be told */
} cr_watch;

typedef struct cr_metric_result {
    const char *name;
    double value;
    int64_t n_pos, n_neg; /* of an AUC: rows of each label; else 0 */
} cr_metric_result;
#define CR_MAX_RESULTS 128
typedef struct cr_eval_result {
    int64_t rows;
    int n;
    cr_metric_result v[CR_MAX_RESULTS]; /* sorted by name; names live as long as the arena given */
} cr_eval_result;

typedef struct cr_train_opts {
    cr_config_opts config;
    bool continue_train;
    bool ignore_restore_optimizer;
    int threads;          /* 0: all cores */
    const char *log_json; /* JSON lines go there too; "-": stdout; NULL: to model_dir only */
    cr_watch watch;
} cr_train_opts;
typedef struct cr_train_result {
    char model_dir[1024], checkpoint[1088]; /* last checkpoint written */
    int64_t steps, rows, bad_rows;          /* of this run */
    double seconds, data_wait_s;
    double group_s, step_s, update_s; /* shares of the step */
    double eval_s, save_s, log_s;
    struct cr_best {
        const char *metric; /* NULL: nothing to compare by, or no evaluation yet */
        double value;
        int64_t step;
        const char *checkpoint; /* the best one that there is; NULL: none */
        double checkpoint_value;
        bool is_saved;      /* checkpoint is of that step */
    } best;                 /* over all runs in model_dir */
    const char *early_stop; /* why training ended before its last step; NULL: it did not */
    bool exports_best;      /* export takes the best checkpoint without being told */
    const char *profile;    /* is_profiling: lines of time shares; NULL: none */
    bool has_eval;
    cr_eval_result eval; /* the last one */
    cr_arena arena;      /* owns names; clear it */
} cr_train_result;
CR_CHECKED cr_code cr_train(const cr_train_opts *o, cr_train_result *res, cr_diag *diag);

typedef struct cr_eval_opts {
    cr_config_opts config;
    const char *checkpoint_path;      /* NULL: newest of model_dir */
    const char *eval_result_filename; /* NULL: eval_result.txt */
    int threads;
    cr_watch watch;
} cr_eval_opts;
/* res->arena as in cr_train; checkpoint used goes to checkpoint (1088 bytes) */
CR_CHECKED cr_code cr_eval(const cr_eval_opts *o, cr_eval_result *res, cr_arena *arena,
                           char *checkpoint, cr_diag *diag);

typedef struct cr_export_opts {
    cr_config_opts config;
    const char *checkpoint_path;
    const char *export_dir;
    const char *asset_files;              /* comma list */
    const char *additional_export_config; /* JSON object */
    const char *embedding_dtype;          /* of tables: FP32, FP16, BF16 or INT8; NULL: FP32 */
    int threads;
} cr_export_opts;
CR_CHECKED cr_code cr_export(const cr_export_opts *o, char *checkpoint, cr_diag *diag);

typedef struct cr_predict_opts {
    const char *scripted_model_path; /* an export; or: */
    cr_config_opts config;           /* config.path set: from a checkpoint */
    const char *checkpoint_path;
    const char *predict_input_path, *predict_output_path;
    const char *reserved_columns, *output_columns; /* comma lists; NULL: none, all */
    int64_t batch_size;                            /* 0: as the config says */
    int64_t predict_steps;                         /* 0: all */
    int debug_level;
    const char *dataset_type, *writer_type; /* NULL: as the config says */
    int threads;
    bool is_profiling; /* writes trace.json beside the predictions */
    cr_watch watch;
} cr_predict_opts;
typedef struct cr_predict_result {
    int64_t rows;
    double seconds;
    char output[1088];
    char *profile; /* lines of time shares, NULL: none; cr_free it */
} cr_predict_result;
CR_CHECKED cr_code cr_predict(const cr_predict_opts *o, cr_predict_result *res, cr_diag *diag);

/* cr_synth_for makes data for a config: the columns that its features, labels and weights read. Of
 * o, kind and table are not used; format NULL: as dataset_type says, Parquet where that is neither.
 * The config is written beside the data as pipeline.yaml, with paths that point there. */
CR_CHECKED cr_code cr_synth_for(const cr_config_opts *config, int threads, cr_synth_opts *o,
                                cr_diag *diag);

/* cr_check looks at a config or a model_dir: config, columns, sample_rows rows of the data, memory.
 * What it found out goes to out as lines for people (or one JSON object). Findings go to diag. */
typedef struct cr_check_opts {
    cr_config_opts config; /* path may be a model_dir or an export */
    int64_t sample_rows;   /* 0: 10000 */
    bool json;
    int threads;
} cr_check_opts;
CR_CHECKED cr_code cr_check(const cr_check_opts *o, cr_buf *out, cr_diag *diag);

/* cr_fg reads rows of a data set and tells what each feature became: text for people, or a JSON
 * object per line. */
typedef struct cr_fg_opts {
    cr_config_opts config; /* path may be a model_dir or an export */
    const char *input;     /* NULL: train_input_path of the config */
    const char *features;  /* comma list; NULL: all */
    int64_t skip, rows;    /* rows passed over first, most rows told */
    bool json;
    bool (*put)(void *ctx, const char *text, size_t n); /* the text of a row; false: no more */
    void *ctx;
} cr_fg_opts;
CR_CHECKED cr_code cr_fg(const cr_fg_opts *o, cr_diag *diag);

/* cr_create_fg_json writes fg.json and the files it names. */
typedef struct cr_fg_json_opts {
    cr_config_opts config; /* path may be a model_dir or an export */
    const char *fg_output_dir;
    const char *reserves; /* comma list; NULL: none */
    bool remove_bucketizer;
} cr_fg_json_opts;
CR_CHECKED cr_code cr_create_fg_json(const cr_fg_json_opts *o, int *n_features, cr_diag *diag);

/* cr_add_feature_info writes a config with what a table says of its features. */
typedef struct cr_feature_info_opts {
    const char *template_path, *output_path, *table;
    const char *reader_type; /* NULL: by the ending of the table */
} cr_feature_info_opts;
typedef struct cr_feature_info_result {
    int n_edited, n_dropped;
} cr_feature_info_result;
CR_CHECKED cr_code cr_add_feature_info(const cr_feature_info_opts *o, cr_feature_info_result *res,
                                       cr_diag *diag);

/* cr_convert_easyrec writes a config made of one of EasyRec. The file is written whenever the input
 * is a config of EasyRec; errors (and the code) then say what is missing in it. */
typedef struct cr_convert_opts {
    const char *easyrec_config_path, *output_tzrec_config_path;
    const char *fg_json_path; /* NULL: none, or the config's own */
    bool use_old_fg;
} cr_convert_opts;
typedef struct cr_convert_result {
    cr_easyrec_result what;
    bool written, refused; /* refused: crank would not take the file */
} cr_convert_result;
CR_CHECKED cr_code cr_convert_easyrec(const cr_convert_opts *o, cr_convert_result *res,
                                      cr_diag *diag);

/* cr_benchmark_run trains configs several times each and compares the means of their metrics with
 * base results. Trainings are processes of their own; one that fails is counted. */
typedef enum cr_benchmark_verdict {
    CR_BENCH_NONE, /* nothing to compare with */
    CR_BENCH_BETTER,
    CR_BENCH_WORSE,
    CR_BENCH_BALANCE, /* within the threshold */
} cr_benchmark_verdict;
typedef struct cr_benchmark_metric {
    const char *name;
    double base, threshold, mean;
    cr_benchmark_verdict verdict;
} cr_benchmark_metric;
typedef struct cr_benchmark_config {
    const char *path;
    bool has_base;
    int n_runs, n_failed, n_better, n_worse, n_metrics;
    bool unbelievable; /* as many runs failed as did not, or more */
    cr_benchmark_metric *metrics;
    double rows_per_s;     /* the mean speed of training */
    const char *why, *log; /* why the last failed run failed; the log of the last run */
} cr_benchmark_config;
typedef struct cr_benchmark {
    cr_benchmark_config *v;
    int n, cap;
    const char *dir; /* EXPERIMENT_PATH_<seconds since 1970> */
} cr_benchmark;
typedef struct cr_benchmark_opts {
    const char *config_path; /* a config, or a folder of them */
    const char *experiment_path;
    const char *base_path; /* NULL: base_eval_metric.json in config_path, else TorchEasyRec's */
    const char *train_input_path, *eval_input_path; /* with {DIR} and {NAME}; NULL: the configs' */
    const char *edit_config_json;
    const char *const *set;
    int n_set, runs, threads; /* runs 0: as the base says */
    bool allow_libraries;     /* the trainings load libraries that configs name */
    void (*begins)(void *ctx, const cr_benchmark *b);
    void (*done)(void *ctx, const cr_benchmark_config *c); /* after each config */
    void *ctx;
} cr_benchmark_opts;
CR_CHECKED cr_code cr_benchmark_run(const cr_benchmark_opts *o, cr_benchmark *b, cr_arena *arena,
                                    cr_diag *diag);

/* cr_feature_selection puts the features of each group in the order of the drop probabilities that
 * variational dropout learned: tables (and pictures) of them, and the config with the topk of each
 * group, go to output_dir. */
typedef struct cr_select_opts {
    cr_config_opts config;
    const char *output_dir;
    int64_t topk;
    bool visualize, clear_variational_dropout;
} cr_select_opts;
typedef struct cr_select_result {
    char checkpoint[1088], config[1088]; /* read; written */
    int64_t n_before, n_features;        /* feature configs */
    cr_buf text;                         /* lines for people; clear it */
} cr_select_result;
CR_CHECKED cr_code cr_feature_selection(const cr_select_opts *o, cr_select_result *res,
                                        cr_diag *diag);

#endif
