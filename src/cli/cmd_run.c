/*
 * cmd_run.c - `crank run`: runs a config of PaddleRec as its own commands do.
 *
 * A config asks for trainings and evaluations, one after the other. Each is one of crank's own
 * runs; run_lines.c adds the folder of an epoch, <path>/<epoch>, a link to the checkpoint, and the
 * lines that PaddleRec prints.
 *
 * PaddleRec writes over the epochs of an earlier run. So does this command: it deletes the
 * checkpoints of an earlier `crank run` in the same folder, and says so, unless --continue_train.
 *
 * A runner with parameter servers runs as several ranks. A process that is alone then goes on as
 * `crank launch ... -- run ...` with the same arguments; each of the ranks comes here again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/log.h"
#include "ckpt/ckpt.h"
#include "cli/cli.h"
#include "cli/run_int.h"
#include "comm/life.h"
#include "dialect/paddle.h"
#include "obs/dll.h"
#include "tool/tool.h"

typedef struct args {
    const char *model, *backend, *builtin, *compat, *log_format;
    cr_opt_list opt, set;
    int64_t threads, top_n;
    bool infer, to_static, continue_train, bf16;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, model, CR_O_STR, 'm', CR_O_REQUIRED | CR_O_PATH, "FILE", NULL, NULL, 0, 0,
            "config.yaml of PaddleRec"),
    CR_OPT_AT(args, model, "config_yaml", CR_O_STR, 0, CR_O_PATH, "FILE", NULL, "--model", 0, 0,
              "another name for --model"),
    CR_OPT_(args, opt, CR_O_LIST, 'o', 0, "KEY=VALUE", NULL, "none", 0, 0,
            "one edit in PaddleRec's keys, runner.epochs=2; may be repeated"),
    CR_OPT_(args, set, CR_O_LIST, 0, 0, "KEY=VALUE", NULL, "none", 0, 0,
            "one edit in crank's own keys, as crank config prints them; may be repeated"),
    CR_OPT_(args, backend, CR_O_STR, 'b', CR_O_PATH, "FILE", NULL, "none", 0, 0,
            "backend.yaml: hand the job to a cluster, as crank submit does"),
    CR_OPT_BOOL(args, infer, 0, "evaluate the saved epochs, as tools/infer.py does"),
    CR_OPT_BOOL(args, to_static, 0,
                "export the checkpoint of model_init_path, as tools/to_static.py does"),
    CR_OPT_BOOL(args, bf16, 0, "train_config.mixed_precision: BF16, as -bf16 True of PaddleRec"),
    CR_OPT_STR(args, builtin, 0, "NAME", "the folder's",
               "the model, where the name of the folder does not tell it: deepfm"),
    CR_OPT_STR(args, compat, 0, "NAME", "none",
               "paddlerec: the models as PaddleRec ships them, with their mistakes"),
    CR_OPT_STR(args, log_format, 0, "FORMAT", "PaddleRec's lines",
               "dllogger or tcap: lines of a training, as in crank train"),
    CR_OPT_INT(args, top_n, "N", "50", NULL, 1, 10000,
               "items that an evaluation of mind looks for"),
    CR_OPT_BOOL(args, continue_train, 0,
                "go on from the newest checkpoint; otherwise those of an earlier run are deleted"),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

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
static void add_flags(cr_ui *ui, const args *a, const cr_paddle_run *r, cr_config_opts *c) {
    const char **v;
    int n = has_servers(ui) && !r->infer ? cr_servers_flags(&ui->arena, &v) : 0;
    const char **set = CR_NEW_N(&ui->arena, const char *, n + a->set.n + 2);
    bool merged = r->merges && same_env("FLAGS_communicator_max_merge_var_num", "CPU_NUM");
    for (int i = 0; i < n; i++)
        if (!(r->old && strstr(v[i], ".is_sgd_optimizer=")) &&
            !(merged && strstr(v[i], ".max_merge_var_num=")))
            set[c->n_set++] = v[i];
    c->n_env = c->n_set;
    if (a->bf16 && !r->infer) set[c->n_set++] = "train_config.mixed_precision=BF16";
    for (int i = 0; i < a->set.n; i++)
        set[c->n_set++] = a->set.v[i];
    c->set = set;
}

static cr_config_opts config_of(cr_ui *ui, const args *a, const cr_paddle_run *r) {
    cr_config_opts c = {.path = a->model,
                        .dialect = {.part = r->infer ? CR_DIALECT_INFER : CR_DIALECT_TRAIN,
                                    .runner = r->runner,
                                    .phase = r->phase,
                                    .model = a->builtin,
                                    .compat = a->compat != NULL,
                                    .servers = has_servers(ui),
                                    .set = a->opt.v,
                                    .n_set = a->opt.n}};
    add_flags(ui, a, r, &c);
    return c;
}

/* Makes the rows that the run reads, where the data has them in another form. */
static cr_code make_rows(cr_ui *ui, const cr_paddle_run *r) {
    cr_err err;
    return cr_run_make_rows(r, &err) == CR_OK ? CR_OK : cr_ui_fail(ui, &err);
}

