/*
 * cmd_bench.c - `crank bench`: people get the figures with words and units, and --json has the
 * keys.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/grid.h"
#include "tool/bench.h"

typedef struct args {
    cr_config_flags config; /* its path is the second word of topic */
    cr_opt_list topic;
    int64_t threads;
    double seconds;
    bool from_files, json;
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
    CR_OPT_SET(args),
    CR_OPT_THREADS(args),
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

/* The words for a figure. Two other figures may stand in its line: "39.1 ms  89.2 %" (share), "28.3
 * GFLOP/s, 32.9 % of the 86.1 GFLOP/s that ..." (share, whole). */
typedef struct words {
    const char *bench; /* the benchmark that prints it; NULL: all of them */
    const char *key, *label;
    const char *share, *whole, *reached; /* the keys of the two others, and what the whole is */
} words;
static const words figures[] = {
    {NULL, "rows_per_s", "speed, best window", NULL, NULL, NULL},
    {NULL, "rows_per_s_median", "speed, median", NULL, NULL, NULL},
    {NULL, "rows_per_cpu_s", "speed per second of CPU time", NULL, NULL, NULL},
    {NULL, "lookups_per_s", "lookups", NULL, NULL, NULL},
    {NULL, "lookup_bytes_per_s", "memory read by lookups", NULL, NULL, NULL},
    {NULL, "update_rows_per_s", "speed of updates", NULL, NULL, NULL},
    {NULL, "updates_per_s", "updates", NULL, NULL, NULL},
    {NULL, "batch_size", "batch size", NULL, NULL, NULL},
    {NULL, "threads", "threads", NULL, NULL, NULL},
    {NULL, "steps", "steps measured", NULL, NULL, NULL},
    {NULL, "columns", "columns read", NULL, NULL, NULL},
    {NULL, "rows_read", "rows measured", NULL, NULL, NULL},
    {NULL, "tables", "tables", NULL, NULL, NULL},
    {NULL, "rows_of_a_tile", "rows of a product", NULL, NULL, NULL},
    {NULL, "group_s", "step, grouping ids", "group_share", NULL, NULL},
    {NULL, "step_s", "step, forward and backward", "step_share", NULL, NULL},
    {NULL, "update_s", "step, updating parameters", "update_share", NULL, NULL},
    {NULL, "read_wait_s", "step, waiting for data", "read_wait_share", NULL, NULL},
    {NULL, "read_share", "CPU time, reading files", NULL, NULL, NULL},
    {NULL, "parse_share", "CPU time, reading values", NULL, NULL, NULL},
    {NULL, "encode_share", "CPU time, making features", NULL, NULL, NULL},
    {NULL, "flops_per_row", "work per row", NULL, NULL, NULL},
    {NULL, "gflops", "arithmetic", "share_of_peak", "peak_gflops", "this machine reaches"},
    {NULL, "peak_gflops", "arithmetic of this machine", NULL, NULL, NULL},
    {"train", "bytes_per_row", "bytes of table rows per row", NULL, NULL, NULL},
    {"train", "bytes_per_s", "memory traffic of tables", "share_of_stream", "stream_bytes_per_s",
     "this machine reaches"},
    {NULL, "bytes_per_s", "files read", NULL, NULL, NULL},
    {NULL, "stream_bytes_per_s", "memory, in order", NULL, NULL, NULL},
    {NULL, "gather_rows_per_s", "memory, random rows of 64 bytes", NULL, NULL, NULL},
    {NULL, "gather_bytes_per_s", "memory, random rows in bytes", NULL, NULL, NULL},
    {NULL, "tables_ready_s", "time to make the parameters", NULL, NULL, NULL},
    {NULL, "table_rows", "all tables", NULL, NULL, NULL},
    {NULL, "table_bytes", "memory, tables", NULL, NULL, NULL},
    {NULL, "dense_bytes", "memory, dense parameters", NULL, NULL, NULL},
    {NULL, "state_bytes", "memory, optimizer state", NULL, NULL, NULL},
    {NULL, "batches_bytes", "memory, batches held to measure", NULL, NULL, NULL},
    {NULL, "peak_rss_bytes", "memory, peak of the process", NULL, NULL, NULL},
    {NULL, "rss_over_bytes", "memory, peak beside parameters", NULL, NULL, NULL},
    {NULL, "ranks", "ranks", NULL, NULL, NULL},
    {NULL, "sent_bytes_per_row", "sent between ranks per row", NULL, NULL, NULL},
    {NULL, "least_bytes_per_row", "the least that must be sent", NULL, NULL, NULL},
    {NULL, "sent_to_least", "sent, in times of the least", NULL, NULL, NULL},
    {NULL, "loss", "loss of the last step", NULL, NULL, NULL},
};
/* The columns of a table. The unit stands in the head or in the legend. */
static const struct {
    const char *key, *label;
} columns[] = {
    {"features", "features"},
    {"rows_per_core_s", "rows/s per core"},
    {"ns_per_row", "ns per row"},
    {"share", "% of the time"},
    {"peak_gflops", "GFLOP/s"},
    {"forward", "fwd"},
    {"dx", "dx"},
    {"dw", "dw"},
    {"forward_nz", "fwd nz"},
    {"dx_nz", "dx nz"},
    {"dw_nz", "dw nz"},
    {"forward_bf16", "fwd bf16"},
    {"dx_bf16", "dx bf16"},
    {"dw_bf16", "dw bf16"},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };
