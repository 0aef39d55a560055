/*
 * paddle.c - configs of PaddleRec: which file is one, the runner, phase and dataset that are meant,
 * and the keys of a runner.
 *
 * The user's tree is read, and a new tree of crank's keys is made beside it. Every key that is read
 * is marked; at the end a key that nothing reads is a mistake, with the nearest one that is read.
 * Keys of runners, phases and datasets that this run does not use are not looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/fs.h"
#include "dialect/list.h"
#include "dialect/paddle_int.h"

#define MAX_PHASES 64

/* ---- the tree ---- */

const cr_conf_node *cr_pd_item(const cr_conf_node *list, const char *name) {
    for (size_t i = 0; list && list->kind == CR_NODE_LIST && i < list->n; i++) {
        const cr_conf_node *v = list->v[i].val;
        if (v->kind == CR_NODE_MAP && strcmp(cr_conf_find_text(v, "name"), name) == 0) return v;
    }
    return NULL;
}

/* Puts the workspace into every text that is the value of a key; items of lists stay. */
static void put_workspace(cr_pd *p, cr_conf_node *n) {
    static const char mark[] = "{workspace}";
    for (size_t i = 0; i < n->n; i++) {
        cr_conf_node *v = n->v[i].val;
        if (v->kind != CR_NODE_SCALAR) {
            put_workspace(p, v);
            continue;
        }
        const char *at = n->kind == CR_NODE_MAP ? strstr(v->text, mark) : NULL;
        if (!at) continue;
        v->text = cr_arena_printf(&p->doc->arena, "%.*s%s%s", (int)(at - v->text), v->text,
                                  p->workspace, at + sizeof mark - 1);
        v->len = strlen(v->text);
    }
}

/* Returns the folder of a workspace. models/rank/dnn is relative to the current folder, or to one
 * above the config; paddlerec.models.rank.dnn is the same in the words of a Python package. */
static const char *find_workspace(cr_pd *p, const char *text, cr_loc at) {
    cr_arena *a = &p->doc->arena;
    char *path = cr_arena_strdup(a, text);
    if (strncmp(text, "paddlerec.", 10) == 0) {
        path = cr_arena_strdup(a, text + 10);
        for (char *c = path; *c; c++)
            if (*c == '.') *c = '/';
    }
    while (strlen(path) > 1 && path[strlen(path) - 1] == '/')
        path[strlen(path) - 1] = 0;
    if (cr_path_is_dir(path)) return path;
    const char *dir = cr_path_dir(a, p->path);
    char *real = cr_store_of(dir)->real(dir);
    size_t n = strlen(path), m = real ? strlen(real) : 0;
    bool same =
        real && m >= n && strcmp(real + m - n, path) == 0 && (m == n || real[m - n - 1] == '/');
    free(real);
    if (same) return dir;
    cr_pd_wrong(p, at,
                "workspace '%s' is not a folder of the current one, and the config does not lie in "
                "such a folder; start crank in the folder that holds it, or write the path of the "
                "model's folder",
                text);
    return path;
}

/* Runners, phases and datasets are found by their names. PaddleRec mixes the keys of two that have
 * the same one. */
static void check_names(cr_pd *p, const char *key) {
    const cr_conf_node *list = cr_pd_get(p, (cr_pd_map){p->in, "the config"}, key);
    for (size_t i = 0; list && list->kind == CR_NODE_LIST && i < list->n; i++) {
        const cr_conf_node *v = list->v[i].val;
        const char *name = v->kind == CR_NODE_MAP ? cr_conf_find_text(v, "name") : "";
        const cr_conf_node *first = *name ? cr_pd_item(list, name) : v;
        if (first != v)
            cr_pd_wrong(p, v->at, "another %s, on line %d, is called '%s', too; rename one of them",
                        key, first->at.line, name);
    }
}

