/*
 * cmd_profile.c - `crank profile`: one look at the columns of a table, without a config.
 */
#include "base/cpu.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/profile_out.h"

typedef struct args {
    const char *data, *label, *html;
    bool json;
    int64_t rows, threads;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, data, CR_O_STR, 0, CR_O_REQUIRED | CR_O_PATHS, "PATHS", NULL, NULL, 0, 0,
            "CSV or Parquet files, folders or quoted globs, with commas; DATA without a flag means "
            "this"),
    CR_OPT_STR(args, label, 0, "COLUMN", "guessed",
               "the label, by name or number; an empty text: there is none"),
    CR_OPT_(args, rows, CR_O_COUNT, 0, CR_O_ALL, "N", "0", "all", 0, 1e15,
            "stop after about so many rows: at the end of a block"),
    CR_OPT_BOOL(args, json, 0, "print one JSON object"),
    CR_OPT_STR(args, html, CR_O_PATH, "FILE", "none", "write a page"),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

static cr_code show(cr_ui *ui, const args *f, const cr_survey *s) {
    cr_buf out;
    cr_err err;
    cr_code code = CR_OK;
    cr_buf_init(&out);
    if (f->html) {
        cr_profile_html(&out, s);
        code = cr_file_write(f->html, out.data, out.n, &err);
        cr_buf_reset(&out);
    }
    if (code == CR_OK && f->json) {
        cr_profile_json(&out, s);
        cr_ui_put(out.data, out.n);
    } else if (code == CR_OK) {
        cr_profile_table(ui, s);
        if (s->label >= 0)
            cr_ui_next(ui, "crank init %s --label %s -o pipeline.yaml", cr_ui_quote(ui, f->data),
                       cr_ui_quote(ui, s->cols[s->label].name));
    }
    cr_buf_clear(&out);
    return code == CR_OK ? CR_OK : cr_ui_fail(ui, &err);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *f = flags;
    cr_pool *pool = NULL;
    cr_err err;
    if (cr_pool_new(&pool, f->threads ? (int)f->threads : cr_cpu_count(), &err) != CR_OK)
        return cr_ui_fail(ui, &err);
    cr_survey s;
    cr_survey_opts o = {
        .paths = f->data, .label = f->label, .max_rows = f->rows, .cuts = 32, .pool = pool};
    cr_code code = cr_survey_make(&s, &o, &ui->diag);
    if (code == CR_OK) code = show(ui, f, &s);
    cr_survey_clear(&s);
    cr_pool_free(pool);
    return code;
}

static const char *const examples[] = {
    "crank profile train.csv --label click",
    "crank profile 'data/*.parquet' --html profile.html",
    NULL,
};

const cr_cmd cr_cmd_profile = {
    .name = "profile",
    .help = "Look at the columns of CSV or Parquet files: types, missing values, what they tell of "
            "a label",
    .operand = "DATA",
    .operand_opt = "data",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
