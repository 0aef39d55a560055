/*
 * pack.c - columns as bytes and back: numbers, text, dictionaries, lists, lists of lists, maps,
 * with nulls and without, and no rows at all. Columns as Parquet stores them are tested by the
 * cases of several ranks (tests/cli).
 */
#include "data/pack.h"

#include <string.h>

#include "harness.h"

static const uint8_t valid[] = {1, 0, 1};
static const int64_t numbers[] = {7, 0, -3, 9, 4};
static const int32_t rows[] = {0, 2, 2, 5}, lists[] = {0, 2, 4, 4, 5, 5};
static const uint8_t some[] = {1, 1, 0, 1, 1};
static const uint32_t beg[] = {0, 1, 3}, end[] = {1, 3, 3}, codes[] = {1, 0, 2, 1, 1};

/* Packs a column of three rows with others around it, and gives back what was unpacked. */
static cr_column again(const cr_column *c, cr_buf *b, cr_arena *a, int64_t n_rows) {
    cr_column all[3] = {{.type = CR_COL_I32, .v.i32 = (const int32_t[]){1, 2, 3}},
                        *c,
                        {.type = CR_COL_F64, .v.f64 = (const double[]){1, 2, 3}}};
    cr_column out[3];
    cr_pack_columns(b, all, 3, n_rows);
    CHECK_INT((int64_t)(b->n % 8), 0);
    const char *behind = cr_unpack_columns(b->data, all, 3, n_rows, out, a);
    CHECK_INT(behind - b->data, (int64_t)b->n);
    CHECK(memcmp(out[2].v.f64, all[2].v.f64, (size_t)n_rows * 8) == 0);
    CHECK_INT(out[1].type, c->type);
    CHECK_INT(out[1].depth, c->depth);
    return out[1];
}

static void same_text(const cr_column *x, const cr_column *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        size_t p, q;
        const char *s = cr_text_at(x, i, &p), *t = cr_text_at(y, i, &q);
        CHECK_INT((int64_t)p, (int64_t)q);
        CHECK(memcmp(s, t, p) == 0);
    }
}

TEST(columns) {
    cr_arena a;
    cr_buf b;
    cr_arena_init(&a, 0);
    cr_buf_init(&b);
    cr_column c = {.type = CR_COL_I64, .valid = valid, .v.i64 = numbers};
    cr_column d = again(&c, &b, &a, 3);
    CHECK(memcmp(d.valid, valid, 3) == 0 && memcmp(d.v.i64, numbers, 24) == 0);

    cr_buf_reset(&b);
    c = (cr_column){.type = CR_COL_STR, .bytes = "abc", .beg = beg, .end = end};
    d = again(&c, &b, &a, 3);
    CHECK(!d.valid);
    same_text(&c, &d, 3);

    cr_buf_reset(&b); /* a list of entries of a dictionary */
    c.depth = 1;
    c.row_off = rows;
    c.item_valid = some;
    c.code = codes;
    c.n_dict = 3;
    d = again(&c, &b, &a, 3);
    CHECK(!d.code && memcmp(d.row_off, rows, sizeof rows) == 0);
    CHECK(memcmp(d.item_valid, some, sizeof some) == 0);
    same_text(&c, &d, 5);

    cr_buf_reset(&b); /* a map from text to numbers */
    cr_column keys = c;
    keys.item_valid = NULL;
    c = (cr_column){.type = CR_COL_I64,
                    .depth = 1,
                    .valid = valid,
                    .row_off = rows,
                    .keys = &keys,
                    .v.i64 = numbers};
    d = again(&c, &b, &a, 3);
    CHECK(d.keys && !d.item_valid && memcmp(d.v.i64, numbers, sizeof numbers) == 0);
    same_text(&keys, d.keys, 5);

    cr_buf_reset(&b); /* lists of lists */
    c = (cr_column){.type = CR_COL_F32,
                    .depth = 2,
                    .row_off = rows,
                    .item_off = lists,
                    .list_valid = some,
                    .v.f32 = (const float[]){1, 2, 3, 4, 5}};
    d = again(&c, &b, &a, 3);
    CHECK(memcmp(d.item_off, lists, sizeof lists) == 0 && memcmp(d.list_valid, some, 5) == 0);
    CHECK(memcmp(d.v.f32, c.v.f32, 20) == 0);

    cr_buf_reset(&b); /* no rows */
    c = (cr_column){.type = CR_COL_STR, .bytes = "", .beg = beg, .end = end};
    d = again(&c, &b, &a, 0);
    CHECK_INT(d.beg[0], 0);
    cr_buf_clear(&b);
    cr_arena_clear(&a);
}

TEST_MAIN(CASE(columns))