cr_code cr_pd_open(cr_pd *p, cr_conf_doc *doc, const cr_dialect_opts *o, cr_diag *diag) {
    static const cr_dialect_opts none = {0};
    *p = (cr_pd){.doc = doc, .path = doc->path, .diag = diag, .o = o ? o : &none, .in = doc->root};
    size_t errors = diag->n_errors;
    cr_tree_use_init(&p->use);
    p->out = cr_conf_new(doc, CR_NODE_MAP, doc->root->at);
    cr_pd_set(p);
    cr_pd_map root = {p->in, "the config"};
    const cr_conf_node *runner = cr_pd_get(p, root, "runner");
    p->old = runner && runner->kind == CR_NODE_LIST;
    p->hyper = (cr_pd_map){cr_pd_get(p, root, "hyper_parameters"), "hyper_parameters"};
    if (p->hyper.map && p->hyper.map->kind != CR_NODE_MAP) {
        cr_pd_wrong(p, p->hyper.map->at, "hyper_parameters must be a mapping");
        p->hyper.map = NULL;
    }
    p->optimizer = (cr_pd_map){cr_pd_get(p, p->hyper, "optimizer"), "hyper_parameters.optimizer"};
    if (!p->optimizer.map) /* maml's; its inner steps have another one */
        p->optimizer = (cr_pd_map){cr_pd_get(p, p->hyper, "meta_optimizer"),
                                   "hyper_parameters.meta_optimizer"};
    if (!p->old) {
        /* PaddleRec puts the folder of the config there, and -o may name another */
        const char *dir = cr_pd_str(p, root, "config_abs_dir", false);
        if (dir) p->path = cr_path_join(&doc->arena, dir, cr_path_base(doc->path));
        p->runner = p->dataset = (cr_pd_map){runner, "runner"};
        if (!runner || runner->kind != CR_NODE_MAP)
            cr_pd_wrong(p, p->in->at,
                        "there is no runner; PaddleRec's configs have a mapping, or "
                        "a list of named ones, under that key");
        return diag->n_errors > errors ? CR_ECONF : CR_OK;
    }
    cr_pd_idle(p, root, "debug"); /* timing per operator */
    check_names(p, "runner");
    check_names(p, "phase");
    check_names(p, "dataset");
    const char *workspace = cr_pd_str(p, root, "workspace", true);
    if (*workspace) {
        p->workspace = find_workspace(p, workspace, cr_pd_at(p, root, "workspace"));
        put_workspace(p, doc->root);
    }
    return diag->n_errors > errors ? CR_ECONF : CR_OK;
}

void cr_pd_close(cr_pd *p) {
    cr_tree_use_clear(&p->use);
}

/* ---- runner, phase, dataset ---- */

bool cr_pd_infers(const char *runner_class) {
    return strcasecmp(runner_class, "infer") == 0 || strcasecmp(runner_class, "single_infer") == 0;
}

static bool blank_or_comma(char c) {
    return c == ' ' || c == ',';
}

const char **cr_pd_phases_of(cr_pd *p, cr_pd_map runner, int *n) {
    const char **out = CR_NEW_N(&p->doc->arena, const char *, MAX_PHASES);
    const cr_conf_node *all = cr_pd_get(p, (cr_pd_map){p->in, "the config"}, "phase");
    const cr_conf_node *v = cr_pd_get(p, runner, "phases");
    *n = 0;
    if (!all || all->kind != CR_NODE_LIST) {
        cr_pd_wrong(p, all ? all->at : p->in->at,
                    "can not find phase in yaml, which is required; it is a list of named phases");
        return out;
    }
    for (size_t i = 0; i < all->n && *n < MAX_PHASES && !v; i++) /* none are named: all of them */
        out[(*n)++] = cr_conf_find_text(all->v[i].val, "name");
    for (size_t i = 0; v && v->kind == CR_NODE_LIST && i < v->n && *n < MAX_PHASES; i++)
        out[(*n)++] = v->v[i].val->text ? v->v[i].val->text : "";
    if (v &&
        v->kind == CR_NODE_SCALAR) /* names in one text, exactly; PaddleRec takes parts of it */
        for (const char *s = v->text; *s && *n < MAX_PHASES;) {
            while (blank_or_comma(*s))
                s++;
            const char *end = s;
            while (*end && !blank_or_comma(*end))
                end++;
            if (end > s) out[(*n)++] = cr_arena_strndup(&p->doc->arena, s, (size_t)(end - s));
            s = end;
        }
    /* PaddleRec looks whether the text of phases contains the name of a phase */
    for (size_t i = 0; v && v->kind == CR_NODE_SCALAR && i < all->n; i++) {
        const char *name = cr_conf_find_text(all->v[i].val, "name");
        bool named = false;
        for (int k = 0; k < *n; k++)
            named |= strcmp(out[k], name) == 0;
        if (!named && *name && strstr(v->text, name))
            cr_pd_note(p, v->at,
                       "phases names '%s', so PaddleRec would run phase '%s', too; here names are "
                       "compared exactly",
                       v->text, name);
    }
    for (int i = 0; i < *n; i++)
        if (!cr_pd_item(all, out[i]))
            cr_pd_wrong(p, v ? v->at : all->at,
                        "there is no phase '%s'; name one of the list phase", out[i]);
    return out;
}

