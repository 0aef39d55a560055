/*
 * encode_int.h - the writing half of the Parquet library: encodings, dictionaries, statistics,
 * levels.
 */
#ifndef CR_PARQUET_ENCODE_INT_H
#define CR_PARQUET_ENCODE_INT_H

#include "parquet/parquet_int.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Parquet stores little-endian values; this code copies them as they are"
#endif

/* ---- encode.c: values into bytes, appended ---- */

/* the RLE / bit-packed hybrid, without a length in front; width 1..8, 1..32 */
void cr_pq_put_rle8(cr_buf *b, const uint8_t *v, size_t n, int width);
void cr_pq_put_rle32(cr_buf *b, const uint32_t *v, size_t n, int width);
void cr_pq_put_bools(cr_buf *b, const uint8_t *v, size_t n); /* PLAIN: a bit each */
/* DELTA_BINARY_PACKED; wide: int64, else int32 */
void cr_pq_put_delta(cr_buf *b, const void *v, size_t n, bool wide);
/* DELTA_LENGTH_BYTE_ARRAY of n strings that lie as PLAIN */
void cr_pq_put_delta_length(cr_buf *b, const uint8_t *plain, size_t n);

/* ---- dict.c: the dictionary of a chunk ---- */

#define CR_PQ_NO_CODE UINT32_MAX
typedef struct cr_pq_wdict {
    cr_buf plain; /* the entries */
    uint32_t n;
    size_t width;   /* of a value; 0: CR_PQ_BYTES */
    size_t limit;   /* of plain.n */
    uint32_t *at;   /* CR_PQ_BYTES: where an entry's length lies in plain */
    uint32_t *slot; /* code + 1; 0: empty */
    int bits;       /* log2 of the number of slots */
    uint32_t mark_n;
    size_t mark_bytes;
} cr_pq_wdict;
void cr_pq_wdict_init(cr_pq_wdict *d, size_t width, size_t limit);
void cr_pq_wdict_clear(cr_pq_wdict *d);
void cr_pq_wdict_reset(cr_pq_wdict *d);
/* mark: a page begins; back: drop what came since, after which nothing may be looked up */
void cr_pq_wdict_mark(cr_pq_wdict *d);
void cr_pq_wdict_back(cr_pq_wdict *d);
/* Codes of values, new ones added. fixed returns how many it did: fewer when the limit was reached;
 * bytes returns CR_PQ_NO_CODE then. */
size_t cr_pq_wdict_fixed(cr_pq_wdict *d, const void *v, size_t n, uint32_t *codes);
uint32_t cr_pq_wdict_bytes(cr_pq_wdict *d, const void *p, size_t n);
/* appends the values of codes as PLAIN */
void cr_pq_wdict_expand(const cr_pq_wdict *d, const uint32_t *codes, size_t n, cr_buf *out);

/* ---- stats.c: the range of values ---- */

typedef enum cr_pq_order {
    CR_PQ_ORDER_NONE, /* the format defines none: no min and max */
    CR_PQ_ORDER_SIGNED,
    CR_PQ_ORDER_UNSIGNED,
    CR_PQ_ORDER_FLOAT,
    CR_PQ_ORDER_HALF,
    CR_PQ_ORDER_BYTES,
    CR_PQ_ORDER_DECIMAL /* two's complement, the highest byte first */
} cr_pq_order;
cr_pq_order cr_pq_order_of(const cr_pq_node *n);
/* of values as stored; < 0, 0, > 0 */
int cr_pq_compare(cr_pq_order order, const uint8_t *a, int na, const uint8_t *b, int nb);

#define CR_PQ_PREFIX 64
typedef struct cr_pq_bound {
    uint8_t v[CR_PQ_PREFIX];
    int n;
    bool more; /* lo: all values of this prefix are longer; hi: one is */
    uint64_t first8;
} cr_pq_bound;
typedef struct cr_pq_range { /* zeros: nothing yet */
    bool any, off;           /* off: a value that has no place in a range */
    cr_pq_bound lo, hi;
} cr_pq_range;
/* n values as PLAIN (booleans a byte each); seen: a byte per value, 0: leave it out; NULL: all */
void cr_pq_range_add(cr_pq_range *r, const cr_pq_node *node, const uint8_t *p, size_t n,
                     const uint8_t *seen);
void cr_pq_range_merge(cr_pq_range *r, const cr_pq_range *from, const cr_pq_node *node);
/* fills in min and max where there are any; their memory from arena */
void cr_pq_range_stats(const cr_pq_range *r, const cr_pq_node *node, cr_arena *arena,
                       cr_pq_stats *out);

