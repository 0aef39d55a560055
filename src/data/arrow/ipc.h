/*
 * ipc.h - Arrow IPC: files (.arrow, .feather) and streams of record batches, read and written.
 *
 *   stream  a Schema message, then DictionaryBatch and RecordBatch messages, then an end mark
 *   file    "ARROW1", the same messages, a footer that lists where they are, "ARROW1"
 *
 * A message is a FlatBuffer and a body of buffers. Buffers that are not compressed are used where
 * they lie, in the mapped file; those of a file on a store are read by themselves. Every number of
 * a message is checked before it is used. Who wants columns asks vec.h.
 */
#ifndef CR_DATA_ARROW_IPC_H
#define CR_DATA_ARROW_IPC_H

#include "base/fs.h"
#include "base/mem.h"

/* The types, with the numbers of the format. */
typedef enum cr_arrow_kind {
    CR_ARROW_NULL = 1,
    CR_ARROW_INT,   /* bits, is_signed */
    CR_ARROW_FLOAT, /* bits */
    CR_ARROW_BINARY,
    CR_ARROW_UTF8,
    CR_ARROW_BOOL,
    CR_ARROW_DECIMAL,   /* bits, precision, scale */
    CR_ARROW_DATE,      /* bits 32: days; 64: milliseconds */
    CR_ARROW_TIME,      /* bits, unit */
    CR_ARROW_TIMESTAMP, /* unit, is_utc */
    CR_ARROW_INTERVAL,
    CR_ARROW_LIST,
    CR_ARROW_STRUCT,
    CR_ARROW_UNION,
    CR_ARROW_FIXED_BINARY, /* width */
    CR_ARROW_FIXED_LIST,   /* width */
    CR_ARROW_MAP,
    CR_ARROW_DURATION, /* unit */
    CR_ARROW_LARGE_BINARY,
    CR_ARROW_LARGE_UTF8,
    CR_ARROW_LARGE_LIST,
    CR_ARROW_RUN_END,
    CR_ARROW_BINARY_VIEW,
    CR_ARROW_UTF8_VIEW,
    CR_ARROW_LIST_VIEW,
    CR_ARROW_LARGE_LIST_VIEW,
    CR_ARROW_KINDS
} cr_arrow_kind;
typedef enum cr_arrow_unit {
    CR_ARROW_SECONDS,
    CR_ARROW_MILLIS,
    CR_ARROW_MICROS,
    CR_ARROW_NANOS
} cr_arrow_unit;

/* A field of a schema. Fields lie in one array in preorder: the children of field i begin at i + 1,
 * and each ends where its `next` says. */
typedef struct cr_arrow_field {
    const char *name;
    bool nullable;
    cr_arrow_kind kind; /* of the values; those of a dictionary when there is one */
    int bits;
    bool is_signed, is_utc;
    cr_arrow_unit unit;
    int precision, scale;
    int width; /* bytes of FIXED_BINARY, items of FIXED_LIST; 1: a dense union */
    int n_children, next;
    int parent; /* -1: a column */
    bool coded; /* values are codes of a dictionary */
    int64_t dict;
    int code_bits;
    bool code_signed;
} cr_arrow_field;
typedef struct cr_arrow_schema {
    cr_arrow_field *v;
    int n;
    int n_columns;
} cr_arrow_schema;

/* cr_arrow_schema_link fills in parent and next of fields whose n_children is set, and the number
 * of columns. */
void cr_arrow_schema_link(cr_arrow_schema *s);
/* cr_arrow_type_text writes a field's type as people say it: "list<int64>". */
void cr_arrow_type_text(const cr_arrow_schema *s, int field, char *out, size_t size);
bool cr_arrow_same_schema(const cr_arrow_schema *a, const cr_arrow_schema *b);

typedef enum cr_arrow_codec {
    CR_ARROW_PLAIN = -1,
    CR_ARROW_LZ4 = 0,
    CR_ARROW_ZSTD = 1
} cr_arrow_codec;

/* ---- reading ---- */

typedef struct cr_arrow_opts {
    size_t budget; /* the most that one buffer may need in memory; 0: 4 GiB */
    /* of a stream that does not begin with a schema: its schema, which is borrowed */
    const cr_arrow_schema *schema;
    bool partial; /* a stream that breaks off ends with its last whole message */
} cr_arrow_opts;

