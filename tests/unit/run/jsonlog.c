/*
 * jsonlog.c - the JSON lines of whole runs: fields, steps, resume, files that cannot be written;
 * and that logs, events and traces change no bit of the result.
 */
#include "obs/jsonlog.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "unit/run/run_test.h"

static const char *const small[] = {"train_config.num_epochs=0",
                                    "train_config.num_steps=25",
                                    "train_config.save_checkpoints_epochs=0",
                                    "train_config.save_checkpoints_steps=10",
                                    "train_config.log_step_count_steps=5",
                                    "data_config.batch_size=100"};
#define N_SMALL (int)(sizeof(small) / sizeof(small[0]))

static cr_code train(const char *model, const char *log_json, bool go_on, const char *const *more,
                     int n_more, cr_train_result *res) {
    const char *set[16];
    int n = 0;
    for (int i = 0; i < N_SMALL; i++)
        set[n++] = small[i];
    for (int i = 0; i < n_more; i++)
        set[n++] = more[i];
    char config[600];
    snprintf(config, sizeof(config), "%s/data/pipeline.yaml", root);
    cr_diag diag;
    cr_diag_init(&diag);
    cr_train_opts o = {.config = {.path = config, .model_dir = model, .set = set, .n_set = n},
                       .threads = 2,
                       .continue_train = go_on,
                       .log_json = log_json};
    cr_code code = cr_train(&o, res, &diag);
    for (size_t i = 0; code != CR_OK && i < diag.n; i++)
        fprintf(stderr, "%s: %s\n", diag.v[i].at.path ? diag.v[i].at.path : "", diag.v[i].msg);
    cr_diag_clear(&diag);
    return code;
}

/* line k (from 0) of a file as JSON; NULL when there is none */
static cr_json *line_of(const cr_buf *b, int k) {
    const char *at = b->data, *end;
    while (k-- > 0 && at && (at = strchr(at, '\n')))
        at++;
    if (!at || !*at) return NULL;
    end = strchr(at, '\n');
    cr_json *j = NULL;
    CHECK(end != NULL);
    CHECK_INT(cr_json_parse(&j, at, end ? (size_t)(end - at) : strlen(at), NULL), 0);
    return j;
}
static double num(const cr_json *j, const char *key) {
    double x = NAN;
    cr_json_f64(cr_json_get(j, key), &x);
    return x;
}
static const char *str(const cr_json *j, const char *key) {
    return cr_json_str(cr_json_get(j, key));
}

TEST(a_whole_run) {
    cr_train_result r;
    CHECK_INT(train(in_root("m"), in_root("extra.jsonl"), false, NULL, 0, &r), 0);
    cr_buf own, extra;
    cr_buf_init(&own);
    cr_buf_init(&extra);
    CHECK_INT(cr_file_read(in_root("m/train_log.jsonl"), 0, &own, NULL), 0);
    CHECK_INT(cr_file_read(in_root("extra.jsonl"), 0, &extra, NULL), 0);
    CHECK(own.n > 0 && own.n == extra.n && memcmp(own.data, extra.data, own.n) == 0);
    const struct {
        const char *event;
        int step;
    } want[] = {{"start", -1}, {"train", 0},  {"train", 5},     {"train", 10},
                {"eval", 10},  {"train", 15}, {"train", 20},    {"eval", 20},
                {"train", 24}, {"eval", 24},  {"features", 24}, {"end", 24}};
    int n = (int)(sizeof(want) / sizeof(want[0]));
    double time = 0;
    for (int i = 0; i < n; i++) {
        cr_json *j = line_of(&own, i);
        CHECK(j != NULL);
        if (!j) break;
        CHECK_STR(str(j, "event"), want[i].event);
        CHECK(num(j, "rank") == 0);
        CHECK(num(j, "time") >= time && num(j, "elapsed") >= 0);
        time = num(j, "time");
        if (want[i].step >= 0) CHECK(num(j, "step") == want[i].step && num(j, "epoch") == 0);
        if (strcmp(want[i].event, "train") == 0) {
            CHECK(num(j, "train.loss") > 0.1 && num(j, "train.loss") < 2);
            CHECK(num(j, "train.loss") == num(j, "train.binary_cross_entropy"));
            CHECK(num(j, "train.rows") == 100 * (want[i].step + 1));
            CHECK(num(j, "train.ips") > 0 && num(j, "lr.g0") > 0 && num(j, "lr.g1") > 0);
        }
        if (strcmp(want[i].event, "eval") == 0) {
            CHECK(num(j, "val.auc") > 0.3 && num(j, "val.auc") < 1 && num(j, "val.rows") == 500);
            CHECK(num(j, "val.binary_cross_entropy") > 0.1 && num(j, "val.ips") > 0);
        }
        if (strcmp(want[i].event, "features") == 0) {
            const cr_json *v = cr_json_get(j, "features");
            CHECK_STR(str(j, "data"), "train");
            CHECK(cr_json_len(v) > 0 && num(cr_json_at(v, 0), "rows") >= 2500);
        }
        if (i == n - 1) {
            CHECK_STR(str(j, "status"), "finished");
            CHECK(num(j, "rows") == 2500 && num(j, "steps") == 25 && num(j, "bad_rows") == 0);
            CHECK(num(j, "seconds") > 0 && num(j, "peak_memory_bytes") > 1e6);
            CHECK_STR(str(j, "best.metric"), "auc");
            CHECK(num(j, "best.value") == r.best.value &&
                  num(j, "best.step") == (double)r.best.step);
        }
        cr_json_free(j);
    }
    cr_json *none = line_of(&own, n);
    CHECK(none == NULL);
    /* the best is the best */
    CHECK_STR(r.best.metric, "auc");
    for (int i = 0; i < r.eval.n; i++)
        if (strcmp(r.eval.v[i].name, "auc") == 0) CHECK(r.best.value >= r.eval.v[i].value);
    CHECK(r.best.checkpoint && cr_path_is_dir(r.best.checkpoint));
    CHECK(r.eval_s > 0 && r.save_s > 0 && r.eval_s + r.save_s < r.seconds);
    cr_arena_clear(&r.arena);
    cr_buf_clear(&own);
    cr_buf_clear(&extra);
}

