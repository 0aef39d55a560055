/*
 * csv.c - CsvDataset: finds the wanted columns in the headers of all files.
 *
 * Opening looks at every file, so that a changed header in file 700 of 1000 is found before the
 * first step. It remembers for each file where its rows begin and which field is which wanted
 * column. Files with the same header as the file before share that, so many files cost little.
 */
#include "data/csv/csv_int.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "conf/conf.h"
#include "data/files.h"
#include "data/open_many.h"

#define HEADER_FIRST ((size_t)16 << 10)
#define HEADER_MAX   ((size_t)16 << 20)

typedef struct header {
    const char **names;
    int n;
    cr_raw text;  /* first bytes of the file */
    size_t begin; /* behind the byte order mark */
    size_t end;   /* behind the header row */
} header;

static const char *nth_name(const void *ctx, size_t i) {
    const header *h = ctx;
    return i < (size_t)h->n ? h->names[i] : NULL;
}

static const char *nth_field(const void *ctx, size_t i) {
    const cr_data_conf *c = ctx;
    return (int64_t)i < c->input_fields.n
               ? ((const cr_field_conf *)c->input_fields.v[i])->input_name
               : NULL;
}

static cr_loc conf_at(const cr_data_conf *c, const char *field) {
    return c->base.msg ? cr_conf_at(c, field) : CR_NOWHERE;
}

/* form_init checks the delimiter. */
static bool form_init(cr_csv_form *f, const cr_data_conf *c, cr_diag *diag) {
    f->delim = c->delimiter ? c->delimiter : ",";
    f->n_delim = strlen(f->delim);
    f->classify = cr_csv_classify_best();
    const char *why = f->n_delim == 0             ? "is empty"
                      : strpbrk(f->delim, "\r\n") ? "holds a line end"
                      : strchr(f->delim, '"')     ? "holds a quote"
                      : f->n_delim > 64           ? "is longer than 64 bytes"
                                                  : NULL;
    if (!why) return true;
    cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, conf_at(c, "delimiter"),
                "delimiter %s; give the text that stands between two fields, such as ','", why);
    return false;
}

/* Finds the types of the wanted columns: the type that was asked for, else that of input_fields,
 * else text. */
static void find_types(cr_source *s, cr_diag *diag) {
    cr_coltype *types = CR_NEW_N(&s->arena, cr_coltype, s->n_want + 1);
    int *twin = CR_NEW_N(&s->arena, int, s->n_want + 1);
    s->types = types;
    s->twin = twin;
    for (int i = 0; i < s->n_want; i++) {
        const cr_want *w = &s->want[i];
        twin[i] = -1;
        for (int j = 0; j < i && twin[i] < 0; j++) {
            if (strcmp(s->want[j].name, w->name) == 0) twin[i] = j;
        }
        types[i] = CR_COL_STR;
        if (w->type >= 0) {
            types[i] = (cr_coltype)w->type;
            continue;
        }
        for (int64_t k = 0; k < s->conf->input_fields.n; k++) {
            const cr_field_conf *f = s->conf->input_fields.v[k];
            if (strcmp(f->input_name, w->name) != 0) continue;
            if (f->base.msg && !cr_conf_has(f, "input_type")) break;
            if (f->input_type <= CR_COL_F64) {
                types[i] = (cr_coltype)f->input_type;
                break;
            }
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF,
                        f->base.msg ? cr_conf_at(f, "input_type") : CR_NOWHERE,
                        "column '%s' of a CSV file cannot be a list or map; use STRING and let the "
                        "feature split the text",
                        w->name);
            break;
        }
    }
}

/* Returns how many bytes show whether a file begins with a line of the columns' names, or with the
 * mark of UTF-8. */
static size_t names_size(const cr_source *s) {
    size_t n = 8;
    for (int i = 0; i < s->n_names; i++)
        n += strlen(s->names[i]) + s->form.n_delim;
    return n;
}

