/*
 * tfrecord.c - TFRecordDataset: record files of tf.train.Example messages, whose features are the
 * columns.
 *
 * A record is length (8 bytes), checksum of the length (4), data, checksum of the data (4), all
 * little-endian. Nothing marks where a record begins, so that files are read front to back. An
 * Example is Features {1}, which is a map {1} from a name {1} to a Feature {2}: bytes_list {1},
 * float_list {2} or int64_list {3} with the values {1}. In messages the line is the number of the
 * record, from 1.
 */
#include <string.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/shown.h"
#include "data/files.h"
#include "data/rows/rows_int.h"

#define HEAD 12 /* length and its checksum */
#define TAIL 4

/* ---- records ---- */

static uint64_t u64(const char *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}

static uint32_t u32(const char *p) {
    uint32_t x;
    memcpy(&x, p, 4);
    return x;
}

static cr_code damaged(const cr_source *s, int64_t file, int64_t record, const char *why,
                       cr_err *err) {
    return cr_fail_at(err, CR_EDATA, ((cr_loc){s->files[file].path, (int)record, 0}),
                      "record %lld: %s; write the file again", (long long)record, why);
}

/* Reads until `size` bytes are there, or the file ends. */
static cr_code fill(cr_source *s, size_t size, cr_err *err) {
    CR_TRY(cr_csv_reserve(&s->carry, size, err));
    while (!s->front_eof && s->carry.size < size) {
        size_t got;
        CR_TRY(cr_stream_read(s->front, s->carry.text + s->carry.size, size - s->carry.size, &got,
                              err));
        s->carry.size += got;
        s->front_eof = got == 0;
    }
    return CR_OK;
}

static cr_code begin_file(cr_source *s, int64_t file, cr_err *err) {
    const cr_csv_file *f = &s->files[file];
    cr_stream_close(s->front);
    s->front = NULL;
    CR_TRY(cr_stream_open(&s->front, f->path, err));
    CR_TRY(cr_stream_check(s->front, &f->id, err));
    s->front_file = file;
    s->front_block = 0;
    s->front_line = 1;
    s->front_eof = false;
    s->carry.size = 0;
    return CR_OK;
}

/* Finds the end of the records that fit into a block; *n: how many there are. */
static cr_code whole_records(cr_source *s, int64_t file, size_t *end, int64_t *n, cr_err *err) {
    *end = 0;
    *n = 0;
    while (*end < s->block) {
        CR_TRY(fill(s, *end + HEAD, err));
        if (s->carry.size == *end) return CR_OK;
        if (s->carry.size < *end + HEAD)
            return damaged(s, file, s->front_line + *n, "the file ends inside of it", err);
        const char *p = s->carry.text + *end;
        uint64_t size = u64(p);
        if (cr_crc32c_masked(p, 8) != u32(p + 8))
            return damaged(s, file, s->front_line + *n,
                           "its length is damaged, or this is no TFRecord file", err);
        if (size > CR_CSV_MAX_ROW)
            return damaged(s, file, s->front_line + *n, "it is longer than 64 MiB", err);
        size_t whole = HEAD + (size_t)size + TAIL;
        CR_TRY(fill(s, *end + whole, err));
        if (s->carry.size < *end + whole)
            return damaged(s, file, s->front_line + *n, "the file ends inside of it", err);
        *end += whole;
        ++*n;
    }
    return CR_OK;
}

static cr_code tf_cut(cr_source *s, int64_t file, int64_t block, cr_raw *raw, bool *end,
                      cr_err *err) {
    size_t size;
    int64_t n;
    *end = false;
    raw->file = file;
    raw->block = block;
    if (block == 0) CR_TRY(begin_file(s, file, err));
    if (!s->front || s->front_file != file || s->front_block != block)
        CR_BUG("blocks of a record file are cut in order");
    CR_TRY(cr_stream_check(s->front, &s->files[file].id, err));
    CR_TRY(whole_records(s, file, &size, &n, err));
    raw->size = 0;
    raw->offset = -1;
    raw->first_row = s->front_line - 1;
    raw->first_line = s->front_line;
    *end = size == 0;
    if (*end) return CR_OK;
    CR_TRY(cr_csv_reserve(raw, size, err));
    memcpy(raw->text, s->carry.text, size);
    raw->size = size;
    memmove(s->carry.text, s->carry.text + size, s->carry.size - size);
    s->carry.size -= size;
    s->front_line += n;
    s->front_block++;
    return CR_OK;
}

/* ---- messages ---- */

typedef struct bytes {
    const char *p, *end;
} bytes;

static bool varint(bytes *b, uint64_t *out) {
    *out = 0;
    for (int shift = 0; shift < 64 && b->p < b->end; shift += 7) {
        unsigned char c = (unsigned char)*b->p++;
        *out |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) return true;
    }
    return false;
}

/* Reads the next field: its number, its wire type, and its bytes or number. */
typedef struct field {
    uint64_t number, x;
    int wire;
    bytes b; /* wire 2 */
} field;

