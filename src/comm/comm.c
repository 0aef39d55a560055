/*
 * comm.c - a comm over the plug-in of the launcher's MPI.
 */
#include "comm/comm.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plugin.h"
#include "comm/life.h"
#include "comm/plug.h"

#define WATCHED_S 5 /* seconds: see lost */
#define ABORT_S   10
#define READ_S    2  /* seconds that a launcher has to read the last lines of a rank */
#define FINISH_S  90 /* more than the waits of finish in plug_mpi.c */
/* seconds that a rank waits for the others, when PROCESS_GROUP_TIMEOUT_SECONDS is not set */
#define WAIT_S 1800

/* What a rank tells the others in a vote. */
typedef struct vote {
    int32_t code, wish;
} vote;

struct cr_comm {
    const cr_comm_plug *plug;
    int rank, size, local_rank, local_size;
    atomic_llong sent; /* a thread that posts letters adds to it */
    cr_mail mail;
    int blamed;    /* see cr_comm_blamed */
    cr_code ended; /* the code of the vote that ended the job; CR_OK: none has */
    int64_t n_votes;
    int servers, workers; /* of each group of ranks; servers 0: no rank serves */
    cr_who *who;          /* of all ranks */
    vote *votes;          /* of all ranks */
    bool *gone;           /* by rank: see cr_comm_without */
    size_t *vote_at;
};

static const char *const files[] = {
    [CR_MPI_MPICH] = "comm-mpich.so", [CR_MPI_OPEN] = "comm-openmpi.so"};
static const char *const packages[] = {
    [CR_MPI_MPICH] = "libmpich-dev", [CR_MPI_OPEN] = "libopenmpi-dev"};

static cr_code wait_limit(double *out, cr_err *err) {
    const char *text = getenv("PROCESS_GROUP_TIMEOUT_SECONDS");
    *out = WAIT_S;
    if (!text || !*text) return CR_OK;
    if (cr_parse_f64(text, strlen(text), out) && *out >= 1 && *out <= 1e9) return CR_OK;
    return cr_fail(
        err, CR_EUSAGE,
        "PROCESS_GROUP_TIMEOUT_SECONDS of the environment is '%.60s' and must be a number "
        "of seconds from 1 on; unset it to wait %d s",
        text, WAIT_S);
}

/* May ranks of one machine talk through shared memory? */
static cr_code wants_rings(bool *yes, cr_err *err) {
    const char *text = getenv("CRANK_RINGS");
    *yes = !text || strcmp(text, "off") != 0;
    if (!*yes || !text || strcmp(text, "on") == 0) return CR_OK;
    return cr_fail(
        err, CR_EUSAGE,
        "CRANK_RINGS of the environment is '%.60s' and must be on or off; unset it to let "
        "ranks of one machine talk through shared memory",
        text);
}

/* Learns who all ranks are; it fails on all of them when they run different programs. */
static cr_code meet_all(cr_comm *c, const cr_place *place, cr_err *err) {
    size_t *at = cr_alloc(((size_t)c->size + 1) * sizeof *at, "ranks");
    c->who = cr_alloc((size_t)c->size * sizeof *c->who, "ranks");
    for (int r = 0; r <= c->size; r++)
        at[r] = (size_t)r * sizeof *c->who;
    cr_who_init(&c->who[c->rank]);
    if (place->role.given) c->who[c->rank].claim = place->rank + 1;
    cr_comm_gather(c, c->who, at);
    cr_free(at);
    return cr_who_check(c->who, c->size, err);
}

static int is_lost(int rank) {
    int r;
    for (int i = 0; (r = cr_life_lost_rank(i)) >= 0; i++)
        if (r == rank) return 1;
    return 0;
}

