/*
 * toy.c - a store for reading: toy://a/b is the local file a/b.
 */
#include "base/fs_list.h"

#include <string.h>

static const char *local(const char *path) {
    return path + strlen("toy://");
}

static int toy_open(void **file, const char *path, bool wait, cr_fs_stat *st, cr_fs_why *why) {
    return cr_store_file.open(file, local(path), wait, st, why);
}

static int toy_pread(void *file, int64_t at, void *buf, size_t n, size_t *got, cr_fs_why *why) {
    return cr_store_file.pread(file, at, buf, n, got, why);
}

static void toy_close(void *file) {
    cr_store_file.close(file);
}

static int toy_stat(const char *path, bool follow, cr_fs_stat *st, cr_fs_why *why) {
    return cr_store_file.stat(local(path), follow, st, why);
}

static int toy_list(const char *path, cr_fs_each each, void *ctx, cr_fs_why *why) {
    return cr_store_file.list(local(path), each, ctx, why);
}

const cr_store cr_store_toy = {
    .scheme = "toy",
    .can = CR_FS_FOLDERS,
    .open = toy_open,
    .pread = toy_pread,
    .close = toy_close,
    .stat = toy_stat,
    .list = toy_list,
};
