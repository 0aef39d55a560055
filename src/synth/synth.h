/*
 * synth.h - made-up data with a known best score.
 *
 * Rows are a function of (kind, seed, scale, row number) alone: the same bytes for any number of
 * threads. A table of any other shape can be described (data/tab.h). Labels are drawn from a
 * hidden teacher, a logistic model of per-id effects, dense effects and a few low-rank
 * interactions; its AUC and logloss on the eval part are the best that any model can reach, up to
 * sampling noise.
 */
#ifndef CR_SYNTH_SYNTH_H
#define CR_SYNTH_SYNTH_H

#include "base/mem.h"
#include "base/pool.h"
#include "data/tab.h"

#define CR_SYNTH_LABELS 32
typedef struct cr_synth_label { /* a label of a described table, in the eval part */
    char name[64];
    double mean;
    double auc; /* of the teacher; NaN: the label is not 0 or 1 */
} cr_synth_label;
typedef struct cr_synth_result {
    int64_t rows, eval_rows, bytes;
    double label_rate;   /* share of ones in the eval part */
    double auc, logloss; /* of the teacher, on the eval part */
    /* For the label that can follow the first: the share of ones and the teacher's AUC among the
     * rows where it can; the AUC of both together over all rows. 0: there is no such label. */
    double after_rate, after_auc, both_auc;
    int n_files, n_eval_files;
    cr_synth_label labels[CR_SYNTH_LABELS];
    int n_labels; /* 0: not a described table */
} cr_synth_result;

typedef struct cr_synth_opts {
    const char *kind;            /* "criteo", "taobao", "census"; ignored with table */
    const cr_synth_table *table; /* a described table; NULL: kind */
    int64_t rows;                /* rows of the train part */
    int64_t eval_rows;           /* 0: rows / 5, at least 1000, at most 1,000,000 */
    uint64_t seed;
    /* factor of the cardinalities (0: 1); a described table does not use it */
    double scale;
    /* it is missing, empty, or made by an earlier run and not edited since */
    const char *dir;
    const char *format;      /* "csv", "parquet"; NULL: csv */
    cr_synth_result *result; /* filled in unless it is NULL */
} cr_synth_opts;

/* The names of all kinds and of all formats, NULL-ended. */
extern const char *const cr_synth_kinds[];
extern const char *const cr_synth_formats[];

/* cr_synth writes dir/train/part-*.csv, dir/eval/part-*.csv (or .parquet), dir/synth.json and
 * dir/pipeline.yaml. After a failure no file of this call is left. */
CR_CHECKED cr_code cr_synth(const cr_synth_opts *o, cr_pool *pool, cr_err *err);

#endif
