/*
 * sink.h - columns into a Parquet file: the way back of ParquetDataset.
 *
 * A column that comes as it was stored (cr_colkind.stored) is written so: the same schema, levels
 * and values. Others are numbers and text, lists and maps of them.
 */
#ifndef CR_DATA_PQ_SINK_H
#define CR_DATA_PQ_SINK_H

#include "data/reader.h"
#include "parquet/parquet.h"

typedef struct cr_sink_col {
    const char *name;
    cr_colkind kind; /* stored, or type, depth, key */
    bool required;   /* not stored: has no nulls at any depth */
    bool bytes;      /* CR_COL_I32: its numbers are those of a byte, 0 to 255 */
} cr_sink_col;

typedef struct cr_pq_sink cr_pq_sink;
/* cr_pq_sink_open: the file appears when cr_pq_sink_finish has succeeded. cols is read here only.
 */
CR_CHECKED cr_code cr_pq_sink_open(cr_pq_sink **out, const char *path, const cr_sink_col *cols,
                                   int n_cols, const cr_pq_write_opts *opts, cr_err *err);
/* cr_pq_sink_write appends rows; one column per cr_sink_col, of its kind. */
CR_CHECKED cr_code cr_pq_sink_write(cr_pq_sink *s, const cr_column *const *cols, int64_t n_rows,
                                    cr_err *err);
CR_CHECKED cr_code cr_pq_sink_finish(cr_pq_sink *s, cr_err *err);
void cr_pq_sink_free(cr_pq_sink *s); /* without finish: nothing is left */

#endif
