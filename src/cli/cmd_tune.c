/*
 * cmd_tune.c - `crank tune`: trains a config with many values of some keys and finds the best.
 */
#include <string.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/grid.h"
#include "tool/tune.h"

#define SHOWN 40 /* rows of the table; trials.csv has all */

typedef struct args {
    cr_config_flags config;
    cr_opt_list tries;
    int64_t trials, parallel, threads, keep;
    uint64_t seed;
    const char *search, *metric, *direction, *output;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG(args),
    CR_OPT_AT(args, tries, "try", CR_O_LIST, 0, CR_O_REQUIRED, "KEY=VALUES", NULL, NULL, 0, 0,
              "values of a key: [a,b,...], choice(a,b), uniform(a,b), log(a,b) or int(a,b); KEY is "
              "a path, or the bare name of a key that is set; may be repeated"),
    CR_OPT_(args, trials, CR_O_INT, 0, 0, "N", "0", "the whole grid, or 20", 0, 10000,
            "how many trials"),
    CR_OPT_STR(args, search, 0, "HOW", "grid if --try has lists only and they fit, else random",
               "grid, random, or halving: short trainings first, the best of them go on"),
    CR_OPT_(args, keep, CR_O_INT, 0, 0, "N", "3", NULL, 2, 100,
            "halving keeps one of N trials and trains it N times longer"),
    CR_OPT_STR(args, metric, 0, "NAME", "best_exporter_metric, else an AUC, else the loss",
               "the result of the evaluation that trials are compared by"),
    CR_OPT_STR(args, direction, 0, "max|min", "as the metric says",
               "whether the largest or the smallest is the best"),
    CR_OPT_CONFIG_STR(args, model_dir, CR_O_PATH, "DIR", "model_dir of the config with _tune",
                      "folder of the trials; the same command goes on with what is there"),
    CR_OPT_(args, output, CR_O_STR, 'o', CR_O_PATH, "FILE", NULL, "best.yaml in that folder", 0, 0,
            "file of the best config"),
    CR_OPT_(args, parallel, CR_O_INT, 0, 0, "N", "0", "one per core, if memory allows", 0, 1024,
            "trials at once, each a process; results do not depend on it"),
    CR_OPT_(args, seed, CR_O_UINT64, 0, 0, "N", "2026", NULL, 0, 0, "of random trials"),
    CR_OPT_TRAIN_INPUT(args),
    CR_OPT_EVAL_INPUT(args),
    CR_OPT_EDIT_JSON(args),
    CR_OPT_SET(args),
    CR_OPT_INT(args, threads, "N", "0", "all cores", 0, 1024,
               "cores for all trials together, divided among those that run"),
    CR_OPT_END,
};

/* Says what is done, on standard error: standard output has the table alone. */
static void on_begin(void *ctx, const cr_tune *t) {
    (void)ctx;
    for (int k = 0; k < t->n_keys; k++) {
        const cr_tune_key *x = &t->keys[k];
        if (x->n_paths == 1 && strcmp(x->name, x->paths[0]) == 0) continue;
        for (int p = 0; p < x->n_paths && p < 6; p++)
            CR_INFO("%s means %s%s", x->name, x->paths[p],
                    p == 5 && x->n_paths > 6 ? " and others, see plan.txt" : "");
    }
    CR_INFO("%d trials in %s, %d at once with %d thread%s each; the %s %s is the best", t->n_trials,
            t->dir, t->parallel, t->cores / t->parallel > 0 ? t->cores / t->parallel : 1,
            t->cores / t->parallel > 1 ? "s" : "", t->larger ? "largest" : "smallest", t->metric);
    for (int r = 0; t->unit && r < t->n_rungs; r++)
        CR_INFO("rung %d: %s %lld", r, t->unit, (long long)t->budgets[r]);
    CR_INFO("crank board %s shows the trials", t->dir);
}

