/*
 * client.c - runs the programs of clusters: with a time limit, and with their output read.
 *
 * A program runs in a process group of its own, so that the end of its time ends what it started
 * too. Its standard input is empty: a client that asks a question gets no answer and does not wait.
 * A signal that would end crank ends the program first: a keyboard does not reach its group. A
 * program may leave a process behind that holds the other end of the pipe (an agent, a connection
 * that is kept), so the end of the program ends the reading, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/shown.h"
#include "base/stop.h"
#include "submit/submit_int.h"

#define MOST  ((size_t)16 << 20) /* bytes of output that are kept */
#define SHORT 20.0               /* seconds for a question such as --version */
#define SLICE 200                /* milliseconds between two looks at the stop flag */
#define GRACE 2.0                /* seconds from SIGTERM to SIGKILL */
#define REST  0.5                /* seconds for output that is on its way when the program ends */

extern char **environ;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Has the program ended? It can be waited for all the same. */
static bool has_ended(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Hands over the whole lines of the program's errors; all: the rest, too. */
static void tell_lines(const cr_client_opts *o, cr_arena *a, cr_buf *text, bool all) {
    size_t from = 0;
    for (;;) {
        const char *line = text->data + from;
        const char *end = text->n > from ? memchr(line, '\n', text->n - from) : NULL;
        size_t n = end ? (size_t)(end - line) : text->n - from;
        if (!end && !(all && n)) break;
        o->errors(o->ctx, cr_arena_strndup(a, line, n));
        from += n + (end != NULL);
    }
    if (from == 0) return;
    memmove(text->data, text->data + from, text->n - from);
    text->n -= from;
}

/* Reads the output (and the errors, where o->errors wants them) until the other ends are closed,
 * or the program has ended and nothing more comes; false: the time is over, or a signal came. */
static bool read_all(const cr_client_opts *o, cr_arena *a, int out, int err, pid_t pid,
                     double until, cr_buf *text) {
    char part[4096];
    double rest = 0; /* then the output of a program that has ended is complete */
    bool whole = false;
    struct pollfd p[2] = {{.fd = out, .events = POLLIN}, {.fd = err, .events = POLLIN}};
    cr_buf lines;
    cr_buf_init(&lines);
    while (!whole) {
        double left = until - now();
        if (cr_stop_requested || (until > 0 && left <= 0)) break;
        if (rest == 0 && has_ended(pid)) rest = now() + REST;
        whole = (rest > 0 && now() >= rest) || (p[0].fd < 0 && p[1].fd < 0);
        if (whole) break;
        int ready = poll(p, 2, until > 0 && 1000 * left < SLICE ? (int)(1000 * left) + 1 : SLICE);
        if (ready < 0 && errno != EINTR) whole = true;
        for (int i = 0; ready > 0 && i < 2; i++) {
            if (p[i].fd < 0 || !p[i].revents) continue;
            ssize_t k = read(p[i].fd, part, sizeof part);
            if (k < 0 && errno == EINTR) continue;
            if (k <= 0) p[i].fd = -1; /* poll passes over it */
            if (k > 0 && i == 0 && text->n < MOST) cr_buf_add(text, part, (size_t)k);
            if (k > 0 && i == 1) cr_buf_add(&lines, part, (size_t)k);
        }
        if (lines.n) tell_lines(o, a, &lines, lines.n > MOST);
    }
    if (lines.n) tell_lines(o, a, &lines, true);
    cr_buf_clear(&lines);
    return whole;
}

/* Waits for the end; false: the time is over, or a signal came that was not there before. */
static bool wait_end(pid_t pid, double until, int *status) {
    int before = cr_stop_requested;
    for (;;) {
        pid_t k = waitpid(pid, status, WNOHANG);
        if (k == pid || (k < 0 && errno != EINTR)) return true;
        if (cr_stop_requested != before || (until > 0 && now() >= until)) return false;
        if (k == 0) nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
}

/* Ends the program: after a signal it has a moment to leave by itself. */
static void end(pid_t pid, bool stay, bool gently, int *status) {
    pid_t whom = stay ? pid : -pid;
    if (gently) {
        (void)kill(whom, SIGTERM);
        if (wait_end(pid, now() + GRACE, status)) return;
    }
    (void)kill(whom, SIGKILL);
    (void)wait_end(pid, 0, status);
}

static void close_end(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

cr_code cr_client_run(cr_arena *a, const cr_client_opts *o, cr_ran *out, cr_err *err) {
    posix_spawn_file_actions_t f;
    posix_spawnattr_t attr;
    sigset_t none;
    cr_signals signals;
    int fd[2] = {-1, -1}, errors[2] = {-1, -1}, status = 0;
    pid_t pid;
    *out = (cr_ran){.exit_code = -1, .out = ""};
    if ((!o->pass && pipe2(fd, O_CLOEXEC) != 0) || (o->errors && pipe2(errors, O_CLOEXEC) != 0)) {
        (void)cr_fail(err, CR_EIO, "cannot make a pipe: %s", strerror(errno));
        close_end(&fd[0]);
        close_end(&fd[1]);
        return CR_EIO;
    }
    sigemptyset(&none);
    posix_spawn_file_actions_init(&f);
    posix_spawnattr_init(&attr);
    short flags = POSIX_SPAWN_SETSIGMASK;
    posix_spawnattr_setsigmask(&attr, &none);
    if (!o->stay) {
        flags |= POSIX_SPAWN_SETPGROUP;
        posix_spawnattr_setpgroup(&attr, 0);
    }
    posix_spawnattr_setflags(&attr, flags);
    if (o->dir) posix_spawn_file_actions_addchdir_np(&f, o->dir);
    posix_spawn_file_actions_addopen(&f, 0, "/dev/null", O_RDONLY, 0);
    if (!o->pass) posix_spawn_file_actions_adddup2(&f, fd[1], 1);
    if (!o->pass && o->merged) posix_spawn_file_actions_adddup2(&f, fd[1], 2);
    if (o->errors) posix_spawn_file_actions_adddup2(&f, errors[1], 2);
    cr_signals_watch(&signals);
    int e = posix_spawnp(&pid, o->argv[0], &f, &attr, o->argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&f);
    close_end(&fd[1]);
    close_end(&errors[1]);
    if (e != 0) {
        cr_signals_leave(&signals);
        close_end(&fd[0]);
        close_end(&errors[0]);
        return cr_fail(err, CR_EIO, "cannot start %s: %s; is it installed and on PATH?",
                       cr_shown(a, o->argv[0]), strerror(e));
    }
    double until = o->timeout_s > 0 ? now() + o->timeout_s : 0;
    cr_buf text;
    cr_buf_init(&text);
    out->late = !o->pass && !read_all(o, a, fd[0], errors[0], pid, until, &text);
    if (!out->late) out->late = !wait_end(pid, until, &status);
    out->stopped = out->late && cr_stop_requested;
    if (out->late) end(pid, o->stay, out->stopped, &status);
    cr_signals_leave(&signals);
    close_end(&fd[0]);
    close_end(&errors[0]);
    if (WIFEXITED(status)) out->exit_code = WEXITSTATUS(status);
    if (text.n) out->out = cr_arena_strndup(a, text.data, text.n);
    cr_buf_clear(&text);
    if (out->stopped && !o->stay)
        return cr_fail(err, CR_ESTOP, "stopped by a signal, and %s was ended",
                       cr_shown(a, o->argv[0]));
    return CR_OK;
}

const char *cr_client_path(cr_arena *a, const char *name) {
    const char *path = getenv("PATH");
    if (strchr(name, '/')) return access(name, X_OK) == 0 ? name : NULL;
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        const char *full = cr_arena_printf(a, "%.*s/%s", n ? (int)n : 1, n ? p : ".", name);
        if (access(full, X_OK) == 0 && !cr_path_is_dir(full)) return full;
        p += n + (p[n] == ':');
    }
    return NULL;
}

const char *cr_client_line(cr_arena *a, const char *dir, const char *words, const char **failed) {
    char *argv[32];
    int n = 0;
    char *save, *copy = cr_arena_strdup(a, words);
    for (char *w = strtok_r(copy, " ", &save); w && n < 31; w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    argv[n] = NULL;
    cr_ran ran = {0};
    cr_err err;
    cr_client_opts o = {.dir = dir, .argv = argv, .merged = true, .timeout_s = SHORT};
    if (failed) *failed = "";
    if (n == 0 || cr_client_run(a, &o, &ran, &err) != CR_OK) return NULL;
    const char *line = cr_arena_strndup(a, ran.out, strcspn(ran.out, "\n"));
    if (ran.exit_code == 0) return line;
    if (failed) *failed = ran.late ? "it gave no answer" : line;
    return NULL;
}
