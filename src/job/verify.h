/*
 * verify.h - compares the files of a checkpoint, an export or a model_dir with their digests.
 */
#ifndef CR_JOB_VERIFY_H
#define CR_JOB_VERIFY_H

#include "base/json.h"
#include "job/job.h"

typedef enum cr_folder {
    CR_FOLDER_NONE, /* not a folder that crank wrote */
    CR_FOLDER_CHECKPOINT,
    CR_FOLDER_EXPORT,
    CR_FOLDER_MODEL_DIR,
} cr_folder;
cr_folder cr_folder_kind(const char *path);

/* cr_verify_config is called before the config at path is read. In an export all files except the
 * weights must be whole; in a model_dir a changed config is a warning; elsewhere nothing is
 * known. */
CR_CHECKED cr_code cr_verify_config(const char *path, cr_diag *diag);

/* The result for one folder. */
typedef struct cr_verified {
    const char *path;
    cr_checked done;
    bool old;           /* it has no digests */
    const char *others; /* names of files that are not listed; NULL: there are none */
} cr_verified;
/* cr_verify reads every file of a folder; for a model_dir also those of all its checkpoints. All
 * mistakes go to diag. pool may be NULL. */
CR_CHECKED cr_code cr_verify(const char *path, cr_folder kind, cr_pool *pool, cr_arena *a,
                             cr_verified **out, int *n, cr_diag *diag);
void cr_verify_text(const cr_verified *v, int n, cr_buf *out);
void cr_verify_json(const cr_verified *v, int n, cr_jw *w);

#endif
