/*
 * pred_cols.h - predictions as columns, for the formats that store columns. Reserved columns keep
 * the type they were read with. A prediction is a float; one of several numbers is a list of
 * doubles, as TorchEasyRec writes it, with the same values.
 */
#ifndef CR_RUN_PRED_COLS_H
#define CR_RUN_PRED_COLS_H

#include "data/pq/sink.h"
#include "run/pred.h"

typedef struct cr_pred_cols {
    const cr_pred_shape *shape;
    cr_sink_col *sink; /* what the columns are, in the order of the file */
    int n;
    const cr_column **cols; /* those of the last rows */
    cr_column *made;        /* predictions, then __features__ */
    cr_arena arena, rows;
} cr_pred_cols;
void cr_pred_cols_init(cr_pred_cols *c, const cr_pred_shape *shape);
void cr_pred_cols_clear(cr_pred_cols *c);
/* cr_pred_cols_make fills cols; they live until the next call, or as long as rows. */
CR_CHECKED cr_code cr_pred_cols_make(cr_pred_cols *c, const cr_pred_rows *rows, cr_err *err);

#endif
