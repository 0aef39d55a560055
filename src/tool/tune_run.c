/*
 * tune_run.c - runs trials of `crank tune`: each is this program again, as `crank train` with a
 * config of its own, its output in a file.
 *
 * A trial's result is one small file, written whole when its process has ended well, and a trial
 * that has one is never run again. A trial without one continues from its newest checkpoint, which
 * gives the bits of a run that was not disturbed. So the same command goes on after kill -9, and
 * trials die with the process that started them.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/json.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "base/self.h"
#include "base/stop.h"
#include "tool/tune.h"

typedef struct crew {
    cr_tune *t;
    const cr_tune_opts *o;
    int rung;
    cr_arena *a;
    int running, done, n;
} crew;

static const char *file_of(const crew *c, const char *folder, int i, const char *end) {
    const char *rung = c->t->unit ? cr_arena_printf(c->a, "-rung_%d", c->rung) : "";
    return cr_arena_printf(c->a, "%s/%s/trial_%03d%s%s", c->t->dir, folder, i, rung, end);
}

/* ---- results ---- */

static bool known_result(const crew *c, int i) {
    cr_tune_trial *x = &c->t->trials[i];
    cr_buf text;
    cr_json *j = NULL;
    cr_buf_init(&text);
    bool ok = cr_file_read(file_of(c, "results", i, ".json"), 1 << 20, &text, NULL) == CR_OK &&
              cr_json_parse(&j, text.data, text.n, NULL) == CR_OK &&
              cr_json_f64(cr_json_get(j, "value"), &x->value) &&
              cr_json_i64(cr_json_get(j, "step"), &x->step);
    if (ok) x->rung = c->rung;
    cr_json_free(j);
    cr_buf_clear(&text);
    return ok;
}

static cr_code record(const crew *c, int i, cr_err *err) {
    const cr_tune_trial *x = &c->t->trials[i];
    cr_buf text;
    cr_jw w;
    cr_buf_init(&text);
    cr_jw_init(&w, &text);
    cr_jw_obj(&w, NULL);
    cr_jw_i64(&w, "trial", i);
    cr_jw_str(&w, "values", cr_tune_name(c->t, x, c->a));
    cr_jw_str(&w, "metric", c->t->metric);
    cr_jw_f64(&w, "value", x->value);
    cr_jw_i64(&w, "step", x->step);
    cr_jw_end(&w);
    cr_buf_char(&text, '\n');
    cr_kill_point("trial");
    cr_code code = cr_file_write(file_of(c, "results", i, ".json"), text.data, text.n, err);
    cr_buf_clear(&text);
    return code;
}

/* Returns the last line of a trial that failed which is none of its log: the error, without the name
 * of the command. */
static const char *last_words(const crew *c, int i, const char *otherwise) {
    static const char before[] = "crank train: ";
    cr_buf text;
    const char *found = NULL;
    cr_buf_init(&text);
    if (cr_file_read(file_of(c, "logs", i, ".log"), 64 << 20, &text, NULL) == CR_OK) {
        cr_buf_char(&text, 0);
        for (char *line = text.data, *end; line && *line; line = end ? end + 1 : NULL) {
            if ((end = strchr(line, '\n'))) *end = 0;
            if (*line && *line != '[' && *line != ' ') found = line;
        }
    }
    if (found && strncmp(found, before, strlen(before)) == 0) found += strlen(before);
    const char *why = found ? cr_arena_strdup(c->a, found) : otherwise;
    cr_buf_clear(&text);
    return why;
}

/* ---- processes ---- */

