/*
 * ckpt_int.h - parts that the files of this folder share.
 */
#ifndef CR_CKPT_CKPT_INT_H
#define CR_CKPT_CKPT_INT_H

#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "ckpt/ckpt.h"

#define CKPT_FORMAT       "crank-checkpoint"
#define CKPT_VERSION      2 /* since 2 every folder has a manifest, and state.json is sealed */
#define CKPT_MANIFEST     2 /* the first version with a manifest */
#define CKPT_INDEX        "index.json"
#define CKPT_STATE        "state.json"
#define CKPT_FEATURES     "features.json"
#define CKPT_PREFIX       "model.ckpt-"
#define CKPT_TMP          ".tmp-"
#define CKPT_OLD          ".old-"
#define CKPT_SMALL        ((size_t)256 << 20) /* no index or state file is larger */
#define CKPT_ROWS_KEY     "rows."  /* metadata of a piece: rows.<name> = first:count:total */
#define CKPT_QUANT_KEY    "quant." /* metadata of 8-bit rows: quant.<name> = int8_rows */
#define CKPT_QUANT_ROWS   "int8_rows"
#define CKPT_QUANT_SCALE  ".scale"
#define CKPT_QUANT_OFFSET ".offset"
#define CKPT_EXPORT_FILE  ((int64_t)2 << 30) /* bytes of a file of an export, about */

static inline cr_loc cr_ckpt_at_path(const char *path) {
    return (cr_loc){path, 0, 0};
}

/* manifest.c: cr_ckpt_seal puts the digest of a JSON object (a text that ends in "}\n") at its end.
 * cr_ckpt_is_sealed tells whether a text ends with a digest, cr_ckpt_check_seal whether the digest
 * fits.
 * */
void cr_ckpt_seal(cr_buf *b);
bool cr_ckpt_is_sealed(const char *text, size_t n);
CR_CHECKED cr_code cr_ckpt_check_seal(const char *path, const char *text, size_t n, cr_err *err);
/* cr_ckpt_damaged ends the message of err, about a damaged file or folder at path, with what the
 * user can do: copy a checkpoint, an export or other weights again, and what else gives whole ones.
 * It returns code. */
cr_code cr_ckpt_damaged(cr_err *err, const char *path, cr_code code);
#define CKPT_DAMAGED(path, ...)                                                                    \
    cr_ckpt_damaged(err, path, cr_fail_at(err, CR_ERUN, cr_ckpt_at_path(path), __VA_ARGS__))
/* cr_ckpt_file_size: a missing file is damage (CR_ERUN); a file that cannot be looked at may be
 * whole (CR_EIO). */
CR_CHECKED cr_code cr_ckpt_file_size(const char *path, int64_t *size, cr_err *err);

/* state.c; m is the manifest of the folder, NULL where it has none. */
void cr_ckpt_state_write(cr_buf *out, const cr_ckpt_state *s);
CR_CHECKED cr_code cr_ckpt_state_read(cr_arena *a, const char *path, const cr_manifest *m,
                                      cr_ckpt_state *s, cr_err *err);

/* The content of index.json; it is not checked against the files. */
typedef struct ckpt_file {
    const char *name;
    int64_t size;
    uint32_t crc; /* only in version 1; later versions have digests in the manifest */
} ckpt_file;
typedef struct ckpt_index {
    int64_t version;
    ckpt_file *files;
    int n_files;
    cr_ckpt_info *tensors;
    int n_tensors;
} ckpt_index;
CR_CHECKED cr_code cr_ckpt_index_read(cr_arena *a, const char *dir, const cr_manifest *m,
                                      ckpt_index *out, cr_err *err);

/* load.c: returns the number of a tensor for cr_ckpt_at; -1: it is not there. */
int cr_ckpt_number(const cr_ckpt *c, const char *name);

/* old_names.c: returns the name under which this checkpoint holds the parameter that the model
 * calls `name`: that name, or one that an earlier version wrote. A new text lies in the arena. */
const char *cr_ckpt_name_in(const cr_ckpt *c, const char *name, cr_arena *a);

/* quant.c: returns the tensors as they are written: a tensor with int8_rows, which has no parts,
 * becomes three. It fails when one of the values that this holder looks at cannot be stored in its
 * type. */
CR_CHECKED cr_code cr_ckpt_expand(cr_arena *a, const cr_ckpt_tensor *v, int n, const cr_meet *meet,
                                  cr_ckpt_tensor **out, int *n_out, cr_err *err);

/* Does this file of a checkpoint hold optimizer state? */
static inline bool cr_ckpt_is_optimizer(const char *name) {
    return strncmp(name, "optimizer", 9) == 0;
}
/* outdir.c. cr_ckpt_unfinished: is this a folder on a store that cannot move names, and without the
 * manifest, which is written last? The other function removes a folder in an order in which it
 * never looks whole. */
bool cr_ckpt_unfinished(const char *dir);
CR_CHECKED cr_code cr_ckpt_remove_dir(const char *dir, cr_err *err);
/* Returns the step of a name "model.ckpt-N" in its one spelling; -1: it is another name. */
int64_t cr_ckpt_step_of(const char *name);

#endif
