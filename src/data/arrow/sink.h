/*
 * sink.h - columns into Arrow data: a file, a stream in a file, or messages in memory. The way back
 * of ArrowDataset.
 *
 * A column that comes as a Parquet file stores it (cr_colkind.stored) keeps its types: dates,
 * times, decimals, structs. Others are numbers and text, lists and maps of them.
 */
#ifndef CR_DATA_ARROW_SINK_H
#define CR_DATA_ARROW_SINK_H

#include "base/buf.h"
#include "data/arrow/ipc.h"
#include "data/pq/sink.h"

/* Messages in memory. */
typedef struct cr_arrow_enc cr_arrow_enc;
/* cr_arrow_enc_new: cols is read here only. */
cr_arrow_enc *cr_arrow_enc_new(const cr_sink_col *cols, int n_cols, cr_arrow_codec codec);
void cr_arrow_enc_free(cr_arrow_enc *e); /* NULL is fine */
const cr_arrow_schema *cr_arrow_enc_schema(const cr_arrow_enc *e);
/* cr_arrow_enc_begin appends the Schema message to out, cr_arrow_enc_batch a RecordBatch of all
 * rows, cr_arrow_enc_end the end mark of a stream. A message begins at a multiple of 8 bytes of
 * out. */
void cr_arrow_enc_begin(cr_arrow_enc *e, cr_buf *out);
CR_CHECKED cr_code cr_arrow_enc_batch(cr_arrow_enc *e, const cr_column *const *cols, int64_t n_rows,
                                      cr_buf *out, cr_err *err);
void cr_arrow_enc_end(cr_buf *out);

/* A file: whole or absent. */
typedef struct cr_arrow_sink cr_arrow_sink;
typedef struct cr_arrow_sink_opts {
    cr_arrow_codec codec;
    bool stream; /* a stream instead of a file */
} cr_arrow_sink_opts;
CR_CHECKED cr_code cr_arrow_sink_open(cr_arrow_sink **out, const char *path,
                                      const cr_sink_col *cols, int n_cols,
                                      const cr_arrow_sink_opts *opts, cr_err *err);
CR_CHECKED cr_code cr_arrow_sink_write(cr_arrow_sink *s, const cr_column *const *cols,
                                       int64_t n_rows, cr_err *err);
CR_CHECKED cr_code cr_arrow_sink_finish(cr_arrow_sink *s, cr_err *err);
void cr_arrow_sink_free(cr_arrow_sink *s); /* without finish nothing is left */

#endif
