/*
 * run.h - the runs: train, eval, export, predict. The command line fills an options struct and
 * calls one function. Nothing here prints for users except through the log, and nothing exits.
 */
#ifndef CR_RUN_RUN_H
#define CR_RUN_RUN_H

#include "comm/comm.h"
#include "job/config.h"
#include "job/watch.h"
#include "train/evaluate.h"

typedef struct cr_train_opts {
    cr_config_opts config;
    cr_comm *comm; /* the other ranks; NULL: this process is alone */
    bool continue_train;
    bool ignore_restore_optimizer;
    int threads; /* 0: all cores */
    /* JSON lines are also written there; "-": stdout; NULL: only to model_dir */
    const char *log_json;
    /* the unified log of another platform: "dllogger" or "tcap" (obs/dll.h); NULL: none. Its lines
     * go to stdout and to <log_format>.json in model_dir */
    const char *log_format;
    cr_watch watch;
} cr_train_opts;
typedef struct cr_train_result {
    char model_dir[1024], checkpoint[1088]; /* the last checkpoint that was written */
    int64_t steps, rows, bad_rows;          /* those of this run */
    double sent; /* bytes that the first rank sent to others in steps, per row of its own */
    double seconds, data_wait_s;
    double group_s, step_s, update_s; /* parts of the time of steps */
    double eval_s, save_s, log_s;
    struct cr_best {
        const char *metric; /* NULL: there is nothing to compare, or no evaluation yet */
        double value;
        int64_t step;
        const char *checkpoint; /* the best checkpoint that exists; NULL: none */
        double checkpoint_value;
        bool is_saved;      /* the checkpoint is that of the best step */
    } best;                 /* over all runs in model_dir */
    const char *early_stop; /* why training ended before its last step; NULL: it did not */
    bool again;             /* a worker was lost: the launcher is to begin again (CR_EXIT_AGAIN) */
    bool exports_best;      /* export takes the best checkpoint by default */
    const char *profile;    /* is_profiling: lines of time shares; NULL: none */
    bool has_eval;
    cr_eval_result eval; /* the last evaluation */
    cr_arena arena;      /* owns the names; clear it */
} cr_train_result;
CR_CHECKED cr_code cr_train(const cr_train_opts *o, cr_train_result *res, cr_diag *diag);

/* cr_checkpoint_copy copies a checkpoint to another folder, which must not exist, whole or not at
 * all. */
CR_CHECKED cr_code cr_checkpoint_copy(const char *from, const char *to, cr_err *err);

typedef struct cr_eval_opts {
    cr_config_opts config;            /* its path may be an export, which is then evaluated */
    cr_comm *comm;                    /* the other ranks; NULL: none */
    const char *checkpoint_path;      /* NULL: the newest of model_dir */
    const char *eval_result_filename; /* NULL: eval_result.txt */
    int threads;
    cr_watch watch;
} cr_eval_opts;
/* arena is as in cr_train; checkpoint (1088 bytes) receives the checkpoint that was used. */
CR_CHECKED cr_code cr_eval(const cr_eval_opts *o, cr_eval_result *res, cr_arena *arena,
                           char *checkpoint, cr_diag *diag);

/* cr_export_look: is the folder an export? It is an error if a file is missing that every export
 * has. */
CR_CHECKED cr_code cr_export_look(const char *dir, bool *is_export, cr_err *err);
typedef struct cr_export_opts {
    cr_config_opts config;
    cr_comm *comm; /* the other ranks, which share the work; NULL: this process is alone */
    const char *checkpoint_path;
    const char *export_dir;
    const char *asset_files;              /* comma list */
    const char *additional_export_config; /* JSON object */
    const char *embedding_dtype;          /* type of tables: FP32, FP16, BF16 or INT8; NULL: FP32 */
    int threads;
} cr_export_opts;
CR_CHECKED cr_code cr_export(const cr_export_opts *o, char *checkpoint, cr_diag *diag);

typedef struct cr_predict_opts {
    cr_comm *comm; /* the other ranks; NULL: this process is alone */
    /* each rank writes its own rows to part-N of the folder; else the first one writes all rows */
    bool part_per_rank;
    const char *scripted_model_path; /* an export; otherwise: */
    cr_config_opts config;           /* with config.path set: predicts from a checkpoint */
    const char *checkpoint_path;
    const char *predict_input_path, *predict_output_path;
    /* comma lists; NULL: no reserved columns; all outputs */
    const char *reserved_columns, *output_columns;
    int64_t batch_size;    /* 0: as the config says */
    int64_t predict_steps; /* 0: all */
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
    char *profile; /* lines of time shares; NULL: none; free it with cr_free */
} cr_predict_result;
CR_CHECKED cr_code cr_predict(const cr_predict_opts *o, cr_predict_result *res, cr_diag *diag);

#endif
