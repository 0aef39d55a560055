/*
 * sketch.c - a sketch beside exact counts: what sketch.h states of its error holds for ids of
 * different popularity, also when cells are halved; parts that lie apart are those of the whole;
 * what was saved goes on.
 */
#include "emb/sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "harness.h"

enum { IDS = 20000, DRAWS = 400000, PARTS = 4 };

/* uniform, or with many occurrences of few ids */
static int64_t draw(bool skewed, uint64_t i) {
    double x = cr_rng_f64(5, i);
    return (int64_t)((skewed ? x * x * x * x : x) * IDS);
}
static int64_t part(int64_t id) {
    return id % PARTS;
}

TEST(error) {
    for (int skewed = 0; skewed < 2; skewed++) {
        cr_sketch s = {0};
        int64_t *count = calloc(IDS, sizeof(*count)), low = 0, high = 0, n = 0;
        /* never halved: e N / w with N occurrences of a part and w cells in a row */
        const int64_t cells = 1 << 16;
        double w = (double)cells / CR_SKETCH_ROWS / PARTS, bound = 2.72 * (DRAWS / PARTS) / w;
        CHECK_INT(cr_sketch_init(&s, cells, 1e9, PARTS, 0, PARTS, NULL), 0);
        CHECK_INT(cr_sketch_bytes(&s), 2 * cells + 8 * PARTS);
        for (uint64_t i = 0; i < DRAWS; i++) {
            int64_t id = draw(skewed, i);
            count[id]++;
            CHECK(cr_sketch_add(&s, part(id), id, 1) >= (uint32_t)count[id]);
        }
        for (int64_t id = 0; id < IDS; id++) {
            int64_t c = cr_sketch_count(&s, part(id), id);
            low += c < count[id];
            high += (double)(c - count[id]) > bound;
            n++;
        }
        CHECK_INT(low, 0);
        if ((double)high > (double)n / 55)
            printf("# %s: %lld of %lld too high\n", skewed ? "skewed" : "uniform", (long long)high,
                   (long long)n);
        CHECK((double)high <= (double)n / 55);
        cr_sketch_clear(&s);
        free(count);
    }
}

/* An id that was never seen has a count of at most the stated error, however long it goes on, and
 * one that is seen all the time keeps a count. */
TEST(halved) {
    cr_sketch s = {0};
    const double error = 3;
    int64_t high = 0;
    CHECK_INT(cr_sketch_init(&s, 1 << 14, error, PARTS, 0, PARTS, NULL), 0);
    CHECK_INT((int64_t)s.limit, (int64_t)(1024 * error / 2.718281828459045));
    uint32_t often = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        int64_t id = draw(false, i);
        (void)cr_sketch_add(&s, part(id), id, 1);
        if (i % 100 == 0) often = cr_sketch_add(&s, 1, 777777, 1);
        CHECK(s.words[0] <= (int64_t)s.limit);
    }
    for (int64_t id = IDS; id < 2 * IDS; id++)
        high += cr_sketch_count(&s, part(id), id) > error;
    CHECK((double)high <= (double)IDS / 55);
    CHECK(often > 5);
    cr_sketch_clear(&s);
    /* a count stays at its largest number */
    CHECK_INT(cr_sketch_init(&s, 1 << 14, 1e9, PARTS, 0, PARTS, NULL), 0);
    CHECK_INT(cr_sketch_add(&s, 2, 9, 1 << 20), CR_SKETCH_MOST);
    CHECK_INT(cr_sketch_add(&s, 2, 9, 1), CR_SKETCH_MOST);
    cr_sketch_clear(&s);
}

TEST(parts_and_files) {
    cr_sketch all = {0}, some = {0}, again = {0};
    CHECK_INT(cr_sketch_init(&all, 1 << 12, 2, PARTS, 0, PARTS, NULL), 0);
    CHECK_INT(cr_sketch_init(&some, 1 << 12, 2, PARTS, 1, 2, NULL), 0);
    for (uint64_t i = 0; i < 20000; i++) {
        int64_t id = draw(true, i);
        uint32_t c = cr_sketch_add(&all, part(id), id, 2);
        if (part(id) == 1 || part(id) == 2) CHECK_INT(cr_sketch_add(&some, part(id), id, 2), c);
    }
    int64_t one = cr_sketch_words(&all), n = PARTS * one;
    CHECK(memcmp(all.words + one, some.words, (size_t)(2 * one) * sizeof(int64_t)) == 0);
    CHECK_INT(cr_sketch_init(&again, 1 << 12, 2, PARTS, 2, 2, NULL), 0);
    CHECK(!cr_sketch_load(&again, all.words, n - 1));
    CHECK(cr_sketch_load(&again, all.words, n));
    CHECK(memcmp(again.words, all.words + 2 * one, (size_t)(2 * one) * sizeof(int64_t)) == 0);
    all.words[0] = -1;
    CHECK(!cr_sketch_load(&again, all.words, n));
    cr_sketch_clear(&all);
    cr_sketch_clear(&some);
    cr_sketch_clear(&again);
}

TEST(no_memory) {
    cr_sketch s = {0};
    cr_err err;
    cr_alloc_fail_after(1);
    CHECK_INT(cr_sketch_init(&s, 1 << 12, 2, PARTS, 0, PARTS, &err), CR_ENOMEM);
    CHECK(s.words == NULL);
}

TEST_MAIN(CASE(error), CASE(halved), CASE(parts_and_files), CASE(no_memory))
