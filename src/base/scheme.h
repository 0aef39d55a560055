/*
 * scheme.h - paths with a scheme in front ("oss://bucket/data"): the one table of schemes, and the
 * way from what a user wrote to a path that files are opened with.
 *
 * Every path of a flag or a config key goes through cr_path_take before anything runs (the rows of
 * the flag and field tables say which ones are paths). The stores of fs.h decide what is served.
 */
#ifndef CR_BASE_SCHEME_H
#define CR_BASE_SCHEME_H

#include <stdbool.h>

#include "base/mem.h"

typedef struct cr_scheme {
    const char *name;  /* "oss"; NULL ends the table */
    const char *store; /* what such a path is: "a MaxCompute table" */
    const char *cure;  /* how to do without, where no store serves it */
} cr_scheme;
extern const cr_scheme cr_schemes[];

/* cr_scheme_len: the bytes of path that are a scheme, without "://"; 0: a local path. A scheme of
 * the table also counts with one slash ("hdfs:/x"). */
size_t cr_scheme_len(const char *path);
/* cr_scheme_find: the row of path's scheme; NULL: a local path, or a scheme that is not known. */
const cr_scheme *cr_scheme_find(const char *path);

/* cr_path_local turns a path as users write it into one that files are opened with: file:///a/b
 * becomes /a/b (in the arena); a path without a scheme, or of another store, is returned as it is.
 * NULL: no store serves it. */
const char *cr_path_local(cr_arena *a, const char *path);
/* cr_path_take is cr_path_local that tells why: a path that no store serves is a finding at `at`.
 */
const char *cr_path_take(cr_arena *a, const char *path, cr_loc at, cr_diag *diag);
/* cr_paths_take does the same for every item of a comma-separated list of globs (as cr_glob reads
 * it); each item that no store serves is a finding of its own. */
const char *cr_paths_take(cr_arena *a, const char *paths, cr_loc at, cr_diag *diag);

#endif
