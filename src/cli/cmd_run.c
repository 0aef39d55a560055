/*
 * cmd_run.c - `crank run`: runs a config of PaddleRec as its own commands do.
 *
 * A config asks for trainings and evaluations, one after the other. Each is one of crank's own
 * runs; what this file adds is the folder of an epoch, <path>/<epoch>, a link to the checkpoint,
 * and the lines that PaddleRec prints (on stdout; crank's own log is on stderr).
 *
 * PaddleRec writes over the epochs of an earlier run. So does this command: it deletes the
 * checkpoints of an earlier `crank run` in the same folder, and says so, unless --continue_train.
 *
 * A runner with parameter servers runs as several ranks. A process that is alone then goes on as
 * `crank launch ... -- run ...` with the same arguments; each of the ranks comes here again.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/log.h"
#include "ckpt/ckpt.h"
#include "cli/cli.h"
#include "comm/life.h"
#include "dialect/paddle.h"
#include "tool/tool.h"

typedef struct args {
    const char *model, *backend, *compat;
    cr_opt_list opt;
    int64_t threads;
    bool infer, continue_train;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, model, CR_O_STR, 'm', CR_O_REQUIRED | CR_O_PATH, "FILE", NULL, NULL, 0, 0,
            "config.yaml of PaddleRec"),
    CR_OPT_AT(args, model, "config_yaml", CR_O_STR, 0, CR_O_PATH, "FILE", NULL, "--model", 0, 0,
              "another name for --model"),
    CR_OPT_(args, opt, CR_O_LIST, 'o', 0, "KEY=VALUE", NULL, "none", 0, 0,
            "one edit in PaddleRec's keys, runner.epochs=2; may be repeated"),
    CR_OPT_(args, backend, CR_O_STR, 'b', CR_O_PATH, "FILE", NULL, "none", 0, 0,
            "backend.yaml: hand the job to a cluster, as crank submit does"),
    CR_OPT_BOOL(args, infer, 0, "evaluate the saved epochs, as tools/infer.py does"),
    CR_OPT_STR(args, compat, 0, "NAME", "none",
               "paddlerec: the models as PaddleRec ships them, with their mistakes"),
    CR_OPT_BOOL(args, continue_train, 0,
                "go on from the newest checkpoint; otherwise those of an earlier run are deleted"),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

/* What the lines of one run need. */
typedef struct run_state {
    cr_ui *ui;
    cr_watch own; /* crank's own watch */
    const cr_paddle_run *r;
    double epoch_t0, interval_t0, wait0;
    int64_t rows; /* since the last line */
    int64_t epochs;
} run_state;

/* Writes "2026-01-31 12:00:00,123". */
static const char *now_text(char out[64]) {
    struct timespec t;
    struct tm local;
    clock_gettime(CLOCK_REALTIME, &t);
    localtime_r(&t.tv_sec, &local);
    size_t n = strftime(out, 64, "%Y-%m-%d %H:%M:%S", &local);
    snprintf(out + n, 64 - n, ",%03d", (int)(t.tv_nsec / 1000000));
    return out;
}

static void number(cr_buf *b, double x) {
    char text[32];
    text[cr_fmt_f32(text, (float)x)] = 0;
    cr_buf_str(b, text);
}

/* PaddleRec's AUC of rows of one class is 0. */
static double shown(double x) {
    return isnan(x) ? 0 : x;
}

/* Metrics that PaddleRec's lines show, and their names in the old kind and in the new one. */
static const struct shown_metric {
    const char *name, *old, *now;
} shown_metrics[] = {{"auc", "AUC", "auc"},
                     {"accuracy", "ACC", "acc"},
                     {"mean_absolute_error", "MAE", "mae"}};

