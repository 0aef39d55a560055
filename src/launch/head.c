/*
 * head.c - the state machine of a job.
 *
 * Only this file knows more than one node. Everything that an agent says has proven the job's
 * secret; all the same, numbers are checked before they are used as indices.
 */
#include "launch/head.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/log.h"
#include "launch/agent.h"
#include "launch/head_int.h"

#define MOST_STRANGERS 64
#define STRANGER_S     5.0  /* to prove the secret and to join */
#define DEAF_S         1.0  /* without a free descriptor: then the port is heard again */
#define LEASE_S        2.0  /* longer than agents wait: they end their ranks first */
#define SETTLE_DEAD_S  0.25 /* after a rank was killed */
#define SETTLE_EXIT_S  2.0  /* after one ended by itself: the others may be about to */

/* ---- what the users of all nodes are told ---- */

static void tell_one(cr_node *x, cr_log_level level, const char *text) {
    cr_msg m = {.type = CR_WIRE_TELL,
                .num = {level >= CR_LOG_WARN},
                .text = {{text, strlen(text)}}};
    if (x->joined) cr_link_send(&x->link, &m);
}

/* Every agent prints it, also that of node 0. */
void cr_head_tell(cr_head *h, cr_log_level level, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (int i = 0; i < h->n; i++)
        tell_one(h->v[i], level, text);
}

/* A fault for the user of one node, who may have seen already what the rank itself said. */
static void fault_text(const cr_fault *f, const cr_node *x, const char *more, char *out,
                       size_t size) {
    bool seen = f->shown >= 0 && f->shown == x->arrival;
    bool elsewhere = f->shown >= 0 && !seen && !f->error[0];
    snprintf(out, size, "%s%s%s%s%s", f->text, f->error[0] && !seen ? ": " : "",
             seen ? "" : f->error, elsewhere ? "; its output there says why" : "", more);
}

/* ---- nodes ---- */

/* Takes over fd. NULL: err says why. */
static cr_node *add_node(cr_head *h, int fd, double now, cr_err *err) {
    cr_node *x = cr_alloc(sizeof *x, "a node");
    *x = (cr_node){.slot = -1, .want = -1, .index = -1, .arrival = -1};
    if (cr_link_init(&x->link, fd, true, false, &h->l->key, now, err) != CR_OK) {
        cr_free(x);
        return NULL;
    }
    if (h->n == h->cap) {
        int cap = h->cap ? 2 * h->cap : 8;
        h->v = cr_realloc(h->v, (size_t)h->cap * sizeof *h->v, (size_t)cap * sizeof *h->v, "nodes");
        h->cap = cap;
    }
    h->v[h->n++] = x;
    return x;
}

void cr_head_drop(cr_head *h, int i) {
    cr_link_clear(&h->v[i]->link);
    cr_free(h->v[i]);
    memmove(h->v + i, h->v + i + 1, (size_t)(h->n - i - 1) * sizeof *h->v);
    h->n--;
}

static int open_port(int port, cr_err *err) {
    int one = 1, zero = 0;
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    for (int v6 = 1; v6 >= 0; v6--) {
        int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0) continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (v6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
        int e = v6 ? bind(fd, (const struct sockaddr *)&six, sizeof six)
                   : bind(fd, (const struct sockaddr *)&four, sizeof four);
        if (e == 0 && listen(fd, 128) == 0) return fd;
        int saved = errno;
        close(fd);
        errno = saved;
        if (errno == EADDRINUSE) break;
    }
    (void)cr_fail(err, CR_ERUN, "port %d cannot be opened: %s; choose another --master_port", port,
                  strerror(errno));
    return -1;
}

cr_code cr_head_init(cr_head *h, const cr_launch *l, int own, double now, cr_err *err) {
    *h = (cr_head){.l = l, .listen_fd = -1, .listen_slot = -1, .since = now};
    cr_arena_init(&h->puts_arena, 0);
    cr_node *x = add_node(h, own, now, err);
    if (!x) return CR_ERUN;
    x->own = true;
    if (!l->layout.standalone && (h->listen_fd = open_port(l->layout.port, err)) < 0)
        return CR_ERUN;
    return CR_OK;
}

void cr_head_clear(cr_head *h) {
    while (h->n > 0)
        cr_head_drop(h, h->n - 1);
    cr_free(h->v);
    cr_free(h->puts);
    cr_arena_clear(&h->puts_arena);
    if (h->listen_fd >= 0) close(h->listen_fd);
}

