/*
 * crc64.c - see crc64.h; eight bytes at a time, by tables.
 */
#include "store/crc64.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0xC96C5795D7870F42u

static uint64_t table[8][256];

static void make_table(void) {
    for (unsigned i = 0; i < 256; i++) {
        uint64_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ POLYNOMIAL : c >> 1;
        table[0][i] = c;
    }
    for (unsigned i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            table[k][i] = table[0][table[k - 1][i] & 255] ^ table[k - 1][i] >> 8;
}

uint64_t cr_crc64(uint64_t crc, const void *data, size_t n) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned char *p = data;
    pthread_once(&once, make_table);
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t x;
        memcpy(&x, p, 8);
        x ^= crc;
        crc = 0;
        for (int k = 0; k < 8; k++)
            crc ^= table[7 - k][x >> (8 * k) & 255];
    }
    for (; n > 0; n--, p++)
        crc = table[0][(crc ^ *p) & 255] ^ crc >> 8;
    return ~crc;
}

/* Multiplies two polynomials, whose highest power is the lowest bit, modulo that of the CRC. */
static uint64_t times(uint64_t a, uint64_t b) {
    uint64_t p = 0;
    for (int i = 0; i < 64; i++) {
        if (a >> (63 - i) & 1) p ^= b;
        b = b & 1 ? b >> 1 ^ POLYNOMIAL : b >> 1;
    }
    return p;
}

uint64_t cr_crc64_join(uint64_t a, uint64_t b, int64_t n) {
    /* n bytes behind a multiply it by x^(8n): squares of x^8 for the bits of n */
    uint64_t square = (uint64_t)1 << 55, by = (uint64_t)1 << 63;
    for (; n > 0; n >>= 1) {
        if (n & 1) by = times(by, square);
        square = times(square, square);
    }
    return times(by, a) ^ b;
}
