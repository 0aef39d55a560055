/*
 * benchmark.c - `crank benchmark`, TorchEasyRec's tzrec.benchmark.benchmark: configs are trained
 * several times each, and the means of their metrics compared with base results.
 *
 * Every training is a separate process (this program again), with its output in a file, so a
 * training that fails or is killed does not end the others. A base result names the config by its
 * path (tzrec/benchmark/configs/criteo/deepfm.config); only the end of the path is compared, so it
 * does not matter where the folder lies.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/self.h"
#include "base/stop.h"
#include "ckpt/ckpt.h"
#include "conf/conf.h"
#include "job/job.h"
#include "tool/tool.h"

extern char **environ;

#define BASE_FILE "base_eval_metric.json"

typedef struct work {
    const cr_benchmark_opts *o;
    cr_benchmark *b;
    cr_arena *arena;
    cr_json *base;
    const char *project;
    cr_diag *diag;
} work;

/* ---- which configs ---- */

static void add_config(work *w, const char *path) {
    cr_benchmark *b = w->b;
    if (b->n == b->cap) {
        int cap = b->cap ? 2 * b->cap : 16;
        cr_benchmark_config *v = CR_NEW_N(w->arena, cr_benchmark_config, cap);
        if (b->n) memcpy(v, b->v, sizeof(*v) * (size_t)b->n);
        b->v = v;
        b->cap = cap;
    }
    b->v[b->n++] = (cr_benchmark_config){.path = path};
}

/* is_config: does the name end as that of a config? Data and notes may lie beside configs. */
static bool is_config(const char *name) {
    static const char *const ends[] = {".config", ".pbtxt", ".prototxt", ".yaml", ".yml", ".json"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof ends / sizeof ends[0]; i++)
        if (strcmp(dot, ends[i]) == 0) return strcmp(name, BASE_FILE) != 0;
    return false;
}

/* walk adds all configs of a folder and of the folders in it. */
static cr_code walk(work *w, const char *dir, int depth, cr_err *err) {
    char **names;
    size_t n;
    CR_TRY(cr_list_dir(w->arena, dir, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        const char *path = cr_path_join(w->arena, dir, names[i]);
        if (cr_path_is_dir(path)) {
            if (depth < 16) CR_TRY(walk(w, path, depth + 1, err));
        } else if (is_config(names[i])) {
            add_config(w, path);
        }
    }
    return CR_OK;
}

static cr_code find_configs(work *w, cr_err *err) {
    const char *path = w->o->config_path;
    if (cr_path_is_dir(path))
        CR_TRY(walk(w, path, 0, err));
    else if (cr_path_exists(path))
        add_config(w, path);
    else
        return cr_fail_at(err, CR_EIO, ((cr_loc){path, 0, 0}),
                          "there is no such file or folder; give a config or a folder of configs");
    if (w->b->n == 0)
        return cr_fail_at(err, CR_EUSAGE, ((cr_loc){path, 0, 0}),
                          "the folder holds no config; give one that does");
    return CR_OK;
}

/* ---- base results ---- */

/* same_end: is one path the end of the other, beginning with a whole name? */
static bool same_end(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n < m) return same_end(b, a);
    return strcmp(a + n - m, b) == 0 && (n == m || a[n - m - 1] == '/' || *b == '/');
}

/* base_of finds the base result of a config by its path, or else by its folder and name
 * (criteo/deepfm.config). */
static const cr_json *base_of(const work *w, const char *path) {
    const char *key;
    const cr_json *val, *near = NULL;
    const char *name = cr_path_base(path), *tail = name;
    if (name > path + 1) {
        tail = name - 1;
        while (tail > path && tail[-1] != '/')
            tail--;
    }
    for (void *it = NULL; cr_json_next(w->base, &it, &key, &val);) {
        if (same_end(path, key)) return val;
        if (tail != name && same_end(key, tail)) near = val;
    }
    return near;
}

static cr_code base_wrong(const work *w, const char *config, const char *what, cr_err *err) {
    return cr_fail_at(err, CR_ECONF, ((cr_loc){w->o->base_path, 0, 0}), "%s: %s", config, what);
}

