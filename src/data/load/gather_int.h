/*
 * gather_int.h - functions that gather.c (ids, floats), gather_seq.c (sequences) and gather_cols.c
 * (reserved columns) share.
 */
#ifndef CR_DATA_LOAD_GATHER_INT_H
#define CR_DATA_LOAD_GATHER_INT_H

#include "data/load/gather.h"

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

#endif
