/*
 * fg_int.h - the interface between fg.c, which reads rows for `crank fg`, and fg_show.c, which
 * writes the results.
 */
#ifndef CR_TOOL_FG_INT_H
#define CR_TOOL_FG_INT_H

#include "job/job.h"
#include "tool/tool.h"

typedef struct cr_fg_row {
    const char *path;
    int64_t row, line; /* in the file: rows count from 0 (-1: not a row), lines from 1 (0: none) */
    const char *bad;   /* why training leaves the row out; NULL: it uses the row */
    const cr_features *fs;
    const bool *shown; /* per feature: is it shown? */
    /* chunk and batch hold only this row; NULL: it could not be read */
    const cr_chunk *chunk;
    const cr_batch *batch;
    const cr_column *values; /* made by cr_features_values */
    const cr_feature_counts *counts;
} cr_fg_row;

void cr_fg_text(cr_buf *out, const cr_fg_row *row);
void cr_fg_json(cr_buf *out, const cr_fg_row *row);

#endif
