/*
 * far.c - whole runs on a store in memory that is slow, gives short reads and fails on purpose:
 * data, config, checkpoints, exports, predictions and logs. Everything must come out as on a disk,
 * byte for byte, and the requests must be few and many at once.
 */
#include "mem_store.h"
#include "unit/run/run_test.h"

#define FAR "mem://b/"

static void copy_dir(const char *from, const char *to) {
    cr_arena a;
    cr_arena_init(&a, 0);
    char **names;
    size_t n;
    CHECK_INT(cr_list_dir(&a, from, &names, &n, NULL), CR_OK);
    for (size_t i = 0; i < n; i++) {
        const char *x = cr_path_join(&a, from, names[i]), *y = cr_path_join(&a, to, names[i]);
        if (cr_path_is_dir(x))
            copy_dir(x, y);
        else
            CHECK_INT(cr_file_copy(x, y, NULL), CR_OK);
    }
    cr_arena_clear(&a);
}

/* the data of a folder on the disk, in the store too */
static void make_data(const char *name, const char *format, int64_t rows) {
    cr_pool *pool;
    cr_err err;
    CHECK_INT(cr_pool_new(&pool, 2, NULL), 0);
    cr_synth_opts o = {.kind = "criteo",
                       .rows = rows,
                       .eval_rows = 1000,
                       .seed = 3,
                       .scale = 0.0002,
                       .format = format,
                       .dir = in_root(name)};
    CHECK_INT(cr_synth(&o, pool, &err), 0);
    cr_pool_free(pool);
    char far[100];
    snprintf(far, sizeof far, FAR "%s", name);
    copy_dir(in_root(name), far);
}

/* how the store behaves from now on */
static void weather(int delay_us, size_t most, int fail_each) {
    mem.delay_us = delay_us;
    mem.most = most;
    mem.fail_each = fail_each;
}

static const char *const hard[] = {"train_config.num_epochs=2",
                                   "train_config.save_checkpoints_steps=17",
                                   "data_config.batch_size=250",
                                   "data_config.shuffle=true",
                                   "data_config.shuffle_buffer_size=4",
                                   "model_config.deepfm.deep.use_bn=true",
                                   "model_config.deepfm.deep.dropout_ratio=[0.2]",
                                   "model_config.deepfm.deep.hidden_units=[64,32]"};
#define N_HARD (int)(sizeof(hard) / sizeof(hard[0]))

static cr_watch watch; /* of the next training */

static cr_code train(const char *data, const char *ext, const char *model, bool go_on,
                     const char *more, cr_train_result *res, cr_diag *diag) {
    char config[300], in[300], eval[300];
    const char *set[N_HARD + 1];
    memcpy(set, hard, sizeof hard);
    if (more) { /* instead of the epochs */
        set[0] = more;
        set[N_HARD] = "train_config.num_epochs=0";
    }
    snprintf(config, sizeof config, "%s/pipeline.yaml", data);
    snprintf(in, sizeof in, "%s/train/part-*.%s", data, ext);
    snprintf(eval, sizeof eval, "%s/eval/*.%s", data, ext);
    cr_train_opts o = {.config = {.path = config,
                                  .model_dir = model,
                                  .train_input_path = in,
                                  .eval_input_path = eval,
                                  .set = set,
                                  .n_set = N_HARD + (more != NULL)},
                       .threads = 2,
                       .continue_train = go_on,
                       .watch = watch};
    return cr_train(&o, res, diag);
}

static void trained(const char *data, const char *ext, const char *model, bool go_on,
                    const char *more, char checkpoint[1088]) {
    cr_train_result r;
    cr_diag diag;
    cr_diag_init(&diag);
    CHECK_INT(train(data, ext, model, go_on, more, &r, &diag), 0);
    show(&diag);
    snprintf(checkpoint, 1088, "%s", r.checkpoint);
    cr_arena_clear(&r.arena);
    cr_diag_clear(&diag);
}

static void predicted(const char *export_dir, const char *in, const char *out) {
    cr_predict_opts o = {.scripted_model_path = export_dir,
                         .predict_input_path = in,
                         .predict_output_path = out,
                         .reserved_columns = "label",
                         .threads = 2};
    cr_predict_result r;
    cr_diag diag;
    cr_diag_init(&diag);
    CHECK_INT(cr_predict(&o, &r, &diag), 0);
    CHECK_INT(r.rows, 1000);
    show(&diag);
    cr_free(r.profile);
    cr_diag_clear(&diag);
}

static void exported(const char *config, const char *checkpoint, const char *to) {
    char from[1088];
    cr_diag diag;
    cr_diag_init(&diag);
    cr_export_opts o = {.config = {.path = config},
                        .checkpoint_path = checkpoint,
                        .export_dir = to};
    CHECK_INT(cr_export(&o, from, &diag), 0);
    show(&diag);
    cr_diag_clear(&diag);
}

