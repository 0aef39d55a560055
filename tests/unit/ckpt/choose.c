/*
 * Which checkpoint is taken, which are deleted; directories that appear whole.
 */
#include "ckpt/ckpt.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "harness.h"

static char root[] = "/tmp/crank_test_XXXXXX";
static cr_arena arena;
static int n_dirs;

static char *new_dir(void) {
    char *d = cr_arena_printf(&arena, "%s/d%d", root, n_dirs++);
    if (cr_mkdirs(d, NULL) != CR_OK) exit(1);
    return d;
}

static void save(const char *dir, int64_t step) {
    float x = (float)step;
    cr_ckpt_tensor t = {.name = "x",
                        .n_dims = 1,
                        .shape = {1},
                        .dtype = CR_DT_F32,
                        .get = cr_ckpt_get_flat,
                        .put = cr_ckpt_put_flat,
                        .ctx = &x};
    cr_ckpt_state s = {.step = step, .lanes = 8};
    CHECK_INT(cr_ckpt_save(dir, &s, &t, 1, NULL, NULL), CR_OK);
}

static void results(const char *dir, const char *text) {
    CHECK_INT(cr_file_write(cr_path_join(&arena, dir, "train_eval_result_v2.txt"), text,
                            strlen(text), NULL),
              CR_OK);
}

