/*
 * cruise.c - configs of Cruise and Gandalf: trainer, model, data. The model, AutoDis NN, becomes a
 * graph of blocks over raw features with an AutoDis embedding of the form GANDALF:
 *
 *   x = [autodis(slots), n(slots), dropout(text vectors)]
 *   logit = Linear(128 -> 1) of an MLP 1024, 512, 256, 128 with ReLU and dropout
 *
 * Keys are strict: what no table has is a mistake. A key whose value is null counts as not given.
 * Pickles of the original data are no data here: every slot is a column slot_<id>, every text
 * vector a list of floats under its own name, the label a column `label`.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/list.h"
#include "dialect/rewrite_int.h"

#define MAX_SLOTS 100000
#define FILES     "*parquet" /* names of data files */

typedef struct cruise {
    const cr_conf_node *trainer, *model, *data;
    cr_conf_node *root, *train, *eval, *export, *set,
        *net; /* set: data_config; net: model_config */
} cruise;

/* ---- tables ---- */

#define GPU  "crank trains on the CPU"
#define SAME "crank always does so"
#define NONE "it has no counterpart in crank and changes no result"

static const cr_rule root_rules[] = {
    SPENT("trainer"),
    SPENT("model"),
    SPENT("data"),
    IDLE("log_level", NULL, "use --log_level"),
    END,
};
static const cr_rule trainer_rules[] = {
    SPENT("default_root_dir"),
    LOST("default_hdfs_dir", NULL, "results stay in default_root_dir; copy them from there"),
    IDLE("logger", NULL, "crank writes its console, JSON lines and TensorBoard events"),
    TAKE("log_every_n_steps", "log_step_count_steps", "50"),
    SPENT("enable_versions"),
    IDLE("enable_speedmonitor", NULL, SAME),
    IDLE("benchmark", NULL, NONE),
    IDLE("deterministic", NULL, SAME),
    IDLE("detect_anomaly", NULL, "crank always looks for losses that are not finite"),
    IDLE("accelerator", NULL, GPU),
    IDLE("accelerator_kwargs", NULL, GPU),
    IDLE("strategy", NULL, "several ranks are started with crank launch"),
    SPENT("precision"),
    SPENT("max_epochs"),
    SPENT("max_steps"),
    SPENT("limit_train_batches"),
    SPENT("limit_val_batches"),
    IDLE("limit_test_batches", NULL, NONE),
    SPENT("val_check_interval"),
    TAKE("accumulate_grad_batches", "gradient_accumulation_steps", NULL),
    SPENT("gradient_clip_val"),
    TAKE("seed", NULL, "42"),
    IDLE("sync_batchnorm", NULL, SAME),
    IDLE("find_unused_parameters", NULL, NONE),
    IDLE("sync_fit_metrics", NULL, SAME),
    IDLE("summarize_model_depth", NULL, "crank params lists the parameters"),
    SPENT("resume_ckpt_path"),
    IDLE("resume_loader_state", NULL, SAME),
    SPENT("enable_checkpoint"),
    SPENT("checkpoint_monitor"),
    SPENT("checkpoint_mode"),
    CUT("callbacks", "crank runs no Python; remove it"),
    IDLE("dataloader_timeout", NULL, NONE),
    IDLE("dataloader_retry_limit", NULL, NONE),
    IDLE("dataloader_retry_persistent_limit", NULL, NONE),
    IDLE("reload_dataloaders_every_n_epochs", NULL, NONE),
    IDLE("project_name", NULL, "it names the run for a tracking server"),
    IDLE("experiment_name", NULL, "it names the run for a tracking server"),
    IDLE("enable_trace", NULL, "crank export writes a model to serve"),
    SPENT("enable_qat"),
    IDLE("qat_kwargs", NULL, "it matters only with enable_qat"),
    SPENT("optimizer_kwargs"),
    SPENT("grad_norm_layers"),
    END,
};
static const cr_rule model_rules[] = {SPENT("type"), SPENT("features"), SPENT("kwargs"), END};
static const cr_rule features_rules[] = {
    SPENT("feature_num"),
    SPENT("bucket_num"),
    SPENT("bucket_dim"),
    SPENT("slot_mask"),
    SPENT("layer_conf"),
    IDLE("alpha", "1", "there are no residual blocks that it would act in"),
    END,
};
static const cr_rule kwargs_rules[] = {SPENT("dropout"), SPENT("optimizer"), SPENT("lr_scheduler"),
                                       END};
static const cr_rule optimizer_rules[] = {
    SPENT("optimizer_name"), SPENT("learning_rate"), SPENT("wd"), SPENT("wd_ignore_bias"),
    SPENT("custom_keys"),    SPENT("amsgrad"),       END,
};
static const cr_rule factor_rules[] = {SPENT("lr_factor"), SPENT("wd_factor"), END};
static const cr_rule schedule_rules[] = {
    SPENT("scheduler_name"), SPENT("warmup_steps"),
    SPENT("total_iters"),    SPENT("start_factor"),
    SPENT("end_factor"),     SPENT("total_steps"),
    SPENT("min_lr"),         SPENT("gamma"),
    SPENT("decay_step"),     END,
};
static const cr_rule data_rules[] = {SPENT("type"), SPENT("dataset"), SPENT("feature_provider"),
                                     SPENT("data_factory"), END};
