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

#define MOST_STRANGERS 64
#define STRANGER_S     5.0 /* to prove the secret and to join */
#define PING_EVERY     1.0
#define LEASE_S        2.0  /* longer than agents wait: they end their ranks first */
#define SETTLE_DEAD_S  0.25 /* after a rank was killed */
#define SETTLE_EXIT_S  2.0  /* after one ended by itself: the others may be about to */
#define BYE_S          1.0

static void stop_all(cr_head *h, int sig, double now);

/* ---- what the users of all nodes are told ---- */

static void tell_one(cr_node *x, cr_log_level level, const char *text) {
    cr_msg m = {.type = CR_WIRE_TELL,
                .num = {level >= CR_LOG_WARN},
                .text = {{text, strlen(text)}}};
    if (x->joined) cr_link_send(&x->link, &m);
}

/* Every agent prints it, also that of node 0. */
static void CR_PRINTF(3, 4) tell(cr_head *h, cr_log_level level, const char *fmt, ...) {
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

static cr_node *add_node(cr_head *h, int fd, double now) {
    cr_err err;
    cr_node *x = cr_alloc(sizeof *x, "a node");
    *x = (cr_node){.slot = -1, .want = -1, .index = -1, .arrival = -1};
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
    cr_node *x = add_node(h, own, now);
    if (!x) return cr_fail(err, CR_ERUN, "no random numbers");
    x->own = true;
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

static void over(cr_head *h, int code, double now) {
    h->exit_code = code;
    phase(h, CR_HEAD_OVER, now);
    h->deadline = now + BYE_S;
}

static void bye(cr_node *x, int code, const char *text) {
    cr_msg m = {.type = CR_WIRE_BYE, .num = {(uint64_t)code}, .text = {{text, strlen(text)}}};
    cr_link_send(&x->link, &m);
}

static void finish(cr_head *h, int code, const char *text, double now) {
    for (int i = 0; i < h->n; i++)
        bye(h->v[i], code, text);
    over(h, code, now);
}

static void finish_with_fault(cr_head *h, int code, const char *more, double now) {
    char text[1024];
    for (int i = 0; i < h->n; i++) {
        cr_node *x = h->v[i];
        fault_text(&h->fault, x, more, text, sizeof text);
        /* a wrong command line or config is no rank's fault; who has seen it needs no more words */
        bool enough = h->fault.code == 2 && h->fault.shown >= 0 && h->fault.shown == x->arrival;
        bye(x, code, enough ? "" : text);
    }
    over(h, code, now);
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
    if (x->own != y->own) return x->own ? -1 : 1; /* rank 0 is on node 0 */
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
    h->hard = h->regroup = h->smaller = h->stepped = false;
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

/* what the nodes that are here wait for; "": for nothing */
static void waits_for(const cr_head *h, char *out, size_t size) {
    const cr_layout *l = &h->l->layout;
    int n = n_joined(h);
    out[0] = 0;
    if (n < l->min_nodes)
        snprintf(out, size, "%d of %d nodes %s here; the others have %.0f s to come", n,
                 l->min_nodes, n == 1 ? "is" : "are", l->join_s);
    else if (n < l->max_nodes)
        snprintf(out, size,
                 "%d of %d to %d nodes %s here; the ranks start when no more come for %.0f s", n,
                 l->min_nodes, l->max_nodes, n == 1 ? "is" : "are", l->last_call_s);
}

static void meet(cr_head *h, double now) {
    const cr_layout *l = &h->l->layout;
    int n = n_joined(h);
    /* those who trained together go on at once when all of them are here */
    bool same = h->n_placed > 0 && !h->smaller;
    if (n >= l->max_nodes || (n >= l->min_nodes && same)) {
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

/* Meets again; those who wait for others are told so. */
static void meet_again(cr_head *h, double now) {
    char text[160];
    phase(h, CR_HEAD_MEET, now);
    h->enough_since = 0;
    waits_for(h, text, sizeof text);
    if (text[0] && h->smaller) tell(h, CR_LOG_INFO, "%s", text);
}

static void refuse(cr_node *x, double now, const char *text) {
    cr_msg m = {.type = CR_WIRE_REFUSE, .text = {{text, strlen(text)}}};
    cr_link_send(&x->link, &m);
    cr_link_flush(&x->link, now);
    CR_WARN("%s", text);
}

/* What must be the same on all nodes? Empty: it is. */
static void compare(const cr_head *h, const cr_node *x, const cr_msg *m, const char *version,
                    char *text, size_t size) {
    const cr_launch *l = h->l;
    const struct {
        const char *flag;
        uint64_t there, here;
        double unit;
    } v[] = {{"--nproc-per-node", m->num[CR_JOIN_NPROC], (uint64_t)l->layout.nproc, 1},
             {"MIN of --nnodes", m->num[CR_JOIN_MIN], (uint64_t)l->layout.min_nodes, 1},
             {"MAX of --nnodes", m->num[CR_JOIN_MAX], (uint64_t)l->layout.max_nodes, 1},
             {"--fault_timeout", m->num[CR_JOIN_FAULT_MS], (uint64_t)(l->fault_s * 1000), 1e-3}};
    text[0] = 0;
    if (m->num[CR_JOIN_DIGEST] != l->digest)
        snprintf(text, size,
                 "host %s runs another crank (%s) than node 0 (%s), or another plug-in of it; "
                 "install the same on all nodes",
                 x->host, version, l->version);
    for (size_t i = 0; i < sizeof v / sizeof *v && !text[0]; i++)
        if (v[i].there != v[i].here)
            snprintf(text, size, "host %s has %s %g and node 0 has %g; give all nodes the same",
                     x->host, v[i].flag, (double)v[i].there * v[i].unit,
                     (double)v[i].here * v[i].unit);
}

/* A head that was itself restarted learns from its agents that this is not the beginning. */
static void learn(cr_head *h, const cr_msg *m) {
    if (m->num[CR_JOIN_SEEN] > h->gen && m->num[CR_JOIN_SEEN] < 1000000 &&
        h->phase == CR_HEAD_MEET) {
        h->gen = m->num[CR_JOIN_SEEN] - 1;
        h->began = true;
    }
    h->trained = h->trained || m->num[CR_JOIN_TRAINED];
    if (h->batch_ranks == 0 && m->num[CR_JOIN_BATCH] <= CR_LAUNCH_RANKS * (uint64_t)CR_LAUNCH_RANKS)
        h->batch_ranks = m->num[CR_JOIN_BATCH];
}

/* false: the node is to be dropped */
static bool take_join(cr_head *h, cr_node *x, const cr_msg *m, double now) {
    const cr_launch *l = h->l;
    char text[400], version[64];
    cr_wire_text(m, 0, x->host, sizeof x->host);
    cr_wire_text(m, 1, version, sizeof version);
    if (x->joined) return false;
    compare(h, x, m, version, text, sizeof text);
    if (text[0]) {
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
    learn(h, m);
    if (l->layout.standalone) return true;
    h->newcomer = now;
    waits_for(h, text, sizeof text);
    if (h->phase == CR_HEAD_MEET)
        tell(h, CR_LOG_INFO, "host %s has come%s%s", x->host, text[0] ? "; " : "", text);
    else if (h->n_placed < l->layout.max_nodes)
        tell(h, CR_LOG_INFO, "host %s has come and will take part in the next start of the ranks",
             x->host);
    else
        tell(h, CR_LOG_INFO,
             "host %s has come; the job has the %d nodes that it takes (--nnodes), so the host "
             "waits until one is lost",
             x->host, l->layout.max_nodes);
    return true;
}

/* Nodes that came while the ranks run take part when the ranks begin again. This waits until the
 * ranks have done a step, so that there is something to go on from, and until no more nodes come.
 * It is no restart after a fault, and is not counted as one. */
static void take_in(cr_head *h, double now) {
    char names[200] = "";
    size_t at = 0;
    const cr_layout *l = &h->l->layout;
    if (!h->stepped || h->n_placed >= l->max_nodes) return;
    if (n_joined(h) < l->max_nodes && now - h->newcomer < l->last_call_s) return;
    for (int i = 0; i < h->n; i++)
        if (h->v[i]->joined && !h->v[i]->placed && at < sizeof names - 70)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "",
                                   h->v[i]->host);
    if (!at) return;
    h->regroup = true;
    tell(h, CR_LOG_INFO, "the ranks save a checkpoint and begin again with host %s", names);
    stop_all(h, SIGTERM, now);
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
    char what[100];
    int kind = (int)(m->num[CR_FAULT_KIND] & 0xff), code = (int)(m->num[CR_FAULT_CODE] & 0xff);
    bool shown = m->num[CR_FAULT_SHOWN] != 0;
    bool ended = kind == CR_FAULT_EXIT || kind == CR_FAULT_ABORT;
    if (!x->placed || m->num[CR_FAULT_GEN] != h->gen) return;
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
    snprintf(f.text, sizeof f.text, "rank %llu on host %s %s",
             (unsigned long long)m->num[CR_FAULT_RANK], x->host, what);
    /* a soft stop ends with exit codes, or by the signal itself when it comes before a rank has
     * a handler for it: no faults */
    ended = ended || (kind == CR_FAULT_SIGNAL && code == 128 + SIGTERM);
    if (h->phase == CR_HEAD_STOP && ended) return;
    blame(h, &f, ended ? SETTLE_EXIT_S : SETTLE_DEAD_S, now);
    if (h->phase == CR_HEAD_STOP && !h->hard) stop_all(h, SIGKILL, now);
}

/* the connection to a node is broken or silent */
static void lose_node(cr_head *h, int i, const char *why, double now) {
    cr_node *x = h->v[i];
    bool told = x->joined && h->phase != CR_HEAD_OVER;
    h->smaller = h->smaller || x->placed;
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
        if (h->phase == CR_HEAD_STOP && !h->hard) stop_all(h, SIGKILL, now);
        told = false;
    }
    x->joined = false;
    if (told) tell(h, CR_LOG_WARN, "host %s has left: %s", x->host, why);
    drop_node(h, i);
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
    meet_again(h, now);
}

/* All ranks have ended: what now? */
static void decide(cr_head *h, double now) {
    const cr_layout *l = &h->l->layout;
    bool failed = h->fault.quality > 0, again = failed && h->fault.again;
    if (h->signal && !failed)
        finish(h, h->worst == 0 ? 0 : 128 + h->signal, "", now);
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
        meet_again(h, now);
    else
        finish(h, h->worst, "", now);
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

static void take_wish(cr_head *h, const cr_node *x, int sig, double now) {
    if (h->phase == CR_HEAD_OVER) return;
    if (sig < 1 || sig > 31) sig = SIGTERM;
    bool again = h->signal != 0;
    h->signal = sig;
    if (!h->l->layout.standalone && !again)
        tell(h, CR_LOG_INFO, "signal %d (%s) came at host %s: the job ends on all nodes", sig,
             strsignal(sig), x->host);
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
        if (!h->stepped)
            tell(h, CR_LOG_INFO, "%d ranks: the first step was done %.2f s after the start",
                 h->n_placed * h->l->layout.nproc, now - h->started);
        h->stepped = true;
        break;
    case CR_WIRE_FAULT: take_fault(h, x, m, now); break;
    case CR_WIRE_ENDED:
        if (!current) break;
        x->running = false;
        if ((int)(m->num[1] & 0xff) > h->worst) h->worst = (int)(m->num[1] & 0xff);
        break;
    case CR_WIRE_WISH: take_wish(h, x, (int)(m->num[0] & 0xff), now); break;
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
    if (h->phase == CR_HEAD_RUN) take_in(h, now);
    if (h->phase == CR_HEAD_STOP && n_running(h) == 0) decide(h, now);
    if (h->phase == CR_HEAD_MEET) meet(h, now);
    for (int i = 0; i < h->n; i++)
        cr_link_flush(&h->v[i]->link, now);
}
