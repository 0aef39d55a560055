/*
 * file.h - files: read whole, written whole or not at all, found by glob.
 */
#ifndef CR_BASE_FILE_H
#define CR_BASE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"

/* cr_io_fail fills err with "path: cannot <what>: <reason of errno value e>; <cure>", CR_EIO. */
cr_code cr_io_fail(cr_err *err, const char *path, const char *what, int e);

/* cr_file_read reads a whole regular file (at most max bytes; 0: no limit) into out. Devices, pipes
 * and directories are refused, so that a path that the user did not type cannot make a run wait or
 * fill the memory. */
CR_CHECKED cr_code cr_file_read(const char *path, size_t max, cr_buf *out, cr_err *err);
/* cr_file_read_any also reads pipes and devices: for a path that the user typed. */
CR_CHECKED cr_code cr_file_read_any(const char *path, size_t max, cr_buf *out, cr_err *err);
/* cr_file_write writes path.tmp-PID, syncs, renames: path is whole or as it was. Parents must
 * exist. */
CR_CHECKED cr_code cr_file_write(const char *path, const void *data, size_t n, cr_err *err);
/* cr_file_append appends n bytes with one write and syncs. Creates the file. */
CR_CHECKED cr_code cr_file_append(const char *path, const void *data, size_t n, cr_err *err);
CR_CHECKED cr_code cr_file_copy(const char *from, const char *to, cr_err *err);
/* cr_file_copy_unless does the same unless *stop is set meanwhile: then nothing appears, and the
 * code is CR_ESTOP. */
CR_CHECKED cr_code cr_file_copy_unless(const char *from, const char *to, const atomic_int *stop,
                                       cr_err *err);

/* A file being written under a temporary name in the same directory. commit = flush, fsync, rename,
 * fsync of the directory. abort removes it. The first write error is kept, and commit reports
 * it. */
typedef struct cr_outfile cr_outfile;
CR_CHECKED cr_code cr_outfile_open(cr_outfile **out, const char *path, cr_err *err);
/* cr_outfile_append opens a file to add to it; with `fresh` the file must not exist yet. Flushed
 * bytes are in the file at once, all of them or none. A store that cannot append gets the whole
 * file from time to time, at cr_outfile_settle and at commit. */
CR_CHECKED cr_code cr_outfile_append(cr_outfile **out, const char *path, bool fresh, cr_err *err);
CR_CHECKED cr_code cr_outfile_settle(cr_outfile *f, cr_err *err);
/* cr_outfile_stdout does the same for standard output, which is written directly. When the program
 * that reads it has ended (| head), the code is CR_ECLOSED. */
CR_CHECKED cr_code cr_outfile_stdout(cr_outfile **out, cr_err *err);
CR_CHECKED cr_code cr_outfile_write(cr_outfile *f, const void *data, size_t n, cr_err *err);
CR_CHECKED cr_code cr_outfile_flush(cr_outfile *f, cr_err *err);
CR_CHECKED cr_code cr_outfile_commit(cr_outfile *f, cr_err *err); /* frees f in any case */
void cr_outfile_abort(cr_outfile *f);
/* cr_outfile_no_sync: commit does not wait for the disk. Use it for files that can be made
 * again. */
void cr_outfile_no_sync(cr_outfile *f);

bool cr_path_exists(const char *path);
bool cr_path_is_dir(const char *path);
bool cr_path_is_link(const char *path); /* a symbolic link, wherever it leads */
/* cr_same_file: do both paths exist and lead to one file? */
bool cr_same_file(const char *a, const char *b);
/* cr_can_write: may a file at path be written, or made when it does not exist? Creates nothing. */
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
/* cr_path_dir returns the folder that holds path ("." for a plain name), in the arena. */
char *cr_path_dir(cr_arena *a, const char *path);
/* cr_path_below: do both exist, and does path lead to something in dir, links followed? */
bool cr_path_below(const char *dir, const char *path);
/* cr_path_inside: is path, taken relative to dir, a file in dir or below it? Absolute paths, "..",
 * and links that lead out are refused. A path that does not exist passes; opening it will fail. */
CR_CHECKED cr_code cr_path_inside(const char *dir, const char *path, cr_err *err);
/* cr_list_dir returns the sorted names in a directory (without . and ..). */
CR_CHECKED cr_code cr_list_dir(cr_arena *a, const char *path, char ***names, size_t *n,
                               cr_err *err);
/* Standard input as a path: "-" in lists of input paths means this, see cr_glob. */
#define CR_STDIN "/dev/stdin"
bool cr_is_stdin(const char *path); /* "-" or CR_STDIN? */
/* cr_glob expands a comma-separated list of globs (commas inside {} or [] kept) into sorted paths
 * per item, in item order. "-" is CR_STDIN. A directory stands for its files with one of the
 * endings in exts (ended by NULL; exts NULL means all files). A pattern without a match is CR_EIO
 * and is named in the message. */
CR_CHECKED cr_code cr_glob(cr_arena *a, const char *patterns, const char *const *exts,
                           char ***paths, size_t *n, cr_err *err);
/* cr_glob_item_end returns the end of the item that begins at s in such a list: the comma after it,
 * or the end of the text. */
const char *cr_glob_item_end(const char *s);

#endif
