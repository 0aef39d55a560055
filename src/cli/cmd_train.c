/*
 * cmd_train.c - `crank train`.
 */
#include <signal.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "cli/board_watch.h"
#include "comm/life.h"
#include "obs/dll.h"

typedef struct args {
    cr_config_flags config;
    int64_t threads, board;
    bool continue_train, ignore_restore_optimizer;
    const char *log_json, *log_format, *autocast, *strategy, *mlflow;
} args;

static const cr_opt opts[] = {
    CR_OPT_CONFIG(args),
    CR_OPT_MODEL_DIR(args),
    CR_OPT_TRAIN_INPUT(args),
    CR_OPT_EVAL_INPUT(args),
    CR_OPT_BOOL(args, continue_train, 0, "go on from the newest checkpoint of model_dir"),
    CR_OPT_FINE_TUNE(args),
    CR_OPT_EDIT_JSON(args),
    CR_OPT_BOOL(args, ignore_restore_optimizer, 0,
                "restore the weights but not the optimizer's state"),
    CR_OPT_STR(args, log_json, CR_O_PATH, "PATH", "none",
               "add JSON lines to this file too, as model_dir/train_log.jsonl has them; -: stdout"),
    CR_OPT_STR(args, log_format, 0, "FORMAT", "none",
               "dllogger or tcap: lines of that logger on stdout and in model_dir"),
    CR_OPT_STR(args, autocast, 0, "BOOL", "from the config",
               "True: mixed_precision BF16, False: FP32; overrides the config"),
    CR_OPT_STR(args, strategy, 0, "NAME", "from the config, or sync",
               "how workers and parameter servers work together: sync, half_async, async or geo; "
               "overrides the config"),
    CR_OPT_(args, board, CR_O_INT, 0, CR_O_MAYBE, "[PORT]", "-1", "none", -1, 65535,
            "serve a page of this run in the browser, at 127.0.0.1; 0 or none: 7878, or a free "
            "port"),
    CR_OPT_STR(args, mlflow, CR_O_PATH, "DIR", "none",
               "keep this run in the folder DIR in MLflow's layout too"),
    CR_OPT_ACCEPT(args),
    CR_OPT_SET(args),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

/* Returns the seconds of the training itself; the rest went to evaluation, checkpoints and the
 * start. */
static double train_seconds(const cr_train_result *r) {
    double busy = r->group_s + r->step_s + r->update_s + r->data_wait_s;
    return busy > 0 && busy < r->seconds ? busy : r->seconds;
}

/* Prints where the time went, the largest share first. */
static void say_shares(const cr_train_result *r) {
    struct {
        const char *name;
        double s;
    } v[] = {{"forward, backward", r->step_s}, {"updates", r->update_s},
             {"grouping of ids", r->group_s},  {"waiting for data", r->data_wait_s},
             {"evaluation", r->eval_s},        {"checkpoints", r->save_s},
             {"logs and events", r->log_s},    {"other", r->seconds}};
    int n = (int)(sizeof v / sizeof v[0]);
    for (int i = 0; i < n - 1; i++)
        v[n - 1].s -= v[i].s;
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (v[k].s > v[i].s) {
                const char *name = v[i].name;
                double s = v[i].s;
                v[i] = v[k];
                v[k].name = name;
                v[k].s = s;
            }
    for (int i = 0; i < n; i++) {
        char time[32];
        double share = r->seconds > 0 ? 100 * v[i].s / r->seconds : 0;
        if (share < 0.05) continue;
        cr_ui_say("  %-18s %5.1f%%  %s\n", v[i].name, share, cr_fmt_time(time, v[i].s));
    }
}

static void say_best(const cr_train_result *r) {
    const struct cr_best *b = &r->best;
    if (!b->metric) return;
    if (!b->is_saved)
        cr_ui_say("  %-18s step %lld, %s %.6f, without a checkpoint\n", "best", (long long)b->step,
                  b->metric, b->value);
    if (b->checkpoint)
        cr_ui_say("  %-18s %s, %s %.6f\n", b->is_saved ? "best" : "best checkpoint", b->checkpoint,
                  b->metric, b->checkpoint_value);
}

/* Returns the flag that makes an export take the best checkpoint; "": the export takes that one
 * anyway. */
static const char *choice_of_best(cr_ui *ui, const cr_train_result *r) {
    const char *best = r->best.checkpoint;
    if (!best || r->exports_best || strcmp(best, r->checkpoint) == 0) return "";
    return cr_arena_printf(&ui->arena, " --checkpoint_path %s", cr_ui_quote(ui, best));
}

static void say_summary(const cr_train_result *r) {
    char rows[32], rate[32], time[32], memory[32];
    double busy = train_seconds(r);
    if (r->steps == 0) {
        cr_ui_say("trained  nothing: %s\n", r->early_stop ? "training had stopped early before"
                                                          : "all steps were done before");
    } else {
        cr_ui_say("trained  %s rows, %lld step%s in %s\n", cr_fmt_count(rows, (double)r->rows),
                  (long long)r->steps, r->steps == 1 ? "" : "s", cr_fmt_time(time, r->seconds));
        cr_ui_say("  %-18s %s rows/s while training\n", "speed",
                  cr_fmt_count(rate, busy > 0 ? (double)r->rows / busy : 0));
        say_shares(r);
        if (r->sent > 0)
            cr_ui_say("  %-18s %s per row to other ranks\n", "sent", cr_fmt_bytes(memory, r->sent));
    }
    cr_ui_say("  %-18s %s\n", "peak memory", cr_fmt_bytes(memory, (double)cr_peak_rss()));
    if (r->bad_rows > 0) cr_ui_say("  %-18s %lld, skipped\n", "bad rows", (long long)r->bad_rows);
    if (r->checkpoint[0]) cr_ui_say("  %-18s %s\n", "checkpoint", r->checkpoint);
    say_best(r);
    if (r->early_stop) cr_ui_say("  %-18s %s\n", "stopped early", r->early_stop);
    if (r->profile) cr_ui_say("%s", r->profile);
    if (r->has_eval) cr_ui_metrics(&r->eval);
}

static void add_set(cr_ui *ui, cr_config_opts *c, const char *edit) {
    const char **v = CR_NEW_N(&ui->arena, const char *, c->n_set + 1);
    if (c->n_set) memcpy(v, c->set, sizeof *v * (size_t)c->n_set);
    v[c->n_set++] = edit;
    c->set = v;
}

/* Adds --autocast as one more --set. The words are those of the ModelZoo command lines. */
static cr_code apply_autocast(cr_ui *ui, const args *a, cr_config_opts *c) {
    bool on;
    if (!a->autocast) return CR_OK;
    if (!cr_opt_word_bool(a->autocast, &on)) {
        cr_diag_add(&ui->diag, CR_SEV_ERROR, CR_EUSAGE, CR_NOWHERE,
                    "--autocast: '%s' is not a bool; use True or False", a->autocast);
        return CR_EUSAGE;
    }
    add_set(ui, c, on ? "train_config.mixed_precision=BF16" : "train_config.mixed_precision=''");
    return CR_OK;
}

/* How this training was started. It must go on with the global batch that it had, so the advice
 * names the ranks too. */
static const char *started_as(cr_ui *ui) {
    const cr_place *p = &ui->place;
    if (!ui->comm) return "crank train";
    if (cr_comm_servers(ui->comm) > 0 && strcmp(p->program, "crank launch") == 0)
        return "crank launch --ps ... --workers ... -- train";
    if (strcmp(p->program, "crank launch") != 0)
        return cr_arena_printf(&ui->arena, "%s -n %d crank train", p->program, p->size);
    if (cr_comm_local_size(ui->comm) < p->size) return "crank launch ... -- train";
    return cr_arena_printf(&ui->arena, "crank launch --nproc-per-node %d -- train", p->size);
}

/* Puts the flags of Paddle's environment in front of the edits of the command line, which win. */
static void add_flags(cr_ui *ui, cr_config_opts *c) {
    const char **v;
    int n = cr_servers_flags(&ui->arena, &v);
    if (n == 0 || !ui->comm || cr_comm_servers(ui->comm) == 0) return;
    const char **all = CR_NEW_N(&ui->arena, const char *, n + c->n_set);
    memcpy(all, v, sizeof *all * (size_t)n);
    if (c->n_set) memcpy(all + n, c->set, sizeof *all * (size_t)c->n_set);
    c->set = all;
    c->n_set += n;
    c->n_env = n;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    cr_train_opts o = {
        .continue_train = a->continue_train,
        .ignore_restore_optimizer = a->ignore_restore_optimizer,
        .threads = (int)a->threads,
        .log_json = a->log_json,
        .log_format = a->log_format,
        .watch = cr_ui_watch(ui),
        .comm = ui->comm,
    };
    if (a->log_json && !*a->log_json)
        return cr_ui_wrong(ui, "--log_json is empty; name a file, or - for standard output");
    bool lines = a->log_json && strcmp(a->log_json, "-") == 0;
    cr_dll_form form;
    if (a->log_format && !cr_dll_form_of(a->log_format, &form))
        return cr_ui_wrong(ui, "--log_format is '%s' and must be dllogger or tcap", a->log_format);
    if (a->log_format && lines)
        return cr_ui_wrong(ui, "--log_json - and --log_format both write to standard output; give "
                               "--log_json a file");
    cr_config_from(&a->config, &o.config);
    o.config.dialect.servers = ui->comm && cr_comm_servers(ui->comm) > 0;
    add_flags(ui, &o.config);
    CR_TRY(apply_autocast(ui, a, &o.config));
    if (a->strategy)
        add_set(ui, &o.config,
                cr_arena_printf(&ui->arena, "train_config.servers.strategy='%s'", a->strategy));
    cr_board_watch *w = CR_NEW(&ui->arena, cr_board_watch);
    cr_err err;
    bool first = ui->place.rank == 0;
    if (first && (a->board != CR_NO_BOARD || a->mlflow)) {
        if (cr_board_watch_init(w, &o.watch, a->board, a->mlflow, &err) != CR_OK)
            return cr_ui_fail(ui, &err);
        o.watch = cr_board_watch_of(w);
    }
    cr_train_result *r = CR_NEW(&ui->arena, cr_train_result);
    cr_arena_init(&r->arena, 0);
    lines |= a->log_format != NULL;
    if (lines) signal(SIGPIPE, SIG_IGN); /* training needs no reader */
    cr_code code = cr_train(&o, r, &ui->diag);
    cr_board_watch_clear(w);
    if (r->again) { /* the next generation of ranks says the rest */
        ui->exit_code = CR_EXIT_AGAIN;
    } else if (lines) { /* programs read stdout; the last line says what the table would */
        cr_ui_findings(ui);
    } else if (code == CR_OK || (code == CR_ESTOP && r->checkpoint[0])) {
        cr_ui_findings(ui);
        say_summary(r);
        const char *config =
            cr_ui_quote(ui, cr_path_join(&ui->arena, r->model_dir, "pipeline.config"));
        const char *export_dir = cr_ui_quote(ui, cr_path_join(&ui->arena, r->model_dir, "export"));
        if (code == CR_ESTOP)
            cr_ui_next(ui, "%s %s --continue_train", started_as(ui), config);
        else
            cr_ui_next(ui, "crank export %s%s --export_dir %s", config, choice_of_best(ui, r),
                       export_dir);
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
    .args_size = sizeof(args),
    .takes_config = true,
    .examples = examples,
    .job = true,
    .ranks = true,
    .run = run,
};
