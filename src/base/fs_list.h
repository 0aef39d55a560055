/*
 * fs_list.h - every store that crank knows. A store is one line here, one line of meson.build and
 * one file src/store/<name>.c, which holds cr_store_<name>.
 */
#ifndef CR_BASE_FS_LIST_H
#define CR_BASE_FS_LIST_H

#include "base/fs.h"

/* clang-format off */
#define CR_STORES(X)                                                                               \
    X(file)                                                                                        \
    X(hdfs)                                                                                        \
    X(oss)                                                                                         \
    X(s3)                                                                                          \
    X(s3a)                                                                                         \
    X(s3n)                                                                                         \
    X(swebhdfs)                                                                                    \
    X(webhdfs)
/* clang-format on */

#define CR_STORE_DECLARE(s) extern const cr_store cr_store_##s;
CR_STORES(CR_STORE_DECLARE)

#endif
