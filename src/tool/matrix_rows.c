/*
 * matrix_rows.c - rows that lie in HDF5 files, as a matrix of ids with the label in the last column
 * (PaddleRec's fgcnn): one file of lines with the label in front of the ids.
 */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/plugin.h"
#include "tool/hdf5.h"
#include "tool/tool.h"

#define PART ((int64_t)1 << 16) /* numbers that are read at once, at least a row of them */

typedef struct matrix {
    const cr_hdf5_plug *plug;
    void *h;
    const char *path;
    int64_t rows, cols;
    int64_t *whole;
    double *real;
} matrix;

/* Number j of a part as a whole one; false: it is none. */
static bool whole_at(const matrix *m, bool is_real, int64_t j, int64_t *out) {
    if (!is_real) {
        *out = m->whole[j];
        return true;
    }
    double v = m->real[j];
    if (!(fabs(v) <= 9007199254740992.0) || v != floor(v)) return false;
    *out = (int64_t)v;
    return true;
}

/* Adds the lines of the rows [from, from + n), which have been read. */
static cr_code add_lines(const matrix *m, bool is_real, int64_t from, int64_t n, cr_buf *out,
                         cr_err *err) {
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < m->cols; c++) {
            int64_t k = c == 0 ? m->cols - 1 : c - 1, v;
            if (!whole_at(m, is_real, r * m->cols + k, &v))
                return cr_fail_at(err, CR_EDATA, ((cr_loc){m->path, 0, 0}),
                                  "row %lld has %.9g in column %lld; ids and labels are whole "
                                  "numbers: correct the file",
                                  (long long)(from + r + 1), m->real[r * m->cols + k],
                                  (long long)(k + 1));
            cr_buf_printf(out, c == 0 ? "%lld" : " %lld", (long long)v);
            if (c == m->cols - 1) cr_buf_char(out, '\n');
        }
    return CR_OK;
}

static cr_code copy_rows(matrix *m, cr_outfile *to, cr_err *err) {
    int64_t at_once = m->cols < PART ? PART / m->cols : 1;
    cr_code code = CR_OK;
    cr_buf lines;
    char why[240];
    m->whole = cr_alloc((size_t)(at_once * m->cols) * sizeof *m->whole, "rows of a matrix");
    m->real = cr_alloc((size_t)(at_once * m->cols) * sizeof *m->real, "rows of a matrix");
    cr_buf_init(&lines);
    for (int64_t from = 0; code == CR_OK && from < m->rows; from += at_once) {
        int64_t n = m->rows - from < at_once ? m->rows - from : at_once;
        bool is_real = false;
        lines.n = 0;
        if (!m->plug->read(m->h, from, n, m->whole, m->real, &is_real, why, sizeof why))
            code = cr_fail_at(err, CR_EDATA, ((cr_loc){m->path, 0, 0}), "%s", why);
        if (code == CR_OK) code = add_lines(m, is_real, from, n, &lines, err);
        if (code == CR_OK) code = cr_outfile_write(to, lines.data, lines.n, err);
    }
    cr_buf_clear(&lines);
    cr_free(m->whole);
    cr_free(m->real);
    return code;
}

static cr_code copy_file(const cr_hdf5_plug *plug, const char *path, int64_t cols, cr_outfile *to,
                         int64_t *rows, cr_err *err) {
    matrix m = {.plug = plug, .path = path};
    cr_loc at = {path, 0, 0};
    char why[240];
    if (!plug->open(&m.h, path, &m.rows, &m.cols, why, sizeof why))
        return cr_fail_at(err, CR_EDATA, at, "%s", why);
    cr_code code = CR_OK;
    if (m.cols != cols)
        code = cr_fail_at(err, CR_EDATA, at,
                          "its rows have %lld columns and must have %lld: an id for each of the "
                          "%lld fields of the config, and the label; correct feature_name or the "
                          "file",
                          (long long)m.cols, (long long)cols, (long long)(cols - 1));
    if (code == CR_OK) code = copy_rows(&m, to, err);
    if (code == CR_OK) *rows += m.rows;
    plug->close(m.h);
    return code;
}

static bool is_hdf5(const char *name) {
    size_t n = strlen(name);
    return name[0] != '.' && ((n > 3 && strcmp(name + n - 3, ".h5") == 0) ||
                              (n > 5 && strcmp(name + n - 5, ".hdf5") == 0));
}

cr_code cr_matrix_rows(const char *raw_dir, const char *out_dir, int64_t fields, int64_t *rows,
                       cr_err *err) {
    cr_arena a;
    char **names;
    size_t n = 0;
    void *plug;
    cr_outfile *out = NULL;
    const cr_store *store = cr_store_of(raw_dir);
    *rows = 0;
    if (store && strcmp(store->scheme, "file") != 0)
        return cr_fail(err, CR_ECONF,
                       "'%s': HDF5 files are read from this machine's own disks only; copy the "
                       "folder there and name that one",
                       raw_dir);
    CR_TRY(cr_plugin_own("hdf5.so", "cr_hdf5_plug_of", CR_HDF5_ABI,
                         "build crank with libhdf5-dev installed", &plug, err));
    cr_arena_init(&a, 0);
    cr_code code = cr_list_dir(&a, raw_dir, &names, &n, err);
    if (code == CR_OK) code = cr_mkdirs(out_dir, err);
    if (code == CR_OK) code = cr_outfile_open(&out, cr_path_join(&a, out_dir, "rows.txt"), err);
    for (size_t i = 0; code == CR_OK && i < n; i++)
        if (is_hdf5(names[i]))
            code = copy_file(plug, cr_path_join(&a, raw_dir, names[i]), fields + 1, out, rows, err);
    if (code == CR_OK && *rows == 0)
        code = cr_fail(err, CR_EDATA,
                       "the folder '%s' holds no rows; they are in files that end in .h5 or .hdf5",
                       raw_dir);
    if (code == CR_OK)
        code = cr_outfile_commit(out, err);
    else if (out)
        cr_outfile_abort(out);
    cr_arena_clear(&a);
    return code;
}
