/*
 * cruise_train.c - the section trainer: how long, how exact, which checkpoints, which logs.
 */
#include <math.h>
#include <string.h>

#include "dialect/cruise_int.h"

#define MOST_STEPS 4294967295
#define LINKS      "checkpoints/epoch={epoch}-step={step}-"

static const cr_rule trainer_rules[] = {
    SPENT("default_root_dir"),
    SPENT("default_hdfs_dir"),
    SPENT("logger"),
    SPENT("log_every_n_steps"),
    SPENT("enable_versions"),
    IDLE("enable_speedmonitor", "true", CR_CRUISE_SAME),
    IDLE("benchmark", "false", CR_CRUISE_NONE),
    IDLE("deterministic", "false", CR_CRUISE_SAME),
    IDLE("detect_anomaly", "false", "crank always looks for losses that are not finite"),
    IDLE("accelerator", "cpu", CR_CRUISE_GPU),
    SPENT("accelerator_kwargs"),
    IDLE("strategy", "ddp", "several ranks are started with crank launch"),
    SPENT("precision"),
    SPENT("max_epochs"),
    SPENT("max_steps"),
    SPENT("limit_train_batches"),
    SPENT("limit_val_batches"),
    SPENT("limit_test_batches"),
    SPENT("val_check_interval"),
    SPENT("accumulate_grad_batches"),
    SPENT("gradient_clip_val"),
    TAKE("seed", NULL, "42"),
    IDLE("sync_batchnorm", "true", CR_CRUISE_SAME),
    IDLE("find_unused_parameters", "true", CR_CRUISE_NONE),
    IDLE("sync_fit_metrics", "true", CR_CRUISE_SAME),
    IDLE("summarize_model_depth", "5", "crank params lists the parameters"),
    SPENT("resume_ckpt_path"),
    IDLE("resume_loader_state", "true", CR_CRUISE_SAME),
    SPENT("enable_checkpoint"),
    SPENT("checkpoint_monitor"),
    SPENT("checkpoint_mode"),
    SPENT("callbacks"),
    IDLE("dataloader_timeout", "-1", "a store of files has its own limits"),
    IDLE("dataloader_retry_limit", "100", "a store of files has its own limits"),
    IDLE("dataloader_retry_persistent_limit", "5", "a store of files has its own limits"),
    IDLE("reload_dataloaders_every_n_epochs", "-1", "the files of a run stay as they are"),
    TAKE("project_name", NULL, NULL),
    TAKE("experiment_name", NULL, NULL),
    IDLE("enable_trace", "false", "--trace and crank export write a model to serve"),
    SPENT("enable_qat"),
    SPENT("qat_kwargs"),
    SPENT("optimizer_kwargs"),
    SPENT("grad_norm_layers"),
    END,
};

/* Returns the smaller of two limits, of which -1 is none. */
static int64_t limit(cr_rw *w, const cr_conf_node *a, const char *a_key, const cr_conf_node *b,
                     const char *b_key, cr_loc *at) {
    int64_t x = cr_cruise_whole(w, a, a_key, -1, -1, MOST_STEPS);
    int64_t y = cr_cruise_whole(w, b, b_key, -1, -1, MOST_STEPS);
    for (int i = 0; i < 2; i++)
        if ((i ? y : x) == 0)
            cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(i ? b : a, i ? b_key : a_key),
                       "%s is 0, which leaves no batch; use -1 or null for all of them",
                       i ? b_key : a_key);
    *at = x > 0 && (y <= 0 || x <= y) ? cr_rw_at(a, a_key) : cr_rw_at(b, b_key);
    if (x <= 0 || y <= 0) return x > y ? x : y;
    return x < y ? x : y;
}

