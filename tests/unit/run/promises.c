/*
 * promises.c - what crank promises of every run: the same bytes for any number of threads, the same
 * bytes through a pause, no allocation in a step, the same scores from train-time evaluation, eval
 * and predict, and each model comes near the best score that its data allows.
 */
#include "base/json.h"
#include "unit/run/run_test.h"
#include <sys/stat.h>

static cr_code train(const char *data, const char *model, int threads, bool go_on,
                     const char *const *set, int n_set, cr_train_result *res) {
    char config[600];
    snprintf(config, sizeof(config), "%s/pipeline.yaml", data);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_train_opts o = {.config = {.path = config, .model_dir = model, .set = set, .n_set = n_set},
                       .threads = threads,
                       .continue_train = go_on};
    cr_code code = cr_train(&o, res, &diag);
    show(&diag);
    cr_diag_clear(&diag);
    return code;
}

/* dropouts, batch norm, shuffle, two epochs: everything that draws or sums */
static const char *const hard[] = {
    "train_config.num_epochs=2",
    "train_config.save_checkpoints_steps=17",
    "data_config.batch_size=250",
    "data_config.shuffle=true",
    "data_config.shuffle_buffer_size=4",
    "model_config.variational_dropout={regularization_lambda: 0.1}",
    "model_config.deepfm.deep.use_bn=true",
    "model_config.deepfm.deep.dropout_ratio=[0.2]",
    "model_config.deepfm.deep.hidden_units=[64,32]",
    ("train_config.dense_optimizer={adam_optimizer: {lr: 0.001}, exponential_decay_learning_rate: "
     "{decay_size: 7, decay_factor: 0.9}}")};
#define N_HARD (int)(sizeof(hard) / sizeof(hard[0]))

TEST(threads_do_not_matter) {
    cr_train_result r;
    char first[1088] = "";
    make_synth("criteo", in_root("a"), 6000, 1000, 3, 0.0002);
    for (int threads = 1; threads <= 3; threads++) {
        char dir[600];
        snprintf(dir, sizeof(dir), "%s/m%d", root, threads);
        CHECK_INT(train(in_root("a"), dir, threads, false, hard, N_HARD, &r), 0);
        CHECK_INT(r.steps, 48);
        if (threads == 1)
            snprintf(first, sizeof(first), "%s", r.checkpoint);
        else
            same_weights(first, r.checkpoint);
        cr_arena_clear(&r.arena);
    }
}

TEST(a_pause_does_not_matter) {
    cr_train_result r;
    const char *set[N_HARD + 1];
    for (int i = 0; i < N_HARD; i++)
        set[i] = hard[i];
    char whole[1088];
    CHECK_INT(train(in_root("a"), in_root("whole"), 2, false, hard, N_HARD, &r), 0);
    snprintf(whole, sizeof(whole), "%s", r.checkpoint);
    cr_arena_clear(&r.arena);
    /* stop at step 30, inside the second epoch, by num_steps; then go on by epochs */
    set[0] = "train_config.num_steps=31";
    set[N_HARD] = "train_config.num_epochs=0";
    CHECK_INT(train(in_root("a"), in_root("parts"), 2, false, set, N_HARD + 1, &r), 0);
    CHECK_INT(r.steps, 31);
    cr_arena_clear(&r.arena);
    CHECK_INT(train(in_root("a"), in_root("parts"), 1, true, hard, N_HARD, &r), 0);
    CHECK_INT(r.steps, 17);
    same_weights(whole, r.checkpoint);
    cr_arena_clear(&r.arena);
}

