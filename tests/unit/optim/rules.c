/*
 * rules.c - every update rule against golden steps (torch, FBGEMM's formulas), the vector code
 * against a plain loop bit for bit, and the dense form against the row form.
 */
#include "golden/golden.h"
#include "harness.h"

#include "conf_text.h"
#include "kern/kern.h"
#include "optim/adam_int.h"

/* the config that the text gives a message of list.h */
#define CONF(m, text) conf_text(&cr_optim_##m##_msg, text)

static golden G;
static void load(void) {
    cr_kern_init(); /* the best level; levels.c compares the others with it */
    if (!G.n) golden_load(&G, "optim.txt");
}

static void dense_case(const char *name, const cr_optim_type *type, const void *conf, double lr) {
    load();
    char key[64];
    snprintf(key, sizeof key, "dense/%s", name);
    const golden_tensor *want = golden_get(&G, key), *g = golden_get(&G, "dense/g");
    int64_t n = g->dims[1];
    float *w = golden_f32(golden_get(&G, "dense/w0")), *grads = golden_f32(g);
    float *planes = calloc((size_t)(3 * n), sizeof *planes);
    float *state[3] = {planes, planes + n, planes + 2 * n};
    if (strncmp(name, "ftrl", 4) == 0 && strncmp(name, "ftrl_warm", 9) != 0)
        memset(w, 0, (size_t)n * sizeof *w);
    for (int k = 0; k < type->elem_state; k++) {
        for (int64_t i = 0; i < n; i++) {
            state[k][i] = type->state_init ? type->state_init(conf, k) : 0;
        }
    }
    for (int64_t t = 0; t < g->dims[0]; t++) {
        cr_optim_step s = {.lr = lr, .t = t + 1};
        if (type->prepare) type->prepare(conf, &s);
        type->dense(conf, &s, w, grads + t * n, state, n);
        for (int64_t i = 0; i < n; i++) {
            CHECK_NEAR(w[i], want->v[t * n + i], 1e-7, 2e-6);
        }
    }
    free(w);
    free(grads);
    free(planes);
}

TEST(dense_sgd) {
    dense_case("sgd_plain", &cr_optim_sgd, CONF(sgd, "weight_decay: 0.01, momentum: 0"), 0.1);
    dense_case("sgd", &cr_optim_sgd, CONF(sgd, "momentum: 0.9"), 0.1);
    dense_case("sgd_damp", &cr_optim_sgd,
               CONF(sgd, "momentum: 0.8, dampening: 0.3, weight_decay: 0.02"), 0.1);
    dense_case("sgd_nesterov", &cr_optim_sgd, CONF(sgd, "momentum: 0.9, nesterov: true"), 0.05);
}

TEST(dense_adagrad) {
    dense_case("adagrad", &cr_optim_adagrad, CONF(adagrad, "eps: 1e-10"), 0.1);
    dense_case("adagrad_init", &cr_optim_adagrad,
               CONF(adagrad, "eps: 1e-6, initial_accumulator_value: 0.1, weight_decay: 0.01"), 0.1);
}

TEST(dense_adam) {
    dense_case("adam", &cr_optim_adam, CONF(adam, "beta1: 0.9, beta2: 0.999, eps: 1e-8"), 0.01);
    dense_case("adam_wd", &cr_optim_adam,
               CONF(adam, "beta1: 0.8, beta2: 0.95, eps: 1e-6, weight_decay: 0.05"), 0.02);
}

TEST(dense_adam_forms) {
    const void *max =
        CONF(adam, "beta1: 0.7, beta2: 0.6, eps: 1e-8, weight_decay: 0.01, amsgrad: true");
    const cr_optim_type *type = cr_optim_adam.resolve(max);
    CHECK_INT(type->elem_state, 3);
    dense_case("adam_amsgrad", type, max, 0.02);
    max = CONF(adam, "beta1: 0.7, beta2: 0.6, eps: 1e-8, weight_decay: 0.1, amsgrad: true");
    type = cr_optim_adamw.resolve(max);
    CHECK_INT(type->elem_state, 3);
    dense_case("adamw_amsgrad", type, max, 0.02);
    const void *w = CONF(adam, "beta1: 0.9, beta2: 0.999, eps: 1e-8");
    CHECK(cr_optim_adamw.resolve(w) == &cr_optim_adamw);
    dense_case("adamw", &cr_optim_adamw, w, 0.01);
    dense_case("adamw_wd", &cr_optim_adamw,
               CONF(adam, "beta1: 0.8, beta2: 0.95, eps: 1e-6, weight_decay: 0.1"), 0.02);
}

