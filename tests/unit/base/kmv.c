/*
 * kmv.c - the number of different values: exact while it is small, near when it is large, and the
 * same for any order and division.
 */
#include "base/kmv.h"

#include "base/rng.h"
#include "harness.h"

enum { CAP = 512 };

/* at_once: hashes are added so many at a time. */
static double count_by(int64_t n, int64_t step, int parts, int at_once, bool *exact) {
    cr_arena a;
    cr_kmv v[4];
    uint64_t hash[64];
    cr_arena_init(&a, 0);
    for (int p = 0; p < parts; p++)
        cr_kmv_init(&v[p], CAP, &a);
    for (int64_t i = 0; i < 3 * n;) { /* every value three times, in an order by step */
        int k = 0, part = (int)(i % parts);
        for (; k < at_once && i < 3 * n; i++)
            hash[k++] = cr_mix64((uint64_t)(i * step % n));
        if (at_once == 1)
            cr_kmv_add(&v[part], hash[0]);
        else
            cr_kmv_add_all(&v[part], hash, k);
    }
    for (int p = 1; p < parts; p++)
        cr_kmv_join(&v[0], &v[p]);
    double d = cr_kmv_count(&v[0], exact);
    cr_arena_clear(&a);
    return d;
}

static double count(int64_t n, int64_t step, int parts, bool *exact) {
    return count_by(n, step, parts, 1, exact);
}

TEST(few_are_exact) {
    static const int64_t n[] = {1, 2, CAP - 1, CAP};
    bool exact;
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        for (int parts = 1; parts <= 4; parts++) {
            CHECK_NEAR(count(n[i], 1, parts, &exact), (double)n[i], 0, 0);
            CHECK(exact);
        }
    CHECK_NEAR(count(CAP + 1, 1, 1, &exact), CAP + 1, 0, 0.15);
    CHECK(!exact);
}

TEST(many_are_near_and_the_same) {
    bool exact;
    double one = count(50021, 1, 1, &exact);
    CHECK(!exact);
    CHECK_NEAR(one, 50021, 0, 0.1);
    CHECK(count(50021, 777, 1, &exact) == one);
    CHECK(count(50021, 31, 3, &exact) == one);
    CHECK(count(50021, 1, 4, &exact) == one);
}

/* Many hashes at once give what they give one by one, also where the limit falls among them. */
TEST(at_once) {
    static const int64_t n[] = {1, CAP, CAP + 1, 2 * CAP, 50021};
    bool one, many;
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        for (int parts = 1; parts <= 3; parts++) {
            double want = count(n[i], 31, parts, &one);
            CHECK(count_by(n[i], 31, parts, 64, &many) == want);
            CHECK_INT(many, one);
        }
}

/* A hash of 0 is one like others. */
TEST(zero) {
    cr_arena a;
    cr_kmv k;
    bool exact;
    cr_arena_init(&a, 0);
    cr_kmv_init(&k, CAP, &a);
    cr_kmv_add(&k, 0);
    cr_kmv_add(&k, 0);
    cr_kmv_add(&k, UINT64_MAX);
    CHECK_NEAR(cr_kmv_count(&k, &exact), 2, 0, 0);
    cr_arena_clear(&a);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(few_are_exact), CASE(many_are_near_and_the_same),
                                   CASE(at_once), CASE(zero)};
    return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