TEST(names) {
    char *dir = new_dir();
    cr_err err;
    save(dir, 0);
    save(dir, 9);
    save(dir, 10);
    static const char *const others[] = {"model.ckpt-",   "model.ckpt-x",
                                         "model.ckpt-1x", "model.ckpt-07",
                                         "model.ckpt--5", "model.ckpt-99999999999999999999",
                                         "xmodel.ckpt-3", ".tmp-model.ckpt-99-1"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_INT(cr_mkdirs(cr_path_join(&arena, dir, others[i]), &err), CR_OK);
    CHECK_INT(cr_file_write(cr_path_join(&arena, dir, "model.ckpt-50"), "a file", 6, &err), CR_OK);
    int64_t *steps, step;
    int n;
    CHECK_INT(cr_ckpt_steps(&arena, dir, &steps, &n, &err), CR_OK);
    CHECK_INT(n, 3);
    CHECK(n == 3 && steps[0] == 0 && steps[1] == 9 && steps[2] == 10);
    char *path;
    CHECK_INT(cr_ckpt_latest(&arena, dir, CR_NEED_ALL, NULL, &path, &step, &err), CR_OK);
    CHECK_INT(step, 10);
    CHECK_INT(cr_ckpt_resolve(&arena, dir, CR_NEED_ALL, NULL, &path, &err), CR_OK);
    CHECK_STR(path, cr_path_join(&arena, dir, "model.ckpt-10"));
    char *with_slash = cr_arena_printf(&arena, "%s/model.ckpt-9//", dir);
    CHECK_INT(cr_ckpt_resolve(&arena, with_slash, CR_NEED_ALL, NULL, &path, &err), CR_OK);
    CHECK_STR(path, cr_path_join(&arena, dir, "model.ckpt-9"));
    CHECK_INT(cr_ckpt_resolve(&arena, new_dir(), CR_NEED_ALL, NULL, &path, &err), CR_ERUN);
    CHECK_INT(cr_ckpt_resolve(&arena, "/nonexistent", CR_NEED_ALL, NULL, &path, &err), CR_EIO);
}

TEST(best) {
    char *dir = new_dir();
    cr_err err;
    char *path;
    int64_t step;
    CHECK_INT(cr_ckpt_best(&arena, dir, "auc", true, CR_NEED_ALL, NULL, &path, &step, &err), CR_OK);
    CHECK(path == NULL);
    for (int i = 1; i <= 4; i++)
        save(dir, i * 10);
    /* no result file: the newest */
    CHECK_INT(cr_ckpt_best(&arena, dir, "auc", true, CR_NEED_ALL, NULL, &path, &step, &err), CR_OK);
    CHECK_INT(step, 40);
    CHECK_INT(cr_ckpt_best_step(dir, "auc", true, &step, &err), CR_OK);
    CHECK_INT(step, -1);
    results(dir, "{\"global_step\": 10, \"auc\": 0.7, \"loss\": 0.4}\n"
                 "{\"global_step\": 20, \"auc\": 0.75, \"loss\": 0.5}\n"
                 "{\"global_step\": 30, \"auc\": 0.75, \"loss\": 0.3}\n"
                 "{\"global_step\": 40, \"auc\": null, \"loss\": 0.6}\n"
                 "{\"global_step\": 50, \"au"); /* cut by a crash */
    cr_log_set_level(CR_LOG_ERROR);
    CHECK_INT(cr_ckpt_best(&arena, dir, "auc", true, CR_NEED_ALL, NULL, &path, &step, &err), CR_OK);
    CHECK_INT(step, 20); /* the first of equals */
    CHECK_STR(path, cr_path_join(&arena, dir, "model.ckpt-20"));
    CHECK_INT(cr_ckpt_best(&arena, dir, "loss", false, CR_NEED_ALL, NULL, &path, &step, &err),
              CR_OK);
    CHECK_INT(step, 30);
    CHECK_INT(cr_ckpt_best(&arena, dir, "gauc", true, CR_NEED_ALL, NULL, &path, &step, &err),
              CR_ECONF);
    CHECK(strstr(err.msg, "auc, loss") != NULL);
    CHECK_INT(cr_ckpt_best(&arena, dir, NULL, true, CR_NEED_ALL, NULL, &path, &step, &err),
              CR_ECONF);
    CHECK(strstr(err.msg, "several metrics") != NULL);
    CHECK_INT(cr_rmtree(cr_path_join(&arena, dir, "model.ckpt-20"), &err), CR_OK);
    /* an evaluation between checkpoints, or a deleted one: the best of those that are there */
    CHECK_INT(cr_ckpt_best(&arena, dir, "auc", true, CR_NEED_ALL, NULL, &path, &step, &err), CR_OK);
    CHECK_INT(step, 30);
    CHECK_INT(cr_ckpt_best_step(dir, "auc", true, &step, &err), CR_OK);
    CHECK_INT(step, 30);
    results(dir, "{\"global_step\": 20, \"auc\": 0.75}\n");
    CHECK_INT(cr_ckpt_best_step(dir, "auc", true, &step, &err), CR_OK);
    CHECK_INT(step, -1);
    CHECK_INT(cr_ckpt_best(&arena, dir, "auc", true, CR_NEED_ALL, NULL, &path, &step, &err),
              CR_ERUN);
    CHECK(strstr(err.msg, "none of the 1 evaluated steps") != NULL);
    /* a step that was evaluated again: the last line counts, and the runner-up is not forgotten */
    cr_ckpt_eval any, saved;
    results(dir, "{\"global_step\": 10, \"auc\": 0.7}\n"
                 "{\"global_step\": 30, \"auc\": 0.9}\n"
                 "{\"global_step\": 40, \"auc\": 0.8}\n"
                 "{\"global_step\": 35, \"loss\": 0.8}\n"
                 "{\"global_step\": 36, \"auc\": 0.85}\n"
                 "{\"global_step\": 30, \"auc\": 0.6}\n");
    CHECK(cr_ckpt_best_eval(dir, "auc", true, &any, &saved));
    CHECK_INT(any.step, 36); /* it has no checkpoint */
    CHECK(any.value == 0.85);
    CHECK_INT(saved.step, 40);
    CHECK(saved.value == 0.8);
    CHECK(cr_ckpt_best_eval(dir, "auc", false, &any, &saved));
    CHECK_INT(any.step, 30);
    CHECK_INT(saved.step, 30);
    CHECK(!cr_ckpt_best_eval(dir, "gauc", true, &any, &saved));
    results(dir, "{\"global_step\": 10, \"auc\": 0.7}\n"
                 "{\"global_step\": 30, \"auc\": 0.9}\n"
                 "{\"global_step\": 40, \"auc\": 0.8}\n"
                 "{\"global_step\": 30, \"auc\": 0.6}\n");
    CHECK_INT(cr_ckpt_best_step(dir, "auc", true, &step, &err), CR_OK);
    CHECK_INT(step, 40);
    cr_log_set_level(CR_LOG_INFO);
    results(dir, "{\"auc\": 0.7, \"global_step\": 10}\n");
    CHECK_INT(cr_ckpt_best(&arena, dir, NULL, true, CR_NEED_ALL, NULL, &path, &step, &err), CR_OK);
    CHECK_INT(step, 10);
}

TEST(prune) {
    char *dir = new_dir();
    cr_err err;
    for (int i = 1; i <= 6; i++)
        save(dir, i);
    CHECK_INT(cr_ckpt_prune(dir, 0, -1, &err), CR_OK);
    int64_t *steps;
    int n;
    CHECK_INT(cr_ckpt_steps(&arena, dir, &steps, &n, &err), CR_OK);
    CHECK_INT(n, 6);
    CHECK_INT(cr_ckpt_prune(dir, 2, 3, &err), CR_OK);
    CHECK_INT(cr_ckpt_steps(&arena, dir, &steps, &n, &err), CR_OK);
    CHECK(n == 3 && steps[0] == 3 && steps[1] == 5 && steps[2] == 6);
    CHECK_INT(cr_ckpt_prune(dir, 10, -1, &err), CR_OK);
    CHECK_INT(cr_ckpt_steps(&arena, dir, &steps, &n, &err), CR_OK);
    CHECK_INT(n, 3);
    char **names;
    size_t n_names;
    CHECK_INT(cr_list_dir(&arena, dir, &names, &n_names, &err), CR_OK);
    CHECK_INT(n_names, 3);
}

TEST(outdir) {
    char *dir = new_dir();
    char *path = cr_path_join(&arena, dir, "sub/export");
    cr_err err;
    cr_outdir *d;
    char **names;
    size_t n;
    CHECK_INT(cr_outdir_open(&d, cr_arena_printf(&arena, "%s/", path), &err), CR_OK);
    const char *tmp = cr_arena_strdup(&arena, cr_outdir_tmp(d));
    CHECK_INT(cr_file_write(cr_path_join(&arena, tmp, "a.txt"), "a", 1, &err), CR_OK);
    CHECK_INT(cr_mkdirs(cr_path_join(&arena, tmp, "deep/er"), &err), CR_OK);
    CHECK_INT(cr_file_write(cr_path_join(&arena, tmp, "deep/er/b"), "b", 1, &err), CR_OK);
    CHECK(!cr_path_exists(path));
    CHECK_INT(cr_outdir_commit(d, &err), CR_OK);
    CHECK(cr_path_exists(cr_path_join(&arena, path, "deep/er/b")));
    CHECK(!cr_path_exists(tmp));
    /* a second one is refused, at once */
    CHECK_INT(cr_outdir_open(&d, path, &err), CR_EIO);
    CHECK(strstr(err.msg, "exists already") != NULL);
    /* and at the end when it appeared meanwhile */
    char *path2 = cr_path_join(&arena, dir, "sub/other");
    CHECK_INT(cr_outdir_open(&d, path2, &err), CR_OK);
    CHECK_INT(cr_mkdirs(path2, &err), CR_OK);
    CHECK_INT(cr_outdir_commit(d, &err), CR_EIO);
    CHECK_INT(cr_list_dir(&arena, cr_path_join(&arena, dir, "sub"), &names, &n, &err), CR_OK);
    CHECK_INT(n, 2);
    /* abort leaves nothing; so does a killed run once the name is used again */
    char *path3 = cr_path_join(&arena, dir, "sub/third");
    CHECK_INT(cr_outdir_open(&d, path3, &err), CR_OK);
    cr_outdir_abort(d);
    cr_log_set_level(CR_LOG_ERROR);
    pid_t pid = fork();
    if (pid == 0) _exit(cr_outdir_open(&d, path3, NULL) != CR_OK);
    int status;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_INT(cr_list_dir(&arena, cr_path_join(&arena, dir, "sub"), &names, &n, &err), CR_OK);
    CHECK_INT(n, 3);
    CHECK_INT(cr_outdir_open(&d, path3, &err), CR_OK);
    CHECK_INT(cr_outdir_commit(d, &err), CR_OK);
    CHECK_INT(cr_list_dir(&arena, cr_path_join(&arena, dir, "sub"), &names, &n, &err), CR_OK);
    CHECK_INT(n, 3);
    cr_log_set_level(CR_LOG_INFO);
    CHECK_INT(cr_outdir_open(&d, "/proc/none/export", &err), CR_EIO);
    CHECK_INT(cr_outdir_open(&d, "", &err), CR_EUSAGE);
}

static void results_are(const char *dir, const char *want) {
    cr_buf text;
    cr_buf_init(&text);
    const char *path = cr_path_join(&arena, dir, "train_eval_result_v2.txt");
    if (*want) {
        CHECK_INT(cr_file_read(path, 0, &text, NULL), CR_OK);
        CHECK_STR(text.data, want);
    } else {
        CHECK(!cr_path_exists(path));
    }
    cr_buf_clear(&text);
}

/* half a line, lines of steps that are trained again, two lines of a step, lines out of order */
TEST(results_cut) {
    char *dir = new_dir();
    const char *path = cr_path_join(&arena, dir, "train_eval_result_v2.txt");
    static const char text[] = "{\"global_step\": 20, \"auc\": 0.5}\n"
                               "{\"global_step\": 10, \"auc\": 0.1}\n"
                               "{\"global_step\": 10, \"auc\": null}\n"
                               "{\"global_step\": 30, \"auc\": 0.7}\n"
                               "{\"global_st";
    cr_ckpt_metric *v;
    int n;
    bool any;
    cr_log_set_level(CR_LOG_ERROR);
    CHECK_INT(cr_ckpt_results_cut(dir, 9, NULL), CR_OK); /* no file */
    CHECK_INT(cr_file_write(path, text, strlen(text), NULL), CR_OK);
    CHECK_INT(cr_ckpt_results_find(&arena, dir, 10, &v, &n, &any, NULL), CR_OK);
    CHECK(any && n == 1 && isnan(v[0].value));
    CHECK_INT(cr_ckpt_results_find(&arena, dir, 11, &v, &n, &any, NULL), CR_OK);
    CHECK(any && n == -1);
    CHECK_INT(cr_ckpt_results_cut(dir, 20, NULL), CR_OK);
    static const char cut[] = "{\"global_step\": 10, \"auc\": null}\n"
                              "{\"global_step\": 20, \"auc\": 0.5}\n";
    results_are(dir, cut);
    CHECK_INT(cr_ckpt_results_cut(dir, 25, NULL), CR_OK);
    results_are(dir, cut);
    CHECK_INT(cr_ckpt_results_cut(dir, -1, NULL), CR_OK);
    results_are(dir, "");
    cr_log_set_level(CR_LOG_INFO);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(names), CASE(best), CASE(results_cut), CASE(prune),
                                   CASE(outdir)};
    if (!mkdtemp(root)) return 1;
    cr_arena_init(&arena, 0);
    int rc = t_run(cases, sizeof cases / sizeof *cases, argc, argv);
    if (cr_rmtree(root, NULL) != CR_OK) rc = 1;
    cr_arena_clear(&arena);
    return rc;
}
