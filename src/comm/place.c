/*
 * place.c - a row per launcher: the variables that tell a process its number among all. The first
 * row whose variables are set decides (docs/design/comm.md).
 */
#include "comm/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "comm/life.h"

#define MOST_RANKS 1000000

static const struct {
    const char *rank, *size, *program, *launcher;
    cr_flavour flavour;
} rows[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun", "mpirun (Open MPI)", CR_MPI_OPEN},
    {"PMI_RANK", "PMI_SIZE", "mpiexec", "mpiexec (MPICH)", CR_MPI_MPICH}, /* and crank launch */
    {"PMIX_RANK", "SLURM_NTASKS", "srun", "srun (PMIx)", CR_MPI_OPEN},
};

/* Ranks of mpiexec to which the environment gives roles are numbered by them. */
static cr_code number_by_role(cr_place *p, cr_err *err) {
    CR_TRY(cr_role_find(&p->role, NULL, err));
    if (!p->role.given) CR_TRY(cr_role_by_rank(&p->role, NULL, p->rank, p->size, err));
    if (!p->role.given) return CR_OK;
    if (p->role.servers + p->role.workers != p->size)
        return cr_fail(err, CR_EUSAGE,
                       "%s has started %d ranks, and the environment has %d parameter servers and "
                       "%d trainers (%s); start as many ranks, or unset it",
                       p->program, p->size, p->role.servers, p->role.workers, p->role.because);
    p->rank = cr_role_rank(&p->role);
    return CR_OK;
}

static cr_code number(const char *name, const char *text, int64_t *out, cr_err *err) {
    if (cr_parse_i64(text, strlen(text), out) && *out >= 0 && *out <= MOST_RANKS) return CR_OK;
    return cr_fail(err, CR_EUSAGE,
                   "the environment variable %s is '%s' and must be a number from 0 to %d; a "
                   "launcher sets it, so unset it to run one process",
                   name, text, MOST_RANKS);
}

cr_code cr_place_find(cr_place *out, cr_err *err) {
    *out = (cr_place){.size = 1};
    /* crank launch sets the variables of MPICH's mpiexec, and watches its ranks */
    bool own = cr_life_is_watched();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *rank = getenv(rows[i].rank), *size = getenv(rows[i].size);
        int64_t r, n;
        if (!rank || !size) continue;
        CR_TRY(number(rows[i].rank, rank, &r, err));
        CR_TRY(number(rows[i].size, size, &n, err));
        if (r >= n)
            return cr_fail(err, CR_EUSAGE,
                           "the environment variables %s=%s and %s=%s contradict each other; a "
                           "launcher sets them, so unset both to run one process",
                           rows[i].rank, rank, rows[i].size, size);
        if (n > 1)
            *out = (cr_place){.program = own ? "crank launch" : rows[i].program,
                              .launcher = own ? "crank launch" : rows[i].launcher,
                              .flavour = rows[i].flavour,
                              .rank = (int)r,
                              .size = (int)n};
        /* crank launch has looked at roles itself, and says them to its ranks by flags */
        return n > 1 && !own ? number_by_role(out, err) : CR_OK;
    }
    return CR_OK;
}