/* read_front reads the first bytes of the text, with `row` up to the end of the first row. */
static cr_code read_front(cr_source *s, cr_stream *st, const char *path, bool row, header *h,
                          cr_err *err) {
    h->text.size = 0;
    bool eof = false;
    for (size_t size = row ? HEADER_FIRST : names_size(s);; size *= 4) {
        CR_TRY(cr_csv_reserve(&h->text, size, err));
        while (h->text.size < size && !eof) {
            size_t got;
            CR_TRY(cr_stream_read(st, h->text.text + h->text.size, size - h->text.size, &got, err));
            h->text.size += got;
            eof = got == 0;
        }
        const char *p = h->text.text;
        size_t n = h->text.size;
        h->begin = h->end = n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        if (!row) return CR_OK;
        /* Lines before the header may be empty. */
        size_t last, at = h->begin;
        for (;;) {
            size_t k = cr_csv_row_end(&s->form, p + at, n - at, 1, &last);
            if (k == SIZE_MAX) break;
            h->end = at + k;
            bool empty = k == 1 || (k == 2 && p[at] == '\r');
            if (!empty) {
                h->begin = at;
                return CR_OK;
            }
            at = h->end;
        }
        if (eof) {
            h->begin = at;
            h->end = n;
            return CR_OK;
        }
        if (size >= HEADER_MAX)
            return cr_fail_at(err, CR_EDATA, ((cr_loc){path, 1, 0}),
                              "the header is longer than %zu MiB; is a quote never closed?",
                              HEADER_MAX >> 20);
    }
}

/* split_header fills the names from the header row in h->text. */
static cr_code split_header(cr_source *s, header *h, const char *path, cr_err *err) {
    size_t n = h->end - h->begin;
    char *text = cr_arena_alloc(&s->arena, n + 1 + CR_RAW_PAD);
    if (n) memcpy(text, h->text.text + h->begin, n);
    memset(text + n, 0, 1 + CR_RAW_PAD);
    if (n && text[n - 1] != '\n') text[n++] = '\n';
    cr_csv_marks m;
    cr_csv_index(&s->form, text, n, &s->arena, &m);
    if (m.n_rows == 0 || m.open_quote)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){path, 1, 0}),
                          "a quote in the header is never closed; close it");
    size_t n_cols = (size_t)m.row_end[0] + 1;
    if (n_cols > CR_CSV_MAX_COLS)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){path, 1, 0}),
                          "the header has %zu columns, more than %d; is the delimiter right?",
                          n_cols, CR_CSV_MAX_COLS);
    h->n = (int)n_cols;
    h->names = CR_NEW_N(&s->arena, const char *, n_cols);
    uint32_t beg = 0;
    for (size_t i = 0; i < n_cols; i++) {
        uint32_t end = m.sep[i], b = beg;
        beg = end + (uint32_t)s->form.n_delim;
        if (i + 1 == n_cols && end > b && text[end - 1] == '\r') end--;
        if (end > b && text[b] == '"') {
            const char *wrong = cr_csv_unquote(text, &b, &end);
            if (wrong)
                return cr_fail_at(err, CR_EDATA, ((cr_loc){path, 1, 0}),
                                  "column %zu: %s; correct it", i + 1, wrong);
        }
        h->names[i] = cr_arena_strndup(&s->arena, text + b, end - b);
    }
    return CR_OK;
}

/* meant_name is nth_name with "" for labels and, unless `all` is set, for columns that are wanted
 * under their own name: a misspelt one is more likely among the rest. */
typedef struct meant {
    const header *h;
    const cr_source *s;
    bool all;
} meant;
static const char *meant_name(const void *ctx, size_t i) {
    const meant *u = ctx;
    const char *name = nth_name(u->h, i);
    for (int k = 0; name && !u->all && k < u->s->n_want; k++)
        if (strcmp(u->s->want[k].name, name) == 0) return "";
    return name && cr_data_is_label(u->s->conf, name) ? "" : name;
}

/* Names a few of the columns that nothing reads, because the missing one may be there under another
 * name. */
static const char *unused_names(cr_source *s, const header *h) {
    const char *text = NULL, *name;
    int shown = 0, more = 0;
    meant u = {h, s, false};
    for (size_t i = 0; (name = meant_name(&u, i)); i++) {
        if (!*name) continue;
        if (shown++ < 6)
            text = text ? cr_arena_printf(&s->arena, "%s, '%.40s'", text, name)
                        : cr_arena_printf(&s->arena, "it has '%.40s'", name);
        else
            more++;
    }
    if (!text) return cr_arena_printf(&s->arena, "add it to the %d that are there", h->n);
    return more ? cr_arena_printf(&s->arena, "%s and %d more that nothing reads", text, more)
                : cr_arena_printf(&s->arena, "%s that nothing reads", text);
}

