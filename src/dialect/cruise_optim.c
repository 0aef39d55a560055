/*
 * cruise_optim.c - optimizers and schedules of Cruise configs. Gandalf's models have theirs in
 * model.kwargs; other users of Cruise name Python classes in trainer.optimizer_kwargs, of which the
 * last word counts.
 *
 * Of Gandalf's schedules those with warm-up count steps while the rate rises and epochs while it
 * falls; the others count steps only.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dialect/cruise_int.h"

#define MOST_STEPS 4294967295

static const cr_rule optimizer_rules[] = {
    SPENT("optimizer_name"),
    SPENT("learning_rate"),
    SPENT("momentum"),
    SPENT("betas"),
    SPENT("wd"),
    SPENT("wd_ignore_bias"),
    SPENT("custom_keys"),
    SPENT("amsgrad"),
    END,
};
static const cr_rule factor_rules[] = {SPENT("lr_factor"), SPENT("wd_factor"), END};
static const cr_rule schedule_rules[] = {
    SPENT("scheduler_name"),
    IDLE("last_epoch", "-1", "a run that goes on knows where it stands"),
    IDLE("last_step", "-1", "a run that goes on knows where it stands"),
    IDLE("verbose", "false", CR_CRUISE_NONE),
    SPENT("warmup_steps"),
    SPENT("total_iters"),
    SPENT("start_factor"),
    SPENT("end_factor"),
    SPENT("total_step"),
    SPENT("total_steps"),
    SPENT("min_lr"),
    SPENT("gamma"),
    SPENT("decay_step"),
    SPENT("num_cycles"),
    SPENT("min_factor"),
    END,
};
static const cr_rule python_rules[] = {SPENT("optimizer"), SPENT("scheduler"), END};
static const cr_rule class_rules[] = {SPENT("type"), SPENT("params"), END};
static const cr_rule scheduler_rules[] = {
    SPENT("type"),
    SPENT("params"),
    SPENT("interval"),
    SPENT("total_steps_param_name"),
    SPENT("warmup_steps_param_name"),
    END,
};
static const cr_rule params_rules[] = {
    SPENT("lr"),
    SPENT("betas"),
    SPENT("eps"),
    SPENT("weight_decay"),
    SPENT("momentum"),
    SPENT("adam_w_mode"),
    SPENT("adamw_mode"),
    SPENT("amsgrad"),
    SPENT("bias_correction"),
    END,
};

typedef struct optimizer {
    const char *key; /* adam_optimizer and so on */
    double lr, wd, beta1, beta2, eps, momentum;
    bool amsgrad;
    cr_loc at;
} optimizer;

static bool is_sgd(const optimizer *o) {
    return strcmp(o->key, "sgd_optimizer") == 0;
}

static void put_optimizer(cr_rw *w, cr_conf_node *out, const optimizer *o, double lr, double wd) {
    cr_conf_node *m = cr_rw_map(w, out, o->key, o->at);
    cr_rw_put_num(w, m, "lr", o->at, lr);
    if (is_sgd(o)) {
        cr_rw_put_num(w, m, "momentum", o->at, o->momentum);
    } else {
        if (o->beta1 != 0.9) cr_rw_put_num(w, m, "beta1", o->at, o->beta1);
        if (o->beta2 != 0.999) cr_rw_put_num(w, m, "beta2", o->at, o->beta2);
        if (o->eps != 1e-8) cr_rw_put_num(w, m, "eps", o->at, o->eps);
        if (o->amsgrad) cr_rw_put_bool(w, m, "amsgrad", o->at, true);
    }
    if (wd > 0) cr_rw_put_num(w, m, "weight_decay", o->at, wd);
}

/* Adds an optimizer for the parameters whose names match. */
static void put_part(cr_rw *w, cr_conf_node *dense, const optimizer *o, const char *regex,
                     double lr, double wd, cr_loc at) {
    cr_conf_node *list = cr_conf_find(dense, "part_optimizers");
    if (!list) list = cr_cruise_list(w, dense, "part_optimizers", at);
    cr_conf_node *m = cr_cruise_item(w, list, at);
    cr_rw_put_str(w, m, "regex_pattern", at, regex);
    put_optimizer(w, m, o, lr, wd);
}

/* Returns a fragment of a name as a regular expression of the whole name. Blocks have the names of
 * Gandalf's modules; only its encoder of slots is called otherwise. */
