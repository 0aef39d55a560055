/*
 * pq_int.h - what the files of the Parquet reader share, and the reader of Arrow data with them.
 *
 *   source.c   files, the reader's table of functions
 *   groups.c   row groups, blocks of rows, open files (groups.h)
 *   want.c     the wanted columns in the schemas of all files
 *   schema.c   a wanted column in a schema: its leaves, and how they become a column
 *   columns.c  vectors of stored values into columns
 *   stored.c   columns that stay as they are stored
 *   carry.c    rows of such columns into one
 *   sink.c     columns into a file
 */
#ifndef CR_DATA_PQ_PQ_INT_H
#define CR_DATA_PQ_PQ_INT_H

#include "data/reader.h"
#include "parquet/parquet.h"

/* What has to be done to stored values. */
typedef enum cr_pqs_how {
    CR_PQS_AS_IS,
    CR_PQS_FROM_BOOL,    /* 0 and 1 */
    CR_PQS_FROM_U32,     /* int64 */
    CR_PQS_FROM_U64,     /* int64; too large: bad row */
    CR_PQS_FROM_F16,     /* float */
    CR_PQS_FROM_DECIMAL, /* int64 without a scale, else double */
    CR_PQS_FROM_I96,     /* nanoseconds since 1970 */
    CR_PQS_FROM_UUID,    /* 36 letters */
    CR_PQS_FROM_FIXED,   /* bytes as text */
    CR_PQS_FROM_NULLS    /* the type that holds nothing but nulls */
} cr_pqs_how;

/* A leaf of a schema on its way to a column. */
typedef struct cr_pqs_leaf {
    int leaf; /* -1: none */
    int slot; /* where the file's vectors have it */
    cr_pqs_how how;
    cr_pq_kind kind; /* dates and times: the same number means another thing */
    cr_pq_unit unit;
    cr_coltype made; /* by how */
    cr_coltype type; /* of the column */
    int scale;
} cr_pqs_leaf;

/* A wanted column in a schema. */
typedef struct cr_pqs_place {
    int node; /* -1: not there */
    int depth;
    bool map;
    cr_pqs_leaf value, key; /* key: of a map */
    /* as it is stored, where that was asked for */
    const cr_pq_meta *tree; /* the column alone; NULL: it lies inside a list */
    int above;              /* definition levels of the structs around it */
    bool none;              /* nothing but nulls, where other files hold something */
    int *slots;             /* per leaf */
    const uint8_t **levels; /* per leaf: definition levels as those of all files; NULL: the same */
} cr_pqs_place;

/* A type that was asked for: from input_fields or by the caller. depth -1: none was. */
typedef struct cr_pqs_asked {
    int depth, key; /* key -1: no map */
    cr_coltype type;
} cr_pqs_asked;

/* cr_pqs_place_of finds out how `node` becomes a column. Returns NULL or why it cannot. */
const char *cr_pqs_place_of(const cr_pq_meta *m, int node, cr_pqs_place *out);
/* cr_pqs_place_ask makes the column what was asked for. Returns NULL or why it cannot be. */
const char *cr_pqs_place_ask(cr_pqs_place *p, const cr_pqs_asked *asked);
/* cr_pqs_same: do two files agree on what a column is? Nulls agree with everything. */
bool cr_pqs_same(const cr_pqs_place *a, const cr_pqs_place *b);
bool cr_pqs_is_nulls(const cr_pqs_place *p);
/* cr_pqs_nulls_as makes a column of nothing but nulls look like `as`. */
void cr_pqs_nulls_as(cr_pqs_place *p, const cr_pqs_place *as);
/* cr_pqs_width: bytes a value of the leaf takes in a column (text without its bytes) */
int cr_pqs_width(const cr_pq_meta *m, int leaf);

