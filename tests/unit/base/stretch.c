/*
 * stretch.c - an array that becomes longer: its content stays, new bytes are zero, it takes twice
 * as many addresses as memory at most, and a failure loses nothing.
 */
#include "base/stretch.h"

#include <string.h>

#include "harness.h"

TEST(grows) {
    cr_stretch s = {0};
    cr_err err;
    int64_t failed = 0, moved = 0, wrong = 0;
    for (size_t i = 1; i <= 40; i++) {
        const char *was = s.p;
        size_t size = s.size;
        cr_alloc_fail_after(i % 3 == 0);
        cr_code code = cr_stretch_grow(&s, i * CR_BIG_STEP - 5, "a test", &err);
        cr_alloc_fail_after(0);
        if (code != CR_OK) {
            CHECK_INT(code, CR_ENOMEM);
            CHECK(s.size == size);
            failed++;
            CHECK_INT(cr_stretch_grow(&s, i * CR_BIG_STEP - 5, "a test", &err), 0);
        }
        moved += s.p != was;
        CHECK(s.size == i * CR_BIG_STEP && s.range <= 2 * s.size);
        wrong += s.p[s.size - CR_BIG_STEP] != 0 || s.p[s.size - 1] != 0;
        s.p[s.size - 1] = (char)i;
        for (size_t k = 1; k <= i; k++)
            wrong += s.p[k * CR_BIG_STEP - 1] != (char)k;
        cr_touch(s.p + s.size - 1);
        wrong += s.p[s.size - 1] != (char)i;
    }
    CHECK_INT(wrong, 0);
    CHECK(failed > 10 && moved > 4 && moved < 8);
    CHECK_INT(cr_stretch_grow(&s, SIZE_MAX, "a test", &err), CR_ENOMEM);
    CHECK(s.size == 40 * CR_BIG_STEP && s.p[CR_BIG_STEP - 1] == 1);
    cr_stretch_clear(&s);
    CHECK(s.p == NULL && s.size == 0);
    cr_stretch_clear(&s);
}

TEST_MAIN(CASE(grows))
