/*
 * cmd_check.c - `crank check`: everything that can be wrong, before a single step runs.
 */
#include "cli/cli.h"

static const cr_opt opts[] = {
    CR_OPT_STR(pipeline_config_path, CR_O_REQUIRED | CR_O_PATH, "PATH", NULL,
               "config, model_dir, export or checkpoint; PATH without a flag means this"),
    CR_OPT_MODEL_DIR,
    CR_OPT_TRAIN_INPUT,
    CR_OPT_EVAL_INPUT,
    CR_OPT_FINE_TUNE,
    CR_OPT_EDIT_JSON,
    CR_OPT_SET,
    CR_OPT_(sample_rows, CR_O_COUNT, 0, 0, "N", "10000", NULL, 1, 1e12,
            "rows of the data to look at"),
    CR_OPT_BOOL(json, 0, "print one JSON object"),
    CR_OPT_THREADS,
    CR_OPT_END,
};

static cr_code run(cr_ui *ui, const cr_args *a) {
    cr_check_opts o = {
        .sample_rows = a->sample_rows,
        .json = a->json,
        .threads = (int)a->threads,
    };
    cr_args_config(a, &o.config);
    cr_buf out;
    cr_buf_init(&out);
    cr_code code = cr_check(&o, &out, &ui->diag);
    if (out.n) cr_ui_say("%s%s", out.data, out.data[out.n - 1] == '\n' ? "" : "\n");
    cr_buf_clear(&out);
    cr_ui_findings(ui);
    char counts[64];
    if (!a->json) cr_ui_say("%s\n", cr_ui_counts(ui, counts) ? counts : "no problems found");
    return code;
}

static const char *const examples[] = {
    "crank check deepfm.yaml",
    "crank check experiments/deepfm --json",
    NULL,
};

const cr_cmd cr_cmd_check = {
    .name = "check",
    .help = "Find what is wrong with a config, its data, or the files of a model, without training",
    .about =
        "In a checkpoint, an export or a model_dir, every byte is first compared with the digests "
        "in\nmanifest.json. Also prints the memory that training needs. Exit code 0: no errors.\n",
    .operand = "PATH",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .examples = examples,
    .run = run,
};
