/*
 * cmd_bench.c - `crank bench`.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "run/bench.h"

static const cr_opt opts[] = {
    CR_OPT_(topic, CR_O_LIST, 0, CR_O_REQUIRED | CR_O_PATH, "WHAT [CONFIG]", NULL, NULL, 0, 0,
            "train, predict, read, features, lookup, gemm (these with a config), limits"),
    CR_OPT_STR(train_input_path, CR_O_PATHS, "PATHS", "from the config",
               "training data: files or quoted globs, with commas"),
    CR_OPT_(seconds, CR_O_FLOAT, 0, 0, "SECONDS", "3", NULL, 0.05, 3600,
            "how long each measurement is repeated"),
    CR_OPT_BOOL(from_files, 0,
                "train: read the files while training, do not hold batches in memory"),
    CR_OPT_BOOL(json, 0, "print one JSON object"),
    CR_OPT_SET,
    CR_OPT_THREADS,
    CR_OPT_END,
};

static void value_text(char *out, size_t size, const cr_bench_fact *f) {
    char t[32];
    double x = f->value;
    if (strcmp(f->unit, "bytes") == 0)
        snprintf(out, size, "%s", cr_fmt_bytes(t, x));
    else if (strcmp(f->unit, "bytes/s") == 0)
        snprintf(out, size, "%s/s", cr_fmt_bytes(t, x));
    else if (strcmp(f->unit, "%") == 0)
        snprintf(out, size, "%.1f %%", x);
    else if (strcmp(f->unit, "GFLOP/s") == 0)
        snprintf(out, size, "%.1f GFLOP/s", x);
    else if (strcmp(f->unit, "s") == 0)
        snprintf(out, size, x < 0.1 ? "%.3f ms" : "%.3f s", x < 0.1 ? 1e3 * x : x);
    else if (!*f->unit)
        snprintf(out, size, "%.6g", x);
    else
        snprintf(out, size, "%s %s", cr_fmt_count(t, x), f->unit);
}

static void print_text(const cr_bench *b) {
    char text[64], label[64];
    for (int i = 0; i < b->n; i++) {
        value_text(text, sizeof(text), &b->v[i]);
        snprintf(label, sizeof(label), "%s", b->v[i].key);
        for (char *p = label; *p; p++)
            if (*p == '_') *p = ' ';
        cr_ui_say("%-20s  %s\n", label, text);
    }
    int width = 0;
    for (int i = 0; i < b->n_rows; i++)
        if ((int)strlen(b->rows[i].name) > width) width = (int)strlen(b->rows[i].name);
    for (int i = 0; i < b->n_rows; i++) {
        cr_ui_say("%-*s", width, b->rows[i].name);
        for (int k = 0; k < b->rows[i].n; k++) {
            value_text(text, sizeof(text), &b->rows[i].v[k]);
            cr_ui_say("  %s %s", b->rows[i].v[k].key, text);
        }
        cr_ui_say("\n");
    }
}

static void print_json(const cr_bench *b, const char *what) {
    cr_buf out;
    cr_jw w;
    cr_buf_init(&out);
    cr_jw_init(&w, &out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "bench", what);
    for (int i = 0; i < b->n; i++)
        cr_jw_f64(&w, b->v[i].key, b->v[i].value);
    if (b->n_rows > 0) {
        cr_jw_arr(&w, "rows");
        for (int i = 0; i < b->n_rows; i++) {
            cr_jw_obj(&w, NULL);
            cr_jw_str(&w, "name", b->rows[i].name);
            for (int k = 0; k < b->rows[i].n; k++)
                cr_jw_f64(&w, b->rows[i].v[k].key, b->rows[i].v[k].value);
            cr_jw_end(&w);
        }
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_ui_say("%s\n", out.data);
    cr_buf_clear(&out);
}

static const char *name_at(const void *ctx, size_t i) {
    (void)ctx;
    return cr_bench_kinds[i].name;
}

static cr_code usage(cr_ui *ui, const char *fmt, const char *a, const char *b) {
    cr_err err;
    cr_fail(&err, CR_EUSAGE, fmt, a, b);
    return cr_ui_fail(ui, &err);
}

static cr_code run(cr_ui *ui, const cr_args *a) {
    const char *what = a->topic.v[0];
    const cr_bench_kind *k = cr_bench_kinds;
    while (k->name && strcmp(k->name, what) != 0)
        k++;
    if (!k->name) {
        const char *near = cr_nearest(what, name_at, NULL);
        return near ? usage(ui, "there is no benchmark '%s'; did you mean '%s'?", what, near)
                    : usage(ui,
                            "there is no benchmark '%s'; take train, predict, read, features, "
                            "lookup, gemm or limits%s",
                            what, "");
    }
    if (k->config && a->topic.n < 2)
        return usage(ui, "%s needs a config: crank bench %s CONFIG", what, what);
    if (a->topic.n > (k->config ? 2 : 1))
        return usage(ui, "'%s' is one argument too many for bench %s", a->topic.v[a->topic.n - 1],
                     what);
    if (a->from_files && strcmp(what, "train") != 0)
        return usage(ui,
                     "--from_files is for bench train, bench %s has no use for it; leave it out%s",
                     what, "");
    cr_bench_opts o = {.what = what,
                       .threads = (int)a->threads,
                       .seconds = a->seconds,
                       .files = a->from_files};
    if (k->config) {
        cr_args with = *a;
        with.pipeline_config_path = a->topic.v[1];
        with.model_dir = "."; /* nothing is written */
        cr_args_config(&with, &o.config);
    }
    cr_bench b;
    cr_code code = cr_bench_run(&o, &b, &ui->diag);
    if (code == CR_OK) {
        cr_ui_findings(ui);
        if (a->json)
            print_json(&b, what);
        else
            print_text(&b);
    }
    cr_bench_clear(&b);
    return code;
}

static const char *const examples[] = {
    "crank bench train experiments/deepfm/pipeline.config --threads 2",
    "crank bench predict experiments/deepfm/pipeline.config --set data_config.eval_batch_size=512",
    "crank bench gemm experiments/deepfm/pipeline.config --json",
    "crank bench limits",
    NULL,
};

const cr_cmd cr_cmd_bench = {
    .name = "bench",
    .help = "Measure training, predicting, reading, lookups and products of a config, and the "
            "machine's limits",
    .operand = "WHAT [CONFIG]",
    .operand_opt = "topic",
    .opts = opts,
    .examples = examples,
    .run = run,
};
