/*
 * cmd_report.c - `crank report RUN...`: the page of runs as one file, or MLflow's files of them.
 */
#include "base/file.h"
#include "board/board.h"
#include "cli/cli.h"

typedef struct args {
    cr_opt_list runs;
    const char *output, *mlflow;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, runs, CR_O_LIST, 0, CR_O_PATH | CR_O_REQUIRED, "RUN", NULL, NULL, 0, 0,
            "model_dirs, or folders with model_dirs in them"),
    CR_OPT_(args, output, CR_O_STR, 'o', CR_O_PATH, "FILE", NULL, "none", 0, 0,
            "HTML file to write: the page with its data, which needs no server"),
    CR_OPT_STR(args, mlflow, CR_O_PATH, "DIR", "none",
               "write the runs to this folder in MLflow's layout"),
    CR_OPT_END,
};

static cr_code write_mlflow(cr_ui *ui, const args *a) {
    cr_err err;
    char id[33];
    for (int i = 0; i < a->runs.n; i++) {
        if (cr_mlflow_write(a->mlflow, a->runs.v[i], id, &err) != CR_OK)
            return cr_ui_fail(ui, &err);
        cr_ui_say("%s is run %s in %s\n", a->runs.v[i], id, a->mlflow);
    }
    return CR_OK;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_board *b;
    cr_err err;
    if (!a->output && !a->mlflow)
        return cr_ui_wrong(ui, "nothing to write; give -o FILE or --mlflow DIR");
    if (a->mlflow) CR_TRY(write_mlflow(ui, a));
    if (!a->output) return CR_OK;
    if (cr_board_open(&b, a->runs.v, a->runs.n, &err) != CR_OK) return cr_ui_fail(ui, &err);
    int n = cr_board_runs(b);
    cr_code code = n > 0 ? cr_board_report(b, a->output, &err)
                         : cr_fail(&err, CR_ERUN,
                                   "there is no run in %s: a run has a train_log.jsonl; check the "
                                   "path",
                                   a->runs.v[0]);
    cr_board_close(b);
    if (code != CR_OK) return cr_ui_fail(ui, &err);
    cr_ui_say("%s has %d run%s\n", a->output, n, n == 1 ? "" : "s");
    return CR_OK;
}

static const char *const examples[] = {
    "crank report experiments/deepfm -o run.html",
    "crank report experiments/a experiments/b -o both.html",
    "crank report experiments/deepfm --mlflow mlruns",
    NULL,
};

const cr_cmd cr_cmd_report = {
    .name = "report",
    .help = "Write the page of runs as one file, or runs for MLflow",
    .operand = "RUN",
    .operand_opt = "runs",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
