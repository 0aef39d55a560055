/*
 * parquet.h - reads and writes Parquet files.
 *
 * This is a library inside crank: it needs only base/ and the compression libraries.
 *
 *   open -> metadata (schema tree, row groups, statistics) -> cursor per column -> vectors of rows
 *   schema tree + vectors -> writer -> a whole file or none
 *
 * A file is read-only after opening and may be used by many threads; a cursor belongs to one.
 * Reader and writer use the same vectors, so vectors that were read can be written. Every size in a
 * file is checked before use, and a budget bounds the memory. Messages name file, column, row group
 * and byte.
 */
#ifndef CR_PARQUET_PARQUET_H
#define CR_PARQUET_PARQUET_H

#include "base/fs.h"
#include "base/mem.h"

struct cr_buf;

/* ---- metadata of a file; numbers as in the format's own definition ---- */

typedef enum cr_pq_type {
    CR_PQ_GROUP = -1, /* a node with children */
    CR_PQ_BOOL = 0,
    CR_PQ_I32 = 1,
    CR_PQ_I64 = 2,
    CR_PQ_I96 = 3,
    CR_PQ_F32 = 4,
    CR_PQ_F64 = 5,
    CR_PQ_BYTES = 6,
    CR_PQ_FIXED = 7
} cr_pq_type;

typedef enum cr_pq_rep { CR_PQ_REQUIRED = 0, CR_PQ_OPTIONAL = 1, CR_PQ_REPEATED = 2 } cr_pq_rep;

typedef enum cr_pq_encoding {
    CR_PQ_PLAIN = 0,
    CR_PQ_PLAIN_DICT = 2,
    CR_PQ_RLE = 3,
    CR_PQ_BIT_PACKED = 4,
    CR_PQ_DELTA_BINARY = 5,
    CR_PQ_DELTA_LENGTH = 6,
    CR_PQ_DELTA_BYTES = 7,
    CR_PQ_RLE_DICT = 8,
    CR_PQ_SPLIT = 9 /* BYTE_STREAM_SPLIT */
} cr_pq_encoding;

typedef enum cr_pq_codec {
    CR_PQ_RAW = 0,
    CR_PQ_SNAPPY = 1,
    CR_PQ_GZIP = 2,
    CR_PQ_LZO = 3, /* known by name only */
    CR_PQ_BROTLI = 4,
    CR_PQ_LZ4_HADOOP = 5, /* "LZ4" of the format; some writers put a frame or a raw block there */
    CR_PQ_ZSTD = 6,
    CR_PQ_LZ4 = 7 /* LZ4_RAW */
} cr_pq_codec;

/* Logical types; the older "converted" types become these. */
typedef enum cr_pq_kind {
    CR_PQ_PHYSICAL = 0, /* no logical type: the value as stored */
    CR_PQ_STRING,
    CR_PQ_ENUM,
    CR_PQ_JSON,
    CR_PQ_BSON,
    CR_PQ_UUID,
    CR_PQ_INT,     /* bits 8, 16, 32, 64; is_signed */
    CR_PQ_DECIMAL, /* precision, scale */
    CR_PQ_DATE,
    CR_PQ_TIME,      /* unit, is_utc */
    CR_PQ_TIMESTAMP, /* unit, is_utc */
    CR_PQ_INTERVAL,
    CR_PQ_FLOAT16,
    CR_PQ_NULL, /* always null */
    CR_PQ_LIST,
    CR_PQ_MAP,
    CR_PQ_OTHER /* a type that this library does not know: the value as stored */
} cr_pq_kind;
typedef enum cr_pq_unit { CR_PQ_MILLIS, CR_PQ_MICROS, CR_PQ_NANOS } cr_pq_unit;

typedef struct cr_pq_logical {
    cr_pq_kind kind;
    int bits;
    bool is_signed, is_utc;
    cr_pq_unit unit;
    int precision, scale;
    /* CR_PQ_OTHER: the type in the bytes of the file's footer; NULL: not kept. A writer writes them
     * again. */
    const uint8_t *other;
    int other_size;
} cr_pq_logical;
/* cr_pq_same_logical: do both mean the same type? */
bool cr_pq_same_logical(const cr_pq_logical *a, const cr_pq_logical *b);

/* One node of the schema. Nodes lie in one array in preorder, the root first. The children of node
 * i begin at i + 1, and each ends where its `next` says. For a writer the caller gives name, type,
 * type_length, rep, logical, n_children and field_id; cr_pq_schema_finish fills in the rest. */
