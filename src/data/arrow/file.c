/*
 * file.c - opens Arrow files and streams and finds their messages.
 *
 * A local file is mapped. Of a file on a store only the footer and the heads of messages are read
 * here; bodies are read when they are needed. A stream in a file is walked from message to message.
 * A mapped file that becomes shorter ends the process with SIGBUS, so readers look at the file
 * again before each block (file_id.h).
 */
#include <stdio.h>
#include <string.h>

#include "data/arrow/ipc_int.h"

#define DEFAULT_BUDGET ((size_t)4 << 30)
#define MAGIC          "ARROW1"
#define MAX_META       ((int64_t)256 << 20)
#define MAX_ROWS       ((int64_t)1 << 40) /* of a batch: sums of rows must not wrap around */

/* Slots, in the order of the format's Message.fbs and File.fbs. */
enum { M_VERSION, M_KIND, M_HEADER, M_BODY };
enum { B_LENGTH };
enum { D_ID, D_DATA, D_DELTA };
enum { E_VERSION, E_SCHEMA, E_DICTS, E_BATCHES };

#define AT(f) ((cr_loc){(f)->path, 0, 0})

static const uint8_t none[16]; /* in place of bytes that could not be read */

cr_code cr_arrow_wrong(cr_err *err, const cr_arrow_file *f, int64_t at, int why, const char *fmt,
                       ...) {
    char msg[400], where[40] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    const char *cure = why == CR_ARROW_DAMAGED ? "; the file is damaged, write it again" : "";
    if (at >= 0) snprintf(where, sizeof where, "byte %lld: ", (long long)at);
    cr_fail_at(err, CR_EDATA, AT(f), "%s%s%s", where, msg, cure);
    cr_err_cure(err, cure);
    return cr_fail_why(err, why, CR_EDATA);
}

#define WRONG(at, ...) cr_arrow_wrong(err, f, (at), CR_ARROW_DAMAGED, __VA_ARGS__)

/* Gives n bytes at `at`: in place, or read into the arena. */
static cr_code bytes_at(cr_arrow_file *f, int64_t at, int64_t n, const uint8_t **out, cr_err *err) {
    if (at < 0 || n < 0 || at > f->size || n > f->size - at)
        return WRONG(at, "%lld bytes are not in the file, which has %lld", (long long)n,
                     (long long)f->size);
    if (f->mem) {
        *out = f->mem + at;
        return CR_OK;
    }
    uint8_t *p = cr_arena_alloc(&f->arena, (size_t)n + 1);
    size_t got;
    CR_TRY(cr_fs_pread(f->fs, at, p, (size_t)n, &got, err));
    if (got < (size_t)n)
        return cr_fail_at(err, CR_EIO, AT(f),
                          "the file became shorter while it was read; run again");
    *out = p;
    return CR_OK;
}

/* ---- messages ---- */

static cr_arrow_msg *add_msg(cr_arrow_file *f, cr_arrow_msg **v, int *n, int *cap) {
    if (*n == *cap) {
        int more = *cap ? 2 * *cap : 16;
        cr_arrow_msg *w = CR_NEW_N(&f->arena, cr_arrow_msg, more);
        if (*n) memcpy(w, *v, (size_t)*n * sizeof(*w));
        *v = w;
        *cap = more;
    }
    return &(*v)[(*n)++];
}

/* Takes the head of a message whose FlatBuffer is meta. n_body: in a stream, -1: the message tells
 * it. */