/* Writes the name of a metric as PaddleRec has it; false: its lines do not show it. */
static bool put_name(cr_buf *b, const char *name, bool old) {
    for (size_t i = 0; i < sizeof shown_metrics / sizeof *shown_metrics; i++) {
        const struct shown_metric *m = &shown_metrics[i];
        size_t n = strlen(m->name);
        if (strncmp(name, m->name, n) != 0) continue;
        if (b) cr_buf_printf(b, "%s%s", old ? m->old : m->now, name + n);
        return true;
    }
    return false;
}

/* Writes the metrics with a format for each: "AUC: [0.5]" or "auc:0.500000, ". */
static void metrics(cr_buf *b, const cr_stepped *s, bool old, const char *between) {
    double value;
    const char *name;
    for (int k = 0; (name = s->metric(s->of, k, &value)); k++) {
        if (old && k) cr_buf_str(b, ", ");
        if (!put_name(b, name, old)) cr_buf_str(b, name);
        if (!old) {
            cr_buf_printf(b, "%s%.6f%s", between, value,
                          *between == ':' && between[1] ? "," : ", ");
            continue;
        }
        cr_buf_str(b, between);
        number(b, value);
        cr_buf_char(b, ']');
    }
}

static void on_step(void *ctx, const cr_stepped *s) {
    run_state *x = ctx;
    const cr_paddle_run *r = x->r;
    x->rows += s->rows;
    if (s->batch % r->print_interval != 0 || (r->old && s->batch == 0)) return;
    double now = cr_now(), spent = now - x->interval_t0, wait = s->wait_s - x->wait0;
    char time[64];
    cr_buf b;
    cr_buf_init(&b);
    if (r->old) {
        cr_buf_printf(
            &b, "%s - INFO: \t[Train],  epoch: %lld,  batch: %lld, time_each_interval: %.2fs, ",
            now_text(time), (long long)s->epoch, (long long)s->batch, spent);
        metrics(&b, s, true, ": [");
    } else {
        double n = (double)r->print_interval;
        cr_buf_printf(&b, "%s - INFO - epoch: %lld, batch_id: %lld, ", now_text(time),
                      (long long)s->epoch, (long long)s->batch);
        metrics(&b, s, false, ":");
        cr_buf_str(&b, "loss:");
        number(&b, s->loss);
        cr_buf_printf(&b,
                      ", avg_reader_cost: %.5f sec, avg_batch_cost: %.5f sec, avg_samples: %.5f, "
                      "ips: %.5f ins/s",
                      wait / n, spent / n, (double)x->rows / n, (double)x->rows / (spent + 0.0001));
    }
    cr_ui_say("%s\n", b.data);
    cr_buf_clear(&b);
    x->rows = 0;
    x->interval_t0 = now;
    x->wait0 = s->wait_s;
}

static void on_epoch(void *ctx, const cr_stepped *s) {
    run_state *x = ctx;
    double now = cr_now(), spent = now - x->epoch_t0;
    char time[64];
    cr_buf b;
    cr_buf_init(&b);
    if (x->r->old) {
        cr_buf_printf(&b, "epoch %lld done, use time: %.6g, global metrics: ", (long long)s->epoch,
                      spent);
        metrics(&b, s, true, "=[");
    } else {
        cr_buf_printf(&b, "%s - INFO - epoch: %lld done, ", now_text(time), (long long)s->epoch);
        metrics(&b, s, false, ": ");
        cr_buf_str(&b, "loss:");
        number(&b, s->loss);
        cr_buf_printf(&b, ", epoch time: %.2f s", spent);
    }
    cr_ui_say("%s\n", b.data);
    cr_buf_clear(&b);
    x->epoch_t0 = x->interval_t0 = now;
    x->rows = 0;
}