TEST(dense_adadelta_rmsprop) {
    dense_case("adadelta", &cr_optim_adadelta, CONF(adadelta, "rho: 0.95, eps: 1e-6"), 0.5);
    dense_case("adadelta_wd", &cr_optim_adadelta,
               CONF(adadelta, "rho: 0.8, eps: 1e-4, weight_decay: 0.02"), 1.0);
    dense_case("rmsprop", &cr_optim_rmsprop, CONF(rmsprop, "alpha: 0.99, eps: 1e-8"), 0.01);
    dense_case("rmsprop_wd", &cr_optim_rmsprop,
               CONF(rmsprop, "alpha: 0.9, eps: 1e-3, weight_decay: 0.05"), 0.02);
}

TEST(dense_ftrl) {
    const void *k = CONF(ftrl, "learning_rate_power: -0.5, ftrl_beta: 1, keep_first_values: true");
    dense_case("ftrl", &cr_optim_ftrl, k, 0.1);
    k = CONF(ftrl, "ftrl_beta: 0.5, l1_reg: 0.1, l2_reg: 0.3");
    dense_case("ftrl_l1", &cr_optim_ftrl, k, 0.5);
#define WARM "ftrl_beta: 0.7, l1_reg: 0.01, l2_reg: 0.1"
    k = CONF(ftrl, WARM);
    dense_case("ftrl_warm", &cr_optim_ftrl, k, 0.2);
    k = CONF(ftrl, WARM ", initial_accumulator_value: 0.1");
    dense_case("ftrl_warm_first", &cr_optim_ftrl, k, 0.2);
    k = CONF(ftrl, WARM ", keep_first_values: false");
    dense_case("ftrl_warm_zero", &cr_optim_ftrl, k, 0.2);
    dense_case("ftrl_warm_power", &cr_optim_ftrl,
               CONF(ftrl, "learning_rate_power: -0.4, initial_accumulator_value: 0.1, ftrl_beta: "
                          "0, keep_first_values: false"),
               0.1);
    /* a rate of 0 (the start of a warm-up) and no gradient change nothing */
    float w[2] = {0.5F, -1}, z[2] = {0}, n[2] = {0}, *state[2] = {z, n}, g[2] = {0.1F, 0};
    const void *c =
        CONF(ftrl, "learning_rate_power: -0.5, l1_reg: 0.2, keep_first_values: true, ftrl_beta: 0");
    cr_optim_ftrl.dense(c, &(cr_optim_step){.lr = 0, .t = 1}, w, g, state, 2);
    CHECK(w[0] == 0.5F && z[0] == 0 && n[0] == 0);
    cr_optim_ftrl.dense(c, &(cr_optim_step){.lr = 0.1, .t = 1}, w, g, state, 2);
    CHECK(w[0] != 0.5F && w[1] == -1 && z[1] == 0 && n[1] == 0);
    /* without first values a weight is what z and n say, as in the paper */
    c = CONF(ftrl, "l1_reg: 0.2, keep_first_values: false, ftrl_beta: 0");
    cr_optim_ftrl.dense(c, &(cr_optim_step){.lr = 0.1, .t = 1}, w, g, state, 2);
    CHECK(w[1] == 0 && z[1] == 0 && n[1] == 0);
}

TEST(dense_grda) {
    dense_case("grda", &cr_optim_grda, CONF(grda, "c: 0.05, mu: 0.7"), 0.5);
    dense_case("grda_one", &cr_optim_grda, CONF(grda, "c: 0.0005, mu: 0.8"), 1);
    /* a weight whose gradient is 0 falls below the limit and becomes 0 */
    float w = 0.01F, a = 0, *state[1] = {&a}, g = 0;
    const void *c = CONF(grda, "c: 0.004, mu: 0.5");
    cr_optim_grda.dense(c, &(cr_optim_step){.lr = 1, .t = 1}, &w, &g, state, 1);
    CHECK_NEAR(w, 0.006, 0, 1e-6);
    cr_optim_grda.dense(c, &(cr_optim_step){.lr = 1, .t = 9}, &w, &g, state, 1);
    CHECK(w == 0);
}

