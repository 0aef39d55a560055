/*
 * mlflow.c - the files that MLflow reads: places, names and lines of its file store.
 */
#include "unit/board/board_test.h"

static const char *text_of(cr_buf *b, const char *dir, const char *name) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    cr_buf_reset(b);
    CHECK_INT(cr_file_read(path, 0, b, NULL), 0);
    return b->data ? b->data : "";
}

/* Finds the one folder in dir. */
static void only_folder(const char *dir, char *out, size_t size) {
    cr_arena a;
    char **names;
    size_t n, found = 0;
    cr_arena_init(&a, 0);
    CHECK_INT(cr_list_dir(&a, dir, &names, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        if (!cr_path_is_dir(path)) continue;
        snprintf(out, size, "%s", path);
        found++;
    }
    CHECK_INT(found, 1);
    cr_arena_clear(&a);
}

TEST(a_run) {
    if (!tmpdir_enter()) SKIP("no folder");
    cr_err err;
    cr_buf b;
    char id[33] = "", again[33] = "", exp[400] = "", run[400] = "";
    cr_buf_init(&b);
    /* it was killed behind step 9 and continued from step 4 */
    make_run("m", 10, NULL);
    start_line(&b, 4);
    for (int64_t i = 5; i < 8; i++)
        train_line(&b, i, 100 * (i - 4), 0.25);
    eval_line(&b, 7, 0.75);
    cr_buf_str(&b, "{\"event\": \"train\", \"time\": 2000, \"step\": 8, \"../../up\": 1, "
                   "\"a/b\": 2, \"/\": 3, \"x\\u0000\": 4, \"..\": 5}\n");
    end_line(&b, 8, "finished");
    add_text("m/train_log.jsonl", b.data);
    add_text("m/notes.md", "second try\n");
    CHECK_INT(cr_mlflow_write("store", "m", id, &err), 0);
    CHECK_INT(strlen(id), 32);
    only_folder("store", exp, sizeof exp);
    only_folder(exp, run, sizeof run);
    CHECK_STR(cr_path_base(run), id);
    text_of(&b, exp, "meta.yaml");
    CHECK(strstr(b.data, "lifecycle_stage: active\nname: \"shop\"\n") != NULL);
    text_of(&b, run, "meta.yaml");
    CHECK(strstr(b.data, "\nrun_name: \"night\"\n") && strstr(b.data, "\nstatus: 3\n") &&
          strstr(b.data, "\nstart_time: 1000500\n") && strstr(b.data, "\nend_time: 9000000\n") &&
          strstr(b.data, "\nsource_type: 4\n") && strstr(b.data, id));
    CHECK_STR(text_of(&b, run, "tags/mlflow.runName"), "night");
    CHECK_STR(text_of(&b, run, "tags/mlflow.note.content"), "second try\n");
    CHECK_STR(text_of(&b, run, "metrics/val.auc"), "1004700 0.75 7\n");
    text_of(&b, run, "metrics/train.loss");
    int lines = 0;
    for (const char *s = b.data; (s = strchr(s, '\n')); s++)
        lines++;
    CHECK_INT(lines, 8); /* 0 to 4 of the first run, 5 to 7 of the second */
    CHECK(strstr(b.data, "\n1003500 0.25 5\n") != NULL);
    /* no name leads out of the folder */
    CHECK_STR(text_of(&b, run, "metrics/a/b"), "2000000 2 8\n");
    CHECK(!cr_path_exists("store/up") && !cr_path_exists("up") && !cr_path_exists("../up"));
    /* again: the same run */
    CHECK_INT(cr_mlflow_write("store", "m", again, &err), 0);
    CHECK_STR(again, id);
    only_folder(exp, run, sizeof run);
    CHECK_INT(cr_mkdirs("none", NULL), 0);
    CHECK_INT(cr_mlflow_write("store", "none", id, &err), CR_ERUN);
    cr_buf_clear(&b);
    CHECK(tmpdir_leave());
}

TEST_MAIN(CASE(a_run))