/* Makes <dir>/<epoch> a link to the checkpoint. A failure is a warning: the checkpoint is there. */
static void on_saved(void *ctx, const char *path, int64_t epochs) {
    run_state *x = ctx;
    char link[1200], time[64];
    if (epochs < 1) return; /* a signal ended the run in its first epoch */
    snprintf(link, sizeof link, "%s/%lld", x->r->dir, (long long)epochs - 1);
    if ((unlink(link) != 0 && errno != ENOENT) || symlink(cr_path_base(path), link) != 0)
        CR_WARN("cannot make the link %s to the checkpoint: %s", link, strerror(errno));
    else if (x->r->old)
        cr_ui_say("\tsave epoch_id:%lld model into: \"%s\"\n", (long long)epochs - 1, link);
    else
        cr_ui_say("%s - INFO - Already save model in %s\n", now_text(time), link);
}

static void on_progress(void *ctx, const cr_progress *p) {
    run_state *x = ctx;
    if (x->own.progress) x->own.progress(x->own.ctx, p);
}

static void on_begin(void *ctx) {
    run_state *x = ctx;
    if (x->own.begins) x->own.begins(x->own.ctx);
    x->epoch_t0 = x->interval_t0 = cr_now();
}

static bool is_epoch(const char *name) {
    return *name && strspn(name, "0123456789") == strlen(name);
}

/* Deletes what an earlier run left in the folder: its checkpoints and the links to them. */
static cr_code clear_dir(cr_ui *ui, const char *dir) {
    cr_arena *a = &ui->arena;
    int64_t *steps;
    int n;
    cr_err err;
    char **names;
    size_t k;
    if (!cr_path_is_dir(dir)) return CR_OK;
    if (cr_ckpt_steps(a, dir, &steps, &n, &err) != CR_OK) return cr_ui_fail(ui, &err);
    if (n == 0) return CR_OK;
    CR_INFO("%s holds %d checkpoint%s of an earlier run, which this run replaces", dir, n,
            n == 1 ? "" : "s");
    for (int i = 0; i < n; i++)
        cr_ckpt_delete(dir, steps[i]);
    if (cr_list_dir(a, dir, &names, &k, &err) != CR_OK) return cr_ui_fail(ui, &err);
    for (size_t i = 0; i < k; i++) {
        char target[64];
        const char *link = cr_path_join(a, dir, names[i]);
        ssize_t len = is_epoch(names[i]) ? readlink(link, target, sizeof target - 1) : -1;
        if (len > 11 && strncmp(target, "model.ckpt-", 11) == 0) (void)unlink(link);
    }
    return CR_OK;
}

static bool has_servers(const cr_ui *ui) {
    return ui->comm && cr_comm_servers(ui->comm) > 0;
}

static bool same_env(const char *a, const char *b) {
    const char *x = getenv(a), *y = getenv(b);
    return x && y && strcmp(x, y) == 0;
}

/* Adds the flags of Paddle's communicator from the environment. PaddleRec itself sets the one of
 * the optimizer. Where the gradients of CPU_NUM threads are averaged in every step, as many must be
 * merged; here they are one batch. */
static void add_flags(cr_ui *ui, const cr_paddle_run *r, cr_config_opts *c) {
    const char **v;
    int n = has_servers(ui) && !r->infer ? cr_servers_flags(&ui->arena, &v) : 0;
    const char **set = CR_NEW_N(&ui->arena, const char *, n + 1);
    bool merged = r->merges && same_env("FLAGS_communicator_max_merge_var_num", "CPU_NUM");
    for (int i = 0; i < n; i++)
        if (!(r->old && strstr(v[i], ".is_sgd_optimizer=")) &&
            !(merged && strstr(v[i], ".max_merge_var_num=")))
            set[c->n_set++] = v[i];
    c->set = set;
}

static cr_config_opts config_of(cr_ui *ui, const args *a, const cr_paddle_run *r) {
    cr_config_opts c = {.path = a->model,
                        .dialect = {.part = r->infer ? CR_DIALECT_INFER : CR_DIALECT_TRAIN,
                                    .runner = r->runner,
                                    .phase = r->phase,
                                    .compat = a->compat != NULL,
                                    .servers = has_servers(ui),
                                    .set = a->opt.v,
                                    .n_set = a->opt.n}};
    add_flags(ui, r, &c);
    return c;
}

