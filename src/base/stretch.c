/*
 * stretch.c - see stretch.h.
 */
#include "base/stretch.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Moves the entries of page tables. Trap: UCX, which MPI may bring along, puts a mremap of its own
 * in the place of the C library's, and that one knows no fifth argument: the pages would go
 * anywhere. So the kernel is asked directly. No MPI call sends from such an array, so UCX need not
 * know. */
static bool move_pages(char *from, size_t n, void *to) {
    return syscall(SYS_mremap, from, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, to) == (long)(intptr_t)to;
}

/* Moves the array to a range of its own with room for `size` bytes, and twice as many if the system
 * has them. */
static cr_code move(cr_stretch *s, size_t size, const char *what, cr_err *err) {
    void *to;
    size_t range = size > SIZE_MAX / 4 ? size : 2 * size;
    CR_TRY(cr_big_reserve(&to, &range, what, err));
    if (range < size) { /* a smaller one is no help */
        cr_big_release(to, range);
        return cr_fail(
            err, CR_ENOMEM,
            "no addresses for %s: %zu MB needed; raise the limit (ulimit -v), or make it "
            "smaller",
            what, size >> 20);
    }
    if (s->size > 0 && !move_pages(s->p, s->size, to)) {
        /* a system that does not move what it has cut into several areas */
        cr_code code = cr_big_commit(to, 0, s->size, what, err);
        if (code != CR_OK) {
            cr_big_release(to, range);
            return code;
        }
        memcpy(to, s->p, s->size);
        cr_big_release(s->p, s->range);
    } else if (s->range > s->size) {
        cr_big_release(s->p + s->size, s->range - s->size);
    }
    s->p = to;
    s->range = range;
    return CR_OK;
}

cr_code cr_stretch_grow(cr_stretch *s, size_t size, const char *what, cr_err *err) {
    if (size <= s->size) return CR_OK;
    size = size > SIZE_MAX / 4 ? SIZE_MAX / 4 / CR_BIG_STEP * CR_BIG_STEP
                               : (size + CR_BIG_STEP - 1) / CR_BIG_STEP * CR_BIG_STEP;
    if (size > s->range) CR_TRY(move(s, size, what, err));
    CR_TRY(cr_big_commit(s->p, s->size, size, what, err));
    s->size = size;
    return CR_OK;
}

void cr_touch(char *p) {
    /* Trap: a page that is read first becomes one of zeros that all share, and writing it later
     * makes a small page. This writes a byte if it is zero; another one shows that the page is
     * there. */
    char zero = 0;
    (void)__atomic_compare_exchange_n(p, &zero, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void cr_stretch_clear(cr_stretch *s) {
    cr_big_release(s->p, s->range);
    *s = (cr_stretch){0};
}