/* Sums the gradients of equal ids in order of occurrence, then updates each touched row once. */
static void row_case(int D, const char *name, const cr_optim_type *type, const void *conf,
                     double lr, bool prepare) {
    load();
    char key[64];
    snprintf(key, sizeof key, "row%d/w0", D);
    const golden_tensor *w0 = golden_get(&G, key);
    snprintf(key, sizeof key, "row%d/ids", D);
    const golden_tensor *ids = golden_get(&G, key);
    snprintf(key, sizeof key, "row%d/g", D);
    const golden_tensor *g = golden_get(&G, key);
    snprintf(key, sizeof key, "row%d/%s", D, name);
    const golden_tensor *want = golden_get(&G, key);
    int64_t V = w0->dims[0], B = ids->dims[1];
    int64_t stride = D * (1 + type->elem_state) + type->row_state + 1;
    const float guard = 12345.0F; /* one float past each record: no rule may touch it */
    float *table = calloc((size_t)(V * stride), sizeof *table), sum[64];
    for (int64_t r = 0; r < V; r++) {
        float *rec = table + r * stride;
        for (int64_t i = 0; i < D; i++) {
            rec[i] = (float)w0->v[r * D + i];
        }
        int64_t elems = D * type->elem_state;
        for (int64_t i = 0; i < elems + type->row_state; i++) {
            int k = (int)(i < elems ? i / D : type->elem_state + i - elems);
            rec[D + i] = type->state_init ? type->state_init(conf, k) : 0;
        }
        rec[stride - 1] = guard;
    }
    for (int64_t t = 0; t < ids->dims[0]; t++) {
        cr_optim_step s = {.lr = lr, .t = t + 1};
        if (prepare && type->prepare) type->prepare(conf, &s);
        for (int64_t r = 0; r < V; r++) {
            bool hit = false;
            memset(sum, 0, sizeof sum);
            for (int64_t b = 0; b < B; b++) {
                if ((int64_t)ids->v[t * B + b] != r) continue;
                hit = true;
                for (int64_t i = 0; i < D; i++) {
                    sum[i] += (float)g->v[(t * B + b) * D + i];
                }
            }
            if (hit || type->every_row)
                type->row(conf, &s, table + r * stride, table + r * stride + D, sum, D);
        }
    }
    for (int64_t r = 0; r < V; r++) {
        for (int64_t i = 0; i < D; i++) {
            CHECK_NEAR(table[r * stride + i], want->v[r * D + i], 1e-7, 2e-6);
        }
        CHECK(table[r * stride + stride - 1] == guard);
    }
    free(table);
}

