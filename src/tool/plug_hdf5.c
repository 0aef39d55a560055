/*
 * plug_hdf5.c - libhdf5 behind the table of hdf5.h; the plug-in hdf5.so. The only file that
 * includes hdf5.h of that library.
 *
 * What a file says about sizes is checked before anything is read; rows are read in parts that the
 * caller chooses, so a file may be larger than the memory.
 */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/hdf5.h"

#define MOST_PACKED 2000.0 /* deflate makes data at most some 1000 times smaller */

/* What a file must hold, behind what is wrong with it. */
#define MATRIX "; it must hold a matrix of ids with the label in its last column"

typedef struct file {
    hid_t file, set, space;
    int64_t rows, cols;
    bool real;
} file;

static void close_file(void *h) {
    file *f = h;
    if (f->space >= 0) H5Sclose(f->space);
    if (f->set >= 0) H5Dclose(f->set);
    if (f->file >= 0) H5Fclose(f->file);
    free(f);
}

/* The cause that the library gives, the innermost one. */
static herr_t innermost(unsigned i, const H5E_error2_t *e, void *ctx) {
    if (i == 0) snprintf(ctx, 160, "%s", e->desc ? e->desc : "");
    return 0;
}
static bool failed(char *why, size_t size, const char *what) {
    char cause[160] = "";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, cause);
    snprintf(why, size, "%s%s%s; copy it anew", what, cause[0] ? ": " : "", cause);
    return false;
}
static bool wrong(char *why, size_t size, const char *what) {
    snprintf(why, size, "%s", what);
    return false;
}

/* The first object of the file by name, as readers in Python take it. */
static bool first_set(file *f, char *why, size_t size) {
    char name[256];
    ssize_t n = H5Lget_name_by_idx(f->file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, name, sizeof name,
                                   H5P_DEFAULT);
    if (n <= 0) return wrong(why, size, "it holds no data set" MATRIX);
    if ((size_t)n >= sizeof name)
        return wrong(why, size, "the name of its data set is too long; use a shorter one");
    H5O_info_t info;
    if (H5Oget_info_by_name(f->file, name, &info, H5P_DEFAULT) < 0)
        return failed(why, size, "its first object cannot be read");
    if (info.type != H5O_TYPE_DATASET)
        return wrong(why, size, "its first object is a group, not a data set" MATRIX);
    f->set = H5Dopen2(f->file, name, H5P_DEFAULT);
    return f->set >= 0 || failed(why, size, "its data set cannot be read");
}

/* The rows must lie in the file itself: it may name others, whose numbers nobody asked for. */
static bool own_bytes(const file *f, char *why, size_t size) {
    hid_t how = H5Dget_create_plist(f->set);
    bool own = how >= 0 && H5Pget_external_count(how) == 0 && H5Pget_layout(how) != H5D_VIRTUAL;
    if (how >= 0) H5Pclose(how);
    return own || wrong(why, size, "its rows lie in other files; write them into this one");
}

static bool look(file *f, char *why, size_t size) {
    hsize_t dims[2], most = (hsize_t)1 << 40;
    f->space = H5Dget_space(f->set);
    if (f->space < 0) return failed(why, size, "its data set cannot be read");
    if (H5Sget_simple_extent_ndims(f->space) != 2 ||
        H5Sget_simple_extent_dims(f->space, dims, NULL) != 2)
        return wrong(why, size, "its first data set is not a matrix of rows and columns" MATRIX);
    if (dims[0] > most || dims[1] == 0 || dims[1] > 1000000)
        return wrong(why, size, "its first data set is too large, or has no columns" MATRIX);
    f->rows = (int64_t)dims[0];
    f->cols = (int64_t)dims[1];
    hid_t type = H5Dget_type(f->set);
    if (type < 0) return failed(why, size, "its data set cannot be read");
    H5T_class_t is = H5Tget_class(type);
    size_t width = H5Tget_size(type);
    /* a whole number that is too large becomes the largest one of 64 bits, which no table has */
    bool fits = is == H5T_FLOAT || is == H5T_INTEGER;
    f->real = is == H5T_FLOAT;
    H5Tclose(type);
    if (!fits || width == 0 || width > 64)
        return wrong(why, size, "its first data set is not one of numbers" MATRIX);
    /* a number of rows is a few bytes, and rows that were never written read as zeros */
    double bytes = (double)f->rows * (double)f->cols * (double)width;
    if (bytes > MOST_PACKED * (double)H5Dget_storage_size(f->set))
        return wrong(why, size,
                     "it says that it has more rows than its bytes can hold; copy it anew");
    return own_bytes(f, why, size);
}

static bool open_file(void **h, const char *path, int64_t *rows, int64_t *cols, char *why,
                      size_t size) {
    file *f = malloc(sizeof *f);
    *h = NULL;
    if (!f) return wrong(why, size, "there is no memory");
    *f = (file){.file = -1, .set = -1, .space = -1};
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* causes go into `why` */
    H5PLset_loading_state(0);              /* a file loads no code */
    f->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    bool ok = f->file >= 0 ? first_set(f, why, size) && look(f, why, size)
                           : failed(why, size, "it cannot be opened as HDF5");
    if (!ok) {
        close_file(f);
        return false;
    }
    *rows = f->rows;
    *cols = f->cols;
    *h = f;
    return true;
}

static bool read_rows(void *h, int64_t from, int64_t n, int64_t *whole, double *real, bool *is_real,
                      char *why, size_t size) {
    file *f = h;
    hsize_t start[2] = {(hsize_t)from, 0}, count[2] = {(hsize_t)n, (hsize_t)f->cols};
    *is_real = f->real;
    hid_t room = H5Screate_simple(2, count, NULL);
    bool ok = room >= 0 &&
              H5Sselect_hyperslab(f->space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
              H5Dread(f->set, f->real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, room, f->space,
                      H5P_DEFAULT, f->real ? (void *)real : (void *)whole) >= 0;
    if (!ok) failed(why, size, "its rows cannot be read");
    if (room >= 0) H5Sclose(room);
    return ok;
}

const cr_hdf5_plug cr_hdf5_plug_of = {.abi = CR_HDF5_ABI,
                                      .open = open_file,
                                      .read = read_rows,
                                      .close = close_file};
