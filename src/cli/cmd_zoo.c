/*
 * cmd_zoo.c - `crank zoo run` and `crank run_MODELNAME`: the unified run interface of Tecorigin's
 * ModelZoo. The flags become those of `crank train`, behind `crank launch` if there are several
 * ranks; that command then runs in this process, as if it had been typed.
 *
 * The rules: bools take a value; --step > 0 makes one epoch; batch_size is that of a rank, so the
 * global batch is batch_size * nproc_per_node * nnode.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/shown.h"
#include "cli/cli.h"

typedef struct args {
    cr_opt_list what, set;
    const char *model_name, *dataset_path, *device, *config, *model_dir, *log_format;
    int64_t epoch, step, batch_size, nproc_per_node, nnode, node_rank, master_port, num_workers;
    int64_t eval_step, early_stop, threads;
    double lr, warm_up;
    const char *master_addr, *checkpoint_path, *pretrained_path, *profiler_path;
    const char *autocast, *grad_scale, *do_predict, *profiler, *compile;
    const char *precision_align, *precision_align_cuda_path, *precision_align_log_path;
} args;

#define CONFIG                    "from the config" /* the default of a flag whose value is then -1 */
#define BOOL_(m, otherwise, help) CR_OPT_STR(args, m, 0, "BOOL", otherwise, help)
#define FILE_(m, help)            CR_OPT_STR(args, m, CR_O_PATH, "PATH", "none", help)
#define INT_(m, lo, hi, help)     CR_OPT_INT(args, m, "N", "-1", CONFIG, lo, hi, help)
/* another name of a flag */
#define ALSO(name, m, type, def, otherwise, lo, hi)                                                \
    CR_OPT_AT(args, m, name, type, 0, 0, "N", def, otherwise, lo, hi, "the same as --" #m)

static const cr_opt opts[] = {
    CR_OPT_(args, what, CR_O_LIST, 0, 0, "WORD", NULL, "run", 0, 0, "run, or run_MODELNAME"),
    CR_OPT_STR(args, model_name, 0, "NAME", "from run_MODELNAME",
               "the model, as model_config names it"),
    CR_OPT_STR(args, dataset_path, CR_O_REQUIRED | CR_O_PATH, "PATH", NULL,
               "folder that holds train and eval, or the files to train on"),
    CR_OPT_STR(args, device, CR_O_REQUIRED, "NAME", NULL,
               "cpu; cuda and sdaa are accepted with a warning"),
    CR_OPT_STR(args, config, CR_O_PATH, "FILE",
               "NAME.yaml here or one folder up, or "
               "pipeline.yaml of the dataset",
               "config of the model"),
    INT_(batch_size, -1, 1e9, "rows of a batch on each rank"),
    ALSO("bs", batch_size, CR_O_INT, "-1", CONFIG, -1, 1e9),
    INT_(epoch, -1, 1e9, "passes over the data"),
    CR_OPT_INT(args, step, "N", "-1", "no limit", -1, 4e9, "steps of a short run"),
    CR_OPT_(args, lr, CR_O_FLOAT, 0, 0, "X", "-1", CONFIG, -1, 1e6,
            "learning rate of tables and dense parameters"),
    ALSO("learning_rate", lr, CR_O_FLOAT, "-1", CONFIG, -1, 1e6),
    BOOL_(autocast, CONFIG, "mixed precision in BF16"),
    BOOL_(grad_scale, "False", "scale the loss"),
    CR_OPT_INT(args, nproc_per_node, "N", "1", NULL, 1, 1e5, "ranks on each node"),
    CR_OPT_INT(args, nnode, "N", "1", NULL, 1, 1e5, "nodes"),
    ALSO("nnodes", nnode, CR_O_INT, "1", NULL, 1, 1e5),
    CR_OPT_INT(args, node_rank, "N", "0", NULL, 0, 1e5, "number of this node"),
    CR_OPT_(args, master_addr, CR_O_STR, 0, 0, "HOST", "127.0.0.1", NULL, 0, 0,
            "name or address of node 0"),
    CR_OPT_INT(args, master_port, "PORT", "29500", NULL, 1, 65535, "port of node 0"),
    INT_(num_workers, -1, 1e4, "threads that read data"),
    INT_(eval_step, -1, 4e9, "steps between evaluations"),
    CR_OPT_INT(args, early_stop, "N", "-1", "never", -1, 1e9,
               "end after N evaluations without a better metric"),
    CR_OPT_(args, warm_up, CR_O_FLOAT, 0, 0, "X", "0", NULL, 0, 1,
            "share of --step in which rates rise from 0"),
    FILE_(checkpoint_path, "weights to start from"),
    FILE_(pretrained_path, "the same as --checkpoint_path"),
    BOOL_(do_predict, "False", "predict the rows of the evaluation, into model_dir/predictions"),
    BOOL_(profiler, "False", "profile ten steps into model_dir/trace.json"),
    FILE_(profiler_path, "file or folder that gets trace.json too"),
    BOOL_(precision_align, "False", "compare every parameter with a reference after training"),
    FILE_(precision_align_cuda_path, "the reference: a checkpoint or safetensors file"),
    FILE_(precision_align_log_path, "file that gets the table of crank align"),
    BOOL_(compile, "False", "no meaning for crank: accepted with a warning"),
    CR_OPT_STR(args, model_dir, CR_O_PATH, "DIR", "output/NAME/version_N",
               "folder of checkpoints and results"),
    CR_OPT_(args, log_format, CR_O_STR, 0, 0, "FORMAT", "tcap", NULL, 0, 0,
            "tcap, dllogger, or crank for its own lines"),
    CR_OPT_AT(args, set, "set", CR_O_LIST, 0, 0, "KEY=VALUE", NULL, "none", 0, 0,
              "one edit of the config, a.b[0].c=value; may be repeated, comes last"),
    CR_OPT_THREADS(args),
    CR_OPT_END,
};

static const char *const endings[] = {".yaml", ".yml", ".config", ".json", NULL};

/* What the flags come to. */
typedef struct plan {
    cr_ui *ui;
    const args *a;
    const char *model, *config, *train, *eval, *model_dir;
    bool autocast, grad_scale, profiler, predict, align;
    char **v; /* the command line that runs */
    int n;
} plan;

static void warn(cr_ui *ui, const char *text) {
    cr_diag_add(&ui->diag, CR_SEV_WARN, CR_OK, CR_NOWHERE, "%s", text);
}

/* ---- flags ---- */

static cr_code take_bool(cr_ui *ui, const char *name, const char *text, bool *out) {
    *out = false;
    if (!text || cr_opt_word_bool(text, out)) return CR_OK;
    return cr_ui_wrong(ui, "--%s is '%s' and must be yes, true, t, y or 1, or no, false, f, n or 0",
                       name, text);
}

/* Reads the bools, and refuses what has no counterpart here, with what to do instead. */
static cr_code take_flags(plan *p) {
    cr_ui *ui = p->ui;
    const args *a = p->a;
    bool compile;
    CR_TRY(take_bool(ui, "autocast", a->autocast, &p->autocast));
    CR_TRY(take_bool(ui, "grad_scale", a->grad_scale, &p->grad_scale));
    CR_TRY(take_bool(ui, "profiler", a->profiler, &p->profiler));
    CR_TRY(take_bool(ui, "do_predict", a->do_predict, &p->predict));
    CR_TRY(take_bool(ui, "precision_align", a->precision_align, &p->align));
    CR_TRY(take_bool(ui, "compile", a->compile, &compile));
    if (p->align && (!a->precision_align_cuda_path || !a->precision_align_log_path))
        return cr_ui_wrong(ui, "--precision_align needs --precision_align_cuda_path, weights to "
                               "compare with, and --precision_align_log_path, a file to write");
    if (!p->align && (a->precision_align_cuda_path || a->precision_align_log_path))
        warn(ui, "the paths of --precision_align do nothing without it");
    if (p->align && a->nproc_per_node * a->nnode > 1)
        return cr_ui_wrong(ui, "--precision_align works on one device; leave out --nproc_per_node "
                               "and --nnode");
    if (p->align && p->autocast)
        warn(ui, "--precision_align with --autocast compares rounded products with the reference");
    if (a->profiler_path && !p->profiler)
        warn(ui, "--profiler_path does nothing without --profiler True");
    if (a->warm_up > 0 && a->step <= 0)
        return cr_ui_wrong(ui, "--warm_up is a share of all steps, and --step does not say how "
                               "many there are; give --step, or give the schedule of the config a "
                               "warmup_size");
    if (a->checkpoint_path && a->pretrained_path)
        return cr_ui_wrong(ui, "--checkpoint_path and --pretrained_path mean the same; give one");
    if ((a->lr < 0 && a->lr != -1) || a->batch_size == 0 || a->epoch == 0)
        return cr_ui_wrong(ui, "--lr must not be negative, and --batch_size and --epoch must be "
                               "at least 1; leave out what the config says");
    if (strcmp(a->log_format, "tcap") != 0 && strcmp(a->log_format, "dllogger") != 0 &&
        strcmp(a->log_format, "crank") != 0)
        return cr_ui_wrong(ui, "--log_format is '%s' and must be tcap, dllogger or crank",
                           a->log_format);
    if (a->node_rank >= a->nnode)
        return cr_ui_wrong(ui, "--node_rank is %lld and must be below --nnode, %lld",
                           (long long)a->node_rank, (long long)a->nnode);
    if (strcmp(a->device, "cuda") == 0 || strcmp(a->device, "sdaa") == 0)
        cr_diag_add(&ui->diag, CR_SEV_WARN, CR_OK, CR_NOWHERE,
                    "--device %s: crank trains on CPUs; it runs here on the CPU", a->device);
    else if (strcmp(a->device, "cpu") != 0)
        return cr_ui_wrong(ui, "--device is '%s' and must be cpu, cuda or sdaa", a->device);
    if (compile) warn(ui, "--compile has no meaning for crank, whose kernels are compiled");
    if (a->step > 0 && a->epoch > 1) warn(ui, "--step and --epoch conflict; epoch is forced to 1");
    return CR_OK;
}

/* ---- files ---- */

/* Returns base + one of the endings of a config; NULL: no such file. */
static const char *config_at(cr_arena *a, const char *base) {
    for (int i = 0; endings[i]; i++) {
        const char *path = cr_arena_printf(a, "%s%s", base, endings[i]);
        if (cr_path_exists(path)) return path;
    }
    return NULL;
}

static cr_code find_config(plan *p) {
    cr_arena *a = &p->ui->arena;
    const char *dir = cr_path_is_dir(p->a->dataset_path) ? p->a->dataset_path : NULL;
    p->config = p->a->config;
    if (!p->config) p->config = config_at(a, p->model);
    if (!p->config) p->config = config_at(a, cr_arena_printf(a, "../%s", p->model));
    if (!p->config && dir) p->config = config_at(a, cr_path_join(a, dir, "pipeline"));
    if (p->config) return CR_OK;
    return cr_ui_wrong(p->ui,
                       "no config of %s: neither %s.yaml here or one folder up, nor pipeline.yaml "
                       "in %s; give --config FILE, or start with 'crank scaffold %s DIR'",
                       p->model, p->model, p->a->dataset_path, p->model);
}

/* Returns the data under one of the names in a folder: a folder of that name, or the files that
 * begin with it. NULL: there is none. */
static const char *data_at(cr_arena *a, const char *dir, const char *const *names) {
    char **list;
    size_t n;
    cr_err err;
    if (cr_list_dir(a, dir, &list, &n, &err) != CR_OK) return NULL;
    for (; *names; names++) {
        const char *folder = cr_path_join(a, dir, *names);
        if (cr_path_is_dir(folder)) return folder;
        for (size_t i = 0; i < n; i++)
            if (strncmp(list[i], *names, strlen(*names)) == 0 &&
                !cr_path_is_dir(cr_path_join(a, dir, list[i])))
                return cr_arena_printf(a, "%s*", folder);
    }
    return NULL;
}

static void find_data(plan *p) {
    static const char *const train[] = {"train", NULL};
    static const char *const eval[] = {"eval", "val", "valid", "validation", "test", NULL};
    const char *path = p->a->dataset_path;
    if (!cr_path_is_dir(path)) {
        p->train = path;
        return;
    }
    p->train = data_at(&p->ui->arena, path, train);
    p->eval = data_at(&p->ui->arena, path, eval);
    if (!p->train && !cr_path_below(path, p->config)) p->train = path;
}

/* Runs that name no model_dir are versions of one model; each has a folder of its own. */
static cr_code find_model_dir(plan *p, const char *of_config) {
    cr_arena *a = &p->ui->arena;
    p->model_dir = p->a->model_dir ? p->a->model_dir : *of_config ? of_config : NULL;
    if (p->model_dir) return CR_OK;
    if (p->a->nnode > 1)
        return cr_ui_wrong(p->ui, "several nodes need one model_dir; give --model_dir DIR, the "
                                  "same on all");
    for (int i = 0; !p->model_dir || cr_path_exists(p->model_dir); i++)
        p->model_dir = cr_arena_printf(a, "output/%s/version_%d", p->model, i);
    return CR_OK;
}

/* ---- the command ---- */

static void add(plan *p, const char *name, const char *value) {
    cr_arena *a = &p->ui->arena;
    p->v[p->n++] = value ? cr_arena_printf(a, "%s=%s", name, value) : cr_arena_strdup(a, name);
}

#define ADD_INT(p, name, x)                                                                        \
    add((p), (name), cr_arena_printf(&(p)->ui->arena, "%lld", (long long)(x)))

static void set(plan *p, const char *key, const char *value) {
    add(p, "--set", cr_arena_printf(&p->ui->arena, "%s=%s", key, value));
}

static void set_int(plan *p, const char *key, int64_t x) {
    set(p, key, cr_arena_printf(&p->ui->arena, "%lld", (long long)x));
}

static void set_rate(plan *p, const char *which, const cr_choice *c) {
    char text[32];
    text[cr_fmt_f64(text, p->a->lr)] = 0;
    if (c->m)
        set(p, cr_arena_printf(&p->ui->arena, "train_config.%s.%s.lr", which, c->m->key), text);
}

/* The rate rises before it follows the config's schedule; schedules that cannot rise are none. */
static void set_warm_up(plan *p, const char *which, const cr_choice *schedule, int64_t steps) {
    cr_arena *a = &p->ui->arena;
    const char *key = schedule->m ? schedule->m->key : "constant_learning_rate";
    const char *n = cr_arena_printf(a, "%lld", (long long)steps);
    if (strcmp(key, "constant_learning_rate") == 0)
        set(p, cr_arena_printf(a, "train_config.%s.warmup_decay_learning_rate", which),
            cr_arena_printf(a, "{warmup_size: %s}", n));
    else
        set(p, cr_arena_printf(a, "train_config.%s.%s.warmup_size", which, key), n);
}

/* Adds a command that runs after the training. */
static void queue(plan *p, const char *name, const char *const *words) {
    cr_queued *q = &p->ui->queue[p->ui->n_queue++];
    char **v = CR_NEW_N(&p->ui->arena, char *, 8);
    int n = 0;
    for (; words[n]; n++)
        v[n] = cr_arena_strdup(&p->ui->arena, words[n]);
    *q = (cr_queued){cr_cmd_find(p->ui->cmds, name), n, v};
}

/* What ModelZoo's scripts do after a training, with crank's commands; only the first node does. */
static cr_code after_training(plan *p, const cr_root_conf *c) {
    cr_arena *a = &p->ui->arena;
    const char *dir = p->model_dir, *rows = p->eval ? p->eval : c->eval_input_path;
    if (p->a->node_rank > 0) return CR_OK;
    if (p->predict && !*rows)
        return cr_ui_wrong(p->ui,
                           "--do_predict predicts the rows of the evaluation, and there are "
                           "none; put eval into %s",
                           p->a->dataset_path);
    if (p->predict) {
        const char *export = cr_path_join(a, dir, "export");
        queue(p, "export",
              (const char *const[]){cr_path_join(a, dir, "pipeline.config"), "--export_dir", export,
                                    NULL});
        queue(p, "predict",
              (const char *const[]){"--scripted_model_path", export, "--predict_input_path", rows,
                                    "--predict_output_path", cr_path_join(a, dir, "predictions"),
                                    NULL});
    }
    if (p->profiler && p->a->profiler_path)
        queue(p, "cp",
              (const char *const[]){cr_path_join(a, dir, "trace.json"), p->a->profiler_path, NULL});
    if (p->align)
        queue(p, "align",
              (const char *const[]){p->a->precision_align_cuda_path, dir, "--mode", "params",
                                    "--all", "--report", p->a->precision_align_log_path, NULL});
    return CR_OK;
}

/* Makes the command line: [launch ... --] train ... */
static void make_command(plan *p, const cr_root_conf *c) {
    const args *a = p->a;
    const char *weights = a->checkpoint_path ? a->checkpoint_path : a->pretrained_path;
    p->v = CR_NEW_N(&p->ui->arena, char *, 40 + a->set.n);
    if (a->nproc_per_node * a->nnode > 1) {
        add(p, "launch", NULL);
        ADD_INT(p, "--nproc_per_node", a->nproc_per_node);
        ADD_INT(p, "--nnodes", a->nnode);
        if (a->nnode > 1) {
            ADD_INT(p, "--node_rank", a->node_rank);
            add(p, "--master_addr", a->master_addr);
            ADD_INT(p, "--master_port", a->master_port);
        } else {
            add(p, "--standalone", NULL);
        }
        add(p, "--", NULL);
    }
    add(p, "train", NULL);
    add(p, "--pipeline_config_path", p->config);
    add(p, "--model_dir", p->model_dir);
    if (p->train) add(p, "--train_input_path", p->train);
    if (p->eval) add(p, "--eval_input_path", p->eval);
    if (weights) add(p, "--fine_tune_checkpoint", weights);
    if (a->autocast) add(p, "--autocast", p->autocast ? "True" : "False");
    if (strcmp(a->log_format, "crank") != 0) add(p, "--log_format", a->log_format);
    if (a->threads) ADD_INT(p, "--threads", a->threads);
    if (a->batch_size > 0) set_int(p, "data_config.batch_size", a->batch_size);
    if (a->step > 0) {
        set(p, "train_config.num_epochs", "0");
        set_int(p, "train_config.num_steps", a->step);
    } else if (a->epoch > 0) {
        set(p, "train_config.num_steps", "0");
        set_int(p, "train_config.num_epochs", a->epoch);
    }
    if (a->lr >= 0) {
        set_rate(p, "sparse_optimizer", &c->train_config->sparse_optimizer->optimizer);
        set_rate(p, "dense_optimizer", &c->train_config->dense_optimizer->optimizer);
    }
    if (p->grad_scale) set(p, "train_config.grad_scaler", "{}");
    if (a->num_workers >= 0) set_int(p, "data_config.num_workers", a->num_workers);
    if (a->eval_step > 0) set_int(p, "train_config.eval_interval_steps", a->eval_step);
    if (a->early_stop > 0) set_int(p, "eval_config.early_stopping_patience", a->early_stop);
    if (p->profiler) set(p, "train_config.is_profiling", "true");
    if (a->warm_up > 0) {
        int64_t rise = (int64_t)(a->warm_up * (double)a->step);
        set_warm_up(p, "sparse_optimizer", &c->train_config->sparse_optimizer->learning_rate, rise);
        set_warm_up(p, "dense_optimizer", &c->train_config->dense_optimizer->learning_rate, rise);
    }
    set(p, "train_config.log_step_count_steps", a->step > 0 && a->step <= 1000 ? "1" : "10");
    for (int i = 0; i < a->set.n; i++)
        add(p, "--set", a->set.v[i]);
}

/* Prints what runs, in the block of ModelZoo's run scripts. */
static void say_block(const plan *p) {
    static const char rule[] = "##################################################";
    static const char *const names[] = {"CRANK_CPU",   "OMP_NUM_THREADS", "LOG_LEVEL",
                                        "MASTER_ADDR", "MASTER_PORT",     NULL};
    cr_arena *a = &p->ui->arena;
    cr_ui_say("%s RUN INFO %s\n环境变量:\n", rule, rule);
    for (int i = 0; names[i]; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) cr_ui_say("%s=%s\n", names[i], cr_shown(a, value));
    }
    cr_ui_say("运行参数:\n");
    for (int i = 0; i < p->n; i++) {
        const char *w = p->v[i];
        while (*w == '-')
            w++;
        if (*w && strchr(w, '=')) cr_ui_say("%s\n", cr_shown(a, w));
    }
    cr_ui_say("%s RUN INFO %s\n", rule, rule);
    cr_ui_say("crank");
    for (int i = 0; i < p->n; i++)
        cr_ui_say(" %s", cr_ui_quote(p->ui, p->v[i]));
    cr_ui_say("\n");
}

