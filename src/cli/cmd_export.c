/*
 * cmd_export.c - `crank export`.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef struct args {
    cr_config_flags config;
    int64_t threads;
    const char *checkpoint_path, *export_dir, *asset_files, *additional_export_config;
    const char *embedding_dtype, *item_input_path;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG(args),
    CR_OPT_CHECKPOINT(args, 0, "best or newest of model_dir, as export_config says"),
    CR_OPT_STR(args, export_dir, CR_O_REQUIRED | CR_O_PATH, "DIR", NULL,
               "folder to make; must not exist"),
    CR_OPT_STR(args, asset_files, CR_O_PATHS, "FILES", "none", "files to copy along, with commas"),
    CR_OPT_STR(args, additional_export_config, CR_O_JSON, "JSON", "none",
               "object added to model_acc.json"),
    CR_OPT_STR(args, embedding_dtype, 0, "TYPE", "FP32, or QUANT_EMB of the environment",
               "type of table rows: FP32, FP16, BF16 or INT8 with a scale per row"),
    CR_OPT_STR(args, item_input_path, CR_O_LATER | CR_O_PATHS, "PATHS", NULL,
               "example rows of the item tower"),
    CR_OPT_MODEL_DIR(args),
    CR_OPT_ACCEPT(args),
    CR_OPT_SET(args),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

/* Reads TorchEasyRec's variable: 0 is off, 1 is INT8, and any other value is a name. When it is not
 * set, tables are FP32 (in TorchEasyRec INT8). */
static cr_code quant_emb(cr_ui *ui, const char **out) {
    const char *env = getenv("QUANT_EMB");
    if (!env || !*env || *env == '0') return CR_OK;
    *out = strcmp(env, "1") == 0 ? "INT8" : env;
    if (strcmp(*out, "INT4") == 0 || strcmp(*out, "INT2") == 0)
        return cr_ui_wrong(ui, "QUANT_EMB is %s, which is not in this version; use INT8", *out);
    return CR_OK;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_export_opts o = {
        .embedding_dtype = a->embedding_dtype,
        .checkpoint_path = a->checkpoint_path,
        .export_dir = a->export_dir,
        .asset_files = a->asset_files,
        .additional_export_config = a->additional_export_config,
        .threads = (int)a->threads,
        .comm = ui->comm,
    };
    if (!o.embedding_dtype) CR_TRY(quant_emb(ui, &o.embedding_dtype));
    cr_config_from(&a->config, &o.config);
    char checkpoint[1088] = "";
    CR_TRY(cr_export(&o, checkpoint, &ui->diag));
    cr_ui_findings(ui);
    cr_ui_say("exported  %s\n  checkpoint  %s\n", a->export_dir, checkpoint);
    cr_ui_next(ui,
               "crank predict --scripted_model_path %s --predict_input_path PATHS "
               "--predict_output_path DIR",
               cr_ui_quote(ui, a->export_dir));
    return CR_OK;
}

static const char *const examples[] = {
    "crank export experiments/deepfm/pipeline.config --export_dir experiments/deepfm/export",
    "crank export experiments/deepfm/pipeline.config --export_dir small --embedding_dtype INT8",
    NULL,
};

const cr_cmd cr_cmd_export = {
    .name = "export",
    .module = "tzrec.export",
    .help = "Write a self-contained folder to predict and serve from",
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