typedef struct cr_pq_node {
    const char *name;
    cr_pq_type type;
    int type_length; /* bytes of a CR_PQ_FIXED value */
    cr_pq_rep rep;
    cr_pq_logical logical;
    int n_children;
    int field_id; /* -1: none */
    int parent;   /* -1: this is the root */
    int next;     /* the node after this subtree */
    int max_def, max_rep;
    int leaf;         /* column number; -1: a group */
    const char *path; /* dotted, without the root: "user.tags.list.element" */
} cr_pq_node;
/* cr_pq_node_copy copies a node, its name and everything else it points to, except for its path,
 * into arena. */
cr_pq_node cr_pq_node_copy(const cr_pq_node *n, cr_arena *arena);

/* min and max as stored (PLAIN, without length). NULL: the file does not have it. */
typedef struct cr_pq_stats {
    const uint8_t *min, *max;
    int min_size, max_size;
    bool min_exact, max_exact;
    int64_t n_null, n_distinct; /* -1: the file does not have it */
} cr_pq_stats;

typedef struct cr_pq_chunk { /* a column of a row group */
    cr_pq_codec codec;
    uint32_t encodings; /* one bit per cr_pq_encoding */
    int64_t n_values;   /* counts nulls and empty lists too */
    int64_t start;      /* place of the first page, dictionary or data */
    int64_t size;       /* bytes in the file, page headers included */
    int64_t raw_size;   /* bytes before compression */
    int64_t data_start; /* place of the first data page */
    cr_pq_stats stats;
    int64_t offset_index, column_index, bloom; /* places in the file; 0: none */
    int offset_index_size, column_index_size;
} cr_pq_chunk;

typedef struct cr_pq_group {
    int64_t first_row, n_rows;
    int64_t raw_size;
    cr_pq_chunk *chunks; /* one per leaf */
} cr_pq_group;

typedef struct cr_pq_pair {
    const char *key, *value; /* value may be NULL */
} cr_pq_pair;

typedef struct cr_pq_meta {
    int version;
    const char *created_by; /* NULL: the file does not tell */
    int64_t n_rows;
    int n_nodes;
    cr_pq_node *nodes;
    int n_leaves;
    int *leaves; /* the node of each leaf */
    int n_groups;
    cr_pq_group *groups;
    int n_pairs;
    cr_pq_pair *pairs;
    int64_t footer_size;
} cr_pq_meta;

const char *cr_pq_type_name(cr_pq_type t);
const char *cr_pq_codec_name(cr_pq_codec c);
const char *cr_pq_encoding_name(int e);
/* cr_pq_type_text writes a node's type as people say it: "int64", "string", "decimal(9, 2)",
 * "list<float>", "map<int64, float>", "struct<a: int32>" */
void cr_pq_type_text(const cr_pq_meta *m, int node, char *out, size_t size);

/* ---- reading ---- */

/* Why reading failed, in cr_err.why. */
typedef enum cr_pq_why {
    CR_PQ_DAMAGED = 0, /* bytes that make no sense */
    CR_PQ_CHECKSUM,    /* bytes that are not those that were written; skip_crc reads them */
    CR_PQ_BUDGET,      /* something needs more memory than the budget */
    CR_PQ_FOREIGN,     /* the file is of another format */
    CR_PQ_TOLD,        /* something else, the message says what to do */
} cr_pq_why;

typedef struct cr_pq_opts {
    /* the most that a single page, dictionary, footer or vector may need; 0: 1 GiB */
    size_t budget;
    bool skip_crc;    /* do not check page checksums where the file has them */
    bool keep_levels; /* vectors of flat columns carry their definition levels too */
} cr_pq_opts;

typedef struct cr_pq_file cr_pq_file;
CR_CHECKED cr_code cr_pq_open(cr_pq_file **out, const char *path, const cr_pq_opts *opts,
                              cr_err *err);
void cr_pq_close(cr_pq_file *f);
const cr_pq_meta *cr_pq_get_meta(const cr_pq_file *f);
/* cr_pq_will_need announces that rows [from, to) of these leaf columns of a row group will be read
 * soon. Their place is guessed by taking all pages for equally large. */
void cr_pq_will_need(const cr_pq_file *f, int group, const int *leaves, int n, int64_t from,
                     int64_t to);
const char *cr_pq_path(const cr_pq_file *f);
cr_fs *cr_pq_fs(const cr_pq_file *f); /* the open file */

/* cr_pq_find looks a column up by its name as users write it: a top-level name, or struct members
 * with dots. Names that the format puts into lists and maps ("list.element", "key_value.key") are
 * not needed. A name that contains a dot is found when it is written exactly. It returns the node
 * (a leaf, list, map or struct), -1 when there is none. */
int cr_pq_find(const cr_pq_meta *m, const char *name);

