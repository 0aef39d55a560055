/*
 * file_int.h - what file.c and path.c share: one way to turn errno into a message.
 */
#ifndef CR_BASE_FILE_INT_H
#define CR_BASE_FILE_INT_H

#include "base/err.h"

/* cr_io_fail fills err with "path: cannot <what>: <reason of errno value e>; <cure>", CR_EIO. */
cr_code cr_io_fail(cr_err *err, const char *path, const char *what, int e);

#endif
