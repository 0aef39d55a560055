/*
 * stored.h - a column that is carried as a Parquet file stores it. For those who read and write
 * Parquet; the rest of the data side moves it without looking inside.
 *
 * Its kind (cr_colkind.stored) is a cr_pq_meta, a schema of the column alone.
 */
#ifndef CR_DATA_PQ_STORED_H
#define CR_DATA_PQ_STORED_H

#include "data/batch.h"
#include "parquet/parquet.h"

typedef struct cr_pq_stored {
    cr_stored base;
    const cr_pq_vec *v; /* a vector per leaf; those of lists have row_level and row_slot */
    int n;
} cr_pq_stored;

typedef struct cr_stored_type cr_stored_type;
extern const cr_stored_type cr_pq_stored_type;

/* cr_pq_stored_of: the vectors of a column whose kind has `stored` */
static inline const cr_pq_stored *cr_pq_stored_of(const cr_column *c) {
    CR_ASSERT(c->stored && c->stored->type == &cr_pq_stored_type);
    return (const cr_pq_stored *)c->stored;
}

#endif
