/*
 * answers.c - what a page gets for its requests, right and wrong ones.
 */
#include "base/json.h"
#include "unit/board/board_test.h"

static const char *given[4][2];
static const char *arg(void *ctx, const char *name) {
    (void)ctx;
    for (int i = 0; i < 4; i++)
        if (given[i][0] && strcmp(given[i][0], name) == 0) return given[i][1];
    return NULL;
}

/* Asks with up to two arguments; the answer must have the status. The caller frees the tree. */
static cr_json *ask(cr_board *b, const char *method, const char *path, const char *query[2],
                    const char *body, int status) {
    cr_board_res r = {0};
    cr_json *j = NULL;
    memset(given, 0, sizeof given);
    if (query) memcpy(given[0], query, sizeof given[0]);
    cr_board_req q = {.method = method,
                      .path = path,
                      .body = body ? body : "",
                      .n_body = body ? strlen(body) : 0,
                      .arg = arg,
                      .may_write = true};
    cr_buf_init(&r.body);
    cr_board_answer(b, &q, &r);
    CHECK_INT(r.status, status);
    CHECK_INT(cr_json_parse(&j, r.body.data, r.body.n, NULL), 0);
    cr_buf_clear(&r.body);
    return j;
}

static double num(const cr_json *j, const char *key) {
    double x = NAN;
    cr_json_f64(cr_json_get(j, key), &x);
    return x;
}

TEST(lists) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("a", 50, "finished");
    make_run("b", 300, NULL);
    cr_board *b = open_board(".");
    read_all(b);
    cr_json *j = ask(b, "GET", "/api/runs", NULL, NULL, 200);
    const cr_json *v = cr_json_get(j, "runs"), *r = cr_json_at(v, 1);
    CHECK_INT(cr_json_len(v), 2);
    CHECK_STR(cr_json_str(cr_json_get(r, "id")), "b");
    CHECK_STR(cr_json_str(cr_json_get(r, "state")), "killed");
    CHECK(num(r, "step") == 299 && num(r, "rows") == 30000);
    CHECK(num(cr_json_get(r, "last"), "train.loss") == loss_at(299));
    CHECK(num(cr_json_get(r, "last"), "val.auc") == 0.5 + 1e-6 * 299);
    /* what has not changed is not told again */
    char since[32];
    snprintf(since, sizeof since, "%.0f", num(j, "version"));
    cr_json_free(j);
    j = ask(b, "GET", "/api/runs", (const char *[]){"since", since}, NULL, 200);
    CHECK_INT(cr_json_len(cr_json_get(j, "runs")), 0);
    cr_json_free(j);
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

/* Asks for the loss of run 0 and checks every point against the lines that it stands for. */
static void check_series(cr_board *b, const char *body, int64_t first, int64_t end, int most) {
    cr_json *j = ask(b, "POST", "/api/series", NULL, body, 200);
    const cr_json *s = cr_json_at(cr_json_get(j, "series"), 0), *x = cr_json_get(s, "step"),
                  *y = cr_json_get(cr_json_get(s, "values"), "train.loss"),
                  *mean = cr_json_get(y, "mean"), *low = cr_json_get(y, "low"),
                  *high = cr_json_get(y, "high");
    int64_t n = (int64_t)cr_json_len(x);
    CHECK(n > 0 && n <= most && cr_json_len(mean) == (size_t)n);
    double lo = INFINITY, hi = -INFINITY, want_lo = INFINITY, want_hi = -INFINITY, step;
    for (int64_t i = 0; i < n; i++) {
        double p = NAN, q = NAN, m = NAN;
        CHECK(cr_json_f64(cr_json_at(mean, (size_t)i), &m));
        p = q = m;
        (void)cr_json_f64(cr_json_at(low, (size_t)i), &p);
        (void)cr_json_f64(cr_json_at(high, (size_t)i), &q);
        CHECK(p <= m + 1e-7 && m <= q + 1e-7);
        lo = fmin(lo, p);
        hi = fmax(hi, q);
        CHECK(cr_json_f64(cr_json_at(x, (size_t)i), &step));
        CHECK(step >= (double)first && step < (double)end);
    }
    for (int64_t i = first; i < end; i++) {
        want_lo = fmin(want_lo, loss_at(i));
        want_hi = fmax(want_hi, loss_at(i));
    }
    /* no peak is lost */
    CHECK_NEAR(lo, want_lo, 0, 1e-6);
    CHECK_NEAR(hi, want_hi, 0, 1e-6);
    cr_json_free(j);
}

