/*
 * cmd_train.c - `crank train`.
 */
#include "base/file.h"
#include "cli/cli.h"

static const cr_opt opts[] = {
    CR_OPT_CONFIG,
    CR_OPT_MODEL_DIR,
    CR_OPT_TRAIN_INPUT,
    CR_OPT_EVAL_INPUT,
    CR_OPT_BOOL(continue_train, 0, "go on from the newest checkpoint of model_dir"),
    CR_OPT_FINE_TUNE,
    CR_OPT_EDIT_JSON,
    CR_OPT_BOOL(ignore_restore_optimizer, 0, "restore the weights but not the optimizer's state"),
    CR_OPT_SET,
    CR_OPT_THREADS,
    CR_OPT_END,
};

/* seconds spent on training itself; the rest goes to evaluation, checkpoints and the start */
static double train_seconds(const cr_train_result *r) {
    double busy = r->group_s + r->step_s + r->update_s + r->data_wait_s;
    return busy > 0 && busy < r->seconds ? busy : r->seconds;
}

static void say_shares(const cr_train_result *r) {
    double all = r->seconds, busy = train_seconds(r);
    if (!(all > 0) || busy >= all) return;
    cr_ui_say("  time        %.0f%% step, %.0f%% table updates, %.0f%% grouping of ids, %.0f%% "
              "waiting for data, %.0f%% evaluation and checkpoints\n",
              100 * r->step_s / all, 100 * r->update_s / all, 100 * r->group_s / all,
              100 * r->data_wait_s / all, 100 * (all - busy) / all);
}

static cr_code run(cr_ui *ui, const cr_args *a) {
    cr_train_opts o = {
        .continue_train = a->continue_train,
        .ignore_restore_optimizer = a->ignore_restore_optimizer,
        .threads = (int)a->threads,
        .watch = cr_ui_watch(ui),
    };
    CR_TRY(cr_args_config(ui, a, &o.config));
    cr_train_result *r = CR_NEW(&ui->arena, cr_train_result);
    cr_arena_init(&r->arena, 0);
    cr_code code = cr_train(&o, r, &ui->diag);
    if (code == CR_OK || (code == CR_ESTOP && r->checkpoint[0])) {
        char rows[32], rate[32], time[32];
        cr_ui_findings(ui);
        double busy = train_seconds(r);
        if (r->steps == 0)
            cr_ui_say("trained  nothing: all steps were done before\n");
        else
            cr_ui_say("trained  %s rows in %s (%s rows/s while training), %lld steps\n",
                      cr_fmt_count(rows, (double)r->rows), cr_fmt_time(time, r->seconds),
                      cr_fmt_count(rate, busy > 0 ? (double)r->rows / busy : 0),
                      (long long)r->steps);
        if (r->checkpoint[0]) cr_ui_say("  checkpoint  %s\n", r->checkpoint);
        if (r->bad_rows > 0) cr_ui_say("  bad rows    %lld, skipped\n", (long long)r->bad_rows);
        say_shares(r);
        if (r->has_eval) cr_ui_metrics(&r->eval);
        const char *config =
            cr_ui_quote(ui, cr_path_join(&ui->arena, r->model_dir, "pipeline.config"));
        const char *export_dir = cr_ui_quote(ui, cr_path_join(&ui->arena, r->model_dir, "export"));
        if (code == CR_ESTOP)
            cr_ui_next(ui, "crank train %s --continue_train\n", config);
        else
            cr_ui_next(ui, "crank export %s --export_dir %s\n", config, export_dir);
    }
    cr_arena_clear(&r->arena);
    return code;
}

static const char *const examples[] = {
    "crank train deepfm.yaml --model_dir experiments/deepfm",
    "crank train deepfm.yaml --set train_config.num_epochs=2 --threads 4",
    "crank train_eval --pipeline_config_path deepfm.config --train_input_path 'data/train/*.csv' "
    "--continue_train",
    NULL,
};

const cr_cmd cr_cmd_train = {
    .name = "train",
    .alias = "train_eval",
    .module = "tzrec.train_eval",
    .help = "Train a model, with evaluation and checkpoints on the way",
    .about = "Edits of the config: paths first, then --edit_config_json, then --set.\n"
             "Ctrl-C stops at the next step and saves a checkpoint; a second one stops at once.\n",
    .operand = "CONFIG",
    .operand_opt = "pipeline_config_path",
    .opts = opts,
    .examples = examples,
    .job = true,
    .run = run,
};
