/*
 * vec.h - Arrow data as the reader of columns wants it: a schema in the terms of Parquet, and rows
 * of a field as a vector of stored values. What finds, checks and converts columns is then the same
 * for both formats (data/pq/pq_int.h).
 */
#ifndef CR_DATA_ARROW_VEC_H
#define CR_DATA_ARROW_VEC_H

#include "data/arrow/ipc.h"
#include "parquet/parquet.h"

typedef struct cr_arrow_shape {
    cr_pq_meta meta; /* nodes and leaves; it has no row groups */
    int *field;      /* per node: its field; -1: a node that only Parquet has */
} cr_arrow_shape;
/* cr_arrow_shape_of: what it makes lives in the arena and borrows the names of the schema. */
CR_CHECKED cr_code cr_arrow_shape_of(const cr_arrow_schema *s, cr_arena *arena, cr_arrow_shape *out,
                                     cr_err *err);
/* cr_arrow_unreadable looks for a field at or below `field` whose values crank cannot read; -1: all
 * can be. */
int cr_arrow_unreadable(const cr_arrow_schema *s, int field);
/* cr_arrow_want marks the fields that a leaf needs: itself and those around it. */
void cr_arrow_want(const cr_arrow_schema *s, int field, bool *wanted);

/* cr_arrow_vec makes rows [from, from + n) of the field of a leaf. The vector points into the batch
 * where nothing has to be changed, else into the arena. entries: those of the field's dictionary,
 * from cr_arrow_entries; NULL: it has none. */
CR_CHECKED cr_code cr_arrow_vec(const cr_arrow_file *f, const cr_arrow_shape *shape, int leaf,
                                const cr_arrow_batch *b, int64_t from, int64_t n,
                                const cr_pq_vec *entries, cr_arena *arena, cr_pq_vec *out,
                                cr_err *err);
/* cr_arrow_entries makes the entries of the dictionary that a batch sees. */
CR_CHECKED cr_code cr_arrow_entries(const cr_arrow_file *f, const cr_arrow_shape *shape, int leaf,
                                    cr_arrow_dict d, cr_arena *arena, cr_pq_vec *out, cr_err *err);
/* cr_arrow_join puts vectors of one leaf one after the other. */
CR_CHECKED cr_code cr_arrow_join(const cr_pq_vec *v, int n, cr_arena *arena, cr_pq_vec *out,
                                 cr_err *err);

#endif