/* Distinct schemas: where the wanted columns are in them, and the leaves to be read, each once. */
typedef struct cr_pqs_schema {
    cr_pqs_place *places;
    int n_slots;
    int *leaf;  /* per slot */
    bool *keep; /* its levels too */
    struct cr_pqs_schema *next;
} cr_pqs_schema;

/* The wanted columns and what the files so far say of them. */
typedef struct cr_pqs_wants {
    const cr_data_conf *conf;
    const cr_want *v;
    int n;
    int *twin; /* per wanted column: an earlier one of the same name, or -1 */
    cr_pqs_asked *asked;
    /* what a column is, from the first file where it is not all null, and that file */
    cr_pqs_place *kind;
    const char **kind_text, **kind_path;
    cr_pq_meta *
        *stored; /* per column: how all files store it; NULL: not asked for, or they differ */
    bool *differs, *valueless; /* stored differently; not as values in all files */
    bool *told;                /* a column that was complained about */
    cr_pqs_schema *schemas;
    int n_slots;        /* most of a schema */
    const char **names; /* of the first file: its columns, then members of structs with dots */
    int n_names, n_known;
    const char *otherwise; /* what to do when no column is like the one that is missing */
    cr_arena *arena;
} cr_pqs_wants;

void cr_pqs_wants_init(cr_pqs_wants *w, const cr_data_conf *conf, const cr_want *want, int n,
                       cr_arena *arena);
/* cr_pqs_wants_look finds the wanted columns in the file `path`, whose neighbour `before` (NULL:
 * none) may have the same schema. The places are one per wanted column; what is missing or other
 * than in the files before is an error in diag. */
const cr_pqs_schema *cr_pqs_wants_look(cr_pqs_wants *w, const char *path, const cr_pq_meta *m,
                                       const cr_pq_meta *before, cr_diag *diag);
/* cr_pqs_wants_end: all files were looked at; columns of nulls become what the others are. */
void cr_pqs_wants_end(cr_pqs_wants *w);

/* cr_pqs_column makes a column of n_rows rows from its leaf (and key) vectors, which it may point
 * into. Values that do not fit are bad rows. */
CR_CHECKED cr_code cr_pqs_column(const cr_pqs_place *p, const char *name, const cr_pq_vec *value,
                                 const cr_pq_vec *key, cr_arena *a, cr_column *out, cr_bad *bad,
                                 cr_err *err);

/* cr_pqs_chunk makes the columns of a chunk, whose n_rows is set, from the vectors of the slots. A
 * column of codes gets the memo of its slot. */
CR_CHECKED cr_code cr_pqs_chunk(const cr_pqs_wants *w, const cr_pqs_schema *schema,
                                const char *path, const cr_pq_vec *slots, cr_memo *memos,
                                cr_chunk *chunk, cr_bad *bad, cr_err *err);
/* cr_pqs_kinds tells what the wanted columns are. */
void cr_pqs_kinds(const cr_pqs_wants *w, cr_colkind *out);

/* cr_pqs_tree_of: a schema of `node` alone, under the name `name`; NULL: it lies inside a list, or
 * has no leaves. */
const cr_pq_meta *cr_pqs_tree_of(const cr_pq_meta *m, int node, const char *name, cr_arena *a);
/* cr_pqs_tree_join makes *all (NULL at first) the schema that also holds what a file stores. false:
 * it cannot be. */
bool cr_pqs_tree_join(cr_pq_meta **all, const cr_pq_meta *t, int above, cr_arena *a);
/* cr_pqs_place_join: all files were joined. keep: per slot, set where levels are needed. */
void cr_pqs_place_join(cr_pqs_place *p, const cr_pq_meta *all, bool *keep, cr_arena *a);
/* cr_pqs_stored gives a column its vectors as stored, from those of the file's slots, which they
 * may point into. */
CR_CHECKED cr_code cr_pqs_stored(const cr_pqs_place *p, const cr_pq_meta *all,
                                 const cr_pq_vec *slots, int64_t n_rows, cr_arena *a,
                                 cr_column *out, cr_err *err);

#endif
