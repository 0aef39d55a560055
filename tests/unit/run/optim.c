/*
 * optim.c - training with everything that keeps state between steps: accumulated gradients,
 * averages, a loss scale, rules by name, Adam over whole tables. The same bytes for any number of
 * threads and through a pause at any batch; one score everywhere from averaged parameters.
 */
#include "unit/run/run_test.h"

static cr_code train(const char *model, int threads, bool go_on, const char *const *set, int n_set,
                     cr_train_result *res) {
    cr_diag diag;
    cr_diag_init(&diag);
    const char *all[16] = {"train_config.num_epochs=0"};
    for (int i = 0; i < n_set; i++)
        all[i + 1] = set[i];
    cr_train_opts o = {.config = {.path = in_root("data/pipeline.yaml"),
                                  .model_dir = model,
                                  .set = all,
                                  .n_set = n_set + 1},
                       .threads = threads,
                       .continue_train = go_on};
    cr_code code = cr_train(&o, res, &diag);
    show(&diag);
    cr_diag_clear(&diag);
    return code;
}

static void same_checkpoints(const char *a, const char *b) {
    same_weights(a, b);
    same_files(a, b, "state.json");
}

#define STEPS 30 /* batches of 100 rows: 10 accumulations of 3 */
static const char *const hard[] = {
    "train_config.num_steps=30",
    "train_config.save_checkpoints_steps=1000",
    "data_config.batch_size=100",
    "train_config.gradient_accumulation_steps=3",
    "train_config.grad_clipping={clipping_type: norm, max_gradient: 0.05, enable_global_grad_clip: "
    "true}",
    "train_config.grad_scaler={init_scale: 1024, growth_interval: 3}",
    "train_config.sparse_optimizer={adam_optimizer: {lr: 0.01, mode: DENSE}, "
    "cosine_annealing_learning_rate: {T_max: 25}, part_optimizers: [{ftrl_optimizer: {lr: 0.1, l1: "
    "0.0001}, regex_pattern: '.*_wide.*'}, {partial_rowwise_lamb_optimizer: {lr: 0.01}, "
    "regex_pattern: '.*cat_1_emb.*'}]}",
    "train_config.dense_optimizer={adamw_optimizer: {lr: 0.002, amsgrad: true}, "
    "manual_step_learning_rate: {schedule_sizes: [10, 20], learning_rates: [0.001, 0.0005]}, "
    "part_optimizers: [{adadelta_optimizer: {lr: 0.5}, regex_pattern: '.*bias', "
    "cosine_annealing_warm_restarts_learning_rate: {T_0: 4, T_mult: 2}}], ema: {decay: 0.9}}"};
#define N_HARD (int)(sizeof(hard) / sizeof(hard[0]))

TEST(threads_do_not_matter) {
    cr_train_result r;
    char first[1088] = "";
    for (int threads = 1; threads <= 3; threads++) {
        char dir[600];
        snprintf(dir, sizeof(dir), "%s/m%d", root, threads);
        CHECK_INT(train(dir, threads, false, hard, N_HARD, &r), 0);
        CHECK_INT(r.steps, STEPS);
        if (threads == 1)
            snprintf(first, sizeof(first), "%s", r.checkpoint);
        else
            same_checkpoints(first, r.checkpoint);
        cr_arena_clear(&r.arena);
    }
    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, first, NULL), 0);
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    CHECK_INT(s->updates, STEPS);
    CHECK_INT(s->dense_updates, STEPS / 3);
    CHECK_INT(s->averages, STEPS / 3);
    CHECK_INT(s->accumulated, 0);
    CHECK(s->loss_scale == 1024 * 8); /* grew at dense steps 3, 6, 9 */
    CHECK_INT(s->scale_quiet, 1);
    int ema = 0, waiting = 0, top = 0, delta = 0;
    for (int i = 0; i < cr_ckpt_count(c); i++) {
        const char *name = cr_ckpt_at(c, i)->name;
        ema += strstr(name, ".ema") != NULL;
        waiting += strncmp(name, "state.", 6) == 0 && strstr(name, ".grad") != NULL;
        top += strstr(name, ".weight.max_exp_avg_sq") != NULL;
        delta += strstr(name, ".bias.acc_delta") != NULL;
    }
    CHECK(ema > 0 && waiting == ema && top > 0 && delta > 0 && top + delta == ema);
    CHECK(cr_ckpt_find(c, "state.model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags."
                          "cat_0_emb_wide.weight.z") != NULL);
    cr_ckpt_close(c);
}

