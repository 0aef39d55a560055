/*
 * h5_make.c - HDF5 files for cases of the command line, from text.
 *
 *   h5_make OUT KIND <ROWS
 *
 * ROWS are lines of numbers with spaces. KIND says what the first data set of the file is: real or
 * whole (a matrix of 64-bit fractions or whole numbers, in parts that are compressed), list (of one
 * dimension), text, group (no data set), none, claims (many rows that were never written) or
 * elsewhere (rows in another file, OUT.raw).
 */
#include <hdf5.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 100000

static double v[MOST];

static int fail(const char *what) {
    fprintf(stderr, "h5_make: %s\n", what);
    return 1;
}

/* Reads all numbers; returns how many there are, and in *cols those of the first line. */
static hsize_t read_numbers(hsize_t *cols) {
    char *line = NULL;
    size_t cap = 0;
    hsize_t n = 0;
    *cols = 0;
    while (getline(&line, &cap, stdin) > 0) {
        for (char *s = strtok(line, " \n"); s && n < MOST; s = strtok(NULL, " \n"))
            v[n++] = strtod(s, NULL);
        if (*cols == 0) *cols = n;
    }
    free(line);
    return n;
}

int main(int argc, char **argv) {
    if (argc != 3) return fail("usage: h5_make OUT KIND");
    hsize_t cols, n = read_numbers(&cols);
    const char *kind = argv[2];
    hid_t f = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (f < 0) return fail("the file cannot be made");
    bool whole = strcmp(kind, "whole") == 0, text = strcmp(kind, "text") == 0;
    if (strcmp(kind, "group") == 0) {
        H5Gclose(H5Gcreate2(f, "data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    } else if (strcmp(kind, "none") != 0) {
        if (cols == 0 || n % cols != 0) return fail("lines differ in length");
        bool list = strcmp(kind, "list") == 0;
        hsize_t dims[2] = {list ? n : n / cols, cols}, part[2] = {7, cols};
        hid_t space = H5Screate_simple(list ? 1 : 2, dims, NULL);
        hid_t how = H5Pcreate(H5P_DATASET_CREATE);
        bool claims = strcmp(kind, "claims") == 0;
        char other[600];
        if (claims) dims[0] = (hsize_t)1 << 38;
        if (claims) space = H5Screate_simple(2, dims, NULL);
        snprintf(other, sizeof other, "%s.raw", argv[1]);
        if (strcmp(kind, "elsewhere") == 0) H5Pset_external(how, other, 0, H5F_UNLIMITED);
        if (whole || claims) H5Pset_chunk(how, 2, part);
        if (whole) H5Pset_deflate(how, 1);
        hid_t set = H5Dcreate2(f, "data",
                               text    ? H5T_C_S1
                               : whole ? H5T_STD_I32BE
                                       : H5T_IEEE_F64LE,
                               space, H5P_DEFAULT, how, H5P_DEFAULT);
        if (set < 0) return fail("the data set cannot be made");
        if (!text && !claims &&
            H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0)
            return fail("the numbers cannot be written");
        H5Dclose(set);
        H5Pclose(how);
        H5Sclose(space);
    }
    return H5Fclose(f) < 0 ? fail("the file cannot be written") : 0;
}
