/*
 * files.h - the files that the paths of a data set name.
 */
#ifndef CR_DATA_FILES_H
#define CR_DATA_FILES_H

#include "data/config.h"

/* cr_data_files expands paths as cr_glob does. With data_config.mixing, sources that $ parts are
 * listed one after the other. min_file_bytes and unique_files leave files out; an error if none is
 * left. */
CR_CHECKED cr_code cr_data_files(const cr_data_conf *c, cr_arena *a, const char *paths,
                                 const char *const *exts, char ***out, size_t *n, cr_err *err);
/* cr_data_sources returns how many sources the paths have; 1 without data_config.mixing. */
int cr_data_sources(const cr_data_conf *c, const char *paths);

#endif