/* Writes which pairs of fields the training has left over. */
static cr_code write_mask(cr_ui *ui, const char *ckpt) {
    int64_t left, n;
    cr_err err;
    if (cr_pair_mask(ckpt, "comb_mask.npy", &left, &n, &err) != CR_OK) return cr_ui_fail(ui, &err);
    CR_INFO("comb_mask.npy names the %lld of %lld pairs of fields that are left; -o stage=1 trains "
            "with them alone",
            (long long)left, (long long)n);
    return CR_OK;
}

static cr_code no_epoch(cr_ui *ui, const cr_paddle_run *r, const char *dir) {
    cr_diag_add(&ui->diag, CR_SEV_ERROR, CR_EIO, (cr_loc){dir, 0, 0},
                "there is no checkpoint of an epoch in it; train first, or change %s",
                r->old    ? "init_model_path"
                : r->init ? "model_init_path, infer_load_path, infer_start_epoch, infer_end_epoch"
                          : "infer_load_path, infer_start_epoch, infer_end_epoch");
    return CR_EIO;
}

/* Exports a checkpoint. An export of an earlier run in its place is deleted; another folder is not,
 * and cr_export says so. */
static cr_code export_to(cr_ui *ui, const args *a, const cr_paddle_run *r, const char *ckpt,
                         const char *dir) {
    char *real = cr_store_of(ckpt)->real(ckpt), checkpoint[1088] = "", time[64];
    cr_export_opts o = {.config = config_of(ui, a, r),
                        .comm = ui->comm,
                        .checkpoint_path = real ? real : ckpt,
                        .export_dir = dir,
                        .threads = (int)a->threads};
    bool first = ui->place.rank == 0;
    if (first && cr_path_exists(cr_path_join(&ui->arena, dir, "schema.json")) &&
        cr_path_exists(cr_path_join(&ui->arena, dir, "model_acc.json")))
        (void)cr_fs_remove(dir, true, NULL);
    cr_code code = cr_export(&o, checkpoint, &ui->diag);
    cr_ui_findings(ui);
    if (code == CR_OK && first && r->old)
        cr_ui_say("\tsave inference model into: \"%s\"\n", dir);
    else if (code == CR_OK && first)
        cr_ui_say("%s - INFO - Already save inference model in %s\n", cr_run_time(time), dir);
    free(real);
    return code;
}

/* Exports the epochs that the runner asks for and that have a checkpoint. */
static cr_code export_epochs(cr_ui *ui, const args *a, const cr_paddle_run *r) {
    for (int64_t e = 0; r->export_dir && e < r->epochs; e++) {
        const char *name = cr_arena_printf(&ui->arena, "%lld", (long long)e);
        const char *ckpt = cr_path_join(&ui->arena, r->dir, name);
        const char *base =
            r->old ? name : cr_arena_printf(&ui->arena, "inference_%lld", (long long)e);
        if ((e + 1) % r->export_interval || !cr_path_is_dir(ckpt)) continue;
        CR_TRY(export_to(ui, a, r, ckpt, cr_path_join(&ui->arena, r->export_dir, base)));
    }
    return CR_OK;
}

