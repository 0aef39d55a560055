/*
 * guard.h - records which code of other people runs in a thread, so that a message can name it when
 * it crashes or never returns.
 *
 * A library of the user runs inside crank's process. When it crashes, one line names the library,
 * the function and the row, and then the process ends. When it does not return after the user asked
 * crank to stop, one line says so and the process ends.
 */
#ifndef CR_BASE_GUARD_H
#define CR_BASE_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* from a signal to the end of the process, while a call does not return */
#define CR_GUARD_SECONDS 5

/* A call. Everything is borrowed until cr_guard_leave. */
typedef struct cr_guard {
    const char *what;     /* "library 'text.so'" */
    const char *function; /* "run" */
    const char *of;       /* "operator 'WordCount' for feature 'words'"; NULL: `what` says it all */
    /* the rows of the call: of a file, or of a batch (path NULL); n_rows 0: it has none */
    const char *path;
    const int64_t *row;   /* the row being computed, from 0 */
    const int64_t *lines; /* line numbers of the rows in the file; NULL: not known */
    int64_t first_row;    /* the number of row 0 in the file or batch, from 0; -1: not known */
    int64_t n_rows;
    /* the call goes to a library of the system that does not check its allocations: a crash after a
     * failed allocation is reported as want of memory */
    bool no_checks;
    bool own;                     /* the call runs crank's own code */
    const struct cr_guard *outer; /* set by cr_guard_enter */
} cr_guard;

/* cr_guard_enter and cr_guard_leave stand around a call; calls may be nested. Any thread. */
void cr_guard_enter(cr_guard *g);
void cr_guard_leave(const cr_guard *g);

/* After cr_guard_crashes, a signal that ends the process first names the call of its thread, and
 * then does what it did before. */
void cr_guard_crashes(void);
/* cr_guard_signals removes the signals that a crash raises from a set of signals to be blocked: a
 * thread that blocks them dies without a message. */
void cr_guard_signals(sigset_t *blocked);
/* cr_guard_stop is called from a signal handler. A call that runs now and still runs after
 * CR_GUARD_SECONDS ends the process with exit code 1; so does a later call that takes as long. It
 * uses SIGALRM. */
void cr_guard_stop(void);

#endif
