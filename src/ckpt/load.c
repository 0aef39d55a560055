/*
 * load.c - opens a checkpoint and reads its tensors.
 *
 * The list of tensors is always built from the files themselves (a split table names its rows in
 * the file's metadata); index.json, when there is one, must agree. So a directory of safetensors
 * made by another tool loads the same way. 8-bit rows and their scales and offsets become one
 * tensor that reads as floats, so callers need not know of them.
 */
#include "ckpt/ckpt_int.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"

typedef struct part {
    const cr_st_tensor *t;
    int64_t first_row;
    int file;
} part;

typedef struct entry {
    cr_ckpt_info info;
    part *parts; /* sorted by first_row */
    int n_parts, cap;
    int64_t total_rows;                 /* from the metadata; -1: one whole piece */
    const struct entry *scale, *offset; /* for 8-bit rows */
} entry;

struct cr_ckpt {
    cr_arena arena;
    char *path;
    cr_st_file *files;
    cr_manifest *manifest; /* NULL: there is none */
    uint32_t *crcs;        /* for version 1; NULL: digests are in the manifest, or there are none */
    int n_files;
    entry *v;
    int n;
    cr_map by_name;
    cr_ckpt_state state;
    bool has_state;
    bool weights;         /* only weights are opened */
    const char *features; /* text of features.json; NULL: none */
};

#define BAD(path, ...) cr_fail_at(err, CR_ERUN, cr_ckpt_at_path(path), __VA_ARGS__)

/* pass_on copies an error with its cure into the caller's err and returns its code. */
static cr_code pass_on(cr_err *err, const cr_err *from) {
    cr_code code = cr_fail_at(err, from->code, from->at, "%s", from->msg);
    if (err) err->n_cure = from->n_cure;
    return code;
}

static void add_part(cr_ckpt *c, entry *e, part p) {
    if (e->n_parts == e->cap) {
        int cap = e->cap ? e->cap * 2 : 1;
        part *v = CR_NEW_N(&c->arena, part, cap);
        if (e->n_parts) memcpy(v, e->parts, sizeof *v * (size_t)e->n_parts);
        e->parts = v;
        e->cap = cap;
    }
    e->parts[e->n_parts++] = p;
}

/* Parses "first:count:total" of a split tensor; false: the text has another form. */
static bool parse_rows(const char *s, int64_t out[3]) {
    for (int i = 0; i < 3; i++) {
        size_t n = strcspn(s, ":");
        if (!cr_parse_i64(s, n, &out[i]) || out[i] < 0 || (s[n] == ':') != (i < 2)) return false;
        s += n + 1;
    }
    return out[0] <= out[2] - out[1];
}

static cr_code add_tensor(cr_ckpt *c, int file, const cr_st_tensor *t, const cr_map *meta,
                          cr_err *err) {
    const cr_st_file *f = &c->files[file];
    char *key = cr_arena_printf(&c->arena, CKPT_ROWS_KEY "%s", t->name);
    int64_t at = cr_map_get(meta, key, strlen(key), -1), rows[3] = {0, 0, -1};
    if (at >= 0 &&
        (!parse_rows(f->meta[at].value, rows) || t->n_dims == 0 || rows[1] != t->shape[0]))
        return CKPT_DAMAGED(f->path,
                            "tensor '%s': row range '%s' does not fit; the file is damaged",
                            t->name, f->meta[at].value);
    bool optimizer = cr_ckpt_is_optimizer(cr_path_base(f->path));
    int64_t i = cr_map_get(&c->by_name, t->name, strlen(t->name), -1);
    if (i < 0) {
        entry *e = &c->v[c->n];
        cr_map_put(&c->by_name, t->name, strlen(t->name), c->n++);
        e->info = (cr_ckpt_info){.name = t->name, .n_dims = t->n_dims, .dtype = t->dtype};
        e->info.optimizer = optimizer;
        memcpy(e->info.shape, t->shape, sizeof t->shape);
        e->total_rows = rows[2];
        i = c->n - 1;
    } else {
        entry *e = &c->v[i];
        const cr_st_tensor *t0 = e->parts[0].t;
        if (rows[2] < 0 || e->total_rows < 0)
            return BAD(f->path, "tensor '%s' is also in %s; remove one of the files", t->name,
                       c->files[e->parts[0].file].path);
        bool same = t0->dtype == t->dtype && t0->n_dims == t->n_dims && e->total_rows == rows[2];
        for (int d = 1; same && d < t->n_dims; d++)
            same = t0->shape[d] == t->shape[d];
        if (!same)
            return BAD(f->path, "tensor '%s' does not fit its other part in %s", t->name,
                       c->files[e->parts[0].file].path);
    }
    add_part(c, &c->v[i], (part){t, rows[0], file});
    return CR_OK;
}