static void say_table(cr_ui *ui, const cr_tune *t) {
    cr_arena *a = &ui->arena;
    int n = t->n_keys + 5, shown = t->n_trials < SHOWN ? t->n_trials : SHOWN;
    unsigned *flags = CR_NEW_N(a, unsigned, n);
    for (int i = 0; i < n; i++)
        flags[i] = CR_GRID_RIGHT;
    flags[0] = CR_GRID_LEFT;
    flags[n - 1] = CR_GRID_SHRINK;
    cr_grid g;
    cr_grid_init(&g, a, n, flags);
    const char **row = cr_grid_row(&g);
    row[0] = "trial";
    for (int k = 0; k < t->n_keys; k++) {
        const char *dot = strrchr(t->keys[k].name, '.');
        row[1 + k] = dot ? dot + 1 : t->keys[k].name;
        flags[1 + k] = CR_GRID_RIGHT | CR_GRID_SHRINK;
    }
    row[n - 4] = t->metric;
    row[n - 3] = "step";
    if (t->unit) row[n - 2] = t->unit;
    if (t->n_failed) row[n - 1] = "failed";
    for (int i = 0; i < shown; i++) {
        const cr_tune_trial *x = &t->trials[t->order[i]];
        row = cr_grid_row(&g);
        row[0] = cr_arena_printf(a, "trial_%03d", t->order[i]);
        for (int k = 0; k < t->n_keys; k++)
            row[1 + k] = x->values[k];
        if (x->failed) {
            row[n - 1] = x->failed;
            continue;
        }
        row[n - 4] = cr_arena_printf(a, "%.6f", x->value);
        row[n - 3] = cr_arena_printf(a, "%lld", (long long)x->step);
        if (t->unit) row[n - 2] = cr_arena_printf(a, "%lld", (long long)t->budgets[x->rung]);
    }
    cr_grid_print(&g, cr_screen_width());
    if (shown < t->n_trials)
        cr_ui_say("  and %d more, in %s/trials.csv\n", t->n_trials - shown, t->dir);
}

static cr_code read_words(cr_ui *ui, const args *a, cr_tune_opts *o) {
    static const char *const names[] = {"", "grid", "random", "halving"};
    for (int i = 1; a->search && i < 4; i++)
        if (strcmp(a->search, names[i]) == 0) o->search = (cr_tune_search)i;
    if (a->search && o->search == CR_TUNE_AUTO)
        return cr_ui_wrong(ui, "--search is '%s' and must be grid, random or halving", a->search);
    o->larger = -1;
    if (a->direction && strcmp(a->direction, "max") != 0 && strcmp(a->direction, "min") != 0)
        return cr_ui_wrong(ui, "--direction is '%s' and must be max or min", a->direction);
    if (a->direction) o->larger = strcmp(a->direction, "max") == 0;
    return CR_OK;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_tune_opts o = {
        .tries = a->tries.v,
        .n_tries = a->tries.n,
        .trials = a->trials,
        .metric = a->metric,
        .dir = a->config.model_dir,
        .output = a->output,
        .parallel = (int)a->parallel,
        .threads = (int)a->threads,
        .eta = (int)a->keep,
        .seed = a->seed,
        .allow_libraries = ui->allow_libraries,
    };
    cr_tune t;
    CR_TRY(read_words(ui, a, &o));
    cr_config_from(&a->config, &o.config);
    o.config.model_dir = NULL; /* the folder of the trials is not that of the best config */
    cr_code code = cr_tune_run(&o, &t, on_begin, NULL, &ui->arena, &ui->diag);
    if (code == CR_OK) {
        say_table(ui, &t);
        if (t.best) {
            cr_ui_say("best config  %s\n", t.best);
            cr_ui_next(ui, "crank train %s", cr_ui_quote(ui, t.best));
        } else {
            code = CR_ERUN;
            cr_diag_add(&ui->diag, CR_SEV_ERROR, code, CR_NOWHERE,
                        "all %d trials failed; %s/logs tells why", t.n_trials, t.dir);
        }
    }
    cr_tune_clear(&t);
    return code;
}

static const char *const examples[] = {
    "crank tune pipeline.yaml --try lr=log(1e-4,1e-1) --trials 20",
    "crank tune pipeline.yaml --try 'model_config.deepfm.deep.hidden_units=[[256],[512,256]]' "
    "--try 'lr=[0.001,0.01]'",
    "crank tune pipeline.yaml --try 'embedding_dim=[8,16,32]' --try 'lr=log(1e-4,1e-1)' --trials "
    "27 --search halving",
    NULL,
};

const cr_cmd cr_cmd_tune = {
    .name = "tune",
    .help = "Train a config with many values of some keys, and find the best",
    .about =
        "Each trial is a training of its own: a process, a model_dir in the folder of the trials, "
        "a "
        "run on\nthe page of 'crank board'. Trials and results depend on the command alone, not on "
        "cores, nor on\nwhat was interrupted: the same command goes on where it was.\n",
    .operand = "CONFIG",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .job = true,
    .run = run,
};