static bool next(bytes *b, field *f) {
    uint64_t key, n;
    if (!varint(b, &key)) return false;
    f->number = key >> 3;
    f->wire = (int)(key & 7);
    switch (f->wire) {
    case 0: return varint(b, &f->x);
    case 1:
        if (b->end - b->p < 8) return false;
        f->x = u64(b->p);
        b->p += 8;
        return true;
    case 2:
        if (!varint(b, &n) || n > (uint64_t)(b->end - b->p)) return false;
        f->b = (bytes){b->p, b->p + n};
        b->p += n;
        return true;
    case 5:
        if (b->end - b->p < 4) return false;
        f->x = u32(b->p);
        b->p += 4;
        return true;
    default: return false;
    }
}

/* Where the values of an Example go. */
typedef struct taking {
    cr_source *look; /* the first rows are looked at; NULL: into rows */
    cr_rows *rows;
    const struct cr_rowset *set;
    const char *text; /* of the block */
    const char *why;
    bytes name;
    int col;
    int64_t n; /* values of this feature so far */
    cr_rowval first;
} taking;

/* The first value waits, because one value alone is no list where the column is none. */
static bool add(taking *t, const cr_rowval *v) {
    if (t->n++ == 0) {
        t->first = *v;
        return true;
    }
    if (t->look || t->col < 0) return true;
    const char *why = NULL;
    if (t->n == 2) {
        why = cr_rows_list(t->rows, t->col);
        if (!why) why = cr_rows_put(t->rows, t->col, &t->first, true);
    }
    if (!why) why = cr_rows_put(t->rows, t->col, v, true);
    if (why) t->why = why;
    return !why;
}

static bool finish(taking *t) {
    if (t->n == 0) return true; /* an empty feature is no value */
    if (t->look) {
        cr_rowset_saw(t->look, t->name.p, (size_t)(t->name.end - t->name.p), t->first.kind,
                      t->n > 1);
        return true;
    }
    if (t->col < 0 || t->n > 1) return true;
    t->why = cr_rows_put(t->rows, t->col, &t->first, false);
    return !t->why;
}

static cr_rowval float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return (cr_rowval){.kind = CR_VAL_F64, .f = (double)f};
}

/* Reads the values of a list; kind: 1 bytes, 2 floats, 3 whole numbers. */
static bool values(taking *t, bytes b, uint64_t kind) {
    field f;
    while (b.p < b.end) {
        if (!next(&b, &f)) return false;
        if (f.number != 1) continue;
        if (kind == 1 && f.wire == 2) {
            cr_rowval v = {.kind = CR_VAL_TEXT,
                           .beg = (uint32_t)(f.b.p - t->text),
                           .end = (uint32_t)(f.b.end - t->text)};
            if (!add(t, &v)) return false;
        } else if (kind == 2 && f.wire == 5) {
            cr_rowval v = float_of((uint32_t)f.x);
            if (!add(t, &v)) return false;
        } else if (kind == 2 && f.wire == 2 && (f.b.end - f.b.p) % 4 == 0) {
            for (const char *p = f.b.p; p < f.b.end; p += 4) {
                cr_rowval v = float_of(u32(p));
                if (!add(t, &v)) return false;
            }
        } else if (kind == 3 && f.wire == 0) {
            cr_rowval v = {.kind = CR_VAL_I64, .i = (int64_t)f.x};
            if (!add(t, &v)) return false;
        } else if (kind == 3 && f.wire == 2) {
            uint64_t x;
            while (f.b.p < f.b.end) {
                if (!varint(&f.b, &x)) return false;
                cr_rowval v = {.kind = CR_VAL_I64, .i = (int64_t)x};
                if (!add(t, &v)) return false;
            }
        } else {
            return false;
        }
    }
    return true;
}

/* Reads one entry of the map of features. */
static bool entry(taking *t, bytes b) {
    field f;
    bytes feature = {0};
    t->name = (bytes){0};
    while (b.p < b.end) {
        if (!next(&b, &f)) return false;
        if (f.number == 1 && f.wire == 2) t->name = f.b;
        if (f.number == 2 && f.wire == 2) feature = f.b;
    }
    if (!t->name.p) return true;
    t->col = (int)cr_map_get(&t->set->index, t->name.p, (size_t)(t->name.end - t->name.p), -1);
    t->n = 0;
    while (feature.p < feature.end) {
        if (!next(&feature, &f)) return false;
        if (f.wire == 2 && f.number >= 1 && f.number <= 3 && !values(t, f.b, f.number))
            return false;
    }
    return finish(t);
}

static bool example(taking *t, bytes b) {
    field f, g;
    while (b.p < b.end) {
        if (!next(&b, &f)) return false;
        if (f.number != 1 || f.wire != 2) continue;
        bytes map = f.b;
        while (map.p < map.end) {
            if (!next(&map, &g)) return false;
            if (g.number == 1 && g.wire == 2 && !entry(t, g.b)) return false;
        }
    }
    return true;
}