TEST(a_step_allocates_nothing) {
    char config[600];
    snprintf(config, sizeof(config), "%s/a/pipeline.yaml", root);
    cr_diag diag;
    cr_diag_init(&diag);
    const char *set[] = {"data_config.batch_size=250", "data_config.shuffle=true",
                         "data_config.shuffle_buffer_size=4"};
    cr_config_opts co = {.path = config, .model_dir = "unused", .set = set, .n_set = 3};
    cr_job j;
    cr_job_opts jo = {.config = &co, .threads = 2, .train = true, .with_labels = true};
    CHECK_INT(cr_job_open(&j, &jo, &diag), 0);
    show(&diag);
    cr_trainer *t = NULL;
    cr_loader *l = NULL;
    CHECK_INT(cr_job_alloc(&j, NULL), 0);
    CHECK_INT(cr_trainer_new(&t, &j, NULL), 0);
    cr_model_fill(j.model, 1, j.pool);
    cr_job_data d = {.paths = j.root->train_input_path,
                     .batch_size = 250,
                     .n_epochs = 1,
                     .shuffle = true};
    CHECK_INT(cr_job_loader(&j, &d, &l, &diag), 0);
    /* the last batches are held; behind them the readers have nothing to do */
    enum { HELD = CR_LOADER_AHEAD - 3 };
    cr_batch *held[HELD] = {0}, *next;
    int64_t n_batches = 0;
    for (bool done = false; !done;) {
        CHECK_INT(cr_loader_next(l, &next, &done, NULL), 0);
        if (!next) continue;
        cr_batch **place = &held[n_batches++ % HELD];
        if (*place) cr_loader_release(l, *place);
        *place = next;
    }
    CHECK(n_batches > HELD);
    /* no memory for a batch's ids is an error of the step, which leaves all as it was */
    cr_err err;
    cr_alloc_fail_after(1);
    CHECK_INT(cr_trainer_step(t, held[0], 0, &err), CR_ENOMEM);
    cr_alloc_fail_after(0);
    CHECK(strstr(err.msg, "grouping of ids") != NULL);
    uint64_t before = cr_alloc_count();
    int64_t steps = 0;
    for (; steps < 8; steps++)
        CHECK_INT(cr_trainer_step(t, held[steps % HELD], steps, NULL), 0);
    before = cr_alloc_count(); /* the groups of ids have their size by now */
    for (; steps < 60; steps++)
        CHECK_INT(cr_trainer_step(t, held[steps % HELD], steps, NULL), 0);
    CHECK_INT(cr_alloc_count() - before, 0);
    for (int i = 0; i < HELD; i++)
        cr_loader_release(l, held[i]);
    cr_loader_free(l);
    cr_trainer_free(t);
    cr_job_close(&j);
    cr_diag_clear(&diag);
}

static double result_of(const cr_eval_result *r, const char *name) {
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->v[i].name, name) == 0) return r->v[i].value;
    return NAN;
}

TEST(one_score_everywhere) {
    cr_train_result r;
    cr_diag diag;
    cr_diag_init(&diag);
    char config[600], line[256];
    snprintf(config, sizeof(config), "%s/a/pipeline.yaml", root);
    CHECK_INT(train(in_root("a"), in_root("score"), 2, false, hard, N_HARD, &r), 0);
    cr_eval_opts eo = {.config = {.path = in_root("score/pipeline.config")}, .threads = 1};
    cr_eval_result ev;
    cr_arena names;
    cr_arena_init(&names, 0);
    char ckpt[1088];
    CHECK_INT(cr_eval(&eo, &ev, &names, ckpt, &diag), 0);
    CHECK_STR(ckpt, r.checkpoint);
    CHECK(ev.n >= 2 && ev.n == r.eval.n);
    for (int i = 0; i < ev.n; i++)
        CHECK(ev.v[i].value == r.eval.v[i].value); /* to the bit */
    cr_export_opts xo = {.config = {.path = in_root("score/pipeline.config")},
                         .export_dir = in_root("export"),
                         .threads = 2};
    CHECK_INT(cr_export(&xo, ckpt, &diag), 0);
    cr_predict_result pr;
    const char *outs[2] = {in_root("from_export"), in_root("from_ckpt")};
    cr_predict_opts po = {.scripted_model_path = in_root("export"),
                          .predict_input_path = in_root("a/eval/*.csv"),
                          .predict_output_path = outs[0],
                          .reserved_columns = "label",
                          .threads = 2,
                          .batch_size = 77};
    CHECK_INT(cr_predict(&po, &pr, &diag), 0);
    CHECK_INT(pr.rows, 1000);
    po.scripted_model_path = NULL;
    po.config.path = in_root("score/pipeline.config");
    po.predict_output_path = outs[1];
    po.batch_size = 1000;
    po.threads = 1;
    CHECK_INT(cr_predict(&po, &pr, &diag), 0);
    show(&diag);
    cr_buf x, y;
    cr_buf_init(&x);
    cr_buf_init(&y);
    CHECK_INT(cr_file_read(in_root("from_export/part-0.csv"), 0, &x, NULL), 0);
    CHECK_INT(cr_file_read(in_root("from_ckpt/part-0.csv"), 0, &y, NULL), 0);
    CHECK(x.n > 0 && x.n == y.n && memcmp(x.data, y.data, x.n) == 0);
    /* the loss from the predicted logits is the evaluated loss */
    FILE *f = fmemopen(x.data, x.n, "r");
    double sum = 0;
    int64_t rows = 0;
    CHECK(f && fgets(line, sizeof(line), f));
    CHECK_STR(line, "label,logits,probs\n");
    while (f && fgets(line, sizeof(line), f)) {
        double label, z;
        CHECK_INT(sscanf(line, "%lf,%lf", &label, &z), 2);
        sum += log1p(exp(-fabs(z))) + (z > 0 ? z : 0) - label * z;
        rows++;
    }
    if (f) fclose(f);
    CHECK_INT(rows, 1000);
    CHECK_NEAR(sum / 1000, result_of(&ev, "binary_cross_entropy"), 1e-7, 1e-6);
    cr_buf_clear(&x);
    cr_buf_clear(&y);
    cr_arena_clear(&names);
    cr_arena_clear(&r.arena);
    cr_diag_clear(&diag);
}