static cr_code read_base_of(work *w, cr_benchmark_config *c, cr_err *err) {
    const cr_json *base = base_of(w, c->path), *label = cr_json_get(base, "label");
    const cr_json *threshold = cr_json_get(base, "threshold"),
                  *count = cr_json_get(base, "run_cnt");
    int64_t runs = 1;
    const char *key;
    const cr_json *val;
    c->has_base = base != NULL;
    c->n_runs = w->o->runs > 0 ? w->o->runs : 1;
    if (!base) {
        cr_diag_add(w->diag, CR_SEV_WARN, CR_ECONF, (cr_loc){w->o->base_path, 0, 0},
                    "there is no base result for %s; its metrics are not compared", c->path);
        return CR_OK;
    }
    if (!cr_json_is_obj(label))
        return base_wrong(w, c->path,
                          "it has no base metrics; write them as \"label\": {\"auc\": 0.78}", err);
    if (count && (!cr_json_i64(count, &runs) || runs < 1 || runs > 1000))
        return base_wrong(w, c->path, "run_cnt is no number from 1 to 1000", err);
    if (w->o->runs == 0) c->n_runs = (int)runs;
    c->metrics = CR_NEW_N(w->arena, cr_benchmark_metric, cr_json_len(label) + 1);
    for (void *it = NULL; cr_json_next(label, &it, &key, &val);) {
        cr_benchmark_metric *m = &c->metrics[c->n_metrics++];
        const cr_json *t = cr_json_is_obj(threshold) ? cr_json_get(threshold, key) : threshold;
        m->name = cr_arena_strdup(w->arena, key);
        if (!cr_json_f64(val, &m->base))
            return base_wrong(w, c->path, "a base metric is no number", err);
        if (!cr_json_f64(t, &m->threshold))
            return base_wrong(w, c->path,
                              "threshold is no number, and no object with one per metric; write "
                              "\"threshold\": 0.002",
                              err);
    }
    return CR_OK;
}

static cr_code read_base(work *w, cr_err *err) {
    if (!cr_path_exists(w->o->base_path))
        return cr_fail_at(err, CR_EIO, ((cr_loc){w->o->base_path, 0, 0}),
                          "there is no such file with base results; write {\"%s\": {\"label\": "
                          "{\"auc\": 0.78}, \"threshold\": 0.002}} into it, or name another with "
                          "--base_metric_path",
                          cr_path_base(w->b->v[0].path));
    cr_buf text;
    cr_buf_init(&text);
    cr_code code = cr_file_read(w->o->base_path, 64 << 20, &text, err);
    if (code == CR_OK) code = cr_json_parse(&w->base, text.data, text.n, err);
    if (code == CR_OK && !cr_json_is_obj(w->base))
        code = cr_fail(err, CR_ECONF, "it must be one object, a member per config");
    if (code != CR_OK && !err->at.path) {
        snprintf(err->path, sizeof(err->path), "%s", w->o->base_path);
        err->at = (cr_loc){err->path, 0, 0};
    }
    for (int i = 0; i < w->b->n && code == CR_OK; i++)
        code = read_base_of(w, &w->b->v[i], err);
    cr_buf_clear(&text);
    return code;
}

/* ---- one run ---- */

/* filled replaces {PROJECT}, and {DIR} and {NAME} by the folder and the name of the config. */
static const char *filled(work *w, const cr_benchmark_config *c, const char *text) {
    const char *name = cr_path_base(c->path);
    const char *dir_end = name > c->path ? name - 1 : name, *dir = dir_end;
    while (dir > c->path && dir[-1] != '/')
        dir--;
    size_t stem = strlen(name);
    if (stem > 7 && strcmp(name + stem - 7, ".config") == 0) stem -= 7;
    const struct {
        const char *mark, *value;
        size_t n;
    } marks[] = {{"{PROJECT}", w->project, strlen(w->project)},
                 {"{DIR}", dir, (size_t)(dir_end - dir)},
                 {"{NAME}", name, stem}};
    cr_buf out;
    cr_buf_init(&out);
    while (*text) {
        size_t i = 0;
        while (i < 3 && strncmp(text, marks[i].mark, strlen(marks[i].mark)) != 0)
            i++;
        if (i < 3) {
            cr_buf_add(&out, marks[i].value, marks[i].n);
            text += strlen(marks[i].mark);
        } else {
            cr_buf_char(&out, *text++);
        }
    }
    const char *copy = cr_arena_strndup(w->arena, out.data ? out.data : "", out.n);
    cr_buf_clear(&out);
    return copy;
}

