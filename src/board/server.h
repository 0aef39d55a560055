/*
 * server.h - a board behind a web server: who may ask, the page, events.
 */
#ifndef CR_BOARD_SERVER_H
#define CR_BOARD_SERVER_H

#include "board/board.h"

#define CR_BOARD_PORT 7878

typedef struct cr_board_serve {
    const char *host;  /* a numeric address or localhost; NULL: 127.0.0.1 */
    int port;          /* 0: CR_BOARD_PORT, or any free one when that is taken; -1: any free one */
    const char *token; /* NULL: none on this machine, a random one for other addresses */
    bool read_only;    /* notes cannot be changed */
} cr_board_serve;

typedef struct cr_board_server cr_board_server;
/* cr_board_start begins to serve b, and to follow its runs, on threads of its own. */
CR_CHECKED cr_code cr_board_start(cr_board_server **out, cr_board *b, const cr_board_serve *o,
                                  cr_err *err);
/* cr_board_url returns the address to open; it has the token only when the server made it. */
const char *cr_board_url(const cr_board_server *s);
/* cr_board_stop ends all threads; the board stays open. NULL is fine. */
void cr_board_stop(cr_board_server *s);

#endif
