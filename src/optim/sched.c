/*
 * sched.c - learning-rate schedules: the rate as a function of t, the scheduler steps finished so
 * far (batches, or epochs with by_epoch). The rate depends only on t, so a resumed run needs no
 * state besides its step number.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/sched_list.h"

#define wrong(diag, at, ...) cr_diag_add((diag), CR_SEV_ERROR, CR_ECONF, (at), __VA_ARGS__)

#define HELP_MIN_LR    "the rate never falls below this"
#define HELP_WARM_LR   "rate at step 0 of the warm-up"
#define HELP_WARM_SIZE "steps (or epochs) of a linear rise to lr; 0: none"
#define HELP_BY_EPOCH  "count epochs instead of steps"
#define WARM_TAIL(S)                                                                               \
    CR_FLOAT(S, min_learning_rate, 0, 0, CR_INF, 0, HELP_MIN_LR),                                  \
        CR_FLOAT(S, warmup_learning_rate, 0, 0, CR_INF, 0, HELP_WARM_LR),                          \
        CR_INT(S, warmup_size, 0, 0, CR_U32_MAX, 0, HELP_WARM_SIZE),                               \
        CR_BOOL(S, by_epoch, false, 0, HELP_BY_EPOCH)

/* ---- constant ---- */
typedef struct constant_conf {
    cr_conf_base base;
} constant_conf;
const cr_msg cr_sched_constant_msg = {
    .name = "ConstantLR",
    .help = "The rate stays as it is",
    .fields = cr_no_fields,
    .size = sizeof(constant_conf),
};

static double constant_rate(const void *conf, double base_lr, int64_t t) {
    (void)conf;
    (void)t;
    return base_lr;
}

const cr_sched_type cr_sched_constant = {.name = "constant", .rate = constant_rate};

/* warm returns the rate on the straight line from warmup_learning_rate to base_lr over the first
 * `size` steps. */
static double warm(double from, double base_lr, int64_t t, int64_t size) {
    return from + (base_lr - from) * (double)t / (double)size;
}

/* ---- exponential ---- */
typedef struct exponential_conf {
    cr_conf_base base;
    int64_t decay_size; /* at least 1 */
    double decay_factor;
    bool staircase;
    double warmup_learning_rate;
    int64_t warmup_size;
    double min_learning_rate;
    bool by_epoch;
} exponential_conf;
static const cr_field exponential_fields[] = {
    CR_INT(exponential_conf, decay_size, 0, 0, CR_U32_MAX, 0,
           "steps (or epochs) after which the rate is multiplied by decay_factor"),
    CR_FLOAT(exponential_conf, decay_factor, 0.95, 0, CR_INF, 0,
             "factor of the rate per decay_size"),
    CR_BOOL(exponential_conf, staircase, true, 0, "fall in steps instead of smoothly"),
    CR_FLOAT(exponential_conf, warmup_learning_rate, 0, 0, CR_INF, 0, HELP_WARM_LR),
    CR_INT(exponential_conf, warmup_size, 0, 0, CR_U32_MAX, 0, HELP_WARM_SIZE),
    CR_FLOAT(exponential_conf, min_learning_rate, 0, 0, CR_INF, 0, HELP_MIN_LR),
    CR_BOOL(exponential_conf, by_epoch, false, 0, HELP_BY_EPOCH),
    CR_END,
};
static void exponential_check(const void *self, cr_diag *diag) {
    const exponential_conf *c = self;
    if (c->decay_size == 0)
        wrong(diag, cr_conf_at(c, "decay_size"),
              "decay_size must be given and above 0; use constant_learning_rate for a rate "
              "that stays");
}
const cr_msg cr_sched_exponential_msg = {
    .name = "ExponentialDecayLR",
    .help = "The rate falls by a factor after every decay_size steps",
    .fields = exponential_fields,
    .size = sizeof(exponential_conf),
    .check = exponential_check,
};

/* The rate after the warm-up is max(base_lr decay_factor^p, min_learning_rate), p = (t -
 * warmup_size) / decay_size. */
static double exponential_rate(const void *conf, double base_lr, int64_t t) {
    const exponential_conf *c = conf;
    if (t < c->warmup_size) return warm(c->warmup_learning_rate, base_lr, t, c->warmup_size);
    double p = (double)(t - c->warmup_size) / (double)c->decay_size;
    double rate = base_lr * pow(c->decay_factor, c->staircase ? floor(p) : p);
    return rate > c->min_learning_rate ? rate : c->min_learning_rate;
}

static bool exponential_by_epoch(const void *conf) {
    return ((const exponential_conf *)conf)->by_epoch;
}

const cr_sched_type cr_sched_exponential = {.name = "exponential_decay",
                                            .rate = exponential_rate,
                                            .by_epoch = exponential_by_epoch};

