/*
 * safetensors.c - the reader: it maps the file, checks every number of its header and gives out
 * views.
 *
 * The file may come from anywhere, so no number of the header is used before it is compared with
 * the file size: header length, shapes (their product may overflow), byte ranges (inside the file,
 * as long as shape and type say, no overlap, no gap). After a successful open every view is inside
 * the map.
 */
#include "ckpt/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "ckpt/ckpt_int.h"

#define MAX_HEADER (100LL << 20) /* the limit of other readers of the format */

static cr_loc in_file(const char *path) {
    return (cr_loc){path, 0, 0};
}

#define BAD(...) cr_fail_at(err, CR_ERUN, in_file(f->path), __VA_ARGS__)

static bool dtype_from(const char *name, cr_dtype *out) {
    for (int t = 0; t < CR_DT_COUNT; t++)
        if (strcmp(name, cr_dtype_name((cr_dtype)t)) == 0) {
            *out = (cr_dtype)t;
            return true;
        }
    return false;
}

/* Reads one member of the header; data are the bytes after the header. */
static cr_code read_tensor(cr_st_file *f, cr_st_tensor *t, const char *name, const cr_json *j,
                           const uint8_t *data, int64_t data_size, cr_err *err) {
    t->name = cr_arena_strdup(&f->arena, name);
    if (!cr_json_is_obj(j))
        return CKPT_DAMAGED(f->path, "tensor '%s': not an object; the file is damaged", name);
    const char *dt = cr_json_str(cr_json_get(j, "dtype"));
    if (!dt) return CKPT_DAMAGED(f->path, "tensor '%s': no dtype; the file is damaged", name);
    if (!dtype_from(dt, &t->dtype))
        return BAD("tensor '%s': type '%s' is not known; convert it to F32, F16 or BF16", name, dt);

    const cr_json *shape = cr_json_get(j, "shape");
    if (!shape || !cr_json_is_arr(shape))
        return CKPT_DAMAGED(f->path, "tensor '%s': no shape; the file is damaged", name);
    if (cr_json_len(shape) > CR_ST_MAX_DIMS)
        return BAD("tensor '%s': %zu dimensions; at most %d are supported", name,
                   cr_json_len(shape), CR_ST_MAX_DIMS);
    t->n_dims = (int)cr_json_len(shape);
    t->n_elems = 1;
    for (int i = 0; i < t->n_dims; i++) {
        int64_t d;
        if (!cr_json_i64(cr_json_at(shape, (size_t)i), &d) || d < 0)
            return CKPT_DAMAGED(f->path,
                                "tensor '%s': dimension %d is not a size; the file is damaged",
                                name, i);
        t->shape[i] = d;
        if (__builtin_mul_overflow(t->n_elems, d, &t->n_elems))
            return CKPT_DAMAGED(f->path,
                                "tensor '%s': shape is larger than any file; the file is damaged",
                                name);
    }
    if (__builtin_mul_overflow(t->n_elems, cr_dtype_size(t->dtype), &t->n_bytes))
        return CKPT_DAMAGED(f->path,
                            "tensor '%s': shape is larger than any file; the file is damaged",
                            name);

    const cr_json *off = cr_json_get(j, "data_offsets");
    int64_t beg, end;
    if (!off || !cr_json_is_arr(off) || cr_json_len(off) != 2 ||
        !cr_json_i64(cr_json_at(off, 0), &beg) || !cr_json_i64(cr_json_at(off, 1), &end) ||
        beg < 0 || end < beg)
        return CKPT_DAMAGED(f->path,
                            "tensor '%s': data_offsets are not a range; the file is damaged", name);
    if (end > data_size)
        return BAD("tensor '%s': ends at byte %lld of %lld bytes of data; the file is cut short",
                   name, (long long)end, (long long)data_size);
    if (end - beg != t->n_bytes)
        return CKPT_DAMAGED(
            f->path, "tensor '%s': %lld bytes where shape and type need %lld; the file is damaged",
            name, (long long)(end - beg), (long long)t->n_bytes);
    t->data = data + beg;
    return CR_OK;
}

static int by_place(const void *a, const void *b) {
    const cr_st_tensor *x = a, *y = b;
    if (x->data != y->data) return (const char *)x->data < (const char *)y->data ? -1 : 1;
    if (x->n_bytes != y->n_bytes) return x->n_bytes < y->n_bytes ? -1 : 1; /* empty tensors first */
    return strcmp(x->name, y->name);
}

static cr_code read_meta(cr_st_file *f, const cr_json *j, cr_err *err) {
    if (!cr_json_is_obj(j))
        return CKPT_DAMAGED(f->path, "__metadata__ is not an object; the file is damaged");
    size_t n = cr_json_len(j);
    f->meta = CR_NEW_N(&f->arena, cr_st_meta, n + 1);
    const char *key;
    const cr_json *val;
    for (void *it = NULL; cr_json_next(j, &it, &key, &val);) {
        const char *s = cr_json_str(val);
        if (!s)
            return CKPT_DAMAGED(f->path, "__metadata__ '%s' is not a string; the file is damaged",
                                key);
        f->meta[f->n_meta++] =
            (cr_st_meta){cr_arena_strdup(&f->arena, key), cr_arena_strdup(&f->arena, s)};
    }
    return CR_OK;
}

