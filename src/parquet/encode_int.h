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

/* These write the RLE / bit-packed hybrid without a length in front; width is 1..8 and 1..32. */
void cr_pq_put_rle8(cr_buf *b, const uint8_t *v, size_t n, int width);
void cr_pq_put_rle32(cr_buf *b, const uint32_t *v, size_t n, int width);
void cr_pq_put_bools(cr_buf *b, const uint8_t *v, size_t n); /* PLAIN: one bit each */
/* cr_pq_put_delta writes DELTA_BINARY_PACKED; wide: int64, else int32. */
void cr_pq_put_delta(cr_buf *b, const void *v, size_t n, bool wide);
/* cr_pq_put_delta_length writes n strings, which are given as PLAIN, as DELTA_LENGTH_BYTE_ARRAY. */
void cr_pq_put_delta_length(cr_buf *b, const uint8_t *plain, size_t n);

/* ---- dict.c: the dictionary of a chunk ---- */

#define CR_PQ_NO_CODE UINT32_MAX
typedef struct cr_pq_wdict {
    cr_buf plain; /* the entries, as PLAIN */
    uint32_t n;
    size_t width;   /* bytes of a value; 0: CR_PQ_BYTES */
    size_t limit;   /* largest plain.n */
    uint32_t *at;   /* CR_PQ_BYTES: where the length of an entry is in plain */
    uint32_t *slot; /* code + 1; 0: empty */
    int bits;       /* log2 of the number of slots */
    uint32_t mark_n;
    size_t mark_bytes;
} cr_pq_wdict;
void cr_pq_wdict_init(cr_pq_wdict *d, size_t width, size_t limit);
void cr_pq_wdict_clear(cr_pq_wdict *d);
void cr_pq_wdict_reset(cr_pq_wdict *d);
/* cr_pq_wdict_mark says that a page begins; cr_pq_wdict_back drops the entries since then, after
 * which nothing may be looked up. */
void cr_pq_wdict_mark(cr_pq_wdict *d);
void cr_pq_wdict_back(cr_pq_wdict *d);
/* These look up the codes of values and add new ones. fixed returns how many values it coded: fewer
 * than n when the limit was reached; bytes then returns CR_PQ_NO_CODE. */
size_t cr_pq_wdict_fixed(cr_pq_wdict *d, const void *v, size_t n, uint32_t *codes);
uint32_t cr_pq_wdict_bytes(cr_pq_wdict *d, const void *p, size_t n);
/* cr_pq_wdict_expand appends the values of codes as PLAIN. */
void cr_pq_wdict_expand(const cr_pq_wdict *d, const uint32_t *codes, size_t n, cr_buf *out);

/* ---- stats.c: the range of values ---- */

typedef enum cr_pq_order {
    CR_PQ_ORDER_NONE, /* the format defines no order: no min and max */
    CR_PQ_ORDER_SIGNED,
    CR_PQ_ORDER_UNSIGNED,
    CR_PQ_ORDER_FLOAT,
    CR_PQ_ORDER_HALF,
    CR_PQ_ORDER_BYTES,
    CR_PQ_ORDER_DECIMAL /* two's complement, highest byte first */
} cr_pq_order;
cr_pq_order cr_pq_order_of(const cr_pq_node *n);
/* cr_pq_compare compares two stored values; the result is < 0, 0 or > 0. */
int cr_pq_compare(cr_pq_order order, const uint8_t *a, int na, const uint8_t *b, int nb);

#define CR_PQ_PREFIX 64
typedef struct cr_pq_bound {
    uint8_t v[CR_PQ_PREFIX];
    int n;
    bool more; /* lo: all values with this prefix are longer; hi: at least one is */
    uint64_t first8;
} cr_pq_bound;
typedef struct cr_pq_range { /* zeroed: no values yet */
    bool any, off;           /* off: a value was added that no range can hold */
    cr_pq_bound lo, hi;
} cr_pq_range;
/* cr_pq_range_add adds n values, given as PLAIN (booleans: a byte each). seen has a byte per value,
 * 0: leave it out; NULL: add all. */
void cr_pq_range_add(cr_pq_range *r, const cr_pq_node *node, const uint8_t *p, size_t n,
                     const uint8_t *seen);
void cr_pq_range_merge(cr_pq_range *r, const cr_pq_range *from, const cr_pq_node *node);
/* cr_pq_range_stats fills in min and max where there are any, with memory from arena. */
void cr_pq_range_stats(const cr_pq_range *r, const cr_pq_node *node, cr_arena *arena,
                       cr_pq_stats *out);

/* ---- shred.c: lists and validity into levels ---- */