static void say_head(const cr_paddle_run *r) {
    char time[64];
    if (r->old) {
        const char *kind = r->servers ? "PS" : "Single";
        cr_ui_say(
            "PaddleRec: Runner %s Begin\nExecutor Mode: %s\nprocessor_register begin\nRunning "
            "%sInstance.\nRunning %sNetwork.\nRunning %sStartup.\nRunning %s%sRunner.\n",
            r->runner, r->infer ? "infer" : "train", kind, kind, kind, kind,
            r->infer ? "Infer" : "");
        return;
    }
    now_text(time);
    cr_ui_say("%s - INFO - **************common.configs**********\n", time);
    if (r->infer)
        cr_ui_say("%s - INFO - use_gpu: False, infer_batch_size: %lld, test_data_dir: %s, "
                  "start_epoch: %lld, end_epoch: %lld, print_interval: %lld, model_load_path: %s\n",
                  time, (long long)r->batch, r->data, (long long)r->first, (long long)r->end,
                  (long long)r->print_interval, r->dir);
    else
        cr_ui_say("%s - INFO - use_gpu: False, train_batch_size: %lld, train_data_dir: %s, epochs: "
                  "%lld, print_interval: %lld, model_save_path: %s\n",
                  time, (long long)r->batch, r->data, (long long)r->epochs,
                  (long long)r->print_interval, r->dir);
    cr_ui_say("%s - INFO - **************common.configs**********\n%s - INFO - read data\n", time,
              time);
}

/* Makes the sessions of a log of users, which the training reads. */
static cr_code make_sessions(cr_ui *ui, const cr_paddle_run *r) {
    int64_t users;
    cr_err err;
    if (cr_log_sessions(r->log, r->sessions, &users, &err) != CR_OK) return cr_ui_fail(ui, &err);
    CR_INFO("%s holds the sessions of %lld users, made from the log in %s", r->sessions,
            (long long)users, r->log);
    return CR_OK;
}

static cr_code train(cr_ui *ui, const args *a, const cr_paddle_run *r) {
    run_state x = {.ui = ui, .own = cr_ui_watch(ui), .r = r};
    bool any;
    cr_train_opts o = {.config = config_of(ui, a, r),
                       .comm = ui->comm,
                       .continue_train = a->continue_train,
                       .threads = (int)a->threads,
                       .watch = {.ctx = &x,
                                 .progress = on_progress,
                                 .begins = on_begin,
                                 .stepped = on_step,
                                 .epoch = on_epoch,
                                 .saved = on_saved}};
    cr_train_result *res = CR_NEW(&ui->arena, cr_train_result);
    cr_arena_init(&res->arena, 0);
    x.epoch_t0 = x.interval_t0 = cr_now();
    bool first = ui->place.rank == 0;
    cr_code code = a->continue_train || !first ? CR_OK : clear_dir(ui, r->dir);
    if (code == CR_OK && first && r->sessions) code = make_sessions(ui, r);
    code = cr_comm_vote(ui->comm, code, false, &any);
    if (code == CR_OK) code = cr_train(&o, res, &ui->diag);
    cr_ui_findings(ui);
    if (code == CR_OK && res->bad_rows > 0)
        CR_WARN("%lld bad rows were skipped", (long long)res->bad_rows);
    if (res->again) ui->exit_code = CR_EXIT_AGAIN;
    cr_arena_clear(&res->arena);
    return code;
}

/* Asks the vectors of words of a checkpoint. PaddleRec's new kind looks at the four nearest words,
 * its old kind at the nearest. */
