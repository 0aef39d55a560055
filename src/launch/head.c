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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/log.h"
#include "launch/agent.h"

#define MOST_STRANGERS 64
#define STRANGER_S     5.0 /* to prove the secret and to join */
#define PING_EVERY     1.0
#define LEASE_S        2.0  /* longer than agents wait: they end their ranks first */
#define SETTLE_DEAD_S  0.25 /* after a rank was killed */
#define SETTLE_EXIT_S  2.0  /* after one ended by itself: the others may be about to */
#define BYE_S          1.0

static void stop_all(cr_head *h, int sig, double now);

/* ---- nodes ---- */

static cr_node *add_node(cr_head *h, int fd, double now) {
    cr_err err;
    cr_node *x = cr_alloc(sizeof *x, "a node");
    *x = (cr_node){.slot = -1, .want = -1, .index = -1};
    if (cr_link_init(&x->link, fd, true, false, &h->l->key, now, &err) != CR_OK) {
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

static void drop_node(cr_head *h, int i) {
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
    if (!l->layout.standalone && (h->listen_fd = open_port(l->layout.port, err)) < 0)
        return CR_ERUN;
    if (!add_node(h, own, now)) return cr_fail(err, CR_ERUN, "no random numbers");
    return CR_OK;
}

void cr_head_clear(cr_head *h) {
    while (h->n > 0)
        drop_node(h, h->n - 1);
    cr_free(h->v);
    cr_free(h->puts);
    cr_arena_clear(&h->puts_arena);
    if (h->listen_fd >= 0) close(h->listen_fd);
}

/* ---- the end ---- */

static void phase(cr_head *h, cr_head_phase p, double now) {
    h->phase = p;
    h->since = now;
    h->deadline = 0;
}

static void finish(cr_head *h, int code, const char *text, double now) {
    h->exit_code = code;
    snprintf(h->text, sizeof h->text, "%s", text);
    cr_msg m = {.type = CR_WIRE_BYE, .num = {(uint64_t)code}, .text = {{h->text, strlen(h->text)}}};
    for (int i = 0; i < h->n; i++)
        cr_link_send(&h->v[i]->link, &m);
    phase(h, CR_HEAD_OVER, now);
    h->deadline = now + BYE_S;
}

bool cr_head_is_quiet(const cr_head *h) {
    for (int i = 0; i < h->n; i++)
        if (h->v[i]->joined && h->v[i]->link.state == CR_LINK_OPEN && h->v[i]->link.out.n > 0)
            return false;
    return true;
}

/* ---- meeting ---- */

static int by_place(const void *a, const void *b) {
    const cr_node *x = *(cr_node *const *)a, *y = *(cr_node *const *)b;
    int kx = x->want >= 0 ? x->want : CR_LAUNCH_RANKS,
        ky = y->want >= 0 ? y->want : CR_LAUNCH_RANKS;
    if (kx != ky) return kx < ky ? -1 : 1;
    return x->arrival < y->arrival ? -1 : x->arrival > y->arrival;
}

static void begin(cr_head *h, double now) {
    int n = 0, nproc = h->l->layout.nproc;
    cr_node **v = cr_alloc((size_t)h->n * sizeof *v, "nodes");
    for (int i = 0; i < h->n; i++) {
        h->v[i]->placed = false;
        if (h->v[i]->joined) v[n++] = h->v[i];
    }
    qsort(v, (size_t)n, sizeof *v, by_place);
    if (n > h->l->layout.max_nodes) n = h->l->layout.max_nodes;
    if (h->began) h->gen++;
    h->began = true;
    h->n_placed = n;
    if (h->batch_ranks == 0) h->batch_ranks = (uint64_t)(n * nproc);
    h->worst = 0;
    h->hard = h->regroup = false;
    h->fault.quality = 0;
    h->n_puts = 0;
    cr_arena_reset(&h->puts_arena);
    for (int i = 0; i < n; i++) {
        v[i]->placed = v[i]->running = true;
        v[i]->fenced = false;
        v[i]->index = i;
        v[i]->first = i * nproc;
        cr_msg m = {.type = CR_WIRE_START,
                    .num = {[CR_START_GEN] = h->gen,
                            [CR_START_RESTARTS] = (uint64_t)h->restarts,
                            [CR_START_FIRST] = (uint64_t)(i * nproc),
                            [CR_START_WORLD] = (uint64_t)(n * nproc),
                            [CR_START_NODE] = (uint64_t)i,
                            [CR_START_NODES] = (uint64_t)n,
                            [CR_START_RESUME] = h->trained,
                            [CR_START_BATCH] = h->batch_ranks}};
        cr_link_send(&v[i]->link, &m);
    }
    cr_free(v);
    h->started = now;
    phase(h, CR_HEAD_RUN, now);
}

static int n_joined(const cr_head *h) {
    int n = 0;
    for (int i = 0; i < h->n; i++)
        n += h->v[i]->joined;
    return n;
}

static void meet(cr_head *h, double now) {
    const cr_layout *l = &h->l->layout;
    int n = n_joined(h);
    if (n >= l->max_nodes) {
        begin(h, now);
        return;
    }
    if (n < l->min_nodes) h->enough_since = 0;
    if (n >= l->min_nodes && h->enough_since <= 0) h->enough_since = now;
    if (h->enough_since > 0 && now - h->enough_since >= l->last_call_s) {
        begin(h, now);
        return;
    }
    if (now - h->since < l->join_s || n >= l->min_nodes) return;
    char text[512], who[256] = "";
    size_t at = 0;
    for (int k = 0; k < l->max_nodes && at < sizeof who - 32; k++) {
        bool there = false, numbered = true;
        for (int i = 0; i < h->n; i++) {
            there = there || (h->v[i]->joined && h->v[i]->want == k);
            numbered = numbered && (!h->v[i]->joined || h->v[i]->want >= 0);
        }
        if (!there && numbered)
            at += (size_t)snprintf(who + at, sizeof who - at, "%s%d",
                                   at ? ", " : "; missing: node ", k);
    }
    snprintf(text, sizeof text,
             "%d of %d nodes came to port %d in %.0f s%s; look at the messages there, or raise "
             "--rdzv_conf join_timeout=SECONDS",
             n, l->min_nodes, l->port, l->join_s, who);
    finish(h, h->fault.quality ? h->fault.code : 1, text, now);
}

static void refuse(cr_node *x, double now, const char *text) {
    cr_msg m = {.type = CR_WIRE_REFUSE, .text = {{text, strlen(text)}}};
    cr_link_send(&x->link, &m);
    cr_link_flush(&x->link, now);
    CR_WARN("%s", text);
}

/* false: the node is to be dropped */
static bool take_join(cr_head *h, cr_node *x, const cr_msg *m, double now) {
    const cr_launch *l = h->l;
    char text[400], version[64];
    cr_wire_text(m, 0, x->host, sizeof x->host);
    cr_wire_text(m, 1, version, sizeof version);
    if (x->joined) return false;
    if (m->num[CR_JOIN_DIGEST] != l->digest) {
        snprintf(text, sizeof text,
                 "host %s runs another crank (%s) than node 0 (%s), or another plug-in of it; "
                 "install the same on all nodes",
                 x->host, version, l->version);
        refuse(x, now, text);
        return false;
    }
    if (m->num[CR_JOIN_NPROC] != (uint64_t)l->layout.nproc) {
        snprintf(text, sizeof text,
                 "host %s has --nproc-per-node %llu and node 0 has %d; all nodes must run as many "
                 "ranks",
                 x->host, (unsigned long long)m->num[CR_JOIN_NPROC], l->layout.nproc);
        refuse(x, now, text);
        return false;
    }
    int want = m->num[CR_JOIN_RANK1] <= CR_LAUNCH_RANKS ? (int)m->num[CR_JOIN_RANK1] - 1 : -1;
    for (int i = 0; i < h->n; i++) {
        cr_node *y = h->v[i];
        if (y == x || !y->joined || want < 0 || y->want != want) continue;
        if (now - y->link.heard > 2 * PING_EVERY) return false; /* it may be gone; come again */
        snprintf(text, sizeof text, "hosts %s and %s both say --node_rank %d; give each its own",
                 y->host, x->host, want);
        refuse(x, now, text);
        return false;
    }
    if (m->num[CR_JOIN_ARGS] != l->args)
        CR_WARN("host %s runs its ranks with other arguments than node 0; is that meant?", x->host);
    x->want = want;
    x->joined = true;
    x->arrival = h->n_arrived++;
    /* a head that was itself restarted learns from its agents that this is not the beginning */
    if (m->num[CR_JOIN_SEEN] > h->gen && m->num[CR_JOIN_SEEN] < 1000000 &&
        h->phase == CR_HEAD_MEET) {
        h->gen = m->num[CR_JOIN_SEEN] - 1;
        h->began = true;
    }
    h->trained = h->trained || m->num[CR_JOIN_TRAINED];
    if (h->batch_ranks == 0 && m->num[CR_JOIN_BATCH] <= CR_LAUNCH_RANKS * (uint64_t)CR_LAUNCH_RANKS)
        h->batch_ranks = m->num[CR_JOIN_BATCH];
    if (x->arrival > 0) CR_INFO("host %s has come", x->host);
    if (h->phase != CR_HEAD_RUN || h->n_placed >= l->layout.max_nodes ||
        h->restarts >= l->layout.max_restarts)
        return true;
    h->restarts++;
    h->regroup = true;
    CR_INFO("the ranks save a checkpoint and begin again with host %s", x->host);
    stop_all(h, SIGTERM, now);
    return true;
}

/* ---- faults ---- */

static void stop_all(cr_head *h, int sig, double now) {
    cr_msg m = {.type = CR_WIRE_STOP, .num = {h->gen, (uint64_t)sig}};
    for (int i = 0; i < h->n; i++)
        if (h->v[i]->placed && h->v[i]->running) cr_link_send(&h->v[i]->link, &m);
    if (sig == SIGKILL) h->hard = true;
    phase(h, CR_HEAD_STOP, now);
}

/* Notes a fault when it explains more than the one that is known. */
static void blame(cr_head *h, const cr_fault *f, double settle, double now) {
    if (h->phase == CR_HEAD_STOP && !h->hard && !h->signal && !h->regroup) return;
    if (h->phase == CR_HEAD_STOP && h->hard) return; /* ends that we have caused */
    if (f->quality > h->fault.quality) h->fault = *f;
    if (h->phase == CR_HEAD_RUN) {
        phase(h, CR_HEAD_SETTLE, now);
        h->deadline = now + settle;
    } else if (h->phase == CR_HEAD_SETTLE && now + settle < h->deadline) {
        h->deadline = now + settle;
    }
}

static void take_fault(cr_head *h, const cr_node *x, const cr_msg *m, double now) {
    char text[500], what[160];
    int kind = (int)(m->num[CR_FAULT_KIND] & 0xff), code = (int)(m->num[CR_FAULT_CODE] & 0xff);
    bool shown = m->num[CR_FAULT_SHOWN] != 0;
    if (!x->placed || m->num[CR_FAULT_GEN] != h->gen) return;
    cr_wire_text(m, 0, text, sizeof text);
    cr_fault f = {.code = code ? code : 1, .again = code != 2 && code != 3};
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
        f.quality = text[0] ? 3 : shown ? 2 : 1;
    }
    bool tells = text[0] && (!shown || kind == CR_FAULT_STALL);
    snprintf(f.text, sizeof f.text, "rank %llu on host %s %s%s%s",
             (unsigned long long)m->num[CR_FAULT_RANK], x->host, what, tells ? ": " : "",
             tells ? text : "");
    /* a soft stop ends with exit codes, which are no faults */
    if (h->phase == CR_HEAD_STOP && (kind == CR_FAULT_EXIT || kind == CR_FAULT_ABORT)) return;
    blame(h, &f, kind == CR_FAULT_EXIT || kind == CR_FAULT_ABORT ? SETTLE_EXIT_S : SETTLE_DEAD_S,
          now);
    if (h->phase == CR_HEAD_STOP && !h->hard) stop_all(h, SIGKILL, now);
}

/* the connection to a node is broken or silent */
static void lose_node(cr_head *h, int i, const char *why, double now) {
    cr_node *x = h->v[i];
    if (x->joined && x->placed && x->running && h->phase != CR_HEAD_OVER) {
        cr_fault f = {.quality = 6, .code = 128 + SIGKILL, .again = true};
        int last = x->first + h->l->layout.nproc - 1;
        if (last > x->first)
            snprintf(f.text, sizeof f.text, "host %s with ranks %d to %d is gone: %s", x->host,
                     x->first, last, why);
        else
            snprintf(f.text, sizeof f.text, "host %s with rank %d is gone: %s", x->host, x->first,
                     why);
        blame(h, &f, SETTLE_DEAD_S, now);
        if (h->phase == CR_HEAD_STOP && !h->hard) stop_all(h, SIGKILL, now);
    } else if (x->joined && h->phase == CR_HEAD_MEET) {
        CR_WARN("host %s has left: %s", x->host, why);
    }
    drop_node(h, i);
}

static int n_running(const cr_head *h) {
    int n = 0;
    for (int i = 0; i < h->n; i++)
        n += h->v[i]->placed && h->v[i]->running;
    return n;
}

/* All ranks have ended: what now? */
static void decide(cr_head *h, double now) {
    const cr_layout *l = &h->l->layout;
    char text[1024];
    if (h->signal && !h->fault.quality) {
        finish(h, h->worst == 0 ? 0 : 128 + h->signal, "", now);
    } else if (h->signal) {
        finish(h, 128 + h->signal, h->fault.text, now);
    } else if (h->fault.quality && h->fault.again && h->restarts < l->max_restarts) {
        h->restarts++;
        CR_WARN("%s; restart %d of %d%s", h->fault.text, h->restarts, l->max_restarts,
                h->trained ? ", from the last checkpoint" : "");
        phase(h, CR_HEAD_MEET, now);
        h->enough_since = 0;
    } else if (h->fault.quality) {
        bool used_up = h->fault.again && l->max_restarts > 0;
        snprintf(text, sizeof text, "%s%s", h->fault.text,
                 used_up ? "; all restarts are used up (--max_restarts)" : "");
        /* a wrong command line or config is no rank's fault, and was told */
        finish(h, h->fault.code, h->fault.code == 2 ? "" : text, now);
    } else if (h->regroup && h->worst != 0) {
        phase(h, CR_HEAD_MEET, now);
        h->enough_since = 0;
    } else {
        finish(h, h->worst, "", now);
    }
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

static void take_wish(cr_head *h, int sig, double now) {
    if (h->phase == CR_HEAD_OVER) return;
    if (sig < 1 || sig > 31) sig = SIGTERM;
    bool again = h->signal != 0;
    h->signal = sig;
    if (h->phase == CR_HEAD_MEET)
        finish(h, 128 + sig, "", now);
    else if (h->phase == CR_HEAD_RUN)
        stop_all(h, SIGTERM, now);
    else if (again && !h->hard)
        stop_all(h, SIGKILL, now);
}

/* false: the node is to be dropped */
static bool hear(cr_head *h, cr_node *x, const cr_msg *m, double now) {
    if (!x->joined) return m->type == CR_WIRE_JOIN && take_join(h, x, m, now);
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
        if (x->index == 0)
            CR_INFO("%d ranks: the first step was done %.2f s after the start",
                    h->n_placed * h->l->layout.nproc, now - h->started);
        break;
    case CR_WIRE_FAULT: take_fault(h, x, m, now); break;
    case CR_WIRE_ENDED:
        if (!current) break;
        x->running = false;
        if ((int)(m->num[1] & 0xff) > h->worst) h->worst = (int)(m->num[1] & 0xff);
        break;
    case CR_WIRE_WISH: take_wish(h, (int)(m->num[0] & 0xff), now); break;
    default: break;
    }
    return true;
}

/* ---- a turn ---- */

void cr_head_polls(cr_head *h, cr_polls *p) {
    h->listen_slot = cr_polls_add(p, h->listen_fd, POLLIN);
    for (int i = 0; i < h->n; i++)
        h->v[i]->slot = cr_polls_add(p, h->v[i]->link.fd, cr_link_events(&h->v[i]->link));
}

static void welcome(cr_head *h, double now) {
    int fd = accept4(h->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
    if (fd < 0) return;
    int n = 0, oldest = -1;
    for (int i = 0; i < h->n; i++) {
        if (h->v[i]->joined) continue;
        if (oldest < 0) oldest = i;
        n++;
    }
    if (n >= MOST_STRANGERS) drop_node(h, oldest);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (!add_node(h, fd, now)) close(fd);
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
            drop_node(h, i);
            return false;
        }
    double limit = h->l->fault_s + LEASE_S;
    if (x->link.state == CR_LINK_CLOSED) {
        snprintf(why, sizeof why, "%.90s", x->link.broken);
        lose_node(h, i, why, now);
        return false;
    }
    if (!x->joined && now - x->link.began > STRANGER_S) {
        drop_node(h, i);
        return false;
    }
    if (x->joined && now - x->link.heard > limit) {
        snprintf(why, sizeof why, "nothing was heard of it for %.0f s", limit);
        lose_node(h, i, why, now);
        return false;
    }
    if (x->joined && now - x->link.sent > PING_EVERY)
        cr_link_send(&x->link, &(cr_msg){.type = CR_WIRE_PING});
    return true;
}

void cr_head_turn(cr_head *h, const cr_polls *p, double now, bool jumped) {
    int n = h->n; /* those who come in this turn have no slot yet */
    if (cr_polls_of(p, h->listen_slot)) welcome(h, now);
    if (h->n < n) n = h->n;
    for (int i = 0; i < n && i < h->n;)
        if (attend(h, i, p, now, jumped))
            i++;
        else
            n--;
    if (h->phase == CR_HEAD_SETTLE && (now >= h->deadline || n_running(h) == 0))
        stop_all(h, SIGKILL, now);
    if (h->phase == CR_HEAD_RUN && n_running(h) == 0) phase(h, CR_HEAD_STOP, now);
    if (h->phase == CR_HEAD_STOP && n_running(h) == 0) decide(h, now);
    if (h->phase == CR_HEAD_MEET) meet(h, now);
    for (int i = 0; i < h->n; i++)
        cr_link_flush(&h->v[i]->link, now);
}
