/*
 * place.h - which rank this process is, as the launcher's environment says.
 */
#ifndef CR_COMM_PLACE_H
#define CR_COMM_PLACE_H

#include "comm/role.h"

typedef enum cr_flavour { CR_MPI_NONE, CR_MPI_MPICH, CR_MPI_OPEN } cr_flavour;

typedef struct cr_place {
    const char *program;  /* the command that started the ranks; NULL: this process is alone */
    const char *launcher; /* the same with the name of its MPI: "mpirun (Open MPI)" */
    cr_flavour flavour;   /* of its MPI */
    int rank, size;       /* 0 of 1 when alone */
    /* Where the environment gives each process a role, `rank` is that of the role and not the
     * launcher's. */
    cr_role role;
    bool may_lose; /* ranks may be lost one by one while the others go on */
} cr_place;

/* cr_place_find: names that only look like ranks (RANK, WORLD_SIZE) are not believed. Variables of
 * a launcher that contradict each other, or that are no numbers, are an error. */
CR_CHECKED cr_code cr_place_find(cr_place *out, cr_err *err);

#endif
