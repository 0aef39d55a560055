/*
 * csv_help.h - what the tests of the CSV reader and the loader share: temporary files (plain, gzip,
 * zstd), data configs, and a list of all rows of a data set read block by block.
 */
#ifndef CR_TESTS_CSV_HELP_H
#define CR_TESTS_CSV_HELP_H

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/rng.h"
#include "data/reader.h"
#include "harness.h"

static char h_dir[] = "/tmp/crank-csv-XXXXXX";
static bool h_made;

static inline const char *h_path(const char *name) {
    static char paths[16][256];
    static int next;
    if (!h_made && !mkdtemp(h_dir)) abort();
    h_made = true;
    char *p = paths[next++ % 16];
    snprintf(p, 256, "%s/%s", h_dir, name);
    return p;
}

static inline const char *h_write(const char *name, const char *data, size_t n) {
    const char *path = h_path(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0) abort();
    return path;
}

/* gzip or zstd in `parts` members or frames */
static inline void h_pack(cr_buf *out, const char *data, size_t n, bool zstd, int parts) {
    for (int i = 0; i < parts; i++) {
        size_t a = n * (size_t)i / (size_t)parts, z = n * (size_t)(i + 1) / (size_t)parts;
        size_t cap = ZSTD_compressBound(z - a) + 1024;
        cr_buf_reserve(out, cap);
        if (zstd) {
            size_t k = ZSTD_compress(out->data + out->n, cap, data + a, z - a, 1);
            if (ZSTD_isError(k)) abort();
            out->n += k;
            continue;
        }
        z_stream s = {0};
        if (deflateInit2(&s, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
        s.next_in = (unsigned char *)(uintptr_t)(data + a);
        s.avail_in = (unsigned)(z - a);
        s.next_out = (unsigned char *)out->data + out->n;
        s.avail_out = (unsigned)cap;
        if (deflate(&s, Z_FINISH) != Z_STREAM_END) abort();
        out->n += cap - s.avail_out;
        deflateEnd(&s);
    }
}

static inline void h_clean(void) {
    cr_err e;
    if (h_made && cr_rmtree(h_dir, &e) != CR_OK) fprintf(stderr, "%s\n", e.msg);
}

/* names "a,b,c" as wanted columns; type -1 */
typedef struct h_wants {
    cr_want v[64];
    int n;
    char text[512];
} h_wants;
static inline void h_want(h_wants *w, const char *names) {
    w->n = 0;
    snprintf(w->text, sizeof(w->text), "%s", names);
    for (char *save = NULL, *p = strtok_r(w->text, ",", &save); p; p = strtok_r(NULL, ",", &save))
        w->v[w->n++] = (cr_want){.name = p, .type = -1, .why = "feature 'f'"};
}

/* input_fields "a:1,b:-,c:2": name and FieldType, '-' for none */
typedef struct h_fields {
    cr_field_conf f[64];
    void *v[64];
    cr_want w[64];
    char text[512];
} h_fields;
static inline void h_input_fields(cr_data_conf *c, h_fields *h, const char *names) {
    snprintf(h->text, sizeof(h->text), "%s", names);
    c->input_fields.n = 0;
    for (char *save = NULL, *p = strtok_r(h->text, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        int64_t i = c->input_fields.n++;
        char *colon = strchr(p, ':');
        *colon = 0;
        h->f[i] = (cr_field_conf){.input_name = p,
                                  .input_type = colon[1] == '-' ? CR_COL_STR : atoi(colon + 1)};
        h->v[i] = &h->f[i];
    }
    c->input_fields.v = h->v;
}

static inline void h_value(cr_buf *out, const cr_column *c, int64_t i) {
    char tmp[32];
    if (c->valid && !c->valid[i]) {
        cr_buf_str(out, "null");
        return;
    }
    switch (c->type) {
    case CR_COL_STR: cr_buf_add(out, c->bytes + c->beg[i], c->end[i] - c->beg[i]); break;
    case CR_COL_I32: cr_buf_printf(out, "%d", c->v.i32[i]); break;
    case CR_COL_I64: cr_buf_printf(out, "%lld", (long long)c->v.i64[i]); break;
    case CR_COL_F32: cr_buf_add(out, tmp, cr_fmt_f32(tmp, c->v.f32[i])); break;
    case CR_COL_F64: cr_buf_add(out, tmp, cr_fmt_f64(tmp, c->v.f64[i])); break;
    }
}

/* reads everything: rows as "[a|b|c]", bad rows as "{line: message}" behind the rows of their block
 */
static inline cr_code h_read(cr_buf *out, const cr_data_conf *conf, const char *paths,
                             const cr_want *want, int n_want, size_t block, cr_diag *diag) {
    const cr_reader_type *r = cr_reader_find("CsvDataset");
    cr_source *s;
    CR_TRY(r->open(&s, conf, paths, want, n_want, diag));
    r->set_block(s, block);
    cr_raw raw = {0};
    cr_chunk chunk = {0};
    cr_arena_init(&chunk.arena, 0);
    cr_bad bad = {0};
    cr_err err = {0};
    cr_code code = CR_OK;
    for (int64_t f = 0; f < r->n_files(s) && code == CR_OK; f++) {
        int64_t n;
        code = r->n_blocks(s, f, &n, &err);
        for (int64_t b = 0; code == CR_OK && (n < 0 || b < n); b++) {
            bool end;
            code = r->cut(s, f, b, &raw, &end, &err);
            if (code != CR_OK || end) break;
            cr_bad_reset(&bad);
            code = r->parse(s, &raw, &chunk, &bad, &err);
            for (int64_t i = 0; code == CR_OK && i < chunk.n_rows; i++) {
                cr_buf_char(out, '[');
                for (int c = 0; c < chunk.n_cols; c++) {
                    if (c) cr_buf_char(out, '|');
                    h_value(out, &chunk.cols[c], i);
                }
                cr_buf_char(out, ']');
            }
            for (int64_t i = 0; code == CR_OK && i < bad.n_kept; i++) {
                int64_t base = 1, line = bad.v[i].line;
                if (raw.first_line == 0) {
                    code = r->line_at(s, f, raw.offset, &base, &err);
                    line += base - 1;
                }
                cr_buf_printf(out, "{%lld: %s}", (long long)line, bad.v[i].msg);
            }
        }
    }
    if (code != CR_OK) cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
    cr_free(raw.text);
    cr_arena_clear(&chunk.arena);
    cr_bad_clear(&bad);
    r->close(s);
    return code;
}

#endif
