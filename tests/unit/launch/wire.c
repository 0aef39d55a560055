/*
 * wire.c - messages as bytes: every type there and back, every cut and every changed length
 * refused.
 */
#include "launch/wire.h"

#include "harness.h"

static void sample(cr_msg *m, cr_wire_type type) {
    *m = (cr_msg){.type = type, .text = {{"host", 4}, {"value", 5}}};
    for (int i = 0; i < CR_WIRE_NUMS; i++)
        m->num[i] = 0x0102030405060708u * (uint64_t)(i + 1);
}

TEST(there_and_back) {
    for (int t = 1; t < CR_WIRE_TYPES; t++) {
        cr_msg m, got;
        cr_buf b, again;
        cr_buf_init(&b);
        cr_buf_init(&again);
        sample(&m, (cr_wire_type)t);
        cr_wire_put(&b, &m);
        CHECK(cr_wire_get(&got, b.data, b.n));
        CHECK_INT(got.type, t);
        cr_wire_put(&again, &got);
        CHECK_INT(again.n, b.n);
        CHECK(memcmp(again.data, b.data, b.n) == 0);
        for (size_t n = 0; n < b.n; n++)
            CHECK(!cr_wire_get(&got, b.data, n));
        cr_buf_char(&b, 'x'); /* more than the row has */
        CHECK(!cr_wire_get(&got, b.data, b.n));
        cr_buf_clear(&b);
        cr_buf_clear(&again);
    }
}

TEST(numbers) {
    cr_msg m = {.type = CR_WIRE_STOP, .num = {7, UINT64_MAX}}, got;
    cr_buf b;
    cr_buf_init(&b);
    cr_wire_put(&b, &m);
    CHECK_INT(b.n, 17);
    CHECK(cr_wire_get(&got, b.data, b.n));
    CHECK(got.num[0] == 7 && got.num[1] == UINT64_MAX);
    cr_buf_clear(&b);
}

TEST(texts) {
    char long_text[CR_WIRE_TEXT + 10], out[16];
    memset(long_text, 'a', sizeof long_text);
    cr_msg m = {.type = CR_WIRE_REFUSE, .text = {{long_text, sizeof long_text}}}, got;
    cr_buf b;
    cr_buf_init(&b);
    cr_wire_put(&b, &m);
    CHECK(cr_wire_get(&got, b.data, b.n)); /* it was cut */
    CHECK_INT(got.text[0].n, CR_WIRE_TEXT);
    cr_wire_text(&got, 0, out, sizeof out);
    CHECK_INT(strlen(out), 15);
    cr_buf_reset(&b);
    m.text[0].n = 3;
    cr_wire_put(&b, &m);
    b.data[4] = 0; /* a NUL inside */
    CHECK(!cr_wire_get(&got, b.data, b.n));
    cr_buf_clear(&b);
}

TEST(no_messages) {
    cr_msg got;
    char big[CR_WIRE_MAX + 1] = {CR_WIRE_PING};
    CHECK(!cr_wire_get(&got, "", 0));
    CHECK(!cr_wire_get(&got, "\0", 1));
    CHECK(!cr_wire_get(&got, "\xff", 1));
    CHECK(!cr_wire_get(&got, big, sizeof big));
    char type = CR_WIRE_TYPES;
    CHECK(!cr_wire_get(&got, &type, 1));
    CHECK_STR(cr_wire_name(CR_WIRE_BYE), "BYE");
    CHECK_STR(cr_wire_name(CR_WIRE_TYPES), "?");
}

TEST_MAIN(CASE(there_and_back), CASE(numbers), CASE(texts), CASE(no_messages))