static int by_row(const void *a, const void *b) {
    const part *x = a, *y = b;
    return x->first_row < y->first_row ? -1 : x->first_row > y->first_row;
}

/* Called after all files: the pieces of a split tensor must follow each other without a gap. */
static cr_code finish_entry(const cr_ckpt *c, entry *e, cr_err *err) {
    qsort(e->parts, (size_t)e->n_parts, sizeof *e->parts, by_row);
    int64_t row = 0;
    e->info.n_elems = e->info.n_bytes = 0;
    for (int i = 0; i < e->n_parts; i++) {
        const part *p = &e->parts[i];
        if (p->first_row != row)
            return BAD(c->path, "tensor '%s': rows %lld to %lld are missing; a file was lost",
                       e->info.name, (long long)row, (long long)p->first_row - 1);
        row += e->info.n_dims > 0 ? p->t->shape[0] : 1;
        e->info.n_elems += p->t->n_elems;
        e->info.n_bytes += p->t->n_bytes;
    }
    if (e->total_rows >= 0 && row != e->total_rows)
        return BAD(c->path, "tensor '%s': rows %lld to %lld are missing; a file was lost",
                   e->info.name, (long long)row, (long long)e->total_rows - 1);
    if (e->info.n_dims > 0) e->info.shape[0] = row;
    return CR_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const entry *)a)->info.name, ((const entry *)b)->info.name);
}

static cr_code build(cr_ckpt *c, cr_err *err) {
    int64_t n = 0;
    for (int i = 0; i < c->n_files; i++)
        n += c->files[i].n;
    c->v = CR_NEW_N(&c->arena, entry, n + 1);
    for (int i = 0; i < c->n_files; i++) {
        const cr_st_file *f = &c->files[i];
        cr_map meta;
        cr_map_init(&meta);
        for (int k = 0; k < f->n_meta; k++)
            cr_map_put(&meta, f->meta[k].key, strlen(f->meta[k].key), k);
        cr_code code = CR_OK;
        for (int k = 0; code == CR_OK && k < f->n; k++)
            code = add_tensor(c, i, &f->v[k], &meta, err);
        cr_map_clear(&meta);
        CR_TRY(code);
    }
    qsort(c->v, (size_t)c->n, sizeof *c->v, by_name);
    for (int i = 0; i < c->n; i++) {
        cr_map_put(&c->by_name, c->v[i].info.name, strlen(c->v[i].info.name), i);
        CR_TRY(finish_entry(c, &c->v[i], err));
    }
    return CR_OK;
}

static bool same_shape(int n, const int64_t *a, int m, const int64_t *b) {
    return n == m && (n == 0 || memcmp(a, b, sizeof *a * (size_t)n) == 0);
}

static cr_code check_index(const cr_ckpt *c, const ckpt_index *x, cr_err *err) {
    int n = 0;
    for (int i = 0; i < x->n_tensors; i++) {
        const cr_ckpt_info *t = &x->tensors[i], *have = cr_ckpt_find(c, t->name);
        if (c->weights && t->optimizer) continue; /* its file was not opened */
        n++;
        if (!have)
            return CKPT_DAMAGED(c->path,
                                "tensor '%s' of " CKPT_INDEX
                                " is in no file; the folder is damaged",
                                t->name);
        if (!same_shape(t->n_dims, t->shape, have->n_dims, have->shape))
            return CKPT_DAMAGED(c->path,
                                "tensor '%s' has another shape in " CKPT_INDEX
                                "; the folder is damaged",
                                t->name);
    }
    if (n != c->n)
        return CKPT_DAMAGED(c->path,
                            "the files hold %d tensors and " CKPT_INDEX
                            " lists %d; the folder is damaged",
                            c->n, n);
    return CR_OK;
}

/* ---- 8-bit rows ---- */