/* Chooses a runner of the old kind: the one that is asked for, or the first of `mode` that trains
 * (or evaluates). */
static const cr_conf_node *choose_runner(cr_pd *p, const cr_conf_node *list) {
    cr_pd_map root = {p->in, "the config"};
    const cr_conf_node *mode = cr_pd_get(p, root, "mode"), *first = NULL;
    if (p->o->runner) return cr_pd_item(list, p->o->runner);
    size_t n = mode && mode->kind == CR_NODE_LIST ? mode->n : mode ? 1 : 0;
    for (size_t i = 0; i < n; i++) {
        const cr_conf_node *w = mode->kind == CR_NODE_LIST ? mode->v[i].val : mode;
        const cr_conf_node *r = cr_pd_item(list, w->text ? w->text : "");
        if (!r) continue;
        if (!first) first = r;
        if (cr_pd_infers(cr_conf_find_text(r, "class")) == (p->o->part == CR_DIALECT_INFER))
            return r;
    }
    if (!first)
        cr_pd_wrong(p, mode ? mode->at : p->in->at,
                    "mode names no runner; it is the name of a runner, or a list of names");
    return first;
}

/* Marks all items of a list but one as read: this run does not use them. */
static void pass_over(cr_pd *p, const cr_conf_node *list, const cr_conf_node *but) {
    for (size_t i = 0; list && list->kind == CR_NODE_LIST && i < list->n; i++)
        if (list->v[i].val != but) cr_tree_ask_all(&p->use, list->v[i].val);
}

/* What the Python classes of a runner do is known of two files that PaddleRec ships: one reads the
 * tree of tdm, the other the weights of init_pretraining_model_path. */
static bool known_code(const char *path) {
    const char *name = cr_path_base(path);
    return strcmp(name, "tdm_startup.py") == 0 || strcmp(name, "finetune_startup.py") == 0;
}

static void refuse_code(cr_pd *p) {
    static const char *const keys[] = {"trainer_class",      "instance_class_path",
                                       "network_class_path", "startup_class_path",
                                       "runner_class_path",  "terminal_class_path"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *path = cr_pd_str(p, p->runner, keys[i], false);
        if (path && !known_code(path))
            cr_pd_wrong(p, cr_pd_at(p, p->runner, keys[i]),
                        "%s names Python code, which crank does not run; remove it to run the "
                        "runner as PaddleRec's own classes would",
                        keys[i]);
    }
}

