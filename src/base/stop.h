/*
 * stop.h - the user has asked the process to stop (SIGINT, SIGTERM, SIGHUP).
 *
 * A signal handler sets the flag. A job looks at it after every step, and code that waits for
 * something from outside (standard input) looks at it while it waits. Any thread may read it.
 */
#ifndef CR_BASE_STOP_H
#define CR_BASE_STOP_H

#include <stdatomic.h>

/* Platforms that end a job (scancel, a deleted pod) send SIGTERM to every process, some of them
 * twice, and a launcher passes on what it got. What follows a signal so soon is therefore the same
 * wish to stop, and no impatient user; only SIGINT comes from a keyboard. */
#define CR_STOP_SAME_S 2.0

extern atomic_int cr_stop_requested;

#endif
