/*
 * agent.c - the state machine of a node. Its states are told apart by has_link, joined and running.
 */
#include "launch/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"

#define TRY_EVERY  0.5 /* seconds between two attempts to reach the head */
#define PING_EVERY 1.0
#define START_CURE "; if a start may be so slow, raise --rdzv_conf start_timeout=SECONDS"
/* heads that hang up at our proof; a head that strangers keep busy may do so now and then */
#define MOST_REFUSED 6

static void finish(cr_agent *a, int exit_code, const char *text) {
    if (a->over) return;
    a->over = true;
    a->exit_code = exit_code;
    snprintf(a->text, sizeof a->text, "%s", text);
    if (a->running) cr_ranks_clear(&a->ranks);
    if (a->running) cr_pmi_clear(&a->pmi);
    a->running = false;
}

static void send1(cr_agent *a, cr_wire_type type, uint64_t x) {
    cr_link_send(&a->link, &(cr_msg){.type = type, .num = {x}});
}

/* ---- joining ---- */

cr_code cr_agent_init(cr_agent *a, const cr_launch *l, int fd, double now, cr_err *err) {
    *a = (cr_agent){.l = l, .link_slot = -1, .join_since = now};
    a->link.fd = -1;
    cr_dial_init(&a->dial, l->layout.addr, l->layout.port);
    if (fd < 0) return CR_OK;
    CR_TRY(cr_link_init(&a->link, fd, false, false, &l->key, now, err));
    a->has_link = true;
    return CR_OK;
}

void cr_agent_clear(cr_agent *a) {
    if (a->running) {
        cr_ranks_clear(&a->ranks);
        cr_pmi_clear(&a->pmi);
    }
    if (a->has_link) cr_link_clear(&a->link);
}

static void join(cr_agent *a) {
    char host[64] = "?";
    gethostname(host, sizeof host - 1);
    const cr_launch *l = a->l;
    cr_msg m = {.type = CR_WIRE_JOIN,
                .num = {[CR_JOIN_RANK1] = (uint64_t)(l->layout.node_rank + 1),
                        [CR_JOIN_NPROC] = (uint64_t)l->layout.nproc,
                        [CR_JOIN_SEEN] = a->seen,
                        [CR_JOIN_TRAINED] = a->trained,
                        [CR_JOIN_DIGEST] = l->digest,
                        [CR_JOIN_ARGS] = l->args,
                        [CR_JOIN_BATCH] = a->batch_ranks,
                        [CR_JOIN_MIN] = (uint64_t)l->layout.min_nodes,
                        [CR_JOIN_MAX] = (uint64_t)l->layout.max_nodes,
                        [CR_JOIN_FAULT_MS] = (uint64_t)(l->fault_s * 1000)},
                .text = {{host, strlen(host)}, {l->version, strlen(l->version)}}};
    cr_link_send(&a->link, &m);
    a->joined = true;
}

/* Node 0 speaks with this node. A head that still waits for an earlier connection of this node to
 * fall silent only hangs up after JOIN; that is no loss of node 0. */
static void accepted(cr_agent *a) {
    const cr_layout *l = &a->l->layout;
    a->accepted = true;
    cr_dial_works(&a->dial);
    if (!l->is_head) cr_say(CR_LOG_INFO, "this node has reached node 0 at %s:%d", l->addr, l->port);
}

/* Node 0 was not reached at the address that was tried, or at none. */
static void unreached(cr_agent *a, double now) {
    const cr_layout *l = &a->l->layout;
    const cr_dial *d = &a->dial;
    char text[700];
    bool news = cr_dial_restart(&a->dial);
    a->next_try = now + TRY_EVERY;
    if (a->n_refused >= MOST_REFUSED) {
        snprintf(text, sizeof text, "node 0 at %s:%d: %s", l->addr, l->port, d->told);
        finish(a, 2, text);
    } else if (now - a->join_since >= l->join_s) {
        snprintf(text, sizeof text, "node 0 at %s:%d was not reached in %.0f s: %s; %s", l->addr,
                 l->port, l->join_s, d->told,
                 d->n == 0 ? "check the name of --master_addr on this host"
                           : "is crank launch running there, with the same --master_port?");
        finish(a, 1, text);
    } else if (news) {
        cr_say(CR_LOG_INFO, "node 0 at %s:%d is not reached yet: %s; this node tries for %.0f s",
               l->addr, l->port, d->told, l->join_s);
    }
}

