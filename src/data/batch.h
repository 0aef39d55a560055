/*
 * batch.h - data on its way: columns (from a reader), and batches (into the step).
 *
 * Columns are Arrow-shaped: values, offsets, validity. A string value i is bytes[beg[i], end[i]):
 * with contiguous strings end is beg + 1, in a CSV block both point into the file's text, so
 * neither copies. Strings of a dictionary come as codes into its entries. A batch holds, per sparse
 * feature, one jagged (CSR) array of ids, the dense floats, labels and weights.
 */
#ifndef CR_DATA_BATCH_H
#define CR_DATA_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

/* numbers as FieldType of DataConfig for the scalars */
typedef enum cr_coltype {
    CR_COL_I32 = 0,
    CR_COL_I64 = 1,
    CR_COL_STR = 2,
    CR_COL_F32 = 3,
    CR_COL_F64 = 4
} cr_coltype;

/* What was made of the entries of a dictionary, kept as long as the dictionary itself: an entry is
 * hashed or parsed once however many chunks use it. The reader that makes the column owns it. One
 * thread uses it at a time. */
typedef struct cr_memo {
    struct cr_memo_item {
        const void *who;
        void *made;
    } * v;
    int n, cap;
    cr_arena arena; /* for what is made */
} cr_memo;
/* cr_memo_get returns what `who` has made; NULL: nothing yet. */
void *cr_memo_get(const cr_memo *m, const void *who);
void cr_memo_put(cr_memo *m, const void *who, void *made);
void cr_memo_reset(cr_memo *m); /* zeros: an empty memo */
void cr_memo_clear(cr_memo *m);

/* A column as its file stores it, on its way into another file. What is inside is known to the
 * format that made it and to those who write that format; its rows are moved by the functions of
 * its type (runs.h). The format's own struct begins with this one. */
typedef struct cr_stored {
    const struct cr_stored_type *type;
} cr_stored;

typedef struct cr_column {
    cr_coltype type;           /* of the leaf values */
    int depth;                 /* 0 scalar, 1 list, 2 list of lists */
    const uint8_t *valid;      /* one byte per row, 0: null; NULL: no nulls */
    const uint8_t *item_valid; /* depth >= 1: one byte per value, 0: null; NULL: no nulls */
    const int32_t *row_off;    /* depth >= 1: n_rows + 1 offsets into items (depth 2) or values */
    const int32_t *item_off;   /* depth 2: offsets of items into values */
    const uint8_t *list_valid; /* depth 2: one byte per item, 0: null (and empty); NULL: none is */
    union {
        const int32_t *i32;
        const int64_t *i64;
        const float *f32;
        const double *f64;
    } v;
    const char *bytes; /* CR_COL_STR; see cr_text_at */
    const uint32_t *beg, *end;
    const uint32_t *code; /* per value its entry of the dictionary; NULL: value i is entry i */
    int64_t n_dict;       /* with code: entries */
    cr_memo *memo;        /* with code; NULL: none */
    const struct cr_column *keys; /* map: keys, same offsets as the values */
    const cr_stored *stored; /* where it was asked for: the column as its file stores it; NULL: no.
                                The fields above may then be empty. */
} cr_column;

/* cr_text_at returns value i of a CR_COL_STR column: n bytes, without a NUL behind them. */
static inline const char *cr_text_at(const cr_column *c, int64_t i, size_t *n) {
    int64_t k = c->code ? c->code[i] : i;
    *n = c->end[k] - c->beg[k];
    return c->bytes + c->beg[k];
}

/* A run of rows of one file, columns in the order they were asked for. */
typedef struct cr_chunk {
    int64_t n_rows;
    int n_cols;
    cr_column *cols;
    const char *path;      /* of the file, lives as long as the reader */
    int64_t first_row;     /* row number in the file, from 0; -1: not known */
    const int64_t *lines;  /* line (from 1) each row begins on, counted from the first line of
                              the block when raw.first_line was 0; NULL: no lines */
    const uint8_t *hidden; /* per row: 1: what is masked has no value here; NULL: nowhere */
    cr_arena arena; /* owns everything above but hidden and the text the columns point into */
} cr_chunk;

