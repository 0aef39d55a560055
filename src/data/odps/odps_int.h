/*
 * odps_int.h - what the readers of MaxCompute tables share.
 *
 *   types.c    MaxCompute's types as fields of Arrow
 *   session.c  sessions: made, looked at, kept, and the rows of a range
 *   fetch.c    rows that are read ahead
 *   source.c   the readers OdpsDataset (Storage API) and OdpsDatasetV1 (tunnel)
 */
#ifndef CR_DATA_ODPS_ODPS_INT_H
#define CR_DATA_ODPS_ODPS_INT_H

#include "data/arrow/vec.h"
#include "data/odps/types.h"
#include "data/reader.h"
#include "store/odps.h"

/* One session: rows of a table, or of some of its partitions, whose numbers stay the same as long
 * as it lives. */
typedef struct cr_odps_session {
    const char *path; /* as the user names it, with the partitions that are read */
    cr_odps_table table;
    char id[160];
    int64_t n_rows;
    const char **columns, **types; /* those that are read */
    int n_columns;
    /* digests of runs of `run` blocks that were read (0: not known), from a checkpoint or to one */
    uint64_t *digests;
    int64_t n_digests, run;
    bool fresh; /* it was made now, in place of one that is over */
} cr_odps_session;

typedef struct cr_odps_sessions {
    cr_odps_session *v;
    int n;
    bool tunnel; /* OdpsDatasetV1 */
    bool owner;  /* this process keeps them alive */
    const cr_data_conf *conf;
    cr_odps *client;
    const char *project; /* of the client; sessions of other projects have their own */
    cr_arena *arena;
} cr_odps_sessions;

/* cr_odps_sessions_make finds or makes a session for everything that the paths name. kept is what
 * cr_odps_sessions_text wrote; NULL: nothing. */
CR_CHECKED cr_code cr_odps_sessions_make(cr_odps_sessions *s, const char *paths,
                                         const cr_want *want, int n_want, const char *kept,
                                         cr_err *err);
/* cr_odps_sessions_read takes the text of sessions that another process made. */
CR_CHECKED cr_code cr_odps_sessions_read(cr_odps_sessions *s, const char *text, cr_err *err);
void cr_odps_sessions_text(const cr_odps_sessions *s, cr_buf *out);
/* cr_odps_refresh asks the server to let a session live on. A failure is only logged. */
void cr_odps_refresh(const cr_odps_sessions *s, const cr_odps_session *x);

/* Rows that came. They may have come in several pieces, because an answer broke off. */
typedef struct cr_odps_piece {
    cr_buf bytes;
    cr_arrow_file *f;
    int64_t first_row; /* counted from the first row that was asked for */
    int64_t n_rows;
} cr_odps_piece;
typedef struct cr_odps_rows {
    cr_odps_piece *v;
    int n;
    int64_t n_rows;
} cr_odps_rows;
void cr_odps_rows_clear(cr_odps_rows *r);
/* cr_odps_fetch reads rows [from, from + n). schema: of a tunnel, whose streams have none. */
CR_CHECKED cr_code cr_odps_fetch(const cr_odps_sessions *s, const cr_odps_session *x,
                                 const cr_arrow_schema *schema, int64_t from, int64_t n,
                                 cr_odps_rows *out, cr_err *err);

/* The rows that are read ahead: whoever needs them takes them from here. */
typedef struct cr_odps_ahead cr_odps_ahead;
typedef cr_code (*cr_odps_get)(void *ctx, int64_t file, int64_t number, cr_odps_rows *out,
                               cr_err *err);
cr_odps_ahead *cr_odps_ahead_new(cr_odps_get get, void *ctx);
void cr_odps_ahead_free(cr_odps_ahead *a); /* waits for requests that have begun */
void cr_odps_ahead_ask(cr_odps_ahead *a, int64_t file, int64_t number);
/* cr_odps_ahead_take gives the rows, which then belong to the caller; it reads them when nobody
 * has. */
CR_CHECKED cr_code cr_odps_ahead_take(cr_odps_ahead *a, int64_t file, int64_t number,
                                      cr_odps_rows *out, cr_err *err);

#endif
