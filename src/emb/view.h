/*
 * view.h - a view says where the rows of one feature's ids lie in one batch. Lookups read views and
 * know nothing of tables.
 *
 * A table in this process's memory is its own view: its records, and the ids of the batch as they
 * are (cr_table_view). For other tables the distinct rows of the batch are staged (views.h): the
 * view is a buffer of them, and numbers into it take the place of the ids.
 */
#ifndef CR_EMB_VIEW_H
#define CR_EMB_VIEW_H

#include "base/mem.h"

typedef struct cr_view {
    const float *base;  /* record number 0 */
    int64_t stride;     /* floats from one record to the next */
    const int64_t *ids; /* numbers of records, in the order of the feature's ids */
    int64_t D;
    int half; /* weights in 16 bits: CR_HALF_… of kern.h; 0: 32 bits */
} cr_view;

static inline const float *cr_view_row(const cr_view *v, int64_t i) {
    return v->base + v->ids[i] * v->stride;
}
/* cr_view_fetch prefetches the weights of id number i, which are needed soon. */
CR_FETCH cr_view_fetch(const cr_view *v, int64_t i) {
    cr_fetch(cr_view_row(v, i), v->half ? 2 * v->D : 4 * v->D, false);
}
/* cr_view_rows writes the weights of the ids i .. i + n - 1, multiplied by w[0 .. n) unless w is
 * NULL, to y, with rows ld apart. It also prefetches the `more` ids behind them, which the next
 * call looks up. cr_view_pool writes the sum of the same rows into one row. */
void cr_view_rows(const cr_view *v, int64_t i, const float *w, int64_t n, int64_t more, float *y,
                  int64_t ld);
void cr_view_pool(const cr_view *v, int64_t i, const float *w, int64_t n, float *y);

#endif