/* Counts the wanted columns that are there when the text is cut at c; *n becomes the number of
 * pieces. */
static int hits(const cr_source *s, const char *text, char c, int *n) {
    int found = 0;
    *n = 1;
    for (const char *p = text, *end;; p = end + 1, ++*n) {
        end = strchr(p, c);
        size_t len = end ? (size_t)(end - p) : strlen(p);
        for (int i = 0; i < s->n_want; i++)
            found += s->twin[i] < 0 && strlen(s->want[i].name) == len &&
                     memcmp(s->want[i].name, p, len) == 0;
        if (!end) return found;
    }
}

static const char *show_delim(cr_source *s, char c) {
    return c == '\t'           ? "\\t"
           : c >= 1 && c < ' ' ? cr_arena_printf(&s->arena, "\\x%02x", c)
                               : cr_arena_printf(&s->arena, "%c", c);
}

/* Are the names free of control bytes? A line that has some is no header, and must not be printed.
 */
static bool is_text(const header *h) {
    for (int k = 0; k < h->n; k++)
        for (const char *p = h->names[k]; *p; p++)
            if ((unsigned char)*p < ' ' && *p != '\t') return false;
    return true;
}

/* When none of the wanted columns is there, that is one mistake and not one per column. Returns
 * true when it was reported. */
static bool none_found(cr_source *s, const header *h, const char *path, cr_diag *diag) {
    int wanted = 0;
    for (int i = 0; i < s->n_want; i++) {
        wanted += s->twin[i] < 0;
        for (int k = 0; k < h->n; k++)
            if (strcmp(h->names[k], s->want[i].name) == 0) return false;
    }
    if (h->n == 1) {
        static const char likely[] = ",\t;|\001\002 :";
        char best = 0;
        int most = 0, pieces = 0;
        for (const char *d = likely; *d; d++) {
            int n, found = hits(s, h->names[0], *d, &n);
            if (found <= most) continue;
            best = *d;
            most = found;
            pieces = n;
        }
        const char *have = s->form.n_delim == 1 ? show_delim(s, s->form.delim[0]) : s->form.delim;
        if (best) {
            cr_diag_add(
                diag, CR_SEV_ERROR, CR_ECONF, conf_at(s->conf, "delimiter"),
                "%s: the header is one column when cut at delimiter \"%s\", %d columns when "
                "cut at \"%s\"; set data_config.delimiter to that",
                path, have, pieces, show_delim(s, best));
            return true;
        }
    }
    if (!is_text(h)) {
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){path, 1, 0},
            "the first line is not text; name CSV files, plain or packed with gzip or zstd");
        return true;
    }
    if (wanted < 3) return false;
    cr_buf names;
    cr_buf_init(&names);
    for (int k = 0; k < h->n && k < 5; k++)
        cr_buf_printf(&names, "%s'%.40s'", k ? ", " : "", h->names[k]);
    cr_diag_add(
        diag, CR_SEV_ERROR, CR_ECONF, (cr_loc){path, 1, 0},
        "the header has none of the %d columns that the config needs, it has %s%s; is it the "
        "right file, and does it have a header?",
        wanted, names.data, h->n > 5 ? " ..." : "");
    cr_buf_clear(&names);
    return true;
}

/* map_header finds the field of every wanted column; `told` marks those that were reported. */
static const int32_t *map_header(cr_source *s, const header *h, const char *path, bool *told,
                                 cr_diag *diag) {
    int32_t *col = CR_NEW_N(&s->arena, int32_t, s->n_want + 1);
    if (s->n_want > 0 && !told[0] && none_found(s, h, path, diag)) {
        memset(told, true, (size_t)s->n_want * sizeof *told);
        return col;
    }
    for (int i = 0; i < s->n_want; i++) {
        const cr_want *w = &s->want[i];
        int found = -1, again = -1;
        for (int k = 0; k < h->n; k++) {
            if (strcmp(h->names[k], w->name) != 0) continue;
            if (found < 0)
                found = k;
            else if (again < 0)
                again = k;
        }
        col[i] = found < 0 ? 0 : found;
        if (told[i] || (found >= 0 && again < 0)) continue;
        told[i] = true;
        cr_loc at = w->at.path ? w->at : (cr_loc){path, 1, 0};
        if (again >= 0) {
            cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){path, 1, 0},
                        "columns %d and %d are both named '%s', which %s needs; rename one",
                        found + 1, again + 1, w->name, w->why ? w->why : "the config");
            continue;
        }
        const char *near = cr_nearest(w->name, meant_name, &(meant){h, s, false});
        if (!near) near = cr_nearest(w->name, meant_name, &(meant){h, s, true});
        char cure[CR_WANT_CURE];
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, at, "%s has no column '%s', which %s needs; %s",
                    w->at.path ? path : "it", w->name, w->why ? w->why : "the config",
                    cr_want_cure(cure, w, near, unused_names(s, h)));
    }
    return col;
}