/* The connection to the head is broken, or silent for too long. */
static void lost(cr_agent *a, const char *why, bool slow, double now) {
    const cr_layout *l = &a->l->layout;
    char text[512];
    bool was_accepted = a->accepted;
    a->n_refused += !was_accepted && a->link.refused;
    cr_link_clear(&a->link);
    a->has_link = a->joined = a->accepted = false;
    a->next_try = now;
    if (!was_accepted) { /* not there yet */
        bool more = cr_dial_fail(&a->dial, why, slow);
        if (!more || now - a->join_since >= l->join_s) unreached(a, now);
        return;
    }
    if (a->running) {
        cr_ranks_clear(&a->ranks);
        cr_pmi_clear(&a->pmi);
        a->running = a->ending = a->killed = false;
    }
    snprintf(text, sizeof text, "node 0 at %s:%d is gone: %.200s", l->addr, l->port, why);
    a->join_since = now;
    a->next_try = now + TRY_EVERY;
    if (a->n_lost++ < l->max_restarts)
        cr_say(CR_LOG_WARN,
               "%s; the ranks of this node were ended, and it waits for node 0 to come back", text);
    else
        finish(a, 128 + SIGKILL, text);
}

static void connect_head(cr_agent *a, double now) {
    cr_err err;
    int fd = cr_dial_next(&a->dial);
    if (fd < 0) {
        unreached(a, now);
        return;
    }
    if (cr_link_init(&a->link, fd, false, true, &a->l->key, now, &err) != CR_OK)
        finish(a, 1, err.msg);
    else
        a->has_link = true;
}

/* ---- a generation ---- */

/* text: what is wrong with the rank; NULL: its own last words, which the user of this node may have
 * seen */
static void fault(cr_agent *a, cr_rank_proc *r, int kind, int code, const char *text) {
    bool shown = !text && (r->err.direct || (r->err.shown && r->err.last[0]));
    if (r->told) return;
    r->told = true;
    if (!text) text = r->err.last;
    cr_msg m = {.type = CR_WIRE_FAULT,
                .num = {a->gen, (uint64_t)r->rank, (uint64_t)kind, (uint64_t)code, shown,
                        r->state.spare},
                .text = {{text, strlen(text)}}};
    cr_link_send(&a->link, &m);
}

static void tell_start(const cr_rank_plan *p, int n_nodes, bool resume) {
    char ranks[64];
    if (p->n > 1)
        snprintf(ranks, sizeof ranks, "ranks %d to %d", p->first, p->first + p->n - 1);
    else
        snprintf(ranks, sizeof ranks, "rank %d", p->first);
    cr_say(CR_LOG_INFO, "starting %s of %d; this is node %d of %d%s", ranks, p->world, p->node,
           n_nodes, resume ? "; training goes on from the last checkpoint" : "");
}

static void start(cr_agent *a, const cr_msg *m) {
    const cr_launch *l = a->l;
    cr_err err;
    if (a->running) return;
    a->gen = m->num[CR_START_GEN];
    a->seen = a->gen + 1;
    a->world = (int)m->num[CR_START_WORLD];
    a->node = (int)m->num[CR_START_NODE];
    a->batch_ranks = m->num[CR_START_BATCH];
    a->worst = 0;
    a->told_step = a->told_spare = false;
    int n_nodes = (int)m->num[CR_START_NODES];
    cr_rank_plan plan = {.argv = m->num[CR_START_RESUME] ? l->resume : l->argv,
                         .n = l->layout.nproc,
                         .first = (int)m->num[CR_START_FIRST],
                         .world = a->world,
                         .batch_ranks = (int)a->batch_ranks,
                         .node = a->node,
                         .attempt = (int)a->gen,
                         .max_restarts = l->layout.max_restarts,
                         .run_id = l->layout.run_id,
                         .addr = l->layout.addr,
                         .port = l->layout.port,
                         .silence = l->fault_s,
                         .one_machine = l->layout.standalone && !l->may_lose,
                         .output = &l->output};
    cr_pmi_init(&a->pmi, l->layout.nproc, n_nodes);
    a->running = true;
    a->ending = a->killed = false;
    if (!l->layout.standalone) tell_start(&plan, n_nodes, m->num[CR_START_RESUME]);
    if (cr_ranks_start(&a->ranks, &plan, &err) == CR_OK) return;
    cr_msg f = {.type = CR_WIRE_FAULT,
                .num = {a->gen, (uint64_t)plan.first, CR_FAULT_START, 1, 0, 0},
                .text = {{err.msg, strlen(err.msg)}}};
    cr_link_send(&a->link, &f);
    a->worst = 1;
}

