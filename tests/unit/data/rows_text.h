/*
 * rows_text.h - all rows that a reader of typed files gives, as text, for tests that compare them.
 */
#ifndef CR_TESTS_ROWS_TEXT_H
#define CR_TESTS_ROWS_TEXT_H

#include "csv_help.h"

static const char *rows_dataset = "ParquetDataset";
#define NO_FIELDS ""

/* ---- columns as text ---- */

static inline void put(cr_buf *b, const cr_column *c, int64_t i) {
    char tmp[32];
    size_t n;
    switch (c->type) {
    case CR_COL_STR: {
        const char *s = cr_text_at(c, i, &n);
        cr_buf_add(b, s, n);
        break;
    }
    case CR_COL_I32: cr_buf_printf(b, "%d", c->v.i32[i]); break;
    case CR_COL_I64: cr_buf_printf(b, "%lldL", (long long)c->v.i64[i]); break;
    case CR_COL_F32:
        cr_buf_add(b, tmp, cr_fmt_f32(tmp, c->v.f32[i]));
        cr_buf_char(b, 'f');
        break;
    case CR_COL_F64: cr_buf_add(b, tmp, cr_fmt_f64(tmp, c->v.f64[i])); break;
    }
}

static inline void put_list(cr_buf *b, const cr_column *c, int64_t from, int64_t to) {
    cr_buf_char(b, '[');
    for (int64_t i = from; i < to; i++) {
        if (i > from) cr_buf_char(b, ',');
        if (c->keys) {
            put(b, c->keys, i);
            cr_buf_char(b, ':');
        }
        if (c->item_valid && !c->item_valid[i])
            cr_buf_str(b, "null");
        else
            put(b, c, i);
    }
    cr_buf_char(b, ']');
}

static inline void put_cell(cr_buf *b, const cr_column *c, int64_t r) {
    if (c->valid && !c->valid[r]) {
        cr_buf_str(b, "null");
    } else if (c->depth == 0) {
        put(b, c, r);
    } else if (c->depth == 1) {
        put_list(b, c, c->row_off[r], c->row_off[r + 1]);
    } else {
        cr_buf_char(b, '[');
        for (int64_t k = c->row_off[r]; k < c->row_off[r + 1]; k++)
            put_list(b, c, c->item_off[k], c->item_off[k + 1]);
        cr_buf_char(b, ']');
    }
}

/* everything a data set holds, block by block with one hand: "a|b/", bad rows as "{row: message}"
 */
static inline cr_code read_all(cr_buf *out, const char *paths, const char *want, const char *fields,
                               size_t block, cr_diag *diag) {
    const cr_reader_type *rt = cr_reader_find(rows_dataset);
    cr_data_conf conf = {0};
    h_fields hf;
    h_wants w;
    h_input_fields(&conf, &hf, fields);
    h_want(&w, want);
    cr_buf_reset(out);
    cr_source *s;
    CR_TRY(rt->open(&s, &conf, paths, w.v, w.n, diag));
    if (block) rt->set_block(s, block);
    cr_raw raw = {0};
    cr_chunk chunk = {0};
    cr_bad bad = {0};
    cr_err err = {0};
    cr_code code = CR_OK;
    for (int64_t f = 0; f < rt->n_files(s) && code == CR_OK; f++) {
        int64_t n = 0, next = 0;
        CHECK(rt->n_blocks(s, f, &n, &err) == CR_OK);
        for (int64_t b = 0; b < n && code == CR_OK; b++) {
            cr_block_rows r;
            bool end = false;
            rt->block_rows(s, f, b, &r);
            CHECK_INT(r.first_row, next);
            CHECK(r.n_rows > 0 && r.stretch >= 1 && b + r.stretch <= n);
            CHECK(r.stretch_shuffled >= 1 && r.stretch_shuffled <= r.stretch);
            next += r.n_rows;
            raw.from = 0;
            raw.n_rows = r.n_rows;
            cr_bad_reset(&bad);
            code = rt->cut(s, f, b, &raw, &end, &err);
            CHECK(!end);
            if (code == CR_OK) code = rt->parse(s, &raw, &chunk, &bad, &err);
            for (int64_t i = 0; code == CR_OK && i < chunk.n_rows; i++) {
                for (int c = 0; c < chunk.n_cols; c++) {
                    if (c) cr_buf_char(out, '|');
                    put_cell(out, &chunk.cols[c], i);
                }
                cr_buf_char(out, '/');
            }
            for (int64_t i = 0; i < bad.n_kept; i++)
                cr_buf_printf(out, "{%lld: %s}", (long long)bad.v[i].row, bad.v[i].msg);
        }
    }
    if (code != CR_OK) cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
    cr_buf_char(out, 0);
    rt->raw_clear(s, &raw);
    rt->close(s);
    cr_arena_clear(&chunk.arena);
    cr_bad_clear(&bad);
    return code;
}

static inline void expect(int line, const char *path, const char *want, const char *fields,
                          const char *text) {
    cr_diag diag;
    cr_diag_init(&diag);
    cr_buf b;
    cr_buf_init(&b);
    cr_code code = read_all(&b, path, want, fields, 0, &diag);
    if (code != CR_OK || strcmp(b.data, text) != 0) {
        t_failed_checks++;
        fprintf(stderr, "line %d: got\n  %s\nexpected\n  %s\n", line,
                code != CR_OK ? (diag.n ? diag.v[0].msg : "failed") : b.data, text);
    }
    cr_buf_clear(&b);
    cr_diag_clear(&diag);
}
#define EXPECT(path, want, fields, text) expect(__LINE__, path, want, fields, text)

/* the finding that holds `text` (paths without their directory) */
static inline void refused(int line, const char *path, const char *want, const char *fields,
                           const char *text) {
    cr_diag diag;
    cr_diag_init(&diag);
    cr_buf b;
    cr_buf_init(&b);
    cr_code code = read_all(&b, path, want, fields, 0, &diag);
    bool found = false;
    for (size_t i = 0; i < diag.n; i++) {
        cr_buf m;
        cr_buf_init(&m);
        for (const char *p = diag.v[i].msg; *p; p++) {
            size_t n = strlen(h_dir);
            if (strncmp(p, h_dir, n) == 0) p += n + 1;
            cr_buf_char(&m, *p);
        }
        cr_buf_char(&m, 0);
        found |= strstr(m.data, text) != NULL;
        if (!strstr(m.data, text)) fprintf(stderr, "line %d: %s\n", line, m.data);
        cr_buf_clear(&m);
    }
    if (code == CR_OK || !found) {
        t_failed_checks++;
        fprintf(stderr, "line %d: no finding says\n  %s\n", line, text);
    }
    cr_buf_clear(&b);
    cr_diag_clear(&diag);
}
#define REFUSED(path, want, fields, text) refused(__LINE__, path, want, fields, text)

#endif