static cr_code open_comm(cr_comm **out, const cr_place *place, cr_err *err) {
    void *entry;
    cr_err missing;
    char why[CR_COMM_WHY] = "", cure[80];
    double limit;
    bool near;
    CR_TRY(wait_limit(&limit, err));
    CR_TRY(wants_rings(&near, err));
    snprintf(cure, sizeof cure, "build crank with %s installed", packages[place->flavour]);
    /* When a rank is killed, UCX below MPI would print a page of addresses in each of the others.
     * It reads the variable as soon as it is loaded. */
    setenv("UCX_HANDLE_ERRORS", "none", 0);
    setenv("UCX_LOG_FILE", "stderr", 0); /* it writes to stdout, where predictions may go */
    /* In shared memory UCX does not survive the death of one process: whoever reads its memory
     * aborts, and a message that it had half written blocks those of all others. */
    if (place->may_lose) setenv("UCX_TLS", "^sm", 0);
    cr_kill_point("meet");
    if (cr_plugin_own(files[place->flavour], "cr_comm_plug_of", CR_COMM_ABI, cure, &entry,
                      &missing) != CR_OK)
        return cr_fail(err, CR_ERUN, "%s started %d ranks, but this crank cannot join them: %s",
                       place->launcher, place->size, missing.msg);
    cr_comm *c = cr_alloc(sizeof *c, "a comm");
    c->plug = entry;
    c->blamed = -1;
    if (!c->plug->start(near, &c->rank, &c->size, &c->local_rank, &c->local_size, why)) {
        cr_free(c);
        return cr_fail(err, CR_ERUN, "the ranks that %s started cannot meet: %s", place->launcher,
                       why);
    }
    cr_kill_point("met");
    if (place->role.given) {
        c->rank = place->rank;
        if (!c->plug->order(&c->rank, why)) {
            cr_free(c);
            return cr_fail(err, CR_ERUN, "the ranks that %s started cannot be numbered: %s",
                           place->launcher, why);
        }
    }
    c->plug->limit(limit);
    if (c->size != place->size) {
        int size = c->size;
        cr_comm_close(c, 1);
        return cr_fail(err, CR_ERUN,
                       "%s says that there are %d ranks, but MPI finds %d; start crank with the "
                       "mpiexec of the same MPI",
                       place->launcher, place->size, size);
    }
    c->gone = cr_alloc((size_t)c->size * sizeof *c->gone, "ranks");
    if (cr_life_is_watched()) c->plug->watch(is_lost);
    c->votes = cr_alloc((size_t)c->size * sizeof *c->votes, "votes");
    c->vote_at = cr_alloc(((size_t)c->size + 1) * sizeof *c->vote_at, "votes");
    for (int r = 0; r <= c->size; r++)
        c->vote_at[r] = (size_t)r * sizeof *c->votes;
    cr_code code = meet_all(c, place, err);
    if (code != CR_OK) {
        cr_comm_close(c, cr_exit_code(code));
        return code;
    }
    *out = c;
    return CR_OK;
}

cr_code cr_comm_open(cr_comm **out, const cr_place *place, cr_err *err) {
    cr_life_meet(true);
    cr_code code = open_comm(out, place, err);
    cr_life_meet(false);
    return code;
}

/* MPI_Finalize of MPICH over TCP can wait for ever (plug_mpi.c), and a rank that waits in it for a
 * slow one and gives up makes mpiexec fail. So a rank of mpiexec does what MPI_Finalize does last
 * and leaves out the rest: once all ranks have met, it tells the launcher by PMI that it leaves.
 * Elsewhere MPI_Finalize has some seconds, and the same is done when they are over. */
static volatile sig_atomic_t end_code, pmi_fd = -1;

static void leave_by_pmi(void) {
    static const char leave[] = "cmd=finalize\n";
    struct pollfd p = {.fd = pmi_fd, .events = POLLIN};
    char answer[256];
    if (p.fd >= 0 && write(p.fd, leave, sizeof leave - 1) > 0 && poll(&p, 1, 1000) == 1)
        (void)!read(p.fd, answer, sizeof answer); /* the launcher minds when nobody listens */
}

static void stuck(int sig) {
    (void)sig;
    leave_by_pmi();
    _exit(end_code);
}

