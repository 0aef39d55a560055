/*
 * logs.c - lines of logs taken apart, tracks beside plain sums, and logs that grow, begin again,
 * break off or are replaced.
 */
#include "unit/board/board_test.h"

static cr_line line;
static bool scan(const char *s) {
    return cr_line_scan(&line, s, strlen(s));
}

TEST(lines) {
    CHECK(scan("{\"event\": \"train\", \"step\": 12, \"time\": 1.5, \"train.rows\": 3e2, "
               "\"a\": -0.125, \"b\": null, \"c\": \"text\", \"d\": [1, {\"x\": \"]\"}], "
               "\"e\": true}"));
    CHECK_INT(line.event, CR_LINE_TRAIN);
    CHECK_INT(line.step, 12);
    CHECK(line.time == 1.5 && line.rows == 300);
    CHECK_INT(line.n, 3); /* train.rows, a, b */
    CHECK(line.v[1].value == -0.125 && isnan(line.v[2].value));
    CHECK(scan("{}") && line.n == 0 && line.step == -1);
    /* a name with escapes is the text that it means */
    CHECK(scan("{\"\\\"<b>\\u00e9\\n\": 1}"));
    CHECK_INT(line.v[0].n, 7);
    CHECK(memcmp(line.v[0].name, "\"<b>\xc3\xa9\n", 7) == 0);
    static const char *const bad[] = {"",           "x",           "{",           "[1]",
                                      "{\"a\"}",    "{\"a\": }",   "{\"a\": 1,}", "{\"a\": 1} x",
                                      "{\"a\": 1",  "{\"a\": tru", "{\"a\": -}",  "{\"a\": \"x}",
                                      "{\"a\": 1e}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (scan(bad[i])) {
            t_failed_checks++;
            fprintf(stderr, "taken: %s\n", bad[i]);
        }
}

/* Numbers read back to the same bits as strtod gives. */
TEST(numbers) {
    static const char *const all[] = {"0",
                                      "-0",
                                      "1",
                                      "0.1",
                                      "0.69314718055994529",
                                      "123456789012345678",
                                      "1234567890123456789012",
                                      "1e22",
                                      "1e-22",
                                      "9007199254740993",
                                      "1.7976931348623157e308",
                                      "4.9e-324",
                                      "0.000000000000000000000000123456789",
                                      "3.0e+5"};
    char text[128];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(text, sizeof text, "{\"a\": %s}", all[i]);
        CHECK(scan(text));
        double want = strtod(all[i], NULL);
        CHECK(line.n == 1 && memcmp(&line.v[0].value, &want, sizeof want) == 0);
    }
}

TEST(tracks) {
    cr_track t;
    cr_track_init(&t, 16);
    enum { N = 1000 };
    for (int i = 0; i < N; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"event\": \"train\", \"step\": %d, \"v\": %.17g}", i,
                 loss_at(i));
        CHECK(scan(text));
        cr_track_add(&t, &line, (double[]){i, 2 * i, 3 * i}, 10 * i, 10 * i + 10);
    }
    CHECK(t.n > 8 && t.n <= 16);
    CHECK_INT(t.n_lines, N);
    const cr_track_col *c = cr_track_find(&t, "v", 1);
    CHECK(c && c->last == loss_at(N - 1));
    int64_t at = 0;
    for (int k = 0; c && k < t.n; k++) {
        double lo = INFINITY, hi = -INFINITY, sum = 0;
        for (int64_t i = at; i < at + t.b[k].n_lines; i++) {
            lo = fmin(lo, loss_at(i));
            hi = fmax(hi, loss_at(i));
            sum += loss_at(i);
        }
        CHECK_NEAR(c->lo[k], lo, 0, 1e-6);
        CHECK_NEAR(c->hi[k], hi, 0, 1e-6);
        CHECK_NEAR(c->mean[k], sum / (double)t.b[k].n_lines, 0, 1e-6);
        CHECK(t.b[k].x[0][0] == (double)at && t.b[k].at == 10 * at);
        at += t.b[k].n_lines;
    }
    CHECK_INT(at, N);
    cr_track_clear(&t);
}

/* Checks that the track of training has exactly the steps 0 to n - 1, with the values of `value`.
 */
static void check_steps(const cr_run *r, int64_t n, double (*value)(int64_t)) {
    cr_track all;
    cr_track_init(&all, 1 << 20);
    CHECK(cr_log_detail(&r->log, CR_LINE_TRAIN, CR_AXIS_STEP, -INFINITY, INFINITY, &all));
    CHECK_INT(all.n, n);
    CHECK_INT(r->log.train.n_lines, n);
    const cr_track_col *c = cr_track_find(&all, "train.loss", 10);
    for (int i = 0; c && i < all.n; i++) {
        CHECK(all.b[i].x[CR_AXIS_STEP][0] == i);
        CHECK(all.b[i].x[CR_AXIS_ROWS][0] == 100 * (i + 1));
        CHECK(c->mean[i] == (float)value(i));
    }
    cr_track_clear(&all);
}

static double other_at(int64_t step) {
    return step < 1500 ? loss_at(step) : 0.5;
}

