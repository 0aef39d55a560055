/*
 * text.c - types, values and rows of Parquet files as text.
 */
#include "harness.h"
#include "parquet/parquet_int.h"

/* ---- values ---- */

static const char *value(cr_pq_type type, cr_pq_logical l, const void *p, int size) {
    static cr_buf b;
    const cr_pq_node n = {.name = "x", .type = type, .type_length = size, .logical = l};
    cr_buf_clear(&b);
    cr_buf_init(&b);
    /* exactly as many bytes as there are, for ASan */
    uint8_t *copy = malloc(size ? (size_t)size : 1);
    memcpy(copy, p, (size_t)size);
    cr_pq_value_json(&n, copy, size, &b);
    free(copy);
    return b.data;
}
#define KIND(...) ((cr_pq_logical){__VA_ARGS__})
static const char *i32(cr_pq_logical l, int32_t x) {
    return value(CR_PQ_I32, l, &x, 4);
}
static const char *i64(cr_pq_logical l, int64_t x) {
    return value(CR_PQ_I64, l, &x, 8);
}
static const char *f32(float x) {
    return value(CR_PQ_F32, KIND(0), &x, 4);
}
static const char *f64(double x) {
    return value(CR_PQ_F64, KIND(0), &x, 8);
}
#define BYTES(type, l, s) value(type, l, s, (int)sizeof(s) - 1)

TEST(numbers) {
    CHECK_STR(i32(KIND(0), -7), "-7");
    CHECK_STR(i64(KIND(0), INT64_MIN), "-9223372036854775808");
    CHECK_STR(i32(KIND(.kind = CR_PQ_INT, .bits = 32), -1), "4294967295");
    CHECK_STR(i64(KIND(.kind = CR_PQ_INT, .bits = 64), -1), "18446744073709551615");
    CHECK_STR(i32(KIND(.kind = CR_PQ_INT, .bits = 8, .is_signed = true), -1), "-1");
    CHECK_STR(f32(0.1f), "0.1");
    CHECK_STR(f64(0.1), "0.1");
    CHECK_STR(f32(NAN), "\"NaN\"");
    CHECK_STR(f64(-INFINITY), "\"-Infinity\"");
    CHECK_STR(f64(INFINITY), "\"Infinity\"");
    CHECK_STR(value(CR_PQ_BOOL, KIND(0), "\1", 1), "true");
    CHECK_STR(value(CR_PQ_BOOL, KIND(0), "\0", 1), "false");
    cr_pq_logical h = KIND(.kind = CR_PQ_FLOAT16);
    CHECK_STR(BYTES(CR_PQ_FIXED, h, "\x00\x3c"), "1");
    CHECK_STR(BYTES(CR_PQ_FIXED, h, "\x00\xc0"), "-2");
    CHECK_STR(BYTES(CR_PQ_FIXED, h, "\x01\x00"), "5.9604645e-08");
    CHECK_STR(BYTES(CR_PQ_FIXED, h, "\xff\x7b"), "65504");
    CHECK_STR(BYTES(CR_PQ_FIXED, h, "\x00\x7c"), "\"Infinity\"");
    CHECK_STR(BYTES(CR_PQ_FIXED, h, "\x01\x7c"), "\"NaN\"");
}

