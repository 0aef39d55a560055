/*
 * survey_int.h - what the files of a survey share.
 *
 *   form.c    what the files are: format, delimiter, header, names of the columns
 *   tally.c   counts of one column: of a block, and all blocks joined
 *   sample.c  the rows that are kept
 *   judge.c   what a column holds: dates, lists, numbers, words; the quantiles and top values
 *   worth.c   which column is the label, and what the others tell of it
 *   survey.c  reads the blocks on all threads and puts the parts together
 */
#ifndef CR_SURVEY_SURVEY_INT_H
#define CR_SURVEY_SURVEY_INT_H

#include "base/buf.h"
#include "base/exact.h"
#include "base/kmv.h"
#include "survey/survey.h"

/* ---- form.c ---- */

typedef struct form {
    const cr_reader_type *reader;
    cr_data_conf *conf; /* to open the files with */
    const char *const *names;
    int n_names;
} form;
/* cr_sv_form_find looks at the first bytes of the first file, and at its header or schema. */
cr_code cr_sv_form_find(form *f, const char *paths, cr_arena *a, cr_diag *diag);

/* ---- tally.c ---- */

#define HASHES  2048 /* smallest hashes kept for the number of different values */
#define KNOWN   2048 /* different values of a column that are counted one by one */
#define RECENT  1024 /* short values of a column that are looked at only when others come */
#define N_MARKS 4    /* different marks of missing values of one column that are named */

/* A value that is counted by itself. */
typedef struct known {
    uint64_t hash;
    int64_t n;
    const char *text; /* in the arena of the tally; NULL: a number, in `number` */
    size_t len;
    double number;
} known;

/* A value that came a while ago, with how often it came since. */
typedef struct recent {
    uint64_t word; /* a text of up to 8 bytes (base/word.h), or the bits of a number */
    uint64_t n;    /* RECENT_ONE times how often, and the length; or what the bits are */
} recent;

/* Decimal numbers of up to 8 characters with the same number of digits behind the point, as whole
 * numbers without the point. Their sums are exact, and need no division per number. */
__extension__ typedef __int128 wide_int;
typedef struct decimals {
    wide_int sum, squares;
    int64_t min, max; /* no number yet: min > max */
} decimals;
#define FRACTIONS 8

typedef struct tally {
    int64_t rows, missing, marked;
    int64_t values, numbers, whole; /* numbers, of which so many have no fraction */
    /* they count the numbers that are no decimals; cr_sv_tally_settle adds the decimals */
    double min, max;
    cr_exact sum, squares;
    decimals decimals[FRACTIONS]; /* by the number of digits behind the point */
    cr_kmv hashes;                /* hashes of the values, once there are many */
    known *known; /* all different values, in no order; while there are at most KNOWN */
    int n_known;
    bool many;       /* there are more, and none of them is counted by itself */
    int cap;         /* room in known */
    uint32_t *slots; /* known + 1 by hash; 0: empty */
    int n_slots;
    recent *recent;    /* by a hash of the word */
    int64_t missed;    /* values of this block that recent had not */
    bool direct;       /* recent is not asked any more: it has not enough of the values */
    bool list;         /* the column has lists, whose members are no missing rows */
    const char *other; /* a value that is no number; NULL: none. The least one by its bytes. */
    const char *marks[N_MARKS];
    int n_marks;
    int64_t longest; /* members of the longest list */
    int64_t listed;  /* rows with at least one member */
    cr_arena *arena;
} tally;
void cr_sv_tally_init(tally *t, cr_arena *a);
/* cr_sv_is_mark: does the text stand for a missing value? */
bool cr_sv_is_mark(const char *p, size_t n);
/* cr_sv_tally_column adds the rows of a column. cr_sv_tally_end must follow the last ones: only
 * then the counts are there. cr_sv_tally_join adds one that has ended. cr_sv_tally_settle must
 * follow the last join: only then the sums, the minimum and the maximum are there. */
void cr_sv_tally_column(tally *t, const cr_column *c, int64_t n_rows);
void cr_sv_tally_end(tally *t);
void cr_sv_tally_join(tally *t, const tally *other);
void cr_sv_tally_settle(tally *t);
double cr_sv_tally_distinct(const tally *t, bool *exact); /* the number of different values */
/* cr_sv_cell_text writes a number as a text: what top values and samples show. */
const char *cr_sv_cell_text(cr_arena *a, double x);

/* ---- sample.c ---- */

/* A cell of a row that is kept. */
typedef struct cell {
    uint64_t hash;
    double number;    /* NAN: none */
    const char *text; /* of a text column, at most CELL_TEXT bytes; NULL: missing, or a number */
    bool there;       /* it is neither missing nor a mark of that */
} cell;
#define CELL_TEXT 256

typedef struct kept_row {
    uint64_t key;
    char *raw; /* size bytes: sample.c */
    size_t size;
} kept_row;

/* The rows with the smallest keys. */
typedef struct sample {
    kept_row *v;
    int64_t n, cap, most;
    int n_cols;
    uint64_t limit; /* keys from here on are too large */
    cell **cells;   /* by column: one per row, from cr_sv_sample_end on */
    struct sorted { /* by column: its numbers in order, from cr_sv_sampled_numbers on */
        double *v;
        int64_t n;
    } * sorted;
    cr_arena arena[2];
    int cur;
} sample;
void cr_sv_sample_init(sample *s, int n_cols);
void cr_sv_sample_clear(sample *s);
/* cr_sv_sample_chunk keeps rows of a block; file and block give their keys. limit: that of the
 * whole sample so far. */
void cr_sv_sample_chunk(sample *s, const cr_chunk *c, int64_t file, int64_t block, uint64_t limit);
/* cr_sv_sample_join takes the rows of another sample, which is empty afterwards. */
void cr_sv_sample_join(sample *s, sample *other);
/* cr_sv_sample_end drops the rows that are too many, sorts the others by their keys and makes
 * their cells. It is called once. */
void cr_sv_sample_end(sample *s);
/* cr_sv_sampled_numbers returns the n numbers of column k in order; they belong to the sample. */
const double *cr_sv_sampled_numbers(const sample *s, int k, int64_t *n);
/* cr_sv_first_values lists the first values by the order cmp, at most `most`, and returns how many
 * these are. */
int64_t cr_sv_first_values(const known **first, int64_t most, const known *v, int64_t n,
                           int (*cmp)(const known *a, const known *b));
/* cr_sv_sampled_values lists the different values of column k with their counts; the caller frees
 * them. *n: how many values, *all: how many cells have one. value_of (may be NULL) receives for
 * each row the number of its value, -1: it has none. */
known *cr_sv_sampled_values(const sample *s, int k, int *value_of, int64_t *n, int64_t *all);

/* ---- judge.c ---- */
/* cr_sv_judge_column finds out what column k holds, and fills its result. */
void cr_sv_judge_column(cr_survey *s, int k, const tally *t, const sample *rows,
                        const cr_survey_opts *o);

/* ---- worth.c ---- */
/* cr_sv_worth_label chooses the label; false: the one that was asked for is not there. */
bool cr_sv_worth_label(cr_survey *s, const tally *t, const cr_survey_opts *o, cr_diag *diag);
void cr_sv_worth_columns(cr_survey *s, const sample *rows);

#endif
