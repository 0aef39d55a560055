/*
 * sched.c - learning-rate schedules: the rate as a function of t, the scheduler steps finished so
 * far (batches, or epochs with by_epoch). A pure function of t, so a resumed run needs no state
 * besides its step number.
 */
#include "optim/optim.h"

#include <math.h>

#include "optim/config.h"

static double constant_rate(const void *conf, double base_lr, int64_t t) {
    (void)conf;
    (void)t;
    return base_lr;
}

const cr_sched_type cr_sched_constant = {.name = "constant", .rate = constant_rate};

/* the straight line from warmup_learning_rate to base_lr of the first `size` steps */
static double warm(double from, double base_lr, int64_t t, int64_t size) {
    return from + (base_lr - from) * (double)t / (double)size;
}

/* after the warm-up max(base_lr decay_factor^p, min_learning_rate), p = (t - warmup_size) /
 * decay_size. */
static double exponential_rate(const void *conf, double base_lr, int64_t t) {
    const cr_exponential_conf *c = conf;
    if (t < c->warmup_size) return warm(c->warmup_learning_rate, base_lr, t, c->warmup_size);
    double p = (double)(t - c->warmup_size) / (double)c->decay_size;
    double rate = base_lr * pow(c->decay_factor, c->staircase ? floor(p) : p);
    return rate > c->min_learning_rate ? rate : c->min_learning_rate;
}

static bool exponential_by_epoch(const void *conf) {
    return ((const cr_exponential_conf *)conf)->by_epoch;
}

const cr_sched_type cr_sched_exponential = {.name = "exponential_decay",
                                            .rate = exponential_rate,
                                            .by_epoch = exponential_by_epoch};

/* the rate of the last schedule size below t: a new rate begins one step after its size */
static double manual_rate(const void *conf, double base_lr, int64_t t) {
    const cr_manual_conf *c = conf;
    int64_t k = 0;
    while (k < c->schedule_sizes.n && c->schedule_sizes.v[k] < t)
        k++;
    if (k > 0) return c->learning_rates.v[k - 1];
    if (!c->warmup) return base_lr;
    return base_lr +
           (c->learning_rates.v[0] - base_lr) * (double)t / (double)c->schedule_sizes.v[0];
}
static bool manual_by_epoch(const void *conf) {
    return ((const cr_manual_conf *)conf)->by_epoch;
}
const cr_sched_type cr_sched_manual = {.name = "manual_step",
                                       .rate = manual_rate,
                                       .by_epoch = manual_by_epoch};

/* from base_lr down to low in half a wave of length T */
static double wave(double base_lr, double low, int64_t t, int64_t T) {
    return low + (base_lr - low) * 0.5 * (1 + cos(3.14159265358979323846 * (double)t / (double)T));
}

static double cosine_rate(const void *conf, double base_lr, int64_t t) {
    const cr_cosine_conf *c = conf;
    if (t < c->warmup_size) return warm(c->warmup_learning_rate, base_lr, t, c->warmup_size);
    int64_t u = t - c->warmup_size;
    return wave(base_lr, c->min_learning_rate, u < c->T_max ? u : c->T_max, c->T_max);
}
static bool cosine_by_epoch(const void *conf) {
    return ((const cr_cosine_conf *)conf)->by_epoch;
}
const cr_sched_type cr_sched_cosine = {.name = "cosine_annealing",
                                       .rate = cosine_rate,
                                       .by_epoch = cosine_by_epoch};

/* Periods T_0, T_0 T_mult, T_0 T_mult² ...: found with whole numbers, because floor(log(x)) is
 * wrong by one at some of their ends. */
static double restarts_rate(const void *conf, double base_lr, int64_t t) {
    const cr_restarts_conf *c = conf;
    if (t < c->warmup_size) return warm(c->warmup_learning_rate, base_lr, t, c->warmup_size);
    int64_t e = t - c->warmup_size, T = c->T_0;
    if (c->T_mult == 1) {
        e %= T;
    } else {
        while (e >= T) {
            e -= T;
            if (T > INT64_MAX / c->T_mult) break; /* longer than any run */
            T *= c->T_mult;
        }
    }
    return wave(base_lr, c->min_learning_rate, e, T);
}
static bool restarts_by_epoch(const void *conf) {
    return ((const cr_restarts_conf *)conf)->by_epoch;
}
const cr_sched_type cr_sched_restarts = {.name = "cosine_annealing_warm_restarts",
                                         .rate = restarts_rate,
                                         .by_epoch = restarts_by_epoch};

/* num_training_steps counts the warm-up, as HuggingFace's linear schedule does */
static double linear_rate(const void *conf, double base_lr, int64_t t) {
    const cr_linear_conf *c = conf;
    if (t < c->warmup_size) return warm(c->warmup_learning_rate, base_lr, t, c->warmup_size);
    double left = t < c->num_training_steps ? (double)(c->num_training_steps - t) : 0;
    double part = left / (double)(c->num_training_steps - c->warmup_size);
    return c->min_learning_rate + (base_lr - c->min_learning_rate) * part;
}
static bool linear_by_epoch(const void *conf) {
    return ((const cr_linear_conf *)conf)->by_epoch;
}
const cr_sched_type cr_sched_linear = {.name = "linear_decay",
                                       .rate = linear_rate,
                                       .by_epoch = linear_by_epoch};

double cr_optim_rate(const cr_choice *optim, const cr_choice *sched, int64_t steps,
                     int64_t epochs) {
    const cr_sched_type *type = sched->m->type;
    double lr = ((const cr_optim_conf *)optim->conf)->lr;
    if (lr == 0) return 0;
    bool by_epoch = type->by_epoch && type->by_epoch(sched->conf);
    return type->rate(sched->conf, lr, by_epoch ? epochs : steps);
}

const cr_optim_type *cr_optim_of(const cr_choice *c) {
    const cr_optim_type *type = c->m->type;
    return type->resolve ? type->resolve(c->conf) : type;
}