TEST(decimals) {
    cr_pq_logical d = KIND(.kind = CR_PQ_DECIMAL, .precision = 9, .scale = 2);
    CHECK_STR(i32(d, 12345), "\"123.45\"");
    CHECK_STR(i32(d, -5), "\"-0.05\"");
    CHECK_STR(i32(d, 0), "\"0.00\"");
    CHECK_STR(i64(d, INT64_MIN), "\"-92233720368547758.08\"");
    d.scale = 0;
    CHECK_STR(i64(d, 100), "\"100\"");
    CHECK_STR(i64(d, 0), "\"0\"");
    d.scale = 3;
    CHECK_STR(BYTES(CR_PQ_BYTES, d, "\x04\xd2"), "\"1.234\"");
    CHECK_STR(BYTES(CR_PQ_BYTES, d, "\xff"), "\"-0.001\"");
    CHECK_STR(BYTES(CR_PQ_BYTES, d, ""), "\"0.000\"");
    CHECK_STR(BYTES(CR_PQ_FIXED, d, "\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
              "\"-170141183460469231731687303715884105.728\"");
    char big[65];
    memset(big, 0x7f, sizeof big);
    CHECK_INT(strlen(value(CR_PQ_BYTES, d, big, 64)), 157);
    CHECK(strncmp(value(CR_PQ_BYTES, d, big, 65), "\"0x7f7f", 7) == 0);
}

TEST(times) {
    cr_pq_logical d = KIND(.kind = CR_PQ_DATE);
    CHECK_STR(i32(d, 0), "\"1970-01-01\"");
    CHECK_STR(i32(d, -1), "\"1969-12-31\"");
    CHECK_STR(i32(d, 11016), "\"2000-02-29\"");
    CHECK_STR(i32(d, 11017), "\"2000-03-01\"");
    CHECK_STR(i32(d, -719528), "\"0000-01-01\"");
    CHECK_STR(i32(d, -719529), "\"-0001-12-31\"");
    CHECK_STR(i32(d, 2932896), "\"9999-12-31\"");
    CHECK_STR(i32(d, 2932897), "\"+10000-01-01\"");
    CHECK_STR(i32(d, INT32_MAX), "\"+5881580-07-11\"");
    cr_pq_logical t = KIND(.kind = CR_PQ_TIMESTAMP, .unit = CR_PQ_MILLIS, .is_utc = true);
    CHECK_STR(i64(t, 1234567890123), "\"2009-02-13T23:31:30.123Z\"");
    CHECK_STR(i64(t, -1), "\"1969-12-31T23:59:59.999Z\"");
    CHECK_STR(i64(t, INT64_MAX), "\"+292278994-08-17T07:12:55.807Z\"");
    CHECK_STR(i64(t, INT64_MIN), "\"-292275055-05-16T16:47:04.192Z\"");
    t.unit = CR_PQ_MICROS;
    t.is_utc = false;
    CHECK_STR(i64(t, 1), "\"1970-01-01T00:00:00.000001\"");
    CHECK_STR(i64(t, 1000), "\"1970-01-01T00:00:00.001\"");
    t.unit = CR_PQ_NANOS;
    CHECK_STR(i64(t, 1000000001), "\"1970-01-01T00:00:01.000000001\"");
    cr_pq_logical c = KIND(.kind = CR_PQ_TIME, .unit = CR_PQ_MILLIS);
    CHECK_STR(i32(c, 86399999), "\"23:59:59.999\"");
    CHECK_STR(i32(c, 0), "\"00:00:00\"");
    CHECK_STR(i32(c, 86400000), "86400000");
    CHECK_STR(i32(c, -1), "-1");
    c.unit = CR_PQ_NANOS;
    CHECK_STR(i64(c, 3723000000004), "\"01:02:03.000000004\"");
    CHECK_STR(BYTES(CR_PQ_I96, KIND(0), "\1\0\0\0\0\0\0\0\x8c\x3d\x25\0"),
              "\"1970-01-01T00:00:00.000000001\"");
    CHECK_STR(BYTES(CR_PQ_I96, KIND(0), "\0\0\0\0\0\0\0\0\0\0\0\0"), "\"-4713-11-24T00:00:00\"");
    CHECK_STR(BYTES(CR_PQ_FIXED, KIND(.kind = CR_PQ_INTERVAL), "\1\0\0\0\2\0\0\0\xbc\x0b\0\0"),
              "\"P1M2DT3.004S\"");
}

TEST(texts) {
    CHECK_STR(BYTES(CR_PQ_BYTES, KIND(.kind = CR_PQ_STRING), "a\"b\n\xc3\xa9"),
              "\"a\\\"b\\n\xc3\xa9\"");
    CHECK_STR(BYTES(CR_PQ_BYTES, KIND(.kind = CR_PQ_STRING), "\xff"), "\"\xef\xbf\xbd\"");
    CHECK_STR(BYTES(CR_PQ_BYTES, KIND(.kind = CR_PQ_ENUM), ""), "\"\"");
    CHECK_STR(BYTES(CR_PQ_BYTES, KIND(0), "\x01\xab"), "\"0x01ab\"");
    CHECK_STR(BYTES(CR_PQ_FIXED, KIND(.kind = CR_PQ_BSON), "\x01\xab"), "\"0x01ab\"");
    CHECK_STR(BYTES(CR_PQ_FIXED, KIND(.kind = CR_PQ_UUID), "0123456789abcdef"),
              "\"30313233-3435-3637-3839-616263646566\"");
    CHECK_STR(i32(KIND(.kind = CR_PQ_NULL), 1), "null");
    CHECK_STR(BYTES(CR_PQ_I64, KIND(0), "abc"), "\"0x616263\""); /* not the size of its type */
    CHECK_STR(cr_pq_type_name(CR_PQ_FIXED), "FIXED_LEN_BYTE_ARRAY");
    CHECK_STR(cr_pq_type_name((cr_pq_type)8), "unknown");
    CHECK_STR(cr_pq_codec_name(CR_PQ_LZ4), "LZ4_RAW");
    CHECK_STR(cr_pq_codec_name((cr_pq_codec)-1), "unknown");
    CHECK_STR(cr_pq_encoding_name(CR_PQ_SPLIT), "BYTE_STREAM_SPLIT");
    CHECK_STR(cr_pq_encoding_name(1), "unknown");
    CHECK_STR(cr_pq_encoding_name(-1), "unknown");
    CHECK_STR(cr_pq_encoding_name(10), "unknown");
}

/* ---- types and rows ---- */

#define GROUP(name_, rep_, n, kind_)                                                               \
    {                                                                                              \
        .name = name_, .type = CR_PQ_GROUP, .rep = CR_PQ_##rep_, .n_children = n, .logical = {     \
            .kind = CR_PQ_##kind_                                                                  \
        }                                                                                          \
    }