/* Finds the scale or the offset of e: one float per row. */
static const entry *row_values(const entry *all, const cr_map *by_name, const entry *e,
                               const char *ending, cr_arena *a) {
    char *name = cr_arena_printf(a, "%s%s", e->info.name, ending);
    int64_t i = cr_map_get(by_name, name, strlen(name), -1);
    if (i < 0) return NULL;
    const cr_ckpt_info *t = &all[i].info;
    bool fits = t->dtype == CR_DT_F32 && t->n_dims == 1 && t->shape[0] == e->info.shape[0];
    return fits ? &all[i] : NULL;
}

/* Takes scales and offsets out of the list; the entries that they belong to point to them. */
static cr_code join_int8(cr_ckpt *c, cr_err *err) {
    entry *all = c->v;
    int n = c->n;
    bool *hidden = CR_NEW_N(&c->arena, bool, n + 1), any = false;
    for (int i = 0; i < c->n_files; i++)
        for (int k = 0; k < c->files[i].n_meta; k++) {
            const cr_st_meta *m = &c->files[i].meta[k];
            size_t len = strlen(CKPT_QUANT_KEY);
            if (strncmp(m->key, CKPT_QUANT_KEY, len) != 0) continue;
            const char *name = m->key + len;
            int64_t at = cr_map_get(&c->by_name, name, strlen(name), -1);
            entry *e = at >= 0 ? &all[at] : NULL;
            if (!e || strcmp(m->value, CKPT_QUANT_ROWS) != 0 || e->info.dtype != CR_DT_U8 ||
                e->info.n_dims != 2)
                return BAD(c->files[i].path,
                           "metadata '%s' = '%s' fits no tensor; the file is damaged, or a newer "
                           "crank wrote it",
                           m->key, m->value);
            if (e->scale) continue; /* this is another piece of it */
            e->scale = row_values(all, &c->by_name, e, CKPT_QUANT_SCALE, &c->arena);
            e->offset = row_values(all, &c->by_name, e, CKPT_QUANT_OFFSET, &c->arena);
            if (!e->scale || !e->offset || e->scale->scale || e->offset->scale)
                return BAD(c->path, "tensor '%s' has 8-bit rows but no %s of one F32 per row", name,
                           e->scale ? CKPT_QUANT_OFFSET : CKPT_QUANT_SCALE);
            e->info.int8_rows = any = true;
            e->info.n_bytes += e->scale->info.n_bytes + e->offset->info.n_bytes;
            hidden[e->scale - all] = hidden[e->offset - all] = true;
        }
    if (!any) return CR_OK;
    c->v = CR_NEW_N(&c->arena, entry, n + 1);
    c->n = 0;
    cr_map_clear(&c->by_name);
    cr_map_init(&c->by_name);
    for (int i = 0; i < n; i++) {
        if (hidden[i]) continue;
        cr_map_put(&c->by_name, all[i].info.name, strlen(all[i].info.name), c->n);
        c->v[c->n++] = all[i];
    }
    return CR_OK;
}

static cr_code open_files(cr_ckpt *c, char *const *paths, int n, cr_err *err) {
    c->files = CR_NEW_N(&c->arena, cr_st_file, n + 1);
    for (int i = 0; i < n; i++) {
        CR_TRY(cr_st_open(&c->files[i], paths[i], err));
        c->n_files++;
    }
    return build(c, err);
}

static cr_code read_features(cr_ckpt *c, cr_err *err) {
    char *path = cr_path_join(&c->arena, c->path, CKPT_FEATURES);
    if (c->manifest ? !cr_manifest_find(c->manifest, CKPT_FEATURES) : !cr_path_exists(path))
        return CR_OK;
    int64_t size;
    CR_TRY(cr_ckpt_file_size(path, &size, err));
    cr_buf text;
    cr_buf_init(&text);
    cr_code code = cr_file_read(path, CKPT_SMALL, &text, err);
    if (code == CR_OK && c->manifest)
        code = cr_manifest_content(c->manifest, path, text.data ? text.data : "", text.n, err);
    if (code == CR_OK)
        c->features = cr_arena_strndup(&c->arena, text.data ? text.data : "", text.n);
    cr_buf_clear(&text);
    return code;
}

