/*
 * plug_mpi.c - MPI behind the table of plug.h. Compiled once per flavour; the only file that
 * includes mpi.h.
 *
 * No call adds numbers: MPI would choose the order of additions. MPI counts are int, so what is
 * larger moves in pieces of PIECE bytes.
 *
 * All calls are the ones that return at once, followed by a wait of our own. MPI's own waits poll
 * without giving the core away, which makes ranks that share cores crawl.
 *
 * Ranks of one machine use rings in shared memory (rings.h) for exchanges, and for gathering when
 * all ranks are on it; MPI serves the rest, and everything where rings are not allowed.
 */
#include "comm/plug.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "comm/rings.h"

#define PIECE ((size_t)1 << 30)

extern cr_comm_plug cr_comm_plug_of; /* what crank looks for in the library */
static MPI_Comm world;               /* all ranks, in the order of their numbers */
static MPI_Comm alive;               /* those that were not lost; world until one is */
static char *left_out;               /* by rank: it was lost, and calls leave it out */
static int (*is_lost)(int rank);
static int n_ranks, self;
static int *counts; /* room for two lists of n_ranks numbers */
static char title[64];

static cr_rings rings; /* rings.mem is NULL: there are none */
static int *near;      /* by rank: its number among the ranks of the rings; -1: another machine */

/* A message through a ring. */
typedef struct load {
    char *data;
    size_t n, done;
    int peer; /* of the rings */
    bool out;
} load;

/* messages that are under way, by slot; the last slot is that of gathering */
#define SLOTS (CR_COMM_SLOTS + 1)
typedef struct flight {
    MPI_Request *v;
    MPI_Status *status; /* not read; gcc warns of MPICH's MPI_STATUSES_IGNORE */
    int n, cap;
    load *loads;
    int n_loads, cap_loads;
} flight;
static flight flights[SLOTS];

/* letters that are being sent, by ticket */
static struct letters {
    MPI_Request *v; /* MPI_REQUEST_NULL: the ticket is free */
    int *to;        /* to whom */
    int n;
} letters;

/* Has an MPI call worked? If not, why says what failed. */
static int fine(int e, const char *what, char why[CR_COMM_WHY]) {
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

/* Sets up the rings of this machine. Either all of its ranks have them, or none. */
static void open_rings(MPI_Comm node, bool wished, int local_rank, int local_size) {
    cr_rings_name name = {.fd = -1};
    int has = wished && local_size > 1, all = 0;
    if (local_rank == 0) has = has && cr_rings_make(&rings, local_size, SLOTS, &name);
    MPI_Bcast(&name, (int)sizeof name, MPI_BYTE, 0, node);
    if (local_rank != 0) has = has && cr_rings_open(&rings, &name, local_size, SLOTS, local_rank);
    MPI_Allreduce(&has, &all, 1, MPI_INT, MPI_MIN, node);
    if (has && all)
        cr_rings_joined(&rings);
    else if (has)
        cr_rings_close(&rings);
}

/* Finds which ranks are reached through rings. */
static int find_near(MPI_Comm node, bool wished, int local_rank, char why[CR_COMM_WHY]) {
    int local_size;
    MPI_Comm_size(node, &local_size);
    near = malloc((size_t)n_ranks * sizeof *near);
    int *global = malloc((size_t)local_size * sizeof *global);
    if (!near || !global) {
        free(global);
        snprintf(why, CR_COMM_WHY, "out of memory for %d ranks", n_ranks);
        return 0;
    }
    for (int r = 0; r < n_ranks; r++)
        near[r] = -1;
    open_rings(node, wished, local_rank, local_size);
    int e = MPI_Allgather(&self, 1, MPI_INT, global, 1, MPI_INT, node);
    for (int k = 0; rings.mem && k < local_size; k++)
        near[global[k]] = k;
    free(global);
    return fine(e, "finding the ranks of this machine", why);
}

static int start(int wished, int *rank, int *size, int *local_rank, int *local_size,
                 char why[CR_COMM_WHY]) {
    int level, e = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (e != MPI_SUCCESS) {
        snprintf(why, CR_COMM_WHY, "MPI does not start (error %d)", e);
        return 0;
    }
    if (level < MPI_THREAD_SERIALIZED) {
        snprintf(why, CR_COMM_WHY, "this MPI does not work in programs with threads");
        return 0;
    }
    world = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world, &self);
    MPI_Comm_size(world, &n_ranks);
    MPI_Comm node;
    e = MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, self, MPI_INFO_NULL, &node);
    if (!fine(e, "finding the ranks of this machine", why)) return 0;
    MPI_Comm_rank(node, local_rank);
    MPI_Comm_size(node, local_size);
    if (!find_near(node, wished, *local_rank, why)) return 0;
    MPI_Comm_free(&node);
    alive = world;
    left_out = calloc((size_t)n_ranks, 1);
    counts = malloc((size_t)n_ranks * 2 * sizeof *counts);
    if (!counts || !left_out) {
        snprintf(why, CR_COMM_WHY, "out of memory for %d ranks", n_ranks);
        return 0;
    }
    name_library();
    *rank = self;
    *size = n_ranks;
    return 1;
}