#define LEAF(name_, rep_, type_)                                                                   \
    { .name = name_, .type = CR_PQ_##type_, .rep = CR_PQ_##rep_ }
#define TEXT(name_, rep_)                                                                          \
    {                                                                                              \
        .name = name_, .type = CR_PQ_BYTES, .rep = CR_PQ_##rep_, .logical = {                      \
            .kind = CR_PQ_STRING                                                                   \
        }                                                                                          \
    }

static cr_arena arena;
static cr_pq_meta finish(cr_pq_node *nodes, size_t n) {
    cr_pq_meta m = {.nodes = nodes, .n_nodes = (int)n};
    cr_err err;
    cr_arena_clear(&arena);
    cr_arena_init(&arena, 0);
    CHECK_INT(cr_pq_schema_finish(&m, &arena, &err), CR_OK);
    return m;
}
#define FINISH(nodes) finish(nodes, sizeof(nodes) / sizeof((nodes)[0]))

static const char *type(const cr_pq_meta *m, int node, size_t size) {
    static char out[256];
    memset(out, '#', sizeof out);
    cr_pq_type_text(m, node, out, size);
    CHECK(size == 0 || memchr(out, 0, size) != NULL);
    CHECK(out[size] == '#');
    return out;
}

TEST(types) {
    cr_pq_node nodes[] = {
        GROUP("root", REQUIRED, 6, PHYSICAL),
        GROUP("a", OPTIONAL, 1, LIST),
        GROUP("list", REPEATED, 1, PHYSICAL),
        GROUP("element", OPTIONAL, 2, PHYSICAL),
        LEAF("x", REQUIRED, I32),
        TEXT("y", OPTIONAL),
        GROUP("m", OPTIONAL, 1, MAP),
        GROUP("key_value", REPEATED, 2, PHYSICAL),
        LEAF("key", REQUIRED, I64),
        LEAF("value", OPTIONAL, F32),
        LEAF("r", REPEATED, F64),
        {.name = "f", .type = CR_PQ_FIXED, .type_length = 5},
        {.name = "t",
         .type = CR_PQ_I64,
         .logical = {.kind = CR_PQ_TIMESTAMP, .unit = CR_PQ_MICROS, .is_utc = true}},
        {.name = "d",
         .type = CR_PQ_I64,
         .logical = {.kind = CR_PQ_DECIMAL, .precision = 9, .scale = 2}},
    };
    cr_pq_meta m = FINISH(nodes);
    CHECK_STR(type(&m, 1, 200), "list<struct<x: int32, y: string>>");
    CHECK_STR(type(&m, 6, 200), "map<int64, float>");
    CHECK_STR(type(&m, 10, 200), "list<double>");
    CHECK_STR(type(&m, 11, 200), "fixed(5)");
    CHECK_STR(type(&m, 12, 200), "timestamp(us, UTC)");
    CHECK_STR(type(&m, 13, 200), "decimal(9, 2)");
    CHECK_STR(type(&m, 1, 12), "list<str...");
    CHECK_STR(type(&m, 1, 34), "list<struct<x: int32, y: string>>");
    CHECK_STR(type(&m, 1, 33), "list<struct<x: int32, y: stri...");
    CHECK_STR(type(&m, 1, 1), "");
    type(&m, 1, 0);
    cr_arena_clear(&arena);
}

