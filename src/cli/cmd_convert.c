/*
 * cmd_convert.c - `crank convert`, TorchEasyRec's convert_easyrec_config_to_tzrec_config.
 */
#include "cli/cli.h"

typedef struct args {
    const char *easyrec_config_path, *output_tzrec_config_path, *fg_json_path;
    const char *easyrec_package_path;
    bool use_old_fg;
} args;

static const cr_opt opts[] = {
    CR_OPT_STR(args, easyrec_config_path, CR_O_REQUIRED | CR_O_PATH, "FILE", NULL,
               "config of EasyRec; FILE without a flag means this"),
    CR_OPT_(args, output_tzrec_config_path, CR_O_STR, 'o', CR_O_REQUIRED | CR_O_PATH, "FILE", NULL,
            NULL, 0, 0, "config to write: YAML if the name ends in .yaml, else protobuf text"),
    CR_OPT_STR(args, fg_json_path, CR_O_PATH, "FILE", "fg_json_path of the config",
               "fg.json of the feature generator"),
    CR_OPT_BOOL(args, use_old_fg, 0,
                "take the features from the config and only their inputs from fg.json"),
    CR_OPT_STR(args, easyrec_package_path, 0, "FILE", NULL,
               "not needed: crank knows EasyRec's schema"),
    CR_OPT_END,
};

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_convert_opts o = {
        .easyrec_config_path = a->easyrec_config_path,
        .output_tzrec_config_path = a->output_tzrec_config_path,
        .fg_json_path = a->fg_json_path,
        .use_old_fg = a->use_old_fg,
    };
    cr_convert_result r;
    cr_code code = cr_convert_easyrec(&o, &r, &ui->diag);
    cr_ui_findings(ui);
    if (!r.written) return code;
    cr_ui_say("wrote  %s: %d features, %d groups, model %s\n", a->output_tzrec_config_path,
              r.what.n_features, r.what.n_groups, r.what.model ? r.what.model : "none");
    cr_ui_say("report %d key%s left out or changed so that results differ (warnings), %d without "
              "effect (notes)\n",
              r.what.n_lost, r.what.n_lost == 1 ? "" : "s", r.what.n_left);
    if (r.refused)
        cr_ui_say("       crank does not take it as it is: mend what the errors above name\n");
    else
        cr_ui_next(ui, "crank check %s", cr_ui_quote(ui, a->output_tzrec_config_path));
    return code;
}

static const char *const examples[] = {
    "crank convert deepfm_easyrec.config -o deepfm.config",
    "crank python -m tzrec.tools.convert_easyrec_config_to_tzrec_config --easyrec_config_path "
    "er.config --fg_json_path fg.json --output_tzrec_config_path deepfm.config",
    NULL,
};

const cr_cmd cr_cmd_convert = {
    .name = "convert",
    .alias = "convert_easyrec_config_to_tzrec_config",
    .module = "tzrec.tools.convert_easyrec_config_to_tzrec_config",
    .help = "Convert a config of EasyRec, the predecessor of TorchEasyRec",
    .about = "Every key is converted, or reported with its place and the reason: an error if the "
             "result cannot run\nwithout it, a warning if results differ, a note if nothing "
             "changes. The file is written in any case,\nwith the report at its head.\n",
    .operand = "FILE",
    .operand_opt = "easyrec_config_path",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
