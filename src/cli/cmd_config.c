/*
 * cmd_config.c - `crank config`: prints the config as crank understands it, with all edits applied.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "conf/conf.h"
#include "dialect/paddle.h"

typedef struct args {
    cr_config_flags config;
    const char *format, *builtin, *compat;
    cr_opt_list opt;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG(args),
    CR_OPT_(args, format, CR_O_STR, 0, 0, "F", "yaml", NULL, 0, 0,
            "syntax to print: yaml, pbtxt (protobuf text) or json"),
    CR_OPT_MODEL_DIR(args),
    CR_OPT_TRAIN_INPUT(args),
    CR_OPT_EVAL_INPUT(args),
    CR_OPT_FINE_TUNE(args),
    CR_OPT_EDIT_JSON(args),
    CR_OPT_SET(args),
    CR_OPT_(args, opt, CR_O_LIST, 'o', 0, "KEY=VALUE", NULL, "none", 0, 0,
            "PaddleRec: one edit in its keys, runner.epochs=2; may be repeated"),
    CR_OPT_STR(args, builtin, 0, "NAME", "the folder's",
               "PaddleRec: the model, where the name of the folder does not tell it: deepfm"),
    CR_OPT_STR(args, compat, 0, "NAME", "none",
               "paddlerec: the models as PaddleRec ships them, with their mistakes"),
    CR_OPT_END,
};

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    static const struct {
        const char *name;
        cr_syntax syntax;
    } formats[] = {{"yaml", CR_SYNTAX_YAML}, {"pbtxt", CR_SYNTAX_PBTXT}, {"json", CR_SYNTAX_JSON}};
    int k = 0;
    while (k < 3 && strcmp(formats[k].name, a->format) != 0)
        k++;
    if (k == 3)
        return cr_ui_wrong(ui, "--format is '%s' and must be yaml, pbtxt or json", a->format);
    if (a->compat && strcmp(a->compat, "paddlerec") != 0)
        return cr_ui_wrong(ui, "--compat is '%s' and must be paddlerec", a->compat);
    cr_config_opts o;
    cr_config_from(&a->config, &o);
    o.dialect.model = a->builtin;
    o.dialect.compat = a->compat != NULL;
    o.dialect.set = a->opt.v;
    o.dialect.n_set = a->opt.n;
    bool named;
    if ((a->builtin || a->compat || a->opt.n) && cr_path_exists(o.path) &&
        !cr_paddle_model(o.path, &o.dialect, &ui->arena, &named))
        return cr_ui_wrong(ui, "%s is for configs of PaddleRec, and %s is none; leave it out%s",
                           a->compat    ? "--compat"
                           : a->builtin ? "--builtin"
                                        : "-o",
                           o.path, a->opt.n ? ", or use --set with crank's keys" : "");
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
    "crank config models/rank/deepfm/config.yaml --compat paddlerec > deepfm.yaml",
    NULL,
};

const cr_cmd cr_cmd_config = {
    .name = "config",
    .help = "Print the config with all edits applied, as YAML, protobuf text or JSON",
    .about = "Prints only what is set; 'crank help KEY' shows the defaults.\n",
    .operand = "CONFIG",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .run = run,
};
