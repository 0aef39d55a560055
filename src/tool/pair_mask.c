/*
 * pair_mask.c - which pairs of fields the search of AutoFIS has left over, as the file that
 * PaddleRec's second stage reads: a list of ones and zeros, in the order (0, 1), (0, 2), ...
 */
#include <string.h>

#include "base/npy.h"
#include "ckpt/ckpt.h"
#include "tool/tool.h"

#define WEIGHT "model.blocks.weighed.weight"

cr_code cr_pair_mask(const char *ckpt_dir, const char *path, int64_t *left, int64_t *n,
                     cr_err *err) {
    cr_ckpt *c;
    const cr_ckpt_info *t = NULL;
    float *w = NULL;
    cr_arena a;
    *left = *n = 0;
    CR_TRY(cr_ckpt_open_weights(&c, ckpt_dir, err));
    for (int i = 0; i < cr_ckpt_count(c); i++)
        if (strcmp(cr_ckpt_at(c, i)->name, WEIGHT) == 0) t = cr_ckpt_at(c, i);
    cr_code code = CR_OK;
    if (!t)
        code = cr_fail(err, CR_EDATA, "%s has no parameter %s; it is not a checkpoint of autofis",
                       ckpt_dir, WEIGHT);
    cr_arena_init(&a, 0);
    if (code == CR_OK) {
        w = CR_NEW_N(&a, float, t->n_elems + 1);
        code = cr_ckpt_read(c, t->name, 0, t->n_elems, w, err);
    }
    if (code == CR_OK) {
        int64_t *mask = CR_NEW_N(&a, int64_t, t->n_elems + 1);
        for (*n = 0; *n < t->n_elems; ++*n)
            *left += mask[*n] = w[*n] != 0;
        code = cr_npy_write_i64(path, mask, *n, err);
    }
    cr_arena_clear(&a);
    cr_ckpt_close(c);
    return code;
}
