/*
 * cmd_bench.c - `crank bench`: people get the figures with words and units, and --json has the
 * keys.
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/json.h"
#include "cli/bench_words.h"
#include "cli/grid.h"
#include "kern/kern.h"
#include "tool/bench.h"

typedef struct args {
    cr_config_flags config; /* its path is the second word of topic */
    cr_opt_list topic;
    int64_t threads;
    double seconds;
    bool from_files, json, compare;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, topic, CR_O_LIST, 0, CR_O_PATH, "WHAT [CONFIG]", NULL, NULL, 0, 0,
            "train, predict, read, features, lookup, gemm (these with a config), limits"),
    CR_OPT_TRAIN_INPUT(args),
    CR_OPT_(args, seconds, CR_O_FLOAT, 0, 0, "SECONDS", "3", NULL, 0.05, 3600,
            "how long each measurement is repeated"),
    CR_OPT_BOOL(args, from_files, 0,
                "train: read the files while training, do not hold batches in memory"),
    CR_OPT_BOOL(args, json, 0, "print one JSON object"),
    CR_OPT_BOOL(args, compare, 0,
                "measure nothing: two saved results of --json, as in --compare A.json B.json, side "
                "by side"),
    CR_OPT_SET(args),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

static const struct {
    const char *bench, *what, *legend;
} tables[] = {
    {"features", "feature type", NULL},
    {"gemm", "rows x in x out, kernels",
     "GFLOP/s of the outputs (fwd), of the gradients of inputs (dx) and of weights (dw);\n"
     "nz: zeros among the inputs are left out; BF16: inputs have 16 bits, or are sums of two "
     "(BF16x3)\n"
     "or three (BF16x6) such values; every product is counted once"},
    {"limits", "kernels", NULL},
};

static const cr_bench_fact *find_fact(const cr_bench *b, const char *key) {
    for (int i = 0; key && i < b->n; i++)
        if (strcmp(b->v[i].key, key) == 0) return &b->v[i];
    return NULL;
}

/* Does the line of another figure hold this one? */
static bool is_part(const cr_bench *b, const char *bench, const char *key) {
    for (int i = 0; i < b->n; i++) {
        const cr_bench_word *w = cr_bench_words(bench, b->v[i].key);
        if (!w) continue;
        if ((w->share && strcmp(w->share, key) == 0) || (w->whole && strcmp(w->whole, key) == 0))
            return true;
    }
    return false;
}

static void print_figure(const cr_bench *b, const cr_bench_fact *f, const cr_bench_word *w) {
    char text[64];
    cr_bench_value(text, sizeof text, f->value, f->unit);
    cr_ui_say("%-33s %s", w->label, text);
    const cr_bench_fact *share = find_fact(b, w->share), *whole = find_fact(b, w->whole);
    if (share) {
        cr_bench_value(text, sizeof text, share->value, share->unit);
        cr_ui_say(", %s", text);
    }
    if (share && whole) {
        cr_bench_value(text, sizeof text, whole->value, whole->unit);
        cr_ui_say(" of the %s that %s", text, w->reached);
    }
    cr_ui_say("\n");
}

/* Returns the number without its unit. */
static const char *cell_text(cr_arena *a, const cr_bench_fact *f) {
    char t[32];
    if (strcmp(f->unit, "rows/s") == 0) return cr_arena_strdup(a, cr_fmt_count(t, f->value));
    return cr_arena_printf(a, *f->unit ? "%.1f" : "%.0f", f->value);
}

/* Prints all rows in one table; a row may lack some of the columns. */
static void print_table(cr_ui *ui, const cr_bench *b, const char *what) {
    const char *keys[CR_BENCH_COLUMNS];
    unsigned flags[1 + CR_BENCH_COLUMNS] = {CR_GRID_LEFT};
    int n = 0;
    for (int i = 0; i < b->n_rows; i++)
        for (int k = 0; k < b->rows[i].n; k++) {
            int c = 0;
            while (c < n && strcmp(keys[c], b->rows[i].v[k].key) != 0)
                c++;
            if (c < n) continue;
            if (n == CR_BENCH_COLUMNS) CR_BUG("too many columns");
            keys[n++] = b->rows[i].v[k].key;
            flags[n] = CR_GRID_RIGHT;
        }
    cr_grid t;
    cr_grid_init(&t, &ui->arena, 1 + n, flags);
    const char **head = cr_grid_row(&t);
    head[0] = what;
    for (int c = 0; c < n; c++) {
        head[1 + c] = cr_bench_column(keys[c]);
        if (!head[1 + c]) CR_BUG("a column has no words");
    }
    for (int i = 0; i < b->n_rows; i++) {
        const char **cells = cr_grid_row(&t);
        cells[0] = b->rows[i].name;
        for (int k = 0; k < b->rows[i].n; k++)
            for (int c = 0; c < n; c++)
                if (strcmp(keys[c], b->rows[i].v[k].key) == 0)
                    cells[1 + c] = cell_text(&ui->arena, &b->rows[i].v[k]);
    }
    cr_ui_say("\n");
    cr_grid_print(&t, cr_screen_width());
}

