/*
 * dial.h - an agent's way to node 0: the addresses behind its name, one after the other.
 *
 * A name may stand for several addresses, and not all of them need to work: often the first is an
 * IPv6 address that a firewall drops without a word. Each attempt has a short limit, which doubles
 * from round to round, so that a slow network is reached too.
 */
#ifndef CR_LAUNCH_DIAL_H
#define CR_LAUNCH_DIAL_H

#include <netdb.h>

#include "base/err.h"

#define CR_DIAL_FIRST_S 2.0  /* of an attempt in the first round */
#define CR_DIAL_MOST_S  20.0 /* ... and in any later one */

typedef struct cr_dial {
    const char *host;
    int port;
    int at, n;        /* address of this round; how many the name had when it was asked last */
    double limit;     /* seconds that an attempt may take until the link is open */
    bool slow;        /* an attempt of this round took so long */
    char addr[64];    /* the address that is tried */
    char failed[400]; /* what went wrong in this round, per address */
    char told[400];   /* the same of an earlier round; see cr_dial_restart */
    /* the resolver; NULL: the system's. A test has its own. */
    int (*find)(const char *host, const char *port, struct addrinfo **list);
} cr_dial;

void cr_dial_init(cr_dial *d, const char *host, int port);
/* cr_dial_next begins to connect to the next address and returns a socket that does not block; -1:
 * no address is left in this round, and `failed` says why. It may ask the resolver and wait for it.
 * A signal that ends the launcher then ends this process at once: there is nothing to clean up. */
int cr_dial_next(cr_dial *d);
/* cr_dial_fail notes that the attempt of cr_dial_next failed; slow: its limit has passed. True: the
 * round has more addresses. */
bool cr_dial_fail(cr_dial *d, const char *why, bool slow);
/* cr_dial_restart begins the next round. `told` becomes what went wrong in the last round that
 * tried all addresses. True: that differs from what it was, so the caller is to tell it. */
bool cr_dial_restart(cr_dial *d);
/* cr_dial_works notes that the attempt succeeded; the same address is tried first when the
 * connection is lost. */
void cr_dial_works(cr_dial *d);

#endif
