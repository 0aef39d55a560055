/*
 * fs_list.h - every store that crank knows, in alphabetical order: cr_store_<name> in
 * src/store/<name>.c.
 */
#ifndef CR_BASE_FS_LIST_H
#define CR_BASE_FS_LIST_H

#include "base/fs.h"

#define CR_STORES(X) X(file)

#define CR_STORE_DECLARE(s) extern const cr_store cr_store_##s;
CR_STORES(CR_STORE_DECLARE)

#endif