static cr_code open_indexed(cr_ckpt *c, cr_err *err) {
    ckpt_index x;
    CR_TRY(cr_manifest_read(&c->manifest, c->path, err));
    CR_TRY(cr_ckpt_index_read(&c->arena, c->path, c->manifest, &x, err));
    char **paths = CR_NEW_N(&c->arena, char *, x.n_files + 1);
    if (x.version < CKPT_MANIFEST) c->crcs = CR_NEW_N(&c->arena, uint32_t, x.n_files + 1);
    int n = 0;
    for (int i = 0; i < x.n_files; i++) {
        if (c->weights && cr_ckpt_is_optimizer(x.files[i].name)) continue;
        paths[n] = cr_path_join(&c->arena, c->path, x.files[i].name);
        if (c->crcs) c->crcs[n] = x.files[i].crc;
        int64_t size;
        CR_TRY(cr_ckpt_file_size(paths[n], &size, err));
        if (size != x.files[i].size)
            return CKPT_DAMAGED(paths[n],
                                "%lld bytes, " CKPT_INDEX " says %lld; the file is damaged",
                                (long long)size, (long long)x.files[i].size);
        if (!c->crcs && !cr_manifest_find(c->manifest, x.files[i].name))
            return CKPT_DAMAGED(paths[n], CR_MANIFEST " does not list it; the folder is damaged");
        n++;
    }
    cr_code code = open_files(c, paths, n, err);
    if (code == CR_OK) code = check_index(c, &x, err);
    /* when files do not fit each other, one of them is damaged */
    if (code == CR_ERUN && c->manifest) {
        cr_err why;
        for (int i = 0; i < n; i++)
            if (cr_manifest_check_file(c->manifest, cr_path_base(paths[i]), &why) != CR_OK)
                return pass_on(err, &why);
    }
    CR_TRY(code);
    char *state = cr_path_join(&c->arena, c->path, CKPT_STATE);
    if (c->manifest ? cr_manifest_find(c->manifest, CKPT_STATE) != NULL : cr_path_exists(state)) {
        CR_TRY(cr_ckpt_state_read(&c->arena, state, c->manifest, &c->state, err));
        c->has_state = true;
    }
    return read_features(c, err);
}

/* Is there a manifest that crank wrote, but no index? Then the index was lost. Other tools may have
 * files of that name. */
static bool has_manifest(const char *dir) {
    cr_manifest *m = NULL;
    bool ours = cr_manifest_read(&m, dir, NULL) == CR_OK && m;
    cr_manifest_free(m);
    return ours;
}

