/*
 * tool.h - what there is beside the runs: looking at a config, at data and at features, making data
 * and configs, comparing trainings. The command line fills an options struct and calls one
 * function.
 */
#ifndef CR_TOOL_TOOL_H
#define CR_TOOL_TOOL_H

#include "base/buf.h"
#include "dialect/dialect.h"
#include "job/config.h"
#include "synth/synth.h"

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
