/*
 * file.c - opens a Parquet file, reads its footer, and reads bytes at a place.
 *
 *   "PAR1"  pages ...  footer (Thrift)  4 bytes: its length  "PAR1"
 *
 * Only the end of a file is read when it is opened. Every read names its place, so no state is
 * shared and threads use one file freely. A file that shrinks meanwhile is an error and not a
 * signal.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "parquet/parquet_int.h"

#define DEFAULT_BUDGET ((size_t)1 << 30)
#define TAIL           8 /* bytes of length and magic */
#define FAR_SLACK      ((int64_t)128 << 10)

#define AT(f) ((cr_loc){(f)->path, 0, 0})

/* cure_of returns the cure of a cause; page: the cause lies in a page or its header. */
static const char *cure_of(int why, bool page) {
    if (why == CR_PQ_DAMAGED || why == CR_PQ_CHECKSUM)
        return "; the file is damaged, write it again";
    return why == CR_PQ_BUDGET && page ? "; write smaller pages" : "";
}

cr_code cr_pq_wrong(cr_err *err, const cr_pq_file *f, int group, int leaf, int64_t at, int why,
                    const char *fmt, ...) {
    char msg[400], where[32] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    const cr_pq_meta *m = &f->meta;
    const char *column = leaf >= 0 && leaf < m->n_leaves ? m->nodes[m->leaves[leaf]].path : NULL;
    const char *cure = cure_of(why, column != NULL);
    if (at >= 0) snprintf(where, sizeof where, ", byte %lld", (long long)at);
    if (column)
        cr_fail_at(err, CR_EDATA, AT(f), "column '%.100s', row group %d%s: %s%s", column, group,
                   where, msg, cure);
    else if (at >= 0)
        cr_fail_at(err, CR_EDATA, AT(f), "%s: %s%s", where + 2, msg, cure);
    else
        cr_fail_at(err, CR_EDATA, AT(f), "%s%s", msg, cure);
    cr_err_cure(err, cure);
    return cr_fail_why(err, why, CR_EDATA);
}

cr_code cr_pq_pread(const cr_pq_file *f, int64_t at, void *buf, size_t n, cr_err *err) {
    if (at < 0 || at > f->size || n > (uint64_t)(f->size - at))
        return cr_fail_at(err, CR_EDATA, AT(f), "%zu bytes at byte %lld are not in the file (%lld)",
                          n, (long long)at, (long long)f->size);
    size_t got;
    CR_TRY(cr_fs_pread(f->fs, at, buf, n, &got, err));
    if (got < n)
        return cr_fail_at(err, CR_EIO, AT(f),
                          "the file ends at byte %lld, it was longer when it was opened; read it "
                          "again when it is whole",
                          (long long)at + (long long)got);
    return CR_OK;
}

static cr_code open_fs(cr_pq_file *f, cr_err *err) {
    CR_TRY(cr_fs_open(&f->fs, f->path, err));
    const cr_fs_stat *st = cr_fs_info(f->fs);
    if (st->kind == CR_FS_DIR)
        return cr_fail_at(err, CR_EIO, AT(f), "it is a directory; name the files in it");
    if (st->kind != CR_FS_FILE)
        return cr_fail_at(err, CR_EIO, AT(f),
                          "it is not a regular file, but Parquet is read from the end; copy it "
                          "into a file first");
    f->size = st->size;
    return CR_OK;
}

static uint32_t le32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* not_parquet says why a file does not end as a Parquet file does. */
static cr_code not_parquet(const cr_pq_file *f, cr_err *err) {
    uint8_t head[4];
    if (f->size == 0)
        return cr_fail_at(err, CR_EDATA, AT(f),
                          "the file is empty, which no Parquet file is; write it again");
    if (f->size >= 4) {
        CR_TRY(cr_pq_pread(f, 0, head, sizeof head, err));
        if (memcmp(head, "PAR1", 4) == 0)
            return cr_fail_at(err, CR_EDATA, AT(f),
                              "it begins as a Parquet file and has no footer; it is cut short or "
                              "still being written: wait, or write it again");
        if (memcmp(head, "\x1f\x8b", 2) == 0 || memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0)
            return cr_fail_at(err, CR_EDATA, AT(f),
                              "it is compressed as a whole; unpack it, pages are compressed inside "
                              "a Parquet file");
    }
    return cr_fail_why(err, CR_PQ_FOREIGN, cr_fail_at(err, CR_EDATA, AT(f), "not a Parquet file"));
}