/* ---- the end ---- */

void cr_head_enter(cr_head *h, cr_head_phase p, double now) {
    h->phase = p;
    h->since = now;
    h->deadline = 0;
}

static void over(cr_head *h, int code, double now) {
    h->exit_code = code;
    cr_head_enter(h, CR_HEAD_OVER, now);
}

void cr_head_bye(cr_node *x, int code, const char *text) {
    cr_msg m = {.type = CR_WIRE_BYE, .num = {(uint64_t)code}, .text = {{text, strlen(text)}}};
    cr_link_send(&x->link, &m);
}

void cr_head_finish(cr_head *h, int code, const char *text, double now) {
    for (int i = 0; i < h->n; i++)
        cr_head_bye(h->v[i], code, text);
    over(h, code, now);
}

static void finish_with_fault(cr_head *h, int code, const char *more, double now) {
    char text[1024];
    for (int i = 0; i < h->n; i++) {
        cr_node *x = h->v[i];
        fault_text(&h->fault, x, more, text, sizeof text);
        /* a wrong command line or config is no rank's fault; who has seen it needs no more words */
        bool enough = h->fault.code == 2 && h->fault.shown >= 0 && h->fault.shown == x->arrival;
        cr_head_bye(x, code, enough ? "" : text);
    }
    over(h, code, now);
}

bool cr_head_is_quiet(const cr_head *h) {
    for (int i = 0; i < h->n; i++)
        if (h->v[i]->joined && !h->v[i]->own && h->v[i]->link.state == CR_LINK_OPEN) return false;
    return true;
}

void cr_head_end(cr_head *h, int exit_code, double now) {
    if (h->phase != CR_HEAD_OVER) cr_head_finish(h, exit_code, "", now);
}

/* ---- faults ---- */

void cr_head_stop(cr_head *h, int sig, double now) {
    cr_msg m = {.type = CR_WIRE_STOP, .num = {h->gen, (uint64_t)sig}};
    for (int i = 0; i < h->n; i++)
        if (h->v[i]->placed && h->v[i]->running) cr_link_send(&h->v[i]->link, &m);
    if (sig == SIGKILL) h->hard = true;
    cr_head_enter(h, CR_HEAD_STOP, now);
}

/* Notes a fault when it explains more than the one that is known. */
static void blame(cr_head *h, const cr_fault *f, double settle, double now) {
    if (h->phase == CR_HEAD_STOP && !h->hard && !h->signal && !h->regroup) return;
    if (h->phase == CR_HEAD_STOP && h->hard) return; /* ends that we have caused */
    if (f->quality > h->fault.quality) h->fault = *f;
    if (h->phase == CR_HEAD_RUN) {
        cr_head_enter(h, CR_HEAD_SETTLE, now);
        h->deadline = now + settle;
    } else if (h->phase == CR_HEAD_SETTLE && now + settle < h->deadline) {
        h->deadline = now + settle;
    }
}

/* The ranks go on without one that was lost, and begin again with it where they meet next. That is
 * no restart that is counted: each generation does a part of the work. */
static void go_without(cr_head *h, uint64_t rank, const char *text) {
    cr_msg m = {.type = CR_WIRE_LOST, .num = {h->gen, rank}};
    for (int i = 0; i < h->n; i++)
        if (h->v[i]->placed && h->v[i]->running) cr_link_send(&h->v[i]->link, &m);
    h->regroup = true;
    if (text) cr_head_tell(h, CR_LOG_WARN, "%s; the others go on without it", text);
}