/* a pause after any batch of an accumulation */
TEST(a_pause_does_not_matter) {
    cr_train_result r;
    char whole[1088];
    CHECK_INT(train(in_root("whole"), 2, false, hard, N_HARD, &r), 0);
    snprintf(whole, sizeof(whole), "%s", r.checkpoint);
    cr_arena_clear(&r.arena);
    const char *set[N_HARD];
    for (int i = 0; i < N_HARD; i++)
        set[i] = hard[i];
    static const char *const stops[] = {"train_config.num_steps=1", "train_config.num_steps=11",
                                        "train_config.num_steps=15"};
    for (int k = 0; k < 3; k++) {
        char dir[600];
        snprintf(dir, sizeof(dir), "%s/parts%d", root, k);
        set[0] = stops[k];
        CHECK_INT(train(dir, 2, false, set, N_HARD, &r), 0);
        cr_arena_clear(&r.arena);
        CHECK_INT(train(dir, 1, true, hard, N_HARD, &r), 0);
        same_checkpoints(whole, r.checkpoint);
        cr_arena_clear(&r.arena);
    }
}

static double result_of(const cr_eval_result *r, const char *name) {
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->v[i].name, name) == 0) return r->v[i].value;
    return NAN;
}

static cr_code evaluate(const char *const *set, int n_set, cr_eval_result *ev, cr_arena *names) {
    cr_diag diag;
    cr_diag_init(&diag);
    char ckpt[1088];
    cr_eval_opts eo = {.config = {.path = in_root("whole/pipeline.config"),
                                  .set = set,
                                  .n_set = n_set},
                       .threads = 1};
    cr_code code = cr_eval(&eo, ev, names, ckpt, &diag);
    show(&diag);
    cr_diag_clear(&diag);
    return code;
}

static void predict(const char *from, const char *out, const char *const *set, int n_set) {
    cr_diag diag;
    cr_diag_init(&diag);
    cr_predict_result pr;
    cr_predict_opts po = {.scripted_model_path = from,
                          .predict_input_path = in_root("data/eval/*.csv"),
                          .predict_output_path = out,
                          .output_columns = "logits",
                          .threads = 2};
    if (!from) po.config.path = in_root("whole/pipeline.config");
    po.config.set = set;
    po.config.n_set = n_set;
    CHECK_INT(cr_predict(&po, &pr, &diag), 0);
    CHECK_INT(pr.rows, 500);
    show(&diag);
    cr_diag_clear(&diag);
}

static bool equal_files(const char *a, const char *b) {
    cr_buf x, y;
    cr_buf_init(&x);
    cr_buf_init(&y);
    CHECK_INT(cr_file_read(a, 0, &x, NULL), 0);
    CHECK_INT(cr_file_read(b, 0, &y, NULL), 0);
    bool same = x.n > 0 && x.n == y.n && memcmp(x.data, y.data, x.n) == 0;
    cr_buf_clear(&x);
    cr_buf_clear(&y);
    return same;
}

/* the averaged parameters are evaluated, exported and predicted with, unless the config says no */
TEST(averages_are_used) {
    cr_train_result r;
    cr_eval_result on, off;
    cr_arena names;
    cr_arena_init(&names, 0);
    CHECK_INT(train(in_root("whole"), 2, true, hard, N_HARD, &r), 0); /* nothing left: evaluates */
    CHECK(r.has_eval);
    static const char *const no[] = {"eval_config.use_dense_ema=false",
                                     "export_config.use_dense_ema=false"};
    CHECK_INT(evaluate(NULL, 0, &on, &names), 0);
    CHECK_INT(evaluate(no, 2, &off, &names), 0);
    double a = result_of(&on, "binary_cross_entropy"), b = result_of(&off, "binary_cross_entropy");
    CHECK(a == result_of(&r.eval, "binary_cross_entropy"));
    CHECK(isfinite(a) && isfinite(b) && a != b);
    CHECK_NEAR(a, b, 0, 0.2);
    cr_diag diag;
    cr_diag_init(&diag);
    char ckpt[1088];
    cr_export_opts xo = {.config = {.path = in_root("whole/pipeline.config")},
                         .export_dir = in_root("export"),
                         .threads = 1};
    CHECK_INT(cr_export(&xo, ckpt, &diag), 0);
    xo.config.set = no;
    xo.config.n_set = 2;
    xo.export_dir = in_root("export_off");
    CHECK_INT(cr_export(&xo, ckpt, &diag), 0);
    show(&diag);
    cr_diag_clear(&diag);
    predict(in_root("export"), in_root("p_export"), NULL, 0);
    predict(NULL, in_root("p_ckpt"), NULL, 0);
    predict(in_root("export_off"), in_root("p_export_off"), NULL, 0);
    predict(NULL, in_root("p_ckpt_off"), no, 2);
    CHECK(equal_files(in_root("p_export/part-0.csv"), in_root("p_ckpt/part-0.csv")));
    CHECK(equal_files(in_root("p_export_off/part-0.csv"), in_root("p_ckpt_off/part-0.csv")));
    CHECK(!equal_files(in_root("p_export/part-0.csv"), in_root("p_export_off/part-0.csv")));
    cr_arena_clear(&names);
    cr_arena_clear(&r.arena);
}

