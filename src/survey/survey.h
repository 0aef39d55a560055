/*
 * survey.h - one look at a table of unknown columns: what is in each of them, and what it tells of
 * a label. `crank profile` prints it and `crank init` makes a config of it
 * (docs/design/survey.md).
 *
 * The result depends on the files only, not on threads: counts are exact, distinct values are
 * counted by their smallest hashes, and all else comes from one sample of rows that a hash of their
 * place has chosen.
 */
#ifndef CR_SURVEY_SURVEY_H
#define CR_SURVEY_SURVEY_H

#include "base/pool.h"
#include "data/reader.h"

#define CR_SURVEY_TOP       10
#define CR_SURVEY_QUANTILES 7
extern const double cr_survey_quantiles[CR_SURVEY_QUANTILES]; /* 1, 5, 25, 50, 75, 95, 99 % */

/* What a column holds. */
typedef enum cr_survey_kind {
    CR_SURVEY_EMPTY, /* nothing but missing values */
    CR_SURVEY_CONSTANT,
    CR_SURVEY_INT,
    CR_SURVEY_REAL,
    CR_SURVEY_WORD, /* any text with one meaning as a whole */
    CR_SURVEY_DATE,
    CR_SURVEY_LIST,  /* several values: of Parquet's lists, or text with a separator */
    CR_SURVEY_OTHER, /* lists of lists and maps */
} cr_survey_kind;
const char *cr_survey_kind_name(cr_survey_kind k);

typedef struct cr_survey_value {
    const char *text;
    double share; /* of the values that are there */
    int64_t n;    /* how often it occurs; -1: the share is an estimate from the sample */
} cr_survey_value;

typedef struct cr_survey_col {
    const char *name;
    const char *stored; /* the type as the file says it, "list<int64>"; NULL: text */
    cr_survey_kind kind;
    bool numbers;           /* the values, or the members of a list, are numbers */
    const char *format;     /* of a DATE: "yyyymmdd", "yyyy-mm-dd", "unix seconds" ...; else NULL */
    char separator;         /* of a LIST in text; else 0 */
    int64_t rows, missing;  /* rows without a value, marks of a missing one included */
    int64_t marked;         /* of those, rows with a mark such as ? or NA */
    int64_t values;         /* without lists: rows - missing; else the members */
    int64_t not_numbers;    /* in a column of numbers: values that are none */
    const char *not_number; /* one of them; NULL: none */
    double distinct;        /* number of different values, or members of lists */
    bool exact;             /* that number is no estimate */
    double min, max, mean, sd; /* of numbers; NAN: none */
    double q[CR_SURVEY_QUANTILES];
    double mean_length, max_length;     /* LIST: members of a row that has some */
    cr_survey_value top[CR_SURVEY_TOP]; /* the most frequent ones, if any occurs twice */
    int n_top;
    /* mutual information with the label, in bits, and as a share of what there is to know; NAN: not
     * known (no label, a list) */
    double bits, share;
    double value_bits; /* of a column of numbers: the same, if each value were a name; else NAN */
    bool gives_away;   /* it tells the label in nearly all rows */
    /* numbers that cut the values of a column of numbers into even parts, ascending */
    double *cuts;
    int n_cuts;
} cr_survey_col;

/* cr_survey_col_name returns the name as people read it: "(no name)" for an empty one. */
const char *cr_survey_col_name(const cr_survey_col *c);
/* cr_survey_counts_rows: are the values the numbers of the rows, from 0 or 1 on? */
bool cr_survey_counts_rows(const cr_survey_col *c);

typedef struct cr_survey_opts {
    const char *paths; /* files, folders or globs, with commas */
    const char *label; /* NULL: guessed; "": there is none */
    int64_t max_rows;  /* reads no more blocks once it has seen so many rows; 0: all */
    int cuts;          /* even parts that numbers are cut into */
    cr_pool *pool;
} cr_survey_opts;

typedef struct cr_survey {
    const cr_reader_type *reader;
    const char *paths;
    int64_t n_files;
    const char *const *files;
    int64_t bytes; /* of the files; 0: not known */
    /* CSV */
    const char *delimiter;
    bool header;
    const char *const *marks; /* marks of missing values that occur */
    int n_marks;
    int64_t rows, bad_rows;
    const char *bad_row; /* the first message; NULL: no bad rows */
    bool whole;          /* all rows were read */
    int64_t sampled;
    cr_survey_col *cols;
    int n_cols;
    int label; /* a column; -1: none */
    bool label_guessed;
    int64_t positives; /* of a label of two values: rows with the larger one; -1: it has others */
    double label_bits; /* entropy of the label */
    cr_arena arena;
} cr_survey;

/* cr_survey_make reads the files. All mistakes go to diag. The caller clears *s in any case. */
CR_CHECKED cr_code cr_survey_make(cr_survey *s, const cr_survey_opts *o, cr_diag *diag);
void cr_survey_clear(cr_survey *s);
/* cr_survey_find returns the number of a column; -1: there is none. */
int cr_survey_find(const cr_survey *s, const char *name);

#endif