static int order(int *rank, char why[CR_COMM_WHY]) {
    static const char what[] = "numbering the ranks";
    int *old = counts, before = self; /* counts has room for two lists */
    if (!fine(MPI_Comm_split(MPI_COMM_WORLD, 0, *rank, &world), what, why)) return 0;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world, &self);
    alive = world;
    *rank = self;
    if (!fine(MPI_Allgather(&before, 1, MPI_INT, old, 1, MPI_INT, world), what, why)) return 0;
    int *moved = old + n_ranks;
    for (int r = 0; r < n_ranks; r++)
        moved[r] = near[old[r]];
    memcpy(near, moved, (size_t)n_ranks * sizeof *near);
    return 1;
}

static void watch(int (*lost)(int rank)) {
    is_lost = lost;
}

/* Returns a rank that was lost and that this process still counts on; -1: none. */
static int lost_rank(void) {
    for (int r = 0; is_lost && r < n_ranks; r++)
        if (!left_out[r] && is_lost(r)) return r;
    return -1;
}

#define TAG_WITHOUT 103
#define WITHOUT_S   60 /* MPI makes the new communicator in a call that waits */

static int without(const int *ranks, int n, char why[CR_COMM_WHY]) {
    MPI_Group all, rest;
    MPI_Comm next;
    int *mine = malloc(((size_t)n + 1) * sizeof *mine);
    if (!mine) {
        snprintf(why, CR_COMM_WHY, "out of memory for %d ranks", n);
        return 0;
    }
    MPI_Comm_group(alive, &all);
    for (int i = 0; i < n; i++) { /* numbers in `alive` */
        mine[i] = 0;
        for (int r = 0; r < ranks[i]; r++)
            mine[i] += !left_out[r];
    }
    MPI_Group_excl(all, n, mine, &rest);
    alarm(WITHOUT_S); /* one more rank that is lost now would be waited for */
    int e = MPI_Comm_create_group(alive, rest, TAG_WITHOUT, &next);
    alarm(0);
    free(mine);
    MPI_Group_free(&rest);
    MPI_Group_free(&all);
    if (!fine(e, "going on without a lost rank", why)) return 0;
    alive = next;
    MPI_Comm_set_errhandler(alive, MPI_ERRORS_RETURN);
    for (int i = 0; i < n; i++)
        left_out[ranks[i]] = 1;
    return 1;
}

static void end_all(int code) {
    MPI_Abort(MPI_COMM_WORLD, code);
}

#define SPINS   200   /* tests before the core is given away */
#define YIELD_S 0.002 /* before the rank sleeps; one yield takes long on a busy machine */

static const struct timespec nap = {0, 50000};

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- who is there? ----
 * A rank that has waited too long calls the roll. Every rank that waits, in whatever call, answers;
 * those that do not answer are stopped, dead, cut off, or busy with something else. */

#define TAG_ASK  100
#define TAG_HERE 101
#define ROLL_S   3.0  /* the time to answer */
#define LOOK_S   0.02 /* between two looks for a call; a nap may take long on a busy machine */

static double wait_limit;

/* Takes the messages of one tag that have come, and marks their senders; answer: each
 * of them gets a message back. */
