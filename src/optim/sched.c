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

/* t < warmup_size: a straight line from warmup_learning_rate to base_lr; then
 * max(base_lr decay_factor^p, min_learning_rate), p = (t - warmup_size) / decay_size. */
static double exponential_rate(const void *conf, double base_lr, int64_t t) {
    const cr_exponential_conf *c = conf;
    if (t < c->warmup_size) {
        return c->warmup_learning_rate +
               (base_lr - c->warmup_learning_rate) * (double)t / (double)c->warmup_size;
    }
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
