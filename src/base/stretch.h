/*
 * stretch.h - an array in huge pages that becomes longer without copying its content.
 *
 * It has twice as many addresses as memory. When they are used up it moves to others: the system
 * moves the entries of its page tables, 8 bytes for a huge page, and touches no content. So a small
 * array takes few addresses, and a large one grows without a pause.
 *
 * The first touch of a huge page takes the system some milliseconds where it must ask its host for
 * memory. cr_touch does so ahead of its use, so that a caller with several arrays decides when.
 */
#ifndef CR_BASE_STRETCH_H
#define CR_BASE_STRETCH_H

#include "base/mem.h"

/* All zeros: an array without memory. */
typedef struct cr_stretch {
    char *p;
    size_t size;  /* bytes of memory; new ones are zero */
    size_t range; /* addresses that are reserved for it */
} cr_stretch;

/* cr_stretch_grow makes it at least `size` bytes long, in steps of CR_BIG_STEP. p may change, also
 * where it fails; the content stays. */
CR_CHECKED cr_code cr_stretch_grow(cr_stretch *s, size_t size, const char *what, cr_err *err);
void cr_stretch_clear(cr_stretch *s);

/* cr_touch lets the system give the page of p now. What it holds stays. */
void cr_touch(char *p);

#endif