static const char *rows(const cr_pq_meta *m, int node, const cr_pq_vec *vecs, int n_rows) {
    static cr_buf b;
    cr_pq_pos at[8] = {{0, 0}};
    cr_buf_clear(&b);
    cr_buf_init(&b);
    for (int i = 0; i < n_rows; i++) {
        if (i) cr_buf_char(&b, ' ');
        cr_pq_row_json(m, node, vecs, at, &b);
    }
    return b.data;
}
#define LEVELS(...)                                                                                \
    .def = (const uint8_t[]){__VA_ARGS__}, .n_levels = sizeof((uint8_t[]){__VA_ARGS__})
#define REPS(...)                                                                                  \
    .rep = (const uint8_t[]) {                                                                     \
        __VA_ARGS__                                                                                \
    }
#define I32S(...) .v.i32 = (const int32_t[]){__VA_ARGS__}, .n = sizeof((int32_t[]){__VA_ARGS__}) / 4

TEST(flat) {
    cr_pq_node nodes[] = {
        GROUP("root", REQUIRED, 3, PHYSICAL),
        LEAF("a", REQUIRED, I32),
        LEAF("b", OPTIONAL, I32),
        TEXT("s", OPTIONAL),
    };
    cr_pq_meta m = FINISH(nodes);
    cr_pq_vec a = {.type = CR_PQ_I32, .n_rows = 3, I32S(1, 2, 3)};
    CHECK_STR(rows(&m, 1, &a, 3), "1 2 3");
    cr_pq_vec b = {.type = CR_PQ_I32, .n_rows = 3, I32S(1, 0, 3), LEVELS(1, 0, 1)};
    CHECK_STR(rows(&m, 2, &b, 3), "1 null 3");
    /* the same without levels */
    b.def = NULL;
    b.valid = (const uint8_t[]){1, 0, 1};
    CHECK_STR(rows(&m, 2, &b, 3), "1 null 3");
    CHECK_STR(rows(&m, 2, &b, 4), "1 null 3 null"); /* past the end */
    static const uint32_t beg[] = {0, 2}, end[] = {2, 5}, code[] = {1, 0, 0};
    cr_pq_vec s = {.type = CR_PQ_BYTES,
                   .n_rows = 3,
                   .n = 3,
                   .bytes = "hixyz",
                   .beg = beg,
                   .end = end,
                   .code = code,
                   LEVELS(1, 0, 1)};
    CHECK_STR(rows(&m, 3, &s, 3), "\"xyz\" null \"hi\"");
    cr_arena_clear(&arena);
}

TEST(lists) {
    cr_pq_node nodes[] = {
        GROUP("root", REQUIRED, 3, PHYSICAL),
        GROUP("a", OPTIONAL, 1, LIST),
        GROUP("list", REPEATED, 1, PHYSICAL),
        LEAF("element", OPTIONAL, I32),
        LEAF("r", REPEATED, I32),
        /* 5: list of lists */
        GROUP("l", OPTIONAL, 1, LIST),
        GROUP("list", REPEATED, 1, PHYSICAL),
        GROUP("element", OPTIONAL, 1, LIST),
        GROUP("list", REPEATED, 1, PHYSICAL),
        LEAF("element", OPTIONAL, I32),
    };
    cr_pq_meta m = FINISH(nodes);
    /* [1, null, 2], null, [], [3] */
    cr_pq_vec a = {.type = CR_PQ_I32,
                   .n_rows = 4,
                   I32S(1, 0, 2, 3),
                   LEVELS(3, 2, 3, 0, 1, 3),
                   REPS(0, 1, 1, 0, 0, 0)};
    CHECK_STR(rows(&m, 1, &a, 4), "[1,null,2] null [] [3]");
    cr_pq_vec r = {
        .type = CR_PQ_I32, .n_rows = 3, I32S(1, 2, 3), LEVELS(0, 1, 1, 1), REPS(0, 0, 1, 0)};
    CHECK_STR(rows(&m, 4, &r, 3), "[] [1,2] [3]");
    /* [[1, 2], [], null, [3]], [null], null, [[null]] */
    cr_pq_vec l = {.type = CR_PQ_I32,
                   .n_rows = 4,
                   I32S(1, 2, 3, 0),
                   LEVELS(5, 5, 3, 2, 5, 2, 0, 4),
                   REPS(0, 2, 1, 1, 1, 0, 0, 0)};
    CHECK_STR(rows(&m, 5, &l, 4), "[[1,2],[],null,[3]] [null] null [[null]]");
    cr_arena_clear(&arena);
}