/* every rank that has ended is looked at once */
static void look_at_ends(cr_agent *a, double now) {
    cr_ranks_reap(&a->ranks);
    if (a->killed && now - a->killed_at > CR_RANKS_GONE_S) cr_ranks_abandon(&a->ranks);
    for (int i = 0; i < a->ranks.n; i++) {
        cr_rank_proc *r = &a->ranks.v[i];
        if (r->pid > 0 || r->told) continue;
        int code = WIFSIGNALED(r->status) ? 128 + WTERMSIG(r->status) : WEXITSTATUS(r->status);
        if (code > a->worst) a->worst = code;
        if (code == 0 || a->killed)
            r->told = true;
        else
            fault(a, r, WIFSIGNALED(r->status) ? CR_FAULT_SIGNAL : CR_FAULT_EXIT, code, NULL);
    }
    if (a->ranks.n_running > 0) return;
    cr_ranks_clear(&a->ranks);
    cr_pmi_clear(&a->pmi);
    a->running = false;
    cr_msg m = {.type = CR_WIRE_ENDED, .num = {a->gen, (uint64_t)a->worst}};
    cr_link_send(&a->link, &m);
}

static void answer(cr_rank_proc *r, const char *text, size_t n) {
    /* a rank waits for each answer before it asks again, so the socket has room */
    if (r->pmi >= 0) (void)!send(r->pmi, text, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void release(cr_agent *a, double now) {
    const char *line = cr_pmi_release(&a->pmi);
    for (int i = 0; i < a->ranks.n; i++) {
        answer(&a->ranks.v[i], line, strlen(line));
        a->ranks.v[i].moved = now;
    }
}

static void ask(cr_agent *a, cr_rank_proc *r, const char *line, size_t n) {
    cr_buf reply;
    int code = 0;
    const char *key, *value;
    cr_buf_init(&reply);
    cr_pmi_event e = cr_pmi_line(&a->pmi, r->local, line, n, &reply, &code);
    answer(r, reply.data, reply.n);
    cr_buf_clear(&reply);
    if (e == CR_PMI_ABORT) {
        cr_outlet_catch_up(&r->err); /* it said why before it asked to end */
        fault(a, r, CR_FAULT_ABORT, code, NULL);
    } else if (e == CR_PMI_BAD) {
        char text[160];
        snprintf(text, sizeof text, "it asks MPI's launcher what crank launch does not know: %.80s",
                 line);
        fault(a, r, CR_FAULT_ABORT, 1, text);
    } else if (e == CR_PMI_BARRIER) {
        while (cr_pmi_untold(&a->pmi, &key, &value))
            cr_link_send(&a->link, &(cr_msg){.type = CR_WIRE_PUT,
                                             .text = {{key, strlen(key)}, {value, strlen(value)}}});
        send1(a, CR_WIRE_FENCE, a->gen);
    }
}

static void read_pmi(cr_agent *a, cr_rank_proc *r, double now) {
    char some[CR_PMI_LINE];
    ssize_t n = recv(r->pmi, some, sizeof some, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close(r->pmi);
        r->pmi = -1;
        return;
    }
    if (n < 0) return;
    r->moved = now;
    cr_buf_add(&r->pmi_in, some, (size_t)n);
    const char *end;
    while ((end = memchr(r->pmi_in.data, '\n', r->pmi_in.n))) {
        size_t k = (size_t)(end - r->pmi_in.data);
        r->pmi_in.data[k] = 0;
        ask(a, r, r->pmi_in.data, k);
        memmove(r->pmi_in.data, end + 1, r->pmi_in.n - k - 1);
        r->pmi_in.n -= k + 1;
    }
    if (r->pmi_in.n > CR_PMI_LINE) fault(a, r, CR_FAULT_ABORT, 1, "it sends endless lines by PMI");
}

/* The head is told once that the others can go on without all the ranks of this node. */
static void tell_spare(cr_agent *a) {
    if (a->told_spare) return;
    for (int i = 0; i < a->ranks.n; i++)
        if (!a->ranks.v[i].state.spare) return;
    a->told_spare = true;
    send1(a, CR_WIRE_SPARE, a->gen);
}

static void read_life(cr_agent *a, cr_rank_proc *r, double now) {
    cr_life state;
    ssize_t n = recv(r->life, &state, sizeof state, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close(r->life); /* it ends */
        r->life = -1;
    }
    if (n != (ssize_t)sizeof state) return;
    r->heard = now;
    r->has_life = true;
    r->state = state;
    (void)!send(r->life, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    tell_spare(a);
    if (state.steps == 0 || a->told_step) return;
    a->told_step = a->trained = true;
    cr_msg m = {.type = CR_WIRE_STEP, .num = {a->gen, state.steps}};
    cr_link_send(&a->link, &m);
}

/* Does the rank hang? Its sign of life comes from a thread of its own, so a rank that hangs while
 * it loads MPI or waits in MPI_Init goes on to give it; such a rank is found because it does not go
 * on. One that waits at a barrier for the others is not to blame. */
static void judge(cr_agent *a, cr_rank_proc *r, double now) {
    char text[200] = "";
    double most = a->l->layout.start_s;
    if (!r->has_life && now - r->heard > most)
        snprintf(text, sizeof text,
                 "it has given no sign of life in the %.0f s since its start" START_CURE, most);
    else if (r->has_life && now - r->heard > a->l->fault_s)
        snprintf(text, sizeof text, "it has given no sign of life for %.0f s", a->l->fault_s);
    else if (r->has_life && r->state.meets && !a->pmi.waits[r->local] && now - r->moved > most)
        snprintf(text, sizeof text, "it has not met the other ranks by MPI for %.0f s%s" START_CURE,
                 most,
                 a->l->layout.standalone ? "" : "; all hosts must reach each other on all ports");
    if (!text[0]) return;
    fault(a, r, CR_FAULT_STALL, 128 + SIGKILL, text);
    /* the others go on without it, so it must not wake up again */
    if (r->state.spare) kill(r->pid, SIGKILL);
}

static void watch(cr_agent *a, const cr_polls *p, double now, bool jumped) {
    for (int i = 0; i < a->ranks.n; i++) {
        cr_rank_proc *r = &a->ranks.v[i];
        if (r->pmi >= 0 && cr_polls_of(p, r->pmi_slot)) read_pmi(a, r, now);
        if (r->life >= 0 && cr_polls_of(p, r->life_slot)) read_life(a, r, now);
        cr_outlet_read(&r->out, cr_polls_of(p, r->out.slot) != 0);
        cr_outlet_read(&r->err, cr_polls_of(p, r->err.slot) != 0);
        if (jumped) r->heard = r->moved = now;
        if (r->pid > 0 && r->life >= 0) judge(a, r, now);
    }
}

/* ---- messages of the head ---- */

static void obey(cr_agent *a, const cr_msg *m, double now) {
    char text[1024];
    switch (m->type) {
    case CR_WIRE_START: start(a, m); break;
    case CR_WIRE_PUT:
        if (a->running)
            (void)!cr_pmi_put(&a->pmi, m->text[0].p, m->text[0].n, m->text[1].p, m->text[1].n);
        break;
    case CR_WIRE_FENCE:
        if (a->running && m->num[0] == a->gen) release(a, now);
        break;
    case CR_WIRE_LOST:
        if (!a->running || m->num[0] != a->gen) break;
        for (int i = 0; i < a->ranks.n; i++) {
            cr_life_lost x = {.rank = m->num[1]};
            if (a->ranks.v[i].life >= 0)
                (void)!send(a->ranks.v[i].life, &x, sizeof x, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        break;
    case CR_WIRE_STOP:
        if (!a->running || m->num[0] != a->gen) break;
        a->ending = true;
        if (!a->killed) a->killed_at = now;
        a->killed = a->killed || m->num[1] == SIGKILL;
        cr_ranks_signal(&a->ranks, m->num[1] == SIGKILL ? SIGKILL : SIGTERM);
        break;
    case CR_WIRE_REFUSE:
        cr_wire_text(m, 0, text, sizeof text);
        finish(a, 2, text);
        break;
    case CR_WIRE_TELL:
        cr_wire_text(m, 0, text, sizeof text);
        cr_say(m->num[0] ? CR_LOG_WARN : CR_LOG_INFO, "%s", text);
        break;
    case CR_WIRE_BYE:
        cr_wire_text(m, 0, text, sizeof text);
        if (!a->l->layout.is_head && !text[0])
            cr_say(CR_LOG_INFO, "the job has ended here with exit code %d",
                   (int)(m->num[0] & 0xff));
        finish(a, (int)(m->num[0] & 0xff), text);
        break;
    default: break;
    }
}

/* ---- a turn ---- */

static void poll_outlet(cr_outlet *s, cr_polls *p) {
    s->slot = cr_outlet_wants(s) ? cr_polls_add(p, s->fd, POLLIN) : -1;
    if (cr_outlet_waits(s)) (void)cr_polls_add(p, s->console, POLLOUT);
}

void cr_agent_polls(cr_agent *a, cr_polls *p) {
    a->link_slot = a->has_link ? cr_polls_add(p, a->link.fd, cr_link_events(&a->link)) : -1;
    for (int i = 0; i < a->ranks.n; i++) {
        cr_rank_proc *r = &a->ranks.v[i];
        r->pmi_slot = cr_polls_add(p, r->pmi, POLLIN);
        r->life_slot = cr_polls_add(p, r->life, POLLIN);
        poll_outlet(&r->out, p);
        poll_outlet(&r->err, p);
    }
}

void cr_agent_wish(cr_agent *a, int sig, int n) {
    if (a->joined) {
        send1(a, CR_WIRE_WISH, (uint64_t)sig);
        cr_link_flush(&a->link, cr_now());
        if (n == 1 && !a->l->layout.is_head)
            cr_say(CR_LOG_INFO,
                   "node 0 is asked to end the job, or to let this node go; a second signal ends "
                   "this node at once");
    }
    /* nobody else is asked twice: the second signal ends this node at once */
    if (!a->joined || n > 1) finish(a, 128 + sig, "");
}

void cr_agent_turn(cr_agent *a, const cr_polls *p, double now, bool jumped) {
    cr_msg m;
    char why[160] = "";
    if (a->over) return;
    if (!a->has_link && now >= a->next_try) connect_head(a, now);
    if (a->has_link) {
        if (jumped) a->link.heard = a->link.began = now;
        cr_link_ready(&a->link, cr_polls_of(p, a->link_slot), now);
        if (cr_link_is_open(&a->link) && !a->joined) join(a);
        while (!a->over && cr_link_next(&a->link, &m)) {
            if (!a->accepted && m.type != CR_WIRE_REFUSE) accepted(a);
            obey(a, &m, now);
        }
    }
    if (a->running) watch(a, p, now, jumped);
    if (a->running) look_at_ends(a, now);
    if (a->over || !a->has_link) return;
    if (a->link.state == CR_LINK_CLOSED) {
        snprintf(why, sizeof why, "%s", a->link.broken);
        lost(a, why, false, now);
    } else if (!a->accepted && (now - a->link.began > a->dial.limit ||
                                (now - a->link.began > CR_DIAL_FIRST_S &&
                                 now - a->join_since > a->l->layout.join_s))) {
        lost(a, "no answer", true, now);
    } else if (a->accepted && now - a->link.heard > a->l->fault_s) {
        snprintf(why, sizeof why, "nothing was heard of it for %.0f s", a->l->fault_s);
        lost(a, why, false, now);
    } else {
        if (now - a->link.sent > PING_EVERY)
            cr_link_send(&a->link, &(cr_msg){.type = CR_WIRE_PING});
        cr_link_flush(&a->link, now);
    }
}
