/*
 * text_out.h - text into a file, plain or packed as its name says, or into standard output.
 *
 * A file is whole or absent (base/file.h). What went to standard output is there.
 */
#ifndef CR_DATA_CSV_TEXT_OUT_H
#define CR_DATA_CSV_TEXT_OUT_H

#include "base/err.h"

typedef struct cr_text_out cr_text_out;
/* cr_text_out_open: path "-" is standard output; a name that ends in .gz or .zst is packed. */
CR_CHECKED cr_code cr_text_out_open(cr_text_out **out, const char *path, cr_err *err);
CR_CHECKED cr_code cr_text_out_write(cr_text_out *t, const char *p, size_t n, cr_err *err);
CR_CHECKED cr_code cr_text_out_commit(cr_text_out *t, cr_err *err); /* frees t either way */
void cr_text_out_abort(cr_text_out *t);

#endif
