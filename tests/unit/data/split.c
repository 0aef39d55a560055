/*
 * split.c - rows for training and for evaluation: every row is on one side, values stay together,
 * and the rows that are left are those of the columns, whatever their shape. Reports of bad rows.
 */
#include "data/load/split.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/load/take.h"
#include "harness.h"

#define N 5000

static cr_arena arena;

/* a column of the texts u0 .. u(n_values - 1), in turn */
static cr_column texts(int n_rows, int n_values) {
    char *bytes = cr_arena_alloc(&arena, (size_t)n_rows * 8);
    uint32_t *beg = CR_NEW_N(&arena, uint32_t, n_rows), *end = CR_NEW_N(&arena, uint32_t, n_rows);
    uint32_t at = 0;
    for (int i = 0; i < n_rows; i++) {
        beg[i] = at;
        at += (uint32_t)sprintf(bytes + at, "%d", i % n_values);
        end[i] = at;
    }
    return (cr_column){.type = CR_COL_STR, .bytes = bytes, .beg = beg, .end = end};
}

static cr_column ints(int n_rows, int n_values) {
    int64_t *v = CR_NEW_N(&arena, int64_t, n_rows);
    for (int i = 0; i < n_rows; i++)
        v[i] = i % n_values;
    return (cr_column){.type = CR_COL_I64, .v.i64 = v};
}

/* per row of the chunk: is it for evaluation? */
static void sides(const cr_chunk *c, int col, int64_t block, double fraction, bool *eval) {
    static int32_t kept[N];
    cr_split s = {.side = CR_TRAIN_ROWS, .fraction = fraction, .col = col};
    cr_skipper k = {0};
    int64_t n = cr_split_rows(&s, c, block, &k, kept), last = -1;
    for (int64_t i = 0; i < c->n_rows; i++)
        eval[i] = true;
    for (int64_t i = 0; i < n; i++) {
        CHECK(kept[i] > last);
        last = kept[i];
        eval[kept[i]] = false;
    }
    s.side = CR_EVAL_ROWS;
    int64_t m = cr_split_rows(&s, c, block, &k, kept);
    CHECK_INT(n + m, c->n_rows);
    for (int64_t i = 0; i < m; i++)
        CHECK(eval[kept[i]]);
}

/* Rows in whose text an expression is found are kept by neither side. */
static void skips(void) {
    static const char bytes[] = "originhigh_precisiona tag_7";
    static const uint32_t beg[] = {0, 6, 20, 0}, end[] = {6, 20, 27, 0};
    static const uint8_t valid[] = {1, 1, 1, 0};
    cr_column col = {.type = CR_COL_STR, .valid = valid, .bytes = bytes, .beg = beg, .end = end};
    cr_chunk c = {.n_rows = 4, .n_cols = 1, .cols = &col, .path = "a"};
    cr_skip skip[2] = {{.col = 0}, {.col = 0}};
    cr_skipper k = {0};
    int32_t kept[4];
    CHECK_INT(cr_regex_new(&skip[0].regex, "^high_precision$", 0, NULL), CR_OK);
    CHECK_INT(cr_regex_new(&skip[1].regex, "tag_[0-9]", 0, NULL), CR_OK);
    cr_split s = {.side = CR_ALL_ROWS, .col = -1, .skip = skip, .n_skip = 2};
    CHECK(!cr_split_all(&s));
    CHECK_INT(cr_split_rows(&s, &c, -1, &k, kept), 2);
    CHECK_INT(kept[0], 0);
    CHECK_INT(kept[1], 3); /* no text, so nothing is found in it */
    s.n_skip = 1;
    CHECK_INT(cr_split_rows(&s, &c, -1, &k, kept), 3);
    s.n_skip = 0;
    CHECK(cr_split_all(&s));
    cr_skipper_clear(&k);
    cr_regex_free(skip[0].regex);
    cr_regex_free(skip[1].regex);
}

static int64_t count(const bool *v, int64_t n) {
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++)
        k += v[i];
    return k;
}