TEST(series) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("a", 10000, "finished");
    cr_board *b = open_board(".");
    read_all(b);
    check_series(b, "{\"runs\": [0], \"names\": [\"train.loss\"], \"points\": 100}", 0, 10000, 100);
    check_series(b, "{\"runs\": [0], \"names\": [\"train.loss\"], \"points\": 0}", 0, 10000, 10000);
    /* a part of the axis has more than the buckets of the whole */
    check_series(b,
                 "{\"runs\": [0], \"names\": [\"train.loss\"], \"from\": 5000, \"to\": 5399, "
                 "\"points\": 500}",
                 5000, 5400, 500);
    cr_json *j = ask(b, "POST", "/api/series", NULL,
                     "{\"runs\": [0], \"names\": [\"train.loss\"], \"from\": 5000, \"to\": 5399, "
                     "\"points\": 500}",
                     200);
    const cr_json *s = cr_json_at(cr_json_get(j, "series"), 0);
    CHECK_INT(cr_json_len(cr_json_get(s, "step")), 400);
    CHECK(num(s, "lines") == 1);
    cr_json_free(j);
    /* evaluations are a curve of their own; unknown names and runs give none */
    j = ask(b, "POST", "/api/series", NULL,
            "{\"runs\": [0, 7, -1], \"names\": [\"val.auc\", \"none\"], \"axis\": \"time\"}", 200);
    CHECK_INT(cr_json_len(cr_json_get(j, "series")), 1);
    CHECK_INT(cr_json_len(cr_json_get(cr_json_at(cr_json_get(j, "series"), 0), "rows")), 100);
    cr_json_free(j);
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

TEST(one_run_and_two) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("a", 50, "finished");
    make_run("b", 60, "finished");
    add_text("a/train_log.jsonl",
             "{\"event\": \"features\", \"step\": 49, \"features\": [{\"name\": \"x\", \"rows\": "
             "50, \"missing\": 50, \"constant\": true}]}\n");
    add_text("a/train_eval_result_v2.txt", "{\"global_step\": 49, \"auc\": 0.75}\n");
    CHECK_INT(cr_mkdirs("a/model.ckpt-49", NULL), 0);
    CHECK_INT(cr_mkdirs("a/model.ckpt-20", NULL), 0);
    add_text("a/pipeline.config", "model_dir: \"a\"\n");
    cr_board *b = open_board(".");
    read_all(b);
    cr_json *j = ask(b, "GET", "/api/run", (const char *[]){"run", "0"}, NULL, 200);
    const cr_json *f = cr_json_at(cr_json_get(cr_json_get(j, "features"), "features"), 0);
    CHECK(num(f, "missing") == 50);
    CHECK_STR(cr_json_str(cr_json_get(j, "config")), "model_dir: \"a\"\n");
    const cr_json *v = cr_json_get(j, "checkpoints");
    CHECK_INT(cr_json_len(v), 2);
    CHECK(num(cr_json_at(v, 0), "step") == 49 && num(cr_json_at(v, 1), "step") == 20);
    CHECK(num(cr_json_get(cr_json_at(v, 0), "metrics"), "auc") == 0.75);
    cr_json_free(j);
    j = ask(b, "POST", "/api/notes", (const char *[]){"run", "0"}, "<b>good</b> 好\n", 200);
    cr_json_free(j);
    j = ask(b, "GET", "/api/run", (const char *[]){"run", "0"}, NULL, 200);
    CHECK_STR(cr_json_str(cr_json_get(j, "notes")), "<b>good</b> 好\n");
    cr_json_free(j);
    /* the metrics of two runs differ; the config of one is missing */
    memset(given, 0, sizeof given);
    cr_board_res r = {0};
    cr_buf_init(&r.body);
    given[0][0] = "a", given[0][1] = "0", given[1][0] = "b", given[1][1] = "1";
    cr_board_answer(b, &(cr_board_req){.method = "GET", .path = "/api/diff", .arg = arg}, &r);
    CHECK_INT(r.status, 200);
    CHECK_INT(cr_json_parse(&j, r.body.data, r.body.n, NULL), 0);
    CHECK_INT(cr_json_len(cr_json_get(j, "config")), 0);
    CHECK(cr_json_str(cr_json_get(j, "trouble")) != NULL);
    const cr_json *m = cr_json_get(j, "metrics");
    int seen = 0;
    for (size_t i = 0; i < cr_json_len(m); i++) {
        const char *key = cr_json_str(cr_json_get(cr_json_at(m, i), "key"));
        if (strcmp(key, "train.loss") != 0) continue;
        CHECK(num(cr_json_at(m, i), "a") == loss_at(49) &&
              num(cr_json_at(m, i), "b") == loss_at(59));
        seen++;
    }
    CHECK_INT(seen, 1);
    cr_json_free(j);
    cr_buf_clear(&r.body);
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