/* train, pause, go on, export and predict: what comes out is what comes out on a disk */
static void whole_way(const char *name, const char *ext) {
    char near[300], far[300], disk[1088], there[1088], a[700], b[700];
    snprintf(near, sizeof near, "%s", in_root(name));
    snprintf(far, sizeof far, FAR "%s", name);
    make_data(name, ext, 6000);
    snprintf(a, sizeof a, "%s/model", near);
    snprintf(b, sizeof b, "%s/model", far);
    trained(near, ext, a, false, NULL, disk);
    weather(1000, 100000, 23);
    mem_count_anew();
    trained(far, ext, b, false, "train_config.num_steps=31", there);
    CHECK(mem.failed > 0); /* and was tried again */
    trained(far, ext, b, true, NULL, there);
    CHECK(strncmp(there, FAR, strlen(FAR)) == 0);
    same_weights(disk, there);
    same_files(disk, there, "index.json");
    /* nothing is left of the lock, of temporary names or of files that are appended to */
    char **names;
    size_t n;
    cr_arena arena;
    cr_arena_init(&arena, 0);
    CHECK_INT(cr_list_dir(&arena, b, &names, &n, NULL), 0);
    int logs = 0;
    for (size_t i = 0; i < n; i++) {
        CHECK(names[i][0] != '.' && !strstr(names[i], ".tmp-") &&
              strcmp(names[i], "train.lock") != 0);
        logs += strcmp(names[i], "train_log.jsonl") == 0 ||
                strcmp(names[i], "train_eval_result_v2.txt") == 0;
        logs += strncmp(names[i], "events.out.tfevents.", 20) == 0;
    }
    CHECK(logs >= 3);
    snprintf(a, sizeof a, "%s/model/pipeline.config", near);
    snprintf(b, sizeof b, "%s/model/pipeline.config", far);
    exported(a, disk, cr_path_join(&arena, near, "export"));
    exported(b, there, cr_path_join(&arena, far, "export"));
    char in[400];
    snprintf(in, sizeof in, "%s/eval/*.%s", near, ext);
    predicted(cr_path_join(&arena, near, "export"), in, cr_path_join(&arena, near, "out"));
    snprintf(in, sizeof in, "%s/eval/*.%s", far, ext);
    predicted(cr_path_join(&arena, far, "export"), in, cr_path_join(&arena, far, "out"));
    same_files(cr_path_join(&arena, near, "out"), cr_path_join(&arena, far, "out"),
               strcmp(ext, "csv") == 0 ? "part-0.csv" : "part-0.parquet");
    weather(0, 0, 0);
    cr_arena_clear(&arena);
}

TEST(csv) {
    whole_way("csv", "csv");
}

TEST(parquet) {
    whole_way("parquet", "parquet");
}

/* a checkpoint whose manifest is not there was not finished: it is passed over and swept */
TEST(unfinished) {
    char first[1088], last[1088], b[200] = FAR "cut/model";
    cr_arena arena;
    cr_arena_init(&arena, 0);
    make_data("cut", "csv", 6000);
    trained(FAR "cut", "csv", b, false, NULL, first);
    int64_t *steps;
    int n;
    CHECK_INT(cr_ckpt_steps(&arena, b, &steps, &n, NULL), 0);
    CHECK(n >= 2);
    CHECK_INT(cr_file_remove(cr_path_join(&arena, first, "manifest.json"), NULL), 0);
    char *path;
    int64_t step;
    CHECK_INT(cr_ckpt_latest(&arena, b, CR_NEED_ALL, NULL, &path, &step, NULL), 0);
    CHECK_INT(step, steps[n - 2]);
    trained(FAR "cut", "csv", b, true, NULL, last);
    CHECK_STR(last, first);
    CHECK(cr_path_exists(cr_path_join(&arena, last, "manifest.json")));
    /* an export that was not finished is not used */
    exported(FAR "cut/model/pipeline.config", last, FAR "cut/export");
    CHECK_INT(cr_file_remove(FAR "cut/export/manifest.json", NULL), 0);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_predict_opts o = {.scripted_model_path = FAR "cut/export",
                         .predict_input_path = FAR "cut/eval/*.csv",
                         .predict_output_path = FAR "cut/out"};
    cr_predict_result r;
    CHECK(cr_predict(&o, &r, &diag) != CR_OK);
    cr_err err;
    CHECK_INT(cr_diag_first(&diag, &err), CR_ERUN);
    CHECK(strstr(err.msg, "the file is missing"));
    CHECK(!cr_path_exists(FAR "cut/out"));
    cr_diag_clear(&diag);
    cr_arena_clear(&arena);
}

/* a log is there from the first checkpoint on, though the store cannot append and it is short */
static void look(void *ctx, const cr_progress *p) {
    bool *seen = ctx;
    if (strcmp(p->stage, "train") == 0 && p->step > 20)
        *seen = *seen || cr_path_exists(FAR "logs/train_log.jsonl");
}

TEST(logs_at_checkpoints) {
    char last[1088];
    bool seen = false;
    watch = (cr_watch){.progress = look, .ctx = &seen};
    trained(FAR "csv", "csv", FAR "logs", false, NULL, last);
    watch = (cr_watch){0};
    CHECK(seen);
}

