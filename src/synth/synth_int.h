/*
 * synth_int.h - parts that the files of this folder share: descriptions of the data sets, and the
 * teacher.
 */
#ifndef CR_SYNTH_SYNTH_INT_H
#define CR_SYNTH_SYNTH_INT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "data/tab.h"
#include "synth/synth.h"

typedef enum synth_type {
    SYNTH_ID,   /* zipf-like ids in [0, card) */
    SYNTH_WORD, /* one of the words; the first is the most frequent */
    SYNTH_BAG,  /* 1 to 5 ids joined by '|'; the effect is their mean */
    SYNTH_REAL, /* a normal number with three decimals and a linear effect */
    SYNTH_NUM,  /* a number in [lo, hi); each bucket of the bounds has an effect */
} synth_type;

typedef struct synth_col {
    const char *name;
    synth_type type;
    int64_t card;             /* ID, BAG: number of ids before scaling; WORD: number of words */
    const char *const *words; /* WORD: NULL-ended */
    double share;             /* its share of the variance of the main effects */
    double lo, hi, skew;      /* NUM: value = lo + (hi - lo) * u^skew */
    int decimals;             /* NUM: 0 or 2 */
    const double *bounds;     /* NUM: ascending, 0-ended */
    const char *side;         /* user, item, context */
    const char *share_emb;    /* embedding_name; NULL: it has its own table */
} synth_col;

struct synth_teacher;
typedef struct synth_kind {
    const char *name;
    const char *label;
    const synth_col *cols;
    int n_cols;
    const char *const (*pairs)[2]; /* columns that interact; NULL-ended */
    double rate;                   /* share of ones */
    double sigma;                  /* standard deviation of the logit */
    double pair_share;             /* share of sigma^2 that comes from interactions */
    /* a label that can be 1 only where the first one is; NULL: none */
    const char *after;
    double after_rate; /* share of ones among these rows */
    double after_sigma;
    /* Writes model_config, and what else depends on the kind, into pipeline.yaml. */
    void (*yaml)(cr_buf *b, const struct synth_teacher *t);
} synth_kind;

/* Finds a kind in kinds.c; NULL: it is unknown. */
const synth_kind *cr_synth_kind_find(const char *name);

#define SYNTH_QUANT   1024 /* pieces of an inverse distribution function, 2^10 */
#define SYNTH_RANKS   4096 /* ids from this frequency rank on have no individual effect */
#define SYNTH_VECS    512  /* ids from this rank on do not interact */
#define SYNTH_DIM     2    /* width of the hidden vectors */
#define SYNTH_BAG_MAX 5

/* One column, prepared for drawing: the integer draw k is the floor of the inverse distribution at
 * u. */
typedef struct synth_draw {
    const synth_col *col;
    int64_t card;  /* after scaling; REAL, NUM: 0 */
    uint64_t mult; /* ID, BAG: id = k * mult mod card */
    double *quant; /* SYNTH_QUANT + 1 numbers */
    int64_t k_max; /* the greatest draw */
    float *effect; /* by rank or bucket */
    int64_t n_effect;
    float rest;   /* effect of the ranks behind the table */
    float slope;  /* REAL: effect per thousandth */
    float *after; /* the same three for the label that follows the first */
    float after_rest, after_slope;
    uint8_t *bucket; /* NUM: the bucket of k - k_min */
    int64_t k_min;
    float *vec; /* (n_vec, SYNTH_DIM); NULL: the column has no interaction */
    int64_t n_vec;
} synth_draw;

typedef struct synth_teacher {
    const synth_kind *kind;
    uint64_t seed;
    double scale;
    int n;
    synth_draw *v;
    int (*pairs)[2];
    int n_pairs;
    float pair_scale; /* factor of every interaction */
    float bias, after_bias;
    uint64_t key[2]; /* keys of the rows: train, eval */
    cr_arena arena;
} synth_teacher;

/* How values are drawn; described tables use it too. */
double cr_synth_zipf_inv(double u, double n);
double cr_synth_find_bias(double rate, double sigma);
uint64_t cr_synth_mult(int64_t card); /* scatters ranks over [0, card) */
int64_t cr_synth_pick(const double *quant, int64_t k_max, uint64_t bits);

/* One row that was drawn. k is the draw of each column; a bag has a number of ids and their
 * draws. */
#define SYNTH_MAX_COLS 64
typedef struct synth_row {
    int64_t k[SYNTH_MAX_COLS];
    int n_bag;
    int64_t bag[SYNTH_BAG_MAX];
    float logit;
    double p;
    int label;
    float after_logit; /* its logit if label is 1 */
    int after;
} synth_row;

/* cr_synth_teacher_init computes all tables; scale > 0. */
void cr_synth_teacher_init(synth_teacher *t, const synth_kind *kind, uint64_t seed, double scale);
void cr_synth_teacher_clear(synth_teacher *t);
/* cr_synth_row_draw draws row number i of a part (0: train, 1: eval). Any thread may call it. */
void cr_synth_row_draw(const synth_teacher *t, int part, int64_t i, synth_row *row);
/* Returns the id of a draw of an ID or BAG column. */
static inline uint64_t cr_synth_id(const synth_draw *d, int64_t k) {
    return (uint64_t)k * d->mult % (uint64_t)d->card;
}