static void take_fault(cr_head *h, const cr_node *x, const cr_msg *m, double now) {
    char what[100];
    int kind = (int)(m->num[CR_FAULT_KIND] & 0xff), code = (int)(m->num[CR_FAULT_CODE] & 0xff);
    bool shown = m->num[CR_FAULT_SHOWN] != 0;
    bool ended = kind == CR_FAULT_EXIT || kind == CR_FAULT_ABORT;
    if (!x->placed || m->num[CR_FAULT_GEN] != h->gen) return;
    /* a node tells of its own ranks; the others use the number as an index when one is lost */
    uint64_t first = (uint64_t)x->first, rank = m->num[CR_FAULT_RANK];
    if (rank < first || rank - first >= (uint64_t)h->l->layout.nproc) return;
    cr_fault f = {.code = code ? code : 1,
                  .again = code != 2 && code != 3,
                  .shown = shown ? x->arrival : -1};
    cr_wire_text(m, 0, f.error, sizeof f.error);
    switch (kind) {
    case CR_FAULT_SIGNAL:
        snprintf(what, sizeof what, "was killed by signal %d (%s)", code - 128,
                 strsignal(code - 128));
        f.quality = 4;
        break;
    case CR_FAULT_STALL:
        snprintf(what, sizeof what, "is stalled");
        f.quality = 5;
        break;
    case CR_FAULT_START:
        snprintf(what, sizeof what, "cannot be started");
        f.quality = 5;
        f.again = false;
        break;
    default: /* all ranks end when one has an error, and only that one says what is wrong */
        snprintf(what, sizeof what, "ended with exit code %d", f.code);
        f.quality = f.error[0] ? 3 : shown ? 2 : 1;
    }
    snprintf(f.text, sizeof f.text, "rank %llu on host %s %s", (unsigned long long)rank, x->host,
             what);
    if (m->num[CR_FAULT_SPARE] && h->phase == CR_HEAD_RUN &&
        (kind == CR_FAULT_SIGNAL || kind == CR_FAULT_STALL)) {
        char text[1024];
        bool why = kind == CR_FAULT_STALL && f.error[0]; /* a rank that is killed does not say it */
        snprintf(text, sizeof text, "%s%s%s", f.text, why ? ": " : "", why ? f.error : "");
        go_without(h, rank, text);
        return;
    }
    /* ranks that went on without another one have saved their work, and begin again */
    if (h->phase == CR_HEAD_RUN && h->regroup && kind == CR_FAULT_EXIT && code == CR_EXIT_AGAIN)
        cr_head_stop(h, SIGTERM, now);
    /* a soft stop ends with exit codes, or by the signal itself when it comes before a rank has
     * a handler for it: no faults */
    ended = ended || (kind == CR_FAULT_SIGNAL && code == 128 + SIGTERM);
    if (h->phase == CR_HEAD_STOP && ended) {
        /* a rank that asks for an end of all waits for it, and the others wait for this rank */
        if (kind == CR_FAULT_ABORT && !h->hard) cr_head_stop(h, SIGKILL, now);
        return;
    }
    blame(h, &f, ended ? SETTLE_EXIT_S : SETTLE_DEAD_S, now);
    if (h->phase == CR_HEAD_STOP && !h->hard) cr_head_stop(h, SIGKILL, now);
}

/* the connection to a node is broken or silent */
static void lose_node(cr_head *h, int i, const char *why, double now) {
    cr_node *x = h->v[i];
    bool told = x->joined && h->phase != CR_HEAD_OVER;
    h->smaller = h->smaller || x->placed;
    if (told && x->placed && x->running && x->spare && h->phase == CR_HEAD_RUN) {
        cr_head_tell(h, CR_LOG_WARN, "host %s is gone: %s; the others go on without it", x->host,
                     why);
        for (int r = 0; r < h->l->layout.nproc; r++)
            go_without(h, (uint64_t)(x->first + r), NULL);
        told = false;
    }
    if (told && x->placed && x->running) {
        cr_fault f = {.quality = 6, .code = 128 + SIGKILL, .again = true, .shown = -1};
        int last = x->first + h->l->layout.nproc - 1;
        if (last > x->first)
            snprintf(f.text, sizeof f.text, "host %s with ranks %d to %d is gone: %s", x->host,
                     x->first, last, why);
        else
            snprintf(f.text, sizeof f.text, "host %s with rank %d is gone: %s", x->host, x->first,
                     why);
        blame(h, &f, SETTLE_DEAD_S, now);
        if (h->phase == CR_HEAD_STOP && !h->hard) cr_head_stop(h, SIGKILL, now);
        told = false;
    }
    x->joined = false;
    if (told) cr_head_tell(h, CR_LOG_WARN, "host %s has left: %s", x->host, why);
    cr_head_drop(h, i);
}

static int n_running(const cr_head *h) {
    int n = 0;
    for (int i = 0; i < h->n; i++)
        n += h->v[i]->placed && h->v[i]->running;
    return n;
}

/* All ranks begin again after a fault. */
static void restart(cr_head *h, double now) {
    char text[1024], more[100];
    h->restarts++;
    snprintf(more, sizeof more, "; restart %d of %d%s", h->restarts, h->l->layout.max_restarts,
             h->trained ? ", from the last checkpoint" : "");
    for (int i = 0; i < h->n; i++) {
        fault_text(&h->fault, h->v[i], more, text, sizeof text);
        tell_one(h->v[i], CR_LOG_WARN, text);
    }
    cr_meet_again(h, now);
}

