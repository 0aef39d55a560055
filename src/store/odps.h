/*
 * odps.h - requests to MaxCompute (ODPS): accounts, endpoints, signed calls, and errors in words.
 *
 * Metadata and SQL are asked at the endpoint, rows at the data endpoint, which the endpoint names.
 * A call is made again when its cause may pass; keys that are refused are looked up once more; a
 * clock that is wrong is corrected by the Date of the answer; version 4 of the signature falls back
 * to version 2 where a server does not know it. Keys are never shown.
 */
#ifndef CR_STORE_ODPS_H
#define CR_STORE_ODPS_H

#include "base/mem.h"
#include "store/http.h"
#include "store/sig4.h"

/* odps://project/tables/[schema.]table[/k=v[/k=v]], one partition of "a&b". */
typedef struct cr_odps_table {
    const char *project, *schema, *table; /* schema "": none */
    const char **partitions;              /* "dt=20250101/hh=01" */
    int n_partitions;                     /* 0: the whole table */
} cr_odps_table;
/* cr_odps_parse takes one path (no commas) apart, into the arena. */
CR_CHECKED cr_code cr_odps_parse(cr_odps_table *out, const char *path, cr_arena *a, cr_err *err);
bool cr_odps_is(const char *path); /* does it begin with odps://? */

typedef struct cr_odps cr_odps;
/* cr_odps_open finds account and endpoint; nothing is asked yet. quota "": none. */
CR_CHECKED cr_code cr_odps_open(cr_odps **out, const char *project, const char *quota, cr_err *err);
void cr_odps_close(cr_odps *o); /* NULL is fine */

typedef struct cr_odps_call {
    const char *method;
    bool data;              /* at the data endpoint */
    const char *path;       /* not encoded */
    const char *what;       /* for messages: "read table p.t" */
    const char *place;      /* the user's path, for messages */
    const char *schema;     /* that the table is in; NULL or "": none */
    cr_sig4_pair query[12]; /* without curr_project, curr_schema and quotaName, which are added */
    int n_query;
    int attempt;      /* this query counts the tries, from 0, plus 1; 0: none does */
    const char *type; /* of the body; NULL: none */
    bool md5;
    const void *body;
    size_t n_body;
    const char *headers[6]; /* further ones: "Name: value"; those of x-odps- are signed */
    int n_headers;
    bool quota;   /* quotaName is added */
    bool again;   /* it may be made again although it is no GET, because it then does the same */
    bool partial; /* a body that breaks off is given as it is; the code is CR_EIO */
    int tries;    /* 0: the usual number */
    size_t most;  /* of the answer's body; 0: 64 MiB */
} cr_odps_call;
/* What a failure was, in cr_err.why. */
typedef enum cr_odps_why {
    CR_ODPS_OTHER = 0,
    CR_ODPS_ABSENT,  /* no such table, partition or session */
    CR_ODPS_EXPIRED, /* the session is over, or the table was changed under it */
    CR_ODPS_PARTIAL  /* the body broke off */
} cr_odps_why;
/* cr_odps_do makes a call; res must be given back by cr_http_clear in either case. */
CR_CHECKED cr_code cr_odps_do(cr_odps *o, const cr_odps_call *c, cr_http_res *res, cr_err *err);
const char *cr_odps_project(const cr_odps *o);

/* ---- SQL and partitions (odps_sql.c) ---- */

/* cr_odps_sql runs a statement about a table and waits for its end. */
CR_CHECKED cr_code cr_odps_sql(cr_odps *o, const cr_odps_table *t, const char *name,
                               const char *sql, const char *place, cr_err *err);
/* cr_odps_sql_name adds the name of a table as SQL has it: project.schema.`table`. */
void cr_odps_sql_name(const cr_odps_table *t, cr_buf *out);
/* cr_odps_schema asks for the columns of a table: JSON {"columns": [...], "partitionKeys": [...]}
 * in out. why CR_ODPS_ABSENT: there is no such table. */
CR_CHECKED cr_code cr_odps_schema(cr_odps *o, const cr_odps_table *t, const char *place,
                                  cr_buf *out, cr_err *err);
/* cr_odps_partitions lists the partitions of a table, "dt=1/hh=2", sorted, into the arena. */
CR_CHECKED cr_code cr_odps_partitions(cr_odps *o, const cr_odps_table *t, const char *place,
                                      cr_arena *a, char ***out, int *n, cr_err *err);

#endif