static cr_code read_footer(cr_pq_file *f, cr_err *err) {
    uint8_t tail[TAIL];
    if (f->size < TAIL) return not_parquet(f, err);
    CR_TRY(cr_pq_pread(f, f->size - TAIL, tail, sizeof tail, err));
    if (memcmp(tail + 4, "PARE", 4) == 0)
        return cr_fail_at(err, CR_EDATA, AT(f),
                          "the file is encrypted, which is not supported; write it without "
                          "encryption");
    if (memcmp(tail + 4, "PAR1", 4) != 0) return not_parquet(f, err);
    size_t n = le32(tail);
    if ((int64_t)n > f->size - TAIL)
        return cr_fail_at(err, CR_EDATA, AT(f),
                          "its footer should have %zu bytes, the file has %lld; it is damaged", n,
                          (long long)f->size);
    if (n > f->opts.budget)
        return cr_pq_wrong(err, f, -1, -1, -1, CR_PQ_BUDGET,
                           "its footer has %zu bytes, more than the budget of %zu", n,
                           f->opts.budget);
    CR_TRY(cr_try_alloc((void **)&f->footer, n, "a Parquet footer", err));
    CR_TRY(cr_pq_pread(f, f->size - TAIL - (int64_t)n, f->footer, n, err));
    cr_err cause;
    cr_code code =
        cr_pq_parse_footer(f->footer, n, f->size, f->opts.budget, &f->arena, &f->meta, &cause);
    if (code == CR_OK) return CR_OK;
    const char *cure = cure_of(cause.why, false);
    cr_fail_at(err, code, AT(f), "%s%s", cause.msg, cure);
    cr_err_cure(err, cure);
    return cr_fail_why(err, cause.why, code);
}

cr_code cr_pq_open(cr_pq_file **out, const char *path, const cr_pq_opts *opts, cr_err *err) {
    cr_pq_file *f = cr_alloc(sizeof *f, "a Parquet file");
    *out = NULL;
    cr_arena_init(&f->arena, 0);
    f->path = cr_arena_strdup(&f->arena, path);
    if (opts) f->opts = *opts;
    if (!f->opts.budget) f->opts.budget = DEFAULT_BUDGET;
    cr_code code = open_fs(f, err);
    if (code == CR_OK) code = read_footer(f, err);
    if (code != CR_OK) {
        cr_pq_close(f);
        return code;
    }
    *out = f;
    return CR_OK;
}

void cr_pq_close(cr_pq_file *f) {
    if (!f) return;
    cr_fs_close(f->fs);
    cr_free(f->footer);
    cr_arena_clear(&f->arena);
    cr_free(f);
}

const cr_pq_meta *cr_pq_get_meta(const cr_pq_file *f) {
    return &f->meta;
}
const char *cr_pq_path(const cr_pq_file *f) {
    return f->path;
}

cr_fs *cr_pq_fs(const cr_pq_file *f) {
    return f->fs;
}

void cr_pq_will_need(const cr_pq_file *f, int group, const int *leaves, int n, int64_t from,
                     int64_t to) {
    const cr_pq_group *g = &f->meta.groups[group];
    double rows = g->n_rows > 0 ? (double)g->n_rows : 1;
    /* with a far store, a guess that is short by one page costs another request */
    int64_t slack = cr_fs_is_far(f->fs) ? FAR_SLACK : 0;
    cr_fs_range v[128];
    int k = 0;
    for (int i = 0; i < n; i++) {
        const cr_pq_chunk *c = &g->chunks[leaves[i]];
        int64_t a = (int64_t)((double)from / rows * (double)c->size) - slack;
        int64_t z = (int64_t)((double)to / rows * (double)c->size) + slack;
        if (a < 0) a = 0;
        if (z > c->size) z = c->size;
        if (z > a) v[k++] = (cr_fs_range){c->start + a, z - a};
        /* the dictionary is read first, whichever rows are read */
        if (slack && a > 0 && c->data_start > c->start)
            v[k++] = (cr_fs_range){c->start, c->data_start - c->start};
        if (k + 2 > (int)(sizeof v / sizeof *v) || i + 1 == n) {
            cr_fs_will_need(f->fs, v, k);
            k = 0;
        }
    }
}