/* As tools/to_static.py: the export of model_init_path. */
static cr_code to_static(cr_ui *ui, const args *a, const cr_paddle_run *r) {
    if (r->old || !r->init)
        return cr_ui_wrong(ui,
                           "--to_static exports runner.model_init_path, which %s does not "
                           "name; add it, or use 'crank export'",
                           a->model);
    if (!cr_path_is_dir(r->init)) return no_epoch(ui, r, r->init);
    return export_to(ui, a, r, r->init, cr_path_join(&ui->arena, r->dir, "tostatic"));
}

static cr_code train(cr_ui *ui, const args *a, const cr_paddle_run *r) {
    cr_run_lines x;
    bool any;
    cr_err err;
    cr_run_lines_init(&x, ui, r);
    x.servers = has_servers(ui);
    cr_train_opts o = {.config = config_of(ui, a, r),
                       .comm = ui->comm,
                       .continue_train = a->continue_train,
                       .threads = (int)a->threads,
                       .log_format = a->log_format,
                       .watch = cr_run_lines_watch(&x)};
    cr_train_result *res = CR_NEW(&ui->arena, cr_train_result);
    cr_arena_init(&res->arena, 0);
    bool first = ui->place.rank == 0;
    cr_code code = a->continue_train || !first ? CR_OK : clear_dir(ui, r->dir);
    if (code == CR_OK && first) code = make_rows(ui, r);
    code = cr_comm_vote(ui->comm, code, false, &any);
    if (code == CR_OK) code = cr_train(&o, res, &ui->diag);
    cr_ui_findings(ui);
    if (code == CR_OK && res->bad_rows > 0)
        CR_WARN("%lld bad rows were skipped", (long long)res->bad_rows);
    if (res->again) ui->exit_code = CR_EXIT_AGAIN;
    if (code == CR_OK && first && cr_run_record(&x, &err) != CR_OK) code = cr_ui_fail(ui, &err);
    if (code == CR_OK && first && r->pair_mask && !res->again)
        code = write_mask(ui, res->checkpoint);
    if (code == CR_OK && !res->again) code = export_epochs(ui, a, r);
    cr_arena_clear(&res->arena);
    cr_run_lines_clear(&x);
    return code;
}

/* Asks the vectors of words of a checkpoint. PaddleRec's new kind looks at the four nearest words,
 * its old kind at the nearest. */
static cr_code ask(cr_ui *ui, const cr_paddle_run *r, const char *dir, const char *epoch) {
    cr_analogy_opts o = {.ckpt_dir = dir,
                         .table = "emb",
                         .dict = r->dict,
                         .questions = r->questions,
                         .top = r->old && !r->min_n ? 1 : 4,
                         .min_n = (int)r->min_n,
                         .max_n = (int)r->max_n};
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
        cr_ui_say("%s - INFO - epoch: %s done, acc: %.6f, epoch time: %.2f s\n", cr_run_time(time),
                  epoch, share, cr_now() - t0);
    return CR_OK;
}

/* Looks for the items of users among all items. */
static cr_code recall(cr_ui *ui, const args *a, const cr_paddle_run *r, const char *dir,
                      const char *epoch) {
    cr_recall_opts o = {.ckpt_dir = dir,
                        .data_dir = r->questions,
                        .longest = r->longest,
                        .top = (int)a->top_n,
                        .over_steps = a->compat != NULL};
    cr_recall_result res;
    cr_err err;
    char time[64];
    double t0 = cr_now();
    if (cr_interest_recall(&o, &res, &err) != CR_OK) return cr_ui_fail(ui, &err);
    cr_ui_say("%s - INFO - epoch: %s done, recall@%d: %.5f, ndcg@%d: %.5f, hitrate@%d: %.5f, epoch "
              "time: %.2f s\n",
              cr_run_time(time), epoch, o.top, res.recall, o.top, res.ndcg, o.top, res.hit_rate,
              cr_now() - t0);
    return CR_OK;
}