static const cr_rule dataset_rules[] = {
    SPENT("input_dir"),
    SPENT("val_input_dir"),
    SPENT("test_input_dir"),
    SPENT("train_folder"),
    SPENT("val_folder"),
    SPENT("test_folder"),
    END,
};
static const cr_rule provider_rules[] = {
    SPENT("type"),
    SPENT("feature_num"),
    SPENT("slot_mask"),
    SPENT("feature_norm_info"),
    SPENT("embedding_conf"),
    CUT("tokenizer_path", "the text branch reads vectors that are made before; give their widths "
                          "in embedding_conf and remove the tokenizer"),
    IDLE("max_length", NULL, "it matters only with a tokenizer"),
    IDLE("use_high_precision", NULL, NONE),
    CUT("filtered_tags", "crank leaves out no rows by their text; leave them out of the files"),
    IDLE("save_extra", NULL, NONE),
    IDLE("eval_mode", NULL, NONE),
    IDLE("trace_mode", NULL, NONE),
    END,
};
static const cr_rule factory_rules[] = {
    SPENT("type"),
    TAKE("batch_size", NULL, "128"),
    SPENT("batch_size_val"),
    TAKE("num_workers", NULL, NULL),
    IDLE("num_parallel_reads", NULL, NONE),
    TAKE("drop_last", "drop_remainder", NULL),
    TAKE("shuffle", NULL, "true"),
    IDLE("shuffle_files", "false", "shuffle mixes the rows of all files"),
    SPENT("train_max_iteration"),
    SPENT("val_max_iteration"),
    IDLE("test_max_iteration", NULL, NONE),
    IDLE("fast_resume", NULL, SAME),
    IDLE("parquet_cache_on", NULL, NONE),
    IDLE("multiplex_mix_batch", NULL, "there is one source"),
    CUT("multiplex_dataset_weights", "crank reads one source; join the sources first"),
    SPENT("filename_pattern"),
    CUT("file_min_size", "crank reads every file; leave small ones out of the folder"),
    CUT("group_keys", "it has no counterpart; remove it"),
    END,
};

/* ---- reading ---- */

/* Passes a section through its table; messages name it. */
static void section(cr_rw *w, const char *name, const cr_rule *rules, const cr_conf_node *in,
                    cr_conf_node *out) {
    cr_buf_reset(&w->path);
    cr_buf_str(&w->path, name);
    cr_rw_message(w, rules, in, out);
    cr_buf_reset(&w->path);
}

static bool is_null(const cr_conf_node *n) {
    if (n->kind != CR_NODE_SCALAR || n->quoted) return false;
    return n->len == 0 || strcmp(n->text, "null") == 0 || strcmp(n->text, "Null") == 0 ||
           strcmp(n->text, "NULL") == 0 || strcmp(n->text, "~") == 0;
}

/* Drops keys without a value, so that each of them counts as not given. */
static void drop_nulls(cr_conf_node *n, int depth) {
    size_t m = 0;
    if (n->kind == CR_NODE_SCALAR || depth > 60) return;
    for (size_t i = 0; i < n->n; i++) {
        if (n->kind == CR_NODE_MAP && is_null(n->v[i].val)) continue;
        drop_nulls(n->v[i].val, depth + 1);
        n->v[m++] = n->v[i];
    }
    n->n = m;
}

/* Returns the map under a key; a value of another kind is told, and counts as empty. */
static const cr_conf_node *part(cr_rw *w, const cr_conf_node *in, const char *key, bool needed) {
    const cr_conf_node *n = in ? cr_conf_find(in, key) : NULL;
    if (n && n->kind == CR_NODE_MAP) return n;
    if (n)
        cr_rw_tell(w, CR_SEV_ERROR, n->at, "%s must be a map of keys", key);
    else if (needed)
        cr_rw_tell(w, CR_SEV_ERROR, in ? in->at : w->doc->root->at,
                   "the section %s is missing; add it", key);
    cr_conf_node *none = cr_conf_new(w->doc, CR_NODE_MAP, in ? in->at : w->doc->root->at);
    none->from = w->doc->syntax;
    return none;
}

static bool number_of(const cr_conf_node *n, double *x) {
    return n->kind == CR_NODE_SCALAR && cr_parse_f64(n->text, n->len, x) && isfinite(*x);
}

/* Returns the number under a key; another value is a mistake. */
static double number(cr_rw *w, const cr_conf_node *in, const char *key, double absent) {
    const cr_conf_node *n = cr_conf_find(in, key);
    double x;
    if (!n) return absent;
    if (number_of(n, &x)) return x;
    cr_rw_tell(w, CR_SEV_ERROR, n->at, "%s must be a number", key);
    return absent;
}

static int64_t whole(cr_rw *w, const cr_conf_node *in, const char *key, int64_t absent, int64_t lo,
                     int64_t hi) {
    double x = number(w, in, key, (double)absent);
    if (x == floor(x) && x >= (double)lo && x <= (double)hi) return (int64_t)x;
    cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(in, key), "%s must be a whole number from %lld to %lld",
               key, (long long)lo, (long long)hi);
    return absent;
}

/* Reads `type:`; a name that is not registered is a mistake that lists those that are. */
static const char *type_of(cr_rw *w, const cr_conf_node *in, const char *where,
                           const char *const *names) {
    const char *type = cr_rw_str(in, "type", NULL);
    char list[300] = "";
    size_t n = 0;
    for (int i = 0; names[i]; i++) {
        if (type && strcmp(type, names[i]) == 0) return names[i];
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", names[i]);
    }
    if (type)
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(in, "type"),
                   "%s.type '%.60s' is not registered; crank has %s", where, type, list);
    else
        cr_rw_tell(w, CR_SEV_ERROR, in->at, "%s.type is missing; crank has %s", where, list);
    return names[0];
}

/* ---- trainer ---- */

