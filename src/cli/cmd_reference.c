/*
 * cmd_reference.c - `crank reference`: writes the pages of docs/reference from the tables.
 *
 * There is one page per config message, README.md that lists them, commands.md with the flags of
 * every command, and environment.md with the environment variables. tools/check_reference.sh
 * compares them with the committed pages.
 */
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/example.h"
#include "conf/conf.h"
#include "job/env.h"

typedef struct args {
    const char *output_dir;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, output_dir, CR_O_STR, 'o', CR_O_REQUIRED | CR_O_PATH, "DIR", NULL, NULL, 0, 0,
            "folder to write the pages to"),
    CR_OPT_END,
};

#define MADE "<!-- made by `crank reference`; change the tables in src/ instead -->\n\n"

typedef struct pages {
    const char *dir;
    cr_arena *arena;
    cr_buf index;
    cr_buf text;
    cr_err err;
    cr_code code;
} pages;

static void write_page(pages *p, const char *name, const char *text) {
    if (p->code != CR_OK) return;
    cr_buf_reset(&p->text);
    cr_buf_str(&p->text, MADE);
    cr_buf_str(&p->text, text);
    p->code = cr_file_write(cr_path_join(p->arena, p->dir, name), p->text.data, p->text.n, &p->err);
}

/* Returns the key of the model or feature type that a message describes; NULL: it describes
 * neither. */
static const char *example_key(const cr_msg *msg) {
    static const char *const at[][2] = {{"model_config", "model"}, {"feature_configs", "feature"}};
    for (int i = 0; i < 2; i++) {
        const cr_msg *m = cr_msg_field(&cr_root_msg, at[i][0])->ref;
        const cr_oneof *o = cr_msg_field(m, at[i][1])->ref;
        for (const cr_oneof_member *x = o->members; x->key; x++)
            if (x->msg == msg) return x->key;
    }
    return NULL;
}

static void on_page(void *ctx, const cr_msg *msg, const char *text) {
    pages *p = ctx;
    cr_buf_printf(&p->index, "| [%s](%s.md) | %s%s |\n", msg->name, msg->name,
                  msg->help ? msg->help : "",
                  msg->later  ? "; *not in this version*"
                  : msg->ours ? "; *crank only*"
                              : "");
    const char *key = example_key(msg);
    cr_buf all;
    cr_buf_init(&all);
    cr_buf_str(&all, text);
    if (key) {
        size_t n = all.n;
        cr_buf_str(&all, "\nExample:\n\n```yaml\n");
        if (cr_example_part(&all, key, ""))
            cr_buf_printf(&all, "```\n\n`crank help %s --example` prints a whole config.\n", key);
        else
            all.n = n, cr_buf_str(&all, "");
    }
    write_page(p, cr_arena_printf(p->arena, "%s.md", msg->name), all.data);
    cr_buf_clear(&all);
}

static void command_page(pages *p, const cr_cmd *const *cmds) {
    cr_buf out;
    cr_buf_init(&out);
    cr_buf_str(&out,
               "# Commands\n\nA flag is `--name value` or `--name=value`; `-` and `_` mean the "
               "same, and a beginning that fits one flag only is enough.\n");
    for (const cr_cmd *const *c = cmds; *c; c++) {
        if ((*c)->hidden) continue;
        cr_buf_printf(&out, "\n## crank %s%s%s\n\n", (*c)->name, (*c)->operand ? " " : "",
                      (*c)->operand ? (*c)->operand : "");
        cr_buf_printf(&out, "%s.", (*c)->help);
        if ((*c)->alias) cr_buf_printf(&out, " Also `crank %s`.", (*c)->alias);
        cr_buf_str(&out, "\n");
        if ((*c)->about) cr_buf_printf(&out, "%s", (*c)->about);
        if ((*c)->opts[0].name) {
            cr_buf_char(&out, '\n');
            cr_opt_table(&out, (*c)->opts);
        }
        if (!(*c)->examples) continue;
        cr_buf_str(&out, "\n```\n");
        for (const char *const *e = (*c)->examples; *e; e++)
            cr_buf_printf(&out, "%s\n", *e);
        cr_buf_str(&out, "```\n");
    }
    cr_buf_str(&out, "\n## Flags of commands that run as several ranks\n\n");
    const char *sep = "";
    for (const cr_cmd *const *c = cmds; *c; c++) {
        if (!(*c)->ranks) continue;
        cr_buf_printf(&out, "%s`crank %s`", sep, (*c)->name);
        sep = ", ";
    }
    cr_buf_str(&out, "\n\n");
    cr_opt_table(&out, cr_rank_opts);
    cr_buf_str(&out, "\n## Flags of every command\n\n");
    cr_opt_table(&out, cr_common_opts);
    write_page(p, "commands.md", out.data);
    cr_buf_clear(&out);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    pages p = {.dir = a->output_dir, .arena = &ui->arena};
    cr_buf_init(&p.index);
    cr_buf_init(&p.text);
    cr_buf page;
    cr_buf_init(&page);
    p.code = cr_mkdirs(p.dir, &p.err);
    cr_buf_str(&p.index, "# Reference\n\n[Commands and flags](commands.md), [environment "
                         "variables](environment.md).\n\nMessages of the config, from the "
                         "root [");
    cr_buf_printf(&p.index, "%s](%s.md) on:\n\n| message | meaning |\n|---|---|\n",
                  cr_root_msg.name, cr_root_msg.name);
    cr_conf_reference(&cr_root_msg, on_page, &p);
    command_page(&p, ui->cmds);
    cr_buf_reset(&page);
    cr_env_page(&page);
    write_page(&p, "environment.md", page.data);
    write_page(&p, "README.md", p.index.data);
    cr_buf_clear(&p.index);
    cr_buf_clear(&p.text);
    cr_buf_clear(&page);
    return p.code == CR_OK ? CR_OK : cr_ui_fail(ui, &p.err);
}

const cr_cmd cr_cmd_reference = {
    .name = "reference",
    .help = "Write the reference pages from the tables",
    .opts = opts,
    .args_size = sizeof(args),
    .hidden = true,
    .run = run,
};