static void print_text(cr_ui *ui, const cr_bench *b, const char *bench) {
    char cpu[96];
    cr_ui_say("%-33s %s, %s\n", "CPU, kernels", cr_cpu_name(cpu), cr_cpu_level_name(cr_kern_level));
    for (int i = 0; i < b->n; i++) {
        const cr_bench_word *w = cr_bench_words(bench, b->v[i].key);
        if (is_part(b, bench, b->v[i].key)) continue;
        if (!w) CR_BUG("a figure has no words");
        print_figure(b, &b->v[i], w);
    }
    if (b->n_rows == 0) return;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(tables[i].bench, bench) != 0) continue;
        print_table(ui, b, tables[i].what);
        if (tables[i].legend) cr_ui_say("\n%s\n", tables[i].legend);
    }
}

/* Writes the unit of each key that has one, and that is not among the keys before it. */
static void json_units(cr_jw *w, const cr_bench *b) {
    cr_map seen;
    cr_map_init(&seen);
    cr_jw_obj(w, "units");
    for (int i = -1; i < b->n_rows; i++) {
        const cr_bench_fact *v = i < 0 ? b->v : b->rows[i].v;
        for (int k = 0; k < (i < 0 ? b->n : b->rows[i].n); k++)
            if (*v[k].unit && cr_map_put(&seen, v[k].key, strlen(v[k].key), 1))
                cr_jw_str(w, v[k].key, v[k].unit);
    }
    cr_jw_end(w);
    cr_map_clear(&seen);
}

static void print_json(const cr_bench *b, const char *what) {
    char cpu[96];
    cr_buf out;
    cr_jw w;
    cr_buf_init(&out);
    cr_jw_init(&w, &out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "bench", what);
    cr_jw_str(&w, "cpu", cr_cpu_name(cpu));
    cr_jw_str(&w, "kernels", cr_cpu_level_name(cr_kern_level));
    json_units(&w, b);
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

static cr_code compare(cr_ui *ui, const args *a) {
    cr_err err;
    if (a->topic.n != 2)
        return usage(ui,
                     "--compare takes two files that 'crank bench WHAT CONFIG --json' has written: "
                     "crank bench --compare A.json B.json%s%s",
                     "", "");
    if (cr_bench_compare(ui, a->topic.v, a->json, &err) != CR_OK) return cr_ui_fail(ui, &err);
    return CR_OK;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    if (a->compare) return compare(ui, a);
    if (a->topic.n == 0)
        return usage(ui,
                     "say what to measure: 'crank bench WHAT CONFIG' with train, predict, read, "
                     "features, lookup or gemm, or 'crank bench limits'%s%s",
                     "", "");
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
    if (ui->comm && (strcmp(what, "train") != 0 || a->from_files))
        return usage(ui,
                     "bench %s runs as one process; several ranks measure 'bench train' with "
                     "batches in memory%s",
                     what, "");
    cr_bench_opts o = {.what = what,
                       .threads = (int)a->threads,
                       .seconds = a->seconds,
                       .files = a->from_files,
                       .comm = ui->comm};
    if (k->config) {
        cr_config_from(&a->config, &o.config);
        o.config.path = a->topic.v[1];
        o.config.model_dir = "."; /* a benchmark writes nothing there */
    }
    cr_bench b;
    cr_code code = cr_bench_run(&o, &b, &ui->diag);
    if (code == CR_OK && ui->place.rank == 0) {
        cr_ui_findings(ui);
        if (a->json)
            print_json(&b, what);
        else
            print_text(ui, &b, what);
    }
    cr_bench_clear(&b);
    return code;
}

static const char *const examples[] = {
    "crank bench train experiments/deepfm/pipeline.config --threads 2",
    "crank bench predict experiments/deepfm/pipeline.config --set data_config.eval_batch_size=512",
    "crank bench gemm experiments/deepfm/pipeline.config --json",
    "mpiexec -n 2 crank bench train experiments/deepfm/pipeline.config --threads 1",
    "crank bench limits",
    "crank bench --compare before.json after.json",
    NULL,
};

const cr_cmd cr_cmd_bench = {
    .name = "bench",
    .help = "Measure training, predicting, reading, lookups and products of a config, and the "
            "machine's limits",
    .operand = "WHAT [CONFIG]",
    .words = "train predict read features lookup gemm limits",
    .operand_opt = "topic",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .ranks = true,
    .examples = examples,
    .run = run,
};
