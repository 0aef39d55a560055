/*
 * cmd_benchmark.c - `crank benchmark`, TorchEasyRec's tzrec.benchmark.benchmark.
 *
 * The lines are TorchEasyRec's without its colours; a table follows them. TorchEasyRec ends with 0
 * whatever it found; here a metric that is worse than its base, and a config that does not train,
 * are a failure.
 */
#include <math.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/grid.h"

typedef struct args {
    cr_config_flags config;
    int64_t threads, runs;
    const char *experiment_path, *base_metric_path;
} args;

static const cr_opt opts[] = {
    CR_OPT_AT(args, config.pipeline_config_path, "pipeline_config_path", CR_O_STR, 0, CR_O_PATH,
              "PATH", "tzrec/benchmark/configs", NULL, 0, 0,
              "config, or folder of configs; PATH without a flag means this"),
    CR_OPT_(args, experiment_path, CR_O_STR, 0, CR_O_PATH, "PATH", "tmp", NULL, 0, 0,
            "models, configs and logs go to PATH_<seconds since 1970>"),
    CR_OPT_STR(args, base_metric_path, CR_O_PATH, "FILE",
               "base_eval_metric.json beside the configs",
               "base results: {\"config\": {\"label\": {\"auc\": 0.7}, \"threshold\": 0.01, "
               "\"run_cnt\": 3}}"),
    CR_OPT_CONFIG_STR(args, train_input_path, CR_O_PATHS, "PATHS", "as the configs say",
                      "training data; {DIR} and {NAME} are folder and name of the config"),
    CR_OPT_CONFIG_STR(args, eval_input_path, CR_O_PATHS, "PATHS", "as the configs say",
                      "evaluation data"),
    CR_OPT_INT(args, runs, "N", "0", "run_cnt of the base results", 0, 1000,
               "trainings of each config"),
    CR_OPT_EDIT_JSON(args),
    CR_OPT_SET(args),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

static void names(cr_buf *out, const cr_benchmark_config *c, cr_benchmark_verdict which) {
    int n = 0;
    cr_buf_char(out, '[');
    for (int i = 0; i < c->n_metrics; i++)
        if (c->metrics[i].verdict == which)
            cr_buf_printf(out, "%s'%s'", n++ ? ", " : "", c->metrics[i].name);
    cr_buf_char(out, ']');
}

static void means(cr_buf *out, const cr_benchmark_config *c) {
    int n = 0;
    cr_buf_char(out, '{');
    for (int i = 0; i < c->n_metrics; i++)
        if (!isnan(c->metrics[i].mean))
            cr_buf_printf(out, "%s'%s': %.6f", n++ ? ", " : "", c->metrics[i].name,
                          c->metrics[i].mean);
    cr_buf_char(out, '}');
}

/* Prints the line that TorchEasyRec prints for a config. */
static void say_config(const cr_benchmark_config *c) {
    cr_buf b;
    cr_buf_init(&b);
    const char *before = "all train metric is:";
    bool better = c->n_better > 0, worse = c->n_worse > 0;
    if (c->unbelievable)
        cr_buf_str(&b, "[ERROR] ");
    else if (better && worse)
        cr_buf_str(&b, "[HAS BETTER AND WORSE] ");
    else if (better)
        cr_buf_str(&b, "[BETTER] ");
    else if (worse)
        cr_buf_str(&b, "[WORSE] ");
    else if (c->has_base)
        cr_buf_str(&b, "[BALANCE] ");
    cr_buf_printf(&b, "config_path:%s, fail_cnt:%d and run_cnt:%d. ", c->path, c->n_failed,
                  c->n_runs - c->n_failed);
    if (c->unbelievable) {
        before = "metric is unbelief, train metric: ";
    } else if (better || worse) {
        if (worse) cr_buf_str(&b, "worse metric name:");
        if (worse) names(&b, c, CR_BENCH_WORSE);
        if (better) cr_buf_printf(&b, "%sbetter metric name:", worse ? ", " : "");
        if (better) names(&b, c, CR_BENCH_BETTER);
        cr_buf_str(&b, ", ");
    } else if (c->has_base) {
        cr_buf_str(&b, "not has better and worse metric name, ");
    }
    cr_buf_str(&b, before);
    means(&b, c);
    cr_ui_say("%s\n", b.data);
    if (c->why) cr_ui_say("        %s; the log is %s\n", c->why, c->log);
    cr_buf_clear(&b);
}

static void on_begin(void *ctx, const cr_benchmark *b) {
    (void)ctx;
    cr_ui_say("******* We will save experiment is %s *******\n", b->dir);
    fflush(stdout);
}

static void on_config(void *ctx, const cr_benchmark_config *c) {
    (void)ctx;
    say_config(c);
    fflush(stdout);
}

static const char *verdict(const cr_benchmark_config *c, const cr_benchmark_metric *m) {
    static const char *const words[] = {"-", "better", "WORSE", "balance"};
    return c->unbelievable ? "ERROR" : words[m->verdict];
}

static void say_table(cr_ui *ui, const cr_benchmark *b) {
    enum { CONFIG, RUNS, SPEED, METRIC, MEAN, BASE, DIFF, VERDICT, N };
    static const unsigned flags[N] = {CR_GRID_SHRINK, CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_LEFT,
                                      CR_GRID_RIGHT,  CR_GRID_RIGHT, CR_GRID_RIGHT, CR_GRID_LEFT};
    static const char *const heads[N] = {"config", "runs", "rows/s",     "metric",
                                         "mean",   "base", "difference", "verdict"};
    cr_arena *a = &ui->arena;
    cr_grid g;
    cr_grid_init(&g, a, N, flags);
    const char **row = cr_grid_row(&g);
    for (int i = 0; i < N; i++)
        row[i] = heads[i];
    for (int i = 0; i < b->n; i++) {
        const cr_benchmark_config *c = &b->v[i];
        for (int k = 0; k == 0 || k < c->n_metrics; k++) {
            char rate[32];
            row = cr_grid_row(&g);
            if (k == 0) {
                row[CONFIG] = c->path;
                row[RUNS] = cr_arena_printf(a, "%d/%d", c->n_runs - c->n_failed, c->n_runs);
                if (c->rows_per_s > 0)
                    row[SPEED] = cr_arena_strdup(a, cr_fmt_count(rate, c->rows_per_s));
            }
            row[VERDICT] = "ERROR";
            if (!c->n_metrics) break;
            const cr_benchmark_metric *m = &c->metrics[k];
            row[METRIC] = m->name;
            if (!isnan(m->mean)) row[MEAN] = cr_arena_printf(a, "%.4f", m->mean);
            if (!isnan(m->base)) row[BASE] = cr_arena_printf(a, "%.4f", m->base);
            if (!isnan(m->mean - m->base))
                row[DIFF] = cr_arena_printf(a, "%+.4f", m->mean - m->base);
            row[VERDICT] = verdict(c, m);
        }
    }
    cr_grid_print(&g, cr_screen_width());
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_benchmark_opts o = {
        .config_path = a->config.pipeline_config_path,
        .experiment_path = a->experiment_path,
        .base_path = a->base_metric_path,
        .train_input_path = a->config.train_input_path,
        .eval_input_path = a->config.eval_input_path,
        .edit_config_json = a->config.edit_config_json,
        .set = a->config.set.v,
        .n_set = a->config.set.n,
        .runs = (int)a->runs,
        .threads = (int)a->threads,
        .allow_libraries = ui->allow_libraries,
        .begins = on_begin,
        .done = on_config,
    };
    cr_benchmark b;
    CR_TRY(cr_benchmark_run(&o, &b, &ui->arena, &ui->diag));
    int n_worse = 0, n_failed = 0;
    cr_ui_say("==============================\n==============================\n");
    for (int i = 0; i < b.n; i++) {
        say_config(&b.v[i]);
        n_worse += !b.v[i].unbelievable && b.v[i].n_worse > 0;
        n_failed += b.v[i].unbelievable;
    }
    cr_ui_say("benchmark complete !!!\n\n");
    say_table(ui, &b);
    cr_ui_say("the means are in %s/benchmark_eval.txt\n", b.dir);
    if (!n_worse && !n_failed) return CR_OK;
    cr_diag_add(&ui->diag, CR_SEV_ERROR, CR_ERUN, CR_NOWHERE,
                "of %d config%s %d %s worse than the base results and %d did not train", b.n,
                b.n == 1 ? "" : "s", n_worse, n_worse == 1 ? "is" : "are", n_failed);
    return CR_ERUN;
}

static const char *const examples[] = {
    "crank python -m tzrec.benchmark.benchmark --pipeline_config_path "
    "tzrec/benchmark/configs/criteo "
    "--experiment_path experiments/bench",
    "crank benchmark configs --train_input_path 'data/{DIR}/train/*.parquet' --eval_input_path "
    "'data/{DIR}/eval/*.parquet' --set data_config.dataset_type=ParquetDataset",
    NULL,
};

const cr_cmd cr_cmd_benchmark = {
    .name = "benchmark",
    .module = "tzrec.benchmark.benchmark",
    .help = "Train configs several times and compare their metrics with base results",
    .about =
        "Each run has its own folder, log and seed. {PROJECT} in a config is CI_ODPS_PROJECT_NAME "
        "of the\nenvironment. A metric that is worse than its base by the threshold or more, or a "
        "config of which\nhalf the runs fail, makes the exit code 1.\n",
    .operand = "PATH",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .job = true,
    .run = run,
};