static void take_calls(int tag, char *here, bool answer) {
    for (int found = 1; found;) {
        MPI_Status st;
        MPI_Request r;
        static char byte; /* of messages whose content says nothing */
        char in;
        if (MPI_Iprobe(MPI_ANY_SOURCE, tag, world, &found, &st) != MPI_SUCCESS || !found) return;
        int from = st.MPI_SOURCE;
        if (MPI_Recv(&in, 1, MPI_BYTE, from, tag, world, &st) != MPI_SUCCESS) return;
        if (here) here[from] = 1;
        if (answer && MPI_Isend(&byte, 1, MPI_BYTE, from, TAG_HERE, world, &r) == MPI_SUCCESS)
            MPI_Request_free(&r);
    }
}

static void call_roll(const char *what, double waited, char why[CR_COMM_WHY]) {
    static char byte;
    char *here = calloc((size_t)n_ranks, 1);
    size_t n = (size_t)snprintf(why, CR_COMM_WHY, "%s took more than %.0f s", what, waited);
    if (!here) return;
    for (int r = 0; r < n_ranks; r++) {
        MPI_Request q;
        if (r != self && !left_out[r] &&
            MPI_Isend(&byte, 1, MPI_BYTE, r, TAG_ASK, world, &q) == MPI_SUCCESS)
            MPI_Request_free(&q);
    }
    for (double end = now_s() + ROLL_S; now_s() < end; nanosleep(&nap, NULL)) {
        take_calls(TAG_ASK, here, true);
        take_calls(TAG_HERE, here, false);
    }
    int missing = 0;
    for (int r = 0; r < n_ranks; r++)
        if (r != self && !here[r] && !left_out[r] && n < CR_COMM_WHY - 32)
            n += (size_t)snprintf(why + n, CR_COMM_WHY - n, "%s%d",
                                  missing++ ? ", " : "; no answer comes from rank ", r);
    if (!missing) snprintf(why + n, CR_COMM_WHY - n, "; all others wait too");
    free(here);
}

static void limit(double seconds) {
    wait_limit = seconds;
}

/* Moves what can be moved through rings, of all slots: a peer may wait for any of them. Returns
 * whether something was. */
static bool move_loads(void) {
    bool moved = false;
    for (int k = 0; k < SLOTS; k++)
        for (int i = 0; i < flights[k].n_loads; i++) {
            load *l = &flights[k].loads[i];
            if (l->done == l->n) continue;
            size_t n = l->out
                           ? cr_rings_put(&rings, l->peer, k, l->data + l->done, l->n - l->done)
                           : cr_rings_take(&rings, l->peer, k, l->data + l->done, l->n - l->done);
            l->done += n;
            moved |= n > 0;
        }
    return moved;
}

static bool loads_done(const flight *f) {
    for (int i = 0; i < f->n_loads; i++)
        if (f->loads[i].done < f->loads[i].n) return false;
    return true;
}

/* Waits until a flight has arrived. A rank that has waited for long leaves its core to the
 * others. */
static int wait_for(flight *f, const char *what, char why[CR_COMM_WHY]) {
    double began = 0, looked = 0;
    int done = f->n == 0;
    for (int64_t tries = 0;; tries++) {
        if (move_loads()) tries = 0, began = 0;
        if (!done && !fine(MPI_Testall(f->n, f->v, &done, f->status), what, why)) return 0;
        if (done && loads_done(f)) {
            f->n_loads = 0;
            return 1;
        }
        if (tries < SPINS) continue;
        double now = now_s();
        if (began <= 0) began = looked = now;
        if (now - began < YIELD_S)
            sched_yield();
        else
            nanosleep(&nap, NULL);
        if (done && rings.n < n_ranks) { /* ranks elsewhere may need MPI's help */
            MPI_Status st;
            int found;
            MPI_Iprobe(MPI_ANY_SOURCE, TAG_ASK, world, &found, &st);
        }
        if (now - looked < LOOK_S) continue;
        looked = now;
        take_calls(TAG_ASK, NULL, true);
        int r = lost_rank();
        if (r >= 0) {
            snprintf(why, CR_COMM_WHY, "%s: rank %d was lost", what, r);
            return 0;
        }
        if (wait_limit > 0 && now - began > wait_limit) {
            call_roll(what, wait_limit, why);
            return 0;
        }
    }
}

