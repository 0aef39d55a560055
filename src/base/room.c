/*
 * room.c - see room.h.
 */
#include "base/room.h"

#include <string.h>

cr_code cr_try_room(void **p, int64_t *cap, int64_t n, size_t size, bool keep, const char *what,
                    cr_err *err) {
    if (*p && n <= *cap) return CR_OK;
    int64_t more = cr_add_i64(n, n / 4 + 64);
    void *q;
    CR_TRY(cr_try_alloc(&q, cr_bytes(more, size), what, err));
    if (keep && *p) memcpy(q, *p, cr_bytes(*cap, size));
    cr_free(*p);
    *p = q;
    *cap = more;
    return CR_OK;
}