static void choose_old(cr_pd *p) {
    cr_pd_map root = {p->in, "the config"};
    const cr_conf_node *runners = cr_pd_get(p, root, "runner"), *phases, *datasets;
    p->runner = (cr_pd_map){choose_runner(p, runners), "runner"};
    if (!p->runner.map) return;
    phases = cr_pd_get(p, root, "phase");
    datasets = cr_pd_get(p, root, "dataset");
    int n;
    const char **names = cr_pd_phases_of(p, p->runner, &n);
    const char *phase = p->o->phase ? p->o->phase : n ? names[0] : "";
    p->phase = (cr_pd_map){cr_pd_item(phases, phase), "phase"};
    if (!p->phase.map) {
        if (n == 0) cr_pd_wrong(p, p->runner.map->at, "the runner has no phase; add phases");
        return;
    }
    const char *dataset = cr_pd_str(p, p->phase, "dataset_name", true);
    p->dataset = (cr_pd_map){cr_pd_item(datasets, dataset), "dataset"};
    if (!p->dataset.map && *dataset)
        cr_pd_wrong(p, cr_pd_at(p, p->phase, "dataset_name"),
                    "there is no dataset '%s'; name one of the list dataset", dataset);
    pass_over(p, runners, p->runner.map);
    pass_over(p, phases, p->phase.map);
    pass_over(p, datasets, p->dataset.map);
    cr_pd_idle(p, p->runner, "name");
    cr_pd_idle(p, p->phase, "name");
    cr_pd_idle(p, p->dataset, "name");
}

/* ---- the keys of a runner ---- */

static void put_init(cr_pd *p, const char *key) {
    const char *path = cr_pd_str(p, p->runner, key, false);
    if (!path || p->o->part == CR_DIALECT_INFER) return;
    cr_pd_put(p, cr_pd_at(p, p->runner, key), "train_config: {fine_tune_checkpoint: %s}",
              cr_pd_names(p, &path, 1));
}

/* Says of a place where crank cannot compute that it computes on the CPU. */
static void tell_device(cr_pd *p, const char *key, const char *device) {
    cr_pd_warn(p, cr_pd_at(p, p->runner, key), "%s asks for a %s; crank computes on the CPU", key,
               device);
}

/* Refuses a key that has a value; how: what is wrong with it, and what to do. */
static void refuse_given(cr_pd *p, const char *key, const char *how) {
    const cr_conf_node *v = cr_pd_get(p, p->runner, key);
    bool none = !v || (v->kind == CR_NODE_SCALAR && (!v->len || strcmp(v->text, "-1") == 0)) ||
                (v->kind == CR_NODE_LIST && v->n == 0);
    if (!none) cr_pd_wrong(p, v->at, "%s %s", key, how);
}

/* Refuses a switch that is on. */
static void refuse_on(cr_pd *p, const char *key, const char *how) {
    if (cr_pd_bool(p, p->runner, key, false))
        cr_pd_wrong(p, cr_pd_at(p, p->runner, key), "%s %s", key, how);
}

/* Keys of the old kind without an effect here: those of GPUs, of inference models of Paddle, of
 * results per batch. */
