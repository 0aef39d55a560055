/*
 * plug_mpi.c - MPI behind the table of plug.h. Compiled once per flavour; the only file that
 * includes mpi.h.
 *
 * No call adds numbers: MPI would choose the order of additions. MPI counts are int, so what is
 * larger moves in pieces of PIECE bytes.
 */
#include "comm/plug.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)1 << 30)

extern cr_comm_plug cr_comm_plug_of; /* what crank looks for in the library */
static int n_ranks, self;
static int *counts; /* room for four lists of n_ranks numbers */
static char title[64];

static int failed(int e, const char *what, char why[CR_COMM_WHY]) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    if (e == MPI_SUCCESS) return 1;
    MPI_Error_string(e, text, &n);
    snprintf(why, CR_COMM_WHY, "%s: %.180s", what, text);
    return 0;
}

static void name_library(void) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0, major = 0, minor = 0, patch = 0;
    MPI_Get_library_version(text, &n);
    const char *flavour = strstr(text, "Open MPI") ? "Open MPI" : "MPICH";
    const char *digit = strpbrk(text, "0123456789");
    if (digit) sscanf(digit, "%d.%d.%d", &major, &minor, &patch);
    snprintf(title, sizeof title, "%s %d.%d.%d", flavour, major, minor, patch);
}

static int start(int *rank, int *size, int *local_rank, int *local_size, char why[CR_COMM_WHY]) {
    int level, e = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    if (e != MPI_SUCCESS) {
        snprintf(why, CR_COMM_WHY, "MPI does not start (error %d)", e);
        return 0;
    }
    if (level < MPI_THREAD_FUNNELED) {
        snprintf(why, CR_COMM_WHY, "this MPI does not work in programs with threads");
        return 0;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &self);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Comm node;
    e = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, self, MPI_INFO_NULL, &node);
    if (!failed(e, "finding the ranks of this machine", why)) return 0;
    MPI_Comm_rank(node, local_rank);
    MPI_Comm_size(node, local_size);
    MPI_Comm_free(&node);
    counts = malloc((size_t)n_ranks * 4 * sizeof *counts);
    if (!counts) {
        snprintf(why, CR_COMM_WHY, "out of memory for %d ranks", n_ranks);
        return 0;
    }
    name_library();
    *rank = self;
    *size = n_ranks;
    return 1;
}

static void finish(void) {
    int done = 0;
    MPI_Finalized(&done);
    if (!done) MPI_Finalize();
    free(counts);
    counts = NULL;
}

static void end_all(int code) {
    MPI_Abort(MPI_COMM_WORLD, code);
}

/* a large message from one rank to all, in pieces */
static int share(void *data, size_t n, int from, char why[CR_COMM_WHY]) {
    for (size_t at = 0; at < n; at += PIECE) {
        size_t k = n - at < PIECE ? n - at : PIECE;
        int e = MPI_Bcast((char *)data + at, (int)k, MPI_BYTE, from, MPI_COMM_WORLD);
        if (!failed(e, "sending to all ranks", why)) return 0;
    }
    return 1;
}

static int gather(void *all, const size_t *at, char why[CR_COMM_WHY]) {
    if (at[n_ranks] > INT_MAX) {
        for (int r = 0; r < n_ranks; r++)
            if (!share((char *)all + at[r], at[r + 1] - at[r], r, why)) return 0;
        return 1;
    }
    for (int r = 0; r < n_ranks; r++) {
        counts[r] = (int)(at[r + 1] - at[r]);
        counts[n_ranks + r] = (int)at[r];
    }
    return failed(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, counts + n_ranks,
                                 MPI_BYTE, MPI_COMM_WORLD),
                  "gathering from all ranks", why);
}

/* one pair of ranks after another, in pieces: for messages beyond MPI's counts */
static int exchange_large(const char *out, const size_t *out_at, char *in, const size_t *in_at,
                          char why[CR_COMM_WHY]) {
    for (int d = 0; d < n_ranks; d++) {
        int to = (self + d) % n_ranks, from = (self + n_ranks - d) % n_ranks;
        size_t n_out = out_at[to + 1] - out_at[to], n_in = in_at[from + 1] - in_at[from];
        for (size_t at = 0; at < n_out || at < n_in; at += PIECE) {
            size_t a = at < n_out ? (n_out - at < PIECE ? n_out - at : PIECE) : 0;
            size_t b = at < n_in ? (n_in - at < PIECE ? n_in - at : PIECE) : 0;
            int e = MPI_Sendrecv(out + out_at[to] + (a ? at : 0), (int)a, MPI_BYTE, to, 7,
                                 in + in_at[from] + (b ? at : 0), (int)b, MPI_BYTE, from, 7,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (!failed(e, "exchanging with other ranks", why)) return 0;
        }
    }
    return 1;
}

static int exchange(const void *out, const size_t *out_at, void *in, const size_t *in_at,
                    char why[CR_COMM_WHY]) {
    /* all ranks must choose alike, and each knows only its own sizes */
    long long most =
        (long long)(out_at[n_ranks] > in_at[n_ranks] ? out_at[n_ranks] : in_at[n_ranks]);
    long long any = 0;
    int e = MPI_Allreduce(&most, &any, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (!failed(e, "comparing sizes with other ranks", why)) return 0;
    if (any > INT_MAX) return exchange_large(out, out_at, in, in_at, why);
    for (int r = 0; r < n_ranks; r++) {
        counts[r] = (int)(out_at[r + 1] - out_at[r]);
        counts[n_ranks + r] = (int)out_at[r];
        counts[2 * n_ranks + r] = (int)(in_at[r + 1] - in_at[r]);
        counts[3 * n_ranks + r] = (int)in_at[r];
    }
    e = MPI_Alltoallv(out, counts, counts + n_ranks, MPI_BYTE, in, counts + 2 * n_ranks,
                      counts + 3 * n_ranks, MPI_BYTE, MPI_COMM_WORLD);
    return failed(e, "exchanging with other ranks", why);
}

cr_comm_plug cr_comm_plug_of = {
    .abi = CR_COMM_ABI,
    .name = title,
    .start = start,
    .finish = finish,
    .abort = end_all,
    .gather = gather,
    .exchange = exchange,
    .share = share,
};