static int wait_for_one(MPI_Request *r, const char *what, char why[CR_COMM_WHY]) {
    MPI_Status st;
    return wait_for(&(flight){.v = r, .status = &st, .n = 1}, what, why);
}

/* Waits until all ranks are here, for so long at most. */
static void meet(double seconds) {
    MPI_Request r;
    MPI_Status st;
    if (wait_limit > 0 && wait_limit < seconds) seconds = wait_limit;
    double end = now_s() + seconds;
    int done = MPI_Ibarrier(alive, &r) != MPI_SUCCESS;
    while (!done && now_s() < end) {
        if (MPI_Testall(1, &r, &done, &st) != MPI_SUCCESS) return;
        if (!done) nanosleep(&nap, NULL);
    }
}

#define LEAVE_S    60.0 /* for all ranks to come to the end */
#define LINGER_S   0.25 /* for what is still on its way */
#define FINALIZE_S 20   /* a rank that leaves while a slow one is still coming makes mpiexec fail */

/* MPI_Finalize of MPICH 4.0.2 over UCX and TCP can wait for ever: it closes connections one by one,
 * which needs the other side's help, and a rank that is done waits without helping. So ranks first
 * meet twice. After the first meeting all work is done everywhere; the second one gives its
 * messages the time to arrive. */
static void finish(int quick) {
    int done = 0;
    MPI_Finalized(&done);
    if (!done) {
        meet(LEAVE_S);
        meet(LINGER_S);
    }
    if (!done && !quick) {
        alarm(FINALIZE_S); /* comm.c ends the process then */
        MPI_Finalize();
    }
    free(counts);
    free(near);
    free(left_out);
    counts = near = NULL;
    left_out = NULL;
    cr_rings_close(&rings);
    for (int i = 0; i < SLOTS; i++) {
        free(flights[i].v);
        free(flights[i].status);
        free(flights[i].loads);
    }
    memset(flights, 0, sizeof flights);
    free(letters.v);
    free(letters.to);
    letters.v = NULL;
    letters.to = NULL;
    letters.n = 0;
}

static size_t piece_of(size_t n, size_t at) {
    return n - at < PIECE ? n - at : PIECE;
}

/* Sends a large message from one rank to all, in pieces. */
static int share(void *data, size_t n, int from, char why[CR_COMM_WHY]) {
    static const char what[] = "sending to all ranks";
    int root = 0;
    if (left_out[from]) return 1;
    for (int r = 0; r < from; r++)
        root += !left_out[r];
    for (size_t at = 0; at < n; at += PIECE) {
        MPI_Request r;
        int e = MPI_Ibcast((char *)data + at, (int)piece_of(n, at), MPI_BYTE, root, alive, &r);
        if (!fine(e, what, why) || !wait_for_one(&r, what, why)) return 0;
    }
    return 1;
}

/* Returns room for one more request or load; NULL: there is no memory. */
static MPI_Request *next_request(flight *f) {
    if (f->n == f->cap) {
        int cap = f->cap ? 2 * f->cap : 2 * n_ranks + 2;
        MPI_Request *v = realloc(f->v, (size_t)cap * sizeof *v);
        if (v) f->v = v;
        MPI_Status *status = realloc(f->status, (size_t)cap * sizeof *status);
        if (status) f->status = status;
        if (!v || !status) return NULL;
        f->cap = cap;
    }
    return &f->v[f->n++];
}
static load *next_load(flight *f) {
    if (f->n_loads == f->cap_loads) {
        int cap = f->cap_loads ? 2 * f->cap_loads : 2 * rings.n;
        load *v = realloc(f->loads, (size_t)cap * sizeof *v);
        if (!v) return NULL;
        f->loads = v;
        f->cap_loads = cap;
    }
    return &f->loads[f->n_loads++];
}

/* Sends or receives n bytes, through a ring or in pieces. Both sides know n, and messages of one
 * pair and slot arrive in the order in which they were sent. */
