/*
 * hdf5.h - a matrix in an HDF5 file.
 *
 * The library (libhdf5) is a plug-in of its own, hdf5.so, which is loaded when the first such file
 * is opened; plug_hdf5.c is the only file that includes its header.
 */
#ifndef CR_TOOL_HDF5_H
#define CR_TOOL_HDF5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CR_HDF5_ABI 1

/* Functions return false with the cause in why. */
typedef struct cr_hdf5_plug {
    int abi;
    /* open takes the first data set of the file by name, which must be a matrix of numbers */
    bool (*open)(void **h, const char *path, int64_t *rows, int64_t *cols, char *why, size_t size);
    /* read gives the rows [from, from + n) as n * cols numbers: whole ones in `whole`, those of a
     * matrix of fractions in `real`. *is_real tells which; the caller has room in both. */
    bool (*read)(void *h, int64_t from, int64_t n, int64_t *whole, double *real, bool *is_real,
                 char *why, size_t size);
    void (*close)(void *h);
} cr_hdf5_plug;
extern const cr_hdf5_plug cr_hdf5_plug_of; /* what crank looks for in the library */

#endif
