/*
 * dial.c - see dial.h.
 *
 * The resolver is asked anew for every attempt: the name may not resolve yet, or change. An address
 * is therefore a position in the list, and a list that became shorter only ends the round.
 */
#include "launch/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void cr_dial_init(cr_dial *d, const char *host, int port) {
    *d = (cr_dial){.host = host, .port = port, .limit = CR_DIAL_FIRST_S};
}

/* ---- the resolver ---- */

static void leave(int sig) {
    _exit(128 + sig);
}

/* The resolver may wait for many seconds. The launcher reads its signals from a descriptor, which
 * nobody does meanwhile, so those that it has blocked end it directly. */
static int find_patiently(const char *host, const char *port, struct addrinfo **list) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    enum { N = sizeof ends / sizeof *ends };
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct sigaction old[N], now = {.sa_handler = leave};
    sigset_t mask, open;
    sigemptyset(&now.sa_mask);
    sigemptyset(&open);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int i = 0; i < N; i++)
        if (sigismember(&mask, ends[i]) == 1 && sigaction(ends[i], &now, &old[i]) == 0)
            sigaddset(&open, ends[i]);
    sigprocmask(SIG_UNBLOCK, &open, NULL);
    int e = getaddrinfo(host, port, &hints, list);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    for (int i = 0; i < N; i++)
        if (sigismember(&open, ends[i]) == 1) sigaction(ends[i], &old[i], NULL);
    return e;
}

/* ---- attempts ---- */

static void note(cr_dial *d, const char *addr, const char *why) {
    size_t n = strlen(d->failed);
    bool named = addr[0] && strcmp(addr, d->host) != 0;
    if (n < sizeof d->failed)
        snprintf(d->failed + n, sizeof d->failed - n, "%s%s%s%.100s", n ? "; " : "",
                 named ? addr : "", named ? ": " : "", why);
}

static int begin(cr_dial *d, const struct addrinfo *x) {
    int one = 1, fd = socket(x->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (getnameinfo(x->ai_addr, x->ai_addrlen, d->addr, sizeof d->addr, NULL, 0, NI_NUMERICHOST))
        d->addr[0] = 0;
    if (fd < 0) return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, x->ai_addr, x->ai_addrlen) == 0 || errno == EINPROGRESS) return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

int cr_dial_next(cr_dial *d) {
    char port[16];
    struct addrinfo *list = NULL;
    int fd = -1, i = 0;
    snprintf(port, sizeof port, "%d", d->port);
    int e = d->find ? d->find(d->host, port, &list) : find_patiently(d->host, port, &list);
    if (e != 0) {
        d->addr[0] = 0;
        d->at = d->n = 0;
        note(d, "", e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e));
        return -1;
    }
    for (const struct addrinfo *x = list; x; x = x->ai_next, i++) {
        if (i < d->at || fd >= 0) continue;
        d->at = i;
        if ((fd = begin(d, x)) < 0) note(d, d->addr, strerror(errno));
    }
    d->n = i;
    if (fd < 0) d->at = d->n;
    freeaddrinfo(list);
    return fd;
}

bool cr_dial_fail(cr_dial *d, const char *why, bool slow) {
    d->slow = d->slow || slow;
    note(d, d->addr, why);
    d->at++;
    return d->at < d->n;
}

bool cr_dial_restart(cr_dial *d) {
    bool whole = d->at >= d->n || !d->told[0];
    bool news = whole && strcmp(d->failed, d->told) != 0;
    if (d->slow && (d->limit *= 2) > CR_DIAL_MOST_S) d->limit = CR_DIAL_MOST_S;
    if (whole) memcpy(d->told, d->failed, sizeof d->told);
    d->failed[0] = 0;
    d->at = 0;
    d->slow = false;
    return news;
}

void cr_dial_works(cr_dial *d) {
    d->failed[0] = d->told[0] = 0;
    d->slow = false;
    d->limit = CR_DIAL_FIRST_S;
}