/* ---- manual ---- */
typedef struct manual_conf {
    cr_conf_base base;
    cr_ints schedule_sizes;   /* ascending, at least one */
    cr_floats learning_rates; /* as many as schedule_sizes */
    bool warmup;
    bool by_epoch;
} manual_conf;
static const cr_field manual_fields[] = {
    CR_INT(manual_conf, schedule_sizes, 0, 0, CR_U32_MAX, CR_F_REPEATED,
           "steps (or epochs) after which the rate changes, ascending"),
    CR_FLOAT(manual_conf, learning_rates, 0, 0, CR_INF, CR_F_REPEATED,
             "the rate after each of them"),
    CR_BOOL(manual_conf, warmup, false, 0, "rise in a line to the first rate"),
    CR_BOOL(manual_conf, by_epoch, false, 0, HELP_BY_EPOCH),
    CR_END,
};
static void manual_check(const void *self, cr_diag *diag) {
    const manual_conf *c = self;
    int64_t n = c->schedule_sizes.n;
    if (n == 0)
        wrong(diag, cr_conf_at(c, "schedule_sizes"),
              "schedule_sizes must be given; use constant_learning_rate for a rate that stays");
    if (n != c->learning_rates.n)
        wrong(diag, cr_conf_at(c, n < c->learning_rates.n ? "learning_rates" : "schedule_sizes"),
              "schedule_sizes has %lld values and learning_rates %lld; give one rate for each size",
              (long long)n, (long long)c->learning_rates.n);
    for (int64_t i = 1; i < n; i++) {
        long long a = c->schedule_sizes.v[i - 1], b = c->schedule_sizes.v[i];
        if (b > a) continue;
        wrong(diag, cr_conf_at_item(c, "schedule_sizes", i),
              "schedule_sizes must rise, but %lld follows %lld; sort them with their rates", b, a);
        break;
    }
    if (c->warmup && n > 0 && c->schedule_sizes.v[0] == 0)
        wrong(diag, cr_conf_at_item(c, "schedule_sizes", 0),
              "warmup needs a first schedule size above 0; raise it or leave warmup out");
}
const cr_msg cr_sched_manual_msg = {
    .name = "ManualStepLR",
    .help = "Rates given step by step",
    .fields = manual_fields,
    .size = sizeof(manual_conf),
    .check = manual_check,
};

/* The rate is that of the last schedule size below t: a new rate begins one step after its size. */
static double manual_rate(const void *conf, double base_lr, int64_t t) {
    const manual_conf *c = conf;
    int64_t k = 0;
    while (k < c->schedule_sizes.n && c->schedule_sizes.v[k] < t)
        k++;
    if (k > 0) return c->learning_rates.v[k - 1];
    if (!c->warmup) return base_lr;
    return base_lr +
           (c->learning_rates.v[0] - base_lr) * (double)t / (double)c->schedule_sizes.v[0];
}
static bool manual_by_epoch(const void *conf) {
    return ((const manual_conf *)conf)->by_epoch;
}
const cr_sched_type cr_sched_manual = {.name = "manual_step",
                                       .rate = manual_rate,
                                       .by_epoch = manual_by_epoch};

/* wave goes from base_lr down to low in half a cosine wave of length T. */
static double wave(double base_lr, double low, int64_t t, int64_t T) {
    return low + (base_lr - low) * 0.5 * (1 + cos(3.14159265358979323846 * (double)t / (double)T));
}

/* ---- cosine ---- */
typedef struct cosine_conf {
    cr_conf_base base;
    int64_t T_max; /* at least 1 */
    double min_learning_rate;
    double warmup_learning_rate;
    int64_t warmup_size;
    bool by_epoch;
} cosine_conf;
static const cr_field cosine_fields[] = {
    CR_INT(cosine_conf, T_max, 0, 0, CR_U32_MAX, 0,
           "steps (or epochs) from lr down to the lowest rate"),
    WARM_TAIL(cosine_conf),
    CR_END,
};
static void cosine_check(const void *self, cr_diag *diag) {
    if (((const cosine_conf *)self)->T_max == 0)
        wrong(diag, cr_conf_at(self, "T_max"),
              "T_max must be given and above 0: the steps from lr down to min_learning_rate");
}
const cr_msg cr_sched_cosine_msg = {
    .name = "CosineAnnealingLR",
    .help = "Half a cosine wave down",
    .fields = cosine_fields,
    .size = sizeof(cosine_conf),
    .check = cosine_check,
};

static double cosine_rate(const void *conf, double base_lr, int64_t t) {
    const cosine_conf *c = conf;
    if (t < c->warmup_size) return warm(c->warmup_learning_rate, base_lr, t, c->warmup_size);
    int64_t u = t - c->warmup_size;
    return wave(base_lr, c->min_learning_rate, u < c->T_max ? u : c->T_max, c->T_max);
}
static bool cosine_by_epoch(const void *conf) {
    return ((const cosine_conf *)conf)->by_epoch;
}
const cr_sched_type cr_sched_cosine = {.name = "cosine_annealing",
                                       .rate = cosine_rate,
                                       .by_epoch = cosine_by_epoch};

