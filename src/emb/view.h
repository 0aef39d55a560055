/*
 * view.h - where the rows of one feature's ids lie in one batch. Lookups take views and know no
 * tables.
 *
 * A table in this process's memory is its own view: its records, and the ids of the batch as they
 * are (cr_table_view). For other tables the distinct rows of the batch are staged (views.h): the
 * view is a buffer of them, and numbers into it take the place of the ids.
 */
#ifndef CR_EMB_VIEW_H
#define CR_EMB_VIEW_H

#include "base/mem.h"

typedef struct cr_view {
    const float *base;  /* the record that number 0 names */
    int64_t stride;     /* floats from one record to the next */
    const int64_t *ids; /* in the place of the feature's ids: numbers of records */
    int64_t D;
    int half; /* weights in 16 bits: CR_HALF_… of kern.h; 0: 32 */
} cr_view;

static inline const float *cr_view_row(const cr_view *v, int64_t i) {
    return v->base + v->ids[i] * v->stride;
}
/* cr_view_fetch asks the memory for the weights of id number i, which are needed soon */
CR_FETCH cr_view_fetch(const cr_view *v, int64_t i) {
    cr_fetch(cr_view_row(v, i), v->half ? 2 * v->D : 4 * v->D, false);
}
/* cr_view_rows: the weights of ids number i .. i + n - 1, [times w[0 .. n)], to y, rows ld apart.
 * `more` ids behind them, which the next call looks up, are fetched. cr_view_pool: their sum, into
 * one row. w may be NULL. */
void cr_view_rows(const cr_view *v, int64_t i, const float *w, int64_t n, int64_t more, float *y,
                  int64_t ld);
void cr_view_pool(const cr_view *v, int64_t i, const float *w, int64_t n, float *y);

#endif