static cr_code take_msg(cr_arrow_file *f, cr_arrow_msg m, int64_t *n_body, int *kind, cr_err *err) {
    cr_flat b = {m.meta, (size_t)m.n_meta, false};
    cr_flat_table t = cr_flat_root(&b);
    *kind = (int)cr_flat_int(&b, t, M_KIND, 1, false, 0);
    int64_t version = cr_flat_int(&b, t, M_VERSION, 2, true, 0);
    m.n_body = cr_flat_int(&b, t, M_BODY, 8, true, 0);
    cr_flat_table head = cr_flat_sub(&b, t, M_HEADER);
    if (b.bad || m.n_body < 0 || m.body < 0 || m.body > f->size || m.n_body > f->size - m.body)
        return WRONG(m.at, b.bad ? "a message is damaged" : "a message is cut short");
    if (version < 3) /* V4, which Arrow writes since 0.8 */
        return cr_arrow_wrong(err, f, m.at, CR_ARROW_FOREIGN,
                              "the message has version %lld, of an Arrow before 0.8; write it with "
                              "a newer one",
                              (long long)version + 1);
    *n_body = m.n_body;
    cr_flat_table rows = head;
    if (*kind == CR_ARROW_MSG_SCHEMA) {
        if (f->schema.v || f->n_batches) return WRONG(m.at, "it has two schemas");
        const char *wrong = cr_arrow_read_schema(&b, head, &f->schema, &f->arena);
        if (b.bad) return WRONG(m.at, "the schema is damaged");
        if (wrong) return cr_arrow_wrong(err, f, m.at, CR_ARROW_FOREIGN, "schema: %s", wrong);
        if (!f->schema.v) f->schema.v = CR_NEW(&f->arena, cr_arrow_field);
        return CR_OK;
    }
    if (*kind == CR_ARROW_MSG_DICT) {
        m.dict = cr_flat_int(&b, head, D_ID, 8, true, 0);
        m.delta = cr_flat_int(&b, head, D_DELTA, 1, false, 0) != 0;
        rows = cr_flat_sub(&b, head, D_DATA);
    }
    if (*kind != CR_ARROW_MSG_DICT && *kind != CR_ARROW_MSG_BATCH) return CR_OK;
    m.n_rows = cr_flat_int(&b, rows, B_LENGTH, 8, true, 0);
    if (b.bad) return WRONG(m.at, "a message is damaged");
    if (m.n_rows < 0 || m.n_rows > MAX_ROWS)
        return WRONG(m.at, "a batch claims %lld rows", (long long)m.n_rows);
    m.dicts_before = f->n_dicts;
    if (*kind == CR_ARROW_MSG_DICT)
        *add_msg(f, &f->dicts, &f->n_dicts, &f->cap_dicts) = m;
    else
        *add_msg(f, &f->batches, &f->n_batches, &f->cap_batches) = m;
    return CR_OK;
}

/* Reads the length in front of a message at `at`; *n 0: the end of the stream. */
static cr_code message_at(cr_arrow_file *f, int64_t at, int64_t *head, int64_t *n, cr_err *err) {
    const uint8_t *p = none;
    *n = 0;
    *head = 8;
    if (f->size - at < (f->partial ? 8 : 4)) return CR_OK;
    int64_t here = f->size - at < 8 ? 4 : 8;
    CR_TRY(bytes_at(f, at, here, &p, err));
    int32_t first = cr_flat_i32(p);
    if (first != -1)
        *head = 4; /* as Arrow before 0.15 wrote it */
    else if (here < 8)
        return WRONG(at, "a message is cut short");
    *n = first != -1 ? first : cr_flat_i32(p + 4);
    if (*n < 0 || *n > MAX_META) return WRONG(at, "a message claims %lld bytes", (long long)*n);
    return CR_OK;
}

/* Is all of a message there? Of one that makes no sense, whoever reads it tells. */
static bool is_whole(const cr_arrow_file *f, cr_arrow_msg m) {
    if (m.n_meta > f->size - (m.body - m.n_meta)) return false;
    cr_flat b = {f->mem + m.body - m.n_meta, (size_t)m.n_meta, false};
    int64_t n = cr_flat_int(&b, cr_flat_root(&b), M_BODY, 8, true, 0);
    return b.bad || n < 0 || n <= f->size - m.body;
}