static const char *fragment(cr_rw *w, const char *text) {
    cr_buf b;
    bool not = *text == '~';
    const char *name = text + not ;
    if (strncmp(name, "_auto_dis", 9) == 0) name = "autodis#";
    cr_buf_init(&b);
    cr_buf_str(&b, not ? "(?!.*" : ".*");
    for (const char *p = name; *p; p++) {
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
        cr_cruise_section(w, "model.kwargs.optimizer.custom_keys", factor_rules, v, NULL);
        put_part(w, dense, o, fragment(w, keys->v[i].key),
                 o->lr * cr_cruise_number(w, v, "lr_factor", 1),
                 o->wd * cr_cruise_number(w, v, "wd_factor", 1), keys->v[i].at);
    }
    /* Gandalf leaves out all whose names lack `weight`: biases, and its encoder of slots */
    if (o->wd > 0 && cr_cruise_bool(w, in, "wd_ignore_bias", false))
        put_part(w, dense, o, ".*(bias|autodis#.*)", o->lr, 0, cr_rw_at(in, "wd_ignore_bias"));
}

/* Reads betas: [0.9, 0.999]. */
static void betas(cr_rw *w, const cr_conf_node *in, optimizer *o) {
    const cr_conf_node *l = cr_conf_find(in, "betas");
    if (!l) return;
    if (l->kind != CR_NODE_LIST || l->n != 2 || !cr_cruise_is_number(l->v[0].val, &o->beta1) ||
        !cr_cruise_is_number(l->v[1].val, &o->beta2))
        cr_rw_tell(w, CR_SEV_ERROR, l->at, "betas holds two numbers, as [0.9, 0.999]");
}

/* ---- schedules ---- */

typedef struct schedule {
    const char *decay; /* a word of WarmupDecayLR */
    double warm, size; /* steps; steps or epochs */
    double end, floor, cycles, gamma;
    bool by_epoch;
} schedule;

static void put_schedule(cr_rw *w, cr_conf_node *out, const schedule *s, cr_loc at) {
    cr_conf_node *m = cr_rw_map(w, out, "warmup_decay_learning_rate", at);
    cr_rw_put_num(w, m, "warmup_size", at, s->warm);
    cr_rw_put_word(w, m, "decay", at, s->decay);
    if (strcmp(s->decay, "CONSTANT") == 0) return;
    cr_rw_put_num(w, m, "decay_size", at, s->size);
    if (s->by_epoch) cr_rw_put_bool(w, m, "by_epoch", at, true);
    if (s->end != 0) cr_rw_put_num(w, m, "end_factor", at, s->end);
    if (s->floor > 0) cr_rw_put_num(w, m, "min_learning_rate", at, s->floor);
    if (strcmp(s->decay, "WAVE") == 0) cr_rw_put_num(w, m, "cycles", at, s->cycles);
    if (strcmp(s->decay, "EXPONENTIAL") == 0) cr_rw_put_num(w, m, "decay_factor", at, s->gamma);
}

/* Returns the number of all steps: that of the key, or of the trainer; 0: unknown. */
static double all_steps(const cr_cruise *c, double said) {
    double most = cr_rw_num(c->trainer, "max_steps", -1);
    return said > 0 ? said : most > 0 ? most : 0;
}

/* The schedules that count steps, the warm-up among them. */
static void by_steps(cr_rw *w, cr_cruise *c, const cr_conf_node *in, const char *name,
                     cr_conf_node *out, cr_loc at) {
    double warm = (double)cr_cruise_whole(w, in, "warmup_steps", 0, 0, MOST_STEPS);
    double min_lr = cr_cruise_number(w, in, "min_lr", 0);
    if (strcmp(name, "ExpDecayLrScheduler") == 0) {
        cr_conf_node *m = cr_rw_map(w, out, "exponential_decay_learning_rate", at);
        cr_rw_put_num(w, m, "decay_size", at,
                      (double)cr_cruise_whole(w, in, "decay_step", 1, 1, MOST_STEPS));
        cr_rw_put_num(w, m, "decay_factor", at, cr_cruise_number(w, in, "gamma", 1));
        cr_rw_put_num(w, m, "warmup_size", at, warm);
        cr_rw_put_num(w, m, "min_learning_rate", at, min_lr);
        return;
    }
    schedule s = {.decay = "CONSTANT", .warm = warm, .floor = min_lr};
    if (strcmp(name, "ConstLrScheduler") != 0) {
        const char *key = cr_rw_has(in, "total_step") ? "total_step" : "total_steps";
        double all = all_steps(c, (double)cr_cruise_whole(w, in, key, -1, -1, MOST_STEPS));
        s.decay = strcmp(name, "LinearDecayLrScheduler") == 0 ? "LINEAR" : "COSINE";
        s.size = fmax(all - warm, 1);
        if (all == 0)
            cr_rw_tell(w, CR_SEV_ERROR, in->at,
                       "%s must know how many steps there are; give total_step, or "
                       "trainer.max_steps",
                       name);
    }
    put_schedule(w, out, &s, at);
}

