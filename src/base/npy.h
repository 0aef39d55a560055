/*
 * npy.h - matrices of whole numbers in NumPy's files (.npy, versions 1 to 3).
 */
#ifndef CR_BASE_NPY_H
#define CR_BASE_NPY_H

#include "base/mem.h"

/* cr_npy_read_i64 reads a matrix of 32- or 64-bit whole numbers, little-endian and row after row,
 * into memory of a; shape receives its two sizes, which may not be 0. A list has the sizes n, 1. */
CR_CHECKED cr_code cr_npy_read_i64(const char *path, cr_arena *a, int64_t **out, int64_t shape[2],
                                   cr_err *err);
/* cr_npy_write_i64 writes a list of n whole numbers. */
CR_CHECKED cr_code cr_npy_write_i64(const char *path, const int64_t *v, int64_t n, cr_err *err);

#endif
