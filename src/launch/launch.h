/*
 * launch.h - starts a command as the ranks of a job, on this node, and watches them until the job
 * is over (docs/design/launch.md).
 */
#ifndef CR_LAUNCH_LAUNCH_H
#define CR_LAUNCH_LAUNCH_H

#include "launch/layout.h"
#include "launch/output.h"
#include "launch/proof.h"

typedef struct cr_launch {
    cr_layout layout;
    char *const *argv;   /* of a rank: crank's path, the command, its arguments */
    char *const *resume; /* the same when an earlier generation has trained */
    cr_output_plan output;
    cr_key key;
    double fault_s;      /* seconds of silence until a rank or a node is given up */
    bool may_lose;       /* ranks go on without one that was killed: see ranks.h, one_machine */
    const char *version; /* of this crank */
    uint64_t digest;     /* of the program and its plug-in: must be the same on all nodes */
    uint64_t args;       /* of the command's arguments: should be */
    const char *signals; /* --signals_to_handle; NULL: torchrun's four */
} cr_launch;

/* cr_launch_program computes `digest` and the path of this program. */
CR_CHECKED cr_code cr_launch_program(uint64_t *digest, char *path, size_t size, cr_err *err);
/* cr_launch_run returns when the job is over and no rank of this node is left. *exit_code is that
 * of the job. CR_OK with another exit code than 0: the ranks have said what is wrong. */
CR_CHECKED cr_code cr_launch_run(const cr_launch *l, int *exit_code, cr_err *err);

#endif