static void schedule_of(cr_rw *w, cr_cruise *c, const cr_conf_node *in, cr_conf_node *out) {
    static const char *const steps[] = {"ConstLrScheduler", "LinearDecayLrScheduler",
                                        "CosineDecayLrScheduler", "ExpDecayLrScheduler"};
    static const struct {
        const char *name, *decay;
    } epochs[] = {
        {"ConstantLrSchedulerWithWarmUp", "CONSTANT"},
        {"LinearLrSchedulerWithWarmUp", "LINEAR"},
        {"CosineLrSchedulerWithWarmUp", "WAVE"},
        {"ExponentialLrSchedulerWithWarmUp", "EXPONENTIAL"},
    };
    const char *name = cr_rw_str(in, "scheduler_name", "LinearLrSchedulerWithWarmUp");
    cr_loc at = cr_rw_at(in, "scheduler_name");
    cr_cruise_section(w, "model.kwargs.lr_scheduler", schedule_rules, in, NULL);
    for (size_t i = 0; i < 4; i++)
        if (strcmp(steps[i], name) == 0) {
            by_steps(w, c, in, name, out, at);
            return;
        }
    schedule s = {.by_epoch = true, .cycles = 0.5, .gamma = 1};
    for (size_t i = 0; i < 4; i++)
        if (strcmp(epochs[i].name, name) == 0) s.decay = epochs[i].decay;
    if (!s.decay) {
        cr_rw_tell(w, CR_SEV_ERROR, at,
                   "scheduler_name '%.60s' is not known; crank has ConstLrScheduler, "
                   "LinearDecayLrScheduler, CosineDecayLrScheduler, ExpDecayLrScheduler, "
                   "ConstantLrSchedulerWithWarmUp, LinearLrSchedulerWithWarmUp, "
                   "CosineLrSchedulerWithWarmUp and ExponentialLrSchedulerWithWarmUp",
                   name);
        return;
    }
    s.warm = (double)cr_cruise_whole(w, in, "warmup_steps", 1000, 0, MOST_STEPS);
    s.size = (double)cr_cruise_whole(w, in, "total_iters", 5, 1, MOST_STEPS);
    if (strcmp(s.decay, "LINEAR") == 0)
        s.end = 1 + cr_cruise_number(w, in, "end_factor", 1.0 / 3) -
                cr_cruise_number(w, in, "start_factor", 1);
    if (strcmp(s.decay, "WAVE") == 0) {
        s.end = cr_cruise_number(w, in, "min_factor", 0);
        s.cycles = cr_cruise_number(w, in, "num_cycles", 0.5);
    }
    if (strcmp(s.decay, "EXPONENTIAL") == 0) s.gamma = cr_cruise_number(w, in, "gamma", 1);
    if (s.end < 0)
        cr_rw_tell(w, CR_SEV_ERROR, at,
                   "the rate would fall below 0; raise end_factor, or lower start_factor");
    put_schedule(w, out, &s, at);
}

/* ---- trainer.optimizer_kwargs: classes of Python ---- */

/* Returns the last word of a class: torch.optim.AdamW is AdamW. */
static const char *class_of(const cr_conf_node *in) {
    const char *type = cr_rw_str(in, "type", ""), *dot = strrchr(type, '.');
    return dot ? dot + 1 : type;
}

