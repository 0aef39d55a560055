/*
 * place.c - which rank a process is: every launcher's variables, names that only look like ranks,
 * and variables that are wrong.
 */
#include "comm/place.h"

#include <stdlib.h>

#include "harness.h"

static const char *const all[] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK",
                                  "PMI_SIZE", "PMIX_RANK", "SLURM_NTASKS", "RANK", "WORLD_SIZE",
                                  "LOCAL_RANK", "SLURM_PROCID"};

static void set(const char *a, const char *x, const char *b, const char *y) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        unsetenv(all[i]);
    setenv(a, x, 1);
    setenv(b, y, 1);
}

static void check(const char *a, const char *x, const char *b, const char *y, cr_flavour flavour,
                  int rank, int size) {
    cr_place p;
    cr_err err;
    set(a, x, b, y);
    CHECK_INT(cr_place_find(&p, &err), CR_OK);
    CHECK_INT(p.flavour, flavour);
    CHECK_INT(p.rank, rank);
    CHECK_INT(p.size, size);
    CHECK((p.launcher != NULL) == (size > 1));
}

TEST(launchers) {
    check("OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE", "3", CR_MPI_OPEN, 2, 3);
    check("PMI_RANK", "0", "PMI_SIZE", "4", CR_MPI_MPICH, 0, 4);
    check("PMIX_RANK", "1", "SLURM_NTASKS", "2", CR_MPI_OPEN, 1, 2);
}

TEST(alone) {
    check("RANK", "1", "WORLD_SIZE", "4", CR_MPI_NONE, 0, 1); /* nodes, or processes? */
    check("PMI_RANK", "0", "PMI_SIZE", "1", CR_MPI_NONE, 0, 1);
    check("SLURM_PROCID", "1", "SLURM_NTASKS", "2", CR_MPI_NONE, 0, 1);
}

TEST(wrong) {
    cr_place p;
    cr_err err;
    static const char *const sizes[] = {"x", "", "-1", "99999999999", "2 "};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        set("PMI_RANK", "0", "PMI_SIZE", sizes[i]);
        CHECK_INT(cr_place_find(&p, &err), CR_EUSAGE);
        CHECK(strstr(err.msg, "PMI_SIZE") != NULL);
    }
    set("OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "3");
    CHECK_INT(cr_place_find(&p, &err), CR_EUSAGE);
    CHECK(strstr(err.msg, "contradict") != NULL);
}

TEST_MAIN(CASE(launchers), CASE(alone), CASE(wrong))
