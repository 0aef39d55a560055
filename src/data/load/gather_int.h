/*
 * gather_int.h - what gather.c (ids, floats), gather_seq.c (sequences), gather_cols.c (reserved
 * columns) and gather_stored.c (those carried as they are stored) share.
 */
#ifndef CR_DATA_LOAD_GATHER_INT_H
#define CR_DATA_LOAD_GATHER_INT_H

#include "data/load/gather.h"

/* what is gathered, and where things lie in a record */
typedef struct cr_gather_plan {
    const cr_batch *shape;
    const cr_row_run *runs;
    int n_runs;
    int64_t n_rows;
    size_t dense_at, floats_at, stride;
} cr_gather_plan;

/* ROWS walks all rows of the plan p: b is the batch a row is in, i its index there, s that of the
 * source, run the run. */
#define ROWS(...)                                                                                  \
    for (int r_ = 0; r_ < p->n_runs; r_++) {                                                       \
        const cr_row_run *run = &p->runs[r_];                                                      \
        for (int64_t k_ = 0; k_ < run->n; k_++) {                                                  \
            uint32_t s = run->recs ? run->refs[k_].src : 0;                                        \
            const cr_batch *b = run->srcs[s];                                                      \
            int64_t i = run->refs ? run->refs[k_].row : run->from + k_;                            \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static inline size_t cr_region_size(size_t n) {
    return (n + CR_ALIGN - 1) & ~(size_t)(CR_ALIGN - 1);
}
static inline void *cr_region_take(cr_region *g, size_t n) {
    void *p = g->mem + g->used;
    g->used += cr_region_size(n);
    CR_ASSERT(g->used <= g->cap);
    return p;
}
cr_code cr_gather_too_many(cr_err *err, const char *what, int64_t n);

/* A sequence of ids: how much it holds, then steps (n_rows + 1), off (a place per step and one;
 * NULL: no source has offsets), ids, w (NULL: no weights). True: every step has exactly one id. */
void cr_gather_seq_count(const cr_gather_plan *p, int f, int64_t *n_steps, int64_t *n_ids);
bool cr_gather_seq(const cr_gather_plan *p, int f, int32_t *steps, int32_t *off, int64_t *ids,
                   float *w);
/* a sequence of numbers */
int64_t cr_gather_dense_seq_count(const cr_gather_plan *p, int f);
void cr_gather_dense_seq(const cr_gather_plan *p, int f, int32_t *steps, float *v);

/* A reserved column has some counts: how many inner lists, values, bytes of text it holds. measure
 * fills them and adds the column's memory to *size; column then takes it. */
int cr_gather_counts(const cr_column *shape);
CR_CHECKED cr_code cr_gather_measure(const cr_gather_plan *p, int c, int64_t *counts, size_t *size,
                                     cr_err *err);
void cr_gather_column(cr_column *out, cr_region *mem, const cr_gather_plan *p, int c,
                      const int64_t *counts);
/* the same of a column that has `stored` */
int cr_gather_stored_counts(const cr_column *shape);
CR_CHECKED cr_code cr_gather_stored_measure(const cr_gather_plan *p, int c, int64_t *counts,
                                            size_t *size, cr_err *err);
void cr_gather_stored(cr_column *out, cr_region *mem, const cr_gather_plan *p, int c,
                      const int64_t *counts);

#endif
