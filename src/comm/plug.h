/*
 * plug.h - the table of functions between crank and the plug-in that knows an MPI. A plug-in
 * exports one cr_comm_plug named cr_comm_plug_of. Nothing here includes mpi.h, so one crank fits
 * every flavour.
 *
 * One thread at a time calls the functions. An error ends in a text of at most CR_COMM_WHY bytes.
 */
#ifndef CR_COMM_PLUG_H
#define CR_COMM_PLUG_H

#include <stddef.h>

#define CR_COMM_ABI 8
#define CR_COMM_WHY 256
/* exchanges that may be under way at a time */
#define CR_COMM_SLOTS 4

typedef struct cr_comm_plug {
    int abi;          /* CR_COMM_ABI of the crank that it was compiled for */
    const char *name; /* "MPICH 4.0.2" once start was called */
    /* start joins the other ranks; false: why says what is wrong. near: ranks of one machine may
     * use shared memory */
    int (*start)(int near, int *rank, int *size, int *local_rank, int *local_size,
                 char why[CR_COMM_WHY]);
    /* order: this rank is to be number *rank, as all ranks say of themselves; *rank becomes the
     * number that it has */
    int (*order)(int *rank, char why[CR_COMM_WHY]);
    /* finish leaves the other ranks, when all of them do. quick: MPI is not told; the process must
     * end next, and its launcher must not mind. */
    void (*finish)(int quick);
    /* limit: a wait that takes longer fails, and says which ranks do not answer; 0: none */
    void (*limit)(double seconds);
    void (*abort)(int code); /* ends all ranks */
    /* watch: is_lost tells whether a rank was lost; a wait for one that was fails. Without it ranks
     * are not lost one by one. */
    void (*watch)(int (*is_lost)(int rank));
    /* without: the calls below leave these ranks out from now on, and what they would bring stays
     * as it is. All other ranks call it, with the same ranks. */
    int (*without)(const int *ranks, int n, char why[CR_COMM_WHY]);
    /* gather: rank r has bytes [at[r], at[r + 1]) of all; afterwards every rank has all of them */
    int (*gather)(void *all, const size_t *at, char why[CR_COMM_WHY]);
    /* exchange: bytes [out_at[r], out_at[r + 1]) of out go to rank r, and bytes [in_at[r],
     * in_at[r + 1]) of in come from there. It returns at once; out and in must stay until arrived,
     * which waits. A slot has one exchange at a time. */
    int (*exchange)(int slot, const void *out, const size_t *out_at, void *in, const size_t *in_at,
                    char why[CR_COMM_WHY]);
    int (*arrived)(int slot, char why[CR_COMM_WHY]);
    int (*share)(void *data, size_t n, int from, char why[CR_COMM_WHY]); /* one rank's to all */
    /* letters (mail.h): *ticket and *done are results; peek sets *found */
    int (*post)(int to, const void *data, size_t n, int *ticket, char why[CR_COMM_WHY]);
    int (*posted)(int ticket, int *done, char why[CR_COMM_WHY]);
    int (*peek)(int *found, int *from, size_t *n, char why[CR_COMM_WHY]);
    /* *gone: the sender was lost before the letter was whole; data must stay as it is for ever */
    int (*take)(int from, void *data, size_t n, int *gone, char why[CR_COMM_WHY]);
} cr_comm_plug;

#endif