static void lengths(cr_rw *w, cr_cruise *c) {
    const cr_conf_node *t = c->trainer;
    int64_t steps = cr_cruise_whole(w, t, "max_steps", -1, -1, MOST_STEPS);
    int64_t epochs = cr_cruise_whole(w, t, "max_epochs", steps > 0 ? -1 : 1, -1, MOST_STEPS);
    cr_loc at;
    if (steps <= 0 && epochs <= 0) {
        cr_rw_tell(w, CR_SEV_ERROR,
                   cr_rw_at(t, cr_rw_has(t, "max_epochs") ? "max_epochs" : "max_steps"),
                   "neither max_epochs nor max_steps is above 0, so the run would have no step; "
                   "give one of them");
        epochs = 1;
    }
    if (steps > 0 && epochs > 0)
        cr_rw_tell(w, CR_SEV_WARN, cr_rw_at(t, "max_steps"),
                   "max_steps decides when training ends, and max_epochs does not");
    if (steps > 0)
        cr_rw_put_num(w, c->train, "num_steps", cr_rw_at(t, "max_steps"), (double)steps);
    else
        cr_rw_put_num(w, c->train, "num_epochs", cr_rw_at(t, "max_epochs"), (double)epochs);
    int64_t n = limit(w, t, "limit_train_batches", c->factory, "train_max_iteration", &at);
    if (n > 0) cr_rw_put_num(w, c->train, "max_steps_per_epoch", at, (double)n);
    n = limit(w, t, "limit_val_batches", c->factory, "val_max_iteration", &at);
    if (n > 0) cr_rw_put_num(w, c->eval, "num_steps", at, (double)n);
    (void)limit(w, t, "limit_test_batches", c->factory, "test_max_iteration", &at);
}

/* One value of val_check_interval: whole numbers are steps, others shares of an epoch. second: a
 * share was there already. */
static void interval(cr_rw *w, cr_cruise *c, const cr_conf_node *n, bool second, bool *share) {
    double x;
    *share = n->kind == CR_NODE_SCALAR && strpbrk(n->text, ".eE") != NULL;
    if (!cr_cruise_is_number(n, &x) || x <= 0 || (*share && x > 1) || (*share && second)) {
        cr_rw_tell(w, CR_SEV_ERROR, n->at,
                   "val_check_interval must be a number of steps, a share of an epoch such as 0.5 "
                   "or 1.0, or both in a list");
        return;
    }
    if (!*share)
        cr_rw_put_num(w, c->train, second ? "eval_interval_steps" : "save_checkpoints_steps", n->at,
                      x);
    else if (x == 1)
        cr_rw_put_num(w, c->train, "save_checkpoints_epochs", n->at, 1);
    else
        cr_rw_put_num(w, c->train, "save_checkpoints_fraction", n->at, x);
}

/* Steps between log lines, and batches of one update. */
static void periods(cr_rw *w, cr_cruise *c) {
    const cr_conf_node *t = c->trainer;
    int64_t log = cr_cruise_whole(w, t, "log_every_n_steps", 50, 1, MOST_STEPS);
    int64_t batches = cr_cruise_whole(w, t, "accumulate_grad_batches", 1, 1, MOST_STEPS);
    cr_rw_put_num(w, c->train, "log_step_count_steps", cr_rw_at(t, "log_every_n_steps"),
                  (double)log);
    if (cr_rw_has(t, "accumulate_grad_batches"))
        cr_rw_put_num(w, c->train, "gradient_accumulation_steps",
                      cr_rw_at(t, "accumulate_grad_batches"), (double)batches);
}

static void intervals(cr_rw *w, cr_cruise *c) {
    const cr_conf_node *n = cr_conf_find(c->trainer, "val_check_interval");
    bool share = false;
    if (!n)
        cr_rw_put_num(w, c->train, "save_checkpoints_epochs", c->trainer->at, 1);
    else if (n->kind != CR_NODE_LIST)
        interval(w, c, n, false, &share);
    for (size_t i = n && n->kind == CR_NODE_LIST ? n->n : 0; i-- > 0;) /* the share comes last */
        interval(w, c, n->v[i].val, share, &share);
}

static void precision(cr_rw *w, cr_cruise *c) {
    const char *p = cr_rw_str(c->trainer, "precision", "32");
    cr_loc at = cr_rw_at(c->trainer, "precision");
    if (strcmp(p, "16") == 0 || strcmp(p, "fp16") == 0) {
        cr_rw_put_str(w, c->train, "mixed_precision", at, "FP16");
        cr_rw_map(w, c->train, "grad_scaler", at);
    } else if (strcmp(p, "bf16") == 0) {
        cr_rw_put_str(w, c->train, "mixed_precision", at, "BF16");
    } else if (strcmp(p, "32") != 0 && strcmp(p, "fp32") != 0) {
        cr_rw_tell(w, CR_SEV_ERROR, at, "precision is '%.30s' and must be 32, 16, fp16 or bf16", p);
    }
}

