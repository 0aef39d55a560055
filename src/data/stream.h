/*
 * stream.h - the bytes of a plain, gzip or zstd file. What a file is, is told by its first bytes,
 * not by its name. Concatenated gzip members and zstd frames are one text.
 */
#ifndef CR_DATA_STREAM_H
#define CR_DATA_STREAM_H

#include <stdint.h>

#include "base/err.h"
#include "data/file_id.h"

typedef enum cr_codec { CR_PLAIN, CR_GZIP, CR_ZSTD } cr_codec;
typedef struct cr_stream cr_stream;

/* cr_stream_open opens a regular file, or standard input (CR_STDIN), and looks at its first bytes.
 * path is borrowed until close. */
CR_CHECKED cr_code cr_stream_open(cr_stream **out, const char *path, cr_err *err);
void cr_stream_close(cr_stream *s);
cr_codec cr_stream_codec(const cr_stream *s);
/* Is it a pipe or the like, which is read once and front to back? It can be opened again, from its
 * beginning, as long as only its first bytes (CR_LIVE_KEPT, enough for a header) were read. One
 * such stream is read at a time. */
#define CR_LIVE_KEPT ((size_t)20 << 20)
bool cr_stream_live(const cr_stream *s);
/* Is it worth to say cr_stream_will_need long before a part is read? */
bool cr_stream_far(const cr_stream *s);
void cr_stream_will_need(cr_stream *s, int64_t at, int64_t n);
/* size of the file as it lies on the disk */
int64_t cr_stream_size(const cr_stream *s);
/* what the file is, and whether it is still what it was (file_id.h); nothing is known of a live one
 */
CR_CHECKED cr_code cr_stream_id(const cr_stream *s, cr_file_id *out, cr_err *err);
CR_CHECKED cr_code cr_stream_check(const cr_stream *s, const cr_file_id *was, cr_err *err);
/* cr_stream_read reads up to n bytes of text front to back; *got 0: the end. A compressed file that
 * ends in the middle, or holds something else, is CR_EDATA. After a failure only close. */
CR_CHECKED cr_code cr_stream_read(cr_stream *s, char *buf, size_t n, size_t *got, cr_err *err);
/* cr_stream_pread reads exactly n bytes at offset of a plain file (a shorter file is an error: it
 * was cut off after it was opened). */
CR_CHECKED cr_code cr_stream_pread(cr_stream *s, char *buf, size_t n, int64_t offset, cr_err *err);

#endif