static cr_code ask(cr_ui *ui, const cr_paddle_run *r, const char *dir, const char *epoch) {
    cr_analogy_opts o = {.ckpt_dir = dir,
                         .table = "emb",
                         .dict = r->dict,
                         .questions = r->questions,
                         .top = r->old ? 1 : 4};
    int64_t right, n;
    char time[64];
    cr_err err;
    double t0 = cr_now();
    if (cr_analogies(&o, &right, &n, &err) != CR_OK) return cr_ui_fail(ui, &err);
    double share = (double)right / (double)n;
    if (r->old)
        cr_ui_say("Infer %s of epoch %s done, use time: %.6g, global metrics: ACC=[%.6g]\n",
                  r->phase, epoch, cr_now() - t0, share);
    else
        cr_ui_say("%s - INFO - epoch: %s done, acc: %.6f, epoch time: %.2f s\n", now_text(time),
                  epoch, share, cr_now() - t0);
    return CR_OK;
}

/* Evaluates one checkpoint; epoch is its name in the lines. */
static cr_code evaluate(cr_ui *ui, const args *a, const cr_paddle_run *r, const char *dir,
                        const char *epoch) {
    char *real = cr_store_of(dir)->real(dir), checkpoint[1088] = "", time[64];
    run_state x = {.ui = ui, .own = cr_ui_watch(ui), .r = r};
    cr_eval_opts o = {.config = config_of(ui, a, r),
                      .comm = ui->comm,
                      .checkpoint_path = real ? real : dir,
                      .threads = (int)a->threads,
                      .watch = {.ctx = &x, .progress = on_progress, .begins = on_begin}};
    const char *parent = r->old ? cr_path_dir(&ui->arena, o.checkpoint_path) : r->dir;
    o.config.model_dir = parent; /* the results lie beside the checkpoints */
    cr_eval_result *res = CR_NEW(&ui->arena, cr_eval_result);
    double t0 = cr_now();
    if (r->old)
        cr_ui_say("load persistables from %s\n", dir);
    else
        cr_ui_say("%s - INFO - load model epoch %s\n%s - INFO - start load model from %s\n",
                  now_text(time), epoch, now_text(time), dir);
    if (r->dict) {
        cr_code asked = ask(ui, r, o.checkpoint_path, epoch);
        free(real);
        return asked;
    }
    cr_code code = cr_eval(&o, res, &ui->arena, checkpoint, &ui->diag);
    cr_ui_findings(ui);
    free(real);
    if (code != CR_OK) return code;
    cr_buf b;
    cr_buf_init(&b);
    if (r->old)
        cr_buf_printf(&b, "Infer %s of epoch %s done, use time: %.6g, global metrics: ", r->phase,
                      epoch, cr_now() - t0);
    else
        cr_buf_printf(&b, "%s - INFO - epoch: %s done, ", now_text(time), epoch);
    for (int i = 0, n = 0; i < res->n; i++) {
        if (!put_name(NULL, res->v[i].name, r->old)) continue;
        if (n++ && r->old) cr_buf_str(&b, ", ");
        (void)put_name(&b, res->v[i].name, r->old);
        if (!r->old) {
            cr_buf_printf(&b, ": %.6f,", shown(res->v[i].value));
            continue;
        }
        cr_buf_str(&b, "=[");
        number(&b, shown(res->v[i].value));
        cr_buf_char(&b, ']');
    }
    if (!r->old) cr_buf_printf(&b, " epoch time: %.2f s", cr_now() - t0);
    cr_ui_say("%s\n", b.data);
    cr_buf_clear(&b);
    return CR_OK;
}

static int by_number(const void *a, const void *b) {
    long long x = atoll(*(char *const *)a), y = atoll(*(char *const *)b);
    return (x > y) - (x < y);
}

static cr_code no_epoch(cr_ui *ui, const cr_paddle_run *r, const char *dir) {
    cr_diag_add(&ui->diag, CR_SEV_ERROR, CR_EIO, (cr_loc){dir, 0, 0},
                "there is no checkpoint of an epoch in it; train first, or change %s",
                r->old ? "init_model_path" : "infer_load_path, infer_start_epoch, infer_end_epoch");
    return CR_EIO;
}

