/*
 * pred.h - predictions into a file: one struct per format, like the readers; pred_list.h names
 * them.
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
    const char *name;        /* writer_type: "CsvWriter" */
    const char *dataset;     /* whose default it is: "CsvDataset" */
    const char *ext;         /* of a file in a folder: "csv" */
    const char *const *ends; /* endings of the names of single files, NULL-ended: ".csv.gz" */
    bool streams;            /* it can write to standard output */
    /* shape is borrowed until free */
    CR_CHECKED cr_code (*open)(cr_pred **out, const char *path, const cr_pred_shape *shape,
                               cr_err *err);
    CR_CHECKED cr_code (*write)(cr_pred *p, const cr_pred_rows *rows, cr_err *err);
    CR_CHECKED cr_code (*finish)(cr_pred *p, cr_err *err);
    void (*free)(cr_pred *p); /* without finish: nothing is left */
} cr_pred_type;

extern const cr_pred_type *const cr_pred_types[]; /* all of pred_list.h, NULL-ended */

/* ---- where they go (pred_dest.c) ---- */

/* what a run writes beside the result, into a folder */
#define CR_PRED_COUNTS "_feature_counts.json"
#define CR_PRED_TRACE  "trace.json" /* --is_profiling */
typedef struct cr_pred_dest {
    const cr_pred_type *type;
    const char *dir; /* the user's folder, for other files of the run; NULL: a single file */
    char path[1088]; /* where the result goes; "-": standard output */
    char in[1088];   /* the folder it is in */
    bool made;       /* that folder is new */
} cr_pred_dest;
bool cr_pred_is_stream(const char *output); /* standard output? */
bool cr_pred_is_file(const char *output);   /* the name of one file? else a folder */
/* cr_pred_dest_check: flags that contradict each other. Touches nothing. */
CR_CHECKED cr_code cr_pred_dest_check(const char *output, const char *writer_type, bool profiling,
                                      cr_err *err);
/* cr_pred_dest_make chooses the format, makes the folder, clears it of what killed runs left under
 * the names of the files to write, refuses symbolic links in their places, and logs that an earlier
 * result will be replaced. output is borrowed. */
CR_CHECKED cr_code cr_pred_dest_make(cr_pred_dest *d, const char *output, const char *writer_type,
                                     const char *dataset, cr_err *err);
/* cr_pred_dest_fail: a run that failed leaves no empty folder; one with something in it stays. */
void cr_pred_dest_fail(const cr_pred_dest *d);

#endif
