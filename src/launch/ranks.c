/*
 * ranks.c - fork and exec of ranks, with everything that must not be left behind.
 *
 * A rank is the leader of its own process group, so Ctrl-C reaches the launcher alone, and a kill
 * of the group reaches what the rank has started. The kernel kills a rank whose launcher dies.
 */
#include "launch/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/mem.h"

#define PATIENCE_S 15.0 /* for a reader of the output that takes nothing */

int cr_polls_add(cr_polls *p, int fd, short events) {
    if (fd < 0) return -1;
    if (p->n == p->cap) {
        int cap = p->cap ? 2 * p->cap : 32;
        p->v = cr_realloc(p->v, (size_t)p->cap * sizeof *p->v, (size_t)cap * sizeof *p->v, "polls");
        p->cap = cap;
    }
    p->v[p->n] = (struct pollfd){.fd = fd, .events = events};
    return p->n++;
}

short cr_polls_of(const cr_polls *p, int slot) {
    return slot >= 0 && slot < p->n ? p->v[slot].revents : 0;
}

/* ---- in the child ---- */

static void set_number(const char *name, long long x) {
    char text[32];
    snprintf(text, sizeof text, "%lld", x);
    setenv(name, text, 1);
}

/* torchrun's variables, MPICH's, and our own; what the launcher alone needs goes */
static void set_env(const cr_rank_plan *p, const cr_rank_proc *r, int pmi, int life) {
    char text[64];
    unsetenv("CRANK_JOB_SECRET");
    set_number("RANK", r->rank);
    set_number("LOCAL_RANK", r->local);
    set_number("WORLD_SIZE", p->world);
    set_number("LOCAL_WORLD_SIZE", p->n);
    set_number("GROUP_RANK", p->node);
    setenv("MASTER_ADDR", p->addr, 1);
    set_number("MASTER_PORT", p->port);
    set_number("TORCHELASTIC_RESTART_COUNT", p->attempt);
    set_number("TORCHELASTIC_MAX_RESTARTS", p->max_restarts);
    setenv("TORCHELASTIC_RUN_ID", p->run_id, 1);
    set_number("CRANK_BATCH_RANKS", p->batch_ranks);
    set_number("PMI_RANK", r->rank);
    set_number("PMI_SIZE", p->world);
    set_number("PMI_FD", pmi);
    unsetenv("PMI_PORT"); /* of srun, which may have started this launcher */
    unsetenv("PMI_SPAWNED");
    set_number("MPI_LOCALRANKID", r->local);
    set_number("MPI_LOCALNRANKS", p->n);
    snprintf(text, sizeof text, "%d:%g", life, p->silence);
    setenv(CR_LIFE_ENV, text, 1);
    if (p->one_machine) setenv("UCX_TLS", "self,sm", 0);
}

static _Noreturn void become(const cr_rank_plan *p, const cr_rank_proc *r, int out, int err,
                             int pmi, int life, pid_t parent) {
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(128 + SIGKILL); /* it died before the line above */
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0) dup2(null, 0);
    if (null > 2) close(null);
    if (out >= 0) dup2(out, 1);
    if (err >= 0) dup2(err, 2);
    fcntl(pmi, F_SETFD, 0);
    fcntl(life, F_SETFD, 0);
    set_env(p, r, pmi, life);
    execv(p->argv[0], p->argv);
    fprintf(stderr, "crank launch: %s cannot be started: %s\n", p->argv[0], strerror(errno));
    _exit(127);
}

/* ---- in the launcher ---- */

static cr_code start_one(cr_rank_proc *r, const cr_rank_plan *p, cr_err *err) {
    int pmi[2] = {-1, -1}, life[2] = {-1, -1}, out = -1, errs = -1;
    cr_code code = CR_OK;
    /* a terminal that shows the first rank shows its progress line, which a pipe would not */
    bool capture = !(r->rank == 0 && isatty(2) == 1);
    code = cr_outlet_open(&r->out, p->output, 1, r->local, r->rank, p->attempt, false, &out, err);
    if (code == CR_OK)
        code = cr_outlet_open(&r->err, p->output, 2, r->local, r->rank, p->attempt, capture, &errs,
                              err);
    if (code == CR_OK && (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pmi) != 0 ||
                          socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, life) != 0))
        code = cr_fail(err, CR_ERUN, "no sockets for rank %d: %s%s", r->rank, strerror(errno),
                       cr_errno_cure(errno));
    pid_t self = getpid(), pid = -1;
    if (code == CR_OK) {
        fflush(stdout);
        pid = fork();
        if (pid == 0) become(p, r, out, errs, pmi[1], life[1], self);
        if (pid < 0)
            code = cr_fail(err, CR_ERUN, "rank %d cannot be started: %s%s", r->rank,
                           strerror(errno), cr_errno_cure(errno));
    }
    if (pid > 0) {
        setpgid(pid, pid); /* also here: a signal may be sent before the child came to it */
        r->pid = pid;
        r->pmi = pmi[0];
        r->life = life[0];
        fcntl(r->pmi, F_SETFL, O_NONBLOCK);
        r->heard = r->moved = cr_now();
    } else {
        if (pmi[0] >= 0) close(pmi[0]);
        if (life[0] >= 0) close(life[0]);
    }
    if (pmi[1] >= 0) close(pmi[1]);
    if (life[1] >= 0) close(life[1]);
    if (out >= 0) close(out);
    if (errs >= 0) close(errs);
    return code;
}

