/*
 * meta_int.h - what meta_read.c (the footer) and meta_page.c (page headers, page indexes,
 * statistics) share.
 */
#ifndef CR_PARQUET_META_INT_H
#define CR_PARQUET_META_INT_H

#include "parquet/parquet_int.h"

/* The state of reading: the place, and the memory that it may still take. */
typedef struct cr_pq_parse {
    cr_tin t;
    cr_arena *arena;
    size_t left;
    int64_t file_size;
    cr_pq_meta *m;
    cr_err *err;
    const char *what;                 /* "footer" */
    int64_t n_values, size, raw_size; /* sums over all chunks */
    int n_odd;                        /* chunks whose path is not that of their column */
} cr_pq_parse;
/* cr_pq_broken reports what is wrong with the Thrift bytes. */
cr_code cr_pq_broken(cr_pq_parse *s);
/* cr_pq_take takes zeroed memory for n elements of `size` bytes out of what is left of the
 * budget. */
CR_CHECKED cr_code cr_pq_take(cr_pq_parse *s, void **out, size_t n, size_t size);

/* CR_EACH_FIELD(t, id, type) { switch (id) {...} } loops over the fields of a struct; the body must
 * consume each. */
#define CR_EACH_FIELD(t, id, type)                                                                 \
    for (int id = 0, type; (type = cr_tin_field((t), &id)) != CR_T_STOP;)

/* Statistics as they are in the file; the column decides which of them may be used. */
typedef struct cr_pq_raw_stats {
    const uint8_t *v[4]; /* old max, old min, max, min: fields 1, 2, 5, 6 */
    size_t n[4];
    bool max_exact, min_exact;
    int64_t n_null, n_distinct;
} cr_pq_raw_stats;
extern const cr_pq_raw_stats cr_pq_no_stats;
/* cr_pq_get_stats reads a whole field: a struct of statistics, or a field of another type, which is
 * skipped. */
void cr_pq_get_stats(cr_tin *t, int type, cr_pq_raw_stats *r);
/* cr_pq_use_stats: with n NULL the column is not known, and sizes are not checked. */
void cr_pq_use_stats(cr_pq_stats *out, const cr_pq_raw_stats *r, const cr_pq_node *n);

#endif