static cr_code infer(cr_ui *ui, const args *a, const cr_paddle_run *r) {
    char **names;
    size_t n = 0, k = 0;
    cr_err err;
    if (!r->old) {
        for (int64_t e = r->first; e < r->end; e++) {
            const char *name = cr_arena_printf(&ui->arena, "%lld", (long long)e);
            const char *dir = cr_path_join(&ui->arena, r->dir, name);
            if (!cr_path_is_dir(dir)) return no_epoch(ui, r, dir);
            CR_TRY(evaluate(ui, a, r, dir, name));
        }
        return CR_OK;
    }
    if (!cr_path_is_dir(r->dir)) return no_epoch(ui, r, r->dir);
    if (cr_list_dir(&ui->arena, r->dir, &names, &n, &err) != CR_OK) return cr_ui_fail(ui, &err);
    for (size_t i = 0; i < n; i++)
        if (is_epoch(names[i])) names[k++] = names[i];
    if (k == 0) return evaluate(ui, a, r, r->dir, cr_path_base(r->dir));
    qsort(names, k, sizeof *names, by_number); /* PaddleRec takes them in no order */
    for (size_t i = 0; i < k; i++)
        CR_TRY(evaluate(ui, a, r, cr_path_join(&ui->arena, r->dir, names[i]), names[i]));
    return CR_OK;
}

/* Adds a word to the arguments of the next command. */
static void add_word(cr_ui *ui, const char *flag, const char *value) {
    if (!ui->next_args) ui->next_args = CR_NEW_N(&ui->arena, char *, 4096);
    if (ui->n_next < 4096)
        ui->next_args[ui->n_next++] =
            value ? cr_arena_printf(&ui->arena, "%s%s%s", flag, *flag ? "=" : "", value)
                  : cr_arena_strdup(&ui->arena, flag);
}

/* Goes on as `crank launch`, with the ranks of this runner, or with those of the platform. */
static cr_code launch(cr_ui *ui, const args *a, const cr_paddle_run *r) {
    char n[32];
    for (int i = 0; ui->cmds[i]; i++)
        if (strcmp(ui->cmds[i]->name, "launch") == 0) ui->next = ui->cmds[i];
    if (r->servers > 0) {
        add_word(ui, "--standalone", NULL);
        snprintf(n, sizeof n, "%lld", (long long)r->servers);
        add_word(ui, "--ps", n);
        snprintf(n, sizeof n, "%lld", (long long)r->workers);
        add_word(ui, "--workers", n);
    }
    if (ui->quiet) add_word(ui, "--quiet", NULL);
    if (ui->allow_libraries) add_word(ui, "--allow_libraries", NULL);
    add_word(ui, "--", NULL);
    add_word(ui, "run", NULL);
    add_word(ui, "--model", a->model);
    for (int i = 0; i < a->opt.n; i++)
        add_word(ui, "--opt", a->opt.v[i]);
    if (a->compat) add_word(ui, "--compat", a->compat);
    if (a->infer) add_word(ui, "--infer", NULL);
    if (a->continue_train) add_word(ui, "--continue_train", NULL);
    snprintf(n, sizeof n, "%lld", (long long)a->threads);
    if (a->threads) add_word(ui, "--threads", n);
    if (ui->quiet) add_word(ui, "--quiet", NULL);
    return CR_OK;
}

/* Goes on as `crank submit`. */
static cr_code submit(cr_ui *ui, const args *a) {
    if (a->opt.n)
        return cr_ui_wrong(ui, "-o %s does not reach the nodes of a cluster; edit %s", a->opt.v[0],
                           a->model);
    for (int i = 0; ui->cmds[i]; i++)
        if (strcmp(ui->cmds[i]->name, "submit") == 0) ui->next = ui->cmds[i];
    add_word(ui, "--pipeline_config_path", a->model);
    add_word(ui, "--backend", a->backend);
    if (ui->quiet) add_word(ui, "--quiet", NULL);
    return CR_OK;
}

