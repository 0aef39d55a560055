/*
 * args.c - turns flags into the options that jobs take, and prints the help of commands.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const cr_opt cr_common_opts[] = {
    CR_OPT_(cr_common_flags, quiet, CR_O_BOOL, 'q', 0, NULL, NULL, NULL, 0, 0,
            "no log lines, no progress, no advice; results, warnings and errors only"),
    CR_OPT_STR(cr_common_flags, log_level, 0, "LEVEL", "INFO, or LOG_LEVEL of the environment",
               "DEBUG, INFO, WARNING or ERROR"),
    CR_OPT_BOOL(cr_common_flags, debug, 0,
                "log everything; show where in crank's source an error was found"),
    CR_OPT_BOOL(cr_common_flags, allow_libraries, 0,
                "load the libraries of features and models that the config names; they can do "
                "anything that you can"),
    CR_OPT_(cr_common_flags, help, CR_O_BOOL, 'h', CR_O_STOP, NULL, NULL, NULL, 0, 0, "this text"),
    CR_OPT_END,
};

const cr_opt cr_rank_opts[] = {
    CR_OPT_STR(cr_rank_flags, log_dir, CR_O_PATH, "DIR", "none",
               "folder of log files: rank-N.log gets every line of rank N, also where others are "
               "silent"),
    CR_OPT_INT(cr_rank_flags, ps, "N", NULL, "none", 1, 100000,
               "parameter servers in each group of ranks, behind its workers; crank launch --ps "
               "gives it"),
    CR_OPT_INT(cr_rank_flags, workers, "N", NULL, "all other ranks", 1, 100000,
               "workers in each group of ranks, with --ps"),
    CR_OPT_END,
};

/* ---- the config ---- */

void cr_config_from(const cr_config_flags *f, cr_config_opts *out) {
    *out = (cr_config_opts){
        .path = f->pipeline_config_path,
        .model_dir = f->model_dir,
        .train_input_path = f->train_input_path,
        .eval_input_path = f->eval_input_path,
        .fine_tune_checkpoint = f->fine_tune_checkpoint,
        .edit_config_json = f->edit_config_json,
        .set = f->set.v,
        .n_set = f->set.n,
        .accept_changed_features = f->accept_changed_features,
    };
}

/* ---- commands ---- */

void cr_cmd_spec_init(cr_cmd_spec *s, const cr_cmd *cmd, void *args, cr_rank_flags *ranks,
                      cr_common_flags *common) {
    if (cmd->opts[0].name && !cmd->args_size) CR_BUG("a command has flags and no struct for them");
    *s = (cr_cmd_spec){0};
    cr_opt_group *g = s->groups;
    *g++ = (cr_opt_group){cmd->opts, args};
    if (cmd->ranks) *g++ = (cr_opt_group){cr_rank_opts, ranks};
    *g = (cr_opt_group){cr_common_opts, common};
    snprintf(s->prog, sizeof s->prog, "crank %s", cmd->name);
    s->spec = (cr_opt_spec){.prog = s->prog,
                            .operand = cmd->operand,
                            .operand_opt = cmd->operand_opt,
                            .groups = s->groups,
                            .rest = cmd->wraps ? &s->rest : NULL,
                            .wrong_word = cmd->wrong_word};
}

static bool same_name(const char *a, const char *b) {
    if (!a) return false;
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_'))) return false;
    return *a == *b;
}

const cr_cmd *cr_cmd_find(const cr_cmd *const *cmds, const char *name) {
    for (; *cmds; cmds++)
        if (same_name((*cmds)->name, name) || same_name((*cmds)->alias, name)) return *cmds;
    return NULL;
}

void cr_cmd_usage(cr_buf *out, const cr_cmd *cmd) {
    cr_cmd_spec s;
    cr_cmd_spec_init(&s, cmd, NULL, NULL, NULL);
    const char *rest = cmd->wraps ? " -- COMMAND ..." : "";
    cr_buf_printf(out, "usage: %s%s%s [flags]%s\n", s.prog, cmd->operand ? " " : "",
                  cmd->operand ? cmd->operand : "", rest);
    if (cmd->alias) cr_buf_printf(out, "       crank %s [flags]%s\n", cmd->alias, rest);
    cr_buf_printf(out, "\n%s.\n", cmd->help);
    if (cmd->about) cr_buf_str(out, cmd->about);
    cr_buf_str(out, "\nflags:\n");
    cr_opt_lines(out, &s.spec);
    if (!cmd->examples) return;
    cr_buf_str(out, "\nexamples:\n");
    for (const char *const *e = cmd->examples; *e; e++)
        cr_buf_printf(out, "  %s\n", *e);
}

void cr_cmd_overview(cr_buf *out, const cr_cmd *const *cmds) {
    cr_buf_str(out, "crank trains, evaluates, exports and runs recommendation models from a config "
                    "file.\n\nusage: crank COMMAND [flags]\n\ncommands:\n");
    int width = 0;
    char use[64];
    for (int pass = 0; pass < 2; pass++) /* first the width, then the lines */
        for (const cr_cmd *const *p = cmds; *p; p++) {
            const cr_cmd *c = *p;
            if (c->hidden) continue;
            int n = snprintf(use, sizeof use, "%s %s", c->name, c->operand ? c->operand : "");
            if (pass)
                cr_buf_printf(out, "  %-*s  %s\n", width, use, c->help);
            else
                width = n > width ? n : width;
        }
    cr_buf_str(
        out,
        "\nhelp:\n"
        "  crank COMMAND --help            flags of a command\n"
        "  crank help KEY                  a key of the config: train_config.num_steps, deepfm\n"
        "  crank help WORD                 all keys, values and flags with WORD in name or text\n"
        "  crank help models               also features, optimizers, losses, metrics\n"
        "  crank help environment          variables: LOG_LEVEL, TORCH_MANUAL_SEED, CRANK_CPU ...\n"
        "\nTorchEasyRec's command lines work with crank in front:\n"
        "  crank torchrun --nproc-per-node=2 -m tzrec.train_eval --pipeline_config_path FILE\n"
        "  crank python -m tzrec.export --pipeline_config_path FILE --export_dir DIR\n"
        "\nexit codes: 0 fine, 1 failed while running, 2 wrong command line or config, 3 bad "
        "data\n");
}