/* cr_synth_yaml writes the whole pipeline.yaml. */
void cr_synth_yaml(cr_buf *b, const synth_teacher *t, const cr_synth_opts *o, const char *dir);

/* cr_synth_parquet writes rows [first, first + n) of a part to a file, whole or not at all. The
 * scores and labels of its rows go to scores, by row number, unless that is NULL. It stops without
 * an error when stop is set. */
typedef struct synth_scores {
    float *logit, *after_logit;
    uint8_t *label, *after;
} synth_scores;
static inline void cr_synth_keep(const synth_scores *s, int64_t i, const synth_row *row) {
    s->logit[i] = row->logit;
    s->label[i] = (uint8_t)row->label;
    s->after_logit[i] = row->after_logit;
    s->after[i] = (uint8_t)row->after;
}
typedef struct synth_part {
    int part;
    int64_t first, n;
    const synth_scores *scores;
    atomic_bool *stop;
} synth_part;
CR_CHECKED cr_code cr_synth_parquet(const synth_teacher *t, const synth_part *p, const char *path,
                                    int64_t *bytes, cr_err *err);

/* ---- table.c, cells.c: described tables (data/tab.h) ---- */

typedef union tab_num {
    int64_t k;
    double x; /* CR_TAB_REAL */
} tab_num;
typedef struct tab_draw {
    const cr_tab_value *value;
    double *quant;
    uint64_t mult;
    double mean, slope, unit; /* REAL; unit is the step of rounding */
    float *effect;            /* (labels, n_effect) */
    int64_t n_effect;
} tab_draw;
/* One column of one row. */
typedef struct tab_cells {
    tab_num *v; /* the values of all steps; of pairs, the dims of each */
    int n;      /* number of values, or of pairs */
    int *end;   /* per step: the end of its values */
    int n_steps;
    int *src, *src2; /* of pairs: the column that the key comes from, -1: none */
    int64_t *key, *key2;
    bool *hit; /* of pairs: a key of the row finds it */
} tab_cells;
typedef struct tab_row {
    tab_cells *cells;
    double *y, *p; /* per label: its value, and the teacher's probability that it is 1 */
    int *w;        /* weights in tenths */
} tab_row;
typedef struct synth_tab {
    const cr_synth_table *table;
    tab_draw *v, *own_key;
    uint64_t key[3];       /* keys of train, eval and sample */
    double *factor, *mean; /* (columns, labels) */
    int *labels;           /* in the order in which they are drawn */
    double bias;
    cr_arena arena;
} synth_tab;
void cr_tab_init(synth_tab *t, const cr_synth_table *table, uint64_t seed);
void cr_tab_clear(synth_tab *t);
void cr_tab_row_init(tab_row *r, const synth_tab *t, cr_arena *a);
/* cr_tab_row_draw draws row i of a part. Any thread may call it, with its own tab_row. */
void cr_tab_row_draw(const synth_tab *t, int part, int64_t i, tab_row *r);
int64_t cr_tab_int(const tab_draw *d, int64_t k);

/* The scores of eval rows, (labels, rows): the logit of the teacher's probability, and the
 * label. */
typedef struct tab_scores {
    float *logit;
    uint8_t *label;
    int64_t n_rows;
} tab_scores;
/* cells.c: writes rows of a part as text, or into a Parquet file. */
void cr_tab_csv_header(cr_buf *b, const synth_tab *t);
void cr_tab_csv_row(cr_buf *b, const synth_tab *t, const tab_row *r);
void cr_tab_keep(const tab_scores *s, int64_t i, const synth_tab *t, const tab_row *r);
CR_CHECKED cr_code cr_tab_parquet(const synth_tab *t, const tab_scores *scores, const synth_part *p,
                                  const char *path, cr_err *err);

/* The folder that a run fills. cr_synth_dir_open refuses a folder that crank did not make or that
 * the user has edited (CR_EUSAGE), makes the folder and its two parts, and removes what a killed
 * run left. Between begin and end the files there are neither the old data set nor the new one, and
 * the mark of the folder says so; end writes the digest of pipeline.yaml into it. close removes the
 * mark and the empty folders of a run that failed before begin. */
typedef struct cr_synth_dir {
    const char *path;
    char *mark;
    int fd;         /* the open and locked mark; -1: not open */
    bool made, old; /* made: this run made the folder; old: it holds a data set, whole or not */
} cr_synth_dir;
CR_CHECKED cr_code cr_synth_dir_open(cr_synth_dir *d, cr_arena *a, const char *dir, cr_err *err);
CR_CHECKED cr_code cr_synth_dir_begin(cr_synth_dir *d, cr_err *err);
CR_CHECKED cr_code cr_synth_dir_end(cr_synth_dir *d, uint64_t config, cr_err *err);
void cr_synth_dir_close(cr_synth_dir *d, cr_arena *a);
/* cr_synth_tmp_name returns the path of dir/part/name while it is being written. */
char *cr_synth_tmp_name(cr_arena *a, const char *dir, const char *part, const char *name);
/* cr_synth_drop_parts removes the parts of an earlier run, which would be read as data of this one.
 */
CR_CHECKED cr_code cr_synth_drop_parts(cr_arena *a, const char *dir, cr_err *err);

#endif