typedef struct cr_arrow_file cr_arrow_file;
/* cr_arrow_open opens a file or a stream in a file. It reads where the messages are and how many
 * rows they have. */
CR_CHECKED cr_code cr_arrow_open(cr_arrow_file **out, const char *path, const cr_arrow_opts *opts,
                                 cr_err *err);
/* cr_arrow_open_mem does the same with bytes in memory, which are borrowed until close. name is for
 * messages and is copied. */
CR_CHECKED cr_code cr_arrow_open_mem(cr_arrow_file **out, const void *data, int64_t size,
                                     const char *name, const cr_arrow_opts *opts, cr_err *err);
void cr_arrow_close(cr_arrow_file *f); /* NULL is fine */
const cr_arrow_schema *cr_arrow_get_schema(const cr_arrow_file *f);
const char *cr_arrow_path(const cr_arrow_file *f);
cr_fs *cr_arrow_fs(const cr_arrow_file *f); /* the open file; NULL: bytes in memory */
int cr_arrow_n_batches(const cr_arrow_file *f);
int64_t cr_arrow_batch_rows(const cr_arrow_file *f, int batch);
/* cr_arrow_ended: does a stream have its end mark? Without one it may be cut short. */
bool cr_arrow_ended(const cr_arrow_file *f);
/* Why opening or loading failed, in cr_err.why. */
typedef enum cr_arrow_why { CR_ARROW_DAMAGED = 0, CR_ARROW_FOREIGN, CR_ARROW_BUDGET } cr_arrow_why;

/* The buffers of a field in a record batch. Their sizes fit n; the values of offsets, codes and
 * views were not looked at. */
typedef struct cr_arrow_span {
    const uint8_t *p;
    int64_t n;
} cr_arrow_span;
typedef struct cr_arrow_array {
    int64_t n;
    const uint8_t *valid; /* bits, the lowest first; NULL: no nulls */
    const void *off;      /* n + 1 offsets, 32 or 64 bits; NULL: none, or n is 0 */
    cr_arrow_span data;   /* values, codes, views, or bytes of text */
    cr_arrow_span *more;  /* of views: the buffers that hold long texts */
    int n_more;
} cr_arrow_array;
typedef struct cr_arrow_batch {
    int64_t n_rows;
    cr_arrow_array *v; /* one per field of the schema; zeros where it was not wanted */
    cr_arena arena;    /* what had to be decompressed or read */
} cr_arrow_batch;
void cr_arrow_batch_init(cr_arrow_batch *b);
void cr_arrow_batch_clear(cr_arrow_batch *b);
/* cr_arrow_load reads the buffers of the wanted fields (NULL: of all). The batch may point into the
 * file. Threads may load at once. */
CR_CHECKED cr_code cr_arrow_load(const cr_arrow_file *f, int batch, const bool *wanted,
                                 cr_arrow_batch *out, cr_err *err);
/* What the wanted fields of a batch take. */
typedef struct cr_arrow_size {
    double bytes; /* in the file */
    double plain; /* in memory, about; depends on the file alone */
    bool compressed;
} cr_arrow_size;
CR_CHECKED cr_code cr_arrow_measure(const cr_arrow_file *f, int batch, const bool *wanted,
                                    cr_arrow_size *out, cr_err *err);
/* cr_arrow_will_need announces that a batch will be loaded soon. */
void cr_arrow_will_need(const cr_arrow_file *f, int batch, const bool *wanted);

/* The messages that make up a dictionary as a batch sees it: the first is whole, the others add to
 * it. version: equal for batches that see the same entries; -1: there is none. */
typedef struct cr_arrow_dict {
    int first, n;
    int64_t version;
} cr_arrow_dict;
cr_arrow_dict cr_arrow_dict_of(const cr_arrow_file *f, int batch, int field);
/* cr_arrow_load_dict reads one message of a dictionary: `part` counts from 0 among the n. `out` is
 * a batch of the field and its children alone: v[0] is the field itself. */
CR_CHECKED cr_code cr_arrow_load_dict(const cr_arrow_file *f, int field, cr_arrow_dict d, int part,
                                      cr_arrow_batch *out, cr_err *err);

#endif
