/*
 * npy.c - matrices of NumPy's files: both widths of numbers, and every way in which a file can be
 * wrong.
 */
#include "base/npy.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "harness.h"

/* The file that all cases use, in the folder for temporary files. */
static const char *file(void) {
    static char path[256];
    const char *tmp = getenv("TMPDIR");
    if (!*path) snprintf(path, sizeof path, "%s/crank_npy_%d", tmp ? tmp : "/tmp", (int)getpid());
    return path;
}

/* Writes a file of version 1 with this header and these bytes behind it. */
static void make(const char *header, const void *data, size_t n) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_add(&b, "\x93NUMPY\x01", 7);
    cr_buf_char(&b, 0);
    cr_buf_char(&b, (char)strlen(header));
    cr_buf_char(&b, 0);
    cr_buf_str(&b, header);
    cr_buf_add(&b, data, n);
    CHECK_INT(cr_file_write(file(), b.data, b.n, NULL), CR_OK);
    cr_buf_clear(&b);
}

static void refused(const char *header, size_t n, const char *why) {
    static const char zeros[64];
    cr_arena a;
    cr_err err;
    int64_t *v, shape[2];
    cr_arena_init(&a, 0);
    make(header, zeros, n);
    CHECK_INT(cr_npy_read_i64(file(), &a, &v, shape, &err), CR_EDATA);
    CHECK(strstr(err.msg, why) != NULL);
    cr_arena_clear(&a);
}

TEST(reads_both_widths) {
    static const int64_t wide[] = {1, -2, 3, 4, 5, 6};
    static const int32_t narrow[] = {7, -8};
    cr_arena a;
    cr_err err;
    int64_t *v, shape[2];
    cr_arena_init(&a, 0);
    make("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }", wide, sizeof wide);
    CHECK_INT(cr_npy_read_i64(file(), &a, &v, shape, &err), CR_OK);
    CHECK_INT(shape[0], 2);
    CHECK_INT(shape[1], 3);
    CHECK_INT(v[1], -2);
    CHECK_INT(v[5], 6);
    make("{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }", narrow, sizeof narrow);
    CHECK_INT(cr_npy_read_i64(file(), &a, &v, shape, &err), CR_OK);
    CHECK_INT(v[1], -8);
    cr_arena_clear(&a);
}

TEST(writes_a_list) {
    static const int64_t v[] = {1, 0, -7};
    cr_arena a;
    cr_err err;
    int64_t *back, shape[2];
    cr_arena_init(&a, 0);
    CHECK_INT(cr_npy_write_i64(file(), v, 3, &err), CR_OK);
    CHECK_INT(cr_npy_read_i64(file(), &a, &back, shape, &err), CR_OK);
    CHECK_INT(shape[0], 3);
    CHECK_INT(shape[1], 1);
    CHECK(memcmp(back, v, sizeof v) == 0);
    cr_arena_clear(&a);
}

TEST(refuses_other_files) {
    static const char matrix[] = "not a matrix of whole numbers", cut[] = "is cut short";
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", 8, matrix);
    refused("{'descr': '<i8', 'fortran_order': True, 'shape': (1, 2), }", 16, matrix);
    refused("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", 8, cut);
    refused("{'descr': '<i8', 'fortran_order': False, 'shape': (,), }", 8, matrix);
    refused("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 2), }", 0, matrix);
    refused("{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2, 3), }", 48, matrix);
    refused("{}", 8, matrix);
    refused("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }", 16, cut);
    refused("{'descr': '<i8', 'fortran_order': False, 'shape': (9223372036854775807, 2), }", 16,
            cut);
    cr_arena a;
    cr_err err;
    int64_t *v, shape[2];
    cr_arena_init(&a, 0);
    CHECK_INT(cr_file_write(file(), "\x93NUMPY\x01\0\xff\xff", 10, NULL), CR_OK);
    CHECK_INT(cr_npy_read_i64(file(), &a, &v, shape, &err), CR_EDATA);
    CHECK_INT(unlink(file()), 0);
    CHECK(cr_npy_read_i64(file(), &a, &v, shape, &err) != CR_OK);
    cr_arena_clear(&a);
}

TEST_MAIN(CASE(reads_both_widths), CASE(writes_a_list), CASE(refuses_other_files))