/* An item that the search of a tree found for a line. */
static void found(void *ctx, int64_t line, const int64_t *items, int n) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "item: [[");
    for (int i = 0; i < n; i++)
        cr_buf_printf(&b, "%s%lld", i ? " " : "", (long long)items[i]);
    cr_buf_str(&b, "]]");
    cr_run_say_batch(ctx, line, 1, b.data);
    cr_buf_clear(&b);
}

/* Finds items for the vectors of a folder, with the tree and the classifiers of a checkpoint. */
static cr_code search(cr_ui *ui, cr_run_lines *x, const char *dir) {
    const cr_paddle_run *r = x->r;
    cr_tree_search_opts o = {.ckpt_dir = dir,
                             .info = r->tree_info,
                             .layers = r->tree_layers,
                             .vectors = r->questions,
                             .act = r->act,
                             .top = (int)r->top,
                             .found = found,
                             .ctx = x};
    int64_t lines;
    cr_err err;
    double t0 = cr_now();
    if (cr_tree_search(&o, &lines, &err) != CR_OK) return cr_ui_fail(ui, &err);
    cr_ui_say("Infer %s of epoch %s done, use time: %.6g, global metrics: \n", r->phase, x->epoch,
              cr_now() - t0);
    return CR_OK;
}

/* Evaluates one checkpoint; epoch is its name in the lines. */
static cr_code evaluate(cr_ui *ui, const args *a, const cr_paddle_run *r, const char *dir,
                        const char *epoch) {
    char *real = cr_store_of(dir)->real(dir), checkpoint[1088] = "", time[64];
    cr_run_lines x;
    cr_err err;
    cr_run_lines_init(&x, ui, r);
    x.epoch = epoch;
    cr_eval_opts o = {.config = config_of(ui, a, r),
                      .comm = ui->comm,
                      .checkpoint_path = real ? real : dir,
                      .threads = (int)a->threads,
                      .watch = cr_run_lines_watch(&x)};
    /* the results lie beside the checkpoints */
    o.config.model_dir = r->old ? cr_path_dir(&ui->arena, o.checkpoint_path) : r->dir;
    cr_eval_result *res = CR_NEW(&ui->arena, cr_eval_result);
    double t0 = cr_now();
    cr_code code;
    if (r->old)
        cr_ui_say("load persistables from %s\n", dir);
    else
        cr_ui_say("%s - INFO - load model epoch %s\n%s - INFO - start load model from %s\n",
                  cr_run_time(time), epoch, cr_run_time(time), dir);
    if (r->dict) {
        code = ask(ui, r, o.checkpoint_path, epoch);
    } else if (r->longest) {
        code = recall(ui, a, r, o.checkpoint_path, epoch);
    } else if (r->tree_info) {
        code = search(ui, &x, o.checkpoint_path);
    } else {
        code = cr_eval(&o, res, &ui->arena, checkpoint, &ui->diag);
        cr_ui_findings(ui);
        if (code == CR_OK) cr_run_say_result(&x, res, cr_now() - t0);
        if (code == CR_OK && ui->place.rank == 0 && cr_run_dump(&x, -1, &err) != CR_OK)
            code = cr_ui_fail(ui, &err);
    }
    free(real);
    cr_run_lines_clear(&x);
    return code;
}

static int by_number(const void *a, const void *b) {
    long long x = atoll(*(char *const *)a), y = atoll(*(char *const *)b);
    return (x > y) - (x < y);
}

