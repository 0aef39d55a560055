/*
 * crc32c.h - the Castagnoli checksum that record files (TensorBoard events, TFRecord), blocks of
 * HDFS and answers of MaxCompute carry.
 */
#ifndef CR_BASE_CRC32C_H
#define CR_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* cr_crc32c continues crc (0 at the start) over n bytes. */
uint32_t cr_crc32c(uint32_t crc, const void *data, size_t n);
/* cr_crc32c_masked returns the form that files store, so that a checksum of checksums stays
 * meaningful. */
uint32_t cr_crc32c_masked(const void *data, size_t n);

#endif
