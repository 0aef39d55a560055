/*
 * guard.h - which code of other people runs in a thread, so that a crash or an endless loop in it
 * is told by name.
 *
 * A library of the user's runs inside of crank's process. When it crashes, the process ends, as it
 * must; before that one line says which library, function and row it was. When it does not come
 * back after the user asked crank to stop, one line says so and the process ends.
 */
#ifndef CR_BASE_GUARD_H
#define CR_BASE_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define CR_GUARD_SECONDS 5 /* from a signal to the end, in a call that does not come back */

/* A call. Everything is borrowed until cr_guard_leave. */
typedef struct cr_guard {
    const char *what;     /* "library 'text.so'" */
    const char *function; /* "run" */
    const char *of;       /* "operator 'WordCount' for feature 'words'"; NULL: what says it */
    /* rows, where the call has some: of a file, or of a batch (path NULL); n_rows 0: none */
    const char *path;
    const int64_t *row;   /* the one being made, from 0 */
    const int64_t *lines; /* line numbers of the rows in the file; NULL: not known */
    int64_t first_row;    /* the number of row 0 in the file or batch, from 0; -1: not known */
    int64_t n_rows;
    /* a library of the system that does not check its allocations: a crash after one failed is want
     * of memory, told as that */
    bool no_checks;
    bool own;                     /* the call is code of crank's own */
    const struct cr_guard *outer; /* set by cr_guard_enter */
} cr_guard;

/* cr_guard_enter and cr_guard_leave stand around a call; calls may be nested. Any thread. */
void cr_guard_enter(cr_guard *g);
void cr_guard_leave(const cr_guard *g);

/* cr_guard_crashes: from now on a signal that ends the process names the call of its thread first.
 * The signal then does what it did before. */
void cr_guard_crashes(void);
/* cr_guard_signals removes from a set of signals to be blocked those that a crash raises: a thread
 * that blocks them dies without a word. */
void cr_guard_signals(sigset_t *blocked);
/* cr_guard_stop, from the handler of a signal: a call that runs now and still does so in
 * CR_GUARD_SECONDS ends the process with exit code 1; so does one that begins later and takes as
 * long. Uses SIGALRM. */
void cr_guard_stop(void);

#endif
