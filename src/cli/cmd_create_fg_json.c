/*
 * cmd_create_fg_json.c - `crank create_fg_json`.
 */
#include <string.h>
#include <strings.h>

#include "cli/cli.h"

typedef struct args {
    cr_config_flags config;
    const char *fg_output_dir, *reserves, *remove_bucketizer, *force_update_resource;
    const char *odps_project_name, *odps_schema_name, *fg_resource_name;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG_STR(args, pipeline_config_path, CR_O_REQUIRED | CR_O_PATH, "PATH", NULL,
                      "config, model_dir or export; PATH without a flag means this"),
    CR_OPT_STR(args, fg_output_dir, CR_O_REQUIRED | CR_O_PATH, "DIR", NULL,
               "folder of fg.json and the files it names; made when missing"),
    CR_OPT_STR(args, reserves, 0, "NAMES", "none", "columns to carry along, with commas"),
    CR_OPT_STR(args, remove_bucketizer, 0, "true|false", "false",
               "leave out what makes ids of values: hashes, buckets, vocabularies and boundaries"),
    CR_OPT_STR(args, odps_project_name, CR_O_LATER, "NAME", NULL,
               "MaxCompute project to upload to"),
    CR_OPT_STR(args, odps_schema_name, CR_O_LATER, "NAME", NULL, "MaxCompute schema"),
    CR_OPT_STR(args, fg_resource_name, CR_O_LATER, "NAME", NULL, "MaxCompute resource to make"),
    CR_OPT_STR(args, force_update_resource, CR_O_LATER, "true|false", NULL,
               "replace that resource"),
    CR_OPT_EDIT_JSON(args),
    CR_OPT_SET(args),
    CR_OPT_END,
};

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    const char *remove = a->remove_bucketizer ? a->remove_bucketizer : "false";
    bool yes = strcasecmp(remove, "true") == 0;
    if (!yes && strcasecmp(remove, "false") != 0)
        return cr_ui_wrong(ui, "--remove_bucketizer is '%s' and must be true or false", remove);
    cr_fg_json_opts o = {.fg_output_dir = a->fg_output_dir,
                         .reserves = a->reserves,
                         .remove_bucketizer = yes};
    cr_config_from(&a->config, &o.config);
    int n = 0;
    CR_TRY(cr_create_fg_json(&o, &n, &ui->diag));
    cr_ui_findings(ui);
    cr_ui_say("wrote  %s/fg.json, %d features\n", a->fg_output_dir, n);
    return CR_OK;
}

static const char *const examples[] = {
    "crank create_fg_json deepfm.yaml --fg_output_dir fg",
    "crank python -m tzrec.tools.create_fg_json --pipeline_config_path deepfm.config "
    "--fg_output_dir fg --reserves label,request_id",
    NULL,
};

const cr_cmd cr_cmd_create_fg_json = {
    .name = "create_fg_json",
    .module = "tzrec.tools.create_fg_json",
    .help = "Write fg.json, the feature definitions as TorchEasyRec's tools read them",
    .operand = "PATH",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .run = run,
};
