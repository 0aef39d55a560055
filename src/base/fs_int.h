/*
 * fs_int.h - what the files of the door to stores share: the bytes of a file on a store that is
 * far, and the names that patterns found there.
 */
#ifndef CR_BASE_FS_INT_H
#define CR_BASE_FS_INT_H

#include "base/fs.h"

typedef struct cr_ahead cr_ahead;
/* cr_ahead_new is for an open file of `size` bytes, which stays open until cr_ahead_free. */
cr_ahead *cr_ahead_new(const cr_store *s, void *file, int64_t size);
/* cr_ahead_free waits for the requests that have begun. */
void cr_ahead_free(cr_ahead *a);
/* cr_ahead_hint announces that these parts will be read soon. It returns at once and sorts v. */
void cr_ahead_hint(cr_ahead *a, cr_fs_range *v, int n);
/* cr_ahead_read reads n bytes, or all up to the end of the file. It returns 0 or an errno value. */
int cr_ahead_read(cr_ahead *a, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why);

/* cr_fs_pread_some, of fs.c, makes one read of the store, tried again where that helps. */
int cr_fs_pread_some(const cr_store *s, void *file, int64_t at, void *buf, size_t n, size_t *got,
                     cr_fs_why *why);

/* cr_kept_put keeps the files that a pattern found. key: the pattern, and behind it whatever else
 * the answer depends on; fixed: how many bytes of it every file begins with. */
void cr_kept_put(const char *key, size_t fixed, const char *const *names, size_t n);
/* cr_kept_get calls `each` for the files of a key, in their order; false: none are kept. */
bool cr_kept_get(const char *key, cr_fs_each each, void *ctx);
/* cr_kept_forget: something at the path, or below it, was written or removed. */
void cr_kept_forget(const char *path);

#endif