static cr_code infer(cr_ui *ui, const args *a, const cr_paddle_run *r) {
    char **names;
    size_t n = 0, k = 0;
    cr_err err;
    bool any;
    cr_code made = ui->place.rank == 0 ? make_rows(ui, r) : CR_OK;
    CR_TRY(cr_comm_vote(ui->comm, made, false, &any));
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
    for (int i = 0; i < a->set.n; i++)
        add_word(ui, "--set", a->set.v[i]);
    if (a->log_format) add_word(ui, "--log_format", a->log_format);
    if (a->builtin) add_word(ui, "--builtin", a->builtin);
    if (a->compat) add_word(ui, "--compat", a->compat);
    if (a->infer) add_word(ui, "--infer", NULL);
    if (a->bf16) add_word(ui, "--bf16", NULL);
    if (a->continue_train) add_word(ui, "--continue_train", NULL);
    snprintf(n, sizeof n, "%lld", (long long)a->top_n);
    add_word(ui, "--top_n", n);
    snprintf(n, sizeof n, "%lld", (long long)a->threads);
    if (a->threads) add_word(ui, "--threads", n);
    if (ui->quiet) add_word(ui, "--quiet", NULL);
    return CR_OK;
}

/* Goes on as `crank submit`. */
static cr_code submit(cr_ui *ui, const args *a) {
    const char *flag = a->compat           ? "--compat"
                       : a->builtin        ? "--builtin"
                       : a->infer          ? "--infer"
                       : a->to_static      ? "--to_static"
                       : a->bf16           ? "--bf16"
                       : a->set.n          ? "--set"
                       : a->log_format     ? "--log_format"
                       : a->threads        ? "--threads"
                       : a->continue_train ? "--continue_train"
                                           : NULL;
    if (flag)
        return cr_ui_wrong(ui,
                           "%s does not reach the nodes of a cluster; write it into args, with "
                           "PaddleCloud into start_cmd, of %s",
                           flag, a->backend);
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

/* The config of a package: paddlerec.models.rank.dnn is models/rank/dnn/config.yaml. */
static const char *package_config(cr_ui *ui, const char *model) {
    if (strncmp(model, "paddlerec.models.", 17) != 0 || cr_path_exists(model)) return model;
    char *path = cr_arena_printf(&ui->arena, "%s/config.yaml", model + 10);
    for (char *c = path; *c && c < path + strlen(model) - 10; c++)
        if (*c == '.') *c = '/';
    return path;
}

static cr_code run(cr_ui *ui, const void *flags) {
    args given = *(const args *)flags;
    const args *a = &given;
    const cr_paddle_run *start;
    cr_paddle_run *runs;
    int n;
    if (a->compat && strcmp(a->compat, "paddlerec") != 0)
        return cr_ui_wrong(ui, "--compat is '%s' and must be paddlerec", a->compat);
    cr_dll_form form;
    if (a->log_format && !cr_dll_form_of(a->log_format, &form))
        return cr_ui_wrong(ui, "--log_format is '%s' and must be dllogger or tcap", a->log_format);
    given.model = package_config(ui, a->model);
    if (a->backend) return submit(ui, a);
    cr_dialect_opts o = {.set = a->opt.v, .n_set = a->opt.n};
    CR_TRY(cr_paddle_runs(a->model, &o, a->infer, &ui->arena, &runs, &n, &ui->diag));
    if (a->to_static) return n ? to_static(ui, a, &runs[0]) : CR_OK;
    CR_TRY(find_launch(ui, runs, n, &start));
    if (start) return launch(ui, a, start);
    for (int i = 0; i < n; i++) {
        /* the lines of a training are those of --log_format alone */
        if (ui->place.rank == 0) cr_ui_mute(a->log_format && !runs[i].infer);
        cr_run_say_head(&runs[i], has_servers(ui));
        cr_code code = runs[i].infer ? infer(ui, a, &runs[i]) : train(ui, a, &runs[i]);
        if (code != CR_OK && runs[i].old) cr_run_say_failure(ui);
        CR_TRY(code);
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
