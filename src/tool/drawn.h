/*
 * drawn.h - rows that are drawn before a training, and the files that they are written to.
 */
#ifndef CR_TOOL_DRAWN_H
#define CR_TOOL_DRAWN_H

#include "base/buf.h"
#include "base/err.h"

/* Bytes of one file of drawn rows. */
#define CR_DRAWN_FLUSH (64 << 20)

/* cr_draw draws k of the numbers below n, each once, by a key (base/rng.h): they become the first
 * ones of v, which has room for n. */
void cr_draw(int64_t *v, int64_t n, int64_t k, uint64_t key);
/* cr_write_drawn writes the rows of `out` to a file of the folder, whose name sorts by its number,
 * and empties it. CR_ESTOP when a signal came. */
CR_CHECKED cr_code cr_write_drawn(const char *dir, int64_t number, cr_buf *out, cr_err *err);

#endif
