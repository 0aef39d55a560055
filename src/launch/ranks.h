/*
 * ranks.h - the processes of one node: started, watched, ended.
 */
#ifndef CR_LAUNCH_RANKS_H
#define CR_LAUNCH_RANKS_H

#include <poll.h>
#include <sys/types.h>

#include "comm/life.h"
#include "launch/output.h"

/* Descriptors of one turn of the loop. Whoever adds one keeps its slot until the next turn. */
typedef struct cr_polls {
    struct pollfd *v;
    int n, cap;
} cr_polls;
int cr_polls_add(cr_polls *p, int fd, short events); /* the slot; -1 for fd -1 */
short cr_polls_of(const cr_polls *p, int slot);      /* what happened there */

/* What to start. Everything is borrowed for the call. */
typedef struct cr_rank_plan {
    char *const *argv; /* of crank, with its own path as the first word */
    int n, first, world, node, attempt, max_restarts;
    int batch_ranks; /* ranks whose rows make the global batch; as many as in the first generation
                      */
    const char *run_id, *addr;
    int port;
    double silence;   /* seconds: see life.h */
    bool one_machine; /* all ranks are on this machine and end together: memory that they share is
                         all they need, and no port is opened */
    const cr_output_plan *output;
} cr_rank_plan;

typedef struct cr_rank_proc {
    int rank, local;
    pid_t pid;     /* 0: it has ended */
    int status;    /* as waitpid gives it */
    int pmi, life; /* sockets */
    int pmi_slot, life_slot;
    cr_buf pmi_in;
    cr_outlet out, err;
    double heard;  /* the last sign of life; before it, the start */
    double moved;  /* when it was started, or was last seen to go on while it meets the others */
    bool has_life; /* it has sent a sign */
    cr_life state;
    bool told; /* its end, or its stall, was reported */
} cr_rank_proc;

typedef struct cr_ranks {
    cr_rank_proc *v;
    int n;
    int n_running;
    int patience_ms; /* see cr_outlet_close */
} cr_ranks;

CR_CHECKED cr_code cr_ranks_start(cr_ranks *r, const cr_rank_plan *plan, cr_err *err);
/* cr_ranks_signal sends a signal to every rank that runs, and to all that they started. */
void cr_ranks_signal(const cr_ranks *r, int sig);
/* cr_ranks_reap notes which ranks have ended. */
void cr_ranks_reap(cr_ranks *r);
/* A process that hangs in the kernel ends only when that lets go of it, if ever. So long after it
 * was killed nobody waits for it any more: cr_ranks_abandon counts it as ended, and says so. */
#define CR_RANKS_GONE_S 5.0
void cr_ranks_abandon(cr_ranks *r);
void cr_ranks_clear(cr_ranks *r); /* kills what is left */

#endif
