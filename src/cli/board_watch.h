/*
 * board_watch.h - a training that can be watched: `crank train --board` serves its page, --mlflow
 * keeps a run of MLflow up to date. Neither can end a run.
 */
#ifndef CR_CLI_BOARD_WATCH_H
#define CR_CLI_BOARD_WATCH_H

#include "board/server.h"
#include "cli/cli.h"

#define CR_NO_BOARD (-1)

/* cr_board_token returns the token of the environment; NULL: none. */
const char *cr_board_token(void);
/* cr_board_hint warns when this crank has no page. */
void cr_board_hint(void);

typedef struct cr_board_watch {
    cr_watch inner;     /* the watch of the command, which is told everything */
    int64_t port;       /* as in cr_board_serve; CR_NO_BOARD: no page */
    const char *mlflow; /* NULL: none */
    char model_dir[1024];
    cr_board *board;
    cr_board_server *server;
    double written; /* when MLflow's files were written last */
} cr_board_watch;
/* cr_board_watch_init makes a watch that passes all on to inner; clear it behind the run. It fails
 * when the folder of --mlflow cannot be made. */
CR_CHECKED cr_code cr_board_watch_init(cr_board_watch *w, const cr_watch *inner, int64_t port,
                                       const char *mlflow, cr_err *err);
cr_watch cr_board_watch_of(cr_board_watch *w);
void cr_board_watch_clear(cr_board_watch *w);

#endif
