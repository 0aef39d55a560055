/*
 * crc64.h - CRC-64/XZ, by which OSS names what it stored.
 */
#ifndef CR_STORE_CRC64_H
#define CR_STORE_CRC64_H

#include <stddef.h>
#include <stdint.h>

/* cr_crc64 goes on from the value of what came before; 0 at the start. */
uint64_t cr_crc64(uint64_t crc, const void *data, size_t n);

/* cr_crc64_join returns the value of two runs of bytes from those of each; n: bytes of the
 * second. */
uint64_t cr_crc64_join(uint64_t a, uint64_t b, int64_t n);

#endif
