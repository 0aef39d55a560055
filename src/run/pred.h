/*
 * pred.h - writes predictions into a file; like readers, each format is one struct (pred_list.h).
 *
 * A file holds the reserved columns first, then the predictions, then (debug) the results of the
 * features. It has a row per input row, in input order. It is either whole or absent.
 */
#ifndef CR_RUN_PRED_H
#define CR_RUN_PRED_H

#include "comm/comm.h"
#include "data/reader.h"

/* The columns of a file. */
typedef struct cr_pred_shape {
    int n_reserved;
    const char *const *reserved; /* names */
    const cr_colkind *kinds;
    int n_outputs;
    const char *const *outputs;
    const int64_t *widths; /* 1: a number per row; more: a list of that many numbers */
    bool debug;            /* there is a last column __features__ of text */
} cr_pred_shape;

/* Rows of a file. */
typedef struct cr_pred_rows {
    int64_t n_rows;
    const cr_column *reserved;
    const float *const *outputs; /* each is (n_rows, width), with rows ld apart */
    const int64_t *ld;
    const char *debug; /* text of row i: [debug_off[i], debug_off[i + 1]) */
    const uint32_t *debug_off;
} cr_pred_rows;

typedef struct cr_pred cr_pred; /* opaque, each type has its own */
typedef struct cr_pred_type {
    const char *name;        /* writer_type: "CsvWriter" */
    const char *dataset;     /* the dataset_type whose default it is: "CsvDataset" */
    const char *ext;         /* ending of a file in a folder: "csv" */
    const char *const *ends; /* endings of the names of single files, NULL-ended: ".csv.gz" */
    bool streams;            /* it can write to standard output */
    /* does a path belong to this format, and is it no path of a file? NULL: no */
    bool (*owns)(const char *path);
    /* shape is borrowed until free. */
    CR_CHECKED cr_code (*open)(cr_pred **out, const char *path, const cr_pred_shape *shape,
                               cr_err *err);
    CR_CHECKED cr_code (*write)(cr_pred *p, const cr_pred_rows *rows, cr_err *err);
    CR_CHECKED cr_code (*finish)(cr_pred *p, cr_err *err);
    void (*free)(cr_pred *p); /* without finish nothing is left of the file */
} cr_pred_type;

extern const cr_pred_type *const cr_pred_types[]; /* all of pred_list.h, NULL-ended */

/* ---- rows of several ranks (pred_gather.c) ---- */

/* For each global batch: cr_pred_pack packs this rank's rows, cr_pred_meet tells the others how
 * much they are and makes room for what comes, cr_pred_take brings all rows to rank 0. The last two
 * are collective; if one rank cannot go on after cr_pred_meet, none may call cr_pred_take. */
typedef struct cr_pred_gather cr_pred_gather;
cr_pred_gather *cr_pred_gather_new(cr_comm *comm, const cr_pred_shape *shape);
void cr_pred_gather_free(cr_pred_gather *g);
void cr_pred_pack(cr_pred_gather *g, const cr_pred_rows *rows);
CR_CHECKED cr_code cr_pred_meet(cr_pred_gather *g, cr_err *err);
/* The rows in out live until the next call; like has columns of the same kinds as the reserved
 * ones. On other ranks out has no rows. */
CR_CHECKED cr_code cr_pred_take(cr_pred_gather *g, const cr_column *like, cr_pred_rows *out,
                                cr_err *err);

/* ---- the destination (pred_dest.c) ---- */

/* Files that a run writes beside the result, into a folder. */
#define CR_PRED_COUNTS "_feature_counts.json"
#define CR_PRED_TRACE  "trace.json" /* --is_profiling */
/* Which part of the result a process writes: part-N of so many in a folder. {0, 1}: all of it. */
typedef struct cr_pred_part {
    int number, of;
} cr_pred_part;
typedef struct cr_pred_dest {
    const cr_pred_type *type;
    const char *dir; /* the user's folder, for other files of the run; NULL: a single file */
    char path[1088]; /* where the result goes; "-": standard output */
    char in[1088];   /* the folder that holds it */
    bool made;       /* this run made that folder */
    cr_pred_part part;
    char file[1200]; /* the file to write: path, or for one of several parts a hidden one */
    bool shown;      /* it has its name */
} cr_pred_dest;
bool cr_pred_is_stream(const char *output); /* is it standard output? */
/* is it the name of one file? Otherwise it is a folder */
bool cr_pred_is_file(const char *output);
/* cr_pred_dest_check finds flags that contradict each other. It touches no file. in_folder: other
 * files are written beside the result, for this flag; NULL: none are */
CR_CHECKED cr_code cr_pred_dest_check(const char *output, const char *writer_type,
                                      const char *in_folder, cr_err *err);
/* cr_pred_dest_make chooses the format, makes the folder, removes what killed runs left there,
 * refuses symbolic links in the places of the files to write and parts of a result that had more of
 * them, and logs that an earlier result will be replaced. output is borrowed. */
CR_CHECKED cr_code cr_pred_dest_make(cr_pred_dest *d, const char *output, const char *writer_type,
                                     const char *dataset, cr_pred_part part, cr_err *err);
/* The parts of a result have hidden names until all are whole. Then the first process calls
 * cr_pred_dest_begin, which leaves a mark, then all call cr_pred_dest_show, which gives a part its
 * name, then the first cr_pred_dest_end, which removes the mark: a mark that a kill left tells the
 * next run that the parts are no result. Where there is one part, and where a store cannot move
 * names, they do nothing. */
CR_CHECKED cr_code cr_pred_dest_begin(const cr_pred_dest *d, cr_err *err);
CR_CHECKED cr_code cr_pred_dest_show(cr_pred_dest *d, cr_err *err);
void cr_pred_dest_end(const cr_pred_dest *d);
/* cr_pred_dest_undo removes a finished part, because another one failed. */
void cr_pred_dest_undo(const cr_pred_dest *d);
/* cr_pred_dest_fail removes the empty folder of a run that failed; a folder with files in it
 * stays. */
void cr_pred_dest_fail(const cr_pred_dest *d);

#endif
