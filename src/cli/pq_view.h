/*
 * pq_view.h - what the parts of `crank parquet` share.
 *
 *   cmd_parquet.c  flags, several files
 *   pq_show.c      one file for people: summary, columns, row groups, pages, schema
 *   pq_rows.c      rows: JSON lines, and a table of the first ones
 *   pq_json.c      one file as a JSON object
 */
#ifndef CR_CLI_PQ_VIEW_H
#define CR_CLI_PQ_VIEW_H

#include "cli/cli.h"
#include "parquet/parquet.h"

/* An open file and the columns that were asked for. */
typedef struct cr_pqv {
    const cr_pq_file *f;
    const cr_pq_meta *m;
    int *nodes; /* top-level nodes, or members that were named, in that order */
    int n;
    int width;    /* of the screen */
    int64_t size; /* of the file */
    cr_arena arena;
} cr_pqv;

/* ---- pq_show.c ---- */
void cr_pqv_summary(cr_pqv *v);
/* max: so many lines at most, then how many more there are; 0: all */
void cr_pqv_columns(cr_pqv *v, int max);
void cr_pqv_groups(cr_pqv *v, int max);
void cr_pqv_schema(cr_pqv *v);
CR_CHECKED cr_code cr_pqv_pages(cr_pqv *v, int node, cr_err *err);

/* What all row groups together say of a leaf. */
typedef struct cr_pqv_sum {
    int64_t n_values, size, raw_size;
    int64_t n_null;     /* -1: not told */
    uint32_t encodings; /* bits */
    uint32_t codecs;    /* bits */
    bool has_bounds;    /* every row group with values has min and max */
    cr_pq_stats bounds;
} cr_pqv_sum;
cr_pqv_sum cr_pqv_sum_of(const cr_pq_meta *m, int leaf);
/* cr_pqv_name: a leaf as people call it, so that cr_pq_find finds it: "user.tags" */
const char *cr_pqv_name(cr_pqv *v, int leaf);
/* names of the codecs whose bits are set, with ", " between; in the arena */
const char *cr_pqv_codecs(cr_pqv *v, uint32_t bits);
/* cr_pqv_human takes a value's JSON and gives what a cell shows */
const char *cr_pqv_human(cr_pqv *v, const cr_pq_node *n, const char *json, size_t size);

/* ---- pq_rows.c ---- */
/* Called with a row's number and, per column of v, its JSON in `cells`. */
typedef void cr_pqv_row_fn(void *ctx, int64_t row, const cr_buf *cells);
/* cr_pqv_each_row reads rows 0 .. max - 1 (max < 0: all) in pieces and calls fn for each. */
CR_CHECKED cr_code cr_pqv_each_row(cr_pqv *v, int64_t max, cr_pqv_row_fn *fn, void *ctx,
                                   cr_err *err);
/* one object per row and line on stdout */
CR_CHECKED cr_code cr_pqv_rows_json(cr_pqv *v, int64_t max, cr_err *err);
CR_CHECKED cr_code cr_pqv_rows_table(cr_pqv *v, int64_t max, cr_err *err);

/* ---- pq_json.c ---- */
CR_CHECKED cr_code cr_pqv_json(cr_pqv *v, int64_t rows, cr_err *err);

#endif