static void fill_all(work *w, const cr_benchmark_config *c, cr_conf_node *n, int depth) {
    if (n->kind == CR_NODE_SCALAR) {
        if (n->quoted && strchr(n->text, '{')) {
            n->text = filled(w, c, n->text);
            n->len = strlen(n->text);
        }
        return;
    }
    for (size_t i = 0; depth < 64 && i < n->n; i++)
        fill_all(w, c, n->v[i].val, depth + 1);
}

/* flat_name makes a name for files of a run: tzrec_benchmark_configs_criteo_deepfm_0. */
static const char *flat_name(work *w, const char *path, int run) {
    size_t n = strlen(path);
    if (n > 7 && strcmp(path + n - 7, ".config") == 0) n -= 7;
    char *name = cr_arena_printf(w->arena, "%.*s_%d", (int)n, path, run);
    for (char *p = name; *p; p++)
        if (*p == '/' || *p == '\\') *p = '_';
    return name;
}

/* write_config writes the config of one run: with filled-in paths, a model_dir and a seed of its
 * own, and the user's edits. */
static cr_code write_config(work *w, const cr_benchmark_config *c, int run, const char *model_dir,
                            const char *path, cr_err *err) {
    cr_conf_doc doc;
    cr_diag diag;
    char seed[64];
    cr_conf_doc_init(&doc);
    cr_diag_init(&diag);
    cr_code code = cr_conf_load(&doc, c->path, &diag);
    if (code == CR_OK) {
        fill_all(w, c, doc.root, 0);
        cr_tree_put_str(&doc, doc.root, "model_dir", (cr_loc){"--experiment_path", 0, 0},
                        model_dir);
        if (w->o->train_input_path)
            cr_tree_put_str(&doc, doc.root, "train_input_path",
                            (cr_loc){"--train_input_path", 0, 0},
                            filled(w, c, w->o->train_input_path));
        if (w->o->eval_input_path)
            cr_tree_put_str(&doc, doc.root, "eval_input_path", (cr_loc){"--eval_input_path", 0, 0},
                            filled(w, c, w->o->eval_input_path));
        /* runs that do not differ would be one run */
        snprintf(seed, sizeof(seed), "train_config.seed=%d", 2026 + run);
        cr_conf_node *train = cr_conf_find(doc.root, "train_config");
        if (run > 0 || !cr_conf_find(train, "seed"))
            code = cr_conf_set(&doc, &cr_root_msg, seed, false, &diag);
        if (code == CR_OK && w->o->edit_config_json)
            code = cr_conf_edit_json(&doc, &cr_root_msg, w->o->edit_config_json, &diag);
        for (int i = 0; i < w->o->n_set && code == CR_OK; i++)
            code = cr_conf_set(&doc, &cr_root_msg, w->o->set[i], w->o->n_set > 1, &diag);
    }
    if (code == CR_OK) {
        cr_buf text;
        cr_buf_init(&text);
        cr_conf_print(&text, &cr_root_msg, doc.root, CR_SYNTAX_PBTXT);
        code = cr_file_write(path, text.data ? text.data : "", text.n, err);
        cr_buf_clear(&text);
    } else {
        cr_diag_first(&diag, err);
    }
    cr_diag_clear(&diag);
    cr_conf_doc_clear(&doc);
    return code;
}

/* await waits for a training. When the user asks to stop, it asks the training to stop, once. */
static cr_code await(pid_t pid, int *status, cr_err *err) {
    const struct timespec moment = {.tv_nsec = 20000000};
    bool asked = false;
    pid_t ended;
    while ((ended = waitpid(pid, status, WNOHANG)) <= 0) {
        if (ended < 0 && errno != EINTR)
            return cr_fail(err, CR_ERUN, "cannot wait for a training: %s", strerror(errno));
        if (cr_stop_requested && !asked) asked = kill(pid, SIGTERM) == 0;
        nanosleep(&moment, NULL);
    }
    return CR_OK;
}

