/*
 * life.h - a rank's sign of life to the launcher that started it.
 *
 * `crank launch` gives each rank one end of a socket. A thread of the rank sends a record there
 * every second and expects an answer, so the launcher finds a rank that was stopped, and a rank
 * finds out that its launcher is gone. Without `crank launch` none of this happens.
 */
#ifndef CR_COMM_LIFE_H
#define CR_COMM_LIFE_H

#include <stdbool.h>
#include <stdint.h>

/* CRANK_LIFE=FD:SECONDS: the socket, and how long silence may last */
#define CR_LIFE_ENV "CRANK_LIFE"

/* one packet from a rank to its agent; the agent's answer is one byte */
typedef struct cr_life {
    uint64_t steps; /* training steps done by this process */
    uint64_t meets; /* 1: it has not met the other ranks yet */
    uint64_t spare; /* 1: the others can go on without this rank */
} cr_life;

/* one packet from an agent to its ranks: a rank whose loss the others survive was lost */
typedef struct cr_life_lost {
    uint64_t rank;
} cr_life_lost;

/* A rank ends with this exit code when its work is saved and all ranks are to begin again. */
#define CR_EXIT_AGAIN 75

/* cr_life_start begins to send when the environment asks for it. It is the first thing that a
 * process does: a rank that gives no sign for long is taken for one that hangs. */
void cr_life_start(void);
/* cr_life_is_watched: is there a launcher that looks after this rank? */
bool cr_life_is_watched(void);
/* cr_life_step counts a training step. The first steps are told at once. */
void cr_life_step(void);
/* cr_life_meet: the rank is about to meet the others (true), or has met them (false). */
void cr_life_meet(bool meets);
/* cr_life_spare: from now on the others can go on without this rank. */
void cr_life_spare(void);
/* cr_life_lost_rank returns the rank that was lost as number i (from 0); -1: no so many were. Any
 * thread may call it. */
int cr_life_lost_rank(int i);

#endif