static void python_optimizer(cr_rw *w, const cr_conf_node *in, optimizer *o) {
    const char *class = class_of(in);
    const cr_conf_node *p = cr_cruise_part(w, in, "params", false);
    bool adam = strcmp(class, "Adam") == 0, adamw = strcmp(class, "AdamW") == 0,
         sgd = strcmp(class, "SGD") == 0;
    bool fused = strcmp(class, "FusedAdam") == 0, cpu = strcmp(class, "DeepSpeedCPUAdam") == 0;
    cr_cruise_section(w, "trainer.optimizer_kwargs.optimizer", class_rules, in, NULL);
    cr_cruise_section(w, "trainer.optimizer_kwargs.optimizer.params", params_rules, p, NULL);
    o->at = cr_rw_at(in, "type");
    if (fused || cpu) adamw = cr_cruise_bool(w, p, fused ? "adam_w_mode" : "adamw_mode", true);
    if (!adam && !adamw && !sgd && !fused && !cpu)
        cr_rw_tell(w, CR_SEV_ERROR, o->at,
                   "the optimizer '%.80s' is not known; crank has torch.optim.SGD, Adam and AdamW, "
                   "FusedAdam and DeepSpeedCPUAdam",
                   cr_rw_str(in, "type", ""));
    o->key = sgd ? "sgd_optimizer" : adamw ? "adamw_optimizer" : "adam_optimizer";
    o->lr = cr_cruise_number(w, p, "lr", 1e-3);
    o->wd = cr_cruise_number(w, p, "weight_decay", strcmp(class, "AdamW") == 0 ? 0.01 : 0);
    o->eps = cr_cruise_number(w, p, "eps", 1e-8);
    o->momentum = cr_cruise_number(w, p, "momentum", 0);
    o->amsgrad = cr_cruise_bool(w, p, "amsgrad", false);
    betas(w, p, o);
    if (!cr_cruise_bool(w, p, "bias_correction", true))
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(p, "bias_correction"),
                   "crank's Adam always corrects its averages; remove bias_correction: false");
}

/* Reads the number under the name that the config gives to it. */
static double named(cr_rw *w, const cr_conf_node *in, const cr_conf_node *params, const char *key,
                    const char *otherwise) {
    const char *name = cr_rw_str(in, key, otherwise);
    return cr_cruise_number(w, params, name, -1);
}

/* Finds keys of params that no schedule of this class takes. */
static void check_params(cr_rw *w, const cr_conf_node *in, const cr_conf_node *params,
                         const char *class) {
    static const char *const keys[] = {
        "warmup_step_rate", "lr_end",     "lr_decay_rate", "num_cycles",
        "start_factor",     "end_factor", "factor"};
    for (size_t i = 0; i < params->n; i++) {
        const char *key = params->v[i].key;
        bool known =
            strcmp(key, cr_rw_str(in, "total_steps_param_name", "num_training_steps")) == 0 ||
            strcmp(key, cr_rw_str(in, "warmup_steps_param_name", "num_warmup_steps")) == 0;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            known |= strcmp(key, keys[k]) == 0;
        if (!known)
            cr_rw_tell(w, CR_SEV_ERROR, params->v[i].at, "the schedule %s has no parameter '%.60s'",
                       class, key);
    }
}

static void python_schedule(cr_rw *w, cr_cruise *c, const cr_conf_node *in, const optimizer *o,
                            cr_conf_node *out) {
    const char *class = class_of(in), *interval = cr_rw_str(in, "interval", "step");
    const cr_conf_node *p = cr_cruise_part(w, in, "params", false);
    cr_loc at = cr_rw_at(in, "type");
    schedule s = {.decay = "CONSTANT", .cycles = 0.5, .by_epoch = strcmp(interval, "step") != 0};
    cr_cruise_section(w, "trainer.optimizer_kwargs.scheduler", scheduler_rules, in, NULL);
    check_params(w, in, p, class);
    bool torch_linear = strcmp(class, "LinearLR") == 0, wave = strstr(class, "cosine") != NULL;
    bool constant = strstr(class, "constant") != NULL, linear = strstr(class, "linear") != NULL;
    if (!torch_linear && !wave && !constant && !linear) {
        cr_rw_tell(w, CR_SEV_ERROR, at,
                   "the schedule '%.80s' is not known; crank has constant_lr, LinearLR, "
                   "get_constant_schedule_with_warmup, get_linear_schedule_with_warmup, "
                   "get_cosine_schedule_with_warmup and get_cosine_schedule_with_warmup_lrdecay",
                   cr_rw_str(in, "type", ""));
        return;
    }
    double all = named(w, in, p, "total_steps_param_name",
                       torch_linear ? "total_iters" : "num_training_steps");
    all = s.by_epoch && all <= 0 ? cr_rw_num(c->trainer, "max_epochs", 0) : all_steps(c, all);
    double rate = cr_cruise_number(w, p, "warmup_step_rate", 0);
    s.warm = fmax(0, named(w, in, p, "warmup_steps_param_name", "num_warmup_steps"));
    if (s.warm == 0 && rate > 0) s.warm = floor(rate * all);
    if (s.by_epoch && s.warm > 0)
        cr_rw_tell(w, CR_SEV_ERROR, at,
                   "the warm-up counts steps; use interval: step, or leave the warm-up out");
    double share = strstr(class, "lrdecay") ? cr_cruise_number(w, p, "lr_decay_rate", 0.87) : 1;
    s.size = fmax(floor(share * all) - s.warm, 1);
    if (!constant && all <= 0)
        cr_rw_tell(w, CR_SEV_ERROR, at,
                   "the schedule must know how many steps there are; give trainer.max_steps");
    double lowest = cr_cruise_number(w, p, "lr_end", 0);
    if (wave) {
        s.decay = "WAVE";
        s.end = lowest;
        s.cycles = cr_cruise_number(w, p, "num_cycles", 0.5);
    } else if (linear || torch_linear) {
        double from = cr_cruise_number(w, p, "start_factor", 1.0 / 3);
        s.decay = "LINEAR";
        s.floor = lowest * o->lr;
        if (torch_linear) s.end = cr_cruise_number(w, p, "end_factor", 1);
        if (torch_linear && from != 1)
            cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(p, "start_factor"),
                       "LinearLR begins with start_factor times lr, and crank's fall begins with "
                       "lr; give start_factor: 1.0, or a warm-up");
    }
    put_schedule(w, out, &s, at);
}

