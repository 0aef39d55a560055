/*
 * file_id.h - is a data file still the one that a run began with?
 *
 * A file that is rewritten while a run reads it, with the same size and other rows, would change
 * the result without a word. A file is known by its size, the time of its last change and a digest
 * of its beginning and end; device, inode and the time of its last change of any kind tell when it
 * is worth to look at the digest again. What happens in the middle of a large file is seen by its
 * times alone. A store that gives the content a version needs none of this.
 */
#ifndef CR_DATA_FILE_ID_H
#define CR_DATA_FILE_ID_H

#include <stdint.h>

#include "base/err.h"
#include "base/fs.h"

typedef struct cr_file_id { /* zeros: no file but a pipe, which is read once */
    uint64_t dev, ino;
    int64_t size;
    int64_t changed, touched; /* mtime and ctime in nanoseconds */
    uint64_t digest; /* the digest of its first and last 64 KiB, or the version that its store gives
                        it */
} cr_file_id;
/* cr_file_id_read looks at an open file. */
CR_CHECKED cr_code cr_file_id_read(cr_file_id *out, cr_fs *f, cr_err *err);
/* cr_file_id_check: is the open file still as it was? It costs a system call as long as the
 * file was not touched. CR_EDATA: it is another one. */
CR_CHECKED cr_code cr_file_id_check(const cr_file_id *was, cr_fs *f, cr_err *err);
/* cr_file_id_check_path is the same for the file that the path leads to now; a path that leads
 * nowhere is fine, because what was read is not changed by that. */
CR_CHECKED cr_code cr_file_id_check_path(const cr_file_id *was, const char *path, cr_err *err);

/* The files of a data set. Zeros: none; cr_file_ids_clear frees them. */
typedef struct cr_file_ids {
    cr_file_id *v;
    int64_t n;
} cr_file_ids;
void cr_file_ids_clear(cr_file_ids *ids);
/* two digests over all files: of their sizes and content, and of the times of their last changes */
typedef struct cr_data_digest {
    uint64_t content, times; /* both 0: not known */
} cr_data_digest;
cr_data_digest cr_file_ids_digest(const cr_file_ids *ids);

#endif