TEST(a_log_that_grows) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("m", 0, NULL);
    cr_board *b = open_board(".");
    CHECK_INT(b->n, 1);
    cr_buf text;
    cr_buf_init(&text);
    for (int64_t i = 0; i < 3000; i++)
        train_line(&text, i, 100 * (i + 1), loss_at(i));
    /* in pieces that end anywhere */
    for (size_t at = 0, n; at < text.n; at += n) {
        n = text.n - at < 7001 ? text.n - at : 7001;
        CHECK_INT(cr_file_append("m/train_log.jsonl", text.data + at, n, NULL), 0);
        if (at % 5 == 0) read_all(b);
    }
    read_all(b);
    const cr_run *r = b->runs[0];
    CHECK_INT(cr_log_at(&r->log)->step, 2999);
    CHECK_INT(r->log.n_bad, 0);
    check_steps(r, 3000, loss_at);
    CHECK_STR(r->project, "shop");
    CHECK_STR(r->experiment, "night");
    /* no process trains there */
    CHECK_STR(cr_run_state_name(r->state), "killed");
    /* it was killed at step 2999 and continues from its checkpoint at step 1499 */
    cr_buf_reset(&text);
    cr_buf_str(&text, "{\"event\": \"train\", \"step\": 3000, \"tra\n"); /* cut off by the kill */
    start_line(&text, 1499);
    for (int64_t i = 1500; i < 2500; i++)
        train_line(&text, i, 100 * (i - 1499), 0.5);
    end_line(&text, 2499, "finished");
    add_text("m/train_log.jsonl", text.data);
    read_all(b);
    CHECK_INT(r->log.n_bad, 1);
    CHECK_INT(r->log.first_bad, 3002);
    CHECK_STR(cr_run_state_name(r->state), "finished");
    check_steps(r, 2500, other_at);
    /* another file of the same name: everything is new */
    CHECK_INT(cr_file_remove("m/train_log.jsonl", NULL), 0);
    make_run("m", 20, "failed");
    read_all(b);
    CHECK_STR(cr_run_state_name(r->state), "failed");
    check_steps(r, 20, loss_at);
    cr_buf_clear(&text);
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

/* A long log has a picture at once, from samples, and the exact one when it has been read. */
TEST(a_long_log) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("m", 20000, "finished");
    cr_board *b = open_board(".");
    const cr_run *r = b->runs[0];
    const cr_track *t = cr_log_track(&r->log, CR_LINE_TRAIN);
    CHECK(r->log.has_samples && r->log.read == 0);
    CHECK(t->n_lines > 100 && t->n_lines < 20000);
    CHECK(t->n > 50 && t->b[0].x[0][0] == 0);
    CHECK_INT(cr_log_at(&r->log)->step, 19999);
    CHECK_STR(cr_run_state_name(r->state), "finished");
    CHECK_STR(r->project, "shop");
    read_all(b);
    CHECK(!r->log.has_samples);
    check_steps(r, 20000, loss_at);
    CHECK_INT(r->log.eval.n_lines, 200);
    cr_board_close(b);
    CHECK(tmpdir_leave());
}

TEST(broken_logs) {
    if (!tmpdir_enter()) SKIP("no folder");
    static const char *const texts[] = {
        "",
        "\n\n\n",
        "hello",
        "{\"event\": \"train\"}\n{\"event\": \"train\", \"step\": -4}\n",
        "\x00\xff\xfe\n{}\n",
        "{\"event\": \"end\", \"status\": 7}\n",
        "{\"event\": \"start\", \"project\": [], \"from_step\": 1e300}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_INT(cr_mkdirs("m", NULL), 0);
        CHECK_INT(cr_file_write("m/train_log.jsonl", texts[i], strlen(texts[i]), NULL), 0);
        cr_board *b = open_board(".");
        read_all(b);
        CHECK_INT(b->n, 1);
        CHECK_INT(b->runs[0]->log.train.n_lines, 0);
        cr_board_close(b);
    }
    CHECK(tmpdir_leave());
}

/* Runs are found below folders, by their logs; ids are unique. */
TEST(finding) {
    if (!tmpdir_enter()) SKIP("no folder");
    make_run("x/a", 3, "finished");
    make_run("x/deep/er/b", 3, "finished");
    make_run("y/a", 3, "finished");
    make_run("x/a/export/hidden", 3, NULL);
    const char *dirs[] = {"x", "y/"};
    cr_board *b = NULL;
    cr_err err;
    CHECK_INT(cr_board_open(&b, dirs, 2, &err), 0);
    CHECK_INT(b->n, 3);
    CHECK_STR(b->runs[0]->id, "x/a");
    CHECK_STR(b->runs[1]->id, "x/deep/er/b");
    CHECK_STR(b->runs[2]->id, "y/a");
    make_run("y/later", 3, NULL);
    read_all(b);
    CHECK_INT(b->n, 4);
    cr_board_close(b);
    dirs[0] = "nowhere";
    CHECK_INT(cr_board_open(&b, dirs, 1, &err), CR_EIO);
    CHECK(tmpdir_leave());
}

TEST_MAIN(CASE(lines), CASE(numbers), CASE(tracks), CASE(a_log_that_grows), CASE(a_long_log),
          CASE(broken_logs), CASE(finding))