TEST(going_on_adds) {
    cr_train_result r;
    const char *more[] = {"train_config.num_steps=32"};
    /* as a kill in the middle of a line leaves it */
    FILE *f = fopen(in_root("m/train_log.jsonl"), "a");
    CHECK(f && fputs("{\"event\": \"tra", f) > 0);
    if (f) fclose(f);
    cr_buf before, after;
    cr_buf_init(&before);
    cr_buf_init(&after);
    CHECK_INT(cr_file_read(in_root("m/train_log.jsonl"), 0, &before, NULL), 0);
    CHECK_INT(train(in_root("m"), NULL, true, more, 1, &r), 0);
    CHECK_INT(cr_file_read(in_root("m/train_log.jsonl"), 0, &after, NULL), 0);
    CHECK(after.n > before.n && memcmp(after.data, before.data, before.n) == 0);
    CHECK(after.data[before.n] == '\n');
    cr_buf rest = {after.data + before.n + 1, after.n - before.n - 1, 0};
    static const int steps[] = {-1, 25, 29, 30, 30, 31, 31, 31, 31}; /* an epoch ends at 29 */
    for (int i = 0; i < 9; i++) {
        cr_json *j = line_of(&rest, i);
        CHECK(j != NULL);
        if (!j) break;
        if (i == 0) CHECK(num(j, "from_step") == 24);
        if (i > 0) CHECK(num(j, "step") == steps[i]);
        cr_json_free(j);
    }
    cr_arena a;
    char **names;
    size_t n;
    cr_arena_init(&a, 0);
    int events = 0;
    CHECK_INT(cr_list_dir(&a, in_root("m"), &names, &n, NULL), 0);
    for (size_t i = 0; i < n; i++)
        events += strstr(names[i], "tfevents") != NULL;
    CHECK_INT(events, 2); /* a file per run */
    cr_arena_clear(&a);
    cr_arena_clear(&r.arena);
    cr_buf_clear(&before);
    cr_buf_clear(&after);
}

#define ALL_SUMMARIES                                                                              \
    "train_config.tensorboard_summaries=[parameter, gradient, gradient_norm, "                     \
    "global_gradient_norm]"

TEST(watching_changes_nothing) {
    cr_train_result quiet, loud;
    const char *off[] = {"train_config.use_tensorboard=false"};
    const char *on[] = {"train_config.is_profiling=true", "train_config.log_step_count_steps=1",
                        ALL_SUMMARIES};
    CHECK_INT(train(in_root("quiet"), NULL, false, off, 1, &quiet), 0);
    CHECK_INT(train(in_root("loud"), in_root("loud.jsonl"), false, on, 3, &loud), 0);
    same_weights(quiet.checkpoint, loud.checkpoint);
    CHECK(quiet.profile == NULL && loud.profile != NULL);
    CHECK(loud.profile && strstr(loud.profile, "backward") && strstr(loud.profile, "all threads"));
    CHECK(cr_path_exists(in_root("loud/trace.json")));
    CHECK(!cr_path_exists(in_root("quiet/trace.json")) &&
          !cr_path_exists(in_root("quiet/eval_val")));
    cr_arena_clear(&quiet.arena);
    cr_arena_clear(&loud.arena);
}

TEST(files_that_cannot_be_written) {
    cr_train_result r;
    /* asked for: an error before the first step */
    CHECK_INT(train(in_root("x"), in_root("no/such/dir/l.jsonl"), false, NULL, 0, &r), CR_EIO);
    cr_arena_clear(&r.arena);
    /* a disk that is full from the first line on: one warning, the run goes on */
    if (access("/dev/full", W_OK) == 0) {
        FILE *log = tmpfile();
        int saved = dup(STDERR_FILENO);
        dup2(fileno(log), STDERR_FILENO);
        cr_log_set_level(CR_LOG_WARN);
        cr_code code = train(in_root("y"), "/dev/full", false, NULL, 0, &r);
        cr_log_set_level(CR_LOG_ERROR);
        dup2(saved, STDERR_FILENO);
        close(saved);
        char text[4096] = {0};
        rewind(log);
        size_t n = fread(text, 1, sizeof(text) - 1, log);
        fclose(log);
        CHECK_INT(code, 0);
        CHECK_INT(r.steps, 25);
        const char *first = strstr(text, "/dev/full: cannot write: No space left on device;");
        CHECK(n > 0 && first && !strstr(first + 1, "/dev/full"));
        cr_arena_clear(&r.arena);
    }
    /* not asked for: a warning */
    CHECK_INT(cr_mkdirs(in_root("z/train_log.jsonl"), NULL), 0);
    CHECK_INT(cr_mkdirs(in_root("z"), NULL), 0);
    FILE *f = fopen(in_root("z/eval_val"), "w"); /* where a folder should be */
    if (f) fclose(f);
    CHECK_INT(train(in_root("z"), NULL, false, NULL, 0, &r), 0);
    cr_arena_clear(&r.arena);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(a_whole_run), CASE(going_on_adds),
                                   CASE(watching_changes_nothing),
                                   CASE(files_that_cannot_be_written)};
    if (!root_open("jsonlog")) return 1;
    make_synth("criteo", in_root("data"), 3000, 500, 3, 0.0002);
    return root_close(t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv));
}