static cr_code write_config(const crew *c, int i, cr_err *err) {
    const cr_tune *t = c->t;
    const cr_tune_trial *x = &t->trials[i];
    const char **edits;
    cr_conf_doc doc;
    cr_diag diag;
    cr_conf_doc_init(&doc);
    cr_diag_init(&diag);
    int n = cr_tune_edits(t, x, c->a, &edits);
    cr_code code =
        cr_conf_parse(&doc, CR_SYNTAX_YAML, "the config", t->base.data, t->base.n, &diag);
    for (int k = 0; k < n && code == CR_OK; k++)
        code = cr_conf_set(&doc, &cr_root_msg, edits[k], false, &diag);
    if (code == CR_OK && t->unit) {
        const char *end =
            cr_arena_printf(c->a, "train_config.%s=%lld", t->unit, (long long)t->budgets[c->rung]);
        code = cr_conf_set(&doc, &cr_root_msg, end, false, &diag);
    }
    if (code == CR_OK) {
        cr_loc at = {"crank tune", 0, 0};
        cr_conf_node *train = cr_tree_child(&doc, doc.root, "train_config", at);
        cr_tree_put_str(&doc, doc.root, "model_dir", at, cr_tune_trial_dir(t, i, c->a));
        if (!*cr_conf_find_text(train, "project_name"))
            cr_tree_put_str(&doc, train, "project_name", at, cr_path_base(t->dir));
        cr_tree_put_str(&doc, train, "experiment_name", at,
                        cr_arena_printf(c->a, "trial_%03d %s", i, cr_tune_name(t, x, c->a)));
        cr_buf text;
        cr_buf_init(&text);
        cr_conf_print(&text, &cr_root_msg, doc.root, CR_SYNTAX_YAML);
        code = cr_file_write(file_of(c, "configs", i, ".yaml"), text.data, text.n, err);
        cr_buf_clear(&text);
    } else {
        cr_diag_first(&diag, err);
    }
    cr_diag_clear(&diag);
    cr_conf_doc_clear(&doc);
    return code;
}

/* In the child: becomes `crank train`. Only calls that are safe after fork are made. */
static _Noreturn void become(const char *program, char **argv, int log, pid_t parent) {
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0); /* signals of the terminal go to the parent, which passes one on */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(128 + SIGKILL); /* it died before the line above */
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0) dup2(null, 0);
    dup2(log, 1);
    dup2(log, 2);
    execv(program, argv);
    _exit(127);
}

/* The cores go to the trials that run or wait, so the last ones get more. */
static int threads_for(const crew *c) {
    int left = c->n - c->done, at_once = left < c->t->parallel ? left : c->t->parallel;
    int threads = c->t->cores / (at_once > 0 ? at_once : 1);
    return threads > 0 ? threads : 1;
}

static cr_code start(crew *c, int i, cr_err *err) {
    cr_tune_trial *x = &c->t->trials[i];
    CR_TRY(write_config(c, i, err));
    const char *path = file_of(c, "logs", i, ".log");
    int log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (log < 0) return cr_io_fail(err, path, "open", errno);
    char prog[] = "crank", cmd[] = "train", go_on[] = "--continue_train", threads[] = "--threads";
    char libraries[] = "--allow_libraries";
    char *argv[8] = {prog,  cmd,     cr_arena_strdup(c->a, file_of(c, "configs", i, ".yaml")),
                     go_on, threads, cr_arena_printf(c->a, "%d", threads_for(c)),
                     NULL,  NULL};
    if (c->o->allow_libraries) argv[6] = libraries;
    char program[CR_SELF_MAX];
    if (!cr_self_start(program)) {
        close(log);
        return cr_fail(err, CR_ERUN, "crank cannot find its own program in /proc");
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) become(program, argv, log, parent);
    int e = errno;
    close(log);
    if (pid < 0)
        return cr_fail(err, CR_ERUN, "cannot start a trial: %s%s", strerror(e), cr_errno_cure(e));
    x->pid = pid;
    x->began = cr_now();
    x->failed = NULL;
    c->running++;
    return CR_OK;
}