TEST(rows) {
    for (int k = 0; k < 2; k++) {
        int D = k ? 20 : 5;
        row_case(D, "sgd", &cr_optim_row_sgd, CONF(row_sgd, ""), 0.1, true);
        row_case(D, "sgd", &cr_optim_sgd, CONF(row_sgd, ""), 0.1, true);
        row_case(D, "adagrad", &cr_optim_adagrad, CONF(row_adagrad, ""), 0.1, true);
        row_case(D, "adagrad_init", &cr_optim_adagrad,
                 CONF(row_adagrad, "initial_accumulator_value: 0.2"), 0.05, true);
        row_case(D, "rowwise", &cr_optim_rowwise_adagrad,
                 CONF(rowwise_adagrad, "weight_decay: 0.5"), 0.1, true);
        row_case(D, "rowwise_init", &cr_optim_rowwise_adagrad,
                 CONF(rowwise_adagrad, "initial_accumulator_value: 0.3"), 0.1, true);
        row_case(D, "rowwise_l2", &cr_optim_rowwise_adagrad,
                 CONF(rowwise_adagrad, "weight_decay: 0.03, weight_decay_mode: L2"), 0.1, true);
        row_case(D, "rowwise_decouple", &cr_optim_rowwise_adagrad,
                 CONF(rowwise_adagrad, "weight_decay: 0.03, weight_decay_mode: DECOUPLE"), 0.1,
                 true);
        for (int prepare = 0; prepare < 2; prepare++) {
            row_case(D, "adam", &cr_optim_adam, CONF(row_adam, "beta1: 0.9, beta2: 0.999"), 0.01,
                     prepare);
            row_case(D, "adam_wd", &cr_optim_adam,
                     CONF(row_adam, "beta1: 0.8, beta2: 0.95, weight_decay: 0.05"), 0.02, prepare);
            const struct {
                const char *name, *with_decay;
                const cr_optim_type *type;
            } like_adam[] = {{"adam_all", "adam_all_wd", &cr_optim_adam_all_rows},
                             {"partial_adam", "partial_adam_wd", &cr_optim_partial_adam},
                             {"lamb", "lamb_wd", &cr_optim_lamb},
                             {"partial_lamb", "partial_lamb_wd", &cr_optim_partial_lamb}};
            for (int i = 0; i < 4; i++) {
                row_case(D, like_adam[i].name, like_adam[i].type,
                         CONF(row_adam, "beta1: 0.9, beta2: 0.999"), 0.01, prepare);
                row_case(D, like_adam[i].with_decay, like_adam[i].type,
                         CONF(row_adam, "beta1: 0.8, beta2: 0.95, weight_decay: 0.05"), 0.02,
                         prepare);
            }
        }
        row_case(D, "lars", &cr_optim_lars, CONF(lars, "momentum: 0.9"), 10, true);
        row_case(D, "lars_wd", &cr_optim_lars, CONF(lars, "momentum: 0.5, weight_decay: 0.1"), 20,
                 true);
        row_case(D, "adadelta", &cr_optim_adadelta,
                 CONF(adadelta, "rho: 0.9, eps: 1e-5, weight_decay: 0.01"), 0.5, true);
        row_case(D, "rmsprop", &cr_optim_rmsprop,
                 CONF(rmsprop, "alpha: 0.95, eps: 1e-6, weight_decay: 0.01"), 0.01, true);
        const void *ftrl = CONF(ftrl, "learning_rate_power: -0.5, ftrl_beta: 0.7, l1_reg: 0.02, "
                                      "l2_reg: 0.1, keep_first_values: true");
        row_case(D, "ftrl", &cr_optim_ftrl, ftrl, 0.2, true);
        ftrl = CONF(ftrl, "ftrl_beta: 0, l1_reg: 0.02, l2_reg: 0.1, keep_first_values: false, "
                          "initial_accumulator_value: 0.1");
        row_case(D, "ftrl_zero", &cr_optim_ftrl, ftrl, 0.2, true);
        row_case(D, "ftrl_power", &cr_optim_ftrl,
                 CONF(ftrl, "learning_rate_power: -0.7, ftrl_beta: 0.5, keep_first_values: false"),
                 0.1, true);
    }
}

/* Any width and any place: the vector code gives the bits of the formula, one element at a time. */
TEST(vector_code_is_the_formula) {
    enum { MAX = 70 };
    cr_kern_init();
    const void *conf = CONF(row_adagrad, "");
    const void *adam = CONF(row_adam, "beta1: 0.9, beta2: 0.999, weight_decay: 0.01");
    cr_optim_step s = {.lr = 0.05, .t = 3};
    cr_optim_adam.prepare(adam, &s);
    for (int64_t D = 1; D < MAX; D++) {
        float rec[3 * MAX], one[3], g[MAX], ada[2 * MAX];
        for (int64_t i = 0; i < D; i++) {
            g[i] = sinf((float)(i * 7 + D));
            rec[i] = ada[i] = cosf((float)(i * 3 + D));
            rec[D + i] = 0.1F * g[i];
            rec[2 * D + i] = ada[D + i] = 0.01F * (float)i;
        }
        float before[3 * MAX], before_ada[2 * MAX];
        memcpy(before, rec, sizeof rec);
        memcpy(before_ada, ada, sizeof ada);
        cr_optim_adam.row(adam, &s, rec, rec + D, g, D);
        cr_optim_adagrad.row(conf, &s, ada, ada + D, g, D);
        for (int64_t i = 0; i < D; i++) {
            one[0] = before[i];
            one[1] = before[D + i];
            one[2] = before[2 * D + i];
            cr_optim_adam.row(adam, &s, one, one + 1, g + i, 1);
            CHECK(one[0] == rec[i] && one[1] == rec[D + i] && one[2] == rec[2 * D + i]);
            float m = before_ada[D + i] + g[i] * g[i];
            float w = before_ada[i] - 0.05F * g[i] / (sqrtf(m) + 1e-8F);
            CHECK(ada[D + i] == m && ada[i] == w);
        }
    }
}

