/*
 * cmd_manual.c - `crank manual`: writes the manual pages crank.1 and crank-<command>.1 from the
 * tables. `make install` calls it.
 */
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"

typedef struct args {
    const char *output_dir;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, output_dir, CR_O_STR, 'o', CR_O_REQUIRED | CR_O_PATH, "DIR", NULL, NULL, 0, 0,
            "folder to write the pages to"),
    CR_OPT_END,
};

/* Text of troff: a line must not begin with a dot or a quote, and a minus is to be copied. */
static void text(cr_buf *b, const char *s) {
    bool begin = b->n == 0 || b->data[b->n - 1] == '\n';
    for (; *s; s++) {
        if (begin && (*s == '.' || *s == '\'')) cr_buf_str(b, "\\&");
        begin = *s == '\n';
        if (*s == '\\')
            cr_buf_str(b, "\\e");
        else if (*s == '-')
            cr_buf_str(b, "\\-");
        else
            cr_buf_char(b, *s);
    }
}

static void title(cr_buf *b, const char *name, const char *help) {
    cr_buf_printf(b, ".TH \"%s\" 1 \"\" \"crank %s\" \"crank\"\n.SH NAME\n", name, CR_VERSION);
    text(b, name);
    cr_buf_str(b, " \\- ");
    text(b, help);
    cr_buf_char(b, '\n');
}

static void flags_of(cr_buf *b, const cr_opt *o) {
    for (; o->name; o++) {
        if (o->flags & CR_O_LATER) continue;
        cr_buf_str(b, ".TP\n\\fB");
        if (o->letter) cr_buf_printf(b, "\\-%c\\fR, \\fB", o->letter);
        cr_buf_str(b, "\\-\\-");
        text(b, o->name);
        cr_buf_str(b, "\\fR");
        if (o->type != CR_O_BOOL) {
            cr_buf_str(b, " \\fI");
            text(b, o->arg ? o->arg : "VALUE");
            cr_buf_str(b, "\\fR");
        }
        cr_buf_char(b, '\n');
        text(b, o->help);
        const char *def = o->otherwise ? o->otherwise : o->def;
        if (def && o->type != CR_O_BOOL) {
            cr_buf_str(b, " [");
            text(b, def);
            cr_buf_char(b, ']');
        }
        cr_buf_char(b, '\n');
    }
}

static void command_page(cr_buf *b, const cr_cmd *c, const char *name) {
    title(b, name, c->help);
    cr_buf_str(b, ".SH SYNOPSIS\n\\fBcrank ");
    text(b, c->name);
    cr_buf_str(b, "\\fR");
    if (c->operand) {
        cr_buf_str(b, " \\fI");
        text(b, c->operand);
        cr_buf_str(b, "\\fR");
    }
    cr_buf_str(b, " [\\fIflags\\fR]\n");
    if (c->about) {
        cr_buf_str(b, ".SH DESCRIPTION\n.nf\n");
        text(b, c->about);
        cr_buf_str(b, ".fi\n");
    }
    cr_buf_str(b, ".SH OPTIONS\nA flag is \\-\\-name value or \\-\\-name=value; \\- and _ mean the "
                  "same, and a beginning that fits one flag only is enough.\n");
    if (c->opts) flags_of(b, c->opts);
    if (c->ranks) flags_of(b, cr_rank_opts);
    flags_of(b, cr_common_opts);
    if (c->examples) {
        cr_buf_str(b, ".SH EXAMPLES\n.nf\n");
        for (const char *const *e = c->examples; *e; e++) {
            text(b, *e);
            cr_buf_char(b, '\n');
        }
        cr_buf_str(b, ".fi\n");
    }
    cr_buf_str(b, ".SH SEE ALSO\n\\fBcrank\\fR(1)\n");
}

static void main_page(cr_buf *b, const cr_cmd *const *cmds) {
    title(b, "crank", "trains, evaluates, exports and runs recommendation models from a config");
    cr_buf_str(b, ".SH SYNOPSIS\n\\fBcrank\\fR \\fICOMMAND\\fR [\\fIflags\\fR]\n.SH COMMANDS\n");
    for (const cr_cmd *const *c = cmds; *c; c++) {
        if ((*c)->hidden) continue;
        cr_buf_str(b, ".TP\n\\fBcrank\\-");
        text(b, (*c)->name);
        cr_buf_str(b, "\\fR(1)\n");
        text(b, (*c)->help);
        cr_buf_char(b, '\n');
    }
    cr_buf_str(b,
               ".SH CONFIG\n\\fBcrank help\\fR \\fIKEY\\fR explains every key of a config, every "
               "model, feature, loss and metric.\n.SH EXIT STATUS\n0 fine, 1 failed while "
               "running, 2 wrong command line or config, 3 bad data\n");
}

static cr_code write_page(cr_ui *ui, const char *dir, const char *name, const cr_buf *b) {
    cr_err err;
    const char *path = cr_path_join(&ui->arena, dir, cr_arena_printf(&ui->arena, "%s.1", name));
    return cr_file_write(path, b->data, b->n, &err) == CR_OK ? CR_OK : cr_ui_fail(ui, &err);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_err err;
    cr_buf b;
    if (cr_mkdirs(a->output_dir, &err) != CR_OK) return cr_ui_fail(ui, &err);
    cr_buf_init(&b);
    main_page(&b, ui->cmds);
    cr_code code = write_page(ui, a->output_dir, "crank", &b);
    for (const cr_cmd *const *c = ui->cmds; *c && code == CR_OK; c++) {
        if ((*c)->hidden) continue;
        const char *name = cr_arena_printf(&ui->arena, "crank-%s", (*c)->name);
        cr_buf_reset(&b);
        command_page(&b, *c, name);
        code = write_page(ui, a->output_dir, name, &b);
    }
    cr_buf_clear(&b);
    return code;
}

const cr_cmd cr_cmd_manual = {
    .name = "manual",
    .help = "Write the manual pages from the tables",
    .opts = opts,
    .args_size = sizeof(args),
    .hidden = true,
    .run = run,
};
