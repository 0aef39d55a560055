/*
 * board_int.h - what the files of src/board share: the runs of a board.
 */
#ifndef CR_BOARD_BOARD_INT_H
#define CR_BOARD_BOARD_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/json.h"
#include "board/board.h"
#include "board/log.h"

#define CR_RUN_LOG   "train_log.jsonl"
#define CR_RUN_NOTES "notes.md"

typedef enum cr_run_state {
    CR_RUN_UNKNOWN, /* nothing in the log says */
    CR_RUN_RUNNING,
    CR_RUN_FINISHED,
    CR_RUN_STOPPED,
    CR_RUN_FAILED,
    CR_RUN_KILLED, /* the log has no end, and no process trains there */
} cr_run_state;
const char *cr_run_state_name(cr_run_state s);

/* The log of one of several ranks. */
typedef struct cr_rank_log {
    int64_t rank;
    cr_log_file log;
} cr_rank_log;

typedef struct cr_run {
    char *id;  /* its path below the folder that was given: unique on this board */
    char *dir; /* the model_dir */
    cr_log_file log;
    cr_rank_log *ranks; /* those above 0, in order */
    int n_ranks;
    char *project, *experiment; /* from the log, else from the names of folders */
    int64_t start_at, end_at;   /* the lines that the members below come from; -1: none */
    cr_run_state state;
    uint64_t version; /* the board's version when the run changed last */
    bool wanted;      /* a viewer looks at the run, so it is read first */
    /* a viewer asked for all about the run: files of why.c as they were when they were looked at */
    bool asked;
    cr_fs_stat why[2];
} cr_run;

struct cr_board {
    atomic_int waiting;   /* requests that wait for the lock: the reader lets them in */
    pthread_mutex_t lock; /* for everything below */
    pthread_cond_t changed;
    char **dirs;
    int n_dirs;
    cr_run **runs; /* in the order of discovery; a run is never removed */
    int n, cap;
    cr_map ids; /* dir -> index of the run */
    uint64_t version;
    double searched, looked; /* when (cr_now) */
    bool woken;
};

/* ---- runs.c ---- */
/* cr_board_of finds a run by its number; NULL: there is none. */
cr_run *cr_board_of(const cr_board *b, int64_t i);

/* ---- series.c: what charts show ---- */
typedef struct cr_series_ask {
    const int64_t *runs;
    int n_runs;
    const char *const *names; /* NULL: all */
    int n_names;
    cr_axis axis;
    double from, to; /* range of the axis; -INFINITY, INFINITY: all of it */
    int points;      /* most points of a curve; 0: every line of the log */
    bool ranks;      /* the logs of the other ranks are read too */
} cr_series_ask;
/* cr_board_series writes "series": a list, into an open object. */
void cr_board_series(cr_board *b, const cr_series_ask *q, cr_jw *w);

/* ---- details.c: what tables show ---- */
/* cr_board_list writes "runs": those that changed after version `since`. */
void cr_board_list(const cr_board *b, uint64_t since, cr_jw *w);
/* cr_board_details writes all about a run into an open object. */
void cr_board_details(const cr_board *b, const cr_run *r, cr_jw *w);
/* cr_board_diff writes what differs between two runs into an open object. */
void cr_board_diff(const cr_run *x, const cr_run *y, cr_jw *w);

/* ---- why.c: importance and slices ---- */
/* cr_board_why writes "importance" and "slices" (null: there is no such file) and "damaged", the
 * names of files that cannot be used, into an open object. */
void cr_board_why(const cr_run *r, cr_jw *w);
/* cr_board_why_look looks whether one of the files came, went or was written anew since the last
 * look. */
bool cr_board_why_look(cr_run *r);

#endif
