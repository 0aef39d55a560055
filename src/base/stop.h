/*
 * stop.h - the user has asked the process to stop (SIGINT, SIGTERM, SIGHUP).
 *
 * A signal handler sets the flag. A job looks at it after every step, and code that waits for
 * something from outside (standard input) looks at it while it waits. Any thread may read it.
 */
#ifndef CR_BASE_STOP_H
#define CR_BASE_STOP_H

#include <stdatomic.h>

extern atomic_int cr_stop_requested;

#endif
