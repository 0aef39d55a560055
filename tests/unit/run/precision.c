/*
 * precision.c - 16-bit floats in training: mixed precision and 16-bit tables end within 1 % of the
 * loss of FP32, take the memory they should, keep every promise (threads, pauses), and survive
 * checkpoint and export.
 */
#include "unit/run/run_test.h"

static cr_code train(const char *model, int threads, bool go_on, const char *const *set, int n_set,
                     cr_train_result *res) {
    cr_diag diag;
    cr_diag_init(&diag);
    cr_train_opts o = {.config = {.path = in_root("d/pipeline.yaml"),
                                  .model_dir = model,
                                  .set = set,
                                  .n_set = n_set},
                       .threads = threads,
                       .continue_train = go_on};
    cr_code code = cr_train(&o, res, &diag);
    show(&diag);
    cr_diag_clear(&diag);
    return code;
}

static double loss_of(const cr_train_result *r) {
    for (int i = 0; i < r->eval.n; i++)
        if (strcmp(r->eval.v[i].name, "binary_cross_entropy") == 0) return r->eval.v[i].value;
    return NAN;
}

static int64_t size_of(const char *dir) {
    char path[1200];
    int64_t n = 0;
    snprintf(path, sizeof(path), "%s/model-00001-of-00001.safetensors", dir);
    CHECK_INT(cr_file_size(path, &n, NULL), 0);
    return n;
}

#define SMALL "model_config.deepfm.deep.hidden_units=[64,32]"
/* every id feature: the raw ones come first */
#define TABLES(t) "{\"feature_configs[13:].id_feature.data_type\": \"" t "\"}"

TEST(near_fp32) {
    cr_train_result r;
    const char *set[] = {SMALL, ""};
    CHECK_INT(train(in_root("fp32"), 2, false, set, 1, &r), 0);
    double want = loss_of(&r);
    cr_arena_clear(&r.arena);
    static const struct {
        const char *mode, *dir;
        double off; /* share of the loss */
    } modes[] = {{"train_config.mixed_precision=BF16", "bf16", 0.01},
                 {"train_config.mixed_precision=FP16", "fp16", 0.01},
                 /* rates that are larger by a millionth show how far a small change leads here */
                 {"train_config.dense_optimizer.adam_optimizer.lr=0.001000001", "dense", 1e-3},
                 {"train_config.sparse_optimizer.adagrad_optimizer.lr=0.02000002", "rows", 1e-3},
                 {"train_config.fp32_matmul=BF16x3", "x3", 1e-4},
                 {"train_config.cuda_matmul_allow_tf32=true", "tf32", 1e-4},
                 {"train_config.fp32_matmul=BF16x6", "x6", 3e-6}};
    double last = 0, small = 0;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        set[1] = modes[i].mode;
        CHECK_INT(train(in_root(modes[i].dir), 2, false, set, 2, &r), 0);
        fprintf(stderr, "%s: loss %.6f, FP32 %.6f\n", modes[i].mode, loss_of(&r), want);
        double off = fabs(loss_of(&r) - want) / want;
        bool rate = strstr(modes[i].mode, "optimizer") != NULL;
        if (rate && off > small) small = off;
        CHECK(off <= modes[i].off || (!rate && off <= 2 * small));
        CHECK(loss_of(&r) != want);
        if (strcmp(modes[i].dir, "tf32") == 0) CHECK(loss_of(&r) == last); /* BF16x3 */
        last = loss_of(&r);
        cr_arena_clear(&r.arena);
    }
}

static cr_code train_tables(const char *model, const char *edit, int threads,
                            const char *const *set, int n_set, bool go_on, cr_train_result *res) {
    cr_diag diag;
    cr_diag_init(&diag);
    cr_train_opts o = {.config = {.path = in_root("d/pipeline.yaml"),
                                  .model_dir = model,
                                  .set = set,
                                  .n_set = n_set,
                                  .edit_config_json = edit},
                       .threads = threads,
                       .continue_train = go_on};
    cr_code code = cr_train(&o, res, &diag);
    show(&diag);
    cr_diag_clear(&diag);
    return code;
}

TEST(half_tables) {
    cr_train_result r, r16;
    const char *set[] = {SMALL};
    CHECK_INT(train(in_root("full"), 2, false, set, 1, &r), 0);
    const char *const edits[] = {TABLES("BF16"), TABLES("FP16")};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(train_tables(in_root(i ? "t16" : "tb16"), edits[i], 2, set, 1, false, &r16), 0);
        fprintf(stderr, "%s tables: loss %.6f, FP32 %.6f\n", i ? "FP16" : "BF16", loss_of(&r16),
                loss_of(&r));
        CHECK_NEAR(loss_of(&r16), loss_of(&r), 0, 0.01);
        /* the tables are most of this model */
        int64_t full = size_of(r.checkpoint), half = size_of(r16.checkpoint);
        CHECK((double)half < 0.6 * (double)full);
        cr_arena_clear(&r16.arena);
    }
    cr_arena_clear(&r.arena);
}

TEST(half_tables_keep_the_promises) {
    cr_train_result r;
    char first[1088] = "";
    const char *set[] = {SMALL, "train_config.num_epochs=0", "train_config.num_steps=40",
                         "train_config.save_checkpoints_epochs=0",
                         "train_config.save_checkpoints_steps=10"};
    for (int threads = 1; threads <= 3; threads++) {
        char dir[300];
        snprintf(dir, sizeof(dir), "%s/p%d", root, threads);
        CHECK_INT(train_tables(dir, TABLES("BF16"), threads, set, 5, false, &r), 0);
        if (threads == 1)
            snprintf(first, sizeof(first), "%s", r.checkpoint);
        else
            same_weights(first, r.checkpoint);
        cr_arena_clear(&r.arena);
    }
    set[2] = "train_config.num_steps=17";
    CHECK_INT(train_tables(in_root("pause"), TABLES("BF16"), 2, set, 5, false, &r), 0);
    cr_arena_clear(&r.arena);
    set[2] = "train_config.num_steps=40";
    CHECK_INT(train_tables(in_root("pause"), TABLES("BF16"), 1, set, 5, true, &r), 0);
    same_weights(first, r.checkpoint);
    cr_arena_clear(&r.arena);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(near_fp32), CASE(half_tables),
                                   CASE(half_tables_keep_the_promises)};
    if (!root_open("precision")) return 1;
    t_name = "data";
    make_synth("criteo", in_root("d"), 60000, 10000, 5, 0.001);
    if (t_failed_checks) return root_close(1);
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return root_close(rc);
}