/* ---- restarts ---- */
typedef struct restarts_conf {
    cr_conf_base base;
    int64_t T_0, T_mult; /* at least 1 */
    double min_learning_rate;
    double warmup_learning_rate;
    int64_t warmup_size;
    bool by_epoch;
} restarts_conf;
static const cr_field restarts_fields[] = {
    CR_INT(restarts_conf, T_0, 0, 0, CR_U32_MAX, 0, "steps (or epochs) of the first period"),
    CR_INT(restarts_conf, T_mult, 1, 1, CR_U32_MAX, 0, "each period is this many times the last"),
    WARM_TAIL(restarts_conf),
    CR_END,
};
static void restarts_check(const void *self, cr_diag *diag) {
    if (((const restarts_conf *)self)->T_0 == 0)
        wrong(diag, cr_conf_at(self, "T_0"),
              "T_0 must be given and above 0: the steps of the first period");
}
const cr_msg cr_sched_restarts_msg = {
    .name = "CosineAnnealingWarmRestartsLR",
    .help = "Cosine waves that start again at the full rate",
    .fields = restarts_fields,
    .size = sizeof(restarts_conf),
    .check = restarts_check,
};

/* The periods are T_0, T_0 T_mult, T_0 T_mult² ... They are found with whole numbers, because
 * floor(log(x)) is wrong by one at some of their ends. */
static double restarts_rate(const void *conf, double base_lr, int64_t t) {
    const restarts_conf *c = conf;
    if (t < c->warmup_size) return warm(c->warmup_learning_rate, base_lr, t, c->warmup_size);
    int64_t e = t - c->warmup_size, T = c->T_0;
    if (c->T_mult == 1) {
        e %= T;
    } else {
        while (e >= T) {
            e -= T;
            if (T > INT64_MAX / c->T_mult) break; /* the period is longer than any run */
            T *= c->T_mult;
        }
    }
    return wave(base_lr, c->min_learning_rate, e, T);
}
static bool restarts_by_epoch(const void *conf) {
    return ((const restarts_conf *)conf)->by_epoch;
}
const cr_sched_type cr_sched_restarts = {.name = "cosine_annealing_warm_restarts",
                                         .rate = restarts_rate,
                                         .by_epoch = restarts_by_epoch};

/* ---- linear ---- */
typedef struct linear_conf {
    cr_conf_base base;
    int64_t num_training_steps;
    double min_learning_rate, warmup_learning_rate;
    int64_t warmup_size;
    bool by_epoch;
} linear_conf;
static const cr_field linear_fields[] = {
    CR_INT(linear_conf, num_training_steps, 0, 0, CR_U32_MAX, 0,
           "steps (or epochs) from the start, warm-up included, to the lowest rate"),
    WARM_TAIL(linear_conf),
    CR_END,
};
static void linear_check(const void *self, cr_diag *diag) {
    const linear_conf *c = self;
    if (c->num_training_steps == 0)
        wrong(diag, cr_conf_at(c, "num_training_steps"),
              "num_training_steps must be given and above 0: the steps from the start to "
              "min_learning_rate");
    else if (c->warmup_size >= c->num_training_steps)
        wrong(diag, cr_conf_at(c, "warmup_size"),
              "warmup_size is %lld and must be below num_training_steps, %lld, which counts it; "
              "make one smaller or the other larger",
              (long long)c->warmup_size, (long long)c->num_training_steps);
}
const cr_msg cr_sched_linear_msg = {
    .name = "LinearDecayLR",
    .help = "A straight line down",
    .fields = linear_fields,
    .size = sizeof(linear_conf),
    .check = linear_check,
};

/* num_training_steps counts the warm-up, as HuggingFace's linear schedule does */
static double linear_rate(const void *conf, double base_lr, int64_t t) {
    const linear_conf *c = conf;
    if (t < c->warmup_size) return warm(c->warmup_learning_rate, base_lr, t, c->warmup_size);
    double left = t < c->num_training_steps ? (double)(c->num_training_steps - t) : 0;
    double part = left / (double)(c->num_training_steps - c->warmup_size);
    return c->min_learning_rate + (base_lr - c->min_learning_rate) * part;
}
static bool linear_by_epoch(const void *conf) {
    return ((const linear_conf *)conf)->by_epoch;
}
const cr_sched_type cr_sched_linear = {.name = "linear_decay",
                                       .rate = linear_rate,
                                       .by_epoch = linear_by_epoch};

double cr_optim_rate(const cr_choice *optim, const cr_choice *sched, int64_t steps,
                     int64_t epochs) {
    const cr_sched_type *type = sched->m->type;
    double lr = ((const cr_optim_conf *)optim->conf)->lr;
    if (lr == 0) return 0;
    if (type->rate_of) return type->rate_of(sched->conf, lr, steps, epochs);
    bool by_epoch = type->by_epoch && type->by_epoch(sched->conf);
    return type->rate(sched->conf, lr, by_epoch ? epochs : steps);
}

const cr_optim_type *cr_optim_of(const cr_choice *c) {
    const cr_optim_type *type = c->m->type;
    return type->resolve ? type->resolve(c->conf) : type;
}
