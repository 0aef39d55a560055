/*
 * pred.h - predictions into a file: one struct per format, like the readers.
 *
 * A file holds the reserved columns first, then the predictions, then (debug) what the features
 * became, a row per input row in input order. It is whole or absent.
 */
#ifndef CR_RUN_PRED_H
#define CR_RUN_PRED_H

#include "data/reader.h"

/* the columns of a file */
typedef struct cr_pred_shape {
    int n_reserved;
    const char *const *reserved; /* names */
    const cr_colkind *kinds;
    int n_outputs;
    const char *const *outputs;
    const int64_t *widths; /* 1: a number per row, more: a list of so many */
    bool debug;            /* a last column __features__ of text */
} cr_pred_shape;

/* rows of a file */
typedef struct cr_pred_rows {
    int64_t n_rows;
    const cr_column *reserved;
    const float *const *outputs; /* (n_rows, width), ld apart */
    const int64_t *ld;
    const char *debug; /* text of row i: [debug_off[i], debug_off[i + 1]) */
    const uint32_t *debug_off;
} cr_pred_rows;

typedef struct cr_pred cr_pred; /* opaque, each type has its own */
typedef struct cr_pred_type {
    const char *name;    /* writer_type: "CsvWriter" */
    const char *dataset; /* whose default it is: "CsvDataset" */
    const char *ext;
    /* shape is borrowed until free */
    CR_CHECKED cr_code (*open)(cr_pred **out, const char *path, const cr_pred_shape *shape,
                               cr_err *err);
    CR_CHECKED cr_code (*write)(cr_pred *p, const cr_pred_rows *rows, cr_err *err);
    CR_CHECKED cr_code (*finish)(cr_pred *p, cr_err *err);
    void (*free)(cr_pred *p); /* without finish: nothing is left */
} cr_pred_type;

extern const cr_pred_type cr_pred_csv, cr_pred_parquet;
extern const cr_pred_type *const cr_pred_types[]; /* NULL-ended */

#endif