static void old_runner(cr_pd *p) {
    static const char *const idle[] = {"selected_gpus",
                                       "save_inference_interval",
                                       "save_inference_feed_varnames",
                                       "save_inference_fetch_varnames",
                                       "save_inference_path",
                                       "print_interval",
                                       "class",
                                       "phases",
                                       "epochs",
                                       "save_checkpoint_interval",
                                       "save_checkpoint_path",
                                       "init_model_path",
                                       "worker_num",
                                       "server_num",
                                       "fleet_mode",
                                       "distribute_strategy",
                                       "init_pretraining_model_path",
                                       "save_step_path",
                                       "runner_result_dump_path"};
    const char *device = cr_pd_str(p, p->runner, "device", false);
    if (device && strcasecmp(device, "cpu") != 0) tell_device(p, "device", device);
    bool infers = cr_pd_infers(cr_conf_find_text(p->runner.map, "class"));
    const char *dir =
        cr_pd_str(p, p->runner, infers ? "init_model_path" : "save_checkpoint_path", false);
    bool online = cr_pd_online(p) && !infers;
    int64_t epochs =
        cr_pd_int(p, p->runner, "epochs", infers || online ? 1 : CR_PD_REQUIRED, 1, 1000000);
    int64_t every = cr_pd_int(p, p->runner, "save_checkpoint_interval", -1, -1, 1000000);
    int64_t print = cr_pd_int(p, p->runner, "print_interval", 20, 1, 1000000000);
    if (!dir) dir = "model_output";
    cr_pd_put(p, cr_pd_at(p, p->runner, infers ? "init_model_path" : "save_checkpoint_path"),
              "model_dir: %s", cr_pd_names(p, &dir, 1));
    cr_pd_put(p, p->runner.map->at,
              "train_config: {num_epochs: %lld, save_checkpoints_epochs: %lld, "
              "log_step_count_steps: %lld, use_tensorboard: false}",
              (long long)epochs, (long long)(every < 1 ? 1 : every), (long long)print);
    const char *init = cr_pd_str(p, p->runner, "init_model_path", false);
    if (!infers) put_init(p, init && *init ? "init_model_path" : "init_pretraining_model_path");
    int64_t batches = cr_pd_int(p, p->runner, "save_step_interval", -1, -1, 1000000000);
    const char *steps = cr_pd_str(p, p->runner, "save_step_path", false);
    if (!infers && batches > 0 && steps && *steps)
        cr_pd_put(p, cr_pd_at(p, p->runner, "save_step_interval"),
                  "train_config: {save_checkpoints_batches: %lld}", (long long)batches);
    else if (batches > 0 && !infers)
        cr_pd_warn(p, cr_pd_at(p, p->runner, "save_step_interval"),
                   "save_step_interval has no effect without save_step_path; add it");
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        cr_pd_idle(p, p->runner, idle[i]);
    refuse_code(p);
    refuse_given(
        p, "finetuning_aspect_varnames",
        "names variables of Paddle, which crank does not have; remove it, and keep a table "
        "as it is with 'trainable: false' of its feature, other parameters with "
        "part_optimizers");
    refuse_given(p, "load_vars",
                 "names variables of Paddle, which crank does not have; remove it, and give the "
                 "weights to begin with as init_model_path");
}

static void new_runner(cr_pd *p) {
    static const char *const idle[] = {"use_auc",
                                       "auc_num",
                                       "num_workers",
                                       "use_visual",
                                       "use_inference",
                                       "inference",
                                       "save_inference_feed_varnames",
                                       "save_inference_fetch_varnames",
                                       "use_fleet",
                                       "is_train",
                                       "mode",
                                       "reader_type",
                                       "pipe_command",
                                       "thread_num",
                                       "dataset_debug",
                                       "split_file_list",
                                       "sync_mode",
                                       "geo_step",
                                       "model_save_path",
                                       "infer_load_path",
                                       "infer_start_epoch",
                                       "infer_end_epoch",
                                       "epochs",
                                       "print_interval",
                                       "test_data_dir",
                                       "infer_reader_path",
                                       "infer_batch_size",
                                       "train_data_dir",
                                       "train_reader_path",
                                       "train_batch_size",
                                       "model_init_path",
                                       "seed",
                                       "parse_ins_id",
                                       "parse_content",
                                       "fs_name",
                                       "fs_ugi",
                                       "CE",
                                       "model_path", /* of the Python file */
                                       "infer_reader_type",
                                       "infer_thread_num",
                                       "batches_per_epoch"};
    static const char *const devices[] = {"use_gpu", "use_xpu", "use_npu"};
    for (int i = 0; i < 3; i++)
        if (cr_pd_bool(p, p->runner, devices[i], false)) tell_device(p, devices[i], devices[i] + 4);
    const char *save = cr_pd_str(p, p->runner, "model_save_path", false);
    const char *load = cr_pd_str(p, p->runner, "infer_load_path", false);
    const char *dir = p->o->part == CR_DIALECT_INFER ? load : save;
    if (!dir) dir = "model_output";
    const char *there =
        cr_pd_remote(p, dir, cr_pd_at(p, p->runner, save ? "model_save_path" : "infer_load_path"));
    if (there) dir = there;
    bool infers = p->o->part == CR_DIALECT_INFER;
    cr_pd_put(p, cr_pd_at(p, p->runner, infers ? "infer_load_path" : "model_save_path"),
              "model_dir: %s", cr_pd_names(p, &dir, 1));
    bool online = cr_pd_online(p) && !infers;
    int64_t epochs =
        cr_pd_int(p, p->runner, "epochs", infers || online ? 1 : CR_PD_REQUIRED, 1, 1000000);
    int64_t print = cr_pd_int(p, p->runner, "print_interval", 100, 1, 1000000000);
    int64_t seed = cr_pd_int(p, p->runner, "seed", 12345, 0, INT64_MAX);
    cr_pd_put(p, p->runner.map->at,
              "train_config: {log_step_count_steps: %lld, seed: %lld, use_tensorboard: false}",
              (long long)print, (long long)seed);
    if (online)
        cr_pd_daily(p, dir);
    else
        cr_pd_put(p, p->runner.map->at,
                  "train_config: {num_epochs: %lld, save_checkpoints_epochs: 1}",
                  (long long)epochs);
    put_init(p, "model_init_path");
    const char *warm = cr_pd_str(p, p->runner, "warmup_model_path", false);
    if (warm && !infers)
        cr_pd_put(p, cr_pd_at(p, p->runner, "warmup_model_path"),
                  "train_config: {warmup_model_path: %s}", cr_pd_names(p, &warm, 1));
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        cr_pd_idle(p, p->runner, idle[i]);
    refuse_on(p, "need_dump",
              "writes variables of Paddle for each row, which crank does not have; remove it, and "
              "take 'crank predict' for a score per row");
    refuse_on(
        p, "use_save_data",
        "writes variables of Paddle for the last batch, which crank does not have; remove it, "
        "and take 'crank predict' for a score per row");
    refuse_on(
        p, "use_out_vec",
        "takes the first vectors of the tree from out_vec_path; remove it, and give the weights "
        "to begin with as model_init_path");
    refuse_on(p, "with_coordinator",
              "is for training by several owners of data, which crank does not have; remove it to "
              "train with servers and workers");
}

