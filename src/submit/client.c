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

/* ---- signals ---- */

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
#define N_ENDS (sizeof ends / sizeof *ends)

static void on_end(int sig) {
    (void)sig;
    cr_stop_requested = 1;
}

/* While a program runs, signals set the flag; what is ignored (nohup) stays so. */
static void watch(struct sigaction *old) {
    struct sigaction sa = {.sa_handler = on_end};
    sigemptyset(&sa.sa_mask);
    for (size_t i = 0; i < N_ENDS; i++)
        if (sigaction(ends[i], NULL, &old[i]) == 0 && old[i].sa_handler == SIG_DFL)
            (void)sigaction(ends[i], &sa, NULL);
}

static void unwatch(const struct sigaction *old) {
    for (size_t i = 0; i < N_ENDS; i++)
        (void)sigaction(ends[i], &old[i], NULL);
}

/* ---- the program ---- */

/* Has the program ended? It can be waited for all the same. */
static bool has_ended(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Reads until the other end is closed, or the program has ended and nothing more comes; false: the
 * time is over, or a signal came. */
static bool read_all(int fd, pid_t pid, double until, cr_buf *out) {
    char part[4096];
    double rest = 0; /* then the output of a program that has ended is complete */
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        double left = until - now();
        if (cr_stop_requested || (until > 0 && left <= 0)) return false;
        if (rest == 0 && has_ended(pid)) rest = now() + REST;
        if (rest > 0 && now() >= rest) return true;
        int ready = poll(&p, 1, until > 0 && 1000 * left < SLICE ? (int)(1000 * left) + 1 : SLICE);
        if (ready < 0 && errno != EINTR) return true;
        if (ready <= 0) continue;
        ssize_t k = read(fd, part, sizeof part);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return true;
        if (out->n < MOST) cr_buf_add(out, part, (size_t)k);
    }
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

cr_code cr_client_run(cr_arena *a, const cr_client_opts *o, cr_ran *out, cr_err *err) {
    posix_spawn_file_actions_t f;
    posix_spawnattr_t attr;
    sigset_t none;
    struct sigaction old[N_ENDS];
    int fd[2] = {-1, -1}, status = 0;
    pid_t pid;
    *out = (cr_ran){.exit_code = -1, .out = ""};
    if (!o->pass && pipe2(fd, O_CLOEXEC) != 0)
        return cr_fail(err, CR_EIO, "cannot make a pipe: %s", strerror(errno));
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
    watch(old);
    int e = posix_spawnp(&pid, o->argv[0], &f, &attr, o->argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&f);
    if (fd[1] >= 0) close(fd[1]);
    if (e != 0) {
        unwatch(old);
        if (fd[0] >= 0) close(fd[0]);
        return cr_fail(err, CR_EIO, "cannot start %s: %s; is it installed and on PATH?",
                       cr_shown(a, o->argv[0]), strerror(e));
    }
    double until = o->timeout_s > 0 ? now() + o->timeout_s : 0;
    cr_buf text;
    cr_buf_init(&text);
    out->late = fd[0] >= 0 && !read_all(fd[0], pid, until, &text);
    if (!out->late) out->late = !wait_end(pid, until, &status);
    out->stopped = out->late && cr_stop_requested;
    if (out->late) end(pid, o->stay, out->stopped, &status);
    unwatch(old);
    if (fd[0] >= 0) close(fd[0]);
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

const char *cr_client_line(cr_arena *a, const char *dir, const char *words) {
    char *argv[32];
    int n = 0;
    char *save, *copy = cr_arena_strdup(a, words);
    for (char *w = strtok_r(copy, " ", &save); w && n < 31; w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    argv[n] = NULL;
    cr_ran ran = {0};
    cr_err err;
    cr_client_opts o = {.dir = dir, .argv = argv, .merged = true, .timeout_s = SHORT};
    if (n == 0 || cr_client_run(a, &o, &ran, &err) != CR_OK || ran.exit_code != 0) return NULL;
    return cr_arena_strndup(a, ran.out, strcspn(ran.out, "\n"));
}