/* Without a header the names come from input_fields, for all files alike. */
const int32_t *cr_csv_map_fields(cr_source *s, cr_diag *diag) {
    const cr_data_conf *c = s->conf;
    int32_t *col = CR_NEW_N(&s->arena, int32_t, s->n_want + 1);
    for (int i = 0; i < s->n_want; i++) {
        const cr_want *w = &s->want[i];
        int64_t k = 0;
        while (k < c->input_fields.n && strcmp(nth_field(c, (size_t)k), w->name) != 0)
            k++;
        if (k < c->input_fields.n) {
            col[i] = (int32_t)k;
            continue;
        }
        const char *near = cr_nearest(w->name, nth_field, c);
        char cure[CR_WANT_CURE];
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, w->at,
                    "data_config.input_fields has no column '%s', which %s needs; %s", w->name,
                    w->why ? w->why : "the config", cr_want_cure(cure, w, near, "add it"));
    }
    return col;
}

static int64_t lines_in(const char *p, size_t n) {
    int64_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += p[i] == '\n';
    return lines;
}

static void add_error(cr_diag *diag, const cr_err *e) {
    cr_diag_add(diag, CR_SEV_ERROR, e->code, e->at, "%s", e->msg);
}

/* Does the first row of a file without a header hold the names of input_fields? It would be read as
 * data, and nobody would notice where all columns are text. */
static bool names_first(const cr_source *s, const header *h) {
    const char *p = h->text.text + h->begin, *end = h->text.text + h->text.size;
    if (s->n_names < 2) return false;
    for (int i = 0; i < s->n_names; i++) {
        const char *between = i ? s->form.delim : "";
        size_t k = i ? s->form.n_delim : 0, n = strlen(s->names[i]);
        if ((size_t)(end - p) < k + n || memcmp(p, between, k) != 0 ||
            memcmp(p + k, s->names[i], n) != 0)
            return false;
        p += k + n;
    }
    return p == end || *p == '\n' || *p == '\r';
}

/* Files that are opened together. */
#define TOGETHER 64
typedef struct opened {
    char *const *paths;
    cr_stream *st[TOGETHER];
    cr_err err[TOGETHER]; /* of those without a stream */
} opened;

static void open_nth(void *ctx, int64_t i) {
    opened *o = ctx;
    if (cr_stream_open(&o->st[i], o->paths[i], &o->err[i]) != CR_OK) o->st[i] = NULL;
}

/* open_file looks at one file, which is open as st; NULL: it cannot be opened, and why says so. h
 * is the header of the file before; equal headers have the same columns. */
