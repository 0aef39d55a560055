/*
 * sched.c - schedules against values from their formulas.
 */
#include "golden/golden.h"
#include "harness.h"

#include "optim/config.h"

extern const cr_sched_type cr_sched_constant, cr_sched_exponential;

static void curve(const golden *g, const char *name, const cr_exponential_conf *c) {
    const golden_tensor *t = golden_get(g, "sched/t"), *want = golden_get(g, name);
    for (int64_t i = 0; i < t->n; i++) {
        CHECK_NEAR(cr_sched_exponential.rate(c, 0.1, (int64_t)t->v[i]), want->v[i], 1e-300, 1e-12);
    }
}

TEST(exponential) {
    golden g;
    golden_load(&g, "optim.txt");
    curve(&g, "sched/exp",
          &(cr_exponential_conf){.decay_size = 10, .decay_factor = 0.95, .staircase = true});
    curve(&g, "sched/exp_smooth", &(cr_exponential_conf){.decay_size = 10, .decay_factor = 0.9});
    curve(&g, "sched/exp_warm",
          &(cr_exponential_conf){.decay_size = 7,
                                 .decay_factor = 0.8,
                                 .staircase = true,
                                 .warmup_learning_rate = 0.001,
                                 .warmup_size = 10,
                                 .min_learning_rate = 0.002});
    golden_clear(&g);
}

TEST(constant) {
    CHECK(cr_sched_constant.rate(NULL, 0.3, 12345) == 0.3);
    CHECK(cr_sched_constant.by_epoch == NULL);
}

TEST(by_epoch) {
    CHECK(cr_sched_exponential.by_epoch(&(cr_exponential_conf){.by_epoch = true}));
    CHECK(!cr_sched_exponential.by_epoch(&(cr_exponential_conf){0}));
}

TEST_MAIN(CASE(exponential), CASE(constant), CASE(by_epoch))
