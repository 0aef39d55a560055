/*
 * keymap.c - the map of growing tables beside an array that says what it must hold: at every size,
 * while it grows, with keys that are removed and come back, with neighbouring and extreme keys, and
 * when there is no memory. It takes at most 16 bytes per key and moves a few slots at a time.
 */
#include "emb/keymap.h"

#include "base/mem.h"
#include "base/rng.h"
#include "harness.h"

/* key number i of a family: random, neighbours, multiples of a power of two, extremes */
static uint64_t key_of(int family, int64_t i) {
    switch (family) {
    case 0: return cr_rng_u64(5, (uint64_t)i);
    case 1: return (uint64_t)i;
    case 2: return (uint64_t)i << 32;
    default: return UINT64_MAX - (uint64_t)i;
    }
}

TEST(grows) {
    enum { N = 400000 };
    for (int family = 0; family < 4; family++) {
        cr_keymap m;
        cr_err err;
        cr_keymap_init(&m, 77);
        CHECK_INT(cr_keymap_find(&m, 3), -1);
        int64_t most = 0, worst_bytes = 0;
        for (int64_t i = 0; i < N; i++) {
            int64_t swept = m.old.n > 0 ? m.swept : 0, old = m.old.n;
            CHECK_INT(cr_keymap_add(&m, key_of(family, i), N - i, &err), 0);
            if (m.old.n == old && old > 0 && m.swept - swept > most) most = m.swept - swept;
            if (i >= 100000) {
                int64_t bytes = (cr_keymap_bytes(&m) - (m.old.n > 0 ? 4 << 20 : 0)) * 100 / m.n;
                worst_bytes = bytes > worst_bytes ? bytes : worst_bytes;
            }
            /* a few of those before it, also while it grows */
            for (int64_t k = i; k >= 0; k -= 1 + i / 3)
                CHECK_INT(cr_keymap_find(&m, key_of(family, k)), N - k);
        }
        fprintf(stderr,
                "family %d: at most %.2f bytes per key and two pages, %lld slots moved at once\n",
                family, (double)worst_bytes / 100, (long long)most);
        CHECK(most > 0 && most < 1000);
        CHECK(worst_bytes <= 1600);
        CHECK_INT(m.n, N);
        int64_t keys[1000], rows[1000];
        for (int64_t i = 0; i < 1000; i++)
            keys[i] = (int64_t)key_of(family, i * 401);
        cr_keymap_find_all(&m, keys, 1000, rows);
        for (int64_t i = 0; i < 1000; i++)
            CHECK_INT(rows[i], i * 401 < N ? N - i * 401 : -1);
        CHECK_INT(cr_keymap_find(&m, key_of(family, N)), -1);
        cr_keymap_clear(&m);
        CHECK_INT(cr_keymap_find(&m, key_of(family, 0)), -1);
    }
}

typedef struct seen {
    const int64_t *row; /* of each key; -1: it is not there */
    int64_t n, count;
    bool wrong;
} seen;
static void see(void *ctx, uint64_t key, int64_t row) {
    seen *s = ctx;
    s->count++;
    s->wrong |= (int64_t)key >= s->n || s->row[key] != row;
}

/* keys come and go at random; the number of keys stays small, so marks of removed ones pile up */
TEST(keys_come_and_go) {
    enum { KEYS = 3000, STEPS = 400000 };
    static int64_t row[KEYS];
    cr_keymap m;
    cr_err err;
    cr_keymap_init(&m, 1);
    int64_t n = 0, most = 0;
    for (int64_t i = 0; i < KEYS; i++)
        row[i] = -1;
    for (int64_t i = 0; i < STEPS; i++) {
        int64_t k = (int64_t)cr_rng_below(9, (uint64_t)i, KEYS);
        CHECK_INT(cr_keymap_find(&m, (uint64_t)k), row[k]);
        if (row[k] < 0) {
            row[k] = i % 7 == 0 ? CR_KEYMAP_ROWS : i;
            CHECK_INT(cr_keymap_add(&m, (uint64_t)k, row[k], &err), 0);
            n++;
        } else {
            CHECK_INT(cr_keymap_remove(&m, (uint64_t)k), row[k]);
            CHECK_INT(cr_keymap_remove(&m, (uint64_t)k), -1);
            row[k] = -1;
            n--;
        }
        CHECK_INT(m.n, n);
        if (cr_keymap_bytes(&m) > most) most = cr_keymap_bytes(&m);
        if (i % 20000 == 0) {
            seen s = {row, KEYS, 0, false};
            cr_keymap_each(&m, see, &s);
            CHECK(!s.wrong);
            CHECK_INT(s.count, n);
        }
    }
    CHECK(most < 400 * 1024); /* marks do not make it grow for ever */
    cr_keymap_clear(&m);
}

