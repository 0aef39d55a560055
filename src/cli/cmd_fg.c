/*
 * cmd_fg.c - `crank fg`: prints what each feature became, row by row.
 */
#include <stdio.h>

#include "cli/cli.h"

typedef struct args {
    cr_config_flags config;
    const char *input, *features;
    int64_t rows, skip;
    bool json;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG_STR(args, pipeline_config_path, CR_O_REQUIRED | CR_O_PATH, "PATH", NULL,
                      "config, model_dir or export; PATH without a flag means this"),
    CR_OPT_STR(args, input, CR_O_PATHS, "PATHS", "train_input_path of the config",
               "rows to look at: files or quoted globs, with commas"),
    CR_OPT_(args, rows, CR_O_COUNT, 0, 0, "N", "10", NULL, 1, 1e12, "rows to show"),
    CR_OPT_(args, skip, CR_O_COUNT, 0, 0, "N", "0", NULL, 0, 1e12, "rows to pass over first"),
    CR_OPT_STR(args, features, 0, "NAMES", "all", "features to show, with commas"),
    CR_OPT_BOOL(args, json, 0, "one JSON object per row"),
    CR_OPT_EDIT_JSON(args),
    CR_OPT_SET(args),
    CR_OPT_END,
};

static bool put(void *ctx, const char *text, size_t n) {
    (void)ctx;
    cr_ui_put(text, n);
    return !ferror(stdout); /* main says why the write failed */
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_fg_opts o = {
        .input = a->input,
        .features = a->features,
        .skip = a->skip,
        .rows = a->rows,
        .json = a->json,
        .put = put,
    };
    cr_config_from(&a->config, &o.config);
    return cr_fg(&o, &ui->diag);
}

static const char *const examples[] = {
    "crank fg deepfm.yaml --input data/train.csv --rows 3",
    "crank fg experiments/deepfm --input day.parquet --features user,tags --json | jq "
    ".features.tags",
    NULL,
};

const cr_cmd cr_cmd_fg = {
    .name = "fg",
    .help = "Show row by row what each feature was made of and what it became",
    .about =
        "Reads and encodes rows with the code that training uses. Values are printed as JSON.\n",
    .operand = "PATH",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .run = run,
};
