/*
 * life.c - the thread that sends a rank's sign of life (life.h).
 */
#include "comm/life.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/guard.h"
#include "base/kill_point.h"
#include "base/log.h"

#define EVERY      1.0 /* seconds between two records */
#define TOLD_STEPS 2   /* steps that are told at once: launchers measure the time to them */

static int fd = -1;
static double silence; /* seconds after which the launcher counts as gone */
static _Atomic uint64_t n_steps;
static _Atomic bool meeting, spare;

#define MOST_LOST 4096
static int lost[MOST_LOST]; /* written by the thread below only */
static _Atomic int n_lost;

static void tell(void) {
    cr_life r = {.steps = atomic_load(&n_steps),
                 .meets = atomic_load(&meeting),
                 .spare = atomic_load(&spare)};
    /* a full socket means that the launcher does not read: its silence is what counts then */
    (void)!send(fd, &r, sizeof r, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static _Noreturn void orphaned(const char *why) {
    cr_log(CR_LOG_ERROR, "this rank ends because crank launch, which started it, %s", why);
    _exit(128 + SIGKILL);
}

/* Takes the answer of the agent, or its news of a rank that was lost. */
static void take(const char *data, size_t n) {
    cr_life_lost x;
    int k = atomic_load(&n_lost);
    if (n != sizeof x || k == MOST_LOST) return;
    memcpy(&x, data, sizeof x);
    lost[k] = (int)x.rank;
    atomic_store(&n_lost, k + 1);
}

static void *run(void *unused) {
    double heard = cr_now(), last = heard;
    (void)unused;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char answer[16];
        tell();
        double next = cr_now() + EVERY;
        while (cr_now() < next) {
            int ms = (int)((next - cr_now()) * 1000) + 1;
            if (poll(&p, 1, ms) <= 0) continue;
            ssize_t n = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
            if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                orphaned("has ended without a word");
            if (n > 0) heard = cr_now();
            if (n > 0) take(answer, (size_t)n);
        }
        double now = cr_now();
        if (now - last > 3 * EVERY) heard = now; /* this process itself was stopped */
        last = now;
        if (silence > 0 && now - heard > silence) orphaned("does not answer");
    }
    return NULL;
}

void cr_life_start(void) {
    const char *text = getenv(CR_LIFE_ENV);
    int socket_fd = -1, n = 0;
    double seconds = 0;
    if (!text || fd >= 0) return;
    if (sscanf(text, "%d:%lf%n", &socket_fd, &seconds, &n) != 2 || text[n] || socket_fd < 0) return;
    cr_kill_point("life");
    unsetenv(CR_LIFE_ENV); /* programs that this one starts are not the rank */
    fd = socket_fd;
    silence = seconds;
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, old;
    sigfillset(&all);
    cr_guard_signals(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attr, run, NULL) != 0) {
        CR_WARN(
            "no thread for the sign of life; crank launch will not notice when this rank stalls");
        close(fd);
        fd = -1;
    }
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

bool cr_life_is_watched(void) {
    return fd >= 0;
}

void cr_life_step(void) {
    if (atomic_fetch_add(&n_steps, 1) < TOLD_STEPS && fd >= 0) tell();
}

void cr_life_meet(bool meets) {
    atomic_store(&meeting, meets);
}

void cr_life_spare(void) {
    if (!atomic_exchange(&spare, true) && fd >= 0) tell();
}

int cr_life_lost_rank(int i) {
    return i < atomic_load(&n_lost) ? lost[i] : -1;
}
