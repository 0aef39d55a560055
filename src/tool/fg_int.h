/*
 * fg_int.h - between reading rows for `crank fg` (fg.c) and writing what became of them
 * (fg_show.c).
 */
#ifndef CR_TOOL_FG_INT_H
#define CR_TOOL_FG_INT_H

#include "job/job.h"
#include "tool/tool.h"

typedef struct cr_fg_row {
    const char *path;
    int64_t row, line; /* in the file: rows from 0, -1: no row; lines from 1, 0: none */
    const char *bad;   /* why training leaves the row out; NULL: it does not */
    const cr_features *fs;
    const bool *shown; /* per feature */
    /* chunk and batch hold this row alone; NULL: it could not be read */
    const cr_chunk *chunk;
    const cr_batch *batch;
    const cr_column *values; /* cr_features_values */
    const cr_feature_counts *counts;
} cr_fg_row;

void cr_fg_text(cr_buf *out, const cr_fg_row *row);
void cr_fg_json(cr_buf *out, const cr_fg_row *row);

#endif
