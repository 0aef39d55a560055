/*
 * cmd_eval.c - `crank eval`.
 */
#include "base/cpu.h"
#include "cli/cli.h"
#include "cli/eval_slices.h"

typedef struct args {
    cr_config_flags config;
    int64_t threads;
    const char *checkpoint_path, *eval_result_filename;
    cr_slice_flags by;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG(args),
    CR_OPT_CHECKPOINT(args, 0, "newest of model_dir"),
    CR_OPT_EVAL_INPUT(args),
    CR_OPT_(args, eval_result_filename, CR_O_STR, 0, CR_O_PATH, "NAME", "eval_result.txt", NULL, 0,
            0, "file in model_dir that gets one JSON line"),
    CR_OPT_AT(
        args, by.slice, "slice", CR_O_LIST, 0, 0, "COLUMN", NULL, "none", 0, 0,
        "AUC, logloss and calibration for each value of a column or feature; may be repeated"),
    CR_OPT_AT(args, by.slice_values, "slice_values", CR_O_INT, 0, 0, "N", "20", NULL, 1, 1000,
              "values of a column that are shown each; more numbers are cut at quantiles, other "
              "values are put together"),
    CR_OPT_AT(args, by.slices_json, "slices_json", CR_O_STR, 0, CR_O_PATH, "FILE", NULL,
              "in model_dir", 0, 0,
              "file that gets slices and reliability as a JSON object, instead of slices.json in "
              "model_dir"),
    CR_OPT_AT(args, by.reliability, "reliability", CR_O_STR, 0, CR_O_PATH, "FILE", NULL, "none", 0,
              0, "write the reliability diagram and the histogram of scores as SVG"),
    CR_OPT_MODEL_DIR(args),
    CR_OPT_ACCEPT(args),
    CR_OPT_SET(args),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_eval_opts o = {
        .checkpoint_path = a->checkpoint_path,
        .eval_result_filename = a->eval_result_filename,
        .threads = (int)a->threads,
        .watch = cr_ui_watch(ui),
        .comm = ui->comm,
    };
    cr_config_from(&a->config, &o.config);
    bool slices = a->by.slice.n > 0 || a->by.slices_json || a->by.reliability;
    if (slices && ui->comm)
        return cr_ui_wrong(ui,
                           "slices need all rows in one process; start crank eval without ranks");
    cr_slices by;
    if (slices) {
        CR_TRY(cr_eval_slices_run(ui, &a->by, &o, &by));
        o.checkpoint_path = by.checkpoint; /* a training may write a newer one meanwhile */
    }
    cr_eval_result *r = CR_NEW(&ui->arena, cr_eval_result);
    char checkpoint[1088] = "";
    double start = cr_now();
    cr_code code = cr_eval(&o, r, &ui->arena, checkpoint, &ui->diag);
    double seconds = cr_now() - start;
    if (code != CR_OK) return code;
    char rows[32], rate[32], time[32];
    cr_ui_findings(ui);
    cr_ui_say("evaluated  %s rows in %s (%s rows/s)\n  checkpoint  %s\n",
              cr_fmt_count(rows, (double)r->rows), cr_fmt_time(time, seconds),
              cr_fmt_count(rate, seconds > 0 ? (double)r->rows / seconds : 0), checkpoint);
    cr_ui_metrics(r);
    return slices ? cr_eval_slices_show(ui, &a->by, &by) : CR_OK;
}

static const char *const examples[] = {
    "crank eval experiments/deepfm/pipeline.config",
    "crank eval experiments/deepfm/pipeline.config --checkpoint_path "
    "experiments/deepfm/model.ckpt-1000 --eval_input_path 'data/eval/*.csv'",
    "crank eval experiments/deepfm/export --eval_input_path 'data/eval/*.csv'",
    NULL,
};

const cr_cmd cr_cmd_eval = {
    .name = "eval",
    .module = "tzrec.eval",
    .help = "Compute the metrics of a checkpoint",
    .about = "CONFIG may be the folder of an export, which is evaluated then. Its results go to "
             "model_dir if that\nfolder is there, else to the current one.\n",
    .operand = "CONFIG",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .job = true,
    .ranks = true,
    .run = run,
};