/* Bad rows met while parsing or encoding one chunk. A row may be reported more than once (by
 * several features); the loader counts it once. Only the first few by line keep their text, so
 * that "the first bad row" does not depend on which column was looked at first. Zeros: an empty
 * list. */
#define CR_BAD_KEEP 8
typedef struct cr_bad_row {
    int64_t row;   /* in the chunk; -1: it did not split into columns and is not in the chunk */
    int64_t line;  /* as in chunk->lines */
    char msg[256]; /* "column 'age', value 'x7': not a number" */
} cr_bad_row;
typedef struct cr_bad {
    cr_bad_row *v; /* n_kept entries in the order of lines, one per row */
    int64_t n_kept;
    int64_t *rows; /* n entries: the row of every report, in the order of the reports */
    int64_t n, cap;
    /* While the steps of a sequence are encoded as if they were rows: where those of each row begin
     * (n_rows + 1 numbers) and the lines of the rows. A report of a step is one of its row. NULL:
     * no steps. */
    const int32_t *steps;
    int64_t n_rows;
    const int64_t *lines;
    /* While a part of a block's rows is encoded: the number in the block of each. Reports tell that
     * number. NULL: all rows are. */
    const int32_t *rows_of;
} cr_bad;
/* cr_bad_add notes that a row is bad (once per row is enough; the loader leaves the row out). line
 * is chunk->lines[row], 0 when the chunk has no lines. */
void cr_bad_add(cr_bad *bad, int64_t row, int64_t line, const char *fmt, ...) CR_PRINTF(4, 5);
void cr_bad_reset(cr_bad *bad);
/* cr_bad_keep drops the reports of rows whose mark is 0, and without `whole` those of rows that are
 * not in the chunk. lines: of the chunk, or NULL. */
void cr_bad_keep(cr_bad *bad, const uint8_t *mark, const int64_t *lines, bool whole);
void cr_bad_clear(cr_bad *bad);

/* One sparse feature of a batch. */
typedef struct cr_jagged {
    const int32_t *off; /* n_rows + 1; NULL: exactly one id per row */
    const int64_t *ids;
    const float *w; /* weights beside ids; NULL: all 1 */
    int64_t n_ids;
    /* A sequence: where the steps of each row begin, n_rows + 1 numbers from 0 on; off then has one
     * place per step (NULL: one id per step). NULL: no sequence. */
    const int32_t *steps;
} cr_jagged;

/* One feature of a batch that is a sequence of numbers: `width` floats per step. */
typedef struct cr_dense_seq {
    const int32_t *steps; /* as above */
    const float *v;
    int64_t width;
} cr_dense_seq;

/* Rows with the values of all features: what an encoder makes of a chunk, what the loader keeps and
 * joins, and what a step computes on. The memory belongs to the one who made them. */
typedef struct cr_batch {
    int64_t n_rows;
    /* rows of the global batch, of which these rows are a part when several processes share it; not
     * used when one process has all rows */
    int64_t global_rows;
    int n_sparse;
    cr_jagged *sparse;
    int64_t dense_width;
    const float *dense; /* (n_rows, dense_width) row-major */
    int n_dense_seq;
    cr_dense_seq *dense_seq;
    int n_labels;
    const float *const *labels; /* [n_labels][n_rows] */
    int n_weights;
    const float *const *weights;
    /* predict: the reserved columns, [n_reserved] of n_rows (as stored, or text, or as typed) */
    int n_reserved;
    const cr_column *reserved;
} cr_batch;

/* What an encoder makes of a chunk: rows, counts, and the memory of both. */
typedef struct cr_chunk_rows {
    cr_batch rows;
    void *tally; /* what was counted in these rows, see cr_loader_opts; NULL: nothing */
    cr_arena arena;
} cr_chunk_rows;

#endif
