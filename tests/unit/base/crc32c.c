/*
 * crc32c.c - published vectors (RFC 3720 B.4 and the usual check value), pieces, the masked form.
 */
#include "base/crc32c.h"

#include "harness.h"

TEST(vectors) {
    unsigned char b[32];
    CHECK_INT(cr_crc32c(0, "", 0), 0);
    CHECK_INT(cr_crc32c(0, "123456789", 9), 0xe3069283u);
    CHECK_INT(cr_crc32c(0, "The quick brown fox jumps over the lazy dog", 43), 0x22620404u);
    memset(b, 0, sizeof b);
    CHECK_INT(cr_crc32c(0, b, 32), 0x8a9136aau);
    memset(b, 0xff, sizeof b);
    CHECK_INT(cr_crc32c(0, b, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        b[i] = (unsigned char)i;
    CHECK_INT(cr_crc32c(0, b, 32), 0x46dd794eu);
    for (int i = 0; i < 32; i++)
        b[i] = (unsigned char)(31 - i);
    CHECK_INT(cr_crc32c(0, b, 32), 0x113fdb5cu);
}

TEST(pieces) {
    const char *text = "123456789";
    for (size_t cut = 0; cut <= 9; cut++)
        CHECK_INT(cr_crc32c(cr_crc32c(0, text, cut), text + cut, 9 - cut), 0xe3069283u);
}

TEST(masked) {
    /* rotate right by 15, add 0xa282ead8: worked out by hand for the check value */
    uint32_t crc = 0xe3069283u, want = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
    CHECK_INT(cr_crc32c_masked("123456789", 9), want);
    /* the length 24 as it begins many event files: bytes 18 00.. carry a3 7f 4b 22 */
    CHECK_INT(cr_crc32c_masked("\x18\0\0\0\0\0\0\0", 8), 0x224b7fa3u);
}

TEST_MAIN(CASE(vectors), CASE(pieces), CASE(masked))
