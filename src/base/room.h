/*
 * room.h - arrays that grow with what a batch or a file brings. Their size is the user's, so a
 * failure has a message.
 */
#ifndef CR_BASE_ROOM_H
#define CR_BASE_ROOM_H

#include <stdbool.h>

#include "base/mem.h"

/* cr_try_room makes an array, of *cap elements of `size` bytes so far, at least n long, and a
 * quarter more where it has to move, so that an array that grows step by step seldom moves. keep:
 * its content stays; else it is lost where the array moves. New elements are zero. *p is not NULL
 * afterwards, also for n 0. A failure leaves everything as it was. */
CR_CHECKED cr_code cr_try_room(void **p, int64_t *cap, int64_t n, size_t size, bool keep,
                               const char *what, cr_err *err);

#endif
