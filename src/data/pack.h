/*
 * pack.h - rows of columns as one run of bytes, for another process of the same program. Arrays
 * begin at multiples of 8 bytes, so a reader uses them where they lie.
 */
#ifndef CR_DATA_PACK_H
#define CR_DATA_PACK_H

#include "base/buf.h"
#include "data/batch.h"

/* cr_pack_columns appends n columns of n_rows rows to out, which holds a multiple of 8 bytes. */
void cr_pack_columns(cr_buf *out, const cr_column *cols, int n, int64_t n_rows);
/* cr_unpack_columns makes columns of such bytes, at a multiple of 8 in memory; they point into
 * them. shape has n columns of the same kinds. Returns where the bytes behind them begin. */
const char *cr_unpack_columns(const char *data, const cr_column *shape, int n, int64_t n_rows,
                              cr_column *cols, cr_arena *arena);

/* For those who pack more: bytes, filled up to a multiple of 8; and the way back. */
void cr_pack_bytes(cr_buf *out, const void *p, size_t n);
const void *cr_unpack_bytes(const char **at, size_t n);
/* whether there is an array, then the array */
void cr_pack_maybe(cr_buf *out, const void *p, size_t n);
const void *cr_unpack_maybe(const char **at, size_t n);

#endif
