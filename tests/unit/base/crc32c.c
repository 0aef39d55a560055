/*
 * crc32c.c - published vectors (RFC 3720 B.4 and the usual check value), pieces, the masked form,
 * and the CPU's instruction beside the table.
 */
#include "base/crc32c.h"

#include <stdlib.h>

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

TEST(every_level) {
    unsigned char b[300];
    for (int i = 0; i < 300; i++)
        b[i] = (unsigned char)(i * 167 + 13 * (i / 7));
    for (size_t from = 0; from < 9; from++)
        for (size_t n = 0; from + n <= sizeof b; n++) {
            setenv("CRANK_CPU", "c", 1);
            uint32_t table = cr_crc32c(7, b + from, n);
            unsetenv("CRANK_CPU");
            CHECK_INT(cr_crc32c(7, b + from, n), table);
        }
}

TEST_MAIN(CASE(vectors), CASE(pieces), CASE(masked), CASE(every_level))
