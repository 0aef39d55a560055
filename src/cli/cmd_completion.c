/*
 * cmd_completion.c - `crank completion bash|zsh|fish`: a script that completes commands and flags.
 *
 * The scripts hold the tables of commands and flags as words, so completing starts no crank. Files
 * are completed where a flag or the argument is a path, words where the command knows them.
 */
#include <string.h>

#include "cli/cli.h"

typedef struct args {
    const char *shell;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, shell, CR_O_STR, 0, CR_O_REQUIRED, "NAME", NULL, NULL, 0, 0,
            "bash, zsh or fish; SHELL without a flag means this"),
    CR_OPT_END,
};

/* Calls fn with every flag of a command. */
typedef void (*each_flag)(cr_buf *out, const cr_cmd *cmd, const cr_opt *o);
static void flags_of(cr_buf *out, const cr_cmd *cmd, each_flag fn) {
    const cr_opt *const tables[] = {cmd->opts, cmd->ranks ? cr_rank_opts : NULL, cr_common_opts};
    for (int i = 0; i < 3; i++)
        for (const cr_opt *o = tables[i]; o && o->name; o++)
            if (!(o->flags & CR_O_LATER)) fn(out, cmd, o);
}

static bool is_path(const cr_opt *o) {
    return o->flags & (CR_O_PATH | CR_O_PATHS);
}

static void put_commands(cr_buf *b, const cr_cmd *const *cmds) {
    for (const cr_cmd *const *c = cmds; *c; c++)
        if (!(*c)->hidden) cr_buf_printf(b, "%s ", (*c)->name);
}

static void put_words(cr_buf *b, const cr_cmd *cmd, const cr_cmd *const *cmds) {
    if (cmd->word_commands) put_commands(b, cmds);
    cr_buf_str(b, cmd->words);
}

/* ---- bash ---- */

static void bash_flag(cr_buf *b, const cr_cmd *cmd, const cr_opt *o) {
    (void)cmd;
    cr_buf_printf(b, " --%s", o->name);
}
/* Flags whose value is neither a path nor missing: nothing is offered behind them. */
static void bash_value(cr_buf *b, const cr_cmd *cmd, const cr_opt *o) {
    (void)cmd;
    if (o->type != CR_O_BOOL && !is_path(o)) cr_buf_printf(b, " --%s", o->name);
}