static void epochs_and_steps(cr_rw *w, cruise *c) {
    int64_t steps = whole(w, c->trainer, "max_steps", -1, -1, 4294967295);
    int64_t epochs = whole(w, c->trainer, "max_epochs", steps > 0 ? -1 : 1, -1, 4294967295);
    if (steps > 0 && epochs > 0)
        cr_rw_tell(w, CR_SEV_WARN, cr_rw_at(c->trainer, "max_steps"),
                   "max_steps decides when training ends, and max_epochs does not");
    if (steps > 0)
        cr_rw_put_num(w, c->train, "num_steps", cr_rw_at(c->trainer, "max_steps"), (double)steps);
    else
        cr_rw_put_num(w, c->train, "num_epochs", cr_rw_at(c->trainer, "max_epochs"),
                      (double)epochs);
    static const char *const limits[] = {"limit_train_batches"};
    for (int i = 0; i < 1; i++)
        if (number(w, c->trainer, limits[i], -1) != -1)
            cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(c->trainer, limits[i]),
                       "%s has no counterpart; remove it and give max_steps", limits[i]);
    double val = number(w, c->trainer, "limit_val_batches", -1);
    if (val != -1)
        cr_rw_put_num(w, c->eval, "num_steps", cr_rw_at(c->trainer, "limit_val_batches"), val);
}

/* One value of val_check_interval: whole numbers are steps, 1.0 is an epoch. */
static void interval(cr_rw *w, cruise *c, const cr_conf_node *n, bool *steps) {
    double x;
    bool point = n->kind == CR_NODE_SCALAR && strpbrk(n->text, ".eE") != NULL;
    if (!number_of(n, &x) || x <= 0 || (point && x != 1)) {
        cr_rw_tell(w, CR_SEV_ERROR, n->at,
                   "val_check_interval must be a number of steps, 1.0 for every epoch, or both in "
                   "a list");
        return;
    }
    if (point)
        cr_rw_put_num(w, c->train, "save_checkpoints_epochs", n->at, 1);
    else
        cr_rw_put_num(w, c->train, *steps ? "eval_interval_steps" : "save_checkpoints_steps", n->at,
                      x);
    *steps |= point;
}

static void intervals(cr_rw *w, cruise *c) {
    const cr_conf_node *n = cr_conf_find(c->trainer, "val_check_interval");
    bool epochs = false;
    if (!n) {
        cr_rw_put_num(w, c->train, "save_checkpoints_epochs", c->trainer->at, 1);
        return;
    }
    if (n->kind != CR_NODE_LIST) {
        interval(w, c, n, &epochs);
        return;
    }
    for (size_t i = n->n; i-- > 0;) /* the epochs come last in the list */
        interval(w, c, n->v[i].val, &epochs);
}

static void precision(cr_rw *w, cruise *c) {
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

/* How many checkpoints are kept, and which is the best. */
static void checkpoints(cr_rw *w, cruise *c) {
    const cr_conf_node *n = cr_conf_find(c->trainer, "enable_checkpoint");
    const char *monitor = cr_rw_str(c->trainer, "checkpoint_monitor", NULL);
    const char *mode = cr_rw_str(c->trainer, "checkpoint_mode", NULL);
    double keep = 30;
    bool on = true;
    if (n && n->kind == CR_NODE_LIST && n->n > 0) n = n->v[0].val;
    if (n && !number_of(n, &keep) && !(n->kind == CR_NODE_SCALAR && cr_conf_read_bool(n, &on)))
        cr_rw_tell(w, CR_SEV_ERROR, n->at,
                   "enable_checkpoint must be a bool, the number of checkpoints that are kept, or "
                   "a pair of numbers");
    cr_loc at = cr_rw_at(c->trainer, "enable_checkpoint");
    if (on) cr_rw_put_num(w, c->train, "keep_checkpoint_max", at, keep);
    if (!on)
        cr_rw_tell(w, CR_SEV_WARN, at,
                   "checkpoints are written all the same, because validations follow them");
    if (mode && strcmp(mode, "min") != 0 && strcmp(mode, "max") != 0)
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(c->trainer, "checkpoint_mode"),
                   "checkpoint_mode is '%.30s' and must be min or max", mode);
    if (!monitor || strcmp(monitor, "step") == 0) return;
    const char *dot = strrchr(monitor, '.');
    if (strstr(monitor, "loss"))
        monitor = "binary_cross_entropy";
    else if (dot)
        monitor = dot + 1;
    cr_rw_put_str(w, c->export, "best_exporter_metric", cr_rw_at(c->trainer, "checkpoint_monitor"),
                  monitor);
    if (mode)
        cr_rw_put_bool(w, c->export, "metric_larger_is_better",
                       cr_rw_at(c->trainer, "checkpoint_mode"), strcmp(mode, "max") == 0);
}

