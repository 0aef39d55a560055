/*
 * keymap_int.h - what growing tables do with their key maps beside keymap.h.
 */
#ifndef CR_EMB_KEYMAP_INT_H
#define CR_EMB_KEYMAP_INT_H

#include "emb/keymap.h"

/* cr_keymap_touch touches the next fresh huge page of the slots if adding the next key may need it,
 * or would need it `ahead` bytes later (stretch.h). It says whether a page was touched, or will be
 * when the next key is added. It need not be called. */
bool cr_keymap_touch(cr_keymap *m, size_t ahead);
/* cr_keymap_touched returns the bytes of the slots in huge pages that were touched so. */
size_t cr_keymap_touched(const cr_keymap *m);

#endif
