/*
 * digit_rows.c - rows of PaddleRec's dselect_k. Each of its data files is a pickle of two arrays:
 * pictures (rows, height, width), and two labels for each.
 *
 * A row is left;right;numbers, with blanks between the numbers of the picture, line after line.
 */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/pickle.h"
#include "tool/tool.h"

static cr_code put_picture(const cr_pickle *x, const cr_pickle *y, int64_t row, int64_t size,
                           const char *path, cr_buf *out, cr_err *err) {
    int64_t label[2];
    double v = 0;
    if (!cr_pickle_whole(y, 2 * row, &label[0]) || !cr_pickle_whole(y, 2 * row + 1, &label[1]))
        return cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}),
                          "a label of picture %lld is no whole number; correct it", (long long)row);
    cr_buf_printf(out, "%lld;%lld;", (long long)label[0], (long long)label[1]);
    for (int64_t i = 0; i < size; i++) {
        if (!cr_pickle_number(x, row * size + i, &v) || !isfinite(v))
            return cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}),
                              "picture %lld has a value that is no number; correct it",
                              (long long)row);
        cr_buf_printf(out, i ? " %.9g" : "%.9g", v);
    }
    cr_buf_char(out, '\n');
    return CR_OK;
}

/* Adds the rows of one file. */
static cr_code take_file(const char *path, int64_t size, cr_buf *out, int64_t *rows, cr_err *err) {
    cr_arena a;
    cr_buf bytes;
    const cr_pickle *v;
    cr_arena_init(&a, 0);
    cr_buf_init(&bytes);
    cr_code code = cr_file_read(path, 0, &bytes, err);
    if (code == CR_OK) code = cr_pickle_read(bytes.data, bytes.n, path, &a, &v, err);
    if (code == CR_OK) {
        bool two = v->kind == CR_PICKLE_LIST && v->n == 2;
        const cr_pickle *x = two ? v->v[0] : v, *y = two ? v->v[1] : v;
        int64_t n = two ? cr_pickle_dim(y, 0) : -1;
        if (n < 0 || cr_pickle_dim(x, 0) != n || x->items != n * size || y->items != 2 * n)
            code = cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}),
                              "it is not two arrays, pictures of feature_size %lld numbers and two "
                              "labels for each; write them with pickle.dump((x, y), file)",
                              (long long)size);
        for (int64_t i = 0; code == CR_OK && i < n; i++, ++*rows)
            code = put_picture(x, y, i, size, path, out, err);
    }
    cr_buf_clear(&bytes);
    cr_arena_clear(&a);
    return code;
}

cr_code cr_digit_rows(const char *raw_dir, const char *out_dir, int64_t size, int64_t *rows,
                      cr_err *err) {
    cr_arena a;
    char **names;
    size_t n = 0;
    cr_buf out;
    *rows = 0;
    cr_arena_init(&a, 0);
    cr_buf_init(&out);
    cr_code code = cr_list_dir(&a, raw_dir, &names, &n, err);
    for (size_t i = 0; code == CR_OK && i < n; i++)
        if (names[i][0] != '.')
            code = take_file(cr_path_join(&a, raw_dir, names[i]), size, &out, rows, err);
    if (code == CR_OK && *rows == 0)
        code = cr_fail(err, CR_EDATA, "the folder '%s' has no picture; name another one", raw_dir);
    if (code == CR_OK) code = cr_mkdirs(out_dir, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, "rows.txt"), out.data, out.n, err);
    cr_buf_clear(&out);
    cr_arena_clear(&a);
    return code;
}