/* Where a rule has both forms and they mean the same, they give the same bits. */
TEST(dense_rule_is_row_rule) {
    enum { D = 37 };
    const void *delta = CONF(adadelta, "rho: 0.9, eps: 1e-5, weight_decay: 0.01");
    const void *rms = CONF(rmsprop, "alpha: 0.9, eps: 1e-6");
    const void *ftrl = CONF(ftrl, "learning_rate_power: -0.5, ftrl_beta: 1, l1_reg: 0.01, l2_reg: "
                                  "0.1, keep_first_values: false");
    const void *ada = CONF(adagrad, "eps: 1e-8");
    const struct {
        const cr_optim_type *type;
        const void *conf;
    } both[] = {{&cr_optim_adadelta, delta},
                {&cr_optim_rmsprop, rms},
                {&cr_optim_ftrl, ftrl},
                {&cr_optim_adagrad, ada}};
    for (size_t k = 0; k < sizeof both / sizeof *both; k++) {
        float rec[3 * D] = {0}, w[D], s[2 * D] = {0}, *planes[2] = {s, s + D}, g[D];
        for (int i = 0; i < D; i++)
            rec[i] = w[i] = cosf((float)i);
        for (int64_t t = 1; t <= 10; t++) {
            for (int i = 0; i < D; i++)
                g[i] = sinf((float)(i * 7 + t * 3));
            cr_optim_step step = {.lr = 0.1, .t = t};
            both[k].type->dense(both[k].conf, &step, w, g, planes, D);
            both[k].type->row(both[k].conf, &step, rec, rec + D, g, D);
        }
        CHECK(memcmp(w, rec, sizeof w) == 0);
        CHECK(memcmp(s, rec + D, (size_t)both[k].type->elem_state * D * sizeof(float)) == 0);
    }
}

/* a row that is never seen again comes to rest, at normal numbers or zeros all the way */
TEST(all_rows_come_to_rest) {
    float rec[12] = {1, 1, 1, 1}, g[4] = {0.1F, -0.1F, 1e-20F, 3}, none[4] = {0};
    const void *c = CONF(row_adam, "beta1: 0.5, beta2: 0.6");
    for (int64_t t = 1; t < 400; t++) {
        cr_optim_step s = {.lr = 0.01, .t = t};
        cr_optim_adam_all_rows.row(c, &s, rec, rec + 4, t == 1 ? g : none, 4);
        for (int i = 4; i < 12; i++)
            CHECK(rec[i] == 0 || isnormal(rec[i]));
        CHECK(none[0] == 0 && none[3] == 0);
    }
    for (int i = 4; i < 12; i++)
        CHECK(rec[i] == 0);
    CHECK(rec[0] < 0.99F && rec[1] > 1.01F && isfinite(rec[2]));
}

