/*
 * form.c - what the files are: format, delimiter, header, names of the columns.
 *
 * The ending decides the format where it has one, else the first bytes. A delimiter is right when
 * it cuts nearly all of the first lines into the same number of fields, and of several the one that
 * gives most fields. A first line is a header when its fields are names: all different, none a
 * number, and at least one of them above numbers; or, where all columns are words, none of them a
 * word that occurs below it. The first name may be missing where another one stands above numbers:
 * pandas and R write so the numbers of rows.
 */
#include <string.h>

#include "base/file.h"
#include "conf/conf.h"
#include "data/stream.h"
#include "survey/survey_int.h"

#define LOOK    ((size_t)256 << 10)
#define N_LINES 200
#define FIELDS  4096 /* of a line, that are looked at */

/* The first bytes of a text, cut into lines. */
typedef struct lines {
    const char *beg[N_LINES];
    size_t len[N_LINES];
    int n;
} lines;

typedef struct fields {
    const char *beg[FIELDS];
    size_t len[FIELDS];
    int n;
} fields;

static cr_code read_front(const char *path, cr_buf *out, cr_err *err) {
    cr_stream *st;
    CR_TRY(cr_stream_open(&st, path, err));
    cr_buf_reserve(out, LOOK);
    size_t got = 1;
    cr_code code = CR_OK;
    while (code == CR_OK && got > 0 && out->n < LOOK) {
        code = cr_stream_read(st, out->data + out->n, LOOK - out->n, &got, err);
        if (code == CR_OK) out->n += got;
    }
    out->data[out->n] = '\0';
    cr_stream_close(st);
    return code;
}

/* Cuts at line ends outside of quotes; a last line without an end counts if the text is short. */
static void cut_lines(lines *l, const cr_buf *text) {
    size_t at = text->n >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    l->n = 0;
    bool quoted = false;
    for (size_t i = at; i < text->n && l->n < N_LINES; i++) {
        char c = text->data[i];
        if (c == '"') quoted = !quoted;
        bool last = i + 1 == text->n && text->n < LOOK;
        if ((c != '\n' || quoted) && !last) continue;
        size_t end = c == '\n' ? i : i + 1;
        if (end > at && text->data[end - 1] == '\r') end--;
        if (end > at) {
            l->beg[l->n] = text->data + at;
            l->len[l->n++] = end - at;
        }
        at = i + 1;
    }
}

static void cut_fields(fields *f, const char *p, size_t n, const char *delim) {
    size_t d = strlen(delim), at = 0;
    bool quoted = false;
    f->n = 0;
    for (size_t i = 0; i <= n && f->n < FIELDS; i++) {
        if (i < n && p[i] == '"') quoted = !quoted;
        if (i < n && (quoted || n - i < d || memcmp(p + i, delim, d) != 0)) continue;
        size_t a = at, z = i;
        if (z > a + 1 && p[a] == '"' && p[z - 1] == '"') a++, z--;
        f->beg[f->n] = p + a;
        f->len[f->n++] = z - a;
        at = i + d;
        i = at - 1;
    }
}

/* How many fields nearly all lines have when cut so; 0: they differ. */
static int even_width(const lines *l, const char *delim, fields *f) {
    int first = 0, same = 0;
    /* a header may be damaged, so the second line decides */
    for (int i = l->n > 1; i < l->n; i++) {
        cut_fields(f, l->beg[i], l->len[i], delim);
        if (first == 0) first = f->n;
        same += f->n == first;
    }
    return first > 1 && same * 10 >= (l->n - 1) * 9 ? first : 0;
}

static const char *find_delimiter(const lines *l) {
    /* each, and what it is when a blank stands behind it */
    static const char *const likely[][2] = {{",", ", "},    {"\t", NULL}, {";", "; "}, {"|", "| "},
                                            {"\001", NULL}, {"::", NULL}, {" ", NULL}};
    const char *best = ",";
    int most = 1;
    fields *f = cr_alloc(sizeof(fields), "a line");
    for (size_t i = 0; i < sizeof likely / sizeof *likely; i++) {
        int n = even_width(l, likely[i][0], f);
        if (n <= most) continue;
        most = n;
        bool blank = likely[i][1] && even_width(l, likely[i][1], f) == n;
        best = likely[i][blank];
    }
    cr_free(f);
    return best;
}

static bool is_number(const char *p, size_t n) {
    double x;
    return cr_parse_f64(p, n, &x);
}

static bool same(const fields *f, int i, const fields *g, int k) {
    return f->len[i] == g->len[k] && memcmp(f->beg[i], g->beg[k], f->len[i]) == 0;
}