#define TEACHER_ROWS 300000

TEST(near_the_teacher) {
    make_synth("criteo", in_root("t"), TEACHER_ROWS, 50000, 3, 0.0005);
    double best = teacher_auc(in_root("t"));
    CHECK(best > 0.7 && best < 0.95);
    /* the same data for every model: groups and towers are given as a whole */
#define IDS                                                                                        \
    "cat_0,cat_1,cat_2,cat_3,cat_4,cat_5,cat_6,cat_7,cat_8,cat_9,cat_10,cat_11,cat_12,cat_13,cat_" \
    "14,cat_15,cat_16,cat_17,cat_18,cat_19,cat_20,cat_21,cat_22,cat_23,cat_24,cat_25"
#define NUMBERS "int_0,int_1,int_2,int_3,int_4,int_5,int_6,int_7,int_8,int_9,int_10,int_11,int_12"
    static const char *const models[][2] = {
        {"deepfm",
         "model_config={feature_groups: [{group_name: wide, group_type: WIDE, feature_names: [" IDS
         "]}, {group_name: deep, feature_names: [" NUMBERS "," IDS
         "]}, {group_name: fm, feature_names: [" IDS
         "]}], deepfm: {deep: {hidden_units: [64,32]}, final: {hidden_units: [16]}}, losses: "
         "[{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
        {"wide_and_deep",
         "model_config={feature_groups: [{group_name: wide, group_type: WIDE, feature_names: [" IDS
         "]}, {group_name: deep, feature_names: [" NUMBERS "," IDS
         "]}], wide_and_deep: {deep: {hidden_units: [64,32]}}, losses: [{binary_cross_entropy: "
         "{}}], metrics: [{auc: {}}]}"},
        {"multi_tower", "model_config={feature_groups: [{group_name: ids, feature_names: [" IDS
                        "]}, {group_name: numbers, feature_names: [" NUMBERS
                        "]}], multi_tower: {towers: [{input: ids, mlp: {hidden_units: [64,32]}}, "
                        "{input: numbers, mlp: {hidden_units: [32]}}], final: {hidden_units: "
                        "[16]}}, losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
        {"dlrm", "model_config={feature_groups: [{group_name: dense, feature_names: [" NUMBERS
                 "]}, {group_name: sparse, feature_names: [" IDS
                 "]}], dlrm: {dense_mlp: {hidden_units: [32,16]}, final: {hidden_units: [64,32]}}, "
                 "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}]}"},
    };
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        cr_train_result r;
        const char *set[] = {models[i][1], "data_config.batch_size=1024",
                             "train_config.num_epochs=1"};
        CHECK_INT(train(in_root("t"), in_root(models[i][0]), 2, false, set, 3, &r), 0);
        double auc = result_of(&r.eval, "auc");
        fprintf(stderr, "%s: AUC %.4f after %lld rows, the teacher's is %.4f\n", models[i][0], auc,
                (long long)r.rows, best);
        CHECK(auc > best - 0.01);
        CHECK(auc < best + 0.005);
        cr_arena_clear(&r.arena);
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(threads_do_not_matter), CASE(a_pause_does_not_matter),
                                   CASE(a_step_allocates_nothing), CASE(one_score_everywhere),
                                   CASE(near_the_teacher)};
    if (!root_open("promises")) return 1;
    if (argc > 1)
        make_synth("criteo", in_root("a"), 6000, 1000, 3,
                   0.0002); /* a single case still has its data */
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return root_close(rc);
}