TEST(old_lists) {
    cr_pq_node nodes[] = {
        GROUP("root", REQUIRED, 2, PHYSICAL),
        GROUP("a", REQUIRED, 1, LIST),
        GROUP("array", REPEATED, 1, LIST),
        LEAF("array", REPEATED, I32),
        GROUP("b", OPTIONAL, 1, LIST),
        GROUP("array", REPEATED, 1, PHYSICAL),
        LEAF("x", OPTIONAL, I32),
    };
    cr_pq_meta m = FINISH(nodes);
    cr_pq_vec a = {.type = CR_PQ_I32,
                   .n_rows = 2,
                   I32S(1, 2, 3, 4),
                   LEVELS(2, 2, 2, 2, 0),
                   REPS(0, 2, 1, 2, 0)};
    CHECK_STR(rows(&m, 1, &a, 2), "[[1,2],[3,4]] []");
    cr_pq_vec b = {
        .type = CR_PQ_I32, .n_rows = 3, I32S(1, 0), LEVELS(3, 2, 0, 1), REPS(0, 1, 0, 0)};
    CHECK_STR(rows(&m, 4, &b, 3), "[{\"x\":1},{\"x\":null}] null []");
    cr_arena_clear(&arena);
}

TEST(structs_and_maps) {
    cr_pq_node nodes[] = {
        GROUP("root", REQUIRED, 2, PHYSICAL),
        /* 1: list<struct<x, l: list<int>>> */
        GROUP("s", OPTIONAL, 1, LIST),
        GROUP("list", REPEATED, 1, PHYSICAL),
        GROUP("element", OPTIONAL, 2, PHYSICAL),
        LEAF("x", REQUIRED, I32),
        GROUP("l", OPTIONAL, 1, LIST),
        GROUP("list", REPEATED, 1, PHYSICAL),
        LEAF("element", REQUIRED, I32),
        /* 8: map<int, list<int>> in a struct */
        GROUP("o", OPTIONAL, 2, PHYSICAL),
        GROUP("m", OPTIONAL, 1, MAP),
        GROUP("key_value", REPEATED, 2, PHYSICAL),
        LEAF("key", REQUIRED, I32),
        GROUP("value", OPTIONAL, 1, LIST),
        GROUP("list", REPEATED, 1, PHYSICAL),
        LEAF("element", OPTIONAL, I32),
        LEAF("n", OPTIONAL, I32),
    };
    cr_pq_meta m = FINISH(nodes);
    /* [{1, [10, 11]}, null, {2, []}], [], [{3, null}] */
    cr_pq_vec s[] = {
        {.type = CR_PQ_I32,
         .n_rows = 3,
         I32S(1, 0, 2, 3),
         LEVELS(3, 2, 3, 1, 3),
         REPS(0, 1, 1, 0, 0)},
        {.type = CR_PQ_I32,
         .n_rows = 3,
         I32S(10, 11),
         LEVELS(5, 5, 2, 4, 1, 3),
         REPS(0, 2, 1, 1, 0, 0)},
    };
    CHECK_STR(rows(&m, 1, s, 3),
              "[{\"x\":1,\"l\":[10,11]},null,{\"x\":2,\"l\":[]}] [] [{\"x\":3,\"l\":null}]");
    /* {{1: [5, null], 2: null}, 7}, null, {null, null}, {{}, 8} */
    cr_pq_vec o[] = {
        {.type = CR_PQ_I32, .n_rows = 4, I32S(1, 2), LEVELS(3, 3, 0, 1, 2), REPS(0, 1, 0, 0, 0)},
        {.type = CR_PQ_I32,
         .n_rows = 4,
         I32S(5, 0),
         LEVELS(6, 5, 3, 0, 1, 2),
         REPS(0, 2, 1, 0, 0, 0)},
        {.type = CR_PQ_I32, .n_rows = 4, I32S(7, 0, 0, 8), LEVELS(2, 0, 1, 2)},
    };
    CHECK_STR(rows(&m, 8, o, 4), "{\"m\":[[1,[5,null]],[2,null]],\"n\":7} null "
                                 "{\"m\":null,\"n\":null} {\"m\":[],\"n\":8}");
    /* leaves that disagree: no value of another row, no access outside */
    o[1].n_levels = 1;
    o[1].n = 1;
    CHECK_STR(rows(&m, 8, o, 4), "{\"m\":[[1,[5]],[2,null]],\"n\":7} null "
                                 "{\"m\":null,\"n\":null} {\"m\":[],\"n\":8}");
    cr_arena_clear(&arena);
}

TEST_MAIN(CASE(numbers), CASE(decimals), CASE(times), CASE(texts), CASE(types), CASE(flat),
          CASE(lists), CASE(old_lists), CASE(structs_and_maps))
