/*
 * cmd_check.c - `crank check`: finds everything that can be wrong before a single step runs.
 */
#include "cli/check_zoo.h"
#include "cli/cli.h"

typedef struct args {
    cr_config_flags config;
    int64_t threads, sample_rows;
    bool json, run;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG_STR(
        args, pipeline_config_path, CR_O_REQUIRED | CR_O_PATH, "PATH", NULL,
        "config, model_dir, export, checkpoint or folder of crank scaffold; PATH without a flag "
        "means this"),
    CR_OPT_MODEL_DIR(args),
    CR_OPT_TRAIN_INPUT(args),
    CR_OPT_EVAL_INPUT(args),
    CR_OPT_FINE_TUNE(args),
    CR_OPT_EDIT_JSON(args),
    CR_OPT_SET(args),
    CR_OPT_(args, sample_rows, CR_O_COUNT, 0, 0, "N", "10000", NULL, 1, 1e12,
            "rows of the data to look at"),
    CR_OPT_BOOL(args, json, 0, "print one JSON object"),
    CR_OPT_BOOL(args, run, 0, "of a folder of crank scaffold: execute its run scripts"),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    const char *path = a->config.pipeline_config_path;
    if (cr_is_zoo_dir(&ui->arena, path)) return cr_check_zoo(ui, path, a->run, a->json);
    if (a->run)
        return cr_ui_wrong(ui,
                           "--run executes the scripts in run_scripts, and %s has none; leave "
                           "it out",
                           path);
    cr_check_opts o = {
        .sample_rows = a->sample_rows,
        .json = a->json,
        .threads = (int)a->threads,
    };
    cr_config_from(&a->config, &o.config);
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
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .run = run,
};