static cr_code read_stream(cr_arrow_file *f, int64_t at, cr_err *err) {
    while (at < f->size) {
        int64_t head, n, n_body;
        int kind;
        CR_TRY(message_at(f, at, &head, &n, err));
        if (n == 0) {
            f->ended = f->size - at >= (f->partial ? 8 : 4);
            break;
        }
        cr_arrow_msg m = {.at = at, .n_meta = n, .body = at + head + n};
        if (f->partial && !is_whole(f, m)) break;
        CR_TRY(bytes_at(f, at + head, n, &m.meta, err));
        CR_TRY(take_msg(f, m, &n_body, &kind, err));
        if (!f->schema.v) return WRONG(at, "the stream does not begin with a schema");
        at = m.body + n_body;
    }
    if (!f->schema.v) return WRONG(at, "the stream has no schema");
    return CR_OK;
}

/* Lists the messages of a footer. */
static cr_code read_blocks(cr_arrow_file *f, const cr_flat *b, cr_flat_vec v, int want,
                           cr_err *err) {
    cr_fs_range *ahead = CR_NEW_N(&f->arena, cr_fs_range, (int64_t)v.n + 1);
    for (size_t i = 0; i < v.n && !f->mem; i++) {
        int64_t at = cr_flat_i64(b->p + v.at + 24 * i), n = cr_flat_i32(b->p + v.at + 24 * i + 8);
        if (at >= 0 && at < f->size && n > 0 && n <= f->size - at) ahead[i] = (cr_fs_range){at, n};
    }
    if (!f->mem && v.n < (size_t)1 << 24) cr_fs_will_need(f->fs, ahead, (int)v.n);
    for (size_t i = 0; i < v.n; i++) {
        const uint8_t *p = b->p + v.at + 24 * i;
        int64_t at = cr_flat_i64(p), whole = cr_flat_i32(p + 8), n, head, n_body;
        int kind;
        if (at < 0 || at > f->size || whole < 8 || whole > f->size - at)
            return WRONG(at, "the footer names a message that is not in the file");
        CR_TRY(message_at(f, at, &head, &n, err));
        if (n == 0 || head + n > whole) return WRONG(at, "the footer names no message here");
        cr_arrow_msg m = {.at = at, .n_meta = n, .body = at + whole};
        CR_TRY(bytes_at(f, at + head, n, &m.meta, err));
        CR_TRY(take_msg(f, m, &n_body, &kind, err));
        if (kind != want) return WRONG(at, "the footer names a message of another type");
    }
    return CR_OK;
}

static cr_code read_footer(cr_arrow_file *f, cr_err *err) {
    const uint8_t *p = none;
    if (f->size < 24)
        return WRONG(-1, "an Arrow file of %lld bytes is cut short", (long long)f->size);
    CR_TRY(bytes_at(f, f->size - 10, 10, &p, err));
    if (memcmp(p + 4, MAGIC, 6) != 0)
        return WRONG(-1, "the mark " MAGIC " is missing at its end; it is cut short");
    int64_t n = cr_flat_i32(p), at = f->size - 10 - n;
    if (n <= 0 || at < 8) return WRONG(-1, "a footer of %lld bytes", (long long)n);
    CR_TRY(bytes_at(f, at, n, &p, err));
    cr_flat b = {p, (size_t)n, false};
    cr_flat_table t = cr_flat_root(&b);
    const char *wrong =
        cr_arrow_read_schema(&b, cr_flat_sub(&b, t, E_SCHEMA), &f->schema, &f->arena);
    cr_flat_vec dicts = cr_flat_list(&b, t, E_DICTS, 24);
    cr_flat_vec batches = cr_flat_list(&b, t, E_BATCHES, 24);
    if (b.bad) return WRONG(at, "the footer is damaged");
    if (wrong) return cr_arrow_wrong(err, f, at, CR_ARROW_FOREIGN, "schema: %s", wrong);
    if (!f->schema.v) f->schema.v = CR_NEW(&f->arena, cr_arrow_field);
    f->ended = true;
    CR_TRY(read_blocks(f, &b, dicts, CR_ARROW_MSG_DICT, err));
    return read_blocks(f, &b, batches, CR_ARROW_MSG_BATCH, err);
}

