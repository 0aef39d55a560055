/*
 * room.c - arrays that grow (base/room.h).
 */
#include "base/room.h"

#include <string.h>

#include "harness.h"

TEST(room) {
    void *p = NULL;
    int64_t cap = 0, was;
    cr_err err;
    CHECK_INT(cr_try_room(&p, &cap, 0, 8, true, "numbers", NULL), CR_OK);
    CHECK(p && cap >= 0);
    for (int64_t n = 1; n < 5000; n++) {
        was = cap;
        CHECK_INT(cr_try_room(&p, &cap, n, 8, true, "numbers", NULL), CR_OK);
        CHECK(cap >= n && (was < n || cap == was));
        if (n > 1) CHECK_INT(((int64_t *)p)[n - 2], n - 1);
        CHECK_INT(((int64_t *)p)[n - 1], 0);
        ((int64_t *)p)[n - 1] = n;
    }
    was = cap;
    void *before = p;
    cr_alloc_fail_after(1);
    CHECK_INT(cr_try_room(&p, &cap, 2 * cap, 8, true, "numbers", &err), CR_ENOMEM);
    CHECK_INT(cr_try_room(&p, &cap, INT64_MAX, 8, false, "numbers", &err), CR_ENOMEM);
    CHECK(p == before && cap == was && ((int64_t *)p)[17] == 18);
    CHECK(strstr(err.msg, "numbers") != NULL);
    CHECK_INT(cr_try_room(&p, &cap, 2 * was, 8, false, "numbers", NULL), CR_OK);
    CHECK_INT(((int64_t *)p)[17], 0); /* its content is lost */
    cr_free(p);
}

TEST_MAIN(CASE(room))
