/*
 * link.h - one connection between an agent and the head.
 *
 * A link begins with the handshake of docs/design/launch.md and then carries sealed messages. All
 * calls return at once. A link that breaks stays broken: `broken` says why.
 */
#ifndef CR_LAUNCH_LINK_H
#define CR_LAUNCH_LINK_H

#include "base/buf.h"
#include "launch/proof.h"
#include "launch/wire.h"

typedef enum cr_link_state {
    CR_LINK_CLOSED,
    CR_LINK_CONNECTING, /* of an agent: TCP is not there yet */
    CR_LINK_HELLO,      /* waits for the other side's nonce */
    CR_LINK_PROOF,      /* waits for its proof */
    CR_LINK_OPEN
} cr_link_state;

typedef struct cr_link {
    int fd;
    bool is_head; /* this side is the head */
    cr_link_state state;
    double began, heard, sent; /* times of cr_now */
    cr_buf in, out;
    size_t in_at; /* bytes of in that were used */
    uint8_t mine[CR_NONCE], theirs[CR_NONCE];
    cr_key key, key_in, key_out;
    uint64_t n_in, n_out;
    char broken[160]; /* "": not broken */
    bool refused;     /* broken because one of two crank launch does not believe the other */
} cr_link;

/* cr_link_init takes over fd, which does not block. */
CR_CHECKED cr_code cr_link_init(cr_link *l, int fd, bool is_head, bool connecting,
                                const cr_key *key, double now, cr_err *err);
void cr_link_clear(cr_link *l);
short cr_link_events(const cr_link *l); /* what to poll for */
/* cr_link_ready reads and writes what is possible after a poll that returned revents. */
void cr_link_ready(cr_link *l, short revents, double now);
/* cr_link_next gives the next message; its texts stay valid until cr_link_ready. */
bool cr_link_next(cr_link *l, cr_msg *out);
void cr_link_send(cr_link *l, const cr_msg *m);
/* cr_link_flush writes what can be written now. */
void cr_link_flush(cr_link *l, double now);
bool cr_link_is_open(const cr_link *l);

#endif