/* ---- the optimizer ---- */

static void put_optimizer(cr_pd *p) {
    const char *name = cr_pd_str(p, p->optimizer, "class", false);
    const char *lr_key =
        cr_conf_find_text(p->optimizer.map ? p->optimizer.map : p->in, "learning_rate_base_lr")[0]
            ? "learning_rate_base_lr"
        : cr_conf_find_text(p->optimizer.map ? p->optimizer.map : p->in, "global_learning_rate")[0]
            ? "global_learning_rate"
            : "learning_rate";
    double lr = cr_pd_num(p, p->optimizer, lr_key, p->sgd_keys ? 0.005 : 0.001, 0, 1e6);
    cr_loc at = cr_pd_at(p, p->optimizer, "class");
    cr_pd_idle(p, p->optimizer, "strategy");
    cr_pd_idle(p, p->optimizer, "learning_rate");
    const char *shipped = p->old && !p->model->always ? NULL : p->model->optimizer;
    const char *use = name ? name : shipped ? shipped : "SGD";
    bool adamw = shipped && strcmp(shipped, "AdamW") == 0 && strcasecmp(use, "adamw") == 0;
    if (strcasecmp(use, "sgd") != 0 && strcasecmp(use, "adam") != 0 &&
        strcasecmp(use, "adagrad") != 0 && !adamw) {
        cr_pd_wrong(p, at,
                    "configured optimizer can only supported SGD/Adam/Adagrad; '%.40s' is "
                    "none of them",
                    use);
        return;
    }
    if (shipped && strcasecmp(use, shipped) != 0) {
        if (p->o->compat)
            cr_pd_note(p, at, "PaddleRec's %s always takes %s, so that is used, and not %s",
                       p->model->name, shipped, use);
        else
            cr_pd_note(p, at,
                       "PaddleRec's %s always takes %s; %s of the config is used, and --compat "
                       "paddlerec takes the other",
                       p->model->name, shipped, use);
        if (p->o->compat) use = shipped;
        adamw = p->o->compat && strcmp(shipped, "AdamW") == 0;
    }
    /* a rate that falls by a factor every so many steps; the shipped code of the new kind leaves it
     * out */
    int64_t steps = cr_pd_int(p, p->optimizer, "decay_steps", 0, 1, INT64_MAX);
    double factor = cr_pd_num(p, p->optimizer, "decay_rate", 1, 0, 1);
    if (p->falls_every) steps = p->falls_every;
    if (p->falls_every) factor = cr_pd_num(p, p->optimizer, "gamma", 0.7, 0, 1);
    const char *falls = "";
    /* gnn's rate falls a little in every step, and decay_steps is a number of epochs */
    int64_t unit = p->decay_rows ? p->decay_rows / (p->batch > 0 ? p->batch : 1) : 1;
    if (unit < 1) unit = 1;
    if (steps > 0 && steps <= INT64_MAX / unit && factor < 1 &&
        (p->falls_every || !(p->o->compat && !p->old)))
        falls =
            cr_arena_printf(&p->doc->arena,
                            ", exponential_decay_learning_rate: {decay_size: %lld, "
                            "decay_factor: %.9g, staircase: %s}",
                            (long long)(steps * unit), factor, p->decay_rows ? "false" : "true");
    if (shipped && strcmp(shipped, "AdamW") == 0) cr_pd_idle(p, p->optimizer, "weight_decay");
    double l2 = cr_pd_num(p, p->optimizer, "l2", 0, 0, 1e6);
    char decay[64] = "";
    if (l2 > 0) snprintf(decay, sizeof decay, ", weight_decay: %.9g", l2);
    char rate[32];
    bool sgd = strcasecmp(use, "sgd") == 0;
    /* a sum over the batch moves SGD as many times as far as the mean; Adam and Adagrad divide the
     * factor out again */
    if (p->o->compat && p->old && p->model->sum_loss && sgd) lr *= (double)p->batch;
    rate[cr_fmt_f64(rate, lr)] = 0;
    if (sgd)
        cr_pd_put(
            p, at,
            "train_config: {sparse_optimizer: {sgd_optimizer: {lr: %s%s}%s}, dense_optimizer: "
            "{sgd_optimizer: {lr: %s%s%s}%s}}",
            rate, decay, falls, rate, p->sgd_keys ? p->sgd_keys : ", momentum: 0",
            p->sgd_keys ? "" : decay, p->sgd_falls ? p->sgd_falls : falls);
    else if (adamw)
        cr_pd_put(p, at,
                  "train_config: {sparse_optimizer: {adam_optimizer: {lr: %s}%s}, "
                  "dense_optimizer: {adamw_optimizer: {lr: %s, weight_decay: %.9g}%s}, "
                  "grad_clipping: {clipping_type: norm, max_gradient: 5}}",
                  rate, falls, rate, cr_pd_num(p, p->optimizer, "weight_decay", 0.01, 0, 1e6),
                  falls);
    else if (strcasecmp(use, "adam") == 0)
        cr_pd_put(p, at,
                  "train_config: {sparse_optimizer: {adam_optimizer: {lr: %s%s%s}%s}, "
                  "dense_optimizer: {adam_optimizer: {lr: %s%s}%s}}",
                  rate, p->o->compat && !p->old ? ", mode: DENSE" : "", decay, falls, rate, decay,
                  falls);
    else
        cr_pd_put(p, at,
                  "train_config: {sparse_optimizer: {adagrad_optimizer: {lr: %s%s}%s}, "
                  "dense_optimizer: {adagrad_optimizer: {lr: %s, eps: 1e-6%s}%s}}",
                  rate, decay, falls, rate, decay, falls);
}