static void trainer(cr_rw *w, cruise *c) {
    const cr_conf_node *t = c->trainer;
    section(w, "trainer", trainer_rules, t, c->train);
    if (cr_rw_has(t, "default_root_dir"))
        cr_rw_put_str(w, c->root, "model_dir", cr_rw_at(t, "default_root_dir"),
                      cr_rw_str(t, "default_root_dir", ""));
    epochs_and_steps(w, c);
    intervals(w, c);
    precision(w, c);
    checkpoints(w, c);
    double clip = number(w, t, "gradient_clip_val", 0);
    if (clip > 0) {
        cr_conf_node *g = cr_rw_map(w, c->train, "grad_clipping", cr_rw_at(t, "gradient_clip_val"));
        cr_rw_put_str(w, g, "clipping_type", g->at, "norm");
        cr_rw_put_num(w, g, "max_gradient", g->at, clip);
    }
    const char *resume = cr_rw_str(t, "resume_ckpt_path", "auto");
    if (strcmp(resume, "auto") != 0)
        cr_rw_put_str(w, c->train, "fine_tune_checkpoint", cr_rw_at(t, "resume_ckpt_path"), resume);
    if (cr_rw_bool(t, "enable_qat", false))
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(t, "enable_qat"),
                   "crank trains without quantisation; remove enable_qat, and give crank export "
                   "--embedding_dtype");
    const cr_conf_node *n = cr_conf_find(t, "optimizer_kwargs");
    if (n && n->n > 0)
        cr_rw_tell(w, CR_SEV_ERROR, n->at,
                   "optimizer_kwargs is not read here; give model.kwargs.optimizer and "
                   "model.kwargs.lr_scheduler");
    n = cr_conf_find(t, "grad_norm_layers");
    if (n && n->kind == CR_NODE_LIST && n->n > 0) {
        cr_conf_node *l = cr_conf_new(w->doc, CR_NODE_LIST, n->at);
        cr_conf_push(w->doc, l, NULL, n->at, cr_tree_scalar(w->doc, "gradient_norm", true, n->at));
        cr_conf_push(w->doc, c->train, "tensorboard_summaries", n->at, l);
    }
}

/* ---- optimizer ---- */

typedef struct optimizer {
    const char *key;
    double lr, wd;
    bool amsgrad;
    cr_loc at;
} optimizer;

static void put_optimizer(cr_rw *w, cr_conf_node *out, const optimizer *o, double lr, double wd) {
    cr_conf_node *m = cr_rw_map(w, out, o->key, o->at);
    cr_rw_put_num(w, m, "lr", o->at, lr);
    if (strcmp(o->key, "sgd_optimizer") == 0) cr_rw_put_num(w, m, "momentum", o->at, 0.9);
    if (strcmp(o->key, "adamw_optimizer") == 0) cr_rw_put_num(w, m, "eps", o->at, 1e-3);
    if (wd > 0) cr_rw_put_num(w, m, "weight_decay", o->at, wd);
    if (o->amsgrad && strcmp(o->key, "sgd_optimizer") != 0)
        cr_rw_put_bool(w, m, "amsgrad", o->at, true);
}

/* Adds an optimizer for the parameters whose names match. */
static void put_part(cr_rw *w, cr_conf_node *dense, const optimizer *o, const char *regex,
                     double lr, double wd, cr_loc at) {
    cr_conf_node *list = cr_conf_find(dense, "part_optimizers");
    if (!list) {
        list = cr_conf_new(w->doc, CR_NODE_LIST, at);
        cr_conf_push(w->doc, dense, "part_optimizers", at, list);
    }
    cr_conf_node *m = cr_conf_new(w->doc, CR_NODE_MAP, at);
    m->from = w->doc->syntax;
    cr_rw_put_str(w, m, "regex_pattern", at, regex);
    put_optimizer(w, m, o, lr, wd);
    cr_conf_push(w->doc, list, NULL, at, m);
}

/* Returns a fragment of a name as a regular expression of the whole name. */
static const char *fragment(cr_rw *w, const char *text) {
    cr_buf b;
    bool not = *text == '~';
    cr_buf_init(&b);
    cr_buf_str(&b, not ? "(?!.*" : ".*");
    for (const char *p = text + not ; *p; p++) {
        if (strchr("\\^$.|?*+()[]{}", *p)) cr_buf_char(&b, '\\');
        cr_buf_char(&b, *p);
    }
    cr_buf_str(&b, not ? ").*" : ".*");
    const char *out = cr_arena_strdup(&w->doc->arena, b.data);
    cr_buf_clear(&b);
    return out;
}

static void rates_by_name(cr_rw *w, const cr_conf_node *in, cr_conf_node *dense,
                          const optimizer *o) {
    const cr_conf_node *keys = cr_conf_find(in, "custom_keys");
    for (size_t i = 0; keys && keys->kind == CR_NODE_MAP && i < keys->n; i++) {
        const cr_conf_node *v = keys->v[i].val;
        if (v->kind != CR_NODE_MAP) {
            cr_rw_tell(w, CR_SEV_ERROR, v->at, "a custom key holds lr_factor and wd_factor");
            continue;
        }
        section(w, "model.kwargs.optimizer.custom_keys", factor_rules, v, NULL);
        put_part(w, dense, o, fragment(w, keys->v[i].key), o->lr * number(w, v, "lr_factor", 1),
                 o->wd * number(w, v, "wd_factor", 1), keys->v[i].at);
    }
    if (o->wd > 0 && cr_rw_bool(in, "wd_ignore_bias", false))
        put_part(w, dense, o, ".*bias", o->lr, 0, cr_rw_at(in, "wd_ignore_bias"));
}