static cr_code read_messages(cr_arrow_file *f, cr_err *err) {
    const uint8_t *p = none;
    int64_t n = f->size < 8 ? f->size : 8;
    CR_TRY(bytes_at(f, 0, n, &p, err));
    if (n >= 6 && memcmp(p, MAGIC, 6) == 0) return read_footer(f, err);
    if (f->schema.v) return read_stream(f, 0, err);
    if (n >= 4 && memcmp(p, "FEA1", 4) == 0)
        return cr_arrow_wrong(err, f, -1, CR_ARROW_FOREIGN,
                              "it is a Feather file of version 1; write it as version 2, which is "
                              "an Arrow file");
    bool mark = n == 8 && cr_flat_i32(p) == -1 && cr_flat_i32(p + 4) > 0;
    bool old = n == 8 && cr_flat_i32(p) > 0 && cr_flat_i32(p) <= f->size - 4 &&
               cr_flat_i32(p) % 8 == 4; /* the length ends at a multiple of 8 */
    if (!mark && !old)
        return cr_arrow_wrong(err, f, -1, CR_ARROW_FOREIGN,
                              "it is neither an Arrow file nor a stream");
    return read_stream(f, 0, err);
}

/* ---- opening ---- */

static cr_code open_bytes(cr_arrow_file *f, cr_err *err) {
    CR_TRY(cr_fs_open(&f->fs, f->path, err));
    const cr_fs_stat *st = cr_fs_info(f->fs);
    if (st->kind == CR_FS_DIR)
        return cr_fail_at(err, CR_EIO, AT(f), "it is a directory; name the files in it");
    if (st->kind != CR_FS_FILE)
        return cr_fail_at(
            err, CR_EIO, AT(f),
            "it is not a regular file, but Arrow data is read from any place; copy it "
            "into a file first");
    f->size = st->size;
    if (cr_fs_is_far(f->fs)) return CR_OK;
    CR_TRY(cr_fs_map_file(&f->map, f->fs, err));
    f->mem = f->map.data;
    return CR_OK;
}

static cr_arrow_file *new_file(const char *path, const cr_arrow_opts *opts) {
    cr_arrow_file *f = cr_alloc(sizeof(*f), "an Arrow file");
    cr_arena_init(&f->arena, 0);
    f->path = cr_arena_strdup(&f->arena, path);
    f->budget = opts && opts->budget ? opts->budget : DEFAULT_BUDGET;
    if (opts && opts->schema) f->schema = *opts->schema;
    f->partial = opts && opts->partial;
    return f;
}

static cr_code finish(cr_arrow_file *f, cr_code code, cr_arrow_file **out, cr_err *err) {
    if (code == CR_OK) code = read_messages(f, err);
    if (code != CR_OK) {
        cr_arrow_close(f);
        return code;
    }
    *out = f;
    return CR_OK;
}

cr_code cr_arrow_open(cr_arrow_file **out, const char *path, const cr_arrow_opts *opts,
                      cr_err *err) {
    *out = NULL;
    cr_arrow_file *f = new_file(path, opts);
    return finish(f, open_bytes(f, err), out, err);
}

cr_code cr_arrow_open_mem(cr_arrow_file **out, const void *data, int64_t size, const char *name,
                          const cr_arrow_opts *opts, cr_err *err) {
    *out = NULL;
    cr_arrow_file *f = new_file(name, opts);
    f->mem = size > 0 ? data : (const void *)"";
    f->size = size;
    return finish(f, CR_OK, out, err);
}

void cr_arrow_close(cr_arrow_file *f) {
    if (!f) return;
    cr_fs_unmap(&f->map);
    cr_fs_close(f->fs);
    cr_arena_clear(&f->arena);
    cr_free(f);
}

const cr_arrow_schema *cr_arrow_get_schema(const cr_arrow_file *f) {
    return &f->schema;
}

const char *cr_arrow_path(const cr_arrow_file *f) {
    return f->path;
}

cr_fs *cr_arrow_fs(const cr_arrow_file *f) {
    return f->fs;
}

int cr_arrow_n_batches(const cr_arrow_file *f) {
    return f->n_batches;
}

int64_t cr_arrow_batch_rows(const cr_arrow_file *f, int batch) {
    return f->batches[batch].n_rows;
}

bool cr_arrow_ended(const cr_arrow_file *f) {
    return f->ended;
}