/* ---- the dialect ---- */

static const cr_conf_entry *paddle_sign(const cr_conf_doc *doc) {
    static const char *const keys[][2] = {
        {"runner", "train_data_dir"},
        {"runner", "test_data_dir"},
        {"runner", "class"},
        {"phase", "dataset_name"},
        {"dataset", "data_path"},
        {"runner", "train_reader_path"},
        {"train", "trainer"},
        {"train", "workspace"},
        {"runner", "model_save_path"},
        {"runner", "infer_load_path"},
        {NULL, NULL},
    };
    return cr_dialect_key(doc, keys);
}

bool cr_paddle_last_counts(const cr_conf_doc *doc) {
    return paddle_sign(doc) != NULL;
}

/* The reader of Criteo's lines decides how many slots there are; PaddleRec's models of the new kind
 * stop where sparse_inputs_slots, which counts the label, says another number. */
static void check_slots(cr_pd *p) {
    if (p->old || p->model->reader != cr_pd_criteo) return;
    int64_t slots = cr_pd_int(p, p->hyper, "sparse_inputs_slots", p->n_ids + 1, 0, 1000000);
    if (slots != p->n_ids + 1)
        cr_pd_wrong(p, cr_pd_at(p, p->hyper, "sparse_inputs_slots"),
                    "sparse_inputs_slots is %lld, but the reader of %s has %d slots of ids and the "
                    "label; write %d",
                    (long long)slots, p->model->name, p->n_ids, p->n_ids + 1);
}