static void schedule(cr_rw *w, const cr_conf_node *in, cr_conf_node *out) {
    static const struct {
        const char *name, *decay;
        bool by_epoch;
    } names[] = {
        {"ConstLrScheduler", "CONSTANT", false},
        {"ConstantLrSchedulerWithWarmUp", "CONSTANT", true},
        {"LinearDecayLrScheduler", "LINEAR", false},
        {"LinearLrSchedulerWithWarmUp", "LINEAR", true},
        {"CosineDecayLrScheduler", "COSINE", false},
    };
    const char *name = cr_rw_str(in, "scheduler_name", "LinearLrSchedulerWithWarmUp");
    cr_loc at = cr_rw_at(in, "scheduler_name");
    section(w, "model.kwargs.lr_scheduler", schedule_rules, in, NULL);
    int64_t warm = whole(w, in, "warmup_steps", 0, 0, 4294967295);
    double min_lr = number(w, in, "min_lr", 0);
    if (strcmp(name, "ExpDecayLrScheduler") == 0) {
        cr_conf_node *m = cr_rw_map(w, out, "exponential_decay_learning_rate", at);
        cr_rw_put_num(w, m, "decay_size", at, (double)whole(w, in, "decay_step", 1, 1, 4294967295));
        cr_rw_put_num(w, m, "decay_factor", at, number(w, in, "gamma", 0.95));
        cr_rw_put_num(w, m, "warmup_size", at, (double)warm);
        cr_rw_put_num(w, m, "min_learning_rate", at, min_lr);
        return;
    }
    size_t k = 0, n = sizeof names / sizeof *names;
    while (k < n && strcmp(names[k].name, name) != 0)
        k++;
    if (k == n) {
        cr_rw_tell(w, CR_SEV_ERROR, at,
                   "scheduler_name '%.60s' is not known; crank has ConstLrScheduler, "
                   "LinearDecayLrScheduler, CosineDecayLrScheduler, ExpDecayLrScheduler, "
                   "ConstantLrSchedulerWithWarmUp and LinearLrSchedulerWithWarmUp",
                   name);
        return;
    }
    cr_conf_node *m = cr_rw_map(w, out, "warmup_decay_learning_rate", at);
    cr_rw_put_num(w, m, "warmup_size", at, (double)warm);
    cr_rw_put_word(w, m, "decay", at, names[k].decay);
    if (strcmp(names[k].decay, "CONSTANT") == 0) return;
    const char *size = names[k].by_epoch ? "total_iters" : "total_steps";
    cr_rw_put_num(w, m, "decay_size", cr_rw_at(in, size),
                  (double)whole(w, in, size, 5, 1, 4294967295));
    if (!names[k].by_epoch && !cr_rw_has(in, size))
        cr_rw_tell(w, CR_SEV_ERROR, in->at, "total_steps is missing: the steps after the warm-up");
    cr_rw_put_num(w, m, "min_learning_rate", at, min_lr);
    if (!names[k].by_epoch) return;
    cr_rw_put_bool(w, m, "by_epoch", at, true);
    cr_rw_put_num(w, m, "end_factor", at,
                  1 + number(w, in, "end_factor", 0) - number(w, in, "start_factor", 1));
}

static void optimizers(cr_rw *w, cruise *c, const cr_conf_node *kwargs) {
    static const struct {
        const char *name, *key;
    } names[] = {{"SGD", "sgd_optimizer"},
                 {"Adam", "adam_optimizer"},
                 {"AdamW", "adamw_optimizer"}};
    const cr_conf_node *in = part(w, kwargs, "optimizer", false);
    const cr_conf_node *sched = cr_conf_find(kwargs, "lr_scheduler");
    const char *name = cr_rw_str(in, "optimizer_name", "AdamW");
    optimizer o = {.key = NULL, .at = cr_rw_at(in, "optimizer_name")};
    section(w, "model.kwargs.optimizer", optimizer_rules, in, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) o.key = names[i].key;
    if (!o.key) {
        cr_rw_tell(w, CR_SEV_ERROR, o.at,
                   "optimizer_name is '%.60s' and must be SGD, Adam or AdamW", name);
        o.key = "adamw_optimizer";
    }
    o.lr = number(w, in, "learning_rate", 1e-3);
    o.wd = number(w, in, "wd", 0);
    o.amsgrad = cr_rw_bool(in, "amsgrad", false);
    cr_conf_node *dense = cr_rw_map(w, c->train, "dense_optimizer", o.at);
    put_optimizer(w, dense, &o, o.lr, o.wd);
    rates_by_name(w, in, dense, &o);
    if (sched && sched->kind == CR_NODE_MAP)
        schedule(w, sched, dense);
    else
        cr_rw_map(w, dense, "constant_learning_rate", o.at);
    /* there are no tables, but a config names their optimizer */
    cr_conf_node *sparse = cr_rw_map(w, c->train, "sparse_optimizer", o.at);
    cr_rw_put_num(w, cr_rw_map(w, sparse, "adagrad_optimizer", o.at), "lr", o.at, o.lr);
    cr_rw_map(w, sparse, "constant_learning_rate", o.at);
}

/* ---- model and features ---- */

/* Marks the slots of slot_mask; returns how many are left. */
static int64_t take_mask(cr_rw *w, const cr_conf_node *in, bool *masked, int64_t n) {
    const cr_conf_node *l = cr_conf_find(in, "slot_mask");
    int64_t left = n;
    double x;
    for (size_t i = 0; l && l->kind == CR_NODE_LIST && i < l->n; i++) {
        if (!number_of(l->v[i].val, &x) || x != floor(x) || x < 0 || x >= (double)n) {
            cr_rw_tell(w, CR_SEV_ERROR, l->v[i].at,
                       "a slot of slot_mask must be a whole number below feature_num, %lld",
                       (long long)n);
            continue;
        }
        left -= !masked[(int64_t)x];
        masked[(int64_t)x] = true;
    }
    return left;
}