static const struct {
    const char *bench, *what, *legend;
} tables[] = {
    {"features", "feature type", NULL},
    {"gemm", "rows x in x out, kernels",
     "GFLOP/s of the outputs (fwd), of the gradients of inputs (dx) and of weights (dw);\n"
     "nz: zeros among the inputs are left out, bf16: inputs have 16 bits"},
    {"limits", "kernels", NULL},
};

static const cr_bench_fact *find_fact(const cr_bench *b, const char *key) {
    for (int i = 0; key && i < b->n; i++)
        if (strcmp(b->v[i].key, key) == 0) return &b->v[i];
    return NULL;
}

static const words *find_words(const char *bench, const char *key) {
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strcmp(figures[i].key, key) == 0 &&
            (!figures[i].bench || strcmp(figures[i].bench, bench) == 0))
            return &figures[i];
    return NULL;
}

/* Does the line of another figure hold this one? */
static bool is_part(const cr_bench *b, const char *bench, const char *key) {
    for (int i = 0; i < b->n; i++) {
        const words *w = find_words(bench, b->v[i].key);
        if (!w) continue;
        if ((w->share && strcmp(w->share, key) == 0) || (w->whole && strcmp(w->whole, key) == 0))
            return true;
    }
    return false;
}

static void print_figure(const cr_bench *b, const cr_bench_fact *f, const words *w) {
    char text[64];
    value_text(text, sizeof text, f);
    cr_ui_say("%-33s %s", w->label, text);
    const cr_bench_fact *share = find_fact(b, w->share), *whole = find_fact(b, w->whole);
    if (share) {
        value_text(text, sizeof text, share);
        cr_ui_say(", %s", text);
    }
    if (share && whole) {
        value_text(text, sizeof text, whole);
        cr_ui_say(" of the %s that %s", text, w->reached);
    }
    cr_ui_say("\n");
}

static const char *column_label(const char *key) {
    for (size_t i = 0; i < N_COLUMNS; i++)
        if (strcmp(columns[i].key, key) == 0) return columns[i].label;
    CR_BUG("a column has no words");
}

/* Returns the number without its unit. */
static const char *cell_text(cr_arena *a, const cr_bench_fact *f) {
    char t[32];
    if (strcmp(f->unit, "rows/s") == 0) return cr_arena_strdup(a, cr_fmt_count(t, f->value));
    return cr_arena_printf(a, *f->unit ? "%.1f" : "%.0f", f->value);
}

/* Prints all rows in one table; a row may lack some of the columns. */
static void print_table(cr_ui *ui, const cr_bench *b, const char *what) {
    const char *keys[N_COLUMNS];
    unsigned flags[1 + N_COLUMNS] = {CR_GRID_LEFT};
    int n = 0;
    for (int i = 0; i < b->n_rows; i++)
        for (int k = 0; k < b->rows[i].n; k++) {
            int c = 0;
            while (c < n && strcmp(keys[c], b->rows[i].v[k].key) != 0)
                c++;
            if (c < n) continue;
            if (n == N_COLUMNS) CR_BUG("too many columns");
            keys[n++] = b->rows[i].v[k].key;
            flags[n] = CR_GRID_RIGHT;
        }
    cr_grid t;
    cr_grid_init(&t, &ui->arena, 1 + n, flags);
    const char **head = cr_grid_row(&t);
    head[0] = what;
    for (int c = 0; c < n; c++)
        head[1 + c] = column_label(keys[c]);
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
    for (int i = 0; i < b->n; i++) {
        const words *w = find_words(bench, b->v[i].key);
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

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
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
    NULL,
};

const cr_cmd cr_cmd_bench = {
    .name = "bench",
    .help = "Measure training, predicting, reading, lookups and products of a config, and the "
            "machine's limits",
    .operand = "WHAT [CONFIG]",
    .operand_opt = "topic",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .ranks = true,
    .examples = examples,
    .run = run,
};