TEST(no_memory) {
    cr_keymap m;
    cr_err err;
    cr_keymap_init(&m, 3);
    int64_t failed = 0;
    for (int64_t i = 0; i < 20000; i++) {
        cr_alloc_fail_after(1);
        cr_code code = cr_keymap_add(&m, (uint64_t)i, i, &err);
        cr_alloc_fail_after(0);
        if (code == CR_OK) continue;
        CHECK_INT(code, CR_ENOMEM);
        failed++;
        CHECK_INT(cr_keymap_find(&m, (uint64_t)i), -1);
        for (int64_t k = 0; k < i; k += 97)
            CHECK_INT(cr_keymap_find(&m, (uint64_t)k), k);
        CHECK_INT(cr_keymap_add(&m, (uint64_t)i, i, &err), 0);
    }
    CHECK(failed > 5);
    for (int64_t k = 0; k < 20000; k++)
        CHECK_INT(cr_keymap_find(&m, (uint64_t)k), k);
    cr_keymap_clear(&m);
}

/* 700 keys share the last home, which has room for 645 behind it in a map of this size: growing
 * finds no room in the middle of a group, and the memory to make the map anew is missing at first.
 * Every key must be there once. */
TEST(crowded_keys) {
    enum { CROWD = 700, OTHERS = 3000, TURNS = 20000 };
    cr_keymap m;
    cr_err err;
    cr_keymap_init_mixed(&m);
    for (int64_t i = 0; i < OTHERS; i++)
        CHECK_INT(cr_keymap_add(&m, (uint64_t)cr_key_of(i), i, &err), 0);
    for (int64_t i = 0; i < CROWD; i++)
        CHECK_INT(cr_keymap_add(&m, CR_KEYS - 2 - (uint64_t)i, i, &err), 0);
    for (int64_t i = 0; i < OTHERS; i++)
        CHECK_INT(cr_keymap_remove(&m, (uint64_t)cr_key_of(i)), i);
    int64_t failed = 0, wrong = 0;
    for (int64_t i = 0; i < TURNS; i++) { /* marks make the map grow, to fewer slots than before */
        uint64_t key = (uint64_t)cr_key_of(OTHERS + i);
        bool swept = m.old.n > 0;
        cr_alloc_fail_after(swept);
        cr_code code = cr_keymap_add(&m, key, i, &err);
        cr_alloc_fail_after(0);
        if (code != CR_OK) {
            CHECK(swept && m.old.n > 0);
            failed++;
            for (int64_t k = 0; k < CROWD; k++)
                wrong += cr_keymap_find(&m, CR_KEYS - 2 - (uint64_t)k) != k;
            CHECK_INT(cr_keymap_find(&m, key), -1);
            CHECK_INT(cr_keymap_add(&m, key, i, &err), 0);
        }
        CHECK_INT(cr_keymap_remove(&m, key), i);
    }
    CHECK(failed > 3);
    CHECK_INT(wrong, 0);
    CHECK_INT(m.n, CROWD);
    for (int64_t k = 0; k < CROWD; k++) {
        CHECK_INT(cr_keymap_remove(&m, CR_KEYS - 2 - (uint64_t)k), k);
        CHECK_INT(cr_keymap_find(&m, CR_KEYS - 2 - (uint64_t)k), -1);
    }
    cr_keymap_clear(&m);
}

TEST_MAIN(CASE(grows), CASE(keys_come_and_go), CASE(no_memory), CASE(crowded_keys))
