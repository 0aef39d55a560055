/*
 * cmd_config.c - `crank config`: the config as crank understands it, all edits applied.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "conf/conf.h"

static const cr_opt opts[] = {
    CR_OPT_CONFIG,
    CR_OPT_(format, CR_O_STR, 0, 0, "F", "yaml", NULL, 0, 0,
            "syntax to print: yaml, pbtxt (protobuf text) or json"),
    CR_OPT_MODEL_DIR,
    CR_OPT_TRAIN_INPUT,
    CR_OPT_EVAL_INPUT,
    CR_OPT_FINE_TUNE,
    CR_OPT_EDIT_JSON,
    CR_OPT_SET,
    CR_OPT_END,
};

static cr_code run(cr_ui *ui, const cr_args *a) {
    static const struct {
        const char *name;
        cr_syntax syntax;
    } formats[] = {{"yaml", CR_SYNTAX_YAML}, {"pbtxt", CR_SYNTAX_PBTXT}, {"json", CR_SYNTAX_JSON}};
    int k = 0;
    while (k < 3 && strcmp(formats[k].name, a->format) != 0)
        k++;
    if (k == 3)
        return cr_ui_wrong(ui, "--format is '%s' and must be yaml, pbtxt or json", a->format);
    cr_config_opts o;
    cr_args_config(a, &o);
    cr_config c;
    cr_code code = cr_config_load(&c, &o, &ui->diag);
    if (code == CR_OK) {
        cr_buf out;
        cr_buf_init(&out);
        cr_conf_print(&out, &cr_root_msg, c.doc.root, formats[k].syntax);
        cr_ui_say("%s", out.data ? out.data : "");
        cr_buf_clear(&out);
    }
    cr_config_clear(&c);
    return code;
}

static const char *const examples[] = {
    "crank config deepfm.config > deepfm.yaml",
    "crank config deepfm.yaml --format pbtxt --set train_config.num_epochs=2",
    "crank config deepfm.config --format json | jq .train_config",
    NULL,
};

const cr_cmd cr_cmd_config = {
    .name = "config",
    .help = "Print the config with all edits applied, as YAML, protobuf text or JSON",
    .about = "Prints only what is set; 'crank help KEY' shows the defaults.\n",
    .operand = "CONFIG",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .examples = examples,
    .run = run,
};
