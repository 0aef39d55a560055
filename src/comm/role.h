/*
 * role.h - the role that a platform of Paddle gives a process: parameter server or trainer
 * (docs/guide/servers.md).
 */
#ifndef CR_COMM_ROLE_H
#define CR_COMM_ROLE_H

#include <stdbool.h>

#include "base/err.h"

typedef struct cr_role {
    bool given;           /* false: the environment gives no role, and nothing below is set */
    bool serves;          /* a parameter server, and no trainer */
    int index;            /* its number among the servers, or among the trainers */
    int servers, workers; /* of the whole job */
    char host[256];       /* of the first server; "": not known */
    int port;             /* of the same; 0: not known */
    const char *because;  /* the variable that decided */
} cr_role;

/* cr_role_find reads TRAINING_ROLE (or PADDLE_TRAINING_ROLE), PADDLE_PSERVERS_IP_PORT_LIST,
 * PADDLE_TRAINERS_NUM, PADDLE_TRAINER_ID, POD_IP and PADDLE_PORT. A trainer without a list of
 * servers belongs to a job without them, and has no role. Variables that contradict each other are
 * an error. env NULL, here and below: the environment of this process. */
CR_CHECKED cr_code cr_role_find(cr_role *out, const char *(*env)(const char *name), cr_err *err);
/* cr_role_by_rank is the rule of PaddleRec's MPI jobs (PADDLEREC_CLUSTER_TYPE=MPI), which start two
 * processes on each node: even ranks serve, odd ranks train. */
CR_CHECKED cr_code cr_role_by_rank(cr_role *out, const char *(*env)(const char *name), int rank,
                                   int size, cr_err *err);
/* Returns the rank of a role: trainers come first, then servers. */
int cr_role_rank(const cr_role *r);

#endif
