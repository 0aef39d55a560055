/*
 * who.c - how ranks divide the cores of their machines, how they are named, and programs that
 * differ.
 */
#include "comm/who.h"

#include <stdio.h>
#include <string.h>

#include "harness.h"

/* a rank on a host that may run on cores [from, to), alone on n_cores */
static cr_who rank(const char *host, int from, int to, int n_cores) {
    cr_who w;
    cr_who_init(&w);
    memset(w.cores, 0, sizeof w.cores);
    snprintf(w.host, sizeof w.host, "%s", host);
    w.n_cores = n_cores;
    for (int c = from; c < to; c++)
        w.cores[c / 64] |= (uint64_t)1 << (c % 64);
    return w;
}

static void threads(const cr_who *v, int n, int self, int want, int want_local) {
    int local;
    CHECK_INT(cr_who_threads(v, n, self, &local), want);
    CHECK_INT(local, want_local);
}

TEST(cores) {
    /* two share eight cores; a third is alone on its machine */
    cr_who shared[] = {rank("a", 0, 8, 8), rank("a", 0, 8, 8), rank("b", 0, 8, 8)};
    threads(shared, 3, 0, 4, 2);
    threads(shared, 3, 1, 4, 2);
    threads(shared, 3, 2, 8, 1);
    /* bound to cores of their own; half of the cores of one are another's too */
    cr_who bound[] = {rank("a", 0, 4, 4), rank("a", 100, 104, 4), rank("a", 102, 104, 2)};
    threads(bound, 3, 0, 4, 3);
    threads(bound, 3, 1, 3, 3);
    threads(bound, 3, 2, 1, 3);
    /* more ranks than cores; a container that allows three of eight cores; cores not known */
    cr_who few[] = {rank("a", 0, 1, 1), rank("a", 0, 1, 1)};
    threads(few, 2, 1, 1, 2);
    cr_who quota[] = {rank("a", 0, 8, 3), rank("a", 0, 8, 3)};
    threads(quota, 2, 0, 1, 2);
    cr_who unknown[] = {rank("a", 0, 0, 6), rank("a", 0, 0, 6)};
    threads(unknown, 2, 0, 3, 2);
}

TEST(names) {
    cr_who v[6];
    char text[256];
    for (int r = 0; r < 6; r++)
        v[r] = rank(r < 3 ? "a" : "b", 0, 1, 1);
    cr_who_text(v, 6, (const bool[]){0, 1, 0, 0, 0, 0}, text, sizeof text);
    CHECK_STR(text, "rank 1 (host a)");
    cr_who_text(v, 6, (const bool[]){0, 1, 0, 1, 0, 0}, text, sizeof text);
    CHECK_STR(text, "ranks 1, 3 (hosts a, b)");
    cr_who_text(v, 6, (const bool[]){0, 1, 1, 1, 1, 1}, text, sizeof text);
    CHECK_STR(text, "ranks 1, 2, 3 and 2 more (hosts a, b)");
    cr_who_text(v, 6, (const bool[]){0, 1, 1, 1, 1, 1}, text, 10);
    CHECK_STR(text, "ranks 1, ");
}

TEST(programs) {
    cr_err err;
    cr_who v[] = {rank("a", 0, 1, 1), rank("b", 0, 1, 1), rank("c", 0, 1, 1)};
    CHECK_INT(cr_who_check(v, 3, &err), CR_OK);
    v[2].program ^= 1;
    CHECK_INT(cr_who_check(v, 3, &err), CR_ECONF);
    CHECK(strstr(err.msg, "rank 2 (host c)") != NULL);
    v[2].program = 0; /* a system that does not tell */
    CHECK_INT(cr_who_check(v, 3, &err), CR_OK);
    snprintf(v[1].version, sizeof v[1].version, "99.0");
    CHECK_INT(cr_who_check(v, 3, &err), CR_ECONF);
    CHECK(strstr(err.msg, "99.0") != NULL);
    v[1].magic = 0; /* a message of something else */
    CHECK_INT(cr_who_check(v, 3, &err), CR_ECONF);
}

TEST_MAIN(CASE(cores), CASE(names), CASE(programs))