static int post(int slot, bool out, char *data, size_t n, int rank) {
    flight *f = &flights[slot];
    if (near[rank] >= 0) {
        load *l = n > 0 ? next_load(f) : NULL;
        if (l) *l = (load){.data = data, .n = n, .peer = near[rank], .out = out};
        return l || n == 0 ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    for (size_t at = 0; at < n; at += PIECE) {
        MPI_Request *r = next_request(f);
        if (!r) return MPI_ERR_NO_MEM;
        int e = out ? MPI_Isend(data + at, (int)piece_of(n, at), MPI_BYTE, rank, slot, world, r)
                    : MPI_Irecv(data + at, (int)piece_of(n, at), MPI_BYTE, rank, slot, world, r);
        if (e != MPI_SUCCESS) return e;
    }
    return MPI_SUCCESS;
}

/* Gathers through rings. */
static int gather_near(char *all, const size_t *at, const char *what, char why[CR_COMM_WHY]) {
    int e = MPI_SUCCESS;
    for (int d = 1; d < n_ranks && e == MPI_SUCCESS; d++) {
        int to = (self + d) % n_ranks;
        if (left_out[to]) continue;
        e = post(CR_COMM_SLOTS, true, all + at[self], at[self + 1] - at[self], to);
    }
    for (int d = 1; d < n_ranks && e == MPI_SUCCESS; d++) {
        int from = (self + n_ranks - d) % n_ranks;
        if (left_out[from]) continue;
        e = post(CR_COMM_SLOTS, false, all + at[from], at[from + 1] - at[from], from);
    }
    return fine(e, what, why) && wait_for(&flights[CR_COMM_SLOTS], what, why);
}

static int gather(void *all, const size_t *at, char why[CR_COMM_WHY]) {
    static const char what[] = "gathering from all ranks";
    if (rings.mem && rings.n == n_ranks) return gather_near(all, at, what, why);
    if (at[n_ranks] > INT_MAX) {
        for (int r = 0; r < n_ranks; r++)
            if (!share((char *)all + at[r], at[r + 1] - at[r], r, why)) return 0;
        return 1;
    }
    for (int r = 0, k = 0; r < n_ranks; r++) {
        if (left_out[r]) continue;
        counts[k] = (int)(at[r + 1] - at[r]);
        counts[n_ranks + k++] = (int)at[r];
    }
    MPI_Request r;
    int e = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, counts + n_ranks,
                            MPI_BYTE, alive, &r);
    return fine(e, what, why) && wait_for_one(&r, what, why);
}

static int exchange(int slot, const void *out, const size_t *out_at, void *in, const size_t *in_at,
                    char why[CR_COMM_WHY]) {
    int e = MPI_SUCCESS;
    flights[slot].n = 0;
    for (int d = 1; d < n_ranks && e == MPI_SUCCESS; d++) {
        int from = (self + n_ranks - d) % n_ranks;
        if (left_out[from]) continue;
        e = post(slot, false, (char *)in + in_at[from], in_at[from + 1] - in_at[from], from);
    }
    for (int d = 1; d < n_ranks && e == MPI_SUCCESS; d++) {
        int to = (self + d) % n_ranks;
        if (left_out[to]) continue;
        /* MPI takes no const, and does not write */
        e = post(slot, true, (char *)(uintptr_t)out + out_at[to], out_at[to + 1] - out_at[to], to);
    }
    size_t own = out_at[self + 1] - out_at[self];
    if (own > 0) memcpy((char *)in + in_at[self], (const char *)out + out_at[self], own);
    move_loads();
    return fine(e, "exchanging with other ranks", why);
}

static int arrived(int slot, char why[CR_COMM_WHY]) {
    return wait_for(&flights[slot], "exchanging with other ranks", why);
}

/* ---- letters ---- */

#define TAG_LETTER 102
#define TOLD_S     5.0  /* MPI may find that a rank is lost before the launcher tells */
#define PEEK_EVERY 1024 /* looks without a letter between two looks for a roll call */

/* Was a letter's call in vain because the other side was lost? */
static bool in_vain(int e, int rank) {
    if (e == MPI_SUCCESS || !is_lost) return false;
    for (double end = now_s() + TOLD_S; now_s() < end; nanosleep(&nap, NULL))
        if (is_lost(rank)) return true;
    return false;
}