/* ---- shred.c: lists and validity into levels ---- */

/* what a null or an empty list is written as */
typedef struct cr_pq_shape_levels {
    int max_def, max_rep;
    int item[CR_PQ_MAX_DEPTH]; /* definition level of an item of list k; one less: it is empty */
    int null[CR_PQ_MAX_DEPTH]; /* of a null list; -1: it may not be null */
    int null_value;            /* of a null slot; -1: it may not be */
    int slot;                  /* from this level on there is a slot */
} cr_pq_shape_levels;
void cr_pq_shape_levels_of(const cr_pq_meta *m, int node, cr_pq_shape_levels *out);

/* A walk through the rows of a vector, front to back. */
typedef struct cr_pq_walk {
    const cr_pq_vec *v;
    int64_t row, level; /* level: of v->def, v->rep, where they are given */
} cr_pq_walk;
/* the slots of rows [from, to) */
void cr_pq_slots(const cr_pq_vec *v, int64_t from, int64_t to, int64_t *first, int64_t *n);
/* cr_pq_shred appends the levels of the next n rows; def and rep stay untouched where the levels
 * are all 0. Returns NULL or what is wrong with the vector. */
const char *cr_pq_shred(cr_pq_walk *w, const cr_pq_shape_levels *s, int64_t n, cr_buf *def,
                        cr_buf *rep, int64_t *n_levels);
/* cr_pq_vec_check: can the vector be walked? NULL or what is wrong. */
const char *cr_pq_vec_check(const cr_pq_vec *v, const cr_pq_node *leaf);

/* ---- column.c: what writer.c does per column ---- */

/* a column of the row group that is written */
typedef struct cr_pq_col {
    const cr_pq_node *node;
    cr_pq_shape_levels shape;
    size_t width; /* of a value; 0: CR_PQ_BYTES */
    cr_pq_walk walk;
    size_t slice; /* bytes of the slice that is written, about */
    bool can_dict;

    /* the page */
    cr_buf def, rep;
    bool coded;   /* codes hold its values, else plain does */
    cr_buf plain; /* as PLAIN; booleans a byte each */
    uint32_t *codes;
    size_t n_codes, cap_codes;
    int64_t n_levels, n_values, n_rows;
    size_t plain_size; /* of the values as PLAIN */

    /* the chunk */
    cr_pq_wdict dict;
    cr_buf pages; /* headers and bodies, as in the file */
    cr_pq_page_info *info;
    int n_pages, cap_pages;
    int64_t rows, levels, nulls;
    int64_t raw_size;
    uint32_t encodings;
    cr_pq_range range;
    bool no_index; /* a page without a range: the column index is left out */
} cr_pq_col;

struct cr_pq_writer {
    char *path;
    struct cr_outfile *f;
    int64_t pos;
    cr_pq_write_opts opts;
    cr_pq_meta meta;
    int cap_groups;
    cr_pq_col *cols;
    int64_t rows;      /* of the row group */
    size_t size;       /* its bytes before compression, about */
    cr_arena arena;    /* schema, row groups */
    cr_arena page_mem; /* bounds of the row group's pages */
    cr_buf raw, packed, head;
    uint8_t *seen;
    size_t cap_seen;
    uint32_t *names; /* see new_names */
    size_t cap_names;
    cr_buf offset_index, column_index; /* of all row groups: they follow the last */
    bool failed;
};

void cr_pq_col_init(cr_pq_writer *w, cr_pq_col *c, int node);
void cr_pq_col_clear(cr_pq_col *c);
void cr_pq_col_begin(cr_pq_writer *w, cr_pq_col *c); /* a chunk */
/* bytes of rows [from, from + n) before compression, about */
size_t cr_pq_col_size(const cr_pq_col *c, const cr_pq_vec *v, int64_t from, int64_t n);
/* the next n rows of c->walk; size: theirs */
CR_CHECKED cr_code cr_pq_col_add(cr_pq_writer *w, cr_pq_col *c, int64_t n, size_t size,
                                 cr_err *err);
/* what was collected becomes a page, unless it is nothing */
CR_CHECKED cr_code cr_pq_col_end_page(cr_pq_writer *w, cr_pq_col *c, cr_err *err);
/* cr_pq_col_put_page compresses w->raw and appends head and body to out; plain: so many bytes in
 * front are not compressed */
CR_CHECKED cr_code cr_pq_col_put_page(cr_pq_writer *w, const cr_pq_col *c, cr_pq_page_head *h,
                                      size_t plain, cr_buf *out, cr_err *err);
cr_code cr_pq_col_fail(cr_pq_writer *w, const cr_pq_col *c, cr_err *err, const char *why);

#endif
