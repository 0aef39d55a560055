/*
 * seal.c - a digest of the footer, in files that crank writes.
 *
 * Pages have checksums, the footer has none: one wrong bit in it can turn a column with missing
 * values into one without, or hide all row groups, and the file can still be read. So the footer
 * ends in one more field with the XXH64 of all bytes before it. The field has the number that the
 * format keeps for additions, and readers skip fields that they do not know. It is not a key-value
 * pair of the metadata, because tools copy those into the files that they write.
 */
#include <string.h>

#include "base/digest.h"
#include "parquet/parquet_int.h"

#define FIELD 32767 /* far above the last field's number, so its header has the long form */
static const uint8_t head[] = {CR_T_BYTES, 0xfe, 0xff, 0x03, 8};
#define TAIL (sizeof head + 8 + 1) /* the field, and the end of the struct */

static void bytes_of(uint64_t x, uint8_t out[8]) {
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(x >> 8 * i);
}

void cr_pq_seal(cr_buf *b, size_t start, int last) {
    uint8_t digest[8];
    bytes_of(cr_digest_of(b->data + start, b->n - start), digest);
    cr_tout_bytes(b, &last, FIELD, digest, sizeof digest);
}

bool cr_pq_seal_fits(const uint8_t *p, size_t n) {
    uint8_t digest[8];
    if (n < TAIL || memcmp(p + n - TAIL, head, sizeof head) != 0) return true;
    bytes_of(cr_digest_of(p, n - TAIL), digest);
    return memcmp(p + n - TAIL + sizeof head, digest, sizeof digest) == 0 && p[n - 1] == 0;
}