static cr_code read_members(cr_st_file *f, const cr_json *root, const uint8_t *data,
                            int64_t data_size, cr_err *err) {
    if (!cr_json_is_obj(root)) return BAD("header is not a JSON object; not a safetensors file");
    f->v = CR_NEW_N(&f->arena, cr_st_tensor, cr_json_len(root) + 1);
    const char *key;
    const cr_json *val;
    for (void *it = NULL; cr_json_next(root, &it, &key, &val);) {
        if (strcmp(key, "__metadata__") == 0) {
            CR_TRY(read_meta(f, val, err));
            continue;
        }
        CR_TRY(read_tensor(f, &f->v[f->n], key, val, data, data_size, err));
        f->n++;
    }
    qsort(f->v, (size_t)f->n, sizeof *f->v, by_place);
    const uint8_t *at = data;
    for (int i = 0; i < f->n; i++) {
        const cr_st_tensor *t = &f->v[i];
        const uint8_t *p = t->data;
        if (p < at)
            return CKPT_DAMAGED(f->path, "tensor '%s' overlaps tensor '%s'; the file is damaged",
                                t->name, f->v[i - 1].name);
        if (p > at)
            return CKPT_DAMAGED(
                f->path, "%lld bytes before tensor '%s' belong to nothing; the file is damaged",
                (long long)(p - at), t->name);
        at = p + t->n_bytes;
    }
    if (at != data + data_size)
        return CKPT_DAMAGED(
            f->path, "%lld bytes after the last tensor belong to nothing; the file is damaged",
            (long long)(data + data_size - at));
    return CR_OK;
}

static cr_code parse_header(cr_st_file *f, const uint8_t *p, int64_t size, cr_err *err) {
    if (size < 8) return BAD("%lld bytes; not a safetensors file, or cut short", (long long)size);
    uint64_t len = 0;
    for (int i = 7; i >= 0; i--)
        len = len << 8 | p[i];
    if (len > (uint64_t)MAX_HEADER)
        return BAD("not a safetensors file; its first 8 bytes are no length of a header");
    if (len > (uint64_t)size - 8)
        return BAD("header of %llu bytes in a file of %lld; not a safetensors file, or cut short",
                   (unsigned long long)len, (long long)size);
    if (len == 0 || p[8] != '{') return BAD("no header; not a safetensors file");

    const char *text = (const char *)p + 8;
    cr_json *root = NULL;
    cr_err why;
    if (cr_json_parse(&root, text, (size_t)len, &why) != CR_OK)
        return BAD("header: %s; not a safetensors file, or damaged", why.msg);
    /* the parser refuses two tensors of one name */
    cr_code code = read_members(f, root, p + 8 + len, size - 8 - (int64_t)len, err);
    cr_json_free(root);
    return code;
}

cr_code cr_st_parse(cr_st_file *f, const char *path, const uint8_t *data, int64_t size,
                    cr_err *err) {
    memset(f, 0, sizeof *f);
    cr_arena_init(&f->arena, 0);
    f->path = cr_arena_strdup(&f->arena, path);
    f->size = size;
    cr_code code = parse_header(f, data, size, err);
    if (code != CR_OK) cr_st_close(f);
    return code;
}

static cr_code map_file(cr_st_file *f, cr_fs *in, cr_err *err) {
    const cr_fs_stat *st = cr_fs_info(in);
    const char *path = cr_fs_path(in);
    if (st->kind != CR_FS_FILE)
        return cr_fail_at(err, CR_EIO, in_file(path),
                          "not a regular file; give a .safetensors file");
    if (st->size < 8)
        return cr_fail_at(err, CR_ERUN, in_file(path),
                          "%lld bytes; not a safetensors file, or cut short", (long long)st->size);
    cr_fs_map map;
    CR_TRY(cr_fs_map_file(&map, in, err));
    cr_code code = cr_st_parse(f, path, map.data, map.size, err);
    if (code != CR_OK)
        cr_fs_unmap(&map);
    else
        f->map = map;
    return code;
}

cr_code cr_st_open(cr_st_file *f, const char *path, cr_err *err) {
    cr_fs *in;
    memset(f, 0, sizeof *f);
    CR_TRY(cr_fs_open(&in, path, err));
    cr_code code = map_file(f, in, err);
    cr_fs_close(in);
    return code;
}

void cr_st_close(cr_st_file *f) {
    cr_fs_unmap(&f->map);
    cr_arena_clear(&f->arena);
    memset(f, 0, sizeof *f);
}

const cr_st_tensor *cr_st_find(const cr_st_file *f, const char *name) {
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->v[i].name, name) == 0) return &f->v[i];
    return NULL;
}

const char *cr_st_get_meta(const cr_st_file *f, const char *key) {
    for (int i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].key, key) == 0) return f->meta[i].value;
    return NULL;
}
