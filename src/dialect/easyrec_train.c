/*
 * easyrec_train.c - train_config: the length of the training, optimizers, learning rates.
 *
 * EasyRec names one optimizer for all variables, or two (tables, the rest; in WideAndDeep wide
 * tables, the rest), or three (wide tables, tables, the rest). Here tables and dense parameters
 * always have one optimizer each, and wide tables may have a third. The L2 of a model's layers is
 * the weight decay of the dense optimizer: both add l2 * w to the gradient.
 */
#include <math.h>
#include <string.h>

#include "dialect/easyrec_int.h"

#define ONE_PROCESS "this is one process on a CPU; results do not depend on it"

/* ---- learning rates ---- */

static const cr_rule constant_rules[] = {SPENT("learning_rate"), END};
static const cr_rule exponential_rules[] = {
    SPENT("initial_learning_rate"),        TAKE("decay_steps", "decay_size", "4000000"),
    TAKE("decay_factor", NULL, "0.95"),    TAKE("staircase", NULL, NULL),
    SPENT("burnin_learning_rate"),         TAKE("burnin_steps", "warmup_size", NULL),
    TAKE("min_learning_rate", NULL, NULL), END,
};
static const cr_rule schedule_rules[] = {
    TAKE("step", "schedule_sizes", NULL),
    TAKE("learning_rate", "learning_rates", "0.002"),
    END,
};
static void schedule(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_rw_message(w, schedule_rules, e->val, out);
}
static const cr_rule manual_rules[] = {
    SPENT("initial_learning_rate"),
    CALL("schedule", schedule),
    TAKE("warmup", NULL, NULL),
    END,
};
static const cr_rule cosine_rules[] = {
    SPENT("learning_rate_base"),
    SPENT("total_steps"),
    TAKE("warmup_learning_rate", NULL, "0.0002"),
    TAKE("warmup_steps", "warmup_size", "10000"),
    LOST("hold_base_rate_steps", "0", "the rate falls right after the warm-up"),
    END,
};
static const cr_rule no_schedule_rules[] = {
    SPENT("learning_rate_base"),
    SPENT("total_steps"),
    SPENT("power"),
    SPENT("end_learning_rate"),
    SPENT("hidden_size"),
    SPENT("warmup_steps"),
    SPENT("step_scaling_rate"),
    END,
};

typedef struct rate_kind {
    const char *from, *to;
    const char *base; /* key of the rate itself */
    const cr_rule *rules;
    bool constant; /* there is no such schedule here, so the rate stays constant */
} rate_kind;
static const rate_kind rate_kinds[] = {
    {"constant_learning_rate", "constant_learning_rate", "learning_rate", constant_rules, false},
    {"exponential_decay_learning_rate", "exponential_decay_learning_rate", "initial_learning_rate",
     exponential_rules, false},
    {"manual_step_learning_rate", "manual_step_learning_rate", "initial_learning_rate",
     manual_rules, false},
    {"cosine_decay_learning_rate", "cosine_annealing_learning_rate", "learning_rate_base",
     cosine_rules, false},
    {"poly_decay_learning_rate", "constant_learning_rate", "learning_rate_base", no_schedule_rules,
     true},
    {"transformer_learning_rate", "constant_learning_rate", "learning_rate_base", no_schedule_rules,
     true},
    {NULL, NULL, NULL, NULL, false},
};