/* What users call a node, by the format's rules for lists and maps, old layouts included. */
typedef enum cr_pq_shape {
    CR_PQ_IS_LEAF,
    CR_PQ_IS_STRUCT,
    CR_PQ_IS_LIST, /* *item is the node of its items */
    CR_PQ_IS_MAP   /* *item is the node of its keys, *value that of its values */
} cr_pq_shape;
/* as_item: the node is the item of a list that was already recognised. The repeated node of a list
 * or map is `node` itself when *item == node (a repeated field that nothing marks as a list), else
 * node + 1; when *item is the repeated node too, ask about it with as_item. */
cr_pq_shape cr_pq_shape_of(const cr_pq_meta *m, int node, bool as_item, int *item, int *value);

/* The pages of a chunk, from the offset index (cr_pq_read_index) where the file has one. min and
 * max lie in the index's memory. */
typedef struct cr_pq_page_info {
    int64_t offset;
    int32_t size;
    int64_t first_row; /* number of its first row in the row group */
    cr_pq_stats stats; /* from the column index; n_null -1: not known */
    bool all_null;
} cr_pq_page_info;
typedef struct cr_pq_index {
    int n_pages;
    cr_pq_page_info *pages;
    bool has_stats;
} cr_pq_index;
/* cr_pq_read_index: n_pages is 0 when the file has no index. */
CR_CHECKED cr_code cr_pq_read_index(const cr_pq_file *f, int group, int leaf, cr_arena *arena,
                                    cr_pq_index *out, cr_err *err);

/* A page as its own header describes it. min and max lie in `head`. */
typedef struct cr_pq_page_note {
    int64_t offset;          /* place of the header */
    int head_size;           /* bytes of the header; the page follows */
    int32_t size, raw_size;  /* bytes of the page without the header */
    int type;                /* number in the format: 0 data, 1 index, 2 dictionary, 3 data v2 */
    int encoding;            /* -1: the header does not tell */
    int32_t n_values;        /* -1: the header does not tell */
    int32_t n_nulls, n_rows; /* data v2; -1: the header does not tell */
    bool has_crc;
    cr_pq_stats stats;
} cr_pq_page_note;
/* cr_pq_list_page reads the header at *at (0: the chunk's first) and moves *at to the end of the
 * page. *more is false when there was no further page. */
CR_CHECKED cr_code cr_pq_list_page(const cr_pq_file *f, int group, int leaf, int64_t *at,
                                   struct cr_buf *head, cr_pq_page_note *out, bool *more,
                                   cr_err *err);
const char *cr_pq_page_name(int type);

#define CR_PQ_MAX_DEPTH 15

/* One list around the values. A list of lists has two, the outermost first. */
typedef struct cr_pq_list {
    const int32_t *off;   /* count + 1 offsets into the next level (or the values) */
    const uint8_t *valid; /* one per list; NULL: none is null */
    int64_t n;            /* number of lists of this level: n_rows for the outermost */
} cr_pq_list;

/* A run of rows of one leaf column. There is one slot per row, or one per item of the innermost
 * list; a null has a slot (its value is 0 or empty), an empty or null list has none. */
typedef struct cr_pq_vec {
    cr_pq_type type;
    int type_length;
    int64_t n_rows, n; /* n is the number of slots */
    int64_t n_null;    /* slots that are null */
    const uint8_t *valid;
    int depth; /* number of lists around the leaf, equal to max_rep */
    cr_pq_list list[CR_PQ_MAX_DEPTH];
    union {
        const uint8_t
            *b8; /* CR_PQ_BOOL: a byte each; CR_PQ_FIXED: type_length each; I96: 12 each */
        const int32_t *i32;
        const int64_t *i64;
        const float *f32;
        const double *f64;
    } v;
    /* CR_PQ_BYTES: value i is bytes[beg[k], end[k]), where k is i, or code[i] when there is a
     * dictionary (nulls have code 0) */
    const char *bytes;
    const uint32_t *beg, *end;
    const uint32_t *code;
    int64_t n_dict;
    /* levels as stored, n_levels of them; NULL for flat columns unless they were asked for, and rep
     * is NULL where max_rep is 0. A writer uses them when there are groups that may be null. */
    int64_t n_levels;
    const uint8_t *def, *rep;
    /* n_rows + 1 values each: where the levels and the slots of rows begin, for callers that take
     * rows apart. A writer uses row_slot, together with levels, instead of `list`; a reader leaves
     * both NULL. */
    const int32_t *row_level, *row_slot;
} cr_pq_vec;

/* A cursor walks one column chunk. It owns the vectors it gives: they are valid until its next
 * call. Pages before the wanted rows are skipped without decompressing them where the file tells
 * how many rows they have. */
