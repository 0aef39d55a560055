/*
 * agent.h - the agent of a node: joins the head, starts and ends the ranks of this node, and
 * reports what happens to them.
 */
#ifndef CR_LAUNCH_AGENT_H
#define CR_LAUNCH_AGENT_H

#include "launch/dial.h"
#include "launch/launch.h"
#include "launch/link.h"
#include "launch/pmi.h"
#include "launch/ranks.h"

/* why a rank failed, in FAULT */
enum { CR_FAULT_EXIT = 1, CR_FAULT_SIGNAL, CR_FAULT_ABORT, CR_FAULT_STALL, CR_FAULT_START };

typedef struct cr_agent {
    const cr_launch *l;
    cr_link link;
    int link_slot;
    bool has_link, joined, accepted; /* accepted: the head has answered to JOIN */
    cr_dial dial;
    double next_try, join_since;
    int n_lost;    /* how often the head was lost */
    int n_refused; /* how often a head hung up before we had joined */

    cr_ranks ranks;
    cr_pmi pmi;
    bool running; /* a generation was started and its end was not reported */
    bool ending;  /* its ranks were told to end */
    bool killed;  /* ... by SIGKILL */
    double killed_at;
    uint64_t gen, seen;     /* generation; how many this agent has seen */
    int world, node, worst; /* worst: exit code of this generation */
    uint64_t batch_ranks;   /* ranks of the first generation: the global batch stays theirs */
    bool trained, told_step, told_spare;

    bool over;
    int exit_code;
    char text[1024]; /* for the user; "": nothing is to be said */
} cr_agent;

/* cr_agent_init: fd is the socket to a head in this process, -1: the head is elsewhere. */
CR_CHECKED cr_code cr_agent_init(cr_agent *a, const cr_launch *l, int fd, double now, cr_err *err);
void cr_agent_clear(cr_agent *a);
void cr_agent_polls(cr_agent *a, cr_polls *p);
/* cr_agent_turn does what is to be done after a poll. `jumped`: this process was stopped for a
 * while, so that silence means nothing. */
void cr_agent_turn(cr_agent *a, const cr_polls *p, double now, bool jumped);
/* cr_agent_wish: a signal reached this launcher; n counts them. */
void cr_agent_wish(cr_agent *a, int sig, int n);

#endif
