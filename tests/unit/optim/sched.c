/*
 * sched.c - schedules against values from their formulas.
 */
#include "golden/golden.h"
#include "harness.h"

#include "conf_text.h"
#include "optim/list.h"
#include "optim/sched_list.h"

/* the config that the text gives a schedule */
#define CONF(s, text) conf_text(&cr_sched_##s##_msg, text)

static void curve(const golden *g, const char *name, const void *c) {
    const golden_tensor *t = golden_get(g, "sched/t"), *want = golden_get(g, name);
    for (int64_t i = 0; i < t->n; i++) {
        CHECK_NEAR(cr_sched_exponential.rate(c, 0.1, (int64_t)t->v[i]), want->v[i], 1e-300, 1e-12);
    }
}

TEST(exponential) {
    golden g;
    golden_load(&g, "optim.txt");
    curve(&g, "sched/exp",
          CONF(exponential, "decay_size: 10, decay_factor: 0.95, staircase: true"));
    curve(&g, "sched/exp_smooth",
          CONF(exponential, "decay_size: 10, decay_factor: 0.9, staircase: false"));
    curve(&g, "sched/exp_warm",
          CONF(exponential,
               "decay_size: 7, decay_factor: 0.8, staircase: true, warmup_learning_rate: 0.001, "
               "warmup_size: 10, min_learning_rate: 0.002"));
    golden_clear(&g);
}

static void whole_curve(const golden *g, const char *name, const cr_sched_type *type,
                        const void *conf) {
    const golden_tensor *want = golden_get(g, name);
    for (int64_t t = 0; t < want->n; t++)
        CHECK_NEAR(type->rate(conf, 0.1, t), want->v[t], 1e-15, 1e-12);
}

TEST(other_curves) {
    golden g;
    golden_load(&g, "optim.txt");
    whole_curve(&g, "curve/manual", &cr_sched_manual,
                CONF(manual, "schedule_sizes: [10, 20, 50], learning_rates: [0.05, 0.01, 0.001]"));
    whole_curve(
        &g, "curve/manual_warm", &cr_sched_manual,
        CONF(manual,
             "schedule_sizes: [10, 20, 50], learning_rates: [0.5, 0.01, 0.001], warmup: true"));
    whole_curve(&g, "curve/cosine", &cr_sched_cosine,
                CONF(cosine, "T_max: 30, min_learning_rate: 0.003"));
    whole_curve(
        &g, "curve/cosine_warm", &cr_sched_cosine,
        CONF(cosine,
             "T_max: 30, min_learning_rate: 0.003, warmup_learning_rate: 0.01, warmup_size: 8"));
    whole_curve(&g, "curve/restarts", &cr_sched_restarts,
                CONF(restarts, "T_0: 10, T_mult: 1, min_learning_rate: 0.001"));
    whole_curve(&g, "curve/restarts_2", &cr_sched_restarts,
                CONF(restarts, "T_0: 7, T_mult: 2, min_learning_rate: 0.002"));
    whole_curve(&g, "curve/linear", &cr_sched_linear,
                CONF(linear, "num_training_steps: 60, min_learning_rate: 0.002"));
    whole_curve(&g, "curve/linear_warm", &cr_sched_linear,
                CONF(linear,
                     "num_training_steps: 60, warmup_learning_rate: 0.002, warmup_size: 7"));
    golden_clear(&g);
}

/* the ends of periods, where a logarithm of floats is off by one; and no overflow */
TEST(restarts_far_out) {
    const void *c = CONF(restarts, "T_0: 1, T_mult: 3");
    int64_t start = 0, T = 1;
    for (int n = 0; n < 30; n++, start += T, T *= 3)
        CHECK(cr_sched_restarts.rate(c, 0.1, start) == 0.1);
    const void *huge = CONF(restarts, "T_0: 4294967295, T_mult: 4294967295");
    double r = cr_sched_restarts.rate(huge, 0.1, INT64_MAX);
    CHECK(r >= 0 && r <= 0.1);
    c = CONF(restarts, "T_0: 1, T_mult: 1");
    CHECK(cr_sched_restarts.rate(c, 0.1, INT64_MAX) == 0.1);
}

