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
