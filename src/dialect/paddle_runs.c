/*
 * paddle_runs.c - what a PaddleRec config asks to be run: in the old kind every runner of `mode`,
 * in order, with each of its phases; in the new kind a training, or the evaluation of saved epochs.
 *
 * local_cluster_train starts servers and workers on this machine. On a node of a cluster
 * (PADDLE_PADDLEREC_ROLE=WORKER) cluster_train trains with those that the platform has started;
 * elsewhere it submits a job (src/submit), and this file refuses it.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "dialect/paddle_int.h"

static const char *const classes[] = {
    "train", "infer", "local_cluster_train", "cluster_train", "single_train", "single_infer", NULL};

static const char *next_class(const void *ctx, size_t i) {
    (void)ctx;
    return classes[i];
}

static bool is_worker(void) {
    const char *role = getenv("PADDLE_PADDLEREC_ROLE");
    return role && strcasecmp(role, "WORKER") == 0;
}

/* Is the class of a runner one that this process can run? */
static bool check_class(cr_pd *p, cr_pd_map runner, const char *name) {
    const char *text = cr_pd_str(p, runner, "class", true);
    cr_loc at = cr_pd_at(p, runner, "class");
    int k = 0;
    if (!*text) return false;
    while (classes[k] && strcasecmp(classes[k], text) != 0)
        k++;
    if (!classes[k]) {
        const char *near = cr_nearest(text, next_class, NULL);
        cr_pd_wrong(p, at,
                    "class is '%.40s' and must be train, infer, local_cluster_train or "
                    "cluster_train%s%s%s",
                    text, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        return false;
    }
    if (strcmp(classes[k], "cluster_train") == 0 && !is_worker()) {
        cr_pd_wrong(p, at,
                    "runner '%s' submits a job to a cluster; give -b backend.yaml, set "
                    "PADDLE_PADDLEREC_ROLE=WORKER in the environment to train here, or run "
                    "another runner",
                    name);
        return false;
    }
    const char *fleet = cr_pd_str(p, runner, "fleet_mode", false);
    if (strstr(classes[k], "cluster") && fleet && strcasecmp(fleet, "collective") == 0)
        cr_pd_warn(p, at,
                   "runner '%s' trains without parameter servers; as several processes it starts "
                   "with 'crank launch --nproc-per-node N -- run ...'",
                   name);
    return true;
}

/* A dataset that names the words of a dictionary holds questions. */
static void find_questions(cr_pd *p, cr_paddle_run *r, const char *phase) {
    cr_pd_map root = {p->in, "the config"};
    const cr_conf_node *one = cr_pd_item(cr_pd_get(p, root, "phase"), phase);
    const cr_conf_node *data =
        one ? cr_pd_item(cr_pd_get(p, root, "dataset"), cr_conf_find_text(one, "dataset_name"))
            : NULL;
    if (!r->infer || !data) return;
    const char *files = cr_conf_find_text(data, "data_path");
    cr_pd_map tree = {cr_pd_get(p, p->hyper, "tree"), "hyper_parameters.tree"};
    if (tree.map) {
        r->tree_info = cr_pd_str(p, tree, "tree_info_path", true);
        r->tree_layers = cr_pd_str(p, tree, "tree_layer_path", true);
        r->top = cr_pd_int(p, p->hyper, "topK", 1, 1, 1000000);
        r->act = cr_pd_str(p, p->hyper, "act", false);
        r->questions = files;
    }
    if (!*cr_conf_find_text(data, "word_id_dict_path")) return;
    r->dict = cr_conf_find_text(data, "word_id_dict_path");
    r->questions = files;
    r->min_n = cr_pd_int(p, p->hyper, "min_n", 0, 1, 100);
    r->max_n = cr_pd_int(p, p->hyper, "max_n", r->min_n, 1, 100);
}

/* Are the inputs and outputs of a model to serve named? PaddleRec writes none without. */
static bool names_given(cr_pd *p, cr_pd_map runner) {
    static const char *const keys[] = {"save_inference_feed_varnames",
                                       "save_inference_fetch_varnames"};
    for (int i = 0; i < 2; i++) {
        const cr_conf_node *v = cr_pd_get(p, runner, keys[i]);
        if (!v || v->kind != CR_NODE_LIST || v->n == 0) return false;
    }
    return true;
}

/* The rows that the run of a phase reads, where crank run makes them. */
static cr_paddle_rows old_rows(cr_pd *p, cr_pd_map runner, const char *phase) {
    cr_pd_map root = {p->in, "the config"};
    const cr_conf_node *one = cr_pd_item(cr_pd_get(p, root, "phase"), phase);
    const char *name = one ? cr_conf_find_text(one, "dataset_name") : "";
    cr_pd_map data = {cr_pd_item(cr_pd_get(p, root, "dataset"), name), "dataset"};
    return data.map ? cr_pd_old_rows(p, runner, data) : (cr_paddle_rows){0};
}

static void old_run(cr_pd *p, cr_paddle_run *r, cr_pd_map runner, const char *name,
                    const char *phase) {
    const char *dir;
    *r = (cr_paddle_run){.old = true, .runner = name, .phase = phase};
    r->infer = cr_pd_infers(cr_conf_find_text(runner.map, "class"));
    dir = cr_pd_str(p, runner, r->infer ? "init_model_path" : "save_checkpoint_path", r->infer);
    r->dir = dir ? dir : "model_output";
    r->print_interval = cr_pd_int(p, runner, "print_interval", 20, 1, 1000000000);
    r->epochs = cr_pd_int(p, runner, "epochs", 1, 1, 1000000);
    find_questions(p, r, phase);
    r->rows = old_rows(p, runner, phase);
    r->plain_auc = r->rows.kind == CR_ROWS_LISTS;
    r->shows_scores = p->hyper.map && cr_conf_find(p->hyper.map, "sentence_left_size") != NULL;
    int64_t batches = cr_pd_int(p, runner, "save_step_interval", -1, -1, 1000000000);
    const char *steps = cr_pd_str(p, runner, "save_step_path", false);
    const char *dump = cr_pd_str(p, runner, "runner_result_dump_path", false);
    if (batches > 0 && steps && *steps) r->step_dir = steps;
    if (dump && *dump) r->dump = dump;
    int64_t exports = cr_pd_int(p, runner, "save_inference_interval", -1, -1, 1000000);
    const char *export_dir = cr_pd_str(p, runner, "save_inference_path", false);
    if (!r->infer && exports != 0 && export_dir && *export_dir && names_given(p, runner)) {
        r->export_dir = export_dir;
        r->export_interval = exports > 0 ? exports : 1;
    }
    const char *fleet = cr_pd_str(p, runner, "fleet_mode", false);
    bool local = strcasecmp(cr_conf_find_text(runner.map, "class"), "local_cluster_train") == 0;
    bool has_servers =
        cr_pd_on_cluster(runner.map) && !(fleet && strcasecmp(fleet, "collective") == 0);
    int64_t servers = cr_pd_int(p, runner, "server_num", 1, 1, 4095);
    int64_t workers = cr_pd_int(p, runner, "worker_num", 1, 1, 4095);
    if (has_servers && local) r->servers = servers;
    if (has_servers && !local) r->servers = -1;
    if (has_servers) r->workers = workers;
    const char *strategy = cr_pd_str(p, runner, "distribute_strategy", false);
    r->merges = strategy && strcasecmp(strategy, "async") != 0 && strcasecmp(strategy, "geo") != 0;
    if (!r->infer && !dir)
        cr_pd_note(p, runner.map->at,
                   "save_checkpoint_path is not given; the checkpoints are in model_output");
}

static void old_runs(cr_pd *p, cr_paddle_run **out, int *n) {
    cr_pd_map root = {p->in, "the config"};
    const cr_conf_node *list = cr_pd_get(p, root, "runner"), *mode = cr_pd_get(p, root, "mode");
    if (!mode) {
        cr_pd_wrong(p, p->in->at,
                    "can not find mode in yaml, which is required; it names the "
                    "runners to run");
        return;
    }
    size_t n_modes = mode->kind == CR_NODE_LIST ? mode->n : 1;
    if (n_modes == 0)
        cr_pd_wrong(p, mode->at,
                    "mode is an empty list, so nothing would run; name a runner in it");
    *out = CR_NEW_N(&p->doc->arena, cr_paddle_run, n_modes * 64 + 1);
    for (size_t i = 0; i < n_modes; i++) {
        const cr_conf_node *w = mode->kind == CR_NODE_LIST ? mode->v[i].val : mode;
        const char *name = w->text ? w->text : "";
        cr_pd_map runner = {cr_pd_item(list, name), "runner"};
        if (!runner.map) {
            cr_pd_wrong(p, w->at, "mode names the runner '%s', and there is none of that name",
                        name);
            continue;
        }
        if (!check_class(p, runner, name)) continue;
        int k;
        const char **phases = cr_pd_phases_of(p, runner, &k);
        if (k == 0)
            cr_pd_wrong(p, cr_pd_at(p, runner, "phases"),
                        "runner '%s' has no phase, so it would do nothing; name one in phases",
                        name);
        if (k > 1 && !cr_pd_infers(cr_conf_find_text(runner.map, "class")))
            cr_pd_wrong(p, runner.map->at,
                        "runner '%s' trains %d phases, each a model of its own, into one folder; "
                        "give it one phase, and another runner for each of the others",
                        name, k);
        for (int j = 0; j < k; j++)
            old_run(p, &(*out)[(*n)++], runner, name, phases[j]);
    }
}

static void new_run(cr_pd *p, bool infer, cr_paddle_run *r) {
    const char *dir = cr_pd_str(p, p->runner, infer ? "infer_load_path" : "model_save_path", false);
    const char *data = cr_pd_str(p, p->runner, infer ? "test_data_dir" : "train_data_dir", true);
    *r = (cr_paddle_run){.infer = infer, .dir = dir ? dir : "model_output", .data = data};
    r->print_interval = cr_pd_int(p, p->runner, "print_interval", 100, 1, 1000000000);
    bool counted = !infer && !cr_pd_online(p); /* else the passes of the days count */
    r->epochs = cr_pd_int(p, p->runner, "epochs", counted ? CR_PD_REQUIRED : 1, 1, 1000000);
    r->batch =
        cr_pd_int(p, p->runner, infer ? "infer_batch_size" : "train_batch_size", 1, 1, 1000000000);
    if (!infer && cr_conf_find(p->hyper.map ? p->hyper.map : p->in, "dp_drop_prob"))
        r->batch = cr_pd_int(p, p->runner, "reader_batch_size", 1, 1, 1000000000);
    const char *init = cr_pd_str(p, p->runner, "model_init_path", false);
    if (init && *init) r->init = init;
    if (!infer && cr_pd_bool(p, p->runner, "use_inference", false) && names_given(p, p->runner)) {
        r->export_dir = r->dir;
        r->export_interval = 1;
    }
    r->first = cr_pd_int(p, p->runner, "infer_start_epoch", 0, 0, 1000000);
    r->end = cr_pd_int(p, p->runner, "infer_end_epoch", 10, 0, 1000001);
    r->shows_scores = p->hyper.map && cr_conf_find(p->hyper.map, "sentence_left_size") != NULL;
    r->task_first = p->hyper.map && cr_conf_find(p->hyper.map, "feature_vocabulary") != NULL;
    r->accuracy = p->hyper.map && cr_conf_find(p->hyper.map, "bot_layer_sizes") != NULL;
    r->by_place = p->hyper.map && cr_conf_find(p->hyper.map, "max_context") != NULL;
    r->root = p->hyper.map && cr_conf_find(p->hyper.map, "dp_drop_prob") != NULL;
    r->capitals = p->hyper.map && cr_conf_find(p->hyper.map, "l0_para") != NULL;
    r->ad_tasks = p->hyper.map && cr_conf_find(p->hyper.map, "local_lr") != NULL;
    r->capitals |= r->ad_tasks;
    r->only_auc = r->task_first || (p->hyper.map && cr_conf_find(p->hyper.map, "counterfactual_w"));
    const char *dir_of = cr_path_dir(&p->doc->arena, p->path);
    const char *dict = cr_conf_find_text(p->runner.map, "word_id_dict_path");
    if (infer && *dict) {
        r->dict = cr_path_join(&p->doc->arena, dir_of, dict);
        r->questions = cr_path_join(&p->doc->arena, dir_of, data);
    }
    bool mind = cr_pd_rows(p, false).kind == CR_ROWS_SESSIONS;
    if (infer && mind) r->longest = cr_pd_int(p, p->hyper, "maxlen", 30, 1, 100000);
    if (infer && mind) r->questions = cr_path_join(&p->doc->arena, dir_of, data);
    r->rows = cr_pd_rows(p, infer);
    r->sessions = r->rows.kind == CR_ROWS_KNOWLEDGE;
    if (r->rows.kind == CR_ROWS_SOCIAL) r->lists = cr_pd_int(p, p->runner, "top_k", 10, 1, 1000000);
    cr_pd_map root = {p->in, "the config"};
    r->pair_mask =
        !infer && r->rows.kind == CR_ROWS_PASTED && cr_pd_int(p, root, "stage", 0, 0, 1) == 0;
}

/* Copies what the runs point to, because the document does not live as long. */
static cr_paddle_run *kept(cr_arena *a, const cr_paddle_run *v, int n) {
    cr_paddle_run *out = CR_NEW_N(a, cr_paddle_run, n + 1);
    for (int i = 0; i < n; i++) {
        out[i] = v[i];
        const char **texts[] = {&out[i].runner,
                                &out[i].phase,
                                &out[i].data,
                                &out[i].questions,
                                &out[i].dict,
                                &out[i].rows.raw,
                                &out[i].rows.dir,
                                &out[i].dir,
                                &out[i].tree_info,
                                &out[i].step_dir,
                                &out[i].tree_layers,
                                &out[i].dump,
                                &out[i].act,
                                &out[i].export_dir,
                                &out[i].init,
                                &out[i].rows.ratings,
                                &out[i].rows.relations,
                                &out[i].rows.known};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (*texts[k]) *texts[k] = cr_arena_strdup(a, *texts[k]);
    }
    return out;
}

cr_code cr_paddle_runs(const char *path, const cr_dialect_opts *o, bool infer, cr_arena *a,
                       cr_paddle_run **out, int *n, cr_diag *diag) {
    cr_conf_doc doc;
    cr_pd p;
    cr_paddle_run *runs = NULL;
    size_t errors = diag->n_errors;
    *n = 0;
    cr_conf_doc_init(&doc);
    doc.last_counts = cr_paddle_last_counts;
    cr_code code = cr_conf_load(&doc, path, diag);
    if (code == CR_OK && !cr_conf_find(doc.root, "runner")) {
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){doc.path, 0, 0},
                    "there is no runner in it, so it is not a config of PaddleRec; 'crank train' "
                    "takes the configs of TorchEasyRec");
        code = CR_ECONF;
    }
    if (code == CR_OK) {
        code = cr_pd_open(&p, &doc, o, diag);
        if (code == CR_OK && p.old) {
            int n_envs;
            old_runs(&p, &runs, n);
            const cr_paddle_env *envs = cr_pd_envs(&p, a, &n_envs);
            for (int i = 0; i < *n; i++) {
                runs[i].envs = envs;
                runs[i].n_envs = n_envs;
            }
        } else if (code == CR_OK) {
            runs = CR_NEW_N(&doc.arena, cr_paddle_run, 1);
            new_run(&p, infer, runs);
            *n = 1;
        }
        cr_pd_close(&p);
    }
    if (diag->n_errors > errors) {
        *n = 0;
        code = CR_ECONF;
    }
    *out = kept(a, runs, *n);
    cr_conf_doc_clear(&doc);
    return code;
}