/* All ranks have ended: what now? */
static void decide(cr_head *h, double now) {
    const cr_layout *l = &h->l->layout;
    bool failed = h->fault.quality > 0, again = failed && h->fault.again;
    if (h->signal && !failed)
        cr_head_finish(h, h->worst == 0 ? 0 : 128 + h->signal, "", now);
    else if (h->signal)
        finish_with_fault(h, 128 + h->signal, "", now);
    else if (again && h->restarts < l->max_restarts)
        restart(h, now);
    else if (failed)
        finish_with_fault(h, h->fault.code,
                          again && l->max_restarts > 0
                              ? "; all restarts are used up (--max_restarts)"
                              : "",
                          now);
    else if (h->regroup && h->worst != 0)
        cr_meet_again(h, now);
    else
        cr_head_finish(h, h->worst, "", now);
}

/* ---- messages of the agents ---- */

static void take_put(cr_head *h, const cr_node *x, const cr_msg *m) {
    if (h->n_puts == h->cap_puts) {
        int cap = h->cap_puts ? 2 * h->cap_puts : 64;
        h->puts = cr_realloc(h->puts, (size_t)h->cap_puts * sizeof *h->puts,
                             (size_t)cap * sizeof *h->puts, "values of ranks");
        h->cap_puts = cap;
    }
    h->puts[h->n_puts++] = (struct cr_put){
        x, cr_arena_strndup(&h->puts_arena, m->text[0].n ? m->text[0].p : "", m->text[0].n),
        cr_arena_strndup(&h->puts_arena, m->text[1].n ? m->text[1].p : "", m->text[1].n)};
}

static void take_fence(cr_head *h, cr_node *x) {
    x->fenced = true;
    for (int i = 0; i < h->n; i++)
        if (h->v[i]->placed && !h->v[i]->fenced) return;
    for (int i = 0; i < h->n; i++) {
        cr_node *y = h->v[i];
        if (!y->placed) continue;
        for (int k = 0; k < h->n_puts; k++) {
            const struct cr_put *u = &h->puts[k];
            if (u->from == y) continue;
            cr_msg m = {.type = CR_WIRE_PUT,
                        .text = {{u->key, strlen(u->key)}, {u->value, strlen(u->value)}}};
            cr_link_send(&y->link, &m);
        }
        cr_link_send(&y->link, &(cr_msg){.type = CR_WIRE_FENCE, .num = {h->gen}});
        y->fenced = false;
    }
    h->n_puts = 0;
    cr_arena_reset(&h->puts_arena);
}

/* false: the node is to be dropped */
static bool take_wish(cr_head *h, cr_node *x, int sig, double now) {
    if (h->phase == CR_HEAD_OVER || x->leaving) return true;
    if (sig < 1 || sig > 31) sig = SIGTERM;
    if (cr_meet_may_leave(h, x, sig)) return cr_meet_leave(h, x, sig, now);
    /* a platform that ends a job sends the signal to all nodes; only the second one of the same
     * node comes from someone who does not want to wait */
    bool first = h->signal == 0, again = x->wished;
    x->wished = true;
    h->signal = sig;
    if (!h->l->layout.standalone && first)
        cr_head_tell(h, CR_LOG_INFO, "signal %d (%s) came at host %s: the job ends on all nodes",
                     sig, strsignal(sig), x->host);
    if (h->phase == CR_HEAD_MEET)
        cr_head_finish(h, 128 + sig, "", now);
    else if (h->phase == CR_HEAD_RUN)
        cr_head_stop(h, SIGTERM, now);
    else if (again && !h->hard)
        cr_head_stop(h, SIGKILL, now);
    return true;
}

