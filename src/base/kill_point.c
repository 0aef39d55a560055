/*
 * kill_point.c - see kill_point.h. Mostly the main thread passes points, but worker threads write
 * files too, so the counter is atomic.
 */
#include "base/kill_point.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

#define HANG    (-1)  /* in the place of a signal */
#define SLOW    (-2)  /* the same */
#define SLOW_US 60000 /* that a slow process stays at a point */

static struct {
    pthread_once_t once;
    const char *point; /* NULL: no point is set */
    size_t len;
    int64_t at;
    int signal;
    atomic_llong passed;
} plan = {.once = PTHREAD_ONCE_INIT};

static int signal_of(const char *name) {
    static const struct {
        const char *name;
        int signal;
    } known[] = {{"KILL", SIGKILL}, {"TERM", SIGTERM}, {"INT", SIGINT},
                 {"HUP", SIGHUP},   {"STOP", SIGSTOP}, {"USR1", SIGUSR1},
                 {"FAIL", 0},       {"HANG", HANG},    {"SLOW", SLOW}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].signal;
    return SIGKILL;
}

/* CRANK_TEST_KILL_IF: "NAME=VALUE NAME=VALUE" */
static bool is_meant(const char *s) {
    while (s && *s) {
        char name[64];
        size_t len = strcspn(s, " "), eq = strcspn(s, "=");
        if (eq >= len || eq >= sizeof name) return false;
        memcpy(name, s, eq);
        name[eq] = 0;
        const char *value = getenv(name);
        if (!value || strlen(value) != len - eq - 1 ||
            strncmp(value, s + eq + 1, len - eq - 1) != 0)
            return false;
        s += len + (s[len] == ' ');
    }
    return true;
}

static void read_plan(void) {
    const char *s = getenv("CRANK_TEST_KILL"), *n = s ? strchr(s, ':') : NULL;
    if (!n || !is_meant(getenv("CRANK_TEST_KILL_IF"))) return;
    const char *end = strchr(n + 1, ':');
    size_t len = end ? (size_t)(end - n - 1) : strlen(n + 1);
    if (!cr_parse_i64(n + 1, len, &plan.at)) return;
    plan.signal = end ? signal_of(end + 1) : SIGKILL;
    plan.len = (size_t)(n - s);
    plan.point = s;
}

static bool is_due(const char *name) {
    pthread_once(&plan.once, read_plan);
    if (!plan.point) return false;
    bool any = plan.len == 3 && strncmp(plan.point, "any", 3) == 0;
    if (!any && (strlen(name) != plan.len || strncmp(name, plan.point, plan.len) != 0))
        return false;
    int64_t passed = atomic_fetch_add(&plan.passed, 1) + 1;
    return plan.signal == SLOW ? passed >= plan.at : passed == plan.at;
}

/* The signal goes to the process: worker threads block signals, so a signal to one of them would
 * never arrive. */
static void send_signal(void) {
    while (plan.signal == HANG)
        pause();
    if (plan.signal == SLOW)
        usleep(SLOW_US);
    else
        kill(getpid(), plan.signal);
}

void cr_kill_point(const char *name) {
    if (is_due(name)) send_signal();
}

bool cr_fail_point(const char *name) {
    pthread_once(&plan.once, read_plan);
    return plan.signal == 0 && is_due(name); /* it is no place to be killed at: `any` skips it */
}

size_t cr_kill_torn(int fd, const void *data, size_t n) {
    if (n < 2 || !is_due("torn")) return 0;
    ssize_t k = write(fd, data, n / 2);
    send_signal();
    return k > 0 ? (size_t)k : 0;
}