/* The levels with which nulls and empty lists are written. */
typedef struct cr_pq_shape_levels {
    int max_def, max_rep;
    /* definition level of an item of list k; one less means an empty list */
    int item[CR_PQ_MAX_DEPTH];
    int null[CR_PQ_MAX_DEPTH]; /* definition level of a null list; -1: it may not be null */
    int null_value;            /* definition level of a null slot; -1: it may not be null */
    int slot;                  /* values with at least this level have a slot */
} cr_pq_shape_levels;
void cr_pq_shape_levels_of(const cr_pq_meta *m, int node, cr_pq_shape_levels *out);

/* A walk through the rows of a vector, from front to back. */
typedef struct cr_pq_walk {
    const cr_pq_vec *v;
    int64_t row, level; /* level: index in v->def and v->rep, where they are given */
} cr_pq_walk;
/* cr_pq_slots gives the first slot and the number of slots of rows [from, to). */
void cr_pq_slots(const cr_pq_vec *v, int64_t from, int64_t to, int64_t *first, int64_t *n);
/* cr_pq_shred appends the levels of the next n rows; it leaves def and rep untouched where all
 * levels are 0. It returns NULL, or what is wrong with the vector. */
const char *cr_pq_shred(cr_pq_walk *w, const cr_pq_shape_levels *s, int64_t n, cr_buf *def,
                        cr_buf *rep, int64_t *n_levels);
/* cr_pq_vec_check: can the vector be walked? It returns NULL, or what is wrong with it. */
const char *cr_pq_vec_check(const cr_pq_vec *v, const cr_pq_node *leaf);

/* ---- column.c: the work of writer.c for one column ---- */

/* A column of the row group that is being written. */
typedef struct cr_pq_col {
    const cr_pq_node *node;
    cr_pq_shape_levels shape;
    size_t width; /* bytes of a value; 0: CR_PQ_BYTES */
    cr_pq_walk walk;
    size_t slice; /* about how many bytes the current slice has */
    bool can_dict;

    /* the current page */
    cr_buf def, rep;
    bool coded;   /* its values are in codes, else in plain */
    cr_buf plain; /* values as PLAIN; booleans a byte each */
    uint32_t *codes;
    size_t n_codes, cap_codes;
    int64_t n_levels, n_values, n_rows;
    size_t plain_size; /* size of the values as PLAIN */

    /* the current chunk */
    cr_pq_wdict dict;
    cr_buf pages; /* page headers and bodies, as in the file */
    cr_pq_page_info *info;
    int n_pages, cap_pages;
    int64_t rows, levels, nulls;
    int64_t raw_size;
    uint32_t encodings;
    cr_pq_range range;
    bool no_index; /* a page has no range, so the column index is left out */
} cr_pq_col;

struct cr_pq_writer {
    char *path;
    struct cr_outfile *f;
    int64_t pos;
    cr_pq_write_opts opts;
    cr_pq_meta meta;
    int cap_groups;
    cr_pq_col *cols;
    int64_t rows;      /* rows of the row group so far */
    size_t size;       /* about how many bytes they have before compression */
    cr_arena arena;    /* memory of schema and row groups */
    cr_arena page_mem; /* memory of the bounds of the row group's pages */
    cr_buf raw, packed, head;
    uint8_t *seen;
    size_t cap_seen;
    uint32_t *names; /* see new_names */
    size_t cap_names;
    /* indexes of all row groups; they follow the last row group */
    cr_buf offset_index, column_index;
    bool failed;
};

void cr_pq_col_init(cr_pq_writer *w, cr_pq_col *c, int node);
void cr_pq_col_clear(cr_pq_col *c);
void cr_pq_col_begin(cr_pq_writer *w, cr_pq_col *c); /* begins a chunk */
/* cr_pq_col_size returns about how many bytes rows [from, from + n) have before compression. */
size_t cr_pq_col_size(const cr_pq_col *c, const cr_pq_vec *v, int64_t from, int64_t n);
/* cr_pq_col_add adds the next n rows of c->walk, which have `size` bytes. */
CR_CHECKED cr_code cr_pq_col_add(cr_pq_writer *w, cr_pq_col *c, int64_t n, size_t size,
                                 cr_err *err);
/* cr_pq_col_end_page makes a page of what was collected, unless there is nothing. */
CR_CHECKED cr_code cr_pq_col_end_page(cr_pq_writer *w, cr_pq_col *c, cr_err *err);
/* cr_pq_col_put_page compresses w->raw and appends head and body to out; the first `plain` bytes
 * are not compressed. */
CR_CHECKED cr_code cr_pq_col_put_page(cr_pq_writer *w, const cr_pq_col *c, cr_pq_page_head *h,
                                      size_t plain, cr_buf *out, cr_err *err);
cr_code cr_pq_col_fail(cr_pq_writer *w, const cr_pq_col *c, cr_err *err, const char *why);

#endif