/* a checkpoint without averages: told where it is only implied, refused where it is asked for */
TEST(averages_that_are_not_there) {
    cr_train_result r;
    static const char *const set[] = {"train_config.num_steps=4", "data_config.batch_size=100"};
    CHECK_INT(train(in_root("plain"), 1, false, set, 2, &r), 0);
    cr_arena_clear(&r.arena);
    static const char *const asks[] = {"eval_config.use_dense_ema=true"};
    static const char *const implies[] = {"train_config.dense_optimizer.ema={decay: 0.9}"};
    for (int k = 0; k < 2; k++) {
        cr_diag diag;
        cr_diag_init(&diag);
        cr_arena names;
        cr_arena_init(&names, 0);
        char ckpt[1088];
        cr_eval_result ev;
        cr_eval_opts eo = {.config = {.path = in_root("plain/pipeline.config"),
                                      .set = k ? implies : asks,
                                      .n_set = 1},
                           .threads = 1};
        CHECK_INT(cr_eval(&eo, &ev, &names, ckpt, &diag), k ? CR_OK : CR_ERUN);
        bool told = false;
        for (size_t i = 0; i < diag.n; i++)
            told |= strstr(diag.v[i].msg, "holds no averaged parameters") != NULL;
        CHECK(told);
        cr_arena_clear(&names);
        cr_diag_clear(&diag);
    }
}

/* a scale at which gradients overflow: steps are left out until it is low enough, then training
 * goes on as with the lower scale from the start (counters apart) */
TEST(overflow_is_left_out) {
    cr_train_result r;
    static const char *const base[] = {
        "train_config.num_steps=25", "data_config.batch_size=100",
        "train_config.sparse_optimizer={sgd_optimizer: {lr: 0.1}, constant_learning_rate: {}}",
        "train_config.grad_scaler={init_scale: 1e45, backoff_factor: 0.0001}"};
    CHECK_INT(train(in_root("overflow"), 2, false, base, 4, &r), 0);
    cr_ckpt *c;
    CHECK_INT(cr_ckpt_open(&c, r.checkpoint, NULL), 0);
    const cr_ckpt_state *s = cr_ckpt_get_state(c);
    CHECK_NEAR(s->loss_scale, 1e37, 0, 1e-9); /* 1e45 and 1e41 are too much for a float */
    CHECK_INT(s->updates, 23);
    CHECK_INT(s->dense_updates, s->updates);
    CHECK_INT(s->sched_steps, 25);
    cr_ckpt_close(c);
    CHECK(isfinite(result_of(&r.eval, "binary_cross_entropy")));
    cr_arena_clear(&r.arena);
    /* a loss that is broken at any scale ends the run with the usual line */
    static const char *const broken[] = {
        "train_config.num_steps=25", "data_config.batch_size=100",
        "train_config.sparse_optimizer={sgd_optimizer: {lr: 1e38}, constant_learning_rate: {}}",
        "train_config.grad_scaler={backoff_factor: 0.0001}"};
    CHECK_INT(train(in_root("broken"), 2, false, broken, 4, &r), CR_ERUN);
    cr_arena_clear(&r.arena);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(threads_do_not_matter), CASE(a_pause_does_not_matter),
                                   CASE(averages_are_used), CASE(averages_that_are_not_there),
                                   CASE(overflow_is_left_out)};
    if (!root_open("optim")) return 1;
    make_synth("criteo", in_root("data"), 3000, 500, 3, 0.0002);
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    return root_close(rc);
}