void cr_comm_close(cr_comm *c, int exit_code) {
    int64_t fd;
    if (!c) return;
    const char *text = getenv("PMI_FD");
    if (text && cr_parse_i64(text, strlen(text), &fd) && fd >= 0 && fd < 1 << 20) pmi_fd = (int)fd;
    /* MPI_LOCALNRANKS: mpiexec of MPICH started this rank; Slurm speaks PMI of another version */
    bool watched = cr_life_is_watched(), hydra = pmi_fd >= 0 && getenv("MPI_LOCALNRANKS");
    end_code = exit_code;
    struct sigaction sa = {.sa_handler = stuck};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGALRM, &sa, NULL);
    alarm(FINISH_S);
    c->plug->finish(watched || hydra);
    if (hydra && !watched) leave_by_pmi();
    alarm(0);
    cr_free(c->who);
    cr_free(c->gone);
    cr_free(c->votes);
    cr_free(c->vote_at);
    cr_free(c);
}

void cr_comm_abort(cr_comm *c, int code) {
    if (!c) return;
    cr_log_wait_read(READ_S);
    signal(SIGALRM, SIG_DFL); /* MPI waits for the launcher's answer, which may never come */
    alarm(ABORT_S);
    c->plug->abort(code);
}

_Noreturn void cr_comm_fail(cr_comm *c, const cr_err *err) {
    cr_log(CR_LOG_ERROR, "rank %d (host %s) cannot go on: %s", c->rank,
           c->who ? c->who[c->rank].host : "?", err->msg);
    cr_comm_abort(c, cr_exit_code(err->code));
    _exit(cr_exit_code(err->code));
}

/* The others are gone, or MPI is broken: no call can follow. */
static _Noreturn void lost(cr_comm *c, const char *why) {
    /* a launcher that watches this rank knows why, says it, and ends this rank within a moment */
    if (cr_life_is_watched()) sleep(WATCHED_S);
    cr_log(CR_LOG_ERROR,
           "rank %d of %d cannot reach the others: %s; see the message of the rank that ended "
           "first, then go on with --continue_train",
           c->rank, c->size, why);
    cr_comm_abort(c, 1);
    _exit(1);
}

int cr_comm_rank(const cr_comm *c) {
    return c->rank;
}
int cr_comm_size(const cr_comm *c) {
    return c->size;
}
cr_code cr_comm_set_roles(cr_comm *c, int64_t servers, int64_t workers, cr_err *err) {
    if (c->size % (servers + workers) != 0)
        return cr_fail(
            err, CR_EUSAGE,
            "%d ranks cannot be made of groups of %lld workers and %lld servers (--workers "
            "and --ps); start a multiple of %lld ranks",
            c->size, (long long)workers, (long long)servers, (long long)(servers + workers));
    c->servers = (int)servers;
    c->workers = (int)workers;
    return CR_OK;
}
bool cr_comm_serves(const cr_comm *c, int rank) {
    return c->servers > 0 && rank % (c->servers + c->workers) >= c->workers;
}
int cr_comm_servers(const cr_comm *c) {
    return c->servers > 0 ? c->size / (c->servers + c->workers) * c->servers : 0;
}
int cr_comm_local_rank(const cr_comm *c) {
    return c->local_rank;
}
int cr_comm_local_size(const cr_comm *c) {
    return c->local_size;
}
const char *cr_comm_name(const cr_comm *c) {
    return c->plug->name;
}

void cr_comm_gather(cr_comm *c, void *all, const size_t *at) {
    char why[CR_COMM_WHY] = "";
    if (!c->plug->gather(all, at, why)) lost(c, why);
    c->sent += (int64_t)(at[c->rank + 1] - at[c->rank]) * (c->size - 1);
}

void cr_comm_exchange_start(cr_comm *c, int slot, const void *out, const size_t *out_at, void *in,
                            const size_t *in_at) {
    char why[CR_COMM_WHY] = "";
    if (!c->plug->exchange(slot, out, out_at, in, in_at, why)) lost(c, why);
    size_t own = out_at[c->rank + 1] - out_at[c->rank];
    c->sent += (int64_t)(out_at[c->size] - out_at[0] - own);
}