/* Are both the same name? wide_deep, WideDeep and wide-deep are. */
static bool same_name(const char *a, const char *b) {
    for (;; a++, b++) {
        while (*a == '_' || *a == '-')
            a++;
        while (*b == '_' || *b == '-')
            b++;
        if (!*a || !*b) return !*a && !*b;
        if (strncasecmp(a, b, 1) != 0) return false;
    }
}

static bool names_model(const char *word) {
    return strncmp(word, "run_", 4) == 0 && word[4];
}

static const char *wrong_word(const char *word) {
    if (strcmp(word, "run") == 0 || names_model(word)) return NULL;
    return "write crank zoo run --model_name NAME, or crank run_NAME";
}

/* Finds the name of the model: --model_name, or the word run_NAME. */
static cr_code take_name(plan *p) {
    const args *a = p->a;
    const char *word = a->what.n ? a->what.v[0] : "run";
    char *name = NULL;
    if (a->what.n > 1)
        return cr_ui_wrong(p->ui, "'%s' and '%s' are given; one word says what to run", word,
                           a->what.v[1]);
    if (names_model(word)) {
        name = cr_arena_strdup(&p->ui->arena, word + 4);
        size_t n = strlen(name);
        if (n > 3 && strcmp(name + n - 3, ".py") == 0) name[n - 3] = 0;
    }
    p->model = a->model_name ? a->model_name : name;
    if (!p->model || !*p->model)
        return cr_ui_wrong(p->ui, "no model is named; give --model_name NAME");
    if (name && !same_name(name, p->model))
        return cr_ui_wrong(p->ui, "%s runs %s, but --model_name is %s; leave --model_name out",
                           word, name, p->model);
    return CR_OK;
}

