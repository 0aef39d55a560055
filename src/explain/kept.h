/*
 * kept.h - rows of a data set kept in memory as batches have them, so that the value of a feature
 * can be taken from any row; and batches that are put together from such rows.
 */
#ifndef CR_EXPLAIN_KEPT_H
#define CR_EXPLAIN_KEPT_H

#include "job/job.h"

/* Stands for a source row where a feature gets no value: no ids, or zeros. */
#define CR_NO_ROW (-1)

typedef struct cr_kept cr_kept;
typedef struct cr_kept_opts {
    const char *paths;
    const char *key; /* the config key that names them; NULL: a flag does */
    cr_side_of side;
    int64_t max_rows; /* 0: all */
} cr_kept_opts;
/* cr_kept_read keeps the rows of a data set in the order of the files. Lists of tables with a map
 * stand behind the features' lists, as in cr_model_map_batch. */
CR_CHECKED cr_code cr_kept_read(cr_kept **out, cr_job *j, const cr_kept_opts *o, cr_diag *diag);
void cr_kept_free(cr_kept *k);
int64_t cr_kept_rows(const cr_kept *k);
bool cr_kept_cut(const cr_kept *k); /* there were more rows than max_rows */
/* cr_kept_all returns all rows as one batch; its labels and weights are read from there. */
const cr_batch *cr_kept_all(const cr_kept *k);
/* cr_kept_same: have two rows the same value in list s of ids (seq: in sequence s of numbers; else
 * in the dense float s)? A row CR_NO_ROW has none. */
typedef enum cr_kept_part { CR_KEPT_IDS, CR_KEPT_SEQ, CR_KEPT_FLOAT } cr_kept_part;
bool cr_kept_same(const cr_kept *k, cr_kept_part part, int64_t s, int64_t a, int64_t b);
/* cr_kept_differ sets differs[i] where the rows first + i and donor[first + i] (NULL: CR_NO_ROW)
 * have not the same value, for i < n. */
void cr_kept_differ(const cr_kept *k, cr_kept_part part, int64_t s, int64_t first, int64_t n,
                    const int64_t *donor, bool *differs);
/* cr_kept_thin leaves n of the rows, evenly from the first one on: row i n_rows / n is the new row
 * i. A failure leaves all of them. */
static inline int64_t cr_kept_thin_row(int64_t i, int64_t n, int64_t n_rows) {
    return (int64_t)((double)i * (double)n_rows / (double)n);
}
CR_CHECKED cr_code cr_kept_thin(cr_kept **k, int64_t n, cr_err *err);
size_t cr_kept_bytes(const cr_kept *k);

/* Where the values of a batch come from: n rows, and for each part the kept row of each row. */
typedef struct cr_sources {
    int64_t n;
    const int64_t *rows;         /* (n) labels, weights, and every part without its own rows */
    const int64_t *const *ids;   /* by list: (n), or NULL: rows */
    const int64_t *const *seqs;  /* by sequence of numbers, likewise */
    const int64_t *const *dense; /* by float of a dense row, likewise */
    /* the sequences keep the lengths that `rows` gives them: the steps of another row are repeated
     * or cut; else they come with their own lengths. A row without a value always keeps them. */
    bool keep_lengths;
    /* only sequences, and the parts that have rows of their own, are made; what the others hold is
     * not defined */
    bool only;
} cr_sources;
/* A batch that is put together, with its memory; zeros: an empty one. */
typedef struct cr_taken {
    cr_batch b;
    cr_buf *mem;
    int n_mem;
    const float **labels, **weights;
} cr_taken;
CR_CHECKED cr_code cr_kept_take(const cr_kept *k, const cr_sources *s, cr_taken *to, cr_err *err);
void cr_taken_clear(cr_taken *t);

#endif