static bool has_header(const lines *l, const char *delim) {
    fields *head = cr_alloc(sizeof(fields), "the header"), *f = cr_alloc(sizeof(fields), "a line");
    bool names = l->n > 0, over_numbers = false, again = false, unnamed = false;
    if (l->n > 0) cut_fields(head, l->beg[0], l->len[0], delim);
    for (int i = 0; names && i < head->n; i++) {
        if (i == 0 && head->len[i] == 0) {
            unnamed = true;
            continue;
        }
        if (head->len[i] == 0 || is_number(head->beg[i], head->len[i])) names = false;
        for (int k = 0; names && k < i && i < 1000; k++)
            names = !same(head, i, head, k);
    }
    for (int r = 1; names && r < l->n; r++) {
        cut_fields(f, l->beg[r], l->len[r], delim);
        for (int i = unnamed; i < f->n && i < head->n; i++) {
            over_numbers |= is_number(f->beg[i], f->len[i]);
            again |= same(f, i, head, i);
        }
    }
    cr_free(head);
    cr_free(f);
    return names && (over_numbers || (!again && !unnamed));
}

/* Names the columns col_1, col_2 ... of a file without a header. */
static void name_fields(form *f, const lines *l, cr_arena *a) {
    fields *first = cr_alloc(sizeof(fields), "a line");
    if (l->n > 0) cut_fields(first, l->beg[0], l->len[0], f->conf->delimiter);
    cr_field_conf *v = CR_NEW_N(a, cr_field_conf, first->n + 1);
    void **list = CR_NEW_N(a, void *, first->n + 1);
    for (int i = 0; i < first->n; i++) {
        v[i] = (cr_field_conf){.input_name = cr_arena_printf(a, "col_%d", i + 1),
                               .input_type = CR_COL_STR};
        list[i] = &v[i];
    }
    f->conf->input_fields = (cr_msgs){.v = list, .n = first->n};
    cr_free(first);
}

/* Opens the files without wanting any column, for the names of all of them. */
static cr_code find_names(form *f, const char *paths, cr_arena *a, cr_diag *diag) {
    cr_source *src = NULL;
    CR_TRY(f->reader->open(&src, f->conf, paths, NULL, 0, diag));
    const char *const *names;
    f->n_names = f->reader->columns(src, &names);
    const char **copy = CR_NEW_N(a, const char *, f->n_names + 1);
    for (int i = 0; i < f->n_names; i++)
        copy[i] = cr_arena_strdup(a, names[i]);
    f->names = copy;
    f->reader->close(src);
    if (f->n_names == 0)
        return cr_diag_err(diag, &(cr_err){.code = CR_EDATA,
                                           .at = {paths, 0, 0},
                                           .msg = "there are no columns in it; name CSV or Parquet "
                                                  "files with rows"});
    return CR_OK;
}

cr_code cr_sv_form_find(form *f, const char *paths, cr_arena *a, cr_diag *diag) {
    char **files;
    size_t n;
    cr_err err;
    f->reader = cr_reader_by_path(paths);
    if (cr_glob(a, paths, f->reader ? f->reader->exts : NULL, &files, &n, &err) != CR_OK)
        return cr_diag_err(diag, &err);
    cr_buf text;
    cr_buf_init(&text);
    cr_code code = CR_OK;
    for (size_t i = 0; i < n && text.n == 0 && code == CR_OK; i++) /* some may be empty */
        code = read_front(files[i], &text, &err);
    if (code == CR_OK && text.n == 0)
        code = cr_fail_at(&err, CR_EDATA, ((cr_loc){paths, 0, 0}),
                          "there is nothing in it; name files with rows");
    if (code != CR_OK) {
        cr_buf_clear(&text);
        return cr_diag_err(diag, &err);
    }
    if (!f->reader) f->reader = cr_reader_by_path(files[0]);
    if (!f->reader)
        f->reader = cr_reader_find(
            text.n >= 4 && memcmp(text.data, "PAR1", 4) == 0 ? "ParquetDataset" : "CsvDataset");
    cr_diag quiet; /* a table of unknown columns need not have what a data_config must have */
    cr_diag_init(&quiet);
    f->conf = cr_conf_bind(a, &cr_data_msg, NULL, &quiet);
    cr_data_conf_finish(f->conf, a, &quiet);
    cr_diag_clear(&quiet);
    f->conf->with_header = true;
    if (!f->reader->typed) {
        lines *l = cr_alloc(sizeof(lines), "the first lines");
        cut_lines(l, &text);
        f->conf->delimiter = find_delimiter(l);
        f->conf->with_header = has_header(l, f->conf->delimiter);
        if (!f->conf->with_header) name_fields(f, l, a);
        cr_free(l);
    }
    cr_buf_clear(&text);
    return find_names(f, paths, a, diag);
}