static cr_code open_any(cr_ckpt *c, cr_err *err) {
    if (!cr_path_exists(c->path))
        return cr_fail_at(err, CR_EIO, cr_ckpt_at_path(c->path),
                          "no such checkpoint; check the path");
    if (!cr_path_is_dir(c->path)) return open_files(c, &c->path, 1, err);
    if (cr_path_exists(cr_path_join(&c->arena, c->path, CKPT_INDEX)) || has_manifest(c->path))
        return open_indexed(c, err);
    char **names;
    size_t n;
    int m = 0;
    CR_TRY(cr_list_dir(&c->arena, c->path, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(names[i]);
        if (c->weights && cr_ckpt_is_optimizer(names[i])) continue;
        if (names[i][0] != '.' && len > 12 && strcmp(names[i] + len - 12, ".safetensors") == 0)
            names[m++] = cr_path_join(&c->arena, c->path, names[i]);
    }
    if (m == 0)
        return BAD(c->path, "it holds neither " CKPT_INDEX
                            " nor *.safetensors; give a checkpoint directory");
    if (strncmp(cr_path_base(c->path), CKPT_PREFIX, strlen(CKPT_PREFIX)) == 0)
        CR_WARN("%s: no " CKPT_INDEX "; sizes and digests cannot be checked", c->path);
    return open_files(c, names, m, err);
}

static cr_code open_new(cr_ckpt **out, const char *path, bool weights, cr_err *err) {
    cr_ckpt *c = cr_alloc(sizeof *c, "checkpoint");
    c->weights = weights;
    cr_arena_init(&c->arena, 0);
    cr_map_init(&c->by_name);
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    c->path = cr_arena_strndup(&c->arena, path, n);
    cr_code code = open_any(c, err);
    if (code == CR_OK) code = join_int8(c, err);
    if (code != CR_OK) {
        cr_ckpt_close(c);
        return code;
    }
    *out = c;
    return CR_OK;
}

cr_code cr_ckpt_open(cr_ckpt **out, const char *path, cr_err *err) {
    return open_new(out, path, false, err);
}

cr_code cr_ckpt_open_weights(cr_ckpt **out, const char *path, cr_err *err) {
    return open_new(out, path, true, err);
}

void cr_ckpt_close(cr_ckpt *c) {
    if (!c) return;
    for (int i = 0; i < c->n_files; i++)
        cr_st_close(&c->files[i]);
    cr_manifest_free(c->manifest);
    cr_map_clear(&c->by_name);
    cr_arena_clear(&c->arena);
    cr_free(c);
}

int cr_ckpt_count(const cr_ckpt *c) {
    return c->n;
}

const cr_ckpt_info *cr_ckpt_at(const cr_ckpt *c, int i) {
    return &c->v[i].info;
}

static const entry *find(const cr_ckpt *c, const char *name) {
    int64_t i = cr_map_get(&c->by_name, name, strlen(name), -1);
    return i < 0 ? NULL : &c->v[i];
}

int cr_ckpt_number(const cr_ckpt *c, const char *name) {
    return (int)cr_map_get(&c->by_name, name, strlen(name), -1);
}

const cr_ckpt_info *cr_ckpt_find(const cr_ckpt *c, const char *name) {
    const entry *e = find(c, name);
    return e ? &e->info : NULL;
}

const cr_ckpt_state *cr_ckpt_get_state(const cr_ckpt *c) {
    return c->has_state ? &c->state : NULL;
}

const char *cr_ckpt_features(const cr_ckpt *c) {
    return c->features;
}

bool cr_ckpt_is_export(const cr_ckpt *c) {
    return c->manifest && !c->has_state;
}

const char *cr_ckpt_path(const cr_ckpt *c) {
    return c->path;
}

const void *cr_ckpt_view(const cr_ckpt *c, const char *name) {
    const entry *e = find(c, name);
    if (!e || e->n_parts != 1 || e->scale) return NULL;
    return (uintptr_t)e->parts[0].t->data % sizeof(float) ? NULL : e->parts[0].t->data;
}

/* Reads elements of an entry as they are stored, to floats or (whole) to whole numbers; the range
 * was checked before. */
static void read_as(const entry *e, int64_t first, int64_t n, float *out, int64_t *whole) {
    int64_t at = 0; /* first element of the part */
    int64_t size = cr_dtype_size(e->info.dtype);
    for (int i = 0; i < e->n_parts && n > 0; i++) {
        const cr_st_tensor *t = e->parts[i].t;
        int64_t m = at + t->n_elems - first;
        if (m > n) m = n;
        if (m > 0) {
            const char *from = (const char *)t->data + (first - at) * size;
            if (whole) {
                memcpy(whole, from, (size_t)(m * size));
                whole += m;
            } else {
                cr_dtype_to_f32(t->dtype, from, m, out);
                out += m;
            }
            first += m;
            n -= m;
        }
        at += t->n_elems;
    }
}

static void read_stored(const entry *e, int64_t first, int64_t n, float *out) {
    read_as(e, first, n, out, NULL);
}

static void read_elems(const entry *e, int64_t first, int64_t n, float *out) {
    read_stored(e, first, n, out);
    if (!e->scale) return;
    int64_t width = e->info.shape[1];
    for (int64_t i = 0; i < n;) {
        int64_t row = (first + i) / width, end = (row + 1) * width - first;
        float scale, offset;
        if (end > n) end = n;
        read_stored(e->scale, row, 1, &scale);
        read_stored(e->offset, row, 1, &offset);
        for (; i < end; i++)
            out[i] = cr_int8_value(out[i], scale, offset);
    }
}

const char *cr_ckpt_type_name(const cr_ckpt_info *t) {
    return t->int8_rows ? "INT8" : cr_dtype_name(t->dtype);
}

cr_code cr_ckpt_read(const cr_ckpt *c, const char *name, int64_t first, int64_t n, float *out,
                     cr_err *err) {
    const entry *e = find(c, name);
    if (!e) return BAD(c->path, "no tensor '%s' in the checkpoint", name);
    if (first < 0 || n < 0 || first > e->info.n_elems - n)
        return BAD(c->path, "tensor '%s' has only %lld elements", name, (long long)e->info.n_elems);
    read_elems(e, first, n, out);
    return CR_OK;
}

cr_code cr_ckpt_read_whole(const cr_ckpt *c, const char *name, int64_t first, int64_t n,
                           int64_t *out, cr_err *err) {
    const entry *e = find(c, name);
    if (!e) return BAD(c->path, "no tensor '%s' in the checkpoint", name);
    if (e->info.dtype != CR_DT_I64)
        return BAD(c->path, "tensor '%s' is of type %s and must be I64; correct the file", name,
                   cr_ckpt_type_name(&e->info));
    if (first < 0 || n < 0 || first > e->info.n_elems - n)
        return BAD(c->path, "tensor '%s' has only %lld elements", name, (long long)e->info.n_elems);
    read_as(e, first, n, NULL, out);
    return CR_OK;
}

void cr_ckpt_copy(const cr_ckpt *c, const char *name, int64_t first, int64_t n, float *out) {
    cr_arena a;
    cr_arena_init(&a, 0);
    const entry *e = find(c, cr_ckpt_name_in(c, name, &a));
    cr_arena_clear(&a);
    if (!e) CR_BUG("a tensor that the checkpoint does not have");
    int64_t have = e->info.n_elems - first;
    have = have < 0 ? 0 : have < n ? have : n;
    read_elems(e, first, have, out);
    memset(out + have, 0, (size_t)(n - have) * sizeof(float));
}

/* ---- digests ---- */

void cr_ckpt_tell_old(const cr_ckpt *c) {
    if (c->crcs)
        CR_WARN("%s: an older version wrote it, without " CR_MANIFEST
                "; damage is found in its weights "
                "but not in its other files",
                c->path);
}

typedef struct verify_ctx {
    const cr_ckpt *c;
    cr_code *codes;
    cr_err *errs;
} verify_ctx;

/* Version 1: compares the CRC-32. */
static cr_code check_crc(const cr_st_file *f, uint32_t want, cr_err *err) {
    if ((uint32_t)crc32_z(crc32_z(0, NULL, 0), f->map.data, (size_t)f->size) == want) return CR_OK;
    return CKPT_DAMAGED(f->path, "its content does not fit its checksum; the file is damaged");
}

static void verify_file(void *ctx, int64_t i, int thread) {
    (void)thread;
    verify_ctx *v = ctx;
    const cr_st_file *f = &v->c->files[i];
    v->codes[i] = v->c->crcs
                      ? check_crc(f, v->c->crcs[i], &v->errs[i])
                      : cr_manifest_check_file(v->c->manifest, cr_path_base(f->path), &v->errs[i]);
}

cr_code cr_ckpt_verify(const cr_ckpt *c, cr_pool *pool, cr_err *err) {
    if (!c->crcs && !c->manifest) return CR_OK;
    cr_arena a;
    cr_arena_init(&a, 0);
    verify_ctx v = {c, CR_NEW_N(&a, cr_code, c->n_files + 1), CR_NEW_N(&a, cr_err, c->n_files + 1)};
    if (pool)
        cr_pool_run(pool, c->n_files, verify_file, &v);
    else
        for (int i = 0; i < c->n_files; i++)
            verify_file(&v, i, 0);
    cr_code code = CR_OK;
    for (int i = 0; code == CR_OK && i < c->n_files; i++)
        if (v.codes[i] != CR_OK) code = pass_on(err, &v.errs[i]);
    cr_arena_clear(&a);
    return code;
}

#define DIGEST_ENDS ((int64_t)64 << 10) /* bytes at each end of a file */

uint64_t cr_ckpt_digest(const cr_ckpt *c) {
    cr_digest d;
    cr_digest_init(&d);
    for (int i = 0; i < c->n_files; i++) {
        const cr_st_file *f = &c->files[i];
        const char *data = f->map.data;
        int64_t n = f->size < DIGEST_ENDS ? f->size : DIGEST_ENDS;
        const cr_manifest_file *listed =
            c->manifest ? cr_manifest_find(c->manifest, cr_path_base(f->path)) : NULL;
        uint64_t whole = listed ? listed->digest : 0;
        cr_digest_add(&d, &f->size, sizeof f->size);
        cr_digest_add(&d, &whole, sizeof whole);
        cr_digest_add(&d, data, (size_t)n);
        cr_digest_add(&d, data + f->size - n, (size_t)n);
    }
    return cr_digest_end(&d);
}
