/*
 * scheme.h - paths with a scheme in front ("oss://bucket/data"): the table of schemes, and the
 * functions that turn the text of a user into a path that opens a file.
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
    const char *store; /* what a path of this scheme names: "a MaxCompute table" */
    const char *cure;  /* how to do without it, where no store serves it */
    bool rows;         /* it is no file: a reader of its own opens it as data */
} cr_scheme;
extern const cr_scheme cr_schemes[];

/* cr_scheme_len returns how many bytes of path are a scheme, without "://"; 0 for a local path. A
 * scheme of the table also counts with one slash ("hdfs:/x"). */
size_t cr_scheme_len(const char *path);
/* cr_scheme_find returns the row of path's scheme; NULL for a local path or an unknown scheme. */
const cr_scheme *cr_scheme_find(const char *path);

/* cr_path_local turns a path as users write it into one that opens a file: file:///a/b becomes /a/b
 * (in the arena); a path without a scheme, or of another store, is returned as it is. NULL: no
 * store serves it. */
const char *cr_path_local(cr_arena *a, const char *path);
/* cr_path_take is cr_path_local with a message: a path that no store serves is a finding at
 * `at`. */
const char *cr_path_take(cr_arena *a, const char *path, cr_loc at, cr_diag *diag);
/* cr_path_bare returns a path of a store without slashes at its end, which "s3://bucket/exp/" has:
 * "exp//x" and "exp/x" are two names in an object store, and one on a disk. Local paths stay. */
const char *cr_path_bare(cr_arena *a, const char *path);
/* cr_scheme_rows: is the path data without files, which a reader opens by its address? */
bool cr_scheme_rows(const char *path);
/* cr_paths_take does the same for every item of a comma-separated list of globs (as cr_glob reads
 * it); each item that no store serves is a separate finding. */
const char *cr_paths_take(cr_arena *a, const char *paths, cr_loc at, cr_diag *diag);

#endif