static void open_file(cr_source *s, cr_csv_file *f, cr_stream *st, const cr_err *why, header *h,
                      const int32_t **map, bool *told, cr_diag *diag) {
    cr_err e = {0};
    header now = {.text = h->text};
    h->text = (cr_raw){0};
    char *before = NULL;
    size_t n_before = 0;
    if (h->names) { /* the text of the last header is kept for the comparison */
        n_before = h->end - h->begin;
        before = cr_alloc(n_before + 1, "a header");
        memcpy(before, now.text.text + h->begin, n_before);
    }
    bool header_row = s->conf->with_header && !s->form.no_quotes;
    cr_code code = CR_OK;
    if (!st) {
        cr_err_copy(&e, why);
        code = why->code;
    }
    if (code == CR_OK) code = cr_stream_id(st, &f->id, &e);
    if (code == CR_OK) code = read_front(s, st, f->path, header_row, &now, &e);
    if (code == CR_OK && now.text.size >= 2 &&
        (memcmp(now.text.text, "\xff\xfe", 2) == 0 || memcmp(now.text.text, "\xfe\xff", 2) == 0))
        code = cr_fail_at(&e, CR_EDATA, ((cr_loc){f->path, 0, 0}),
                          "the text is UTF-16; write it as UTF-8 (iconv -f UTF-16 -t UTF-8)");
    if (code == CR_OK && now.text.size >= 4 && memcmp(now.text.text, "PAR1", 4) == 0)
        code = cr_fail_at(&e, CR_EDATA, ((cr_loc){f->path, 0, 0}), "this is a Parquet file; set %s",
                          CR_SAY(s->conf, "data_config.dataset_type", "ParquetDataset"));
    if (code == CR_OK) {
        f->front = cr_stream_codec(st) != CR_PLAIN || cr_stream_live(st);
        f->size = cr_stream_size(st);
        f->data_start = (int64_t)now.end;
        f->first_line = 1 + lines_in(now.text.text, now.end);
    }
    if (code == CR_OK && header_row) {
        size_t n = now.end - now.begin;
        if (n == 0) {
            cr_diag_add(diag, CR_SEV_WARN, CR_EDATA, (cr_loc){f->path, 0, 0},
                        "the file is empty and is skipped");
            f->n_cols = 1;
            f->col = CR_NEW_N(&s->arena, int32_t, s->n_want + 1);
        } else if (before && n == n_before && memcmp(before, now.text.text + now.begin, n) == 0) {
            now.names = h->names;
            now.n = h->n;
            f->n_cols = h->n;
            f->col = *map;
        } else if ((code = split_header(s, &now, f->path, &e)) == CR_OK) {
            f->n_cols = now.n;
            f->col = *map = map_header(s, &now, f->path, told, diag);
            if (!s->names) {
                s->names = now.names;
                s->n_names = now.n;
            }
        }
    } else if (code == CR_OK) {
        f->n_cols = s->n_names;
        f->col = *map;
        if (!s->form.no_quotes && names_first(s, &now) && !told[s->n_want]) {
            told[s->n_want] = true;
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, conf_at(s->conf, "with_header"),
                        "%s: the first line holds the names of the columns; set %s", f->path,
                        CR_SAY(s->conf, "data_config.with_header", "true"));
        }
    }
    if (code != CR_OK) add_error(diag, &e);
    cr_free(before);
    if (code == CR_OK && cr_stream_far(st) && !f->front)
        f->kept = st; /* it holds what was read, and opening again is a request */
    else
        cr_stream_close(st);
    *h = now;
}

void cr_csv_close(cr_source *s) {
    if (!s) return;
    cr_csv_cut_clear(s);
    cr_arena_clear(&s->arena);
    cr_free(s);
}

static const char *const exts[] = {".csv",     ".csv.gz", ".csv.zst", ".tsv",     ".tsv.gz",
                                   ".tsv.zst", ".txt",    ".txt.gz",  ".txt.zst", NULL};

cr_source *cr_csv_source(const cr_data_conf *conf, const cr_want *want, int n_want) {
    cr_source *s = cr_alloc(sizeof(*s), "a data set");
    cr_arena_init(&s->arena, 0);
    s->conf = conf;
    s->want = want;
    s->n_want = n_want;
    s->block = CR_CSV_BLOCK;
    s->memo_file = -1;
    return s;
}

void cr_csv_open_files(cr_source *s, const char *paths, const char *const *endings,
                       const int32_t *map, cr_diag *diag) {
    size_t errors = diag->n_errors;
    cr_err e = {0};
    char **list = NULL;
    size_t n = 0;
    if (cr_data_files(s->conf, &s->arena, paths, endings, &list, &n, &e) != CR_OK)
        add_error(diag, &e);
    s->files = CR_NEW_N(&s->arena, cr_csv_file, n ? n : 1);
    s->n_files = (int64_t)n;
    header h = {0};
    bool *told = CR_NEW_N(&s->arena, bool, s->n_want + 1);
    opened *o = cr_alloc(sizeof *o, "files");
    for (size_t from = 0; from < n && diag->n_errors - errors <= 100; from += TOGETHER) {
        size_t k = n - from < TOGETHER ? n - from : TOGETHER;
        /* pipes wait for their writers in turn, and files of a disk are opened fast enough */
        bool far = cr_store_can(list[from], CR_FS_FAR);
        o->paths = list + from;
        if (far) cr_open_many(list[from], (int64_t)k, open_nth, o);
        for (size_t i = 0; i < k; i++) {
            cr_csv_file *f = &s->files[from + i];
            f->path = list[from + i];
            if (diag->n_errors - errors > 100) {
                if (far) cr_stream_close(o->st[i]);
                continue;
            }
            if (!far) open_nth(o, (int64_t)i);
            open_file(s, f, o->st[i], &o->err[i], &h, &map, told, diag);
        }
    }
    cr_free(o);
    cr_free(h.text.text);
}

