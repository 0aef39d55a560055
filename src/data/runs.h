/*
 * runs.h - rows of several batches on their way into one: which rows they are, and the memory they
 * are put into. The loader gathers them (load/gather.h); a format whose columns can be carried as
 * they are stored does that with its own columns (cr_stored_type).
 */
#ifndef CR_DATA_RUNS_H
#define CR_DATA_RUNS_H

#include "base/buf.h"
#include "data/batch.h"

/* The place that one row comes from. */
typedef struct cr_rowref {
    uint32_t src, row;
} cr_rowref;

/* A run of rows. In columns (recs NULL): of srcs[0], the rows refs[k].row, or without refs `from`
 * and those behind it. In records: row refs[k].row of srcs[refs[k].src]. */
typedef struct cr_row_run {
    const cr_batch *const *srcs;
    const char *const *recs;
    int n_srcs;
    const cr_rowref *refs;
    int64_t from, n;
} cr_row_run;

/* The rows that are gathered, and the places of values in a record. */
typedef struct cr_gather_plan {
    const cr_batch *shape; /* tells the numbers of features, labels ... */
    const cr_row_run *runs;
    int n_runs;
    int64_t n_rows;
    size_t dense_at, floats_at, stride;
} cr_gather_plan;

/* CR_EACH_ROW walks all rows of the plan p: b is the batch a row is in, i its index there, s that
 * of the source, run the run. */
#define CR_EACH_ROW(...)                                                                           \
    for (int r_ = 0; r_ < p->n_runs; r_++) {                                                       \
        const cr_row_run *run = &p->runs[r_];                                                      \
        for (int64_t k_ = 0; k_ < run->n; k_++) {                                                  \
            uint32_t s = run->recs ? run->refs[k_].src : 0;                                        \
            const cr_batch *b = run->srcs[s];                                                      \
            int64_t i = run->refs ? run->refs[k_].row : run->from + k_;                            \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* Memory that is kept from one use to the next and grows with some slack. */
typedef struct cr_region {
    char *mem;
    size_t cap, used;
    int64_t *counts; /* ids per sparse feature, steps of sequences, what reserved columns hold */
    int n_counts;
} cr_region;
void cr_region_clear(cr_region *g);
/* cr_region_size returns how much of a region n bytes take. cr_region_take takes them, once the
 * region has room for the sum of all. */
static inline size_t cr_region_size(size_t n) {
    return (n + CR_ALIGN - 1) & ~(size_t)(CR_ALIGN - 1);
}
static inline void *cr_region_take(cr_region *g, size_t n) {
    void *p = g->mem + g->used;
    g->used += cr_region_size(n);
    CR_ASSERT(g->used <= g->cap);
    return p;
}
/* cr_gather_too_many reports more than 2^31 of something in one batch. */
cr_code cr_gather_too_many(cr_err *err, const char *what, int64_t n);

/* How the rows of reserved column c are gathered where the column is carried as it is stored. */
struct cr_stored_type {
    /* how many numbers measure fills for a column like `shape` */
    int (*n_counts)(const cr_stored *shape);
    /* measure counts what the rows hold and adds the memory that gather takes to *size. */
    CR_CHECKED cr_code (*measure)(const cr_gather_plan *p, int c, int64_t *counts, size_t *size,
                                  cr_err *err);
    const cr_stored *(*gather)(cr_region *mem, const cr_gather_plan *p, int c,
                               const int64_t *counts);
    /* pack appends a gathered column to out; unpack makes it again, for a column like `shape`
     * (pack.h). */
    void (*pack)(const cr_stored *c, cr_buf *out);
    const cr_stored *(*unpack)(const cr_stored *shape, const char **at, cr_arena *arena);
};

#endif
