/*
 * parquet_int.h - what the files of the Parquet library share.
 *
 *   thrift.c      the compact protocol: a checked reader, a writer
 *   meta_read.c   the footer into structs
 *   meta_page.c   page headers, page indexes, statistics into structs
 *   meta_write.c  the way back
 *   schema.c      levels, leaves, names of the schema tree
 *   file.c        opening, the footer, reading at a place
 *   codec.c       the codecs, both ways
 *   rle.c         RLE and bit-packed hybrids: levels, dictionary indexes, booleans
 *   delta.c       the three DELTA encodings
 *   plain.c       PLAIN and BYTE_STREAM_SPLIT
 *   levels.c      levels to lists and validity
 *   page.c        one page: header, checksum, decompression, where levels and values lie
 *   cursor.c      pages of a chunk into vectors of rows
 *   encode.c      values into bytes: runs, bits, differences
 *   dict.c        the dictionary of a chunk that is written
 *   stats.c       smallest and greatest values
 *   shred.c       lists and validity to levels
 *   column.c      values to pages, pages to a chunk
 *   writer.c      row groups, page indexes, footer
 *   text.c        types and rows as text
 */
#ifndef CR_PARQUET_PARQUET_INT_H
#define CR_PARQUET_PARQUET_INT_H

#include "base/buf.h"
#include "base/cpu.h"
#include "parquet/parquet.h"

/* Every buffer from which values are decoded has so many readable bytes after its end, so that
 * kernels may load whole words. */
#define CR_PQ_PAD 64

/* ---- thrift.c: the compact protocol ---- */

/* A reader of Thrift bytes. The first mistake is kept in `bad` (a cause without a place), and every
 * later read gives 0. */
typedef struct cr_tin {
    const uint8_t *beg, *p, *end;
    int depth;
    const char *bad;
    size_t bad_at; /* place of the mistake, from beg */
    bool cut;      /* the input ended too early: more bytes could help */
} cr_tin;
enum {
    CR_T_STOP = 0,
    CR_T_TRUE = 1,
    CR_T_FALSE = 2,
    CR_T_I8 = 3,
    CR_T_I16 = 4,
    CR_T_I32 = 5,
    CR_T_I64 = 6,
    CR_T_DOUBLE = 7,
    CR_T_BYTES = 8,
    CR_T_LIST = 9,
    CR_T_SET = 10,
    CR_T_MAP = 11,
    CR_T_STRUCT = 12,
    CR_T_UUID = 13
};
void cr_tin_init(cr_tin *t, const uint8_t *p, size_t n);
/* cr_tin_field reads the next field header of a struct. *id is the id of the previous field (0 at
 * the start) and becomes the id of this one. It returns the field's type, CR_T_STOP at the end or
 * after an error. */
int cr_tin_field(cr_tin *t, int *id);
int64_t cr_tin_int(cr_tin *t); /* reads a zigzag varint: i16, i32, i64 */
int cr_tin_i8(cr_tin *t);      /* also a bool in a list: 1 is true */
const uint8_t *cr_tin_bytes(cr_tin *t, size_t *n);
/* cr_tin_list returns the number of elements, at most the number of bytes left; *type becomes the
 * type of the elements. */
size_t cr_tin_list(cr_tin *t, int *type);
void cr_tin_skip(cr_tin *t, int type);
/* These begin and end a nested struct; the depth is bounded. */
bool cr_tin_enter(cr_tin *t);
void cr_tin_leave(cr_tin *t);

/* These read a field of a struct. When it does not have the expected type, they skip it and return
 * false. */
bool cr_tin_get_i64(cr_tin *t, int type, int64_t *out);
bool cr_tin_get_i32(cr_tin *t, int type, int *out); /* -1 when it does not fit */
bool cr_tin_get_bool(cr_tin *t, int type, bool *out);
bool cr_tin_get_bytes(cr_tin *t, int type, const uint8_t **p, size_t *n);
/* cr_tin_get_list returns the number of elements of a list of type `want`; -1: the field was
 * skipped. */
int64_t cr_tin_get_list(cr_tin *t, int type, int want);

/* Writing: a struct is its fields and then a stop; `last` is the id of the previous field. */
void cr_tout_field(cr_buf *b, int *last, int id, int type);
void cr_tout_varint(cr_buf *b, uint64_t x);
void cr_tout_int(cr_buf *b, int64_t x); /* zigzag */
void cr_tout_i32(cr_buf *b, int *last, int id, int32_t x);
void cr_tout_i64(cr_buf *b, int *last, int id, int64_t x);
void cr_tout_bool(cr_buf *b, int *last, int id, bool x);
/* With last NULL, these write an element of a list, without a field header. */
void cr_tout_bytes(cr_buf *b, int *last, int id, const void *p, size_t n);
void cr_tout_list(cr_buf *b, int *last, int id, int type, size_t n);
void cr_tout_stop(cr_buf *b);