cr_code cr_ranks_start(cr_ranks *r, const cr_rank_plan *p, cr_err *err) {
    /* other nodes give this one up when it is silent for so long */
    double patience =
        p->silence > 0 && 0.75 * p->silence < PATIENCE_S ? 0.75 * p->silence : PATIENCE_S;
    *r = (cr_ranks){.n = p->n, .patience_ms = (int)(1000 * patience)};
    r->v = cr_alloc((size_t)p->n * sizeof *r->v, "ranks");
    for (int i = 0; i < p->n; i++) {
        r->v[i] = (cr_rank_proc){.rank = p->first + i,
                                 .local = i,
                                 .pmi = -1,
                                 .life = -1,
                                 .pmi_slot = -1,
                                 .life_slot = -1,
                                 .out = {.fd = -1, .file = -1, .console = -1},
                                 .err = {.fd = -1, .file = -1, .console = -1}};
        cr_buf_init(&r->v[i].pmi_in);
    }
    for (int i = 0; i < p->n; i++) {
        cr_code code = start_one(&r->v[i], p, err);
        if (code != CR_OK) {
            cr_ranks_clear(r);
            return code;
        }
        r->n_running++;
    }
    return CR_OK;
}

void cr_ranks_signal(const cr_ranks *r, int sig) {
    for (int i = 0; i < r->n; i++)
        if (r->v[i].pid > 0 && kill(-r->v[i].pid, sig) != 0) kill(r->v[i].pid, sig);
}

static void gone(cr_ranks *r, cr_rank_proc *p, int status) {
    p->pid = 0;
    p->status = status;
    r->n_running--;
    cr_outlet_close(&p->out, &r->patience_ms);
    cr_outlet_close(&p->err, &r->patience_ms);
    if (p->pmi >= 0) close(p->pmi);
    if (p->life >= 0) close(p->life);
    p->pmi = p->life = -1;
}

/* What a rank left behind in its group is killed while the group cannot be another one's yet. */
void cr_ranks_reap(cr_ranks *r) {
    for (int i = 0; i < r->n; i++) {
        cr_rank_proc *p = &r->v[i];
        siginfo_t info = {0};
        int status = 0;
        if (p->pid <= 0 || waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
            info.si_pid != p->pid)
            continue;
        kill(-p->pid, SIGKILL);
        waitpid(p->pid, &status, 0);
        gone(r, p, status);
    }
}

void cr_ranks_abandon(cr_ranks *r) {
    for (int i = 0; i < r->n; i++) {
        cr_rank_proc *p = &r->v[i];
        if (p->pid <= 0) continue;
        cr_say(CR_LOG_WARN,
               "rank %d (process %d) was killed and does not end: it hangs in the kernel, as on a "
               "file system that does not answer; it is left behind",
               p->rank, (int)p->pid);
        gone(r, p, SIGKILL);
    }
}

void cr_ranks_clear(cr_ranks *r) {
    static const struct timespec nap = {0, 1000000};
    double end = cr_now() + CR_RANKS_GONE_S;
    cr_ranks_signal(r, SIGKILL);
    for (cr_ranks_reap(r); r->n_running > 0 && cr_now() < end; cr_ranks_reap(r))
        nanosleep(&nap, NULL);
    cr_ranks_abandon(r);
    for (int i = 0; i < r->n; i++) {
        cr_rank_proc *p = &r->v[i];
        cr_outlet_close(&p->out, &r->patience_ms);
        cr_outlet_close(&p->err, &r->patience_ms);
        cr_buf_clear(&p->pmi_in);
    }
    cr_free(r->v);
    *r = (cr_ranks){0};
}
