/*
 * body.h - a record batch that is being written: its nodes, the list of its buffers, and the body.
 */
#ifndef CR_DATA_ARROW_BODY_H
#define CR_DATA_ARROW_BODY_H

#include "base/buf.h"
#include "data/arrow/ipc_int.h"
#include "data/batch.h"
#include "parquet/parquet.h"

typedef struct cr_arrow_body {
    cr_buf nodes, buffers; /* pairs of 64-bit numbers, as the message has them */
    cr_buf data;           /* the body */
    cr_buf packed;         /* one buffer, compressed */
    cr_arena scratch;      /* of one column */
    cr_arrow_codec codec;
} cr_arrow_body;

/* cr_arrow_body_buffer appends a buffer, compressed where that makes it smaller. */
void cr_arrow_body_buffer(cr_arrow_body *b, const void *p, size_t n);
/* cr_arrow_body_node appends a node of n values and its validity: a byte each, NULL when none is
 * null. */
void cr_arrow_body_node(cr_arrow_body *b, const uint8_t *valid, int64_t n);
/* cr_arrow_body_text appends the offsets and the bytes of n texts; those that valid (NULL: none)
 * marks as null are empty. It fails when they are larger than 2 GiB. */
CR_CHECKED cr_code cr_arrow_body_text(cr_arrow_body *b, const char *bytes, const uint32_t *beg,
                                      const uint32_t *end, const uint32_t *code,
                                      const uint8_t *valid, int64_t n, cr_err *err);

/* encode_pq.c: a column that is carried as a Parquet file stores it. */
/* cr_arrow_pq_fields adds the fields of node 1 of m to s, which has room for as many as m has
 * nodes. */
void cr_arrow_pq_fields(cr_arrow_schema *s, const cr_pq_meta *m, const char *name);
CR_CHECKED cr_code cr_arrow_pq_column(cr_arrow_body *b, const cr_pq_meta *m,
                                      const cr_pq_vec *leaves, int64_t n_rows, cr_err *err);

#endif