static cr_code prepare(plan *p) {
    cr_config config;
    CR_TRY(take_name(p));
    CR_TRY(take_flags(p));
    CR_TRY(find_config(p));
    find_data(p);
    cr_config_opts o = {.path = p->config,
                        .train_input_path = p->train,
                        .eval_input_path = p->eval,
                        .model_dir = p->a->model_dir};
    cr_code code = cr_config_load(&config, &o, &p->ui->diag);
    const char *found = "none";
    if (code == CR_OK) {
        if (config.root->model_config->model.m) found = config.root->model_config->model.m->key;
        if (!same_name(found, p->model))
            code = cr_ui_wrong(p->ui,
                               "%s trains %s, not %s; give --model_name %s, or the config "
                               "of %s with --config",
                               p->config, found, p->model, found, p->model);
    }
    if (code == CR_OK) code = find_model_dir(p, config.root->model_dir);
    if (code == CR_OK) {
        p->model_dir = cr_arena_strdup(&p->ui->arena, p->model_dir);
        make_command(p, config.root);
        code = after_training(p, config.root);
    }
    cr_config_clear(&config);
    return code;
}

static cr_code run(cr_ui *ui, const void *flags) {
    plan p = {.ui = ui, .a = flags};
    CR_TRY(prepare(&p));
    say_block(&p);
    fflush(stdout);
    ui->next = cr_cmd_find(ui->cmds, p.v[0]);
    ui->next_args = p.v + 1;
    ui->n_next = p.n - 1;
    return CR_OK;
}

static const char *const examples[] = {
    "crank zoo run --model_name deepfm --dataset_path data/criteo --batch_size 2048 --epoch 1 --lr "
    "0.001 --device cpu --autocast True",
    "crank run_deepfm --dataset_path data/criteo --step 10 --device cpu --nproc_per_node 2",
    NULL,
};

const cr_cmd cr_cmd_zoo = {
    .name = "zoo",
    .help = "Train through ModelZoo's unified run interface; also crank run_MODELNAME",
    .about =
        "The flags are those of ModelZoo's run scripts; bools take a value (--autocast True).\n"
        "The global batch is batch_size * nproc_per_node * nnode.\n",
    .operand = "run",
    .operand_opt = "what",
    .wrong_word = wrong_word,
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