/* Returns the normalizer of a slot: the share of its range, 0 for -1, within 0 and 1. */
static const char *normalizer(cr_rw *w, const cr_conf_node *norms, const char *slot) {
    const cr_conf_node *r = norms ? cr_conf_find(norms, slot) : NULL;
    double lo = 0, hi = 1;
    if (r && (r->kind != CR_NODE_LIST || r->n != 2 || !number_of(r->v[0].val, &lo) ||
              !number_of(r->v[1].val, &hi) || hi <= lo)) {
        cr_rw_tell(
            w, CR_SEV_ERROR, r->at,
            "feature_norm_info holds [least, largest] of a slot, the second above the first");
        lo = 0, hi = 1;
    }
    char a[32], b[32];
    a[cr_fmt_f64(a, lo)] = 0;
    b[cr_fmt_f64(b, hi - lo)] = 0;
    return cr_arena_printf(&w->doc->arena,
                           "method=expression,expr=x == -1 ? 0 : min(max((x - (%s)) / %s, 0), 1)",
                           a, b);
}

static cr_conf_node *item(cr_rw *w, cr_conf_node *list, cr_loc at) {
    cr_conf_node *m = cr_conf_new(w->doc, CR_NODE_MAP, at);
    m->from = w->doc->syntax;
    cr_conf_push(w->doc, list, NULL, at, m);
    return m;
}

static cr_conf_node *raw(cr_rw *w, cr_conf_node *list, const char *name, const char *column,
                         cr_loc at) {
    cr_conf_node *f = cr_rw_map(w, item(w, list, at), "raw_feature", at);
    cr_rw_put_str(w, f, "feature_name", at, name);
    cr_rw_put_str(w, f, "expression", at, cr_arena_printf(&w->doc->arena, "item:%s", column));
    return f;
}

static cr_conf_node *group(cr_rw *w, cr_conf_node *groups, const char *name, cr_loc at) {
    cr_conf_node *g = item(w, groups, at), *names = cr_conf_new(w->doc, CR_NODE_LIST, at);
    cr_rw_put_str(w, g, "group_name", at, name);
    cr_conf_push(w->doc, g, "feature_names", at, names);
    return names;
}

static void name_it(cr_rw *w, cr_conf_node *names, const char *name) {
    cr_conf_push(w->doc, names, NULL, names->at, cr_tree_scalar(w->doc, name, true, names->at));
}

static cr_conf_node *list_in(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at) {
    cr_conf_node *l = cr_conf_new(w->doc, CR_NODE_LIST, at);
    cr_conf_push(w->doc, out, key, at, l);
    return l;
}

typedef struct autodis {
    int64_t buckets, dim, hidden;
    double dropout;
} autodis;

/* Makes the features and groups of the slots that are not masked. */
static void slots(cr_rw *w, cruise *c, const cr_conf_node *provider, const autodis *a,
                  const bool *masked, int64_t n, cr_conf_node *groups) {
    cr_conf_node *features = list_in(w, c->root, "feature_configs", provider->at);
    cr_conf_node *deep = group(w, groups, "autodis", provider->at);
    cr_conf_node *plain = group(w, groups, "plain", provider->at);
    const cr_conf_node *norms = cr_conf_find(provider, "feature_norm_info");
    for (int64_t i = 0; i < n; i++) {
        char slot[32], name[40], plain_name[40];
        if (masked[i]) continue;
        snprintf(slot, sizeof slot, "%lld", (long long)i);
        snprintf(name, sizeof name, "slot_%s", slot);
        snprintf(plain_name, sizeof plain_name, "n_%s", slot);
        const char *norm = normalizer(w, norms, slot);
        cr_conf_node *f = raw(w, features, name, name, provider->at);
        cr_rw_put_str(w, f, "normalizer", f->at, norm);
        cr_rw_put_num(w, f, "embedding_dim", f->at, (double)a->dim);
        cr_conf_node *e = cr_rw_map(w, f, "autodis", f->at);
        cr_rw_put_word(w, e, "form", f->at, "GANDALF");
        cr_rw_put_num(w, e, "num_channels", f->at, (double)a->buckets);
        cr_rw_put_num(w, e, "hidden_dim", f->at, (double)a->hidden);
        name_it(w, deep, name);
        f = raw(w, features, plain_name, name, provider->at);
        cr_rw_put_str(w, f, "normalizer", f->at, norm);
        name_it(w, plain, plain_name);
    }
    const cr_conf_node *texts = cr_conf_find(provider, "embedding_conf");
    for (size_t i = 0; texts && texts->kind == CR_NODE_MAP && i < texts->n; i++) {
        double width;
        if (!number_of(texts->v[i].val, &width) || width < 1) {
            cr_rw_tell(w, CR_SEV_ERROR, texts->v[i].at, "embedding_conf holds names and widths");
            continue;
        }
        cr_conf_node *f = raw(w, features, texts->v[i].key, texts->v[i].key, texts->v[i].at);
        cr_rw_put_num(w, f, "value_dim", f->at, width);
        name_it(w, group(w, groups, texts->v[i].key, texts->v[i].at), texts->v[i].key);
    }
}

static void input(cr_rw *w, cr_conf_node *inputs, const char *kind, const char *name) {
    cr_rw_put_str(w, item(w, inputs, inputs->at), kind, inputs->at, name);
}