/* The metric of crank that checkpoint_monitor names; NULL: the step. */
static const char *monitor_of(cr_rw *w, const cr_cruise *c) {
    static const char *const known[] = {"auc",      "precision",      "recall",        "f1",
                                        "accuracy", "average_output", "average_label", NULL};
    static const char *const names[][2] = {{"acc", "accuracy"},
                                           {"prec", "precision"},
                                           {"output", "average_output"},
                                           {"avg_output", "average_output"}};
    const char *monitor = cr_rw_str(c->trainer, "checkpoint_monitor", "loss");
    const char *dot = strrchr(monitor, '.'), *end = c->two_tasks ? "_reject" : "";
    if (strcmp(monitor, "step") == 0) return NULL;
    if (strstr(monitor, "loss") || strstr(monitor, "binary_cross_entropy"))
        return cr_arena_printf(&w->doc->arena, "binary_cross_entropy%s", end);
    const char *base = dot ? dot + 1 : monitor;
    if (strncmp(base, "binary_", 7) == 0) base += 7;
    size_t n = strlen(base);
    for (int i = 0; i < 2 && c->two_tasks; i++) { /* auc_censor */
        const char *task = i ? "_reject" : "_censor";
        if (n > 7 && strcmp(base + n - 7, task) == 0) {
            end = task;
            n -= 7;
        }
    }
    base = cr_arena_strndup(&w->doc->arena, base, n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(base, names[i][0]) == 0) base = names[i][1];
    for (int i = 0; known[i]; i++)
        if (strcmp(base, known[i]) == 0) return cr_arena_printf(&w->doc->arena, "%s%s", base, end);
    cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(c->trainer, "checkpoint_monitor"),
               "checkpoint_monitor is '%.60s', which no validation measures; use loss, step, auc, "
               "precision, recall, f1, accuracy, average_output or average_label",
               monitor);
    return NULL;
}

/* How many checkpoints are kept and by which metric, and their names. */
static void checkpoints(cr_rw *w, cr_cruise *c) {
    const cr_conf_node *t = c->trainer, *n = cr_conf_find(t, "enable_checkpoint");
    const char *mode = cr_rw_str(t, "checkpoint_mode", NULL), *monitor = monitor_of(w, c);
    double keep = 30;
    bool on = true;
    if (n && n->kind == CR_NODE_LIST && n->n > 0) n = n->v[0].val;
    if (n && !cr_cruise_is_number(n, &keep) &&
        !(n->kind == CR_NODE_SCALAR && cr_conf_read_bool(n, &on)))
        cr_rw_tell(w, CR_SEV_ERROR, n->at,
                   "enable_checkpoint must be a bool, the number of checkpoints that are kept, or "
                   "a pair of numbers");
    cr_loc at = cr_rw_at(t, "enable_checkpoint");
    if (!on)
        cr_rw_tell(w, CR_SEV_WARN, at,
                   "checkpoints are written all the same, because validations follow them; the "
                   "last one is kept");
    cr_rw_put_num(w, c->train, "keep_checkpoint_max", at, on ? keep : 1);
    if (mode && strcmp(mode, "min") != 0 && strcmp(mode, "max") != 0)
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(t, "checkpoint_mode"),
                   "checkpoint_mode is '%.30s' and must be min or max", mode);
    at = cr_rw_at(t, "checkpoint_monitor");
    const char *shown = cr_rw_str(t, "checkpoint_monitor", "loss");
    bool evaluates = *cr_rw_str(c->root, "eval_input_path", "") != 0;
    if (!monitor || !evaluates) {
        cr_rw_put_str(w, c->train, "checkpoint_link", at,
                      "checkpoints/epoch={epoch}-step={step}.ckpt");
        return;
    }
    cr_rw_put_bool(w, c->train, "keep_best_checkpoints", at, true);
    cr_rw_put_str(w, c->train, "checkpoint_link", at,
                  cr_arena_printf(&w->doc->arena, LINKS "%s={%s}.ckpt", shown, monitor));
    cr_rw_put_str(w, c->export, "best_exporter_metric", at, monitor);
    if (mode || strstr(shown, "loss"))
        cr_rw_put_bool(w, c->export, "metric_larger_is_better", cr_rw_at(t, "checkpoint_mode"),
                       mode && strcmp(mode, "max") == 0);
}