/* Finds the runner whose ranks this process has to start; NULL: none. */
static cr_code find_launch(cr_ui *ui, const cr_paddle_run *runs, int n, const cr_paddle_run **out) {
    cr_err err;
    cr_role role;
    const cr_paddle_run *one = NULL, *other = NULL;
    *out = NULL;
    if (ui->comm) return CR_OK;
    for (int i = 0; i < n; i++) {
        if (runs[i].infer) continue; /* it takes any ranks */
        if (!one) one = &runs[i];
        if (runs[i].servers != one->servers || runs[i].workers != one->workers) other = &runs[i];
    }
    if (!one || (one->servers == 0 && !other)) return CR_OK;
    if (other)
        return cr_ui_wrong(ui,
                           "runner '%s' has %lld servers and %lld workers, and runner '%s' has "
                           "%lld and %lld; run one after the other, with mode: %s and then with "
                           "mode: %s",
                           one->runner, (long long)one->servers, (long long)one->workers,
                           other->runner, (long long)other->servers, (long long)other->workers,
                           one->runner, other->runner);
    if (one->servers < 0) {
        if (cr_role_find(&role, NULL, &err) != CR_OK) return cr_ui_fail(ui, &err);
        if (!role.given)
            return cr_ui_wrong(
                ui,
                "runner '%s' trains with the parameter servers of a cluster, and the environment "
                "gives this process no role (TRAINING_ROLE, PADDLE_PSERVERS_IP_PORT_LIST, "
                "PADDLE_TRAINERS_NUM, PADDLE_TRAINER_ID); use class: local_cluster_train to start "
                "them on this machine, or class: train to do without",
                one->runner);
    }
    *out = one;
    return CR_OK;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    const cr_paddle_run *start;
    cr_paddle_run *runs;
    int n;
    if (a->compat && strcmp(a->compat, "paddlerec") != 0)
        return cr_ui_wrong(ui, "--compat is '%s' and must be paddlerec", a->compat);
    if (a->backend) return submit(ui, a);
    cr_dialect_opts o = {.set = a->opt.v, .n_set = a->opt.n};
    CR_TRY(cr_paddle_runs(a->model, &o, a->infer, &ui->arena, &runs, &n, &ui->diag));
    CR_TRY(find_launch(ui, runs, n, &start));
    if (start) return launch(ui, a, start);
    for (int i = 0; i < n; i++) {
        say_head(&runs[i]);
        CR_TRY(runs[i].infer ? infer(ui, a, &runs[i]) : train(ui, a, &runs[i]));
        if (runs[i].old) cr_ui_say("PaddleRec Finish\n");
    }
    return CR_OK;
}

static const char *const examples[] = {
    "crank run -m models/rank/dnn/config.yaml",
    "crank run -m config.yaml -o runner.epochs=1 hyper_parameters.optimizer.learning_rate=0.01",
    "crank python -u ../../../tools/infer.py -m config.yaml",
    "crank python -m paddlerec.run -m config.yaml",
    "crank run -m config.yaml -b backend.yaml",
    NULL,
};

const cr_cmd cr_cmd_run = {
    .name = "run",
    .module = "paddlerec.run",
    .help = "Run a config of PaddleRec: its trainings and evaluations, one after the other",
    .about =
        "Checkpoints are <path>/<epoch>, as PaddleRec names them. 'crank config FILE' prints the "
        "config of crank\nthat a config of PaddleRec becomes.\n",
    .operand = "KEY=VALUE",
    .operand_opt = "opt",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .job = true,
    .ranks = true,
    .launches = true,
    .run = run,
};