static cr_code csv_open(cr_source **out, const cr_data_conf *conf, const char *paths,
                        const cr_want *want, int n_want, cr_diag *diag) {
    *out = NULL;
    size_t errors = diag->n_errors;
    cr_source *s = cr_csv_source(conf, want, n_want);
    form_init(&s->form, conf, diag);
    cr_nulls_init(&s->nulls, &conf->null_values, &s->arena);
    find_types(s, diag);
    const int32_t *map = NULL;
    if (!conf->with_header) {
        if (conf->input_fields.n == 0)
            cr_diag_add(
                diag, CR_SEV_ERROR, CR_ECONF, conf_at(conf, "with_header"),
                "nothing names the columns of the CSV files; set data_config.with_header=true if "
                "their first line does, or list all columns in data_config.input_fields");
        else {
            const char **names = CR_NEW_N(&s->arena, const char *, conf->input_fields.n);
            for (int64_t i = 0; i < conf->input_fields.n; i++)
                names[i] = nth_field(conf, (size_t)i);
            s->names = names;
            s->n_names = (int)conf->input_fields.n;
            map = cr_csv_map_fields(s, diag);
        }
    }
    if (diag->n_errors == errors) cr_csv_open_files(s, paths, exts, map, diag);
    if (diag->n_errors > errors) {
        cr_csv_close(s);
        return cr_diag_code(diag);
    }
    *out = s;
    return CR_OK;
}

int64_t cr_csv_n_files(const cr_source *s) {
    return s->n_files;
}

const char *cr_csv_path(const cr_source *s, int64_t file) {
    return s->files[file].path;
}

const cr_file_id *cr_csv_file_id(const cr_source *s, int64_t file) {
    return &s->files[file].id;
}

cr_code cr_csv_n_blocks(cr_source *s, int64_t file, int64_t *out, cr_err *err) {
    (void)err;
    const cr_csv_file *f = &s->files[file];
    *out = f->front ? -1 : (f->size + (int64_t)s->block - 1) / (int64_t)s->block;
    return CR_OK;
}

cr_code cr_csv_line_at(const cr_source *s, int64_t file, int64_t offset, int64_t *line,
                       cr_err *err) {
    *line = 1;
    cr_stream *st;
    CR_TRY(cr_stream_open(&st, s->files[file].path, err));
    char *buf = cr_alloc(CR_CSV_BLOCK, "a part of a file");
    cr_code code = CR_OK;
    for (int64_t at = 0; at < offset && code == CR_OK;) {
        size_t n = offset - at < (int64_t)CR_CSV_BLOCK ? (size_t)(offset - at) : CR_CSV_BLOCK;
        code = cr_stream_pread(st, buf, n, at, err);
        if (code == CR_OK) *line += lines_in(buf, n);
        at += (int64_t)n;
    }
    cr_free(buf);
    cr_stream_close(st);
    return code;
}

void cr_csv_set_block(cr_source *s, size_t bytes) {
    s->block = bytes > 0 ? bytes : CR_CSV_BLOCK;
}

int cr_csv_columns(const cr_source *s, const char *const **names) {
    *names = s->names;
    return s->n_names;
}

static void csv_kinds(const cr_source *s, cr_colkind *out) {
    for (int i = 0; i < s->n_want; i++)
        out[i] = (cr_colkind){.type = s->types[i], .key = -1};
}

const cr_reader_type cr_reader_csv = {
    .name = "CsvDataset",
    .exts = exts,
    .open = csv_open,
    .close = cr_csv_close,
    .n_files = cr_csv_n_files,
    .path = cr_csv_path,
    .file_id = cr_csv_file_id,
    .n_blocks = cr_csv_n_blocks,
    .cut = cr_csv_cut,
    .will_need = cr_csv_will_need,
    .parse = cr_csv_parse,
    .line_at = cr_csv_line_at,
    .set_block = cr_csv_set_block,
    .columns = cr_csv_columns,
    .kinds = csv_kinds,
};