static int post_letter(int to, const void *data, size_t n, int *ticket, char why[CR_COMM_WHY]) {
    int k = 0;
    while (k < letters.n && letters.v[k] != MPI_REQUEST_NULL)
        k++;
    if (k == letters.n) {
        int more = letters.n ? 2 * letters.n : 64;
        MPI_Request *v = realloc(letters.v, (size_t)more * sizeof *v);
        if (v) letters.v = v;
        int *ranks = realloc(letters.to, (size_t)more * sizeof *ranks);
        if (ranks) letters.to = ranks;
        if (!v || !ranks) {
            snprintf(why, CR_COMM_WHY, "out of memory for %d letters", more);
            return 0;
        }
        for (int i = letters.n; i < more; i++)
            v[i] = MPI_REQUEST_NULL;
        letters.n = more;
    }
    letters.to[k] = to;
    int e = MPI_Isend(data, (int)n, MPI_BYTE, to, TAG_LETTER, world, &letters.v[k]);
    *ticket = in_vain(e, to) ? -1 : k;
    if (*ticket < 0) letters.v[k] = MPI_REQUEST_NULL;
    return *ticket < 0 || fine(e, "sending a letter", why);
}

/* A request that is done becomes MPI_REQUEST_NULL, which frees the ticket. -1 is the ticket of a
 * letter to a rank that was lost. */
static int posted(int ticket, int *done, char why[CR_COMM_WHY]) {
    MPI_Status st;
    *done = 1;
    if (ticket < 0) return 1;
    int e = MPI_Test(&letters.v[ticket], done, &st);
    if (!in_vain(e, letters.to[ticket])) return fine(e, "sending a letter", why);
    letters.v[ticket] = MPI_REQUEST_NULL;
    *done = 1;
    return 1;
}

static int peek(int *found, int *from, size_t *n, char why[CR_COMM_WHY]) {
    static int64_t misses;
    MPI_Status st;
    int count = 0;
    if (!fine(MPI_Iprobe(MPI_ANY_SOURCE, TAG_LETTER, world, found, &st), "looking for letters",
              why))
        return 0;
    if (!*found) {
        if (++misses % PEEK_EVERY == 0) take_calls(TAG_ASK, NULL, true);
        return 1;
    }
    MPI_Get_count(&st, MPI_BYTE, &count);
    *from = st.MPI_SOURCE;
    *n = (size_t)count;
    return 1;
}

/* Waits as wait_for does, but a lost rank matters only when it is the sender. */
static int take_letter(int from, void *data, size_t n, int *gone, char why[CR_COMM_WHY]) {
    static const char what[] = "receiving a letter";
    MPI_Request r;
    MPI_Status st;
    double began = 0;
    *gone = 0;
    if (!fine(MPI_Irecv(data, (int)n, MPI_BYTE, from, TAG_LETTER, world, &r), what, why)) return 0;
    for (int64_t tries = 0;; tries++) {
        int done = 0, e = MPI_Test(&r, &done, &st);
        *gone = in_vain(e, from);
        if (*gone) return 1;
        if (!fine(e, what, why)) return 0;
        if (done) return 1;
        if (tries < SPINS) continue;
        double now = now_s();
        if (began <= 0) began = now;
        if (now - began < YIELD_S)
            sched_yield();
        else
            nanosleep(&nap, NULL);
        *gone = is_lost && is_lost(from);
        if (*gone) return 1;
        if (wait_limit > 0 && now - began > wait_limit) {
            call_roll(what, wait_limit, why);
            return 0;
        }
    }
}

cr_comm_plug cr_comm_plug_of = {
    .abi = CR_COMM_ABI,
    .name = title,
    .start = start,
    .order = order,
    .finish = finish,
    .limit = limit,
    .abort = end_all,
    .watch = watch,
    .without = without,
    .gather = gather,
    .exchange = exchange,
    .arrived = arrived,
    .share = share,
    .post = post_letter,
    .posted = posted,
    .peek = peek,
    .take = take_letter,
};