static bool is_logger(const char *name) {
    static const char *const names[] = {"console", "tensorboard", "tracking", "true", "false"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* Without tensorboard among the loggers there are no events. */
static void loggers(cr_rw *w, cr_cruise *c) {
    const cr_conf_node *n = cr_conf_find(c->trainer, "logger");
    bool events = !n, yes;
    if (!n) return;
    size_t k = n->kind == CR_NODE_LIST ? n->n : 1;
    for (size_t i = 0; i < k; i++) {
        const cr_conf_node *v = n->kind == CR_NODE_LIST ? n->v[i].val : n;
        const char *name = v->kind == CR_NODE_SCALAR ? v->text : "";
        if (v->kind == CR_NODE_SCALAR && cr_conf_read_bool(v, &yes))
            events |= yes;
        else if (!is_logger(name))
            cr_rw_tell(w, CR_SEV_ERROR, v->at,
                       "logger '%.40s' is not known; there are console, tensorboard and tracking",
                       name);
        events |= strcmp(name, "tensorboard") == 0;
        if (strcmp(name, "tracking") == 0)
            cr_rw_tell(w, CR_SEV_NOTE, v->at,
                       "crank knows no tracking server; train_log.jsonl has every value, with "
                       "project_name and experiment_name");
    }
    if (!events) cr_rw_put_bool(w, c->train, "use_tensorboard", n->at, false);
}

/* Keys that change results and have no counterpart here. */
static void refused(cr_rw *w, const cr_conf_node *t) {
    const cr_conf_node *n = cr_conf_find(t, "callbacks");
    if (n && n->kind == CR_NODE_SCALAR ? n->len > 0 : n && n->n > 0)
        cr_rw_tell(w, CR_SEV_ERROR, n->at, "crank runs no Python; remove trainer.callbacks");
    if (cr_cruise_bool(w, t, "enable_qat", false))
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(t, "enable_qat"),
                   "crank trains without quantisation; remove enable_qat, and give crank export "
                   "--embedding_dtype");
    n = cr_conf_find(t, "qat_kwargs");
    if (n && n->n > 0)
        cr_rw_tell(w, CR_SEV_NOTE, n->at,
                   "'trainer.qat_kwargs' is left out: it matters only with enable_qat");
    n = cr_conf_find(t, "accelerator_kwargs");
    if (n && n->n > 0)
        cr_rw_tell(w, CR_SEV_NOTE, n->at,
                   "'trainer.accelerator_kwargs' is left out: " CR_CRUISE_GPU);
}

void cr_cruise_trainer(cr_rw *w, cr_cruise *c) {
    const cr_conf_node *t = c->trainer, *n;
    cr_cruise_section(w, "trainer", trainer_rules, t, c->train);
    if (cr_rw_has(t, "default_root_dir"))
        cr_rw_put_str(w, c->root, "model_dir", cr_rw_at(t, "default_root_dir"),
                      cr_rw_str(t, "default_root_dir", ""));
    if (cr_rw_has(t, "default_hdfs_dir"))
        cr_rw_put_str(w, c->train, "mirror_dir", cr_rw_at(t, "default_hdfs_dir"),
                      cr_rw_str(t, "default_hdfs_dir", ""));
    (void)cr_cruise_bool(w, t, "enable_versions", true);
    lengths(w, c);
    periods(w, c);
    intervals(w, c);
    precision(w, c);
    checkpoints(w, c);
    loggers(w, c);
    refused(w, t);
    double clip = cr_cruise_number(w, t, "gradient_clip_val", 0);
    if (clip > 0) {
        cr_conf_node *g = cr_rw_map(w, c->train, "grad_clipping", cr_rw_at(t, "gradient_clip_val"));
        cr_rw_put_str(w, g, "clipping_type", g->at, "norm");
        cr_rw_put_num(w, g, "max_gradient", g->at, clip);
    }
    const char *resume = cr_rw_str(t, "resume_ckpt_path", "auto");
    if (strcmp(resume, "auto") != 0)
        cr_rw_put_str(w, c->train, "fine_tune_checkpoint", cr_rw_at(t, "resume_ckpt_path"), resume);
    n = cr_conf_find(t, "grad_norm_layers");
    if (n && n->kind == CR_NODE_LIST && n->n > 0)
        cr_cruise_name(w, cr_cruise_list(w, c->train, "tensorboard_summaries", n->at),
                       "gradient_norm");
}
