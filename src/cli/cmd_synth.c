/*
 * cmd_synth.c - `crank synth`: makes data with a known best score and a config that fits it, or
 * data that fits a config.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "cli/cli.h"
#include "synth/synth.h"

typedef struct args {
    cr_config_flags config; /* used with --for */
    int64_t threads;
    const char *kind, *output_dir, *format;
    int64_t rows, eval_rows;
    uint64_t seed;
    double scale;
} args;

static const cr_opt opts[] = {
    CR_OPT_STR(args, kind, 0, "NAME", "none",
               "criteo, taobao or census; NAME without a flag means this"),
    CR_OPT_AT(args, config.pipeline_config_path, "for", CR_O_STR, 0, CR_O_PATH, "CONFIG", NULL,
              "none", 0, 0, "instead of NAME: make data that fits this config"),
    CR_OPT_(args, output_dir, CR_O_STR, 'o', CR_O_REQUIRED | CR_O_PATH, "DIR", NULL, NULL, 0, 0,
            "folder to write to: new, empty, or made by crank synth"),
    CR_OPT_(args, rows, CR_O_COUNT, 0, 0, "N", "100k", NULL, 1, 1e12,
            "rows to train on, for example 250k or 10M"),
    CR_OPT_(args, eval_rows, CR_O_COUNT, 0, 0, "N", "0", "a fifth of --rows, 1k to 1M", 0, 1e12,
            "rows to evaluate on"),
    CR_OPT_(args, seed, CR_O_UINT64, 0, 0, "S", "1", NULL, 0, 0, "seed of the random numbers"),
    CR_OPT_(args, scale, CR_O_FLOAT, 0, 0, "X", "1", NULL, 1e-6, 1e3,
            "factor of the numbers of distinct ids; not with --for"),
    CR_OPT_STR(args, format, 0, "F", "csv; with --for as the config says",
               "format of the files: csv or parquet"),
    CR_OPT_EDIT_JSON(args),
    CR_OPT_SET(args),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

static const char *next_word(const void *ctx, size_t i) {
    return ((const char *const *)ctx)[i];
}

static cr_code check_word(cr_ui *ui, const char *what, const char *word, const char *const *words) {
    char all[160] = "";
    for (const char *const *k = words; *k; k++) {
        if (strcmp(*k, word) == 0) return CR_OK;
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", n ? ", " : "", *k);
    }
    const char *near = cr_nearest(word, next_word, words);
    if (near) return cr_ui_wrong(ui, "unknown %s '%s'; did you mean '%s'?", what, word, near);
    return cr_ui_wrong(ui, "unknown %s '%s'; use one of %s", what, word, all);
}

static cr_code check(cr_ui *ui, const args *a) {
    bool config = a->config.pipeline_config_path != NULL;
    if (a->kind && config)
        return cr_ui_wrong(ui, "NAME and --for are two kinds of data; give one of them");
    if (!a->kind && !config)
        return cr_ui_wrong(ui, "nothing says which data; give criteo, taobao or census, or --for "
                               "CONFIG");
    if (!config && (a->config.set.n || a->config.edit_config_json))
        return cr_ui_wrong(ui, "--set and --edit_config_json edit the config of --for; give that");
    if (a->kind) CR_TRY(check_word(ui, "data", a->kind, cr_synth_kinds));
    if (a->format) CR_TRY(check_word(ui, "format", a->format, cr_synth_formats));
    return CR_OK;
}

static cr_code make(cr_ui *ui, const args *a, cr_synth_opts *o) {
    cr_config_opts config;
    if (a->config.pipeline_config_path) {
        cr_config_from(&a->config, &config);
        return cr_synth_for(&config, (int)a->threads, o, &ui->diag);
    }
    cr_err err;
    cr_pool *pool = NULL;
    int threads = a->threads ? (int)a->threads : cr_cpu_count();
    if (cr_pool_new(&pool, threads, &err) != CR_OK) return cr_ui_fail(ui, &err);
    cr_code code = cr_synth(o, pool, &err);
    cr_pool_free(pool);
    return code == CR_OK ? CR_OK : cr_ui_fail(ui, &err);
}

/* Prints the best possible scores. */
static void say_scores(const cr_synth_result *r) {
    if (r->n_labels == 0)
        cr_ui_say("  synth.json     what is in it; best possible on eval: AUC %.4f, logloss %.4f\n",
                  r->auc, r->logloss);
    if (r->after_rate > 0)
        cr_ui_say("                 of the second label: AUC %.4f where it can be 1, %.4f over all "
                  "rows\n",
                  r->after_auc, r->both_auc);
    if (r->n_labels > 0) cr_ui_say("  synth.json     what is in it\n");
    for (int i = 0; i < r->n_labels; i++)
        if (!isnan(r->labels[i].auc))
            cr_ui_say("                 %s: %.1f%% positive, best possible AUC on eval %.4f\n",
                      r->labels[i].name, 100 * r->labels[i].mean, r->labels[i].auc);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    CR_TRY(check(ui, a));
    cr_synth_result res = {0};
    cr_synth_opts o = {
        .kind = a->kind,
        .rows = a->rows,
        .eval_rows = a->eval_rows,
        .seed = a->seed,
        .scale = a->scale,
        .dir = a->output_dir,
        .format = a->format,
        .result = &res,
    };
    double start = cr_now();
    CR_TRY(make(ui, a, &o));
    double seconds = cr_now() - start;
    char rows[32], eval_rows[32], time[32], rate[32], bytes[32], positive[32] = "";
    double all = (double)(res.rows + res.eval_rows);
    cr_ui_say("made  %s rows in %s (%s rows/s), %s, in %s\n", cr_fmt_count(rows, all),
              cr_fmt_time(time, seconds),
              cr_fmt_count(rate, all / (seconds > 1e-6 ? seconds : 1e-6)),
              cr_fmt_bytes(bytes, (double)res.bytes), o.dir);
    cr_ui_say("  train/         %s rows in %d files\n", cr_fmt_count(rows, (double)res.rows),
              res.n_files);
    if (res.n_labels == 0)
        snprintf(positive, sizeof positive, ", %.1f%% positive", 100 * res.label_rate);
    cr_ui_say("  eval/          %s rows in %d files%s\n",
              cr_fmt_count(eval_rows, (double)res.eval_rows), res.n_eval_files, positive);
    say_scores(&res);
    cr_ui_say("  pipeline.yaml  a config that fits\n");
    cr_ui_next(ui, "crank train %s",
               cr_ui_quote(ui, cr_arena_printf(&ui->arena, "%s/pipeline.yaml", o.dir)));
    return CR_OK;
}

static const char *const examples[] = {
    "crank synth criteo --rows 1M --scale 0.01 -o data/criteo",
    "crank synth census --rows 20k -o data/census && crank train data/census/pipeline.yaml",
    "crank synth taobao --rows 5M --format parquet -o data/taobao",
    "crank synth --for my.config --rows 50k -o data/mine && crank train data/mine/pipeline.yaml",
    NULL,
};

const cr_cmd cr_cmd_synth = {
    .name = "synth",
    .help = "Make data with a known best score, and a config that fits it",
    .about =
        "The rows depend on name (or config), seed, scale and row number only, not on threads.\n"
        "With --for the columns are those that the config's features, labels and weights read, "
        "with\nvalues they can use; labels depend on them, so that there is something to "
        "learn.\n",
    .operand = "NAME",
    .words = "criteo taobao census",
    .operand_opt = "kind",
    .job = true,
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .run = run,
};
