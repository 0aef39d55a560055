/*
 * thrift.c - the compact protocol: what is written is read, and no bytes harm the reader.
 */
#include "harness.h"
#include "parquet/parquet_int.h"

static cr_tin reader(const cr_buf *b) {
    cr_tin t;
    cr_tin_init(&t, (const uint8_t *)b->data, b->n);
    return t;
}

static cr_tin of_bytes(const char *p, size_t n) {
    cr_tin t;
    cr_tin_init(&t, (const uint8_t *)p, n);
    return t;
}
#define BYTES(s) of_bytes(s, sizeof(s) - 1)

TEST(ints) {
    static const int64_t v[] = {0,         1,         -1,        63,        64,
                                -64,       -65,       127,       128,       INT32_MAX,
                                INT32_MIN, 1LL << 40, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    cr_buf b;
    cr_buf_init(&b);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        cr_tout_int(&b, v[i]);
    cr_tin t = reader(&b);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        CHECK_INT(cr_tin_int(&t), v[i]);
    CHECK(!t.bad && t.p == t.end);
    cr_buf_clear(&b);
}

/* one struct with everything in it */
static void message(cr_buf *b) {
    int last = 0;
    cr_buf_init(b);
    cr_tout_i32(b, &last, 1, -5);
    cr_tout_i64(b, &last, 17, 1LL << 50); /* a step of 16 does not fit in the head */
    cr_tout_bool(b, &last, 18, true);
    cr_tout_bool(b, &last, 19, false);
    cr_tout_bytes(b, &last, 20, "hello", 5);
    cr_tout_list(b, &last, 21, CR_T_I32, 20);
    for (int i = 0; i < 20; i++)
        cr_tout_int(b, i * 1000);
    cr_tout_list(b, &last, 22, CR_T_BYTES, 2);
    cr_tout_bytes(b, NULL, 0, "a", 1);
    cr_tout_bytes(b, NULL, 0, "", 0);
    cr_tout_field(b, &last, 3, CR_T_STRUCT); /* ids may go back */
    int inner = 0;
    cr_tout_i32(b, &inner, 2, 7);
    cr_tout_stop(b);
    cr_tout_field(b, &last, 23, CR_T_DOUBLE);
    cr_buf_add(b, "12345678", 8);
    cr_tout_field(b, &last, 24, CR_T_MAP);
    cr_buf_add(b, "\x02\x58\x02\x01x\x04\x01y", 8); /* {1: "x", 2: "y"} */
    cr_tout_field(b, &last, 25, CR_T_MAP);
    cr_buf_add(b, "\x00", 1);
    cr_tout_field(b, &last, 26, CR_T_SET);
    cr_buf_add(b, "\x21\x01\x02", 3); /* bools */
    cr_tout_field(b, &last, 27, CR_T_I8);
    cr_buf_add(b, "\xff", 1);
    cr_tout_stop(b);
}

TEST(a_struct) {
    cr_buf b;
    message(&b);
    cr_tin t = reader(&b);
    int id = 0, of;
    size_t n;
    CHECK_INT(cr_tin_field(&t, &id), CR_T_I32);
    CHECK_INT(id, 1);
    CHECK_INT(cr_tin_int(&t), -5);
    CHECK_INT(cr_tin_field(&t, &id), CR_T_I64);
    CHECK_INT(id, 17);
    CHECK_INT(cr_tin_int(&t), 1LL << 50);
    CHECK_INT(cr_tin_field(&t, &id), CR_T_TRUE);
    CHECK_INT(cr_tin_field(&t, &id), CR_T_FALSE);
    CHECK_INT(cr_tin_field(&t, &id), CR_T_BYTES);
    const uint8_t *p = cr_tin_bytes(&t, &n);
    CHECK(n == 5 && memcmp(p, "hello", 5) == 0);
    CHECK_INT(cr_tin_field(&t, &id), CR_T_LIST);
    CHECK_INT(cr_tin_list(&t, &of), 20);
    CHECK_INT(of, CR_T_I32);
    for (int i = 0; i < 20; i++)
        CHECK_INT(cr_tin_int(&t), i * 1000);
    CHECK_INT(cr_tin_field(&t, &id), CR_T_LIST);
    CHECK_INT(cr_tin_list(&t, &of), 2);
    CHECK_INT((cr_tin_bytes(&t, &n), n), 1);
    CHECK_INT((cr_tin_bytes(&t, &n), n), 0);
    CHECK_INT(cr_tin_field(&t, &id), CR_T_STRUCT);
    CHECK_INT(id, 3);
    CHECK(cr_tin_enter(&t));
    int inner = 0;
    CHECK_INT(cr_tin_field(&t, &inner), CR_T_I32);
    CHECK_INT(cr_tin_int(&t), 7);
    CHECK_INT(cr_tin_field(&t, &inner), CR_T_STOP);
    cr_tin_leave(&t);
    for (int want = 23; want <= 26; want++) {
        int type = cr_tin_field(&t, &id);
        CHECK_INT(id, want);
        cr_tin_skip(&t, type);
    }
    CHECK_INT(cr_tin_field(&t, &id), CR_T_I8);
    CHECK_INT(cr_tin_i8(&t), -1);
    CHECK_INT(cr_tin_field(&t, &id), CR_T_STOP);
    CHECK(!t.bad && t.p == t.end && t.depth == 0);
    cr_buf_clear(&b);
}

TEST(skipping) {
    cr_buf b;
    message(&b);
    cr_tin t = reader(&b);
    cr_tin_skip(&t, CR_T_STRUCT);
    CHECK(!t.bad && t.p == t.end && t.depth == 0);
    cr_buf_clear(&b);
}

/* cut anywhere it says that it is cut, and nothing is read past the end (ASan sees that) */
TEST(cut) {
    cr_buf b;
    message(&b);
    for (size_t n = 0; n < b.n; n++) {
        char *copy = malloc(n ? n : 1);
        memcpy(copy, b.data, n);
        cr_tin t = of_bytes(copy, n);
        cr_tin_skip(&t, CR_T_STRUCT);
        CHECK(t.bad != NULL);
        CHECK(t.cut);
        free(copy);
    }
    cr_buf_clear(&b);
}

TEST(wrong) {
    int of, id = 0;
    size_t n;
    cr_tin t = BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
    CHECK_INT(cr_tin_int(&t), 0);
    CHECK_STR(t.bad, "a number has more than 64 bits");
    CHECK(!t.cut);
    t = BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    CHECK_INT(cr_tin_int(&t), INT64_MIN);
    t = BYTES("\xf5\xff\xff\xff\xff\x0f"); /* a list of 2^32 */
    CHECK_INT(cr_tin_list(&t, &of), 0);
    CHECK_STR(t.bad, "a list has more than 2^31 elements");
    t = BYTES("\x85\x01\x01\x01");
    CHECK_INT(cr_tin_list(&t, &of), 0);
    CHECK(t.cut);
    t = BYTES("\x05hell");
    CHECK_INT((cr_tin_bytes(&t, &n), n), 0);
    CHECK(t.cut);
    t = BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01hell");
    CHECK_INT((cr_tin_bytes(&t, &n), n), 0);
    CHECK(t.bad && !t.cut);
    t = BYTES("\x0e\x02"); /* type 14 */
    CHECK_INT(cr_tin_field(&t, &id), 14);
    cr_tin_skip(&t, 14);
    CHECK_STR(t.bad, "a value has an unknown type");
    CHECK_INT(cr_tin_field(&t, &id), CR_T_STOP);
    t = BYTES("\x05\x80\x80\x08"); /* id 65536 */
    CHECK_INT(cr_tin_field(&t, &id), CR_T_STOP);
    CHECK_STR(t.bad, "a field's number is out of range");
    /* the first mistake stays, with its place */
    t = BYTES("\x00\x0e\x0e");
    t.p++;
    cr_tin_skip(&t, 14);
    cr_tin_skip(&t, CR_T_DOUBLE);
    CHECK_STR(t.bad, "a value has an unknown type");
    CHECK_INT(t.bad_at, 1);
    CHECK(!t.cut);
}

TEST(deep) {
    char nest[4096];
    static const char heads[][2] = {{0x1c, 0}, {0x19, 0}, {0x1b, 0}};
    for (size_t k = 0; k < 3; k++) {
        memset(nest, heads[k][0], sizeof nest); /* struct in struct, list in list, map in map */
        cr_tin t = of_bytes(nest, sizeof nest);
        cr_tin_skip(&t, k == 0 ? CR_T_STRUCT : k == 1 ? CR_T_LIST : CR_T_MAP);
        CHECK(t.bad != NULL);
        CHECK_INT(t.depth, 0);
    }
    memset(nest, 0x1c, sizeof nest);
    cr_tin t = of_bytes(nest, sizeof nest);
    cr_tin_skip(&t, CR_T_STRUCT);
    CHECK_STR(t.bad, "its structs are nested too deeply");
}

TEST_MAIN(CASE(ints), CASE(a_struct), CASE(skipping), CASE(cut), CASE(wrong), CASE(deep))
