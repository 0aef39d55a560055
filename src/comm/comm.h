/*
 * comm.h - the other ranks of a job: bytes go to them and come from them. Nothing is added up on
 * the way, so results do not depend on a library's order of additions (docs/design/comm.md).
 *
 * Opening, closing, and all functions that move bytes or vote, except letters, are collective:
 * every rank makes the same calls in the same order, from the one thread that opened the comm. When
 * the others cannot be reached any more, nothing can go on: the process says so in one line and
 * ends.
 */
#ifndef CR_COMM_COMM_H
#define CR_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/mail.h"
#include "comm/place.h"
#include "comm/who.h"

typedef struct cr_comm cr_comm;

/* cr_comm_open joins the ranks of place, which has more than one. */
CR_CHECKED cr_code cr_comm_open(cr_comm **out, const cr_place *place, cr_err *err);
/* cr_comm_close leaves the ranks. Call it last and with stdout written: an MPI that does not come
 * back from its own end is left by ending the process with exit_code. */
void cr_comm_close(cr_comm *c, int exit_code);
/* cr_comm_abort ends all ranks with this exit code: for a rank that cannot make the next call. */
void cr_comm_abort(cr_comm *c, int code);

/* cr_comm_fail does so after it has logged why. */
_Noreturn void cr_comm_fail(cr_comm *c, const cr_err *err);

int cr_comm_rank(const cr_comm *c);
int cr_comm_size(const cr_comm *c);
int cr_comm_local_rank(const cr_comm *c); /* among the ranks of this machine */
int cr_comm_local_size(const cr_comm *c);
const char *cr_comm_name(const cr_comm *c);  /* "MPICH 4.0.2" */
const cr_who *cr_comm_who(const cr_comm *c); /* all ranks, one after the other */

/* Parameter servers (docs/design/servers.md). cr_comm_set_roles: of each group of workers + servers
 * ranks the first are workers and the others servers; both are at least 1, and such groups make up
 * all ranks. Before it, and with servers 0, no rank serves. */
CR_CHECKED cr_code cr_comm_set_roles(cr_comm *c, int64_t servers, int64_t workers, cr_err *err);
bool cr_comm_serves(const cr_comm *c, int rank);
int cr_comm_servers(const cr_comm *c); /* of all ranks */

/* cr_comm_gather: rank r has bytes [at[r], at[r + 1]) of all; afterwards every rank has all. */
void cr_comm_gather(cr_comm *c, void *all, const size_t *at);
/* cr_comm_exchange: bytes [out_at[r], out_at[r + 1]) of out go to rank r; bytes [in_at[r],
 * in_at[r + 1]) of in come from rank r. */
void cr_comm_exchange(cr_comm *c, const void *out, const size_t *out_at, void *in,
                      const size_t *in_at);
/* cr_comm_exchange_start begins such an exchange and returns; out and in, but not the lists, must
 * stay as they are until cr_comm_exchange_end. Other calls may be made meanwhile. slot is 1 ..
 * CR_COMM_SLOTS - 1; a slot has one exchange at a time. */
void cr_comm_exchange_start(cr_comm *c, int slot, const void *out, const size_t *out_at, void *in,
                            const size_t *in_at);
void cr_comm_exchange_end(cr_comm *c, int slot);
/* cr_comm_share gives n bytes of one rank to all. */
void cr_comm_share(cr_comm *c, void *data, size_t n, int from);

/* cr_comm_vote: each rank says whether it can go on (CR_OK, or why not) and whether it wishes to
 * stop. Returns the code of the first rank that cannot (CR_OK: all can) and in *any whether a rank
 * wishes. With c NULL the caller's own vote decides. A vote that fails ends the job, and ranks hear
 * of it at different places of the code: later votes return its code at once, because the rank that
 * failed has left and would not answer. CR_ESTOP does not end the job: a checkpoint follows. */
cr_code cr_comm_vote(cr_comm *c, cr_code mine, bool wish, bool *any);
int64_t cr_comm_votes(const cr_comm *c); /* votes so far */
/* cr_comm_blamed: the first rank that could not go on in a vote; -1: none yet. Its message is the
 * one that people are to read. */
int cr_comm_blamed(const cr_comm *c);

/* cr_comm_mail returns the way of letters (mail.h); they may be posted by another thread than the
 * one that opened the comm while that one makes no call. */
const cr_mail *cr_comm_mail(cr_comm *c);

/* Ranks that are lost one by one (docs/design/servers.md). Under a launcher that tells of them
 * (cr_comm_may_lose), a rank that was lost is told by the mail; a call that needs it fails on all
 * others, until these agree by cr_comm_without to leave it out: then calls that move bytes leave
 * what it would bring as it is, and votes count it as content. */
bool cr_comm_may_lose(const cr_comm *c);
void cr_comm_without(cr_comm *c, const int *ranks, int n);
const bool *cr_comm_gone(const cr_comm *c); /* by rank; it changes with cr_comm_without */
int cr_comm_first(const cr_comm *c);        /* the first rank that is left */

/* bytes that this rank has sent so far */
int64_t cr_comm_sent(const cr_comm *c);

#endif