/* the rate of a chosen optimizer: which count it follows, and a base of 0 stays 0 */
TEST(chosen) {
    cr_optim_conf sgd = {.lr = 0.1};
    cr_oneof_member rule = {"sgd_optimizer", NULL, &cr_optim_row_sgd},
                    by = {"manual_step_learning_rate", NULL, &cr_sched_manual};
    cr_choice o = {&rule, &sgd},
              s = {&by, CONF(manual, "schedule_sizes: [2], learning_rates: [0.5]")};
    CHECK(cr_optim_rate(&o, &s, 3, 0) == 0.5 && cr_optim_rate(&o, &s, 2, 9) == 0.1);
    s.conf = CONF(manual, "schedule_sizes: [2], learning_rates: [0.5], by_epoch: true");
    CHECK(cr_optim_rate(&o, &s, 3, 0) == 0.1 && cr_optim_rate(&o, &s, 0, 3) == 0.5);
    sgd.lr = 0;
    CHECK(cr_optim_rate(&o, &s, 0, 3) == 0);
    CHECK(cr_optim_of(&o) == &cr_optim_row_sgd);
}

/* the warm-up counts steps, the fall counts epochs or the steps after it */
TEST(warm_in_steps) {
    const void *c = CONF(warm, "warmup_size: 10, decay: LINEAR, decay_size: 5, by_epoch: true, "
                               "end_factor: 0.2");
    CHECK_NEAR(cr_sched_warm.rate_of(c, 0.1, 0, 0), 0, 0, 0);
    CHECK_NEAR(cr_sched_warm.rate_of(c, 0.1, 4, 3), 0.04, 0, 1e-12);
    CHECK_NEAR(cr_sched_warm.rate_of(c, 0.1, 10, 0), 0.1, 0, 1e-12);
    CHECK_NEAR(cr_sched_warm.rate_of(c, 0.1, 999, 2), 0.1 * (1 - 0.8 * 2 / 5), 0, 1e-12);
    CHECK_NEAR(cr_sched_warm.rate_of(c, 0.1, 999, 7), 0.02, 0, 1e-12);
    c = CONF(warm, "warmup_size: 10, decay: LINEAR, decay_size: 20, min_learning_rate: 0.01");
    CHECK_NEAR(cr_sched_warm.rate_of(c, 0.1, 20, 9), 0.05, 0, 1e-12);
    CHECK_NEAR(cr_sched_warm.rate_of(c, 0.1, 30, 9), 0.01, 0, 1e-12);
    c = CONF(warm, "decay: COSINE, decay_size: 30");
    CHECK_NEAR(cr_sched_warm.rate_of(c, 0.1, 20, 0), 0.05, 0, 1e-12);
    CHECK_NEAR(cr_sched_warm.rate_of(c, 0.1, 90, 0), 0, 1e-15, 0);
    c = CONF(warm, "warmup_size: 2");
    CHECK_NEAR(cr_sched_warm.rate_of(c, 0.1, 77, 7), 0.1, 0, 0);
}

TEST(constant) {
    CHECK(cr_sched_constant.rate(NULL, 0.3, 12345) == 0.3);
    CHECK(cr_sched_constant.by_epoch == NULL);
}

TEST(by_epoch) {
    CHECK(cr_sched_exponential.by_epoch(
        CONF(exponential, "by_epoch: true, staircase: false, decay_size: 1")));
    CHECK(!cr_sched_exponential.by_epoch(CONF(exponential, "staircase: false, decay_size: 1")));
    CHECK(cr_sched_linear.by_epoch(CONF(linear, "by_epoch: true, num_training_steps: 1")));
}

TEST_MAIN(CASE(exponential), CASE(other_curves), CASE(restarts_far_out), CASE(chosen),
          CASE(warm_in_steps), CASE(constant), CASE(by_epoch))