/* Makes the graph of blocks. */
static void network(cr_rw *w, cruise *c, const cr_conf_node *provider, const autodis *a) {
    static const int widths[] = {1024, 512, 256, 128};
    cr_loc at = c->model->at;
    cr_conf_node *net = cr_rw_map(w, c->net, "backbone", at);
    cr_conf_node *blocks = list_in(w, net, "blocks", at);
    cr_conf_node *top = cr_conf_new(w->doc, CR_NODE_MAP, at);
    top->from = w->doc->syntax;
    cr_rw_put_str(w, top, "name", at, "net");
    cr_conf_node *inputs = list_in(w, top, "inputs", at);
    input(w, inputs, "feature_group_name", "autodis");
    input(w, inputs, "feature_group_name", "plain");
    const cr_conf_node *texts = cr_conf_find(provider, "embedding_conf");
    for (size_t i = 0; texts && texts->kind == CR_NODE_MAP && i < texts->n; i++) {
        const char *name = cr_arena_printf(&w->doc->arena, "%s_dropout", texts->v[i].key);
        cr_conf_node *b = item(w, blocks, at);
        cr_rw_put_str(w, b, "name", at, name);
        input(w, list_in(w, b, "inputs", at), "feature_group_name", texts->v[i].key);
        cr_rw_put_num(w, cr_rw_map(w, b, "dropout", at), "dropout_ratio", at, a->dropout);
        input(w, inputs, "block_name", name);
    }
    cr_conf_node *mlp = cr_rw_map(w, top, "mlp", at), *units = list_in(w, mlp, "hidden_units", at);
    for (int i = 0; i < 4; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", widths[i]);
        cr_conf_push(w->doc, units, NULL, at, cr_tree_scalar(w->doc, text, false, at));
    }
    char text[32];
    text[cr_fmt_f64(text, a->dropout)] = 0;
    cr_conf_push(w->doc, list_in(w, mlp, "dropout_ratio", at), NULL, at,
                 cr_tree_scalar(w->doc, text, false, at));
    cr_conf_push(w->doc, blocks, NULL, at, top);
    cr_rw_map(w, item(w, list_in(w, c->net, "losses", at), at), "binary_cross_entropy", at);
    static const char *const metrics[] = {"auc", "precision", "recall", "average_output"};
    cr_conf_node *list = list_in(w, c->net, "metrics", at);
    for (int i = 0; i < 4; i++)
        cr_rw_map(w, item(w, list, at), metrics[i], at);
}

static void model(cr_rw *w, cruise *c, const cr_conf_node *provider) {
    static const char *const types[] = {"AutoDisNN", "AutoDisNNASR", NULL};
    const char *type = type_of(w, c->model, "model", types);
    section(w, "model", model_rules, c->model, NULL);
    const cr_conf_node *f = part(w, c->model, "features", false);
    const cr_conf_node *k = part(w, c->model, "kwargs", false);
    section(w, "model.features", features_rules, f, NULL);
    section(w, "model.kwargs", kwargs_rules, k, NULL);
    int64_t n = whole(w, provider, "feature_num", 150, 1, MAX_SLOTS);
    int64_t own = whole(w, f, "feature_num", n, 1, MAX_SLOTS);
    autodis a = {.buckets = whole(w, f, "bucket_num", 8, 1, 65536),
                 .dim = whole(w, f, "bucket_dim", 128, 1, 65536),
                 .hidden = 64,
                 .dropout = number(w, k, "dropout", 0.3)};
    const cr_conf_node *layers = cr_conf_find(f, "layer_conf");
    double x = 64;
    for (size_t i = 0; layers && layers->kind == CR_NODE_LIST && i < layers->n; i++)
        if (!number_of(layers->v[i].val, &x) || (i && x != (double)a.hidden))
            cr_rw_tell(w, CR_SEV_ERROR, layers->at, "layer_conf holds one width, repeated");
        else
            a.hidden = (int64_t)x;
    bool *masked = CR_NEW_N(&w->doc->arena, bool, MAX_SLOTS);
    bool *model_masked = CR_NEW_N(&w->doc->arena, bool, MAX_SLOTS);
    int64_t left = take_mask(w, provider, masked, n);
    bool same = own == n;
    if (cr_rw_has(f, "slot_mask")) {
        (void)take_mask(w, f, model_masked, own);
        same = same && memcmp(masked, model_masked, MAX_SLOTS) == 0;
    }
    if (!same)
        cr_rw_tell(w, CR_SEV_ERROR, f->at,
                   "feature_num and slot_mask of model.features and of data.feature_provider "
                   "differ; they describe the same slots, so give both the same values");
    if (left == 0)
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(provider, "slot_mask"),
                   "slot_mask leaves no slot; remove some of its numbers");
    bool texts = cr_rw_count(provider, "embedding_conf") > 0;
    if (strcmp(type, "AutoDisNNASR") == 0 && !texts)
        cr_rw_tell(w, CR_SEV_ERROR, provider->at,
                   "AutoDisNNASR reads text vectors; add embedding_conf with their widths, for "
                   "example {asr: 768}");
    optimizers(w, c, k);
    cr_conf_node *groups = list_in(w, c->net, "feature_groups", c->model->at);
    slots(w, c, provider, &a, masked, n, groups);
    network(w, c, provider, &a);
}

/* ---- data ---- */

/* Makes globs of a folder and of alternatives: dir/alternative/pattern, with commas. */
static void join(cr_buf *b, const char *dir, const char *folders, const char *pattern) {
    size_t n = strlen(dir);
    const char *p = folders;
    while (n > 1 && dir[n - 1] == '/')
        n--;
    do {
        const char *end = p + strcspn(p, "|");
        if (b->n) cr_buf_char(b, ',');
        cr_buf_add(b, dir, n);
        if (end > p) cr_buf_printf(b, "/%.*s", (int)(end - p), p);
        cr_buf_printf(b, "/%s", pattern);
        p = *end ? end + 1 : end;
    } while (*p);
}

