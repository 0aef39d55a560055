/*
 * xml.c - answers of object stores: elements in order, entities, texts that are cut, no XML at all;
 * and the checksum by which OSS names what it has.
 */
#include "store/xml.h"

#include <string.h>

#include "harness.h"
#include "store/crc64.h"
#include "store/http.h"
#include "store/object_sum.h"

static cr_xml of(const char *text) {
    return (cr_xml){text, text + strlen(text)};
}

TEST(elements) {
    cr_xml x = of("<?xml version='1.0'?><R xmlns=\"a\"><C><Key>a&amp;b</Key></C><Keys>no</Keys>"
                  "<C><Key>c&lt;&#13;d</Key></C><Key/></R>"),
           in;
    char text[32];
    CHECK(cr_xml_next(&x, "C", &in));
    CHECK_INT(cr_xml_text(in, "Key", text, sizeof text), 3);
    CHECK_STR(text, "a&b");
    CHECK(cr_xml_next(&x, "C", &in));
    CHECK_INT(cr_xml_text(in, "Key", text, sizeof text), 4);
    CHECK_STR(text, "c<\rd");
    CHECK(!cr_xml_next(&x, "C", &in));
    CHECK_INT(cr_xml_text(x, "Key", text, sizeof text), 0);
    CHECK_INT(cr_xml_text(in, "None", text, sizeof text), 0);
    CHECK_STR(text, "");
}

TEST(short_room_and_no_xml) {
    char text[4];
    CHECK_INT(cr_xml_text(of("<a>123456</a>"), "a", text, sizeof text), 6);
    CHECK_STR(text, "123");
    static const char *const bad[] = {"",        "<",        "<a",      "<a>",
                                      "<a>1</a", "<a>1</b>", "a>1</a>", "<a/"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(cr_xml_text(of(bad[i]), "a", text, sizeof text), 0);
}

TEST(escapes) {
    cr_buf b;
    cr_buf_init(&b);
    cr_xml_escape(&b, "a<b>&\r");
    CHECK_STR(b.data, "a&lt;b&gt;&amp;&#13;");
    cr_buf_reset(&b);
    cr_http_encode(&b, "a b/=\xc3\xa9~", 8, true);
    CHECK_STR(b.data, "a%20b/%3D%C3%A9~");
    size_t n = cr_http_decode(b.data, b.n);
    CHECK_INT(n, 8);
    CHECK(memcmp(b.data, "a b/=\xc3\xa9~", 8) == 0);
    char bad[] = "%4%zz%4";
    CHECK_INT(cr_http_decode(bad, strlen(bad)), 7);
    cr_buf_clear(&b);
}

TEST(crc64) {
    /* the check value of CRC-64/XZ, and the same in pieces */
    CHECK(cr_crc64(0, "123456789", 9) == 0x995DC9BBDF1939FAu);
    CHECK(cr_crc64(cr_crc64(0, "12345", 5), "6789", 4) == 0x995DC9BBDF1939FAu);
    CHECK(cr_crc64(0, "", 0) == 0);
}

/* Ranges in any order, some of them twice, have the sum of the whole. */
TEST(crc64_of_ranges) {
    static char text[100000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7 + i / 251);
    uint64_t want = cr_crc64(0, text, sizeof text), got = 0;
    CHECK(cr_crc64_join(cr_crc64(0, "12345", 5), cr_crc64(0, "6789", 4), 4) == 0x995DC9BBDF1939FAu);
    static const int64_t order[] = {3, 0, 9, 1, 1, 2, 8, 7, 4, 6, 0, 5};
    cr_obj_sum s;
    cr_obj_sum_init(&s);
    for (int i = 0; i < 12; i++) {
        bool whole = cr_obj_sum_add(&s, order[i] * 10000, text + order[i] * 10000, 10000,
                                    (int64_t)sizeof text, &got);
        CHECK(whole == (i == 11));
    }
    CHECK(got == want);
    cr_obj_sum_clear(&s);
    /* more holes than are kept: it gives up, and says nothing */
    cr_obj_sum_init(&s);
    for (int64_t i = 0; i <= CR_OBJ_RANGES; i++)
        CHECK(!cr_obj_sum_add(&s, 2 * i, text, 1, 1000, &got));
    CHECK(s.over);
    cr_obj_sum_clear(&s);
}

TEST_MAIN(CASE(elements), CASE(short_room_and_no_xml), CASE(escapes), CASE(crc64),
          CASE(crc64_of_ranges))
