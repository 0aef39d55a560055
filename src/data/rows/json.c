/*
 * json.c - JsonDataset: text files with one JSON object per line; its keys are the columns.
 *
 * The grammar is that of JSON, with Python's NaN as a missing value. Values are numbers, texts,
 * true and false (1 and 0), null (no value) and lists of these; an object inside a row is passed
 * over where nobody asks for it. Texts are unescaped in place, in the block's own text.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/shown.h"
#include "data/rows/rows_int.h"

#define MAX_DEPTH 64

typedef struct scan {
    char *text;
    char *p, *end; /* of the line */
    const char *why;
    /* where values go: the rows, or the set that looks at the first of them */
    cr_rows *rows;
    cr_source *look;
    const char *key; /* the key whose value is being read */
    size_t n_key;
    int col; /* its column; -1: nobody wants it */
} scan;

static bool wrong(scan *s, const char *why) {
    if (!s->why) s->why = why;
    return false;
}

static void blanks(scan *s) {
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
}

static bool take(scan *s, char c) {
    blanks(s);
    if (s->p >= s->end || *s->p != c) return false;
    s->p++;
    return true;
}

static int hex(const char *p) {
    int x = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0) return -1;
        x = x * 16 + d;
    }
    return x;
}

/* Writes a character as UTF-8, at most four bytes; an escape has six. */
static char *utf8(char *out, int c) {
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* Reads the four digits of an escape, and those of the second half of a pair. */
static int escaped(scan *s) {
    int c = s->end - s->p >= 4 ? hex(s->p) : -1;
    if (c < 0) return -1;
    s->p += 4;
    if (c < 0xd800 || c > 0xdfff) return c;
    if (c > 0xdbff || s->end - s->p < 6 || s->p[0] != '\\' || s->p[1] != 'u') return -1;
    int low = hex(s->p + 2);
    if (low < 0xdc00 || low > 0xdfff) return -1;
    s->p += 6;
    return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

/* Reads a text behind its quote, and undoes escapes in place. */
static bool text(scan *s, char **beg, char **end) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char *out = s->p;
    *beg = out;
    while (s->p < s->end) {
        char c = *s->p++;
        if (c == '"') {
            *end = out;
            return true;
        }
        if ((unsigned char)c < 0x20) return wrong(s, "a text holds a control character");
        if (c != '\\') {
            *out++ = c;
            continue;
        }
        if (s->p >= s->end) break;
        char e = *s->p++;
        const char *at = e ? strchr(from, e) : NULL;
        if (at) {
            *out++ = to[at - from];
        } else {
            int x = e == 'u' ? escaped(s) : -1;
            if (x < 0) return wrong(s, "a text holds an escape that JSON does not have");
            out = utf8(out, x);
        }
    }
    return wrong(s, "a text has no closing quote");
}

/* Gives a value to whom it may concern. */
static bool give(scan *s, const cr_rowval *v, bool in_list) {
    if (s->look) cr_rowset_saw(s->look, s->key, s->n_key, v->kind, in_list);
    if (!s->rows || s->col < 0) return true;
    const char *why = cr_rows_put(s->rows, s->col, v, in_list);
    return why ? wrong(s, why) : true;
}

/* Reads a number, true, false, null or NaN. */
static bool word(scan *s, bool in_list) {
    char *p = s->p;
    while (s->p < s->end && !strchr(",]} \t\r", *s->p))
        s->p++;
    size_t n = (size_t)(s->p - p);
    cr_rowval v = {.beg = (uint32_t)(p - s->text), .end = (uint32_t)(s->p - s->text)};
    bool none = (n == 4 && memcmp(p, "null", 4) == 0) || (n == 3 && memcmp(p, "NaN", 3) == 0);
    if (none) return in_list ? wrong(s, "a list holds null; leave it out of the list") : true;
    if (n == 4 && memcmp(p, "true", 4) == 0)
        v.i = 1;
    else if (n == 5 && memcmp(p, "false", 5) == 0)
        v.i = 0;
    else if (n == 0 || (*p != '-' && (*p < '0' || *p > '9')))
        return wrong(s, "a value is neither a number nor a text, true, false, null, a list or an "
                        "object");
    else if (!cr_parse_i64(p, n, &v.i)) {
        v.kind = CR_VAL_F64;
        if (!cr_parse_f64(p, n, &v.f)) return wrong(s, "a value is not a number");
    }
    return give(s, &v, in_list);
}

static bool value(scan *s, bool in_list, int depth);

/* Passes over an object inside a row. */
static bool object(scan *s, int depth) {
    char *beg, *end;
    if (s->rows && s->col >= 0) return wrong(s, "it is an object; a column holds values");
    if (take(s, '}')) return true;
    do {
        if (!take(s, '"')) return wrong(s, "a key has no quotes");
        if (!text(s, &beg, &end)) return false;
        if (!take(s, ':')) return wrong(s, "there is no ':' behind a key");
        cr_source *look = s->look; /* the keys of an inner object are no columns */
        s->look = NULL;
        bool good = value(s, false, depth + 1);
        s->look = look;
        if (!good) return false;
    } while (take(s, ','));
    return take(s, '}') ? true : wrong(s, "an object does not end with '}'");
}

static bool list(scan *s, int depth) {
    if (depth > 0 && s->rows && s->col >= 0)
        return wrong(s, "it is a list of lists; a column holds a list of values");
    if (depth == 0 && s->rows && s->col >= 0) {
        const char *why = cr_rows_list(s->rows, s->col);
        if (why) return wrong(s, why);
    }
    if (take(s, ']')) return true;
    do {
        if (!value(s, true, depth + 1)) return false;
    } while (take(s, ','));
    return take(s, ']') ? true : wrong(s, "a list does not end with ']'");
}

static bool value(scan *s, bool in_list, int depth) {
    char *beg, *end;
    if (depth > MAX_DEPTH) return wrong(s, "a value is nested too deep");
    if (take(s, '"')) {
        if (!text(s, &beg, &end)) return false;
        cr_rowval v = {.kind = CR_VAL_TEXT,
                       .beg = (uint32_t)(beg - s->text),
                       .end = (uint32_t)(end - s->text)};
        return give(s, &v, in_list);
    }
    if (take(s, '{')) return object(s, depth);
    if (take(s, '[')) return list(s, depth);
    blanks(s);
    return word(s, in_list);
}

/* Reads the line [p, end) into the open row; false: s->why tells what is wrong. */
static bool row(scan *s, const struct cr_rowset *set) {
    char *beg, *end;
    if (!take(s, '{')) return wrong(s, "the line is no JSON object: it does not begin with '{'");
    if (!take(s, '}')) {
        do {
            if (!take(s, '"')) return wrong(s, "a key has no quotes");
            if (!text(s, &beg, &end)) return false;
            if (!take(s, ':')) return wrong(s, "there is no ':' behind a key");
            s->key = beg;
            s->n_key = (size_t)(end - beg);
            s->col = (int)cr_map_get(&set->index, s->key, s->n_key, -1);
            if (!value(s, false, 0)) return false;
        } while (take(s, ','));
        s->key = NULL;
        if (!take(s, '}')) return wrong(s, "the object does not end with '}'");
    }
    s->key = NULL;
    blanks(s);
    return s->p == s->end ? true : wrong(s, "something follows the object");
}

static int64_t count_lines(const char *p, size_t n) {
    int64_t lines = 0;
    for (const char *end = p + n; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
        lines++;
    return lines;
}

static cr_code json_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                          cr_err *err) {
    (void)err;
    cr_rows r;
    int64_t line = raw->first_line ? raw->first_line : 1;
    cr_arena_reset(&chunk->arena);
    cr_rows_init(&r, s, count_lines(raw->text, raw->size), raw->text, true, &chunk->arena);
    for (char *p = raw->text, *all = raw->text + raw->size; p < all; line++) {
        char *end = memchr(p, '\n', (size_t)(all - p));
        if (!end) end = all;
        scan x = {.text = raw->text, .p = p, .end = end, .rows = &r};
        blanks(&x);
        if (x.p < end) {
            cr_rows_begin(&r, line);
            bool good = row(&x, s->rows);
            cr_rows_end(&r, good);
            char key[CR_SHOW];
            if (!good && x.key)
                cr_bad_add(bad, -1, line, "key '%s': %s", cr_show(key, x.key, x.n_key), x.why);
            else if (!good)
                cr_bad_add(bad, -1, line, "%s", x.why);
        }
        p = end + 1;
    }
    cr_rows_chunk(&r, chunk);
    chunk->path = s->files[raw->file].path;
    chunk->first_row = raw->first_row;
    return CR_OK;
}

/* Looks at the first rows. */
static void look(cr_source *s, cr_diag *diag) {
    cr_raw raw = {0};
    cr_err err;
    bool end = false;
    if (s->n_files > 0 && !cr_is_stdin(s->files[0].path)) {
        if (cr_csv_cut(s, 0, 0, &raw, &end, &err) != CR_OK) {
            cr_diag_add(diag, CR_SEV_ERROR, err.code, err.at, "%s", err.msg);
        } else if (raw.size > 0) {
            for (char *p = raw.text, *all = p + raw.size;
                 p < all && s->rows->n_looked < CR_ROWS_LOOK;) {
                char *nl = memchr(p, '\n', (size_t)(all - p));
                if (!nl) nl = all;
                scan x = {.text = raw.text, .p = p, .end = nl, .look = s, .col = -1};
                blanks(&x);
                s->rows->n_looked += x.p < nl && row(&x, s->rows);
                p = nl + 1;
            }
        }
    }
    cr_rowset_end(s, "key", s->n_files > 0 ? s->files[0].path : "the data", diag);
    cr_free(raw.text);
}

static const char *const exts[] = {".jsonl", ".jsonl.gz", ".jsonl.zst", ".json", ".ndjson", NULL};

static cr_code json_open(cr_source **out, const cr_data_conf *conf, const char *paths,
                         const cr_want *want, int n_want, cr_diag *diag) {
    *out = NULL;
    size_t errors = diag->n_errors;
    cr_source *s = cr_csv_source(conf, want, n_want);
    s->form = (cr_csv_form){.delim = " ", .n_delim = 1, .no_quotes = true};
    s->form.classify = cr_csv_classify_best();
    (void)cr_rowset_new(s);
    const int32_t *map = CR_NEW_N(&s->arena, int32_t, n_want + 1);
    cr_csv_open_files(s, paths, exts, map, diag);
    if (diag->n_errors == errors) look(s, diag);
    if (diag->n_errors > errors) {
        cr_csv_close(s);
        return cr_diag_code(diag);
    }
    *out = s;
    return CR_OK;
}

const cr_reader_type cr_reader_json = {
    .name = "JsonDataset",
    .exts = exts,
    .open = json_open,
    .close = cr_csv_close,
    .n_files = cr_csv_n_files,
    .path = cr_csv_path,
    .file_id = cr_csv_file_id,
    .n_blocks = cr_csv_n_blocks,
    .cut = cr_csv_cut,
    .will_need = cr_csv_will_need,
    .parse = json_parse,
    .line_at = cr_csv_line_at,
    .set_block = cr_csv_set_block,
    .columns = cr_csv_columns,
    .kinds = cr_rowset_kinds,
    .typed = true,
};
