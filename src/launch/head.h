/*
 * head.h - the head of a job, on node 0: meets the agents, begins generations, judges faults.
 */
#ifndef CR_LAUNCH_HEAD_H
#define CR_LAUNCH_HEAD_H

#include "launch/launch.h"
#include "launch/link.h"
#include "launch/ranks.h"

typedef enum cr_head_phase {
    CR_HEAD_MEET,
    CR_HEAD_RUN,
    CR_HEAD_SETTLE, /* a fault is known; what others report now may explain it better */
    CR_HEAD_STOP,   /* all ranks are to end */
    CR_HEAD_OVER
} cr_head_phase;

typedef struct cr_node {
    cr_link link;
    int slot;
    bool own;            /* this process's own agent */
    bool joined, placed; /* placed: it is a part of this generation */
    bool running;        /* its ranks are not known to have ended */
    bool fenced;         /* its ranks wait at the barrier */
    bool leaving;        /* it takes no part in the next generation */
    bool wished;         /* a signal that came there ends the job */
    bool spare;          /* the others can go on without its ranks */
    int want, index, first;
    int64_t arrival;
    char host[64];
} cr_node;

/* the fault that is told */
typedef struct cr_fault {
    int quality; /* 0: none */
    int code;
    bool again;      /* may be tried again */
    char text[200];  /* which rank or host, and what happened to it */
    char error[500]; /* its own words; "": it said nothing, or nothing that we know */
    int64_t shown;   /* arrival of the node whose user has seen these words; -1: none */
} cr_fault;

typedef struct cr_head {
    const cr_launch *l;
    int listen_fd, listen_slot;
    double deaf_until; /* nobody is let in before, as no descriptor was free; 0: the port is heard */
    cr_node **v;
    int n, cap;
    int64_t n_arrived;
    cr_head_phase phase;
    double since, deadline; /* of the phase */
    double enough_since;    /* when MIN nodes were there; 0: they are not */
    uint64_t gen;
    uint64_t batch_ranks; /* ranks of the first generation; 0: there was none */
    int restarts, n_placed, worst;
    bool began;   /* a generation was started */
    bool smaller; /* a node of this generation was lost */
    bool trained; /* a generation has done a step ... */
    bool stepped; /* ... and so has this one */
    bool regroup;
    double newcomer; /* when the last node came that waits for the next generation */
    bool refused;    /* a crank launch with another secret, job or version wanted to join */
    int signal;      /* the user's; 0: none */
    bool hard;       /* ranks were killed */
    double started;
    cr_fault fault;
    cr_arena puts_arena;
    struct cr_put {
        const cr_node *from;
        const char *key, *value;
    } * puts;
    int n_puts, cap_puts;
    int exit_code;
} cr_head;

/* cr_head_init listens when several nodes may come. own is this process's end of a socket pair to
 * its own agent. */
CR_CHECKED cr_code cr_head_init(cr_head *h, const cr_launch *l, int own, double now, cr_err *err);
void cr_head_clear(cr_head *h);
void cr_head_polls(cr_head *h, cr_polls *p);
void cr_head_turn(cr_head *h, const cr_polls *p, double now, bool jumped);
/* cr_head_end ends a job that is not over yet: this node does not go on. */
void cr_head_end(cr_head *h, int exit_code, double now);
/* cr_head_is_quiet: all other nodes have heard the end, and hung up. To close a connection before
 * that could take back what was sent. */
bool cr_head_is_quiet(const cr_head *h);

#endif