/* rows and gradients of zeros: no NaN */
TEST(zeros_stay_finite) {
    const cr_optim_type *types[] = {&cr_optim_lars,         &cr_optim_lamb,
                                    &cr_optim_partial_lamb, &cr_optim_partial_adam,
                                    &cr_optim_adadelta,     &cr_optim_rmsprop,
                                    &cr_optim_ftrl,         &cr_optim_adam_all_rows};
    const void *like_adam = CONF(row_adam, "beta1: 0.9, beta2: 0.999");
    const void *lars = CONF(lars, "momentum: 0.9");
    const void *delta = CONF(adadelta, "rho: 0.9, eps: 1e-6");
    const void *rms = CONF(rmsprop, "alpha: 0.9, eps: 1e-8");
    const void *ftrl =
        CONF(ftrl, "learning_rate_power: -0.5, ftrl_beta: 0, keep_first_values: false");
    const void *confs[] = {lars, like_adam, like_adam, like_adam, delta, rms, ftrl, like_adam};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        for (int first = 0; first < 2; first++) {
            float rec[3 * 6 + 1] = {0}, g[6];
            for (int i = 0; i < 6; i++)
                rec[i] = first ? 0.5F : 0;
            for (int64_t t = 1; t < 5; t++) {
                memset(g, 0, sizeof g);
                g[2] = t == 3 ? 0.25F : 0;
                types[k]->row(confs[k], &(cr_optim_step){.lr = 0.1, .t = t}, rec, rec + 6, g, 6);
            }
            for (int i = 0; i < 19; i++)
                CHECK(isfinite(rec[i]));
        }
    }
}

TEST(norms) {
    load();
    const golden_tensor *g = golden_get(&G, "dense/g");
    float *v = golden_f32(g);
    const struct {
        const char *key;
        double p;
    } cases[] = {{"clip/norm_1", 1},
                 {"clip/norm_2", 2},
                 {"clip/norm_3", 3},
                 {"clip/norm_inf", INFINITY}};
    for (int i = 0; i < 4; i++) {
        double p = cases[i].p, sum = 0, joined = 0, part = 0;
        CHECK(cr_norm_add(&sum, v, 37, p));
        double norm = isinf(p) ? sum : pow(sum, 1 / p);
        CHECK_NEAR(norm, golden_get(&G, cases[i].key)->v[0], 1e-9, 1e-6);
        cr_norm_add(&joined, v, 20, p);
        cr_norm_add(&part, v + 20, 17, p);
        cr_norm_join(&joined, part, p);
        CHECK_NEAR(joined, sum, 0, 1e-14);
    }
    float bad[3] = {1, INFINITY, 0}, nan[3] = {1, NAN, 0}, huge[2] = {3e38F, 3e38F};
    double sum = 0;
    CHECK(!cr_norm_add(&sum, bad, 3, 2) && isinf(sum));
    sum = 5;
    CHECK(!cr_norm_add(&sum, nan, 3, INFINITY) && isnan(sum));
    cr_norm_join(&sum, 7, INFINITY);
    CHECK(isnan(sum));
    sum = 0;
    CHECK(cr_norm_add(&sum, huge, 2, 2) && isfinite(sum));
    free(v);
}

TEST(names_and_sizes) {
    const cr_optim_type *types[] = {&cr_optim_sgd,           &cr_optim_row_sgd,
                                    &cr_optim_adagrad,       &cr_optim_rowwise_adagrad,
                                    &cr_optim_adam,          &cr_optim_row_adam,
                                    &cr_optim_adam_all_rows, &cr_optim_partial_adam,
                                    &cr_optim_lamb,          &cr_optim_partial_lamb,
                                    &cr_optim_lars,          &cr_optim_adadelta,
                                    &cr_optim_rmsprop,       &cr_optim_ftrl};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (int k = 0; k < types[i]->elem_state + types[i]->row_state; k++) {
            CHECK(types[i]->state_names[k][0] != 0);
        }
        CHECK(types[i]->row != NULL);
    }
    CHECK(cr_optim_rowwise_adagrad.dense == NULL);
    CHECK_INT(cr_optim_row_sgd.elem_state + cr_optim_row_sgd.row_state, 0);
}

TEST(cleanup) {
    golden_clear(&G);
    CHECK(G.n == 0);
}

TEST_MAIN(CASE(dense_sgd), CASE(dense_adagrad), CASE(dense_adam), CASE(dense_adam_forms),
          CASE(dense_adadelta_rmsprop), CASE(dense_ftrl), CASE(dense_grda), CASE(rows),
          CASE(vector_code_is_the_formula), CASE(dense_rule_is_row_rule),
          CASE(all_rows_come_to_rest), CASE(zeros_stay_finite), CASE(norms), CASE(names_and_sizes),
          CASE(cleanup))
