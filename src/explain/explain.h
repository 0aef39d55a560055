/*
 * explain.h - why a model says what it says: what each feature is worth over a data set
 * (importance.c), and the parts of one score or of the difference between two (why.c).
 */
#ifndef CR_EXPLAIN_EXPLAIN_H
#define CR_EXPLAIN_EXPLAIN_H

#include "base/buf.h"
#include "explain/paired.h"
#include "job/config.h"
#include "job/watch.h"

/* A result that features change: the AUC of a prediction, or the mean of a loss. */
typedef struct cr_measure_result {
    const char *name;
    bool auc;
    double value; /* with all features as they are */
    int64_t rows, n_pos, n_neg;
} cr_measure_result;
/* How much worse a result is: AUC lost, or loss gained; and in how many rows the value of the
 * feature was another one at all. */
typedef struct cr_worth {
    cr_paired shuffled, removed;
} cr_worth;
typedef struct cr_unit_result {
    const char *kind, *name; /* "feature", "group" or "sequence" */
    int n_features;
    bool used; /* a prediction or loss depends on it */
    int64_t rows_shuffled, rows_removed;
    cr_worth *worth; /* by measure */
} cr_unit_result;
typedef struct cr_importance {
    cr_measure_result *measures;
    int n_measures;
    cr_unit_result *units; /* features in the order of the config, then sequences and groups */
    int n_units, n_features;
    int64_t rows;
    int64_t read; /* rows that were read; where these are more, `rows` of them were chosen evenly */
    bool cut;     /* the data has more rows than were read */
    uint64_t seed;
    char checkpoint[1088];
    const char *dir; /* the model_dir of the config, on this machine; NULL: there is none */
    double read_s, base_s, probe_s, score_s;
    size_t kept_bytes;
} cr_importance;
#define CR_ROWS_BY_WORK (-1)
#define CR_ROWS_READ    200000
typedef struct cr_importance_opts {
    cr_config_opts config; /* its path may be a model_dir or an export */
    const char *checkpoint_path;
    /* 0: all; CR_ROWS_BY_WORK: at most CR_ROWS_READ are read, and of these as many are taken as
     * the counted work allows (cr_probes_rows) */
    int64_t max_rows;
    uint64_t seed;
    int threads;
    cr_buf *order; /* receives one line per row: the row whose values it gets; NULL: not wanted */
    cr_watch watch;
} cr_importance_opts;
/* cr_importance_run fills out, whose memory is in the arena. */
CR_CHECKED cr_code cr_importance_run(const cr_importance_opts *o, cr_importance *out,
                                     cr_arena *arena, cr_diag *diag);
void cr_importance_json(cr_buf *out, const cr_importance *r);
/* cr_importance_order returns the numbers of the units, the most worth first. */
int *cr_importance_order(const cr_importance *r, int measure, cr_arena *a);
/* cr_importance_svg draws a bar chart of one measure, the most worth on top. */
void cr_importance_svg(cr_buf *out, const cr_importance *r, int measure);

/* ---- why.c ---- */
typedef struct cr_why_part {
    /* "feature", "sequence", or "id": one of several ids of a feature; between models "table rows"
     * or "layer" */
    const char *kind;
    const char *name;  /* of the feature, or of the layer's parameters up to the last dot */
    const char *value; /* ids and numbers of the row; "" between models */
    double part;
} cr_why_part;
typedef struct cr_why {
    const char *output, *checkpoint[2];
    double from, to; /* the scores whose difference the parts are */
    double residual; /* to - from - sum of the parts: rounding */
    bool has_label;
    double label;
    cr_why_part *parts; /* the largest first */
    int n_parts;
} cr_why;
typedef struct cr_why_opts {
    cr_config_opts config[2]; /* as in cr_importance_opts */
    const char *checkpoint_path[2];
    int n_models; /* 2: the difference of the second to the first one */
    /* one row: its score, against a row without values. Two (of one model): the difference of the
     * first to the second one. Rows of the data count from 0. */
    int64_t rows[2];
    int n_rows;
    const char *output; /* NULL: the first that is a logit or y */
    int orders;         /* even: every order is followed by its reverse */
    uint64_t seed;
    int threads;
} cr_why_opts;
CR_CHECKED cr_code cr_why_run(const cr_why_opts *o, cr_why *out, cr_arena *arena, cr_diag *diag);
void cr_why_json(cr_buf *out, const cr_why_opts *o, const cr_why *r);

#endif
