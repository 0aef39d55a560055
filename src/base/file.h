/*
 * file.h - files: read whole, written whole or not at all, found by glob.
 */
#ifndef CR_BASE_FILE_H
#define CR_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"

/* cr_io_fail fills err with "path: cannot <what>: <reason of errno value e>; <cure>", CR_EIO. */
cr_code cr_io_fail(cr_err *err, const char *path, const char *what, int e);

/* cr_file_read reads a whole regular file (at most max bytes; 0: no limit) into out. Devices, pipes
 * and directories are refused, so that a path from somewhere else cannot make a run wait or fill the
 * memory. */
CR_CHECKED cr_code cr_file_read(const char *path, size_t max, cr_buf *out, cr_err *err);
/* cr_file_read_any also reads pipes and devices: for a path that the user typed. */
CR_CHECKED cr_code cr_file_read_any(const char *path, size_t max, cr_buf *out, cr_err *err);
/* cr_file_write writes path.tmp-PID, syncs, renames: path is whole or as it was. Parents must exist. */
CR_CHECKED cr_code cr_file_write(const char *path, const void *data, size_t n, cr_err *err);
/* cr_file_append appends n bytes with one write and syncs. Creates the file. */
CR_CHECKED cr_code cr_file_append(const char *path, const void *data, size_t n, cr_err *err);
CR_CHECKED cr_code cr_file_copy(const char *from, const char *to, cr_err *err);

/* A file being written under a temporary name in the same directory. commit = flush, fsync,
 * rename, fsync of the directory. abort removes it. Every write error is kept and reported by commit. */
typedef struct cr_outfile cr_outfile;
CR_CHECKED cr_code cr_outfile_open(cr_outfile **out, const char *path, cr_err *err);
/* cr_outfile_append opens a file to be added to; fresh: it must not exist. What is flushed is there at
 * once, whole or not at all; a store that cannot append gets the whole file from time to time, at
 * cr_outfile_settle and at commit. */
CR_CHECKED cr_code cr_outfile_append(cr_outfile **out, const char *path, bool fresh, cr_err *err);
CR_CHECKED cr_code cr_outfile_settle(cr_outfile *f, cr_err *err);
/* cr_outfile_stdout: the same for standard output, written directly. A reader that has left (| head)
 * is CR_ECLOSED. */
CR_CHECKED cr_code cr_outfile_stdout(cr_outfile **out, cr_err *err);
CR_CHECKED cr_code cr_outfile_write(cr_outfile *f, const void *data, size_t n, cr_err *err);
CR_CHECKED cr_code cr_outfile_flush(cr_outfile *f, cr_err *err);
CR_CHECKED cr_code cr_outfile_commit(cr_outfile *f, cr_err *err); /* frees f either way */
void cr_outfile_abort(cr_outfile *f);
/* cr_outfile_no_sync: commit does not wait for the disk. For what can be made again. */
void cr_outfile_no_sync(cr_outfile *f);

bool cr_path_exists(const char *path);
bool cr_path_is_dir(const char *path);
bool cr_path_is_link(const char *path); /* a symbolic one, wherever it leads */
/* cr_same_file: do both paths exist and lead to one file? */
bool cr_same_file(const char *a, const char *b);
/* cr_can_write: may a file be written at path, or made there? Makes nothing. */
CR_CHECKED cr_code cr_can_write(const char *path, cr_err *err);
CR_CHECKED cr_code cr_file_size(const char *path, int64_t *out, cr_err *err);
/* cr_mkdirs makes path and its parents. */
CR_CHECKED cr_code cr_mkdirs(const char *path, cr_err *err);
/* cr_rmtree removes a directory and all in it; a missing one is fine. Does not follow links. */
CR_CHECKED cr_code cr_rmtree(const char *path, cr_err *err);
/* cr_file_remove removes a file or an empty directory; a missing one is fine. */
CR_CHECKED cr_code cr_file_remove(const char *path, cr_err *err);
CR_CHECKED cr_code cr_sync_dir(const char *path, cr_err *err);
CR_CHECKED cr_code cr_rename(const char *from, const char *to, cr_err *err);
/* cr_path_join joins dir and name in the arena ("" and "." are dropped, absolute names win). */
char *cr_path_join(cr_arena *a, const char *dir, const char *name);
const char *cr_path_base(const char *path);
/* cr_path_dir: the folder that holds what path names ("." for a plain name), in the arena */
char *cr_path_dir(cr_arena *a, const char *path);
/* cr_path_below: do both exist, and does path lead to something in dir, links followed? */
bool cr_path_below(const char *dir, const char *path);
/* cr_path_inside: is path, which is given from dir on, a file in dir or below it? Refused are absolute
 * paths, "..", and links that lead out. A path that does not exist passes; opening it tells. */
CR_CHECKED cr_code cr_path_inside(const char *dir, const char *path, cr_err *err);
/* cr_list_dir returns the sorted names in a directory (without . and ..). */
CR_CHECKED cr_code cr_list_dir(cr_arena *a, const char *path, char ***names, size_t *n, cr_err *err);
/* Standard input as a path: "-" in lists of input paths means this, see cr_glob. */
#define CR_STDIN "/dev/stdin"
bool cr_is_stdin(const char *path); /* "-" or CR_STDIN? */
/* cr_glob expands a comma-separated list of globs (commas inside {} or [] kept) into sorted paths per item, in
 * item order. "-" is CR_STDIN. A directory stands for its files with one of the endings in exts (NULL-ended; may be
 * NULL: all). Nothing found is CR_EIO naming the pattern. */
CR_CHECKED cr_code cr_glob(cr_arena *a, const char *patterns, const char *const *exts, char ***paths,
                           size_t *n, cr_err *err);
/* cr_glob_item_end returns the end of the item of such a list that begins at s: the comma behind
 * it, or the end of the text. */
const char *cr_glob_item_end(const char *s);

#endif
