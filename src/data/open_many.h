/*
 * open_many.h - opens many files at once: a request to a store that is far takes long, and a disk
 * answers several threads faster than one.
 */
#ifndef CR_DATA_OPEN_MANY_H
#define CR_DATA_OPEN_MANY_H

#include <stdint.h>

/* cr_open_many calls open(ctx, i) for every i of [0, n), from several threads where that is faster;
 * path is that of one of the files. */
void cr_open_many(const char *path, int64_t n, void (*open)(void *ctx, int64_t i), void *ctx);

#endif