/* ---- both ---- */

static void gandalf_optimizer(cr_rw *w, const cr_conf_node *in, optimizer *o) {
    static const struct {
        const char *name, *key;
    } names[] = {{"SGD", "sgd_optimizer"},
                 {"Adam", "adam_optimizer"},
                 {"AdamW", "adamw_optimizer"}};
    const char *name = cr_rw_str(in, "optimizer_name", "AdamW");
    o->at = cr_rw_at(in, "optimizer_name");
    cr_cruise_section(w, "model.kwargs.optimizer", optimizer_rules, in, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) o->key = names[i].key;
    if (!o->key) {
        cr_rw_tell(w, CR_SEV_ERROR, o->at,
                   "optimizer_name is '%.60s' and must be SGD, Adam or AdamW", name);
        o->key = "adamw_optimizer";
    }
    if (strcmp(name, "AdamW") == 0) o->eps = 1e-3;
    o->lr = cr_cruise_number(w, in, "learning_rate", 1e-3);
    o->wd = cr_cruise_number(w, in, "wd", 0);
    o->momentum = cr_cruise_number(w, in, "momentum", 0.9);
    o->amsgrad = cr_cruise_bool(w, in, "amsgrad", false);
    betas(w, in, o);
}

void cr_cruise_optimizers(cr_rw *w, cr_cruise *c, const cr_conf_node *kwargs) {
    const cr_conf_node *python = cr_cruise_part(w, c->trainer, "optimizer_kwargs", false);
    const cr_conf_node *sched = cr_conf_find(kwargs, "lr_scheduler");
    optimizer o = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    bool named = cr_rw_has(kwargs, "optimizer") || sched;
    cr_cruise_section(w, "trainer.optimizer_kwargs", python_rules, python, NULL);
    if (python->n > 0 && named)
        cr_rw_tell(w, CR_SEV_WARN, cr_rw_at(c->trainer, "optimizer_kwargs"),
                   "model.kwargs has the optimizer and its schedule, and optimizer_kwargs is not "
                   "read");
    bool reads = python->n > 0 && !named;
    const cr_conf_node *in = cr_cruise_part(w, kwargs, "optimizer", false);
    const cr_conf_node *class = cr_cruise_part(w, python, "optimizer", reads);
    const cr_conf_node *fall = cr_cruise_part(w, python, "scheduler", false);
    if (reads)
        python_optimizer(w, class, &o);
    else
        gandalf_optimizer(w, in, &o);
    cr_conf_node *dense = cr_rw_map(w, c->train, "dense_optimizer", o.at);
    put_optimizer(w, dense, &o, o.lr, o.wd);
    rates_by_name(w, in, dense, &o);
    if (reads && fall->n > 0)
        python_schedule(w, c, fall, &o, dense);
    else if (!reads && sched && sched->kind == CR_NODE_MAP)
        schedule_of(w, c, sched, dense);
    else
        cr_rw_map(w, dense, "constant_learning_rate", o.at);
    /* there are no tables, but a config names their optimizer */
    cr_conf_node *sparse = cr_rw_map(w, c->train, "sparse_optimizer", o.at);
    cr_rw_put_num(w, cr_rw_map(w, sparse, "adagrad_optimizer", o.at), "lr", o.at, o.lr);
    cr_rw_map(w, sparse, "constant_learning_rate", o.at);
}
