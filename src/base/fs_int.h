/*
 * fs_int.h - what fs.c and fs_ahead.c share: the bytes of a file on a store that is far.
 */
#ifndef CR_BASE_FS_INT_H
#define CR_BASE_FS_INT_H

#include "base/fs.h"

typedef struct cr_ahead cr_ahead;
/* cr_ahead_new: for an open file of `size` bytes, which stays open until cr_ahead_free. */
cr_ahead *cr_ahead_new(const cr_store *s, void *file, int64_t size);
/* cr_ahead_free waits for the requests that are on their way. */
void cr_ahead_free(cr_ahead *a);
/* cr_ahead_hint: these parts are read soon. Returns at once; sorts v. */
void cr_ahead_hint(cr_ahead *a, cr_fs_range *v, int n);
/* cr_ahead_read is pread of everything up to the end of the file; 0 or an errno value. */
int cr_ahead_read(cr_ahead *a, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why);

/* fs.c: one read of the store, tried again where that helps. */
int cr_fs_pread_some(const cr_store *s, void *file, int64_t at, void *buf, size_t n, size_t *got,
                     cr_fs_why *why);

#endif
