/*
 * buf.h - a growing byte buffer, and text helpers.
 */
#ifndef CR_BASE_BUF_H
#define CR_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A growing byte buffer; data is always followed by a NUL that does not count in n. */
typedef struct cr_buf {
    char *data;
    size_t n, cap;
} cr_buf;
void cr_buf_init(cr_buf *b);
void cr_buf_clear(cr_buf *b);
void cr_buf_reset(cr_buf *b);
/* cr_buf_reserve makes room for `more` bytes past n. */
void cr_buf_reserve(cr_buf *b, size_t more);
void cr_buf_add(cr_buf *b, const void *p, size_t n);
void cr_buf_str(cr_buf *b, const char *s);
void cr_buf_char(cr_buf *b, char c);
void cr_buf_i64(cr_buf *b, int64_t x);
void cr_buf_printf(cr_buf *b, const char *fmt, ...) CR_PRINTF(2, 3);

/* cr_edit_distance counts insertions, deletions, substitutions and swaps; case does not count. */
int cr_edit_distance(const char *a, const char *b);
/* cr_nearest returns the candidate nearest to word when it is near enough to be a likely typo,
 * else NULL. next(ctx, i) returns candidate i, NULL at the end. */
const char *cr_nearest(const char *word, const char *(*next)(const void *ctx, size_t i),
                       const void *ctx);
/* Strict number parsing of exactly n bytes; false when anything is left over or out of range. */
bool cr_parse_i64(const char *s, size_t n, int64_t *out);
bool cr_parse_u64(const char *s, size_t n, uint64_t *out);
/* cr_parse_size reads a size above 0 as people write it: 64GB, 1.5 TB, 512MiB; a plain number is
 * bytes. */
bool cr_parse_size(const char *text, double *out);
/* cr_whole_part returns the length of the integer in "7.0" or "7.", forms that tools write which
 * know only floats: the length without the point and its zeros. For any other text it returns n. */
size_t cr_whole_part(const char *s, size_t n);
/* cr_parse_f64 accepts the usual decimal forms, inf and nan in any case, and rounds correctly. */
bool cr_parse_f64(const char *s, size_t n, double *out);
/* cr_fmt_f32 / cr_fmt_f64 write the shortest text that reads back as the same number; return
 * length. */
size_t cr_fmt_f32(char out[32], float x);
size_t cr_fmt_f64(char out[32], double x);
/* cr_fmt_py does the same in the form of Python's repr: 1.0, 1e-05, 1e+16. */
size_t cr_fmt_py(char out[32], double x);
/* cr_fmt_u64 and cr_fmt_i64 write a whole number in decimal, fast; the bytes of out after it change
 * too. */
size_t cr_fmt_u64(char out[21], uint64_t x);
size_t cr_fmt_i64(char out[24], int64_t x);
/* cr_fmt_count: "1.2M", "850"; cr_fmt_bytes: "3.4 GB"; cr_fmt_time: "1m 12s". Return out. */
char *cr_fmt_count(char out[32], double x);
char *cr_fmt_bytes(char out[32], double x);
char *cr_fmt_time(char out[32], double seconds);

#endif