/* Reads the record at p; the frame around it was checked when the block was cut. */
static bool record(taking *t, const char *p, size_t *whole) {
    size_t size = (size_t)u64(p);
    *whole = HEAD + size + TAIL;
    t->why = NULL;
    if (cr_crc32c_masked(p + HEAD, size) != u32(p + HEAD + size)) {
        t->name = (bytes){0};
        t->why = "its checksum differs: the data is damaged";
        return false;
    }
    t->name = (bytes){0};
    if (example(t, (bytes){p + HEAD, p + HEAD + size})) return true;
    if (!t->why) {
        t->name = (bytes){0};
        t->why = "it is no tf.train.Example";
    }
    return false;
}

static int64_t count_records(const cr_raw *raw) {
    int64_t n = 0;
    for (size_t at = 0; at < raw->size; n++)
        at += HEAD + (size_t)u64(raw->text + at) + TAIL;
    return n;
}

static cr_code tf_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                        cr_err *err) {
    (void)err;
    cr_rows r;
    int64_t line = raw->first_line;
    cr_arena_reset(&chunk->arena);
    cr_rows_init(&r, s, count_records(raw), raw->text, true, &chunk->arena);
    taking t = {.rows = &r, .set = s->rows, .text = raw->text};
    for (size_t at = 0, whole; at < raw->size; at += whole, line++) {
        char name[CR_SHOW];
        cr_rows_begin(&r, line);
        bool good = record(&t, raw->text + at, &whole);
        cr_rows_end(&r, good);
        if (!good && t.name.p)
            cr_bad_add(bad, -1, line, "feature '%s': %s",
                       cr_show(name, t.name.p, (size_t)(t.name.end - t.name.p)), t.why);
        else if (!good)
            cr_bad_add(bad, -1, line, "record %lld: %s", (long long)line, t.why);
    }
    cr_rows_chunk(&r, chunk);
    chunk->path = s->files[raw->file].path;
    chunk->first_row = raw->first_row;
    return CR_OK;
}

/* ---- the reader ---- */

static void look(cr_source *s, cr_diag *diag) {
    cr_raw raw = {0};
    cr_err err;
    bool end = false;
    if (s->n_files > 0 && tf_cut(s, 0, 0, &raw, &end, &err) != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
    } else {
        taking t = {.look = s, .set = s->rows, .text = raw.text};
        for (size_t at = 0, whole; at < raw.size && s->rows->n_looked < CR_ROWS_LOOK; at += whole)
            s->rows->n_looked += record(&t, raw.text + at, &whole);
        cr_rowset_end(s, "feature", s->n_files > 0 ? s->files[0].path : "the data", diag);
    }
    cr_free(raw.text);
}

static const char *const exts[] = {".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz",
                                   NULL};

static void open_files(cr_source *s, const char *paths, cr_diag *diag) {
    cr_err err = {0};
    char **list = NULL;
    size_t n = 0;
    cr_code code = cr_data_files(s->conf, &s->arena, paths, exts, &list, &n, &err);
    s->files = CR_NEW_N(&s->arena, cr_csv_file, n + 1);
    for (size_t i = 0; code == CR_OK && i < n; i++) {
        cr_csv_file *f = &s->files[i];
        cr_stream *st = NULL;
        *f = (cr_csv_file){.path = list[i], .front = true, .first_line = 1};
        code = cr_stream_open(&st, f->path, &err);
        if (code == CR_OK && cr_stream_live(st))
            code = cr_fail_at(&err, CR_EDATA, ((cr_loc){f->path, 0, 0}),
                              "records are read from files; write them to one");
        if (code == CR_OK) code = cr_stream_id(st, &f->id, &err);
        if (code == CR_OK) f->size = cr_stream_size(st);
        cr_stream_close(st);
        s->n_files = (int64_t)i + 1;
    }
    if (code != CR_OK) cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
}

static cr_code tf_open(cr_source **out, const cr_data_conf *conf, const char *paths,
                       const cr_want *want, int n_want, cr_diag *diag) {
    *out = NULL;
    size_t errors = diag->n_errors;
    cr_source *s = cr_csv_source(conf, want, n_want);
    (void)cr_rowset_new(s);
    open_files(s, paths, diag);
    if (diag->n_errors == errors) look(s, diag);
    if (diag->n_errors > errors) {
        cr_csv_close(s);
        return cr_diag_code(diag);
    }
    *out = s;
    return CR_OK;
}

const cr_reader_type cr_reader_tfrecord = {
    .name = "TFRecordDataset",
    .exts = exts,
    .open = tf_open,
    .close = cr_csv_close,
    .n_files = cr_csv_n_files,
    .path = cr_csv_path,
    .file_id = cr_csv_file_id,
    .n_blocks = cr_csv_n_blocks,
    .cut = tf_cut,
    .parse = tf_parse,
    .set_block = cr_csv_set_block,
    .columns = cr_csv_columns,
    .kinds = cr_rowset_kinds,
    .typed = true,
};
