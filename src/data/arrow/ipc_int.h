/*
 * ipc_int.h - what the files of Arrow IPC share.
 *
 *   flat.c     FlatBuffers
 *   schema.c   schemas, both ways, and types as text
 *   file.c     files and streams: where the messages are
 *   batch.c    the buffers of a record batch
 *   codec.c    compressed buffers
 *   shape.c    a schema as the reader of columns wants it
 *   vec.c      rows of a field as a vector
 *   encode.c   columns as messages; encode_pq.c those that are carried as Parquet stores them
 *   sink.c     messages into a file
 *   source.c   the reader ArrowDataset
 */
#ifndef CR_DATA_ARROW_IPC_INT_H
#define CR_DATA_ARROW_IPC_INT_H

#include "data/arrow/flat.h"
#include "data/arrow/ipc.h"

/* Types of messages. */
enum { CR_ARROW_MSG_SCHEMA = 1, CR_ARROW_MSG_DICT = 2, CR_ARROW_MSG_BATCH = 3 };

typedef struct cr_arrow_msg {
    const uint8_t *meta; /* its FlatBuffer */
    int64_t n_meta;
    int64_t body, n_body; /* place and size in the file */
    int64_t n_rows;       /* of a dictionary: entries */
    int64_t at;           /* of the message, for errors */
    int64_t dict;         /* id of a dictionary */
    bool delta;
    int dicts_before; /* of a record batch: how many dictionaries it may use */
} cr_arrow_msg;

struct cr_arrow_file {
    const char *path;
    cr_fs *fs;
    cr_fs_map map;
    const uint8_t *mem; /* the bytes of the file; NULL: they are read one by one */
    int64_t size;
    size_t budget;
    cr_arrow_schema schema;
    cr_arrow_msg *batches, *dicts;
    int n_batches, n_dicts, cap_batches, cap_dicts;
    bool ended, partial;
    cr_arena arena;
};

/* cr_arrow_wrong reports bytes that make no sense; at -1: no place. */
cr_code cr_arrow_wrong(cr_err *err, const cr_arrow_file *f, int64_t at, int why, const char *fmt,
                       ...) CR_PRINTF(5, 6);
/* cr_arrow_read_schema turns a Schema table into fields. It returns NULL or what is wrong. */
const char *cr_arrow_read_schema(cr_flat *b, cr_flat_table t, cr_arrow_schema *out, cr_arena *a);
/* cr_arrow_put_schema writes a Schema table and returns its place. */
size_t cr_arrow_put_schema(cr_flat_out *o, const cr_arrow_schema *s);

/* cr_arrow_unpack decompresses exactly n_out bytes; false: the bytes are damaged. */
bool cr_arrow_unpack(cr_arrow_codec codec, const uint8_t *in, size_t n, uint8_t *out, size_t n_out);
/* cr_arrow_pack appends a compressed frame to out; false: it cannot be compressed. */
bool cr_arrow_pack(cr_arrow_codec codec, const void *in, size_t n, cr_buf *out);

#endif
