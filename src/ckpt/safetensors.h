/*
 * safetensors.h - the file format of crank's weights: 8 bytes with the length of the header (little
 * endian), a JSON header {name: {dtype, shape, data_offsets}}, then the raw little-endian tensors.
 *
 * The reader maps the file and checks every number of the header against the file size before
 * anything is used, so any file is safe to open. The writer streams: a tensor's values come from a
 * callback in pieces, because a table keeps weights and optimizer state side by side.
 */
#ifndef CR_CKPT_SAFETENSORS_H
#define CR_CKPT_SAFETENSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"

#define CR_ST_MAX_DIMS 8

typedef enum cr_dtype {
    CR_DT_F32,
    CR_DT_F16,
    CR_DT_BF16,
    CR_DT_F64,
    CR_DT_I64,
    CR_DT_I32,
    CR_DT_I8,
    CR_DT_U8,
    CR_DT_I16, /* from here on: types that are read from files of other tools but never written */
    CR_DT_U16,
    CR_DT_U32,
    CR_DT_U64,
    CR_DT_BOOL,
    CR_DT_F8_E4M3,
    CR_DT_F8_E5M2,
    CR_DT_COUNT
} cr_dtype;
const char *cr_dtype_name(cr_dtype t); /* "F32", as in the file */
int64_t cr_dtype_size(cr_dtype t);     /* bytes */
/* cr_dtype_to_f32 and cr_dtype_from_f32 convert n values. The second takes the types up to U8,
 * rounds floats to nearest even and saturates integers. raw need not be aligned. */
void cr_dtype_to_f32(cr_dtype t, const void *raw, int64_t n, float *out);
void cr_dtype_from_f32(cr_dtype t, const float *in, int64_t n, void *raw);

/* ---- reading ---- */
typedef struct cr_st_tensor {
    const char *name;
    cr_dtype dtype;
    int n_dims;
    int64_t shape[CR_ST_MAX_DIMS];
    int64_t n_elems, n_bytes;
    const void *data; /* in the mapped file, valid while it is open; not always aligned */
} cr_st_tensor;
typedef struct cr_st_meta { /* one member of __metadata__ */
    const char *key, *value;
} cr_st_meta;
typedef struct cr_st_file {
    const char *path;
    int64_t size;
    cr_st_tensor *v; /* sorted by place in the file */
    int n;
    cr_st_meta *meta;
    int n_meta;
    cr_fs_map map;
    cr_arena arena;
} cr_st_file;
/* cr_st_open maps and checks a file: CR_EIO when it cannot be read, CR_ERUN when it is not a whole
 * safetensors file. Nothing is left open after a failure. */
CR_CHECKED cr_code cr_st_open(cr_st_file *f, const char *path, cr_err *err);
/* cr_st_parse does what cr_st_open does, on memory (borrowed until close); path is for messages. */
CR_CHECKED cr_code cr_st_parse(cr_st_file *f, const char *path, const uint8_t *data, int64_t size,
                               cr_err *err);
void cr_st_close(cr_st_file *f);
const cr_st_tensor *cr_st_find(const cr_st_file *f, const char *name); /* NULL: not there */
const char *cr_st_get_meta(const cr_st_file *f, const char *key);      /* NULL: not there */

/* ---- writing ---- */
typedef struct cr_st_out {
    const char *name;
    cr_dtype dtype;
    int n_dims;
    int64_t shape[CR_ST_MAX_DIMS];
    /* get writes elements first .. first+n-1 (in row-major order) to out, in the form of the
     * dtype. */
    void (*get)(void *ctx, int64_t first, int64_t n, void *out);
    void *ctx;
} cr_st_out;
/* cr_st_write writes path directly (the caller's directory is the temporary one), syncs it, and
 * returns the size and the digest of the file. It removes the file when it fails. Tensor data
 * starts at a multiple of 64 bytes. */
CR_CHECKED cr_code cr_st_write(const char *path, const cr_st_out *v, int n, const cr_st_meta *meta,
                               int n_meta, int64_t *size, uint64_t *digest, cr_err *err);
/* The same in parts, for a caller that has the bytes of the tensors: cr_st_order tells in which
 * order they lie in the file, cr_st_head makes what stands before them (get is not used; b is
 * empty). A stream takes the head and then the bytes. cr_st_end syncs the file and frees s in any
 * case; cr_st_abort removes the file (NULL is fine). */
void cr_st_order(const cr_st_out *v, int n, int *order);
void cr_st_head(cr_buf *b, const cr_st_out *v, const int *order, int n, const cr_st_meta *meta,
                int n_meta);
typedef struct cr_st_stream cr_st_stream;
CR_CHECKED cr_code cr_st_begin(cr_st_stream **out, const char *path, cr_err *err);
CR_CHECKED cr_code cr_st_put(cr_st_stream *s, const void *data, size_t n, cr_err *err);
CR_CHECKED cr_code cr_st_end(cr_st_stream *s, int64_t *size, uint64_t *digest, cr_err *err);
void cr_st_abort(cr_st_stream *s);

#endif