/* finish_rate writes the keys of a schedule that are computed from several keys. */
static void finish_rate(cr_rw *w, const rate_kind *k, const cr_conf_node *conf, double rate,
                        cr_conf_node *out) {
    if (k->rules == exponential_rules && cr_rw_num(conf, "burnin_steps", 0) > 0) {
        /* without its own rate the warm-up is a flat line */
        double burnin = cr_rw_num(conf, "burnin_learning_rate", 0);
        cr_rw_put_num(w, out, "warmup_learning_rate", cr_rw_at(conf, "burnin_learning_rate"),
                      burnin > 0 ? burnin : rate);
    }
    if (k->rules == cosine_rules) {
        double n = cr_rw_num(conf, "total_steps", 4e6) - cr_rw_num(conf, "warmup_steps", 1e4);
        cr_rw_put_num(w, out, "T_max", cr_rw_at(conf, "total_steps"), n < 1 ? 1 : n);
    }
    if (k->constant)
        cr_rw_tell(w, CR_SEV_WARN, conf->at,
                   "%s has no counterpart: the rate stays at %g; choose another schedule "
                   "(crank help optimizers)",
                   k->from, rate);
}

/* write_rate writes lr into the message of the optimizer and the schedule beside it. */
static void write_rate(cr_rw *w, const cr_conf_node *rate, double factor, cr_loc at,
                       cr_conf_node *rule, cr_conf_node *optim) {
    for (const rate_kind *k = rate_kinds; k->from; k++) {
        const cr_conf_node *conf = cr_rw_get(rate, k->from);
        if (!conf) continue;
        double lr = cr_rw_num(conf, k->base, 0.002);
        cr_conf_node *out = cr_rw_map(w, optim, k->to, cr_rw_at(rate, k->from));
        cr_rw_put_num(w, rule, "lr", cr_rw_at(conf, k->base), lr * factor);
        cr_rw_message(w, k->rules, conf, out);
        finish_rate(w, k, conf, lr, out);
        return;
    }
    cr_rw_put_num(w, rule, "lr", at, 0.002 * factor);
    cr_rw_map(w, optim, "constant_learning_rate", at);
    if (rate) cr_rw_tell(w, CR_SEV_ERROR, at, "learning_rate names no schedule; EasyRec needs one");
}

static const cr_rule rate_names[] = {
    SPENT("constant_learning_rate"),
    SPENT("exponential_decay_learning_rate"),
    SPENT("manual_step_learning_rate"),
    SPENT("cosine_decay_learning_rate"),
    SPENT("poly_decay_learning_rate"),
    SPENT("transformer_learning_rate"),
    END,
};

/* ---- optimizers ---- */

static void rate_is_written(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_rw_message(w, rate_names, e->val, out);
}
#define RATE CALL("learning_rate", rate_is_written)

static const cr_rule adam_rules[] = {
    RATE,
    TAKE("beta1", NULL, NULL),
    TAKE("beta2", NULL, NULL),
    END,
};
static const cr_rule adamw_rules[] = {
    RATE, TAKE("weight_decay", NULL, "1e-06"), TAKE("beta1", NULL, NULL), TAKE("beta2", NULL, NULL),
    END,
};
static const cr_rule adagrad_rules[] = {
    RATE,
    TAKE("initial_accumulator_value", NULL, "0.1"),
    END,
};
static const cr_rule momentum_rules[] = {
    RATE,
    TAKE("momentum_optimizer_value", "momentum", "0.9"),
    TAKE("weight_decay", NULL, NULL),
    END,
};
#define PLAIN_SGD "sgd_optimizer moves table rows by the plain gradient"
static const cr_rule sgd_rules[] = {
    RATE,
    LOST("momentum_optimizer_value", "0", PLAIN_SGD),
    LOST("weight_decay", "0", PLAIN_SGD),
    END,
};
static const cr_rule rms_rules[] = {
    RATE,
    LOST("momentum_optimizer_value", "0", "rmsprop_optimizer has no momentum"),
    TAKE("decay", "alpha", "0.9"),
    TAKE("epsilon", "eps", "1"),
    END,
};
static const cr_rule ftrl_rules[] = {
    RATE,
    TAKE("learning_rate_power", NULL, NULL),
    TAKE("initial_accumulator_value", NULL, "0.1"),
    TAKE("l1_reg", NULL, NULL),
    TAKE("l2_reg", NULL, NULL),
    LOST("l2_shrinkage_reg", "0", "there is only one kind of l2"),
    END,
};

