/*
 * keep.h - results that the page of crank board shows, as files of the model_dir.
 */
#ifndef CR_CLI_KEEP_H
#define CR_CLI_KEEP_H

#include "board/board.h"
#include "cli/cli.h"

typedef struct cr_keep {
    const char *given, *flag; /* the file that the flag names; given NULL: it is not used */
    const char *dir;          /* the model_dir; NULL: there is none on this machine */
    const char *name;         /* of the file in model_dir */
} cr_keep;
/* cr_keep_result writes a result to the file of the flag, else to model_dir. *path becomes where it
 * is; NULL: nowhere. A model_dir that cannot be written is only a warning, which names the flag. */
CR_CHECKED cr_code cr_keep_result(cr_ui *ui, const cr_keep *k, const cr_buf *text,
                                  const char **path, cr_err *err);

#endif