/* Takes the result of a trial whose process has ended. */
static cr_code finish(crew *c, int i, int status, cr_err *err) {
    cr_tune *t = c->t;
    cr_tune_trial *x = &t->trials[i];
    cr_ckpt_eval any, saved;
    x->pid = 0;
    c->running--;
    if (cr_stop_requested) return CR_OK; /* it was asked to stop, and continues next time */
    c->done++;
    if (WIFSIGNALED(status))
        x->failed = cr_arena_printf(c->a, "signal %d ended it", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        x->failed =
            last_words(c, i,
                       cr_arena_printf(c->a, "it ended with exit code %d", WEXITSTATUS(status)));
    else if (!cr_ckpt_best_eval(cr_tune_trial_dir(t, i, c->a), t->metric, t->larger, &any, &saved))
        x->failed = cr_arena_printf(c->a, "it has no evaluation with '%s'", t->metric);
    else if (isnan(any.value))
        x->failed = cr_arena_printf(c->a, "its %s is not a number", t->metric);
    if (x->failed) {
        CR_WARN("trial_%03d failed (%d of %d): %s: %s", i, c->done, c->n, cr_tune_name(t, x, c->a),
                x->failed);
        return CR_OK;
    }
    x->value = any.value;
    x->step = any.step;
    x->rung = c->rung;
    char time[32];
    CR_INFO("trial_%03d (%d of %d): %s %.6f at step %lld: %s, %s", i, c->done, c->n, t->metric,
            x->value, (long long)x->step, cr_tune_name(t, x, c->a),
            cr_fmt_time(time, cr_now() - x->began));
    return record(c, i, err);
}

static cr_code look(crew *c, const int *list, cr_err *err) {
    for (int k = 0; k < c->n; k++) {
        cr_tune_trial *x = &c->t->trials[list[k]];
        int status;
        if (!x->pid) continue;
        pid_t ended = waitpid(x->pid, &status, WNOHANG);
        if (ended < 0 && errno != EINTR)
            return cr_fail(err, CR_ERUN, "cannot wait for a trial: %s", strerror(errno));
        if (ended > 0) CR_TRY(finish(c, list[k], status, err));
    }
    return CR_OK;
}

/* Asks the trials that run to save a checkpoint and stop, or ends them at once. */
static void end_all(crew *c, const int *list, int sig) {
    for (int k = 0; k < c->n; k++)
        if (c->t->trials[list[k]].pid) kill(c->t->trials[list[k]].pid, sig);
}

cr_code cr_tune_rung(cr_tune *t, const cr_tune_opts *o, int rung, const int *list, int n,
                     cr_arena *a, cr_diag *diag) {
    crew c = {.t = t, .o = o, .rung = rung, .a = a, .n = n};
    const struct timespec moment = {.tv_nsec = 5000000};
    cr_err err;
    cr_code code = CR_OK;
    int next = 0;
    bool asked = false;
    bool *before = CR_NEW_N(a, bool, n + 1);
    for (int k = 0; k < n; k++)
        if ((before[k] = known_result(&c, list[k]))) c.done++;
    t->n_before += c.done;
    while (code == CR_OK && (c.running > 0 || (next < n && !cr_stop_requested))) {
        while (code == CR_OK && next < n && c.running < t->parallel && !cr_stop_requested) {
            if (!before[next]) code = start(&c, list[next], &err);
            next++;
        }
        if (code == CR_OK) code = look(&c, list, &err);
        if (cr_stop_requested && !asked) {
            end_all(&c, list, SIGTERM);
            asked = true;
        }
        if (code == CR_OK && c.running > 0) nanosleep(&moment, NULL);
    }
    if (code != CR_OK) {
        end_all(&c, list, SIGKILL);
        return cr_diag_err(diag, &err);
    }
    if (!cr_stop_requested) return CR_OK;
    return cr_diag_err(diag, &(cr_err){.code = CR_ESTOP,
                                       .msg = "stopped by a signal; the same command goes on where "
                                              "it was"});
}
