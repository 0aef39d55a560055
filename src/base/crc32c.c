/*
 * crc32c.c - CRC-32C, reflected polynomial 0x82F63B78.
 *
 * The CPU's own instruction takes eight bytes in three cycles. Every CPU of the level avx2 has it.
 * Elsewhere a table of 16 entries takes four bits at a time, 200 MB/s; blocks of HDFS and of
 * MaxCompute, which carry such a sum for every 512 or 4096 bytes, would wait for it.
 */
#include "base/crc32c.h"

#include <string.h>

#include "base/cpu.h"

static uint32_t by_table(uint32_t crc, const unsigned char *p, size_t n) {
    /* entry i: the remainder of nibble i */
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    for (; n > 0; n--, p++) {
        crc ^= *p;
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

#ifdef __x86_64__
#include <nmmintrin.h>
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc,
                                                                 const unsigned char *p, size_t n) {
    uint64_t wide = crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; n > 0; n--, p++)
        crc = _mm_crc32_u8(crc, *p);
    return crc;
}
#else
#define by_instruction NULL
#endif

uint32_t cr_crc32c(uint32_t crc, const void *data, size_t n) {
    static uint32_t (*const ways[CR_CPU_LEVELS])(uint32_t, const unsigned char *, size_t) = {
        [CR_CPU_C] = by_table, [CR_CPU_AVX2] = by_instruction};
    return ~CR_CPU_PICK(ways, cr_cpu_level_max())(~crc, data, n);
}

uint32_t cr_crc32c_masked(const void *data, size_t n) {
    uint32_t crc = cr_crc32c(0, data, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