/* train runs this program again, as `crank train`, and sends its output to the log. */
static cr_code train(work *w, const char *config, const char *log, cr_err *err) {
    char threads[24], prog[] = "crank", cmd[] = "train", flag[] = "--threads";
    char *path = cr_arena_strdup(w->arena, config);
    snprintf(threads, sizeof(threads), "%d", w->o->threads);
    char libraries[] = "--allow_libraries";
    char *argv[7] = {prog, cmd, path, NULL};
    int n = 3;
    if (w->o->allow_libraries) argv[n++] = libraries;
    if (w->o->threads > 0) {
        argv[n++] = flag;
        argv[n++] = threads;
    }
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    pid_t pid;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    /* a separate process group: signals of the terminal come only here, and await passes one on */
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    char self[CR_SELF_MAX];
    int e = !cr_self_start(self) ? ENOENT : posix_spawn(&pid, self, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    if (e)
        return cr_fail(err, CR_ERUN, "cannot start a training: %s%s", strerror(e),
                       cr_errno_cure(e));
    int status = 0;
    CR_TRY(await(pid, &status, err));
    if (WIFSIGNALED(status))
        return cr_fail(err, CR_ERUN, "signal %d ended the training", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return cr_fail(err, CR_ERUN, "the training ended with exit code %d", WEXITSTATUS(status));
    return CR_OK;
}

/* last_line reads the last line of a file of JSON lines. It returns NULL if there is none. */
static cr_json *last_line(const char *path) {
    cr_buf text;
    cr_json *j = NULL;
    cr_buf_init(&text);
    if (cr_file_read(path, 64 << 20, &text, NULL) == CR_OK && text.n) {
        size_t end = text.n, begin;
        while (end > 0 && strchr("\r\n ", text.data[end - 1]))
            end--;
        for (begin = end; begin > 0 && text.data[begin - 1] != '\n';)
            begin--;
        if (end > begin && cr_json_parse(&j, text.data + begin, end - begin, NULL) != CR_OK)
            j = NULL;
    }
    cr_buf_clear(&text);
    return j;
}

/* take_results adds the metrics and the speed of a run to the sums. */
static cr_code take_results(work *w, cr_benchmark_config *c, const char *model_dir, cr_err *err) {
    cr_ckpt_metric *eval;
    int n_eval;
    bool any;
    CR_TRY(cr_ckpt_results_find(w->arena, model_dir, -1, &eval, &n_eval, &any, err));
    cr_json *end = last_line(cr_path_join(w->arena, model_dir, "train_log.jsonl"));
    double rows = 0, seconds = 0, part;
    static const char *const parts[] = {"seconds.step", "seconds.update", "seconds.group",
                                        "seconds.wait"};
    cr_code code = CR_OK;
    for (size_t i = 0; i < 4; i++)
        if (cr_json_f64(cr_json_get(end, parts[i]), &part)) seconds += part;
    if (cr_json_f64(cr_json_get(end, "rows"), &rows) && seconds > 0)
        c->rows_per_s += rows / seconds;
    if (!c->has_base && c->n_metrics == 0) { /* Without a base result all metrics are shown. */
        c->metrics = CR_NEW_N(w->arena, cr_benchmark_metric, n_eval + 2);
        for (int i = 0; i < n_eval; i++)
            c->metrics[c->n_metrics++] = (cr_benchmark_metric){.name = eval[i].name, .base = NAN};
    }
    for (int i = 0; i < c->n_metrics && code == CR_OK; i++) {
        int k = 0;
        while (k < n_eval && strcmp(eval[k].name, c->metrics[i].name) != 0)
            k++;
        if (k < n_eval && !isnan(eval[k].value))
            c->metrics[i].mean += eval[k].value;
        else
            code = cr_fail(err, CR_ERUN, "the evaluation has no metric '%s'", c->metrics[i].name);
    }
    cr_json_free(end);
    return code;
}

static cr_code one_run(work *w, cr_benchmark_config *c, int run, cr_err *err) {
    const char *name = flat_name(w, c->path, run), *dir = w->b->dir;
    const char *model = cr_arena_printf(w->arena, "%s/models/%s", dir, name);
    const char *config = cr_arena_printf(w->arena, "%s/configs/%s.config", dir, name);
    c->log = cr_arena_printf(w->arena, "%s/logs/%s.log", dir, name);
    cr_code code = write_config(w, c, run, model, config, err);
    if (code == CR_OK) code = train(w, config, c->log, err);
    if (code == CR_OK) {
        /* a run counts with all its metrics or not at all */
        cr_benchmark_config before = *c;
        double *means = CR_NEW_N(w->arena, double, c->n_metrics + 1);
        for (int i = 0; i < c->n_metrics; i++)
            means[i] = c->metrics[i].mean;
        code = take_results(w, c, model, err);
        for (int i = 0; code != CR_OK && i < before.n_metrics; i++)
            c->metrics[i].mean = means[i];
    }
    return code;
}

/* ---- all of them ---- */

static void judge(cr_benchmark_config *c) {
    int good = c->n_runs - c->n_failed;
    for (int i = 0; i < c->n_metrics; i++) {
        cr_benchmark_metric *m = &c->metrics[i];
        m->mean = good ? m->mean / good : NAN;
        double diff = m->mean - m->base;
        m->verdict = !(good && c->has_base)  ? CR_BENCH_NONE
                     : diff >= m->threshold  ? CR_BENCH_BETTER
                     : diff <= -m->threshold ? CR_BENCH_WORSE
                                             : CR_BENCH_BALANCE;
        c->n_better += m->verdict == CR_BENCH_BETTER;
        c->n_worse += m->verdict == CR_BENCH_WORSE;
    }
    c->rows_per_s = good ? c->rows_per_s / good : 0;
    /* TorchEasyRec does not trust the means either if half of the runs failed. */
    c->unbelievable = c->n_failed >= good;
}

static cr_code write_means(const work *w, cr_err *err) {
    cr_buf text;
    cr_jw jw;
    cr_buf_init(&text);
    cr_jw_init(&jw, &text);
    cr_jw_obj(&jw, NULL);
    for (int i = 0; i < w->b->n; i++) {
        cr_jw_obj(&jw, w->b->v[i].path);
        for (int k = 0; k < w->b->v[i].n_metrics; k++)
            cr_jw_f64(&jw, w->b->v[i].metrics[k].name, w->b->v[i].metrics[k].mean);
        cr_jw_end(&jw);
    }
    cr_jw_end(&jw);
    cr_buf_char(&text, '\n');
    cr_code code = cr_file_write(cr_path_join(w->arena, w->b->dir, "benchmark_eval.txt"), text.data,
                                 text.n, err);
    cr_buf_clear(&text);
    return code;
}

static cr_code make_dirs(const work *w, cr_err *err) {
    static const char *const names[] = {"models", "configs", "logs"};
    for (size_t i = 0; i < 3; i++)
        CR_TRY(cr_mkdirs(cr_path_join(w->arena, w->b->dir, names[i]), err));
    return CR_OK;
}

static cr_code run_all(work *w, cr_err *err) {
    CR_TRY(find_configs(w, err));
    CR_TRY(read_base(w, err));
    w->b->dir = cr_arena_printf(w->arena, "%s_%lld", w->o->experiment_path, (long long)time(NULL));
    CR_TRY(make_dirs(w, err));
    if (w->o->begins) w->o->begins(w->o->ctx, w->b);
    for (int i = 0; i < w->b->n; i++) {
        cr_benchmark_config *c = &w->b->v[i];
        for (int run = 0; run < c->n_runs; run++) {
            cr_err why = {0};
            cr_code code = cr_stop_requested ? CR_ESTOP : one_run(w, c, run, &why);
            if (cr_stop_requested)
                return cr_fail(err, CR_ESTOP, "stopped by a signal; the runs so far are in %s",
                               w->b->dir);
            if (code == CR_OK) continue;
            char text[800];
            cr_err_text(&why, text, sizeof(text));
            c->n_failed++;
            c->why = cr_arena_strdup(w->arena, text);
        }
        judge(c);
        if (w->o->done) w->o->done(w->o->ctx, c);
    }
    return write_means(w, err);
}

/* Returns the base results in the folder of the configs, else those of TorchEasyRec. */
static const char *beside(cr_arena *a, const char *path) {
    const char *dir = cr_path_is_dir(path) ? path : cr_path_dir(a, path);
    const char *here = strcmp(dir, ".") == 0 ? BASE_FILE : cr_path_join(a, dir, BASE_FILE);
    static const char theirs[] = "tzrec/benchmark/configs/" BASE_FILE;
    return cr_path_exists(here) || !cr_path_exists(theirs) ? here : theirs;
}

cr_code cr_benchmark_run(const cr_benchmark_opts *o, cr_benchmark *b, cr_arena *arena,
                         cr_diag *diag) {
    cr_benchmark_opts own = *o;
    work w = {.o = &own, .b = b, .arena = arena, .diag = diag};
    cr_err err = {0};
    *b = (cr_benchmark){0};
    if (!own.base_path) own.base_path = beside(arena, o->config_path);
    w.project = getenv("CI_ODPS_PROJECT_NAME");
    if (!w.project) w.project = "";
    cr_code code = run_all(&w, &err);
    cr_json_free(w.base);
    return code == CR_OK ? CR_OK : cr_diag_err(diag, &err);
}