typedef struct optim_kind {
    const char *from, *tables, *dense;
    const cr_rule *table_rules, *dense_rules;
    bool decay;       /* the dense rule adds weight_decay to the gradient */
    const char *lost; /* a key whose default has an effect in EasyRec and no counterpart */
} optim_kind;
static const optim_kind optim_kinds[] = {
    {"adam_optimizer", "adam_optimizer", "adam_optimizer", adam_rules, adam_rules, true, NULL},
    {"lazy_adam_optimizer", "adam_optimizer", "adam_optimizer", adam_rules, adam_rules, true, NULL},
    {"adam_async_optimizer", "adam_optimizer", "adam_optimizer", adam_rules, adam_rules, true,
     NULL},
    {"adamw_optimizer", "adam_optimizer", "adamw_optimizer", adamw_rules, adamw_rules, false, NULL},
    {"adam_asyncw_optimizer", "adam_optimizer", "adamw_optimizer", adamw_rules, adamw_rules, false,
     NULL},
    {"adagrad_optimizer", "adagrad_optimizer", "adagrad_optimizer", adagrad_rules, adagrad_rules,
     true, NULL},
    {"momentum_optimizer", "sgd_optimizer", "sgd_optimizer", sgd_rules, momentum_rules, true,
     "momentum_optimizer_value"},
    {"momentumw_optimizer", "sgd_optimizer", "sgd_optimizer", sgd_rules, momentum_rules, false,
     "momentum_optimizer_value"},
    {"rms_prop_optimizer", "rmsprop_optimizer", "rmsprop_optimizer", rms_rules, rms_rules, true,
     "momentum_optimizer_value"},
    {"ftrl_optimizer", "ftrl_optimizer", "ftrl_optimizer", ftrl_rules, ftrl_rules, false, NULL},
    {NULL, NULL, NULL, NULL, NULL, false, NULL},
};

static const cr_rule optim_names[] = {
    SPENT("rms_prop_optimizer"),
    SPENT("momentum_optimizer"),
    SPENT("adam_optimizer"),
    SPENT("momentumw_optimizer"),
    SPENT("adamw_optimizer"),
    SPENT("adam_async_optimizer"),
    SPENT("adagrad_optimizer"),
    SPENT("ftrl_optimizer"),
    SPENT("adam_asyncw_optimizer"),
    SPENT("lazy_adam_optimizer"),
    SPENT("use_moving_average"),
    SPENT("moving_average_decay"),
    SPENT("embedding_learning_rate_multiplier"),
    END,
};

static void write_decay(cr_rw *w, const optim_kind *k, cr_loc at, cr_conf_node *rule) {
    cr_er *er = cr_er_of(w);
    double l2 = cr_er_l2(er);
    if (l2 <= 0) return;
    if (!k->decay) {
        cr_rw_tell(
            w, CR_SEV_WARN, at,
            "the model's l2_regularization of %g is left out: %s has no weight decay that is "
            "added to the gradient",
            l2, k->dense);
        return;
    }
    cr_rw_put_num(w, rule, "weight_decay", at, l2);
    cr_rw_tell(w, CR_SEV_NOTE, cr_rw_at(er->params, "l2_regularization"),
               "l2_regularization became weight_decay: %g of dense_optimizer, which draws biases "
               "and batch norms as well as layers",
               l2);
}

