/*
 * verify.h - comparing the files of a checkpoint, an export or a model_dir with their digests.
 */
#ifndef CR_RUN_VERIFY_H
#define CR_RUN_VERIFY_H

#include "base/json.h"
#include "run/run_int.h"

typedef enum folder_kind {
    FOLDER_NONE, /* no folder that crank wrote */
    FOLDER_CHECKPOINT,
    FOLDER_EXPORT,
    FOLDER_MODEL_DIR,
} folder_kind;
folder_kind cr_folder_kind(const char *path);

/* cr_verify_config: before the config at path is read. In an export all files but the weights must
 * be whole; in a model_dir a config that was changed is a warning; elsewhere nothing is known. */
CR_CHECKED cr_code cr_verify_config(const char *path, cr_diag *diag);

/* What was read of one folder. */
typedef struct verified {
    const char *path;
    cr_checked done;
    bool old;           /* without digests */
    const char *others; /* names of files that are not listed; NULL: there are none */
} verified;
/* cr_verify reads every file of a folder, of a model_dir those of all its checkpoints too. All that
 * is wrong goes to diag. pool may be NULL. */
CR_CHECKED cr_code cr_verify(const char *path, folder_kind kind, cr_pool *pool, cr_arena *a,
                             verified **out, int *n, cr_diag *diag);
void cr_verify_text(const verified *v, int n, cr_buf *out);
void cr_verify_json(const verified *v, int n, cr_jw *w);

#endif