/* false: the node is to be dropped */
static bool hear(cr_head *h, cr_node *x, const cr_msg *m, double now) {
    if (!x->joined) return m->type == CR_WIRE_JOIN && cr_meet_join(h, x, m, now);
    bool current = x->placed && x->running && m->num[0] == h->gen;
    switch (m->type) {
    case CR_WIRE_JOIN: return false;
    case CR_WIRE_PUT:
        if (x->placed) take_put(h, x, m);
        break;
    case CR_WIRE_FENCE:
        if (current) take_fence(h, x);
        break;
    case CR_WIRE_STEP:
        if (!current) break;
        h->trained = true;
        if (!h->stepped)
            cr_head_tell(h, CR_LOG_INFO,
                         "%d rank%s: the first step was done %.2f s after the start",
                         h->n_placed * h->l->layout.nproc,
                         h->n_placed * h->l->layout.nproc == 1 ? "" : "s", now - h->started);
        h->stepped = true;
        break;
    case CR_WIRE_FAULT: take_fault(h, x, m, now); break;
    case CR_WIRE_ENDED:
        if (!current) break;
        x->running = false;
        if ((int)(m->num[1] & 0xff) > h->worst) h->worst = (int)(m->num[1] & 0xff);
        break;
    case CR_WIRE_SPARE: x->spare = x->spare || current; break;
    case CR_WIRE_WISH: return take_wish(h, x, (int)(m->num[0] & 0xff), now);
    default: break;
    }
    return true;
}

/* ---- a turn ---- */

void cr_head_polls(cr_head *h, cr_polls *p) {
    h->listen_slot = cr_polls_add(p, h->deaf_until > 0 ? -1 : h->listen_fd, POLLIN);
    for (int i = 0; i < h->n; i++)
        h->v[i]->slot = cr_polls_add(p, h->v[i]->link.fd, cr_link_events(&h->v[i]->link));
}

static void welcome(cr_head *h, double now) {
    int fd = accept4(h->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
    if (fd < 0) {
        /* the caller stays in the queue and would wake this loop at once, again and again */
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            h->deaf_until = now + DEAF_S;
        return;
    }
    int n = 0, oldest = -1;
    for (int i = 0; i < h->n; i++) {
        if (h->v[i]->joined || h->v[i]->own) continue;
        if (oldest < 0) oldest = i;
        n++;
    }
    if (n >= MOST_STRANGERS) cr_head_drop(h, oldest);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)add_node(h, fd, now, NULL);
}

/* false: it was dropped */
static bool attend(cr_head *h, int i, const cr_polls *p, double now, bool jumped) {
    cr_node *x = h->v[i];
    cr_msg m;
    char why[96];
    if (jumped) x->link.heard = x->link.began = now;
    cr_link_ready(&x->link, cr_polls_of(p, x->slot), now);
    while (cr_link_next(&x->link, &m))
        if (!hear(h, x, &m, now)) {
            cr_head_drop(h, i);
            return false;
        }
    double limit = h->l->fault_s + LEASE_S;
    if (x->link.state == CR_LINK_CLOSED) {
        h->refused = h->refused || x->link.refused;
        snprintf(why, sizeof why, "%.90s", x->link.broken);
        lose_node(h, i, why, now);
        return false;
    }
    if (!x->joined && !x->own && now - x->link.began > STRANGER_S) {
        cr_head_drop(h, i);
        return false;
    }
    if (x->joined && now - x->link.heard > limit) {
        snprintf(why, sizeof why, "nothing was heard of it for %.0f s", limit);
        lose_node(h, i, why, now);
        return false;
    }
    if (x->joined && now - x->link.sent > CR_HEAD_PING_S)
        cr_link_send(&x->link, &(cr_msg){.type = CR_WIRE_PING});
    return true;
}

void cr_head_turn(cr_head *h, const cr_polls *p, double now, bool jumped) {
    int n = h->n; /* those who come in this turn have no slot yet */
    if (now >= h->deaf_until) h->deaf_until = 0;
    if (cr_polls_of(p, h->listen_slot)) welcome(h, now);
    if (h->n < n) n = h->n;
    for (int i = 0; i < n && i < h->n;)
        if (attend(h, i, p, now, jumped))
            i++;
        else
            n--;
    if (h->phase == CR_HEAD_SETTLE && (now >= h->deadline || n_running(h) == 0))
        cr_head_stop(h, SIGKILL, now);
    if (h->phase == CR_HEAD_RUN && n_running(h) == 0) cr_head_enter(h, CR_HEAD_STOP, now);
    if (h->phase == CR_HEAD_RUN) cr_meet_take_in(h, now);
    if (h->phase == CR_HEAD_STOP && n_running(h) == 0) decide(h, now);
    if (h->phase == CR_HEAD_MEET) cr_meet_turn(h, now);
    for (int i = 0; i < h->n; i++)
        cr_link_flush(&h->v[i]->link, now);
}