void cr_comm_exchange_end(cr_comm *c, int slot) {
    char why[CR_COMM_WHY] = "";
    if (!c->plug->arrived(slot, why)) lost(c, why);
}

void cr_comm_exchange(cr_comm *c, const void *out, const size_t *out_at, void *in,
                      const size_t *in_at) {
    cr_comm_exchange_start(c, 0, out, out_at, in, in_at);
    cr_comm_exchange_end(c, 0);
}

void cr_comm_share(cr_comm *c, void *data, size_t n, int from) {
    char why[CR_COMM_WHY] = "";
    if (!c->plug->share(data, n, from, why)) lost(c, why);
    if (from == c->rank) c->sent += (int64_t)n * (c->size - 1);
}

static int post(void *ctx, int to, const void *data, size_t n) {
    cr_comm *c = ctx;
    char why[CR_COMM_WHY] = "";
    int ticket = 0;
    if (!c->plug->post(to, data, n, &ticket, why)) lost(c, why);
    c->sent += (long long)n;
    return ticket;
}

static bool posted(void *ctx, int ticket) {
    cr_comm *c = ctx;
    char why[CR_COMM_WHY] = "";
    int done = 0;
    if (!c->plug->posted(ticket, &done, why)) lost(c, why);
    return done != 0;
}

static bool peek(void *ctx, int *from, size_t *n) {
    cr_comm *c = ctx;
    char why[CR_COMM_WHY] = "";
    int found = 0;
    if (!c->plug->peek(&found, from, n, why)) lost(c, why);
    return found != 0;
}

static bool take(void *ctx, int from, void *data, size_t n) {
    cr_comm *c = ctx;
    char why[CR_COMM_WHY] = "";
    int gone = 0;
    if (!c->plug->take(from, data, n, &gone, why)) lost(c, why);
    return !gone;
}

static int lost_rank(void *ctx, int i) {
    (void)ctx;
    return cr_life_lost_rank(i);
}

bool cr_comm_may_lose(const cr_comm *c) {
    return c && cr_life_is_watched();
}

void cr_comm_without(cr_comm *c, const int *ranks, int n) {
    char why[CR_COMM_WHY] = "";
    if (n == 0) return;
    if (!c->plug->without(ranks, n, why)) lost(c, why);
    for (int i = 0; i < n; i++)
        c->gone[ranks[i]] = true;
}

const bool *cr_comm_gone(const cr_comm *c) {
    return c->gone;
}

int cr_comm_first(const cr_comm *c) {
    int r = 0;
    while (c->gone[r])
        r++;
    return r;
}

const cr_mail *cr_comm_mail(cr_comm *c) {
    c->mail = (cr_mail){.self = c->rank,
                        .n = c->size,
                        .post = post,
                        .posted = posted,
                        .peek = peek,
                        .take = take,
                        .lost = lost_rank,
                        .ctx = c};
    return &c->mail;
}

cr_code cr_comm_vote(cr_comm *c, cr_code mine, bool wish, bool *any) {
    *any = wish;
    if (!c) return mine;
    if (c->ended != CR_OK) return c->ended;
    c->n_votes++;
    for (int r = 0; r < c->size; r++)
        if (c->gone[r]) c->votes[r] = (vote){0};
    c->votes[c->rank] = (vote){.code = (int32_t)mine, .wish = wish};
    cr_comm_gather(c, c->votes, c->vote_at);
    *any = false;
    cr_code code = CR_OK;
    for (int r = 0; r < c->size; r++) {
        *any = *any || c->votes[r].wish;
        if (code != CR_OK || c->votes[r].code == CR_OK) continue;
        code = (cr_code)c->votes[r].code;
        if (c->blamed < 0) c->blamed = r;
    }
    if (code != CR_ESTOP) c->ended = code;
    return code;
}

int64_t cr_comm_votes(const cr_comm *c) {
    return c->n_votes;
}

const cr_who *cr_comm_who(const cr_comm *c) {
    return c->who;
}

int cr_comm_blamed(const cr_comm *c) {
    return c->blamed;
}

int64_t cr_comm_sent(const cr_comm *c) {
    return c->sent;
}
