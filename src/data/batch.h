/*
 * batch.h - data on its way: columns (from a reader), and batches (into the step).
 *
 * Columns are Arrow-shaped: values, offsets, validity. A string value i is bytes[beg[i], end[i]):
 * with contiguous strings end is beg + 1, in a CSV block both point into the file's text, so
 * neither copies. A batch holds, per sparse feature, one jagged (CSR) array of ids, the dense
 * floats, labels and weights.
 */
#ifndef CR_DATA_BATCH_H
#define CR_DATA_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

/* numbers as FieldType of DataConfig for the scalars */
typedef enum cr_coltype { CR_COL_I32 = 0, CR_COL_I64 = 1, CR_COL_STR = 2, CR_COL_F32 = 3, CR_COL_F64 = 4 } cr_coltype;

typedef struct cr_column {
    cr_coltype type;         /* of the leaf values */
    int depth;               /* 0 scalar, 1 list, 2 list of lists */
    const uint8_t *valid;    /* one byte per row, 0: null; NULL: no nulls */
    const int32_t *row_off;  /* depth >= 1: n_rows + 1 offsets into items (depth 2) or values */
    const int32_t *item_off; /* depth 2: offsets of items into values */
    union {
        const int32_t *i32;
        const int64_t *i64;
        const float *f32;
        const double *f64;
    } v;
    const char *bytes; /* CR_COL_STR */
    const uint32_t *beg, *end;
    const struct cr_column *keys; /* map: keys, same offsets as the values */
} cr_column;

/* A run of rows of one file, columns in the order they were asked for. */
typedef struct cr_chunk {
    int64_t n_rows;
    int n_cols;
    cr_column *cols;
    const char *path;     /* of the file, lives as long as the reader */
    int64_t first_row;    /* row number in the file, from 0 */
    const int64_t *lines; /* line number (from 1) of each row for messages; NULL: no lines */
    cr_arena arena;       /* owns everything above */
} cr_chunk;

/* Bad rows met while parsing or encoding one chunk. Index is the row in the chunk (-1 when the row
 * did not even split into columns). Only the first few keep their text. */
typedef struct cr_bad_row {
    int64_t row;
    int64_t line;
    char msg[256]; /* "column 'age', value 'x7': not a number" */
} cr_bad_row;
typedef struct cr_bad {
    cr_bad_row *v;
    int64_t n, cap;
} cr_bad;
/* cr_bad_add notes that a row is bad (once per row is enough; the loader leaves the row out). */
void cr_bad_add(cr_bad *bad, int64_t row, int64_t line, const char *fmt, ...) CR_PRINTF(4, 5);

/* One sparse feature of a batch. */
typedef struct cr_jagged {
    const int32_t *off; /* n_rows + 1; NULL: exactly one id per row */
    const int64_t *ids;
    const float *w; /* weights beside ids; NULL: all 1 */
    int64_t n_ids;
} cr_jagged;

/* Where the data stream stands after a batch; part of a checkpoint. */
typedef struct cr_data_pos {
    int64_t epoch;    /* passes finished */
    int64_t unit;     /* next block (shuffle window) of the epoch's order */
    int64_t row;      /* rows of that unit already given out */
    int64_t rows;     /* rows given out in this epoch */
    int64_t bad_rows; /* skipped so far */
} cr_data_pos;

typedef struct cr_batch {
    int64_t n_rows;
    int n_sparse;
    cr_jagged *sparse;
    int64_t dense_width;
    const float *dense; /* (n_rows, dense_width) row-major */
    int n_labels;
    const float *const *labels; /* [n_labels][n_rows] */
    int n_weights;
    const float *const *weights;
    /* predict: text of the reserved columns, [n_reserved] string columns of n_rows */
    int n_reserved;
    const cr_column *reserved;
    cr_data_pos after;
    cr_arena arena;
} cr_batch;

#endif