cr_code cr_pq_read_index(const cr_pq_file *f, int group, int leaf, cr_arena *arena,
                         cr_pq_index *out, cr_err *err) {
    const cr_pq_group *g = &f->meta.groups[group];
    const cr_pq_chunk *c = &g->chunks[leaf];
    size_t n = (size_t)c->offset_index_size, k = (size_t)c->column_index_size;
    cr_err cause;
    *out = (cr_pq_index){0};
    if (!c->offset_index) return CR_OK;
    if (n > f->opts.budget || k > f->opts.budget - n)
        return cr_pq_wrong(err, f, group, leaf, c->offset_index, CR_PQ_BUDGET,
                           "the page index needs more than the budget");
    uint8_t *p = cr_arena_alloc(arena, n + k);
    CR_TRY(cr_pq_pread(f, c->offset_index, p, n, err));
    cr_code code = cr_pq_parse_offset_index(p, n, c, g->n_rows, f->opts.budget, arena, out, &cause);
    if (code == CR_OK && c->column_index) {
        CR_TRY(cr_pq_pread(f, c->column_index, p + n, k, err));
        code =
            cr_pq_parse_column_index(p + n, k, &f->meta.nodes[f->meta.leaves[leaf]], out, &cause);
    }
    if (code == CR_OK) return CR_OK;
    *out = (cr_pq_index){0};
    return cr_pq_wrong(err, f, group, leaf, c->offset_index, cause.why, "%s", cause.msg);
}

#define HEAD_SIZE ((size_t)1 << 10) /* statistics can make a header long */

cr_code cr_pq_list_page(const cr_pq_file *f, int group, int leaf, int64_t *at, cr_buf *head,
                        cr_pq_page_note *out, bool *more, cr_err *err) {
    const cr_pq_chunk *c = &f->meta.groups[group].chunks[leaf];
    int64_t end = c->start + c->size;
    cr_pq_page_head h;
    size_t used = 0;
    cr_err cause;
    if (*at == 0) *at = c->start;
    *more = *at < end;
    if (!*more) return CR_OK;
    for (size_t n = HEAD_SIZE; !used; n *= 8) {
        bool all = (int64_t)n >= end - *at;
        if (all) n = (size_t)(end - *at);
        if (n > f->opts.budget)
            return cr_pq_wrong(err, f, group, leaf, *at, CR_PQ_BUDGET,
                               "a page header needs more than the budget");
        cr_buf_reset(head);
        cr_buf_reserve(head, n);
        CR_TRY(cr_pq_pread(f, *at, head->data, n, err));
        head->n = n;
        if (cr_pq_parse_page_head((const uint8_t *)head->data, n, &h, &used, &cause) != CR_OK)
            return cr_pq_wrong(err, f, group, leaf, *at, cause.why, "%s", cause.msg);
        if (!used && all)
            return cr_pq_fail(err, f, group, leaf, *at, "the chunk ends within a page header");
    }
    bool v2 = h.type == CR_PQ_DATA2;
    *out = (cr_pq_page_note){.offset = *at,
                             .head_size = (int)used,
                             .size = h.size,
                             .raw_size = h.raw_size,
                             .type = h.type,
                             .encoding = h.encoding,
                             .n_values = h.n_values,
                             .n_nulls = v2 ? h.n_nulls : -1,
                             .n_rows = v2 ? h.n_rows : -1,
                             .has_crc = h.has_crc,
                             .stats = h.stats};
    if (h.size > end - *at - (int64_t)used)
        return cr_pq_fail(err, f, group, leaf, *at, "a page of %d bytes passes the chunk's end",
                          h.size);
    *at += (int64_t)used + h.size;
    return CR_OK;
}
