/*
 * cmd_predict.c - `crank predict`: computes scores from an export, or from a checkpoint with its
 * config.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/log.h"
#include "cli/cli.h"
#include "data/config.h"
#include "run/pred.h"

typedef struct args {
    cr_config_flags config;
    int64_t threads, predict_threads;
    const char *scripted_model_path, *checkpoint_path, *predict_input_path, *predict_output_path;
    const char *reserved_columns, *output_columns, *dataset_type, *writer_type;
    int64_t batch_size, predict_steps, debug_level;
    bool is_profiling, part_per_rank;
} args;

static const cr_opt opts[] = {
    CR_OPT_STR(args, scripted_model_path, CR_O_PATH, "DIR", "none", "export to predict with"),
    CR_OPT_CONFIG_STR(args, pipeline_config_path, CR_O_PATH, "FILE", "none",
                      "config to predict with a checkpoint instead of an export"),
    CR_OPT_CHECKPOINT(args, 0, "newest of model_dir"),
    CR_OPT_STR(args, predict_input_path, CR_O_REQUIRED | CR_O_PATHS, "PATHS", NULL,
               "rows to predict: files or quoted globs, with commas; - is standard input"),
    CR_OPT_STR(args, predict_output_path, CR_O_REQUIRED | CR_O_PATH | CR_O_TABLE, "PATH", NULL,
               "folder of the result, or one file that ends in .csv, .csv.gz, "
               ".csv.zst, .parquet, .arrow or .feather; - is CSV to standard output"),
    CR_OPT_STR(args, reserved_columns, 0, "NAMES", "none",
               "input columns to copy; ALL_COLUMNS, ALL_EFFECTIVE_COLUMNS"),
    CR_OPT_STR(args, output_columns, 0, "NAMES", "all", "predictions to write"),
    CR_OPT_INT(args, batch_size, "N", NULL, "from the config", 1, 1e9, "rows per batch"),
    CR_OPT_INT(args, predict_threads, "N", "0", "as --threads", 0, 4096,
               "the same as --threads, which wins"),
    CR_OPT_BOOL(args, is_profiling, 0,
                "write trace.json, a profile of ten batches, to the output folder, and print the "
                "shares of time"),
    CR_OPT_BOOL(args, part_per_rank, 0,
                "several ranks: each writes its own rows to part-N of the output folder; without "
                "it the first rank writes all rows, in the order of the input"),
    CR_OPT_INT(args, debug_level, "N", "0", NULL, 0, 9,
               "above 0: add column __features__ with the parsed ids and values"),
    CR_OPT_STR(args, dataset_type, 0, "NAME", "by the ending of the paths, else from the config",
               "format of the input: CsvDataset, ParquetDataset or ArrowDataset"),
    CR_OPT_STR(args, writer_type, 0, "NAME", "as the input",
               "format of the result: CsvWriter, ParquetWriter or ArrowWriter"),
    CR_OPT_EDIT_JSON(args),
    CR_OPT_INT(args, predict_steps, "N", NULL, "all", 1, 1e15, "stop after this many batches"),
    CR_OPT_ACCEPT(args),
    CR_OPT_SET(args),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

static const char *nth_type(const void *ctx, size_t i) {
    const cr_enum_value *e = ctx;
    return e[i].name;
}

/* The name is checked here, because the config sees it as one edit among others and would call it
 * --set. */
static cr_code check_dataset_type(cr_ui *ui, const char *name) {
    cr_buf have;
    cr_code code = CR_OK;
    const cr_enum_value *e = cr_dataset_types;
    if (!name) return CR_OK;
    while (e->name && strcmp(e->name, name) != 0)
        e++;
    if (e->name && !e->instead) return CR_OK;
    cr_buf_init(&have);
    for (const cr_enum_value *k = cr_dataset_types; k->name; k++)
        if (!k->instead) cr_buf_printf(&have, "%s%s", have.n ? " or " : "", k->name);
    const char *near = e->name ? NULL : cr_nearest(name, nth_type, cr_dataset_types);
    if (near)
        code = cr_ui_wrong(ui, "--dataset_type is '%s'; did you mean '%s'?", name, near);
    else
        code = cr_ui_wrong(ui, "--dataset_type is '%s'%s; write %s, or leave it out", name,
                           e->name ? ", which is not available in this version" : "", have.data);
    cr_buf_clear(&have);
    return code;
}

