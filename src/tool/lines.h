/*
 * lines.h - the lines of a text file, one after the other.
 */
#ifndef CR_TOOL_LINES_H
#define CR_TOOL_LINES_H

#include "base/err.h"

/* A cr_line_fn gets one line of n bytes, without its end and the blanks before it. */
typedef cr_code (*cr_line_fn)(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err);
/* cr_each_line gives every line of the file that is not empty to `each`, and stops at the first
 * that fails. */
CR_CHECKED cr_code cr_each_line(const char *path, cr_line_fn each, void *ctx, cr_err *err);

#endif
