/*
 * paste.c - rows whose ids and labels lie in two files, *x.txt and *y.txt, line by line
 * (PaddleRec's autofis): one file with the label in front of the ids.
 */
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "tool/tool.h"

/* The next line that is not empty: [*at, *end) without its end, or false. *line counts lines. */
static bool next_line(const cr_buf *text, size_t *pos, int *line, const char **at,
                      const char **end) {
    while (*pos < text->n) {
        const char *p = text->data + *pos, *nl = memchr(p, '\n', text->n - *pos);
        size_t n = nl ? (size_t)(nl - p) : text->n - *pos;
        *pos += n + 1;
        ++*line;
        while (n > 0 && (p[n - 1] == '\r' || p[n - 1] == ' '))
            n--;
        *at = p;
        *end = p + n;
        if (n > 0) return true;
    }
    return false;
}

static cr_code paste_two(const char *x, const char *y, cr_buf *out, int64_t *rows, cr_err *err) {
    cr_buf ids, labels;
    cr_buf_init(&ids);
    cr_buf_init(&labels);
    cr_code code = cr_file_read(x, 0, &ids, err);
    if (code == CR_OK) code = cr_file_read(y, 0, &labels, err);
    size_t px = 0, py = 0;
    int lx = 0, ly = 0;
    for (;;) {
        const char *a, *a_end, *b, *b_end;
        bool more = code == CR_OK && next_line(&ids, &px, &lx, &a, &a_end);
        if (code != CR_OK || next_line(&labels, &py, &ly, &b, &b_end) != more) {
            cr_loc at = {more ? x : y, more ? lx : ly, 0};
            if (code == CR_OK)
                code = cr_fail_at(err, CR_EDATA, at,
                                  "the line has no %s in '%s'; both files have a line per row",
                                  more ? "label" : "ids", more ? y : x);
            break;
        }
        if (!more) break;
        cr_buf_add(out, b, (size_t)(b_end - b));
        cr_buf_char(out, ' ');
        cr_buf_add(out, a, (size_t)(a_end - a));
        cr_buf_char(out, '\n');
        ++*rows;
    }
    cr_buf_clear(&ids);
    cr_buf_clear(&labels);
    return code;
}

cr_code cr_paste_labels(const char *raw_dir, const char *out_dir, int64_t *rows, cr_err *err) {
    cr_arena a;
    char **names;
    size_t n = 0;
    cr_buf out;
    cr_arena_init(&a, 0);
    cr_buf_init(&out);
    *rows = 0;
    cr_code code = cr_list_dir(&a, raw_dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && i < n; i++) {
        size_t k = strlen(names[i]);
        if (names[i][0] == '.' || k < 5 || strcmp(names[i] + k - 5, "x.txt") != 0) continue;
        char *y = cr_arena_strdup(&a, names[i]);
        y[k - 5] = 'y';
        code = paste_two(cr_path_join(&a, raw_dir, names[i]), cr_path_join(&a, raw_dir, y), &out,
                         rows, err);
    }
    if (code == CR_OK && *rows == 0)
        code = cr_fail(err, CR_EDATA,
                       "the folder '%s' holds no rows; ids are in a file that ends in x.txt and "
                       "their labels in one that ends in y.txt",
                       raw_dir);
    if (code == CR_OK) code = cr_mkdirs(out_dir, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, "rows.txt"), out.data, out.n, err);
    const char *count = cr_arena_printf(&a, "%lld\n", (long long)*rows);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, ".count"), count, strlen(count), err);
    cr_buf_clear(&out);
    cr_arena_clear(&a);
    return code;
}
