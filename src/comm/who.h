/*
 * who.h - who the ranks are: host, process, program, and the cores that each may run on. Every rank
 * tells it in one record of fixed size, the first thing that ranks ever say to each other, so that
 * programs of different versions understand it.
 */
#ifndef CR_COMM_WHO_H
#define CR_COMM_WHO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CR_WHO_CORES 1024

typedef struct cr_who {
    uint32_t magic;
    int32_t pid;
    char host[64];
    char version[24];                  /* of crank */
    uint64_t program;                  /* digest of the program's file; 0: not known */
    int32_t n_cores;                   /* cores that this rank may use when it is alone */
    int32_t claim;                     /* 1 + the rank that its role says; 0: it has none */
    uint64_t cores[CR_WHO_CORES / 64]; /* a bit per core of its machine; zeros: not known */
    char more[16];                     /* zeros */
} cr_who;

/* cr_who_init fills in this process. */
void cr_who_init(cr_who *w);
/* cr_who_check: do all n ranks run the same program, and has each a role of its own? */
CR_CHECKED cr_code cr_who_check(const cr_who *v, int n, cr_err *err);
/* cr_who_threads returns how many threads rank `self` should run: the cores of its machine are
 * divided among the ranks that may use them. At least 1. *n_local becomes the number of ranks on
 * its machine. */
int cr_who_threads(const cr_who *v, int n, int self, int *n_local);
/* cr_who_text writes "rank 1 (host a)" or "ranks 1, 2 and 4 more (hosts a, b)" for the marked
 * ranks. */
void cr_who_text(const cr_who *v, int n, const bool *marked, char *out, size_t size);

#endif
