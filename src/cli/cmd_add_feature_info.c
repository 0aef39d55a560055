/*
 * cmd_add_feature_info.c - `crank add_feature_info_to_config`.
 */
#include "cli/cli.h"

typedef struct args {
    const char *template_model_config_path, *model_config_path, *config_table_path;
    const char *reader_type, *odps_data_quota_name;
} args;

static const cr_opt opts[] = {
    CR_OPT_STR(args, template_model_config_path, CR_O_REQUIRED | CR_O_PATH, "FILE", NULL,
               "config to begin with"),
    CR_OPT_STR(args, model_config_path, CR_O_REQUIRED | CR_O_PATH, "FILE", NULL,
               "config to write: YAML if the name ends in .yaml or .yml, otherwise protobuf text"),
    CR_OPT_STR(args, config_table_path, CR_O_REQUIRED | CR_O_PATHS, "PATHS", NULL,
               "table of feature, feature_info (JSON) and message"),
    CR_OPT_STR(args, reader_type, 0, "NAME", "by the ending of the table",
               "format of the table: CsvReader or ParquetReader"),
    CR_OPT_STR(args, odps_data_quota_name, CR_O_LATER, "NAME", NULL, "quota of a MaxCompute table"),
    CR_OPT_END,
};

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_feature_info_opts o = {
        .template_path = a->template_model_config_path,
        .output_path = a->model_config_path,
        .table = a->config_table_path,
        .reader_type = a->reader_type,
    };
    cr_feature_info_result r = {0};
    CR_TRY(cr_add_feature_info(&o, &r, &ui->diag));
    cr_ui_findings(ui);
    cr_ui_say("wrote  %s, %d features edited, %d dropped\n", a->model_config_path, r.n_edited,
              r.n_dropped);
    return CR_OK;
}

static const char *const examples[] = {
    "crank add_feature_info_to_config --template_model_config_path template.config "
    "--model_config_path deepfm.config --config_table_path info.csv",
    NULL,
};

const cr_cmd cr_cmd_add_feature_info = {
    .name = "add_feature_info_to_config",
    .module = "tzrec.tools.add_feature_info_to_config",
    .help = "Put table sizes, widths and boundaries from a table into a config",
    .about =
        "feature_info is {\"embedding_dim\": 8, \"hash_bucket_size\": 1000} or {\"embedding_dim\": "
        "8, \"boundary\": [1, 2]}.\nA message that holds DROP IT removes the feature, also from "
        "groups. A feature of a\nsequence_feature is called <sequence_name>__<feature_name>.\n",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