static cr_code paddle_rewrite(cr_conf_doc *doc, const cr_conf_entry *sign, const cr_dialect_opts *o,
                              cr_diag *diag) {
    if (!cr_conf_find(doc->root, "runner")) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, sign->at,
                    "this is a config of PaddleRec before its release 0.1.0; write it as in "
                    "release 1.8.5, with workspace, mode, runner, phase and dataset");
        return CR_ECONF;
    }
    cr_pd p;
    size_t errors = diag->n_errors;
    cr_code code = cr_pd_open(&p, doc, o, diag);
    if (code == CR_OK && p.old) choose_old(&p);
    if (code == CR_OK && diag->n_errors == errors) p.model = cr_pd_find(&p);
    if (p.model) {
        for (const char *const *k = p.model->idle; k && *k; k++)
            cr_pd_idle(&p, p.hyper, *k);
        if (p.old)
            old_runner(&p);
        else
            new_runner(&p);
        cr_pd_servers(&p);
        cr_pd_data(&p);
        check_slots(&p);
        put_optimizer(&p);
        if (!p.no_columns) p.model->build(&p);
        cr_pd_shipped(&p);
        cr_pd_map root = {p.in, "the config"};
        static const char *const top[] = {"mode", "last_epoch", "static_benchmark",
                                          "config_abs_dir"};
        if (!p.tables) cr_pd_idle(&p, root, "table_parameters");
        for (size_t i = 0; i < sizeof top / sizeof *top; i++)
            cr_pd_idle(&p, root, top[i]);
        /* a model that stopped at a mistake has not read all of its keys */
        if (diag->n_errors == errors) cr_tree_tell_unused(&p.use, p.in, CR_SEV_ERROR, diag);
        doc->root = p.out;
    }
    cr_pd_close(&p);
    return diag->n_errors > errors ? CR_ECONF : CR_OK;
}

const char *cr_paddle_model(const char *path, const cr_dialect_opts *o, cr_arena *a, bool *named) {
    cr_conf_doc doc;
    cr_diag unheard; /* the run of the config reports what is wrong */
    cr_pd p;
    const char *name = NULL;
    *named = false;
    cr_conf_doc_init(&doc);
    cr_diag_init(&unheard);
    doc.last_counts = cr_paddle_last_counts;
    if (cr_conf_load(&doc, path, &unheard) == CR_OK && cr_conf_find(doc.root, "runner")) {
        cr_code code = cr_pd_open(&p, &doc, o, &unheard);
        if (code == CR_OK && p.old) choose_old(&p);
        if (unheard.n_errors == 0) p.model = cr_pd_find(&p);
        if (p.model) name = cr_arena_strdup(a, p.model->name);
        if (p.phase.map)
            *named = strncmp(cr_conf_find_text(p.phase.map, "model"), "builtin:", 8) == 0;
        cr_pd_close(&p);
    }
    cr_diag_clear(&unheard);
    cr_conf_doc_clear(&doc);
    return name;
}

const cr_dialect cr_dialect_paddle = {
    .name = "PaddleRec",
    .sign = paddle_sign,
    .rewrite = paddle_rewrite,
};
