/*
 * rows_int.h - columns that are made row by row, for files whose rows name their own columns: JSON
 * lines (json.c) and TFRecords (tfrecord.c).
 *
 * What a column holds, one value or a list and of which type, is what data_config.input_fields
 * says, else what the first rows of the first file hold. A row that lacks a column has no value
 * there. Files and blocks are kept in the source of the CSV reader (csv/csv_int.h).
 */
#ifndef CR_DATA_ROWS_ROWS_INT_H
#define CR_DATA_ROWS_ROWS_INT_H

#include "base/map.h"
#include "data/csv/csv_int.h"

#define CR_ROWS_LOOK 1000 /* rows that are looked at when the data is opened */

/* A value of a row. Text, and the text of a number where it has one, is bytes [beg, end). */
typedef enum cr_rowval_kind { CR_VAL_I64, CR_VAL_F64, CR_VAL_TEXT } cr_rowval_kind;
typedef struct cr_rowval {
    cr_rowval_kind kind;
    int64_t i;
    double f;
    uint32_t beg, end; /* beg == end of a number: it has no text */
} cr_rowval;

/* What was seen of a column in the first rows. */
typedef struct cr_rowseen {
    const char *name;
    bool whole, number, text, one, many;
} cr_rowseen;

/* The wanted columns by their names. */
struct cr_rowset {
    cr_map index;     /* name -> the first wanted column of that name */
    const int *next;  /* per wanted column: the next of the same name; -1: none */
    cr_colkind *kind; /* per wanted column */
    cr_map seen;      /* name -> number in `all`, while the first rows are looked at */
    cr_rowseen *all;
    int64_t n_all, cap_all, n_looked;
};

/* cr_rowset_new makes the set of a source. cr_rowset_saw notes a value of the first rows, and
 * cr_rowset_end decides the kinds; columns that no row has are mistakes, or warnings where
 * input_fields names them. what: "key" or "feature". */
struct cr_rowset *cr_rowset_new(cr_source *s);
void cr_rowset_saw(cr_source *s, const char *name, size_t n, cr_rowval_kind kind, bool in_list);
void cr_rowset_end(cr_source *s, const char *what, const char *path, cr_diag *diag);
void cr_rowset_kinds(const cr_source *s, cr_colkind *out);

/* Rows on their way into a chunk. */
typedef struct cr_rowcol {
    uint8_t *valid;
    int32_t *off; /* lists: where the values of each row begin */
    void *v;      /* values; of text pairs of beg and end */
    int64_t n, cap;
    bool listed; /* this row has a list here */
    bool put;    /* this row has a value here */
} cr_rowcol;
typedef struct cr_rows {
    const struct cr_rowset *set;
    const char *bytes; /* of texts */
    cr_arena *a;
    int n_cols;
    cr_rowcol *col;
    int64_t n, cap; /* rows */
    int64_t *lines; /* NULL: there are none */
    bool open;
} cr_rows;
/* cr_rows_init makes room for cap rows. cr_rows_begin begins a row without values; cr_rows_put adds
 * a value of a column (of all that have its name) and returns NULL, or what is wrong with it;
 * cr_rows_list says that values of a list follow. cr_rows_end ends the row, or drops it. */
void cr_rows_init(cr_rows *r, const cr_source *s, int64_t cap, const char *bytes, bool lines,
                  cr_arena *a);
void cr_rows_begin(cr_rows *r, int64_t line);
const char *cr_rows_put(cr_rows *r, int col, const cr_rowval *v, bool in_list);
const char *cr_rows_list(cr_rows *r, int col);
void cr_rows_end(cr_rows *r, bool keep);
/* cr_rows_chunk gives the columns to the chunk, whose arena they lie in. */
void cr_rows_chunk(cr_rows *r, cr_chunk *chunk);

#endif
