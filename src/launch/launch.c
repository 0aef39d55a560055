/*
 * launch.c - the loop of a launcher: one poll for signals, ranks and connections.
 */
#include "launch/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/self.h"
#include "base/stop.h"
#include "launch/agent.h"
#include "launch/head.h"

#define TURN_MS 200 /* the loop looks at its clocks this often */
#define BYE_S   2.0 /* for the other nodes to hear that the job is over */
#define JUMP_S  2.0 /* a turn that took longer: this process was stopped */

cr_code cr_launch_program(uint64_t *digest, char *path, size_t size, cr_err *err) {
    static const char *const plugs[] = {"%.*s/comm-mpich.so", "%.*s/../lib/crank/comm-mpich.so"};
    char plug[4200];
    uint64_t both[2] = {0, 0};
    char file[CR_SELF_MAX], start[CR_SELF_MAX];
    if (!cr_self_file(file) || !cr_self_start(start))
        return cr_fail(err, CR_ERUN, "crank cannot find its own program in /proc");
    snprintf(path, size, "%s", start);
    CR_TRY(cr_digest_file(file, NULL, &both[0], err));
    int dir = (int)(strrchr(file, '/') - file);
    for (int i = 0; i < 2; i++) {
        snprintf(plug, sizeof plug, plugs[i], dir, file);
        if (both[1] == 0 && access(plug, R_OK) == 0)
            CR_TRY(cr_digest_file(plug, NULL, &both[1], err));
    }
    *digest = cr_digest_of(both, sizeof both);
    return CR_OK;
}

/* ---- signals ---- */

static const struct {
    const char *name;
    int sig;
} names[] = {{"SIGTERM", SIGTERM}, {"SIGINT", SIGINT},   {"SIGHUP", SIGHUP},
             {"SIGQUIT", SIGQUIT}, {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}};

static cr_code signal_set(sigset_t *set, const char *text, cr_err *err) {
    if (!text) text = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";
    sigemptyset(set);
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ","), i = 0, count = sizeof names / sizeof *names;
        while (i < count && (strlen(names[i].name) != n || strncasecmp(names[i].name, p, n) != 0))
            i++;
        if (i == count)
            return cr_fail(err, CR_EUSAGE,
                           "--signals_to_handle is '%.80s' and may hold SIGTERM, SIGINT, SIGHUP, "
                           "SIGQUIT, SIGUSR1 and SIGUSR2 with commas",
                           text);
        struct sigaction old;
        /* under nohup a SIGHUP stays without effect */
        if (names[i].sig != SIGHUP || sigaction(SIGHUP, NULL, &old) != 0 ||
            old.sa_handler != SIG_IGN)
            sigaddset(set, names[i].sig);
        p += n + (p[n] == ',');
    }
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGTSTP);
    return CR_OK;
}

typedef struct run {
    const cr_launch *l;
    cr_agent agent;
    cr_head head;
    bool has_head;
    int signals, n_wishes;
    double wished; /* when the last signal came that counted */
} run;

/* Ctrl-Z: ranks have process groups of their own, so the terminal stops the launcher alone. Node 0
 * has given up another node that was stopped for long, and started ranks in the place of these:
 * they must not wake up for a moment until the agent finds its connection closed. */
static void pause_all(const run *r) {
    const cr_ranks *ranks = &r->agent.ranks;
    double began = cr_now();
    cr_ranks_signal(ranks, SIGSTOP);
    raise(SIGSTOP);
    bool late = !r->has_head && cr_now() - began > r->l->fault_s;
    cr_ranks_signal(ranks, late ? SIGKILL : SIGCONT);
}

/* See CR_STOP_SAME_S. */
static bool is_the_same(run *r, int sig) {
    double now = cr_now();
    if (sig != SIGINT && r->n_wishes > 0 && now - r->wished < CR_STOP_SAME_S) return true;
    r->wished = now;
    return false;
}

static void take_signals(run *r) {
    struct signalfd_siginfo info;
    while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int sig = (int)info.ssi_signo;
        if (sig == SIGTSTP)
            pause_all(r);
        else if (sig != SIGCHLD && !is_the_same(r, sig))
            cr_agent_wish(&r->agent, sig, ++r->n_wishes);
    }
}

/* ---- the loop ---- */

static void loop(run *r) {
    cr_polls polls = {0};
    double last = cr_now(), over_since = 0;
    for (;;) {
        polls.n = 0;
        int slot = cr_polls_add(&polls, r->signals, POLLIN);
        cr_agent_polls(&r->agent, &polls);
        if (r->has_head) cr_head_polls(&r->head, &polls);
        (void)poll(polls.v, (nfds_t)polls.n, TURN_MS);
        double now = cr_now();
        bool jumped = now - last > JUMP_S;
        last = now;
        if (cr_polls_of(&polls, slot)) take_signals(r);
        cr_agent_turn(&r->agent, &polls, now, jumped);
        if (r->has_head) cr_head_turn(&r->head, &polls, now, jumped);
        if (!r->agent.over) continue;
        /* the others are told how it ended */
        if (r->has_head) cr_head_end(&r->head, r->agent.exit_code, now);
        if (over_since <= 0) over_since = now;
        if (!r->has_head || cr_head_is_quiet(&r->head) || now - over_since > BYE_S) break;
    }
    cr_free(polls.v);
}

/* A rank takes four descriptors here, and a node one. The usual limit of 1024 is for programs that
 * use select; the hard one is what the machine allows. */
static void raise_limit(void) {
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur >= r.rlim_max) return;
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

cr_code cr_launch_run(const cr_launch *l, int *exit_code, cr_err *err) {
    run r = {.l = l, .has_head = l->layout.is_head, .signals = -1};
    sigset_t set, old;
    int pair[2] = {-1, -1};
    double now = cr_now();
    CR_TRY(signal_set(&set, l->signals, err));
    raise_limit();
    sigprocmask(SIG_BLOCK, &set, &old);
    signal(SIGPIPE, SIG_IGN);
    cr_code code = CR_OK;
    bool has_agent = false, has_head = false;
    r.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (r.signals < 0) code = cr_fail(err, CR_ERUN, "signalfd: %s", strerror(errno));
    if (code == CR_OK && r.has_head &&
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        code = cr_fail(err, CR_ERUN, "no socket: %s", strerror(errno));
    if (code == CR_OK && r.has_head) {
        has_head = true;
        code = cr_head_init(&r.head, l, pair[0], now, err);
    }
    if (code == CR_OK)
        code = cr_agent_init(&r.agent, l, pair[1], now, err);
    else if (pair[1] >= 0)
        close(pair[1]);
    if (code == CR_OK) {
        has_agent = true;
        loop(&r);
        *exit_code = r.agent.exit_code;
        if (r.agent.text[0]) code = cr_fail(err, CR_ERUN, "%s", r.agent.text);
    }
    if (has_agent) cr_agent_clear(&r.agent);
    if (has_head) cr_head_clear(&r.head);
    if (r.signals >= 0) close(r.signals);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return code;
}
