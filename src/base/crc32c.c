/*
 * crc32c.c - CRC-32C, reflected polynomial 0x82F63B78, four bits at a time.
 *
 * A table of 16 entries is small enough to be read in a review and does 240 MB/s; event files
 * grow by kilobytes per second, so neither a large table nor the CPU's own instruction is worth
 * code.
 */
#include "base/crc32c.h"

uint32_t cr_crc32c(uint32_t crc, const void *data, size_t n) {
    /* entry i: the remainder of nibble i */
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    const unsigned char *p = data;
    crc = ~crc;
    for (; n > 0; n--, p++) {
        crc ^= *p;
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

uint32_t cr_crc32c_masked(const void *data, size_t n) {
    uint32_t crc = cr_crc32c(0, data, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