/* ---- schema.c ---- */

/* cr_pq_schema_fill is cr_pq_schema_finish with a budget of memory, from which it subtracts what it
 * takes. */
CR_CHECKED cr_code cr_pq_schema_fill(cr_pq_meta *m, cr_arena *arena, size_t *budget, cr_err *err);

/* ---- meta_read.c, meta_page.c, meta_write.c ---- */

typedef enum cr_pq_page_type {
    CR_PQ_DATA1 = 0,
    CR_PQ_INDEX = 1,
    CR_PQ_DICT = 2,
    CR_PQ_DATA2 = 3
} cr_pq_page_type;
typedef struct cr_pq_page_head {
    int type;
    int32_t raw_size, size; /* bytes before compression and in the file, without this header */
    bool has_crc;
    uint32_t crc;
    int32_t n_values;
    int encoding;
    int def_encoding, rep_encoding; /* for a data page v1 */
    /* for a data page v2 */
    int32_t n_nulls, n_rows;
    int32_t def_size, rep_size;
    bool compressed;
    cr_pq_stats stats;
} cr_pq_page_head;

/* cr_pq_parse_footer: p is the footer, which must outlive the metadata. Everything is checked
 * against file_size and budget: counts, offsets, sizes, types. err gets a cause without the file's
 * name. */
CR_CHECKED cr_code cr_pq_parse_footer(const uint8_t *p, size_t n, int64_t file_size, size_t budget,
                                      cr_arena *arena, cr_pq_meta *out, cr_err *err);
/* cr_pq_parse_page_head: *used is 0 when p ends before the header does. Sizes are checked to be >=
 * 0. */
CR_CHECKED cr_code cr_pq_parse_page_head(const uint8_t *p, size_t n, cr_pq_page_head *out,
                                         size_t *used, cr_err *err);
/* Page indexes. p must outlive out. The first function fills out->pages (all within the chunk, in
 * order, rows from 0 within n_rows); the second adds statistics where they fit. */
CR_CHECKED cr_code cr_pq_parse_offset_index(const uint8_t *p, size_t n, const cr_pq_chunk *chunk,
                                            int64_t n_rows, size_t budget, cr_arena *arena,
                                            cr_pq_index *out, cr_err *err);
CR_CHECKED cr_code cr_pq_parse_column_index(const uint8_t *p, size_t n, const cr_pq_node *node,
                                            cr_pq_index *out, cr_err *err);
void cr_pq_put_footer(cr_buf *out, const cr_pq_meta *m);
/* cr_pq_seal adds the digest of the bytes written since start; last is the id of the field before
 * it. cr_pq_seal_fits returns false when a footer has a wrong digest, true when it has none. */
void cr_pq_seal(cr_buf *out, size_t start, int last);
bool cr_pq_seal_fits(const uint8_t *p, size_t n);
void cr_pq_put_page_head(cr_buf *out, const cr_pq_page_head *h);
void cr_pq_put_index(cr_buf *offsets, cr_buf *columns, const cr_pq_index *index,
                     const cr_pq_node *n);

/* ---- file.c ---- */

struct cr_pq_file {
    const char *path;
    cr_fs *fs;
    int64_t size;
    cr_pq_opts opts; /* with the default budget filled in */
    cr_pq_meta meta;
    uint8_t *footer;
    cr_arena arena;
};
/* cr_pq_pread reads exactly n bytes at `at`, or fails naming the file. */
CR_CHECKED cr_code cr_pq_pread(const cr_pq_file *f, int64_t at, void *buf, size_t n, cr_err *err);
/* cr_pq_wrong reports "FILE: column 'price', row group 2, byte 88123: cause"; with at -1, no byte.
 * err->why gets the cause, and the message its usual cure. */
#define cr_pq_fail(err, f, group, leaf, at, ...)                                                   \
    cr_pq_wrong((err), (f), (group), (leaf), (at), CR_PQ_DAMAGED, __VA_ARGS__)
cr_code cr_pq_wrong(cr_err *err, const cr_pq_file *f, int group, int leaf, int64_t at, int why,
                    const char *fmt, ...) CR_PRINTF(7, 8);

/* ---- text.c ---- */

double cr_pq_half(const uint8_t *p); /* reads the two bytes of a float16 */

/* ---- codec.c: err gets a cause without a place ---- */

/* cr_pq_compress appends to out. */
CR_CHECKED cr_code cr_pq_compress(cr_pq_codec codec, int level, const void *in, size_t n,
                                  cr_buf *out, cr_err *err);
bool cr_pq_codec_reads(cr_pq_codec codec);
bool cr_pq_codec_writes(cr_pq_codec codec);

#endif
