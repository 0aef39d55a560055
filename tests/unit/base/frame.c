/*
 * frame.c - arrays of NumPy and frames of pandas, from the pickles that are seeds of the fuzzer.
 * The frames have the columns a, b, c, d: a and c are whole numbers in one block, column by column,
 * b are numbers, and d other values.
 */
#include "base/frame.h"

#include "base/buf.h"
#include "base/file.h"
#include "harness.h"

static cr_arena arena;
static cr_buf bytes;

static const cr_pickle *seed(const char *name) {
    char path[1024];
    const char *root = getenv("CRANK_SOURCE_ROOT");
    const cr_pickle *v = NULL;
    cr_err err;
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/pickle/%s", root ? root : ".", name);
    cr_arena_init(&arena, 0);
    cr_buf_init(&bytes);
    CHECK_INT(cr_file_read(path, 0, &bytes, &err), CR_OK);
    CHECK_INT(cr_pickle_read(bytes.data, bytes.n, name, &arena, &v, &err), CR_OK);
    return v;
}

static void done(void) {
    cr_arena_clear(&arena);
    cr_buf_clear(&bytes);
}

TEST(reads_arrays) {
    const char *const names[] = {"arrays_2.pkl", "arrays_3.pkl", "arrays_4.pkl", "arrays_5.pkl"};
    for (int f = 0; f < 4; f++) {
        const cr_pickle *v = seed(names[f]);
        int64_t i = 0;
        double x = 0;
        CHECK_INT(v->n, 5);
        CHECK_INT(cr_pickle_dim(v->v[0], 0), 1);
        CHECK_INT(cr_pickle_dim(v->v[0], 2), 3);
        CHECK_INT(cr_pickle_dim(v->v[0], 3), -1);
        for (int64_t k = 0; k < 6; k++) {
            CHECK(cr_pickle_whole(v->v[0], k, &i) && i == k);
            /* this one lies column by column */
            CHECK(cr_pickle_number(v->v[2], k, &x) && x == (double)k);
        }
        CHECK(!cr_pickle_whole(v->v[0], 6, &i) && !cr_pickle_whole(v->v[0], -1, &i));
        CHECK(cr_pickle_whole(v->v[1], 0, &i) && i == -3);
        CHECK(cr_pickle_number(v->v[3], 0, &x) && x == 1.5);
        CHECK(!cr_pickle_whole(v->v[3], 0, &i));
        CHECK(cr_pickle_whole(v->v[4], 0, &i) && i == 1);
        CHECK(cr_pickle_item(v->v[0], 0) == NULL);
        done();
    }
}

TEST(reads_frames) {
    const char *const names[] = {"frame_2.pkl", "frame_4.pkl", "frame_new_5.pkl"};
    for (int n = 0; n < 3; n++) {
        cr_frame f;
        cr_err err;
        const cr_pickle *v = seed(names[n]);
        int64_t i = 0;
        double x = 0;
        CHECK_INT(cr_frame_of(v, names[n], &arena, &f, &err), CR_OK);
        CHECK_INT(f.rows, 3);
        CHECK_INT(f.n, 4);
        const cr_frame_column *a = cr_frame_find(&f, "a"), *b = cr_frame_find(&f, "b");
        const cr_frame_column *c = cr_frame_find(&f, "c"), *d = cr_frame_find(&f, "d");
        CHECK(a && b && c && d && !cr_frame_find(&f, "e"));
        CHECK(cr_frame_whole(a, 2, &i) && i == 3);
        CHECK(cr_frame_whole(c, 1, &i) && i == 50);
        CHECK(cr_frame_number(b, 1, &x) && x == -1.25);
        CHECK(!cr_frame_whole(b, 0, &i) && cr_frame_whole(b, 2, &i) && i == 3000000000);
        CHECK(cr_frame_item(a, 0) == NULL);
        const cr_pickle *list = cr_frame_item(d, 0), *array = cr_frame_item(d, 1);
        CHECK(list && list->kind == CR_PICKLE_LIST && list->n == 2 && list->v[1]->i == 2);
        CHECK(array && cr_pickle_whole(array, 0, &i) && i == 7);
        CHECK(!cr_frame_number(d, 2, &x));
        done();
    }
}

TEST(reads_series) {
    const char *const names[] = {"series_4.pkl", "series_new_4.pkl"};
    for (int n = 0; n < 2; n++) {
        cr_frame f;
        cr_err err;
        int64_t i = 0;
        const cr_pickle *v = seed(names[n]);
        CHECK_INT(cr_frame_of(v, names[n], &arena, &f, &err), CR_OK);
        CHECK_INT(f.rows, 3);
        CHECK_INT(f.n, 1);
        CHECK(cr_frame_whole(&f.columns[0], 2, &i) && i == 1);
        done();
    }
}

TEST(refuses_others) {
    cr_frame f;
    cr_err err;
    CHECK_INT(cr_frame_of(seed("arrays_4.pkl"), "file", &arena, &f, &err), CR_EDATA);
    CHECK(strstr(err.msg, "no DataFrame of pandas") != NULL);
    done();
}

TEST_MAIN(CASE(reads_arrays), CASE(reads_frames), CASE(reads_series), CASE(refuses_others))
