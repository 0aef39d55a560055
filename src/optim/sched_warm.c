/*
 * sched_warm.c - a schedule whose warm-up counts steps while its decay may count epochs, as the
 * trainers of the Cruise family have it. After warmup_size steps of a linear rise from 0, with x =
 * min(t / decay_size, 1):
 *
 *   CONSTANT     lr
 *   LINEAR       lr (1 + (end_factor - 1) x)
 *   COSINE       lr cos(pi x / 2), a quarter of a wave
 *   WAVE         lr (end_factor + (1 - end_factor) (1 + cos(2 pi cycles x)) / 2)
 *   EXPONENTIAL  lr decay_factor^min(t, decay_size)
 *
 * never below min_learning_rate.
 */
#include <math.h>

#include "optim/optim.h"
#include "optim/sched_list.h"

enum { DECAY_CONSTANT, DECAY_LINEAR, DECAY_COSINE, DECAY_WAVE, DECAY_EXPONENTIAL };

typedef struct warm_conf {
    cr_conf_base base;
    int64_t warmup_size, decay_size;
    int decay;
    bool by_epoch;
    double end_factor, min_learning_rate, cycles, decay_factor;
} warm_conf;

static const cr_enum_value decays[] = {
    {"CONSTANT", DECAY_CONSTANT, "the rate stays", NULL},
    {"LINEAR", DECAY_LINEAR, "a straight line to end_factor", NULL},
    {"COSINE", DECAY_COSINE, "a quarter of a cosine wave to 0", NULL},
    {"WAVE", DECAY_WAVE, "waves of a cosine between lr and end_factor", NULL},
    {"EXPONENTIAL", DECAY_EXPONENTIAL, "a factor after every step or epoch", NULL},
    {NULL, 0, NULL, NULL},
};
static const cr_field warm_fields[] = {
    CR_INT(warm_conf, warmup_size, 0, 0, CR_U32_MAX, CR_F_OURS,
           "steps of a linear rise from 0 to lr"),
    CR_ENUM(warm_conf, decay, decays, DECAY_CONSTANT, CR_F_OURS, "how the rate falls after that"),
    CR_INT(warm_conf, decay_size, 0, 0, CR_U32_MAX, CR_F_OURS,
           "steps after the warm-up, or epochs with by_epoch, until the end of the fall"),
    CR_BOOL(warm_conf, by_epoch, false, CR_F_OURS,
            "the fall counts epochs; the warm-up always counts steps"),
    CR_FLOAT(warm_conf, end_factor, 0, 0, CR_INF, CR_F_OURS,
             "factor of lr at the end of LINEAR, and the least of WAVE"),
    CR_FLOAT(warm_conf, cycles, 0.5, 0, CR_INF, CR_F_OURS, "waves of WAVE until its end"),
    CR_FLOAT(warm_conf, decay_factor, 1, 0, CR_INF, CR_F_OURS, "factor of EXPONENTIAL"),
    CR_FLOAT(warm_conf, min_learning_rate, 0, 0, CR_INF, CR_F_OURS,
             "the rate never falls below this after the warm-up"),
    CR_END,
};
static void warm_check(const void *self, cr_diag *diag) {
    const warm_conf *c = self;
    if (c->decay != DECAY_CONSTANT && c->decay_size == 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "decay_size"),
                    "decay_size must be given and above 0; use decay: CONSTANT for a rate that "
                    "stays");
}
const cr_msg cr_sched_warm_msg = {
    .name = "WarmupDecayLR",
    .help = "A rise in steps, then a fall in steps or epochs",
    .fields = warm_fields,
    .size = sizeof(warm_conf),
    .check = warm_check,
};

static double warm_rate(const void *conf, double base_lr, int64_t steps, int64_t epochs) {
    const warm_conf *c = conf;
    if (steps < c->warmup_size) return base_lr * (double)steps / (double)c->warmup_size;
    double t = c->by_epoch ? (double)epochs : (double)(steps - c->warmup_size), rate = base_lr;
    double x = c->decay_size > 0 ? fmin(t / (double)c->decay_size, 1) : 0;
    if (c->decay == DECAY_LINEAR) rate = base_lr * (1 + (c->end_factor - 1) * x);
    if (c->decay == DECAY_COSINE) rate = base_lr * cos(acos(-1.0) / 2 * x);
    if (c->decay == DECAY_WAVE) {
        double wave = (1 + cos(2 * acos(-1.0) * c->cycles * x)) / 2;
        rate = base_lr * (c->end_factor + (1 - c->end_factor) * wave);
    }
    if (c->decay == DECAY_EXPONENTIAL)
        rate = base_lr * pow(c->decay_factor, fmin(t, (double)c->decay_size));
    return fmax(rate, c->min_learning_rate);
}

const cr_sched_type cr_sched_warm = {.name = "warmup_decay", .rate_of = warm_rate};
