/*
 * rules.c - every update rule against golden steps (torch, FBGEMM's formulas), the vector code
 * against a plain loop bit for bit, and the dense form against the row form.
 */
#include "golden/golden.h"
#include "harness.h"

#include "optim/config.h"

extern const cr_optim_type cr_optim_sgd, cr_optim_row_sgd, cr_optim_adagrad,
    cr_optim_rowwise_adagrad, cr_optim_adam;

static golden G;
static void load(void) {
    if (!G.n) golden_load(&G, "optim.txt");
}

static void dense_case(const char *name, const cr_optim_type *type, const void *conf, double lr) {
    load();
    char key[64];
    snprintf(key, sizeof key, "dense/%s", name);
    const golden_tensor *want = golden_get(&G, key), *g = golden_get(&G, "dense/g");
    int64_t n = g->dims[1];
    float *w = golden_f32(golden_get(&G, "dense/w0")), *grads = golden_f32(g);
    float *planes = calloc((size_t)(2 * n), sizeof *planes);
    float *state[2] = {planes, planes + n};
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
    dense_case("sgd_plain", &cr_optim_sgd, &(cr_dense_sgd_conf){.weight_decay = 0.01}, 0.1);
    dense_case("sgd", &cr_optim_sgd, &(cr_dense_sgd_conf){.momentum = 0.9}, 0.1);
    dense_case("sgd_damp", &cr_optim_sgd,
               &(cr_dense_sgd_conf){.momentum = 0.8, .dampening = 0.3, .weight_decay = 0.02}, 0.1);
    dense_case("sgd_nesterov", &cr_optim_sgd,
               &(cr_dense_sgd_conf){.momentum = 0.9, .nesterov = true}, 0.05);
}

TEST(dense_adagrad) {
    dense_case("adagrad", &cr_optim_adagrad, &(cr_dense_adagrad_conf){.eps = 1e-10}, 0.1);
    dense_case("adagrad_init", &cr_optim_adagrad,
               &(cr_dense_adagrad_conf){.eps = 1e-6,
                                        .initial_accumulator_value = 0.1,
                                        .weight_decay = 0.01},
               0.1);
}

TEST(dense_adam) {
    dense_case("adam", &cr_optim_adam,
               &(cr_dense_adam_conf){.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8}, 0.01);
    dense_case(
        "adam_wd", &cr_optim_adam,
        &(cr_dense_adam_conf){.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.05},
        0.02);
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
        for (int64_t i = 0; i < D * type->elem_state + type->row_state; i++) {
            rec[D + i] = type->state_init ? type->state_init(conf, 0) : 0;
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
            if (hit) type->row(conf, &s, table + r * stride, sum, D);
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
        row_case(D, "sgd", &cr_optim_row_sgd, &(cr_sparse_sgd_conf){0}, 0.1, true);
        row_case(D, "sgd", &cr_optim_sgd, &(cr_sparse_sgd_conf){0}, 0.1, true);
        row_case(D, "adagrad", &cr_optim_adagrad, &(cr_sparse_adagrad_conf){0}, 0.1, true);
        row_case(D, "adagrad_init", &cr_optim_adagrad,
                 &(cr_sparse_adagrad_conf){.initial_accumulator_value = 0.2}, 0.05, true);
        row_case(D, "rowwise", &cr_optim_rowwise_adagrad,
                 &(cr_rowwise_adagrad_conf){.weight_decay = 0.5}, 0.1, true);
        row_case(D, "rowwise_l2", &cr_optim_rowwise_adagrad,
                 &(cr_rowwise_adagrad_conf){.weight_decay = 0.03, .weight_decay_mode = CR_WD_L2},
                 0.1, true);
        row_case(D, "rowwise_decouple", &cr_optim_rowwise_adagrad,
                 &(cr_rowwise_adagrad_conf){.weight_decay = 0.03,
                                            .weight_decay_mode = CR_WD_DECOUPLE},
                 0.1, true);
        for (int prepare = 0; prepare < 2; prepare++) {
            row_case(D, "adam", &cr_optim_adam,
                     &(cr_sparse_adam_conf){.beta1 = 0.9, .beta2 = 0.999}, 0.01, prepare);
            row_case(D, "adam_wd", &cr_optim_adam,
                     &(cr_sparse_adam_conf){.beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.05},
                     0.02, prepare);
        }
    }
}

/* Any width and any place: the vector code gives the bits of the formula, one element at a time. */
TEST(vector_code_is_the_formula) {
    enum { MAX = 70 };
    cr_sparse_adagrad_conf conf = {0};
    cr_sparse_adam_conf adam = {.beta1 = 0.9, .beta2 = 0.999, .weight_decay = 0.01};
    cr_optim_step s = {.lr = 0.05, .t = 3};
    cr_optim_adam.prepare(&adam, &s);
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
        cr_optim_adam.row(&adam, &s, rec, g, D);
        cr_optim_adagrad.row(&conf, &s, ada, g, D);
        for (int64_t i = 0; i < D; i++) {
            one[0] = before[i];
            one[1] = before[D + i];
            one[2] = before[2 * D + i];
            cr_optim_adam.row(&adam, &s, one, g + i, 1);
            CHECK(one[0] == rec[i] && one[1] == rec[D + i] && one[2] == rec[2 * D + i]);
            float m = before_ada[D + i] + g[i] * g[i];
            float w = before_ada[i] - 0.05F * g[i] / (sqrtf(m) + 1e-8F);
            CHECK(ada[D + i] == m && ada[i] == w);
        }
    }
}

TEST(names_and_sizes) {
    const cr_optim_type *types[] = {&cr_optim_sgd, &cr_optim_row_sgd, &cr_optim_adagrad,
                                    &cr_optim_rowwise_adagrad, &cr_optim_adam};
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

TEST_MAIN(CASE(dense_sgd), CASE(dense_adagrad), CASE(dense_adam), CASE(rows),
          CASE(vector_code_is_the_formula), CASE(names_and_sizes), CASE(cleanup))