static void bash(cr_buf *b, const cr_cmd *const *cmds) {
    cr_buf_str(b, "# bash completion of crank, made by: crank completion bash\n"
                  "_crank() {\n"
                  "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "    local flags= values= words=\n"
                  "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                  "        COMPREPLY=($(compgen -W '");
    put_commands(b, cmds);
    cr_buf_str(b, "' -- \"$cur\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (const cr_cmd *const *c = cmds; *c; c++) {
        if ((*c)->hidden) continue;
        cr_buf_printf(b, "    %s)\n        flags='", (*c)->name);
        flags_of(b, *c, bash_flag);
        cr_buf_str(b, "'\n        values='");
        flags_of(b, *c, bash_value);
        if ((*c)->words) {
            cr_buf_str(b, " '\n        words='");
            put_words(b, *c, cmds);
        }
        cr_buf_str(b, " '\n        ;;\n");
    }
    cr_buf_str(b, "    esac\n"
                  "    case \"$values\" in *\" $prev \"*) return ;; esac\n"
                  "    case $cur in\n"
                  "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\")) ;;\n"
                  "    *)\n"
                  "        if [ -n \"$words\" ] && [ \"$COMP_CWORD\" -eq 2 ]; then\n"
                  "            COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                  "        else\n"
                  "            COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                  "            compopt -o filenames\n"
                  "        fi\n"
                  "        ;;\n"
                  "    esac\n"
                  "}\n"
                  "complete -F _crank crank\n");
}

/* ---- zsh ---- */

/* Puts s into a specification of _arguments, inside single quotes. */
static void zsh_text(cr_buf *b, const char *s) {
    for (; *s; s++) {
        if (strchr("[]:\\", *s)) cr_buf_char(b, '\\');
        if (*s == '\'')
            cr_buf_str(b, "'\\''");
        else
            cr_buf_char(b, *s);
    }
}

static void zsh_flag(cr_buf *b, const cr_cmd *cmd, const cr_opt *o) {
    (void)cmd;
    cr_buf_printf(b, " \\\n            '%s--%s[", o->type == CR_O_LIST ? "*" : "", o->name);
    zsh_text(b, o->help);
    cr_buf_char(b, ']');
    if (o->type != CR_O_BOOL) {
        cr_buf_char(b, ':');
        zsh_text(b, o->arg ? o->arg : "VALUE");
        cr_buf_str(b, is_path(o) ? ":_files" : ": ");
    }
    cr_buf_char(b, '\'');
}

static void zsh(cr_buf *b, const cr_cmd *const *cmds) {
    cr_buf_str(b, "#compdef crank\n# zsh completion of crank, made by: crank completion zsh\n"
                  "_crank() {\n    local -a commands=(\n");
    for (const cr_cmd *const *c = cmds; *c; c++) {
        if ((*c)->hidden) continue;
        cr_buf_printf(b, "        '%s:", (*c)->name);
        zsh_text(b, (*c)->help);
        cr_buf_str(b, "'\n");
    }
    cr_buf_str(b, "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n"
                  "        return\n    fi\n    local command=$words[2]\n    shift words\n"
                  "    (( CURRENT-- ))\n    case $command in\n");
    for (const cr_cmd *const *c = cmds; *c; c++) {
        if ((*c)->hidden) continue;
        cr_buf_printf(b, "    %s)\n        _arguments", (*c)->name);
        flags_of(b, *c, zsh_flag);
        if ((*c)->words) {
            cr_buf_str(b, " \\\n            '1:word:(");
            put_words(b, *c, cmds);
            cr_buf_str(b, ")'");
        }
        cr_buf_str(b, " \\\n            '*:file:_files'\n        ;;\n");
    }
    cr_buf_str(b,
               "    esac\n}\n"
               "if [ \"$funcstack[1]\" = _crank ]; then _crank \"$@\"; else compdef _crank crank; "
               "fi\n");
}

/* ---- fish ---- */

static void fish_text(cr_buf *b, const char *s) {
    cr_buf_char(b, '\'');
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\') cr_buf_char(b, '\\');
        cr_buf_char(b, *s);
    }
    cr_buf_char(b, '\'');
}

static void fish_flag(cr_buf *b, const cr_cmd *cmd, const cr_opt *o) {
    cr_buf_printf(b, "complete -c crank -n '__fish_seen_subcommand_from %s' -l %s", cmd->name,
                  o->name);
    if (o->letter) cr_buf_printf(b, " -s %c", o->letter);
    if (o->type != CR_O_BOOL) cr_buf_str(b, is_path(o) ? " -r -F" : " -x");
    cr_buf_str(b, " -d ");
    fish_text(b, o->help);
    cr_buf_char(b, '\n');
}

static void fish(cr_buf *b, const cr_cmd *const *cmds) {
    cr_buf_str(b, "# fish completion of crank, made by: crank completion fish\n");
    for (const cr_cmd *const *c = cmds; *c; c++) {
        if ((*c)->hidden) continue;
        cr_buf_printf(b, "complete -c crank -f -n __fish_use_subcommand -a %s -d ", (*c)->name);
        fish_text(b, (*c)->help);
        cr_buf_char(b, '\n');
        flags_of(b, *c, fish_flag);
        if (!(*c)->words) continue;
        cr_buf_printf(b,
                      "complete -c crank -f -n '__fish_seen_subcommand_from %s; and test (count "
                      "(commandline -opc)) -eq 2' -a '",
                      (*c)->name);
        put_words(b, *c, cmds);
        cr_buf_str(b, "'\n");
    }
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    static const struct {
        const char *name;
        void (*write)(cr_buf *b, const cr_cmd *const *cmds);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, a->shell) != 0) continue;
        cr_buf out;
        cr_buf_init(&out);
        shells[i].write(&out, ui->cmds);
        cr_ui_put(out.data, out.n);
        cr_buf_clear(&out);
        return CR_OK;
    }
    return cr_ui_wrong(ui, "the shell is '%s' and must be bash, zsh or fish", a->shell);
}

static const char *const examples[] = {
    "crank completion bash > ~/.local/share/bash-completion/completions/crank",
    "crank completion fish > ~/.config/fish/completions/crank.fish",
    NULL,
};

const cr_cmd cr_cmd_completion = {
    .name = "completion",
    .help = "Print a script that completes commands and flags in bash, zsh or fish",
    .operand = "SHELL",
    .words = "bash zsh fish",
    .operand_opt = "shell",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