TEST(hostile_names) {
    if (!tmpdir_enter()) SKIP("no folder");
    const char *dir = "<img src=x onerror=alert(1)>";
    char path[200];
    CHECK_INT(cr_mkdirs(dir, NULL), 0);
    snprintf(path, sizeof path, "%s/train_log.jsonl", dir);
    add_text(path, "{\"event\": \"start\", \"project\": \"</script>\\u0007\", \"experiment\": "
                   "\"\\\"'&\"}\n"
                   "{\"event\": \"train\", \"step\": 1, \"train.</script><b>\": 1, "
                   "\"train.\\\"x\\\\\": 2}\n");
    cr_board *b = open_board(".");
    read_all(b);
    cr_json *j = ask(b, "GET", "/api/runs", NULL, NULL, 200);
    const cr_json *r = cr_json_at(cr_json_get(j, "runs"), 0);
    CHECK_STR(cr_json_str(cr_json_get(r, "id")), dir);
    CHECK_STR(cr_json_str(cr_json_get(r, "experiment")), "\"'&");
    CHECK(num(cr_json_get(r, "last"), "train.</script><b>") == 1);
    CHECK(num(cr_json_get(r, "last"), "train.\"x\\") == 2);
    cr_json_free(j);
    j = ask(b, "POST", "/api/series", NULL, "{\"runs\": [0]}", 200);
    cr_json_free(j);
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

TEST(wrong_requests) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("a", 5, NULL);
    cr_board *b = open_board(".");
    static const struct {
        const char *method, *path, *name, *value, *body;
        int status;
    } all[] = {
        {"GET", "/api/none", NULL, NULL, NULL, 404},
        {"GET", "/../../etc/passwd", NULL, NULL, NULL, 404},
        {"POST", "/api/runs", NULL, NULL, NULL, 405},
        {"GET", "/api/run", NULL, NULL, NULL, 404},
        {"GET", "/api/run", "run", "1", NULL, 404},
        {"GET", "/api/run", "run", "99999999999999999999", NULL, 404},
        {"GET", "/api/run", "run", "-1", NULL, 404},
        {"GET", "/api/run", "run", "../a", NULL, 404},
        {"GET", "/api/diff", "a", "0", NULL, 404},
        {"POST", "/api/series", NULL, NULL, "", 400},
        {"POST", "/api/series", NULL, NULL, "[]", 400},
        {"POST", "/api/series", NULL, NULL, "{\"runs\": [\"0\"]}", 400},
        {"POST", "/api/series", NULL, NULL, "{\"runs\": [0], \"names\": [4]}", 400},
        {"POST", "/api/series", NULL, NULL, "{\"runs\": [0], \"points\": -5, \"from\": \"x\"}",
         200},
        {"POST", "/api/notes", NULL, NULL, "x", 404},
        {"POST", "/api/notes", "run", "0", "\xff\xfe", 400},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *query[2] = {all[i].name, all[i].value};
        cr_json *j = ask(b, all[i].method, all[i].path, query, all[i].body, all[i].status);
        CHECK((cr_json_get(j, "error") != NULL) == (all[i].status != 200));
        cr_json_free(j);
    }
    CHECK(!cr_path_exists("a/notes.md"));
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

/* Asks for run 0, whose importance.json and slices.json have these texts; then the first of them is
 * in the answer, or its name is among the damaged ones. */
static void check_why(cr_board *b, const char *importance, const char *slices, bool ok) {
    CHECK_INT(cr_file_write("a/importance.json", importance, strlen(importance), NULL), 0);
    CHECK_INT(cr_file_write("a/slices.json", slices, strlen(slices), NULL), 0);
    cr_json *j = ask(b, "GET", "/api/run", (const char *[]){"run", "0"}, NULL, 200);
    CHECK(cr_json_is_obj(cr_json_get(j, "importance")) == ok);
    CHECK(cr_json_is_obj(cr_json_get(j, "slices")) == ok);
    CHECK_INT(cr_json_len(cr_json_get(j, "damaged")), ok ? 0 : 2);
    if (ok) {
        const cr_json *d = cr_json_get(j, "importance"),
                      *u = cr_json_at(cr_json_get(d, "units"), 0),
                      *w = cr_json_at(cr_json_get(u, "worth"), 0),
                      *m = cr_json_at(cr_json_get(d, "measures"), 0),
                      *t = cr_json_at(cr_json_get(cr_json_get(j, "slices"), "tasks"), 0);
        CHECK(num(d, "rows") == 5 && num(cr_json_get(w, "shuffled"), "loss") == 0.5);
        CHECK(isnan(num(cr_json_get(w, "removed"), "high")) && !cr_json_get(u, "more"));
        CHECK_STR(cr_json_str(cr_json_get(u, "name")), "x");
        bool auc = false;
        CHECK(cr_json_bool(cr_json_get(m, "auc"), &auc) && auc);
        CHECK(num(cr_json_at(cr_json_get(t, "bins"), 0), "rows") == 3);
        CHECK_INT(cr_json_len(cr_json_get(cr_json_at(cr_json_get(t, "columns"), 0), "slices")), 1);
    }
    cr_json_free(j);
}

#define WORTH(name, units)                                                                         \
    "{\"kind\": \"importance\", \"checkpoint\": \"c\", \"rows\": 5, \"measures\": "                \
    "[{\"name\": " name ", \"value\": 0.7, \"positives\": 2}], \"units\": " units "}"
#define SLICES(bins, columns)                                                                      \
    "{\"kind\": \"slices\", \"checkpoint\": \"c\", \"tasks\": [{\"output\": \"probs\", \"all\": "  \
    "{}, "                                                                                         \
    "\"bins\": " bins ", \"columns\": " columns "}]}"

TEST(why) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("a", 50, "finished");
    cr_board *b = open_board(".");
    read_all(b);
    cr_json *j = ask(b, "GET", "/api/run", (const char *[]){"run", "0"}, NULL, 200);
    CHECK(cr_json_get(j, "importance") && !cr_json_is_obj(cr_json_get(j, "importance")));
    CHECK_INT(cr_json_len(cr_json_get(j, "damaged")), 0);
    cr_json_free(j);
    /* only what the page looks for is passed on; a number that is none is null */
    check_why(b,
              WORTH("\"auc\"", "[{\"kind\": \"feature\", \"name\": \"x\", \"more\": [[]], \"auc\": "
                               "{\"shuffled\": {\"loss\": 0.5}, \"removed\": {\"high\": \"y\"}}}]"),
              SLICES("[{\"rows\": 3}]",
                     "[{\"column\": \"c\", \"slices\": [{\"value\": \"v\", \"rows\": []}]}]"),
              true);
    static const char *const bad[][2] = {
        {"", ""},
        {"{\"kind\": \"importance\"", "[1, 2"},
        {"[]", "null"},
        {"{\"kind\": \"slices\", \"tasks\": []}", "{\"kind\": \"importance\"}"},
        {WORTH("7", "[]"), SLICES("[]", "3")},
        {WORTH("\"auc\"", "{}"), SLICES("{}", "[]")},
        {WORTH("\"auc\"", "[3]"), SLICES("[]", "[3]")},
        {WORTH("\"auc\"", "[{\"name\": \"x\"}]"), SLICES("[]", "[{\"slices\": [{\"rows\": 1}]}]")},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_why(b, bad[i][0], bad[i][1], false);
    /* a file that would swell is refused, and one that is too long */
    cr_buf big;
    cr_buf_init(&big);
    cr_buf_str(&big, "{\"kind\": \"slices\", \"checkpoint\": \"c\", \"tasks\": [");
    for (int t = 0; t < 60; t++) {
        cr_buf_printf(&big, "%s{\"output\": \"p\", \"columns\": [], \"bins\": [{}", t ? "," : "");
        for (int i = 1; i < 20000; i++)
            cr_buf_str(&big, ",{}");
        cr_buf_str(&big, "]}");
    }
    cr_buf_str(&big, "]}");
    cr_buf_char(&big, 0);
    CHECK(big.n < (size_t)4 << 20);
    check_why(b, "", big.data, false);
    big.n--;
    for (int i = 0; i < 1000000; i++)
        cr_buf_str(&big, "  ");
    cr_buf_char(&big, 0);
    check_why(b, "", big.data, false);
    cr_buf_clear(&big);
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

/* The version of the board after a look at all files. */
static uint64_t version_now(cr_board *b) {
    read_all(b);
    return cr_board_wait(b, 0, 0);
}

/* A file that comes, changes or goes makes the page ask again, once somebody looks at its run. */
TEST(why_lives) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("a", 50, "finished");
    make_run("b", 50, "finished");
    cr_board *b = open_board(".");
    uint64_t v = version_now(b);
    CHECK_INT(cr_file_write("a/importance.json", "{}", 2, NULL), 0);
    CHECK(version_now(b) == v);
    cr_json_free(ask(b, "GET", "/api/run", (const char *[]){"run", "0"}, NULL, 200));
    CHECK(version_now(b) == v);
    static const char *const names[] = {"a/importance.json", "a/slices.json"};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++, v++) {
            CHECK_INT(cr_file_write(names[i], "{ }", 3, NULL), 0);
            CHECK(version_now(b) == v + 1);
            CHECK(b->runs[0]->version == v + 1 && b->runs[1]->version <= v);
        }
        CHECK_INT(remove(names[i]), 0);
        CHECK(version_now(b) == ++v);
        CHECK(version_now(b) == v);
    }
    CHECK_INT(cr_file_write("b/importance.json", "{}", 2, NULL), 0);
    CHECK(version_now(b) == v);
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

TEST_MAIN(CASE(lists), CASE(series), CASE(one_run_and_two), CASE(hostile_names),
          CASE(wrong_requests), CASE(why), CASE(why_lives))
