/*
 * cmd_init.c - `crank init`: from data to a config that trains.
 */
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "cli/cli.h"
#include "conf/conf.h"
#include "tool/draft.h"

#define CUTS 128 /* even parts of numbers; more did worse on rows that were not trained */

typedef struct args {
    const char *data, *label, *eval_input_path, *model_dir, *output, *like;
    int64_t rows, threads;
    bool force;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, data, CR_O_STR, 0, CR_O_REQUIRED | CR_O_PATHS, "PATHS", NULL, NULL, 0, 0,
            "CSV or Parquet files, folders or quoted globs, with commas; DATA without a flag means "
            "this"),
    CR_OPT_STR(args, label, 0, "COLUMN", "guessed", "the label, by name or number"),
    CR_OPT_(args, output, CR_O_STR, 'o', CR_O_PATH, "FILE", NULL, "standard output", 0, 0,
            "file of the config"),
    CR_OPT_STR(args, eval_input_path, CR_O_PATHS, "PATHS", "a part of DATA", "data to evaluate on"),
    CR_OPT_(args, model_dir, CR_O_STR, 0, CR_O_PATH, "DIR", "model", NULL, 0, 0,
            "folder of checkpoints and results"),
    CR_OPT_(args, like, CR_O_STR, 0, 0, "STYLE", "yaml", NULL, 0, 0,
            "yaml, or tzrec: protobuf text with nothing that TorchEasyRec does not know"),
    CR_OPT_(args, rows, CR_O_COUNT, 0, CR_O_ALL, "N", "0", "all", 0, 1e15,
            "look at about so many rows only"),
    CR_OPT_BOOL(args, force, 0, "write over a file that is there"),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

/* Writes the YAML as protobuf text, below the comments that it begins with. */
static cr_code as_pbtxt(cr_ui *ui, cr_buf *text) {
    cr_conf_doc doc;
    cr_conf_doc_init(&doc);
    cr_code code =
        cr_conf_parse(&doc, CR_SYNTAX_YAML, "the new config", text->data, text->n, &ui->diag);
    if (code == CR_OK) {
        size_t n = 0;
        while (n < text->n && text->data[n] == '#')
            n += strcspn(text->data + n, "\n") + 1;
        text->n = n;
        cr_conf_print(text, &cr_root_msg, doc.root, CR_SYNTAX_PBTXT);
    }
    cr_conf_doc_clear(&doc);
    return code;
}

static cr_code put(cr_ui *ui, const args *f, const cr_buf *text) {
    cr_err err;
    if (!f->output) {
        cr_ui_put(text->data, text->n);
        return CR_OK;
    }
    if (cr_file_write(f->output, text->data, text->n, &err) != CR_OK) return cr_ui_fail(ui, &err);
    return CR_OK;
}

static void say(cr_ui *ui, const args *f, const cr_draft *c) {
    const cr_survey *s = c->s;
    static const char *const tasks[] = {"a yes-or-no label", "a label of several classes",
                                        "a number to predict"};
    char rows[32];
    int skipped = 0;
    if (!f->output || ui->quiet) return;
    cr_ui_say("wrote %s: %d features of %d columns, %s rows\n", f->output, c->n_features, s->n_cols,
              cr_fmt_count(rows, (double)s->rows));
    cr_ui_say("  label       %s, %s%s\n", s->cols[c->label].name, tasks[c->task],
              s->label_guessed ? " (guessed; --label names another)" : "");
    for (int i = 0; i < s->n_cols; i++) {
        const cr_draft_col *x = &c->cols[i];
        if (x->use == CR_DRAFT_WEIGHT)
            cr_ui_say("  row weight  %s (guessed by its name)\n", x->col->name);
        if (x->use != CR_DRAFT_SKIP) continue;
        if (skipped++ < 10)
            cr_ui_say("  %-10s  %s: %s\n", skipped == 1 ? "left out" : "",
                      cr_survey_col_name(x->col), x->why);
    }
    if (skipped > 10) cr_ui_say("              and %d more, see the file\n", skipped - 10);
    if (c->eval_fraction > 0)
        cr_ui_say("  evaluation  %g %% of the rows\n", 100 * c->eval_fraction);
    else if (c->eval_from >= 0)
        cr_ui_say("  evaluation  the last %lld of %lld files, by the dates in their names\n",
                  (long long)(s->n_files - c->eval_from), (long long)s->n_files);
    else if (!c->eval_paths)
        cr_ui_say("  evaluation  none; name data with --eval_input_path\n");
    cr_ui_next(ui, "crank train %s", cr_ui_quote(ui, f->output));
}

static cr_code make(cr_ui *ui, const args *f, const cr_survey *s) {
    cr_draft c;
    cr_buf text;
    bool tzrec = strcmp(f->like, "tzrec") == 0;
    CR_TRY(cr_draft_choose(&c, s, f->eval_input_path, &ui->arena, &ui->diag));
    if (tzrec && c.label_map)
        return cr_ui_wrong(ui,
                           "TorchEasyRec takes labels as numbers 0, 1 ..., and '%s' has other "
                           "values; write them so, or leave out --like tzrec",
                           s->cols[c.label].name);
    if (tzrec) c.eval_fraction = 0;
    cr_buf_init(&text);
    cr_draft_yaml(&c, f->model_dir, !tzrec, &text);
    cr_code code = tzrec ? as_pbtxt(ui, &text) : CR_OK;
    if (code == CR_OK) code = put(ui, f, &text);
    if (code == CR_OK) say(ui, f, &c);
    cr_buf_clear(&text);
    return code;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *f = flags;
    cr_pool *pool = NULL;
    cr_err err;
    if (strcmp(f->like, "yaml") != 0 && strcmp(f->like, "tzrec") != 0)
        return cr_ui_wrong(ui, "--like is '%s' and must be yaml or tzrec", f->like);
    if (f->output && !f->force && cr_path_exists(f->output))
        return cr_ui_wrong(ui, "%s is there already; name another file, or add --force", f->output);
    if (cr_pool_new(&pool, f->threads ? (int)f->threads : cr_cpu_count(), &err) != CR_OK)
        return cr_ui_fail(ui, &err);
    cr_survey s;
    cr_survey_opts o = {
        .paths = f->data, .label = f->label, .max_rows = f->rows, .cuts = CUTS, .pool = pool};
    cr_code code = cr_survey_make(&s, &o, &ui->diag);
    if (code == CR_OK) code = make(ui, f, &s);
    cr_survey_clear(&s);
    cr_pool_free(pool);
    return code;
}

static const char *const examples[] = {
    "crank init train.csv --label click -o pipeline.yaml",
    "crank init 'data/*.parquet' -o pipeline.yaml --model_dir experiments/first",
    "crank init train.csv --like tzrec -o pipeline.config",
    NULL,
};

const cr_cmd cr_cmd_init = {
    .name = "init",
    .help = "Make a first config from data: features, label, model and sizes, with the reasons",
    .operand = "DATA",
    .operand_opt = "data",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