/* A result must not take the place of its own input. */
static cr_code check_output(cr_ui *ui, const args *a) {
    const char *folder = a->predict_output_path;
    bool is_file = cr_pred_is_file(folder);
    const cr_pred_type *const *t = cr_pred_types;
    for (; *t && !cr_pred_is_stream(folder); t++) {
        const char *out = is_file
                              ? folder
                              : cr_arena_printf(&ui->arena, "%s/part-%d.%s", folder,
                                                a->part_per_rank ? ui->place.rank : 0, (*t)->ext);
        cr_fs_stat there;
        char **paths;
        size_t n;
        cr_err err; /* mistakes in the paths are reported when they are read */
        if (cr_fs_stat_path(out, true, &there, NULL) != 0 || there.kind != CR_FS_FILE ||
            cr_glob(&ui->arena, a->predict_input_path, NULL, &paths, &n, &err) != CR_OK)
            continue;
        for (size_t i = 0; i < n; i++)
            if (cr_same_file(paths[i], out))
                return cr_ui_wrong(ui,
                                   "the result would replace %s, which is among the input; give "
                                   "another path to --predict_output_path",
                                   out);
    }
    return CR_OK;
}

/* Says what was done, unless the rows go to standard output: the line would be one of them. */
static void tell(const cr_ui *ui, const args *a, const cr_predict_result *r) {
    char rows[32], rate[32], time[32];
    bool stream = cr_pred_is_stream(a->predict_output_path);
    if ((stream && ui->quiet) || ui->place.rank > 0) return;
    FILE *to = stream ? stderr : stdout;
    cr_log_progress(NULL);
    fprintf(to, "predicted  %s rows in %s (%s rows/s)\n", cr_fmt_count(rows, (double)r->rows),
            cr_fmt_time(time, r->seconds),
            cr_fmt_count(rate, r->seconds > 0 ? (double)r->rows / r->seconds : 0));
    if (!stream) fprintf(to, "  output  %s\n", r->output);
    if (r->profile) fprintf(to, "%s", r->profile);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_predict_opts o = {
        .comm = ui->comm,
        .part_per_rank = a->part_per_rank,
        .scripted_model_path = a->scripted_model_path,
        .checkpoint_path = a->checkpoint_path,
        .predict_input_path = a->predict_input_path,
        .predict_output_path = a->predict_output_path,
        .reserved_columns = a->reserved_columns,
        .output_columns = a->output_columns,
        .batch_size = a->batch_size,
        .predict_steps = a->predict_steps,
        .debug_level = (int)a->debug_level,
        .is_profiling = a->is_profiling,
        .dataset_type = a->dataset_type,
        .writer_type = a->writer_type,
        .threads = (int)(a->threads ? a->threads : a->predict_threads),
        .watch = cr_ui_watch(ui),
    };
    if (!a->scripted_model_path && !a->config.pipeline_config_path)
        return cr_ui_wrong(ui, "no model is given; add --scripted_model_path DIR for an export, or "
                               "--pipeline_config_path FILE for a checkpoint");
    if (a->scripted_model_path && a->config.pipeline_config_path) {
        cr_diag_add(&ui->diag, CR_SEV_WARN, CR_OK, CR_NOWHERE,
                    "--scripted_model_path is not used: with --pipeline_config_path the checkpoint "
                    "predicts; leave one of them out");
        o.scripted_model_path = NULL;
    }
    if (a->checkpoint_path && !a->config.pipeline_config_path)
        return cr_ui_wrong(ui, "--checkpoint_path needs the config of the checkpoint; add "
                               "--pipeline_config_path FILE");
    CR_TRY(check_dataset_type(ui, a->dataset_type));
    CR_TRY(check_output(ui, a));
    cr_config_from(&a->config, &o.config);
    cr_predict_result *r = CR_NEW(&ui->arena, cr_predict_result);
    cr_code code = cr_predict(&o, r, &ui->diag);
    if (code != CR_OK) return code;
    cr_ui_findings(ui);
    tell(ui, a, r);
    cr_free(r->profile);
    return CR_OK;
}

static const char *const examples[] = {
    "crank predict --scripted_model_path experiments/deepfm/export --predict_input_path "
    "'data/eval/*.csv' --predict_output_path predictions --reserved_columns label",
    "crank predict --pipeline_config_path experiments/deepfm/pipeline.config --predict_input_path "
    "'data/eval/*.csv' --predict_output_path predictions",
    "zcat new.csv.gz | crank predict --scripted_model_path experiments/deepfm/export "
    "--predict_input_path - --predict_output_path - --reserved_columns user_id | head",
    NULL,
};

const cr_cmd cr_cmd_predict = {
    .name = "predict",
    .module = "tzrec.predict",
    .help = "Score rows with an export or a checkpoint",
    .about =
        "Rows keep their order. --edit_config_json and --set work on the checkpoint's config.\n",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .job = true,
    .ranks = true,
    .run = run,
};
