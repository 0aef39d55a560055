/*
 * meet.c - the head's part that decides which nodes make a generation: nodes come, are compared
 * with node 0, numbered and started; later ones are taken in; some may leave.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/head_int.h"

/* ---- a generation begins ---- */

static int by_place(const void *a, const void *b) {
    const cr_node *x = *(cr_node *const *)a, *y = *(cr_node *const *)b;
    /* rank 0 is on node 0, unless roles number the nodes */
    if (x->own != y->own && (x->own ? x : y)->want <= 0) return x->own ? -1 : 1;
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
        v[i]->fenced = v[i]->spare = false;
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
    cr_head_enter(h, CR_HEAD_RUN, now);
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

void cr_meet_turn(cr_head *h, double now) {
    const cr_layout *l = &h->l->layout;
    int n = n_joined(h);
    if (!h->v[0]->joined) return; /* our own agent */
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
             "%d of %d nodes came to port %d in %.0f s%s%s; look at the messages there, or raise "
             "--rdzv_conf join_timeout=SECONDS",
             n, l->min_nodes, l->port, l->join_s, who,
             h->refused ? "; one with another secret, --rdzv_id or version of crank was refused"
                        : "");
    cr_head_finish(h, h->fault.quality ? h->fault.code : 1, text, now);
}

/* Says goodbye to a node that takes no part any more; the caller drops it. */
static void dismiss(cr_node *x, int code, double now) {
    cr_head_bye(x, code, "");
    cr_link_flush(&x->link, now);
}

/* Meets again, without those who leave; those who wait for others are told so. */
void cr_meet_again(cr_head *h, double now) {
    char text[160];
    for (int i = h->n - 1; i >= 0; i--)
        if (h->v[i]->leaving) {
            dismiss(h->v[i], 128 + SIGTERM, now);
            cr_head_drop(h, i);
        }
    cr_head_enter(h, CR_HEAD_MEET, now);
    h->enough_since = 0;
    waits_for(h, text, sizeof text);
    if (text[0] && h->smaller) cr_head_tell(h, CR_LOG_INFO, "%s", text);
}

/* ---- nodes that come ---- */

static void refuse(cr_node *x, double now, const char *text) {
    cr_msg m = {.type = CR_WIRE_REFUSE, .text = {{text, strlen(text)}}};
    cr_link_send(&x->link, &m);
    cr_link_flush(&x->link, now);
    cr_say(CR_LOG_WARN, "%s", text);
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
bool cr_meet_join(cr_head *h, cr_node *x, const cr_msg *m, double now) {
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
        if (now - y->link.heard > 2 * CR_HEAD_PING_S) return false; /* it may be gone; come again */
        snprintf(text, sizeof text, "hosts %s and %s both say --node_rank %d; give each its own",
                 y->host, x->host, want);
        refuse(x, now, text);
        return false;
    }
    if (m->num[CR_JOIN_ARGS] != l->args)
        cr_say(CR_LOG_WARN,
               "host %s runs its ranks with other arguments than node 0; is that meant?", x->host);
    x->want = want;
    x->joined = true;
    x->arrival = h->n_arrived++;
    if (h->phase == CR_HEAD_OVER) {
        dismiss(x, h->exit_code, now);
        return true;
    }
    learn(h, m);
    if (l->layout.standalone) return true;
    h->newcomer = now;
    waits_for(h, text, sizeof text);
    if (h->phase == CR_HEAD_MEET)
        cr_head_tell(h, CR_LOG_INFO, "host %s has come%s%s", x->host, text[0] ? "; " : "", text);
    else if (h->n_placed < l->layout.max_nodes)
        cr_head_tell(h, CR_LOG_INFO,
                     "host %s has come and will take part in the next start of the ranks", x->host);
    else
        cr_head_tell(
            h, CR_LOG_INFO,
            "host %s has come; the job has the %d nodes that it takes (--nnodes), so the host "
            "waits until one is lost",
            x->host, l->layout.max_nodes);
    return true;
}

/* Nodes that came while the ranks run take part when the ranks begin again. This waits until the
 * ranks have done a step, so that there is something to go on from, and until no more nodes come.
 * It is no restart after a fault, and is not counted as one. */
void cr_meet_take_in(cr_head *h, double now) {
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
    cr_head_tell(h, CR_LOG_INFO, "the ranks save a checkpoint and begin again with host %s", names);
    cr_head_stop(h, SIGTERM, now);
}

/* ---- nodes that leave ---- */

/* A node may leave a job that goes on without it: one that takes no part in this generation, and,
 * by SIGTERM, by which platforms take hosts away, one of those above MIN of --nnodes MIN:MAX. */
bool cr_meet_may_leave(const cr_head *h, const cr_node *x, int sig) {
    const cr_layout *l = &h->l->layout;
    int n = 0;
    for (int i = 0; i < h->n; i++)
        n += h->v[i]->joined && !h->v[i]->leaving;
    if (x->own || h->signal) return false;
    if (h->phase != CR_HEAD_MEET && !x->placed) return true;
    return sig == SIGTERM && l->min_nodes < l->max_nodes && n > l->min_nodes;
}

bool cr_meet_leave(cr_head *h, cr_node *x, int sig, double now) {
    cr_head_tell(h, CR_LOG_INFO, "signal %d (%s) came at host %s, which leaves the job", sig,
                 strsignal(sig), x->host);
    if (!x->placed || h->phase == CR_HEAD_MEET) {
        dismiss(x, 128 + sig, now);
        return false;
    }
    x->leaving = true;
    if (h->phase != CR_HEAD_RUN) return true;
    h->regroup = true;
    cr_head_stop(h, h->stepped ? SIGTERM : SIGKILL,
                 now); /* before a step there is nothing to save */
    return true;
}