/* write_optim writes one optimizer_config as the optimizer of tables or of dense parameters. */
static void write_optim(cr_rw *w, const cr_conf_node *conf, bool tables, cr_conf_node *out) {
    for (const optim_kind *k = optim_kinds; k->from; k++) {
        const cr_conf_node *c = cr_rw_get(conf, k->from);
        if (!c) continue;
        cr_loc at = cr_rw_at(conf, k->from);
        double factor = tables ? cr_rw_num(conf, "embedding_learning_rate_multiplier", 1) : 1;
        cr_conf_node *rule = cr_rw_map(w, out, tables ? k->tables : k->dense, at);
        cr_rw_message(w, tables ? k->table_rules : k->dense_rules, c, rule);
        write_rate(w, cr_rw_get(c, "learning_rate"), factor, at, rule, out);
        if (k->lost && (tables || k->table_rules == rms_rules) && !cr_rw_has(c, k->lost))
            cr_rw_tell(w, CR_SEV_WARN, at, "the %s of 0.9 that %s has is left out: %s", k->lost,
                       k->from,
                       k->table_rules == rms_rules ? "there is none here"
                                                   : "tables are trained without one");
        if (k->table_rules == ftrl_rules) cr_rw_put_num(w, rule, "ftrl_beta", at, 0);
        if (!tables) write_decay(w, k, at, rule);
        return;
    }
    cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, conf ? conf->at : CR_NOWHERE,
                "optimizer_config names no optimizer; EasyRec needs one");
}

static void optimizers(cr_er *er, const cr_conf_node *train, cr_conf_node *out) {
    const cr_conf_node *list[4] = {NULL, NULL, NULL, NULL};
    cr_rw *w = &er->w;
    size_t n = 0;
    cr_rw_iter it = {.map = train, .key = "optimizer_config"};
    for (const cr_conf_entry *e; (e = cr_rw_next(&it));) {
        if (n < 4) list[n] = e->val;
        n++;
    }
    if (n > 3)
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, list[3]->at,
                    "there are %zu optimizer_config; EasyRec takes at most 3", n);
    bool wide = n >= 3 || (n == 2 && strcmp(er->model_class, "WideAndDeep") == 0);
    const cr_conf_node *tables = n >= 3 ? list[1] : n == 2 && wide ? list[1] : list[0];
    const cr_conf_node *dense = n >= 3 ? list[2] : n == 2 ? list[1] : list[0];
    if (n == 0) {
        cr_diag_add(w->diag, CR_SEV_ERROR, CR_ECONF, train ? train->at : out->at,
                    "train_config has no optimizer_config; EasyRec needs one, too");
        return;
    }
    cr_conf_node *sparse_out = cr_rw_map(w, out, "sparse_optimizer", tables->at);
    cr_conf_node *dense_out = cr_rw_map(w, out, "dense_optimizer", dense->at);
    write_optim(w, tables, true, sparse_out);
    write_optim(w, dense, false, dense_out);
    if (wide) {
        cr_conf_node *part = cr_rw_map(w, sparse_out, "part_optimizers", list[0]->at);
        cr_rw_put_str(w, part, "regex_pattern", list[0]->at, ".*_wide\\.weight");
        write_optim(w, list[0], true, part);
    }
    if (cr_rw_bool(dense, "use_moving_average", false)) {
        cr_conf_node *ema = cr_rw_map(w, dense_out, "ema", cr_rw_at(dense, "use_moving_average"));
        cr_rw_put_num(w, ema, "decay", cr_rw_at(dense, "moving_average_decay"),
                      cr_rw_num(dense, "moving_average_decay", 0.9999));
    }
}

static void optimizer_is_written(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    cr_rw_message(w, optim_names, e->val, out);
}

/* ---- the other keys ---- */

static void clipping(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    double x =
        cr_rw_num(cr_rw_get(cr_er_of(w)->root, "train_config"), "gradient_clipping_by_norm", 0);
    if (x <= 0) return;
    cr_conf_node *clip = cr_rw_map(w, out, "grad_clipping", e->at);
    cr_rw_put_str(w, clip, "clipping_type", e->at, "norm");
    cr_conf_push(w->doc, clip, "max_gradient", e->at, e->val);
    cr_rw_put_bool(w, clip, "enable_global_grad_clip", e->at,
                   true); /* EasyRec counts tables too. */
}

static void summaries(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out) {
    if (cr_rw_bool(cr_rw_get(cr_er_of(w)->root, "train_config"), "summary_model_vars", false))
        cr_rw_put_str(w, out, "tensorboard_summaries", e->at, "parameter");
}

