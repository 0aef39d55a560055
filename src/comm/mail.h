/*
 * mail.h - letters: bytes that go from one process to another without a call that all make. Letters
 * of one process to another one arrive in the order in which they were posted.
 *
 * The letters of a comm go by MPI (cr_comm_mail); tests have their own way. One thread at a time
 * calls these functions. When the others cannot be reached any more, the process ends, as with the
 * calls of comm.h.
 */
#ifndef CR_COMM_MAIL_H
#define CR_COMM_MAIL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* the largest letter, in bytes */
#define CR_LETTER_MAX ((size_t)INT_MAX)

typedef struct cr_mail {
    int self, n; /* which process this is, of how many */
    /* post begins to send; data must stay as it is until posted, which tells without waiting
     * whether it may go, has said so. post returns the ticket that posted takes. */
    int (*post)(void *ctx, int to, const void *data, size_t n);
    bool (*posted)(void *ctx, int ticket);
    /* peek: has a letter come? It tells its sender and its bytes; take is called next, with room
     * for so many. */
    bool (*peek)(void *ctx, int *from, size_t *n);
    /* take returns false when the sender was lost before the letter was whole; data is then lost,
     * too: it must stay as it is for ever. */
    bool (*take)(void *ctx, int from, void *data, size_t n);
    /* lost returns the process that was lost as number i (from 0); -1: no so many were. Nothing may
     * be posted to it, and what was posted is never done. NULL: none is ever lost alone. */
    int (*lost)(void *ctx, int i);
    void *ctx;
} cr_mail;

#endif
