/*
 * layout.h - from flags and environment to the shape of a job: how many nodes and ranks, which
 * node this is, where the nodes meet.
 */
#ifndef CR_LAUNCH_LAYOUT_H
#define CR_LAUNCH_LAYOUT_H

#include "base/mem.h"
#include "comm/role.h"

#define CR_LAUNCH_PORT    29500
#define CR_LAUNCH_START_S 20.0
#define CR_LAUNCH_RANKS   1024 /* most ranks of a job: no batch has more lanes (graph/part.h) */

/* torchrun's flags as texts; NULL: not given. PET_<FLAG> of the environment stands for a flag that
 * is not given. */
typedef struct cr_launch_flags {
    const char *nnodes, *nproc_per_node, *node_rank, *master_addr, *master_port;
    const char *rdzv_backend, *rdzv_endpoint, *rdzv_id, *rdzv_conf, *max_restarts;
    const char *log_dir, *redirects, *tee, *local_ranks_filter, *role, *signals_to_handle;
    bool standalone;
    unsigned pets; /* which of them PET_ variables gave; layout.c numbers them */
} cr_launch_flags;

/* What layout.c asks of the machine; a test gives its own. */
typedef struct cr_machine {
    const char *(*env)(const char *name);
    bool (*is_own)(const char *host); /* is this a name or an address of this machine? */
    int cores, gpus;
} cr_machine;
extern const cr_machine cr_machine_here;
int cr_machine_gpus(void);

typedef struct cr_layout {
    int min_nodes, max_nodes, nproc;
    int node_rank;    /* -1: by arrival */
    bool is_head;     /* this node has the head */
    bool standalone;  /* one node: no port */
    const char *addr; /* of the head */
    int port;
    const char *run_id;
    int max_restarts;
    double join_s, last_call_s;
    /* a rank's time from its start to its first sign of life, and to go on while it meets the
     * others; 0: CR_LAUNCH_START_S, or as long as it may be silent later */
    double start_s;
    const char *because; /* where the numbers come from, in words */
    /* the platform gives each process a role: the job has so many of both; 0: it gives none */
    int servers, workers;
} cr_layout;

/* cr_layout_pet fills flags that are not given from PET_ variables. */
CR_CHECKED cr_code cr_layout_pet(cr_launch_flags *f, const cr_machine *m, cr_err *err);
/* cr_layout_find decides. Texts are borrowed or in the arena. */
CR_CHECKED cr_code cr_layout_find(cr_layout *out, const cr_launch_flags *f, const cr_machine *m,
                                  cr_arena *a, cr_err *err);
/* cr_layout_text says the decision in one line. */
char *cr_layout_text(const cr_layout *l, cr_arena *a);

#endif
