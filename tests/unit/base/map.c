/* The text -> int64 map against a plain list. */
#include "base/map.h"

#include "harness.h"

TEST(empty) {
    cr_map m;
    cr_map_init(&m);
    CHECK_INT(cr_map_get(&m, "a", 1, -7), -7);
    CHECK_INT(cr_map_get(&m, "", 0, -7), -7);
    cr_map_clear(&m);
}

TEST(puts_and_gets) {
    cr_map m;
    cr_map_init(&m);
    char key[64];
    const int n = 20000;
    for (int i = 0; i < n; i++) {
        int len = snprintf(key, sizeof(key), "%*d", 1 + i % 23, i * 7);
        CHECK(cr_map_put(&m, key, (size_t)len, i));
    }
    memset(key, '#', sizeof(key)); /* keys were copied */
    CHECK_INT(m.n, n);
    for (int i = 0; i < n; i++) {
        int len = snprintf(key, sizeof(key), "%*d", 1 + i % 23, i * 7);
        key[len] = '!'; /* no NUL needed */
        CHECK_INT(cr_map_get(&m, key, (size_t)len, -1), i);
        CHECK_INT(cr_map_get(&m, key, (size_t)len + 1, -1), -1);
        CHECK_INT(m.entries[i].value, i); /* insertion order */
        CHECK_INT(m.entries[i].key[m.entries[i].len], 0);
    }
    CHECK(!cr_map_put(&m, "0", 1, 99));
    CHECK_INT(cr_map_get(&m, "0", 1, -1), 99);
    CHECK_INT(m.n, n);
    cr_map_clear(&m);
    CHECK(cr_map_put(&m, "again", 5, 1)); /* usable after clear */
    CHECK_INT(cr_map_get(&m, "again", 5, 0), 1);
    cr_map_clear(&m);
}

TEST(odd_keys) {
    cr_map m;
    cr_map_init(&m);
    CHECK(cr_map_put(&m, "", 0, 1));
    CHECK(cr_map_put(&m, "\0", 1, 2));
    CHECK(cr_map_put(&m, "\0\0", 2, 3));
    CHECK(cr_map_put(&m, "\0\0\0\0\0\0\0\0", 8, 4));
    CHECK(!cr_map_put(&m, NULL, 0, 5));
    CHECK_INT(cr_map_get(&m, "", 0, 0), 5);
    CHECK_INT(cr_map_get(&m, "\0", 1, 0), 2);
    CHECK_INT(cr_map_get(&m, "\0\0", 2, 0), 3);
    CHECK_INT(cr_map_get(&m, "\0\0\0\0\0\0\0\0", 8, 0), 4);
    cr_map_clear(&m);
}

TEST_MAIN(CASE(empty), CASE(puts_and_gets), CASE(odd_keys))
