/*
 * split.h - data_config.eval_fraction: which rows of one data set are for training and which for
 * evaluation; and data_config.skip_rows: which are for neither.
 *
 * A row's side is a function of the row alone: of the value of a column, or of its place (name of
 * the file, block or row number). So it does not depend on threads, batches, the seed or the epoch,
 * and all rows with the same value are on one side, whatever files they are in.
 */
#ifndef CR_DATA_LOAD_SPLIT_H
#define CR_DATA_LOAD_SPLIT_H

#include "data/batch.h"
#include "text/regex.h"

typedef enum cr_side_of { CR_ALL_ROWS, CR_TRAIN_ROWS, CR_EVAL_ROWS } cr_side_of;
/* Rows in whose text of a wanted column the expression is found are left out. */
typedef struct cr_skip {
    int col;
    cr_regex *regex;
} cr_skip;
typedef struct cr_split {
    cr_side_of side; /* the rows that are kept */
    double fraction; /* the share of rows, or values, that are CR_EVAL_ROWS */
    int col;         /* wanted column whose values are split; -1: rows are */
    const cr_skip *skip;
    int n_skip;
} cr_split;
/* cr_split_all: are all rows kept? */
static inline bool cr_split_all(const cr_split *s) {
    return s->side == CR_ALL_ROWS && s->n_skip == 0;
}
/* What a thread needs to look for expressions; zeros at first. */
typedef struct cr_skipper {
    cr_work work;
    cr_regex_run *run;
} cr_skipper;
void cr_skipper_clear(cr_skipper *k);

/* cr_split_rows lists the rows of a chunk that are kept (room for n_rows); returns how many. block:
 * number of the block in its file, for files that do not know the numbers of rows; -1: they do. */
int64_t cr_split_rows(const cr_split *s, const cr_chunk *chunk, int64_t block, cr_skipper *k,
                      int32_t *kept);
/* cr_split_chunk leaves the n rows `kept` in the chunk, in their order. */
void cr_split_chunk(cr_chunk *chunk, const int32_t *kept, int64_t n);

#endif
