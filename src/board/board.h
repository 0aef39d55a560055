/*
 * board.h - the runs in some folders, and what a page asks about them.
 *
 * A board finds the model_dirs in its folders by their train_log.jsonl, reads the logs and follows
 * them. It answers requests with JSON (docs/design/board.md has the list); it knows nothing of
 * sockets, so that tests, the fuzzer and `crank report` ask it in the same way as the server does.
 * Any thread may call any function.
 */
#ifndef CR_BOARD_BOARD_H
#define CR_BOARD_BOARD_H

#include <stdbool.h>

#include "base/buf.h"

/* Files of a model_dir that crank importance and crank eval write for the page. */
#define CR_BOARD_IMPORTANCE_FILE "importance.json"
#define CR_BOARD_SLICES_FILE     "slices.json"

typedef struct cr_board cr_board;
/* cr_board_open looks for runs in the folders. A folder that does not exist is CR_EIO; one without
 * runs is fine, because a run may begin later. */
CR_CHECKED cr_code cr_board_open(cr_board **out, const char *const *dirs, int n_dirs, cr_err *err);
void cr_board_close(cr_board *b);
/* cr_board_follow looks for new runs and lines and reads for about `seconds`. It returns whether
 * there is more to read at once. */
bool cr_board_follow(cr_board *b, double seconds);
/* cr_board_wait waits until the board has changed since `version`, or for so many seconds, and
 * returns its version now. cr_board_wake(b, true) ends all waits, also later ones, until
 * cr_board_wake(b, false). */
uint64_t cr_board_wait(cr_board *b, uint64_t version, double seconds);
void cr_board_wake(cr_board *b, bool on);
/* cr_board_runs: how many runs it has found. */
int cr_board_runs(cr_board *b);

typedef struct cr_board_req {
    const char *method, *path; /* the path has no query */
    const char *body;
    size_t n_body;
    /* the value of an argument of the query, without percents; NULL: not given */
    const char *(*arg)(void *ctx, const char *name);
    void *ctx;
    bool may_write; /* the answer may change files: notes */
} cr_board_req;
typedef struct cr_board_res {
    int status;
    const char *type; /* media type */
    cr_buf body;      /* caller's: init before, clear after */
} cr_board_res;
#define CR_BOARD_BODY ((size_t)1 << 20) /* the largest body of a request */
/* cr_board_answer answers a request of the API. A mistake is a status of 400 or more and a JSON
 * object with an `error`. */
void cr_board_answer(cr_board *b, const cr_board_req *q, cr_board_res *r);

/* ---- the page (page.c is made at build time from web/) ---- */
/* cr_board_page returns the page and its size; NULL: crank was built without it. */
const char *cr_board_page(size_t *n);
/* cr_board_no_page: why, and what to do about it. */
#define CR_BOARD_NO_PAGE                                                                           \
    "this crank was built without the page of the board, because npm could not fetch its chart "   \
    "library; run 'make page' in crank's sources where npm works"

/* cr_board_report writes the page with all data of the board in it, as one file. All logs are read
 * to their ends first. CR_ERUN: there is no run, or no page. */
CR_CHECKED cr_code cr_board_report(cr_board *b, const char *path, cr_err *err);

/* ---- MLflow (mlflow.c) ---- */
/* cr_mlflow_write writes the run in model_dir to the file store at root, in MLflow's layout; what
 * an earlier call wrote for this run is replaced. *id (33 bytes) becomes the run's id there. */
CR_CHECKED cr_code cr_mlflow_write(const char *root, const char *model_dir, char *id, cr_err *err);

#endif