#define TF_CKPT                                                                                    \
    "checkpoints of TensorFlow cannot be read; train anew, or write the tables as safetensors "    \
    "(pretrained_path of a feature)"
const cr_rule cr_er_train_rules[] = {
    CALL("optimizer_config", optimizer_is_written),
    CALL("gradient_clipping_by_norm", clipping),
    SPENT("num_steps"),
    LOST("fine_tune_checkpoint", "", TF_CKPT),
    LOST("fine_tune_ckpt_var_map", "", TF_CKPT),
    IDLE("sync_replicas", NULL, ONE_PROCESS),
    IDLE("sparse_accumulator_type", NULL, ONE_PROCESS),
    IDLE("startup_delay_steps", NULL, ONE_PROCESS),
    TAKE("save_checkpoints_steps", NULL, NULL),
    LOST("save_checkpoints_secs", NULL,
         "checkpoints are made by steps; see save_checkpoints_steps"),
    TAKE("keep_checkpoint_max", NULL, "10"),
    IDLE("save_summary_steps", NULL, "TensorBoard events are written with every log line"),
    TAKE("log_step_count_steps", NULL, "10"),
    TAKE("is_profiling", NULL, NULL),
    IDLE("force_restore_shape_compatible", "false", "there is no TensorFlow checkpoint to restore"),
    IDLE("train_distribute", "NoStrategy", ONE_PROCESS),
    IDLE("num_gpus_per_worker", NULL, ONE_PROCESS),
    CALL("summary_model_vars", summaries),
    IDLE("protocol", NULL, ONE_PROCESS),
    IDLE("inter_op_parallelism_threads", NULL,
         "crank train --threads N; results do not depend on it"),
    IDLE("intra_op_parallelism_threads", NULL,
         "crank train --threads N; results do not depend on it"),
    IDLE("tensor_fuse", NULL, ONE_PROCESS),
    IDLE("write_graph", NULL, "there is no TensorFlow graph"),
    LOST("freeze_gradient", NULL,
         "it names TensorFlow variables; of tables write trainable: false in the feature, of "
         "layers a "
         "part optimizer with lr: 0"),
    LOST("incr_save_config", NULL, "rows that changed are not sent out while training"),
    IDLE("enable_oss_stop_signal", "false", "ctrl-C or SIGTERM stops a training and saves it"),
    LOST("dead_line", NULL,
         "no training ends at a time of day; use timeout(1) and --continue_train"),
    END,
};

/* length writes how long to train. EasyRec ends after num_steps or num_epochs, and never if neither
 * is given. */
static void length(cr_er *er, const cr_conf_node *train, cr_conf_node *out) {
    cr_rw *w = &er->w;
    double steps = cr_rw_num(train, "num_steps", 0), epochs = cr_rw_num(er->data, "num_epochs", 0);
    cr_loc at = cr_rw_at(er->data, "num_epochs");
    if (steps > 0) {
        cr_rw_put_num(w, out, "num_steps", cr_rw_at(train, "num_steps"), steps);
        if (epochs > 0)
            cr_rw_tell(w, CR_SEV_WARN, at,
                       "'data_config.num_epochs' is left out: num_steps says how long to train; "
                       "EasyRec also ends after num_epochs, where that comes first");
    } else if (epochs > 0) {
        cr_rw_put_num(w, out, "num_epochs", at, epochs);
    } else {
        cr_rw_put_num(w, out, "num_epochs", out->at, 1);
        cr_rw_tell(w, CR_SEV_WARN, train ? train->at : out->at,
                   "neither num_steps nor num_epochs is given, with which EasyRec trains without "
                   "end; num_epochs: 1 was written");
    }
}

void cr_er_train_end(cr_er *er, cr_conf_node *out) {
    const cr_conf_node *train = cr_rw_get(er->root, "train_config");
    optimizers(er, train, out);
    length(er, train, out);
}