typedef struct cr_pq_cursor cr_pq_cursor;
cr_pq_cursor *cr_pq_cursor_new(void);
void cr_pq_cursor_free(cr_pq_cursor *c);
/* cr_pq_cursor_reset keeps the memory and forgets the file, which may then be closed. */
void cr_pq_cursor_reset(cr_pq_cursor *c);
/* cr_pq_seek goes to a row of a row group; when it moves forward within a chunk, it keeps what it
 * has read. */
CR_CHECKED cr_code cr_pq_seek(cr_pq_cursor *c, const cr_pq_file *f, int group, int leaf,
                              int64_t row, cr_err *err);
/* cr_pq_read gives the next n_rows rows, fewer only at the end of the row group. `how` is 0 or a
 * sum of flags. CR_PQ_READ_DICT: strings that are all dictionary-coded come as codes.
 * CR_PQ_READ_LEVELS: flat columns come with their definition levels too. */
enum { CR_PQ_READ_DICT = 1, CR_PQ_READ_LEVELS = 2 };
CR_CHECKED cr_code cr_pq_read(cr_pq_cursor *c, int64_t n_rows, int how, cr_pq_vec *out,
                              cr_err *err);
/* Seconds spent since the cursor was made. */
typedef struct cr_pq_times {
    double read, decompress, decode;
    int64_t bytes_read, bytes_raw;
} cr_pq_times;
cr_pq_times cr_pq_cursor_times(const cr_pq_cursor *c);

/* ---- rows as text ---- */

/* cr_pq_row_json appends a row of a top-level node as JSON without blanks: structs as objects,
 * lists as arrays, maps as arrays of [key, value]; strings as text, other bytes as "0x..."; dates,
 * times and intervals in ISO 8601, decimals as digits in quotes, NaN and infinities in quotes. vecs
 * has one vector per leaf under the node, read with keep_levels. `at` has one place per leaf, all
 * zeros before the first row; each call gives the next row. */
typedef struct cr_pq_pos {
    int64_t level, slot;
} cr_pq_pos;
void cr_pq_row_json(const cr_pq_meta *m, int node, const cr_pq_vec *vecs, cr_pq_pos *at,
                    struct cr_buf *out);
/* cr_pq_value_json appends one stored value (as in statistics) as JSON. */
void cr_pq_value_json(const cr_pq_node *n, const uint8_t *value, int size, struct cr_buf *out);

/* cr_pq_value_compare compares two stored values (as in statistics) in the column's order; the
 * result is < 0, 0 or > 0. */
int cr_pq_value_compare(const cr_pq_node *n, const uint8_t *a, int na, const uint8_t *b, int nb);

/* ---- writing ---- */

typedef struct cr_pq_write_opts {
    cr_pq_codec codec;      /* CR_PQ_RAW by default; most users expect zstd or snappy */
    int level;              /* level of the codec; 0: its default */
    int64_t group_rows;     /* a row group ends at so many rows (0: 1M) */
    size_t group_bytes;     /* or at so many bytes before compression (0: 128 MiB) */
    size_t page_bytes;      /* size of a page before compression; 0: 1 MiB */
    int page_version;       /* 1 or 2; 0: 1, which all readers know */
    bool no_dict, no_stats; /* dictionaries are used where they make the file smaller */
    bool no_crc;            /* without it, pages carry a checksum that readers may compare */
    bool no_sync;           /* do not wait for the disk: for files that can be made again */
    const cr_pq_pair *pairs;
    int n_pairs;
} cr_pq_write_opts;

/* cr_pq_schema_finish computes what follows from the shape (parents, levels, leaves, paths) and
 * checks it. The caller sets m->n_nodes and m->nodes; memory comes from arena. */
CR_CHECKED cr_code cr_pq_schema_finish(cr_pq_meta *m, cr_arena *arena, cr_err *err);

typedef struct cr_pq_writer cr_pq_writer;
/* cr_pq_writer_new begins a file, which appears under `path` only when cr_pq_writer_finish has
 * succeeded. The schema is copied. */
CR_CHECKED cr_code cr_pq_writer_new(cr_pq_writer **out, const char *path, const cr_pq_meta *schema,
                                    const cr_pq_write_opts *opts, cr_err *err);
/* cr_pq_write appends n_rows rows; there is one vector per leaf, all with the same n_rows. */
CR_CHECKED cr_code cr_pq_write(cr_pq_writer *w, const cr_pq_vec *leaves, cr_err *err);
CR_CHECKED cr_code cr_pq_writer_finish(cr_pq_writer *w, cr_err *err);
int64_t cr_pq_writer_size(const cr_pq_writer *w); /* bytes written so far */
/* cr_pq_writer_free without cr_pq_writer_finish leaves no file behind. */
void cr_pq_writer_free(cr_pq_writer *w);

#endif