TEST(by_rows) {
    static bool a[N], b[N];
    cr_chunk c = {.n_rows = N, .path = "x/part-0.csv", .first_row = 0};
    const double shares[] = {0.01, 0.1, 0.5, 0.9};
    for (int i = 0; i < 4; i++) {
        sides(&c, -1, 0, shares[i], a);
        double n = (double)count(a, N), sd = sqrt(N * shares[i] * (1 - shares[i]));
        CHECK(fabs(n - N * shares[i]) < 4 * sd);
    }
    /* a larger share keeps what the smaller one kept */
    sides(&c, -1, 0, 0.1, a);
    sides(&c, -1, 0, 0.2, b);
    for (int i = 0; i < N; i++)
        CHECK(!a[i] || b[i]);
    /* blocks differ, folders do not */
    sides(&c, -1, 1, 0.1, b);
    CHECK(memcmp(a, b, sizeof a) != 0);
    c.path = "y/part-0.csv";
    sides(&c, -1, 0, 0.1, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    c.path = "y/part-1.csv";
    sides(&c, -1, 0, 0.1, b);
    CHECK(memcmp(a, b, sizeof a) != 0);
    /* where rows have numbers, blocks may be cut anywhere */
    sides(&c, -1, -1, 0.1, a);
    cr_chunk rest = {.n_rows = N - 777, .path = c.path, .first_row = 777};
    sides(&rest, -1, -1, 0.1, b);
    CHECK(memcmp(a + 777, b, (N - 777) * sizeof *a) == 0);
}

TEST(by_values) {
    static bool a[N], b[N];
    cr_arena_init(&arena, 0);
    cr_column cols[] = {texts(N, 400), ints(N, 400)};
    cr_chunk c = {.n_rows = N, .n_cols = 2, .cols = cols, .path = "p", .first_row = 0};
    sides(&c, 0, 3, 0.25, a);
    for (int i = 400; i < N; i++)
        CHECK(a[i] == a[i - 400]);
    CHECK(count(a, 400) > 60 && count(a, 400) < 140);
    /* a number is its text; neither file, block nor place matter */
    sides(&c, 1, 7, 0.25, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    /* cells without a value are one value */
    uint8_t *valid = cr_arena_zalloc(&arena, N);
    cols[1].valid = valid;
    sides(&c, 1, 0, 0.25, b);
    CHECK(count(b, N) == 0 || count(b, N) == N);
    cr_arena_clear(&arena);
}

/* rows 3, none and 0 of a list of lists of texts, and of a map */
TEST(texts_skip_rows) {
    skips();
}

TEST(any_shape) {
    cr_arena_init(&arena, 0);
    const int32_t idx[] = {3, -1, 0};
    cr_column text = texts(6, 6), to;
    text.depth = 2;
    text.row_off = (const int32_t[]){0, 2, 2, 3, 4};
    text.item_off = (const int32_t[]){0, 1, 3, 4, 6};
    text.list_valid = (const uint8_t[]){1, 0, 1, 1};
    text.item_valid = (const uint8_t[]){1, 1, 1, 1, 0, 1};
    cr_column_take(&to, &text, idx, 3, &arena);
    CHECK(to.depth == 2 && to.valid && to.valid[0] && !to.valid[1] && to.valid[2]);
    const int32_t rows[] = {0, 1, 1, 3}, items[] = {0, 2, 3, 5};
    CHECK(memcmp(to.row_off, rows, sizeof rows) == 0 &&
          memcmp(to.item_off, items, sizeof items) == 0);
    CHECK(to.list_valid && to.list_valid[0] && to.list_valid[1] && !to.list_valid[2]);
    CHECK(to.item_valid && !to.item_valid[0] && to.item_valid[1] && to.item_valid[4]);
    const char *want[] = {"4", "5", "0", "1", "2"};
    for (int i = 0; i < 5; i++) {
        size_t n;
        const char *p = cr_text_at(&to, i, &n);
        CHECK(n == 1 && *p == *want[i]);
    }
    cr_column keys = ints(5, 5), map = ints(5, 3);
    map.depth = keys.depth = 1;
    map.row_off = keys.row_off = (const int32_t[]){0, 1, 3, 3, 5};
    map.keys = &keys;
    cr_column_take(&to, &map, idx, 3, &arena);
    const int32_t off[] = {0, 2, 2, 3};
    CHECK(memcmp(to.row_off, off, sizeof off) == 0 && to.keys && to.keys->row_off == to.row_off);
    CHECK(to.v.i64[0] == 0 && to.v.i64[1] == 1 && to.v.i64[2] == 0);
    CHECK(to.keys->v.i64[0] == 3 && to.keys->v.i64[1] == 4 && to.keys->v.i64[2] == 0);
    cr_arena_clear(&arena);
}

/* reports speak of rows of the block; those of the other side go, and never all texts with them */
TEST(reports) {
    cr_bad bad = {0};
    uint8_t mark[30] = {0};
    int64_t lines[30];
    for (int i = 0; i < 30; i++)
        lines[i] = 100 + i;
    mark[5] = mark[25] = 1;
    cr_bad_add(&bad, -1, 99, "no row");
    for (int i = 0; i < 30; i++)
        cr_bad_add(&bad, i, lines[i], "row %d", i);
    cr_bad_keep(&bad, mark, lines, false);
    CHECK_INT(bad.n, 2);
    CHECK_INT(bad.n_kept, 1);
    CHECK_STR(bad.v[0].msg, "row 5");
    mark[5] = 0;
    cr_bad_keep(&bad, mark, lines, false);
    CHECK_INT(bad.n, 1);
    CHECK_INT(bad.n_kept, 1);
    CHECK(bad.v[0].row == 25 && bad.v[0].line == 125);
    cr_bad_reset(&bad);
    bad.rows_of = (const int32_t[]){4, 8, 12};
    cr_bad_add(&bad, -1, 99, "no row");
    cr_bad_add(&bad, 1, 108, "row");
    CHECK(bad.rows[0] == -1 && bad.rows[1] == 8 && bad.v[1].row == 8);
    mark[8] = 1;
    cr_bad_keep(&bad, mark, lines, true);
    CHECK_INT(bad.n, 2);
    /* only a report without a row is left, and its text gave way to those of dropped rows */
    const int64_t before[] = {7777, 100};
    cr_bad_reset(&bad);
    bad.rows_of = NULL;
    memset(mark, 0, sizeof mark);
    for (int i = 0; i < 30; i++)
        cr_bad_add(&bad, i, 100 + i, "row %d", i);
    cr_bad_add(&bad, -1, 500, "no row");
    cr_bad_keep(&bad, mark, before + 1, true);
    CHECK_INT(bad.n, 1);
    CHECK_INT(bad.n_kept, 1);
    CHECK(bad.v[0].row == -1 && bad.v[0].line == 0);
    cr_bad_clear(&bad);
}

TEST_MAIN(CASE(by_rows), CASE(by_values), CASE(any_shape), CASE(reports), CASE(texts_skip_rows))