/* one line that names the file, the cause and the cure */
TEST(a_store_that_stays_away) {
    static const struct {
        const char *dead, *place, *says;
        int with;
    } v[] = {{"train/part-00001.csv", FAR "csv/train/part-00001.csv",
              "(tried 4 times); check that the store can be reached, and run again", ETIMEDOUT},
             {"train/part-00001.csv", FAR "csv/train/part-00001.csv",
              "403 AccessDenied, request 17; ask the owner of the bucket", EACCES},
             {"dead/model.ckpt-", NULL, "Connection reset by peer (tried 4 times)", ECONNRESET}};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        cr_train_result r;
        cr_diag diag;
        cr_diag_init(&diag);
        mem.dead = v[i].dead;
        mem.dead_with = v[i].with;
        CHECK(train(FAR "csv", "csv", FAR "dead", false, NULL, &r, &diag) != CR_OK);
        mem.dead = NULL;
        CHECK_INT(diag.n_errors, 1);
        for (size_t k = 0; k < diag.n; k++)
            if (diag.v[k].sev == CR_SEV_ERROR) {
                if (v[i].place) CHECK_STR(diag.v[k].at.path, v[i].place);
                CHECK(diag.v[k].at.path && strstr(diag.v[k].at.path, v[i].dead));
                if (!strstr(diag.v[k].msg, v[i].says)) CHECK_STR(diag.v[k].msg, v[i].says);
            }
        cr_arena_clear(&r.arena);
        cr_diag_clear(&diag);
        CHECK_INT(cr_rmtree(FAR "dead", NULL), 0);
    }
}

/* reads an epoch; returns the rows and how often the store was asked */
static int64_t read_all(const char *name, const char *ext, bool shuffle, int *opens, int *reads,
                        int *at_once) {
    char config[300], in[300];
    snprintf(config, sizeof config, FAR "%s/pipeline.yaml", name);
    snprintf(in, sizeof in, FAR "%s/train/*.%s", name, ext);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_config_opts co = {.path = config, .model_dir = "unused", .train_input_path = in};
    cr_job j;
    cr_job_opts jo = {.config = &co, .threads = 2, .train = true, .with_labels = true};
    CHECK_INT(cr_job_open(&j, &jo, &diag), 0);
    show(&diag);
    cr_loader *l = NULL;
    cr_job_data d = {.paths = j.root->train_input_path,
                     .batch_size = 1000,
                     .n_epochs = 1,
                     .shuffle = shuffle};
    mem_count_anew();
    CHECK_INT(cr_job_loader(&j, &d, &l, &diag), 0);
    int64_t rows = 0;
    for (bool done = false; !done;) {
        cr_batch *b = NULL;
        CHECK_INT(cr_loader_next(l, &b, &done, NULL), 0);
        if (b) rows += b->n_rows;
        if (b) cr_loader_release(l, b);
    }
    cr_loader_free(l);
    *opens = mem.opens;
    *reads = mem.reads;
    *at_once = mem.most_at_once;
    cr_job_close(&j);
    cr_diag_clear(&diag);
    return rows;
}

/* a step never waits for a request that could have been made before: as many as are allowed are on
 * their way at once, and a file costs as many as it has large parts */
TEST(few_requests) {
    static const char *const format[] = {"csv", "parquet"};
    for (int k = 0; k < 2; k++) {
        char name[20];
        snprintf(name, sizeof name, "large_%s", format[k]);
        make_data(name, format[k], 60000);
        int64_t bytes = 0, size;
        int files = 0;
        cr_arena arena;
        cr_arena_init(&arena, 0);
        char **paths, glob[100];
        size_t n;
        snprintf(glob, sizeof glob, FAR "%s/train/*", name);
        CHECK_INT(cr_glob(&arena, glob, NULL, &paths, &n, NULL), 0);
        for (size_t i = 0; i < n; i++, files++) {
            CHECK_INT(cr_file_size(paths[i], &size, NULL), 0);
            bytes += size;
        }
        cr_arena_clear(&arena);
        mem.gather = k == 0 ? 8 : files; /* all parts of a Parquet file are one request here */
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            int opens, reads, at_once;
            CHECK_INT(read_all(name, format[k], shuffle, &opens, &reads, &at_once), 60000);
            /* once for its size, which a store that has listed it knows; once to be read */
            CHECK_INT(opens, 2 * files);
            int64_t parts = bytes / (512 << 10) + 3 * files;
            CHECK(reads <= parts);
            CHECK(at_once >= mem.gather);
            if (reads > parts)
                fprintf(stderr, "%s: %d requests for %lld bytes in %d files, %d at once\n", name,
                        reads, (long long)bytes, files, at_once);
        }
    }
    mem.gather = 0;
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(csv),
                                   CASE(parquet),
                                   CASE(unfinished),
                                   CASE(logs_at_checkpoints),
                                   CASE(a_store_that_stays_away),
                                   CASE(few_requests)};
    cr_store_add(&mem_store);
    if (!root_open("far")) return 1;
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    mem_clear();
    return root_close(rc);
}
