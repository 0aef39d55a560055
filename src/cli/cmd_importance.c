/*
 * cmd_importance.c - `crank importance`: what each feature is worth.
 */
#include <math.h>
#include <stdio.h>

#include "base/cpu.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/grid.h"
#include "cli/keep.h"
#include "explain/explain.h"

typedef struct args {
    cr_config_flags config;
    int64_t threads, rows, seed;
    const char *checkpoint_path, *measure, *output, *svg, *order;
    bool json;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG(args),
    CR_OPT_CHECKPOINT(args, 0, "newest of model_dir"),
    CR_OPT_EVAL_INPUT(args),
    CR_OPT_AT(args, config.eval_input_path, "data", CR_O_STR, 0, CR_O_PATHS, "PATHS", NULL,
              "--eval_input_path", 0, 0, "another name for --eval_input_path"),
    CR_OPT_(args, rows, CR_O_COUNT, 0, CR_O_ALL, "N", "-1", "by the work", -1, 4e9,
            "rows to keep in memory and look at, from the first one on, or all; by the work: the "
            "first 200k, and of these as many, evenly, as cost a fifth of features x an "
            "evaluation, or about a third of a second"),
    CR_OPT_INT(args, seed, "N", "1", NULL, 0, 9e15, "decides which row gets whose value"),
    CR_OPT_STR(args, measure, 0, "NAME", "the first AUC, else the first loss",
               "the result that orders the table and the picture"),
    CR_OPT_BOOL(args, json, 0, "print one JSON object"),
    CR_OPT_STR(args, output, CR_O_PATH, "FILE", "in model_dir",
               "file that gets the JSON object, instead of importance.json in model_dir, which "
               "crank board and crank report show"),
    CR_OPT_STR(args, svg, CR_O_PATH, "FILE", "none", "write a bar chart"),
    CR_OPT_STR(
        args, order, CR_O_PATH, "FILE", "none",
        "write for each row, from 0 on, the row whose values it got; both where not all rows "
        "are taken"),
    CR_OPT_MODEL_DIR(args),
    CR_OPT_ACCEPT(args),
    CR_OPT_SET(args),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

static const char *change(cr_ui *ui, cr_paired p) {
    if (isnan(p.diff)) return "-";
    return cr_arena_printf(&ui->arena, "%.6f", p.diff);
}
static const char *error(cr_ui *ui, cr_paired p) {
    return isnan(p.error) ? "" : cr_arena_printf(&ui->arena, "±%.6f", 1.959963984540054 * p.error);
}

static void table(cr_ui *ui, const cr_importance *r, int m) {
    static const unsigned flags[] = {CR_GRID_LEFT | CR_GRID_SHRINK,
                                     CR_GRID_LEFT,
                                     CR_GRID_RIGHT,
                                     CR_GRID_RIGHT,
                                     CR_GRID_RIGHT,
                                     CR_GRID_RIGHT,
                                     CR_GRID_RIGHT};
    cr_grid g;
    cr_grid_init(&g, &ui->arena, 7, flags);
    const char **c = cr_grid_row(&g);
    c[0] = "name", c[1] = "kind", c[2] = "shuffled", c[3] = "95 %", c[4] = "removed", c[5] = "95 %",
    c[6] = "rows changed";
    const int *order = cr_importance_order(r, m, &ui->arena);
    for (int i = 0; i < r->n_units; i++) {
        const cr_unit_result *u = &r->units[order[i]];
        c = cr_grid_row(&g);
        c[0] = cr_plain(&ui->arena, u->name, strlen(u->name));
        c[1] = u->kind;
        if (!u->used) {
            c[2] = "not used";
            continue;
        }
        c[2] = change(ui, u->worth[m].shuffled);
        c[3] = error(ui, u->worth[m].shuffled);
        c[4] = change(ui, u->worth[m].removed);
        c[5] = error(ui, u->worth[m].removed);
        c[6] = cr_arena_printf(&ui->arena, "%.1f %%",
                               100.0 * (double)u->rows_shuffled / (double)r->rows);
    }
    cr_grid_print_names(&g);
}

static const char *measure_name(const void *ctx, size_t i) {
    const cr_importance *r = ctx;
    return i < (size_t)r->n_measures ? r->measures[i].name : NULL;
}

/* Finds the measure to order by; -1: there is none of that name. */
static int find_measure(const cr_importance *r, const char *name) {
    for (int i = 0; name && i < r->n_measures; i++)
        if (strcmp(r->measures[i].name, name) == 0) return i;
    return name ? -1 : 0;
}

static cr_code write_files(cr_ui *ui, const args *a, const cr_importance *r, int m,
                           const cr_buf *order, const cr_buf *json, const char **path,
                           cr_err *err) {
    cr_buf out;
    cr_buf_init(&out);
    cr_code code = CR_OK;
    if (a->svg) {
        cr_importance_svg(&out, r, m);
        code = cr_file_write(a->svg, out.data, out.n, err);
    }
    if (code == CR_OK && a->order) code = cr_file_write(a->order, order->data, order->n, err);
    *path = NULL;
    if (code == CR_OK)
        code =
            cr_keep_result(ui, &(cr_keep){a->output, "--output", r->dir, CR_BOARD_IMPORTANCE_FILE},
                           json, path, err);
    cr_buf_clear(&out);
    return code;
}

static cr_code show(cr_ui *ui, const args *a, const cr_importance *r, const cr_buf *order,
                    double seconds) {
    cr_err err;
    int m = find_measure(r, a->measure);
    if (m < 0) {
        const char *near = cr_nearest(a->measure, measure_name, r);
        return cr_ui_wrong(ui, "--measure '%s' is no AUC or loss of this model; it has '%s'%s",
                           a->measure, near ? near : r->measures[0].name,
                           near || r->n_measures == 1 ? "" : " and others: see --json");
    }
    cr_buf json;
    const char *path;
    cr_buf_init(&json);
    cr_importance_json(&json, r);
    cr_code code = write_files(ui, a, r, m, order, &json, &path, &err);
    cr_ui_findings(ui);
    if (code == CR_OK && a->json) {
        cr_ui_put(json.data, json.n);
    } else if (code == CR_OK) {
        char rows[32], time[32];
        cr_ui_say("importance  %s rows%s, %d features in %s\n  checkpoint  %s\n",
                  cr_fmt_count(rows, (double)r->rows), r->cut ? " (there are more: --rows)" : "",
                  r->n_features, cr_fmt_time(time, seconds), r->checkpoint);
        if (r->rows < r->read)
            cr_ui_say("  rows        %lld of the first %lld, evenly, so that this costs a fifth of "
                      "features x an evaluation; --rows all takes all\n",
                      (long long)r->rows, (long long)r->read);
        for (int i = 0; i < r->n_measures; i++)
            cr_ui_say("  %-10s  %.6f\n", r->measures[i].name, r->measures[i].value);
        cr_ui_say("\n%s %s\n", r->measures[m].name, r->measures[m].auc ? "lost" : "gained");
        table(ui, r, m);
        if (path) cr_ui_say("\nwritten for crank board: %s\n", path);
    }
    cr_buf_clear(&json);
    return code == CR_OK ? CR_OK : cr_ui_fail(ui, &err);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_buf order;
    cr_buf_init(&order);
    cr_importance_opts o = {.checkpoint_path = a->checkpoint_path,
                            .max_rows = a->rows,
                            .seed = (uint64_t)a->seed,
                            .threads = (int)a->threads,
                            .order = a->order ? &order : NULL,
                            .watch = cr_ui_watch(ui)};
    cr_config_from(&a->config, &o.config);
    cr_importance r;
    double start = cr_now();
    cr_code code = cr_importance_run(&o, &r, &ui->arena, &ui->diag);
    if (code == CR_OK) code = show(ui, a, &r, &order, cr_now() - start);
    cr_buf_clear(&order);
    return code;
}

static const char *const examples[] = {
    "crank importance experiments/deepfm",
    "crank importance experiments/deepfm/export --eval_input_path 'data/eval/*.csv' --svg "
    "importance.svg",
    NULL,
};

const cr_cmd cr_cmd_importance = {
    .name = "importance",
    .help = "What each feature, group and sequence is worth: AUC and loss without it",
    .about = "CONFIG may be a model_dir or an export. A feature is shuffled (each row gets the "
             "value of another row)\nand removed (its vector is zeros); every feature in one pass "
             "over the data, with 95 % intervals.\n",
    .operand = "CONFIG",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .job = true,
    .run = run,
};