const char *cr_cruise_test_paths(cr_arena *a, const cr_conf_node *root) {
    const cr_conf_node *data = cr_conf_find(root, "data");
    const cr_conf_node *set = data ? cr_conf_find(data, "dataset") : NULL;
    const cr_conf_node *factory = data ? cr_conf_find(data, "data_factory") : NULL;
    const char *dir = set ? cr_rw_str(set, "test_input_dir", "") : "";
    const char *pattern = factory ? cr_rw_str(factory, "filename_pattern", FILES) : FILES;
    if (!*dir || strchr(dir, '$')) return NULL;
    cr_buf b;
    cr_buf_init(&b);
    join(&b, dir, cr_rw_str(set, "test_folder", ""), pattern);
    const char *out = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return out;
}

static void paths(cr_rw *w, cruise *c, const cr_conf_node *set, const char *dir_key,
                  const char *folder_key, const char *pattern, const char *to, bool needed) {
    const char *dir = cr_rw_str(set, dir_key, ""), *p = cr_rw_str(set, folder_key, "");
    cr_loc at = cr_rw_at(set, dir_key);
    if (!*dir) {
        if (needed) cr_rw_tell(w, CR_SEV_ERROR, set->at, "%s is missing; name a folder", dir_key);
        return;
    }
    if (strchr(dir, '$') || strchr(p, '$')) {
        cr_rw_tell(w, CR_SEV_ERROR, at,
                   "%s and %s name several sources ($); crank reads one, so give folders of one "
                   "directory with |",
                   dir_key, folder_key);
        return;
    }
    cr_buf b;
    cr_buf_init(&b);
    join(&b, dir, p, pattern);
    cr_rw_put_str(w, c->root, to, at, b.data);
    cr_buf_clear(&b);
}

static const cr_conf_node *data(cr_rw *w, cruise *c) {
    static const char *const modules[] = {"ParquetAutoDisDataModule", NULL};
    static const char *const providers[] = {"AutoDisFeatureProvider", NULL};
    static const char *const factories[] = {"ParquetDataFactory", NULL};
    section(w, "data", data_rules, c->data, NULL);
    const cr_conf_node *set = part(w, c->data, "dataset", true);
    const cr_conf_node *provider = part(w, c->data, "feature_provider", true);
    const cr_conf_node *factory = part(w, c->data, "data_factory", true);
    (void)type_of(w, c->data, "data", modules);
    (void)type_of(w, provider, "data.feature_provider", providers);
    (void)type_of(w, factory, "data.data_factory", factories);
    section(w, "data.dataset", dataset_rules, set, NULL);
    section(w, "data.feature_provider", provider_rules, provider, NULL);
    cr_rw_put_word(w, c->set, "dataset_type", c->data->at, "ParquetDataset");
    cr_rw_put_word(w, c->set, "fg_mode", c->data->at, "FG_NORMAL");
    name_it(w, list_in(w, c->set, "label_fields", c->data->at), "label");
    section(w, "data.data_factory", factory_rules, factory, c->set);
    double batch = number(w, factory, "batch_size", 128),
           val = number(w, factory, "batch_size_val", -1);
    cr_rw_put_num(w, c->set, "eval_batch_size", factory->at,
                  val > 0 ? val : fmax(1, floor(batch / 2)));
    if (number(w, factory, "train_max_iteration", -1) != -1)
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(factory, "train_max_iteration"),
                   "train_max_iteration has no counterpart; remove it and give trainer.max_steps");
    val = number(w, factory, "val_max_iteration", -1);
    if (val > 0)
        cr_rw_put_num(w, c->eval, "num_steps", cr_rw_at(factory, "val_max_iteration"), val);
    const char *pattern = cr_rw_str(factory, "filename_pattern", FILES);
    paths(w, c, set, "input_dir", "train_folder", pattern, "train_input_path", true);
    paths(w, c, set, "val_input_dir", "val_folder", pattern, "eval_input_path", false);
    return provider;
}

/* ---- the whole ---- */

static const cr_conf_entry *cruise_sign(const cr_conf_doc *doc) {
    static const char *const keys[][2] = {
        {"data", "data_factory"},
        {"data", "feature_provider"},
        {"trainer", "default_root_dir"},
        {"trainer", "max_epochs"},
        {"trainer", "val_check_interval"},
        {"model", "features"},
        {NULL, NULL},
    };
    return cr_dialect_key(doc, keys);
}

static cr_code cruise_rewrite(cr_conf_doc *doc, const cr_conf_entry *sign, const cr_dialect_opts *o,
                              cr_diag *diag) {
    (void)sign;
    (void)o;
    cr_rw w;
    cruise c = {0};
    cr_conf_node *in = doc->root;
    drop_nulls(in, 0);
    cr_rw_init(&w, doc, "Cruise", &c, diag);
    cr_rw_message(&w, root_rules, in, NULL);
    c.trainer = part(&w, in, "trainer", true);
    c.model = part(&w, in, "model", true);
    c.data = part(&w, in, "data", true);
    c.root = cr_conf_new(doc, CR_NODE_MAP, in->at);
    c.root->from = in->from;
    c.train = cr_rw_map(&w, c.root, "train_config", c.trainer->at);
    c.eval = cr_rw_map(&w, c.root, "eval_config", c.trainer->at);
    c.export = cr_rw_map(&w, c.root, "export_config", c.trainer->at);
    c.set = cr_rw_map(&w, c.root, "data_config", c.data->at);
    c.net = cr_rw_map(&w, c.root, "model_config", c.model->at);
    trainer(&w, &c);
    model(&w, &c, data(&w, &c));
    cr_rw_flush(&w);
    cr_rw_clear(&w);
    doc->root = c.root;
    return cr_diag_code(diag);
}

const cr_dialect cr_dialect_cruise = {
    .name = "Cruise",
    .sign = cruise_sign,
    .rewrite = cruise_rewrite,
};
