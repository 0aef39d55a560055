/*
 * cmd_feature_selection.c - `crank feature_selection`: prints which features variational dropout
 * found needed, and writes a config with those.
 */
#include "cli/cli.h"

typedef struct args {
    cr_config_flags config;
    const char *output_dir;
    int64_t topk;
    bool visualize, clear_variational_dropout;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG(args),
    CR_OPT_MODEL_DIR(args),
    CR_OPT_(args, output_dir, CR_O_STR, 'o', CR_O_REQUIRED | CR_O_PATH, "DIR", NULL, NULL, 0, 0,
            "folder for the tables and the new config; made when missing"),
    CR_OPT_INT(args, topk, "N", "100", NULL, 1, 1e9,
               "number of most needed features that each group keeps"),
    CR_OPT_BOOL(args, visualize, 0, "draw feature_dropout_pic_GROUP.svg too"),
    CR_OPT_BOOL(args, clear_variational_dropout, 0,
                "leave variational_dropout out of the new config"),
    CR_OPT_SET(args),
    CR_OPT_END,
};

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_select_opts o = {.output_dir = a->output_dir,
                        .topk = a->topk,
                        .visualize = a->visualize,
                        .clear_variational_dropout = a->clear_variational_dropout};
    cr_config_from(&a->config, &o.config);
    cr_select_result r;
    cr_code code = cr_feature_selection(&o, &r, &ui->diag);
    if (code == CR_OK) {
        cr_ui_findings(ui);
        cr_ui_say("drop probabilities of %s\n%s%lld of %lld feature configs stay, in %s\n",
                  r.checkpoint, r.text.data, (long long)r.n_features, (long long)r.n_before,
                  r.config);
        cr_ui_next(ui, "crank train %s --model_dir %s", cr_ui_quote(ui, r.config), "DIR");
    }
    cr_buf_clear(&r.text);
    return code;
}

static const char *const examples[] = {
    "crank feature_selection experiments/deepfm/pipeline.config --output_dir selected --topk 20",
    "crank feature_selection deepfm.yaml --model_dir experiments/deepfm --output_dir selected "
    "--visualize --clear_variational_dropout",
    NULL,
};

const cr_cmd cr_cmd_feature_selection = {
    .name = "feature_selection",
    .module = "tzrec.tools.feature_selection",
    .help = "Keep the features that variational dropout found needed",
    .about = "Reads the newest checkpoint of model_dir. Writes feature_dropout_ratio_GROUP.csv, "
             "the least\n"
             "dropped features first, and the config without the others.\n",
    .operand = "CONFIG",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .run = run,
};
