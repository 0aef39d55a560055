/*
 * digest.h - XXH64: eight bytes that tell whether content is still what it was.
 *
 * It finds damage (a flipped bit, a lost page, another file under the name) and does not resist
 * tampering: a person who can change a file can also write the digest that fits. It was chosen
 * because it is small, three times as fast as a CRC-32 and known to other tools (`xxhsum -H64`).
 * libxxhash computes it.
 */
#ifndef CR_BASE_DIGEST_H
#define CR_BASE_DIGEST_H

#include <stdint.h>

#include "base/err.h"

typedef struct cr_digest {
    uint64_t state[12]; /* libxxhash's state; only digest.c knows its shape */
} cr_digest;
void cr_digest_init(cr_digest *d);
void cr_digest_add(cr_digest *d, const void *data, size_t n);
uint64_t cr_digest_end(const cr_digest *d); /* digest of all bytes added so far; more may follow */
uint64_t cr_digest_of(const void *data, size_t n);

/* A digest as text is sixteen lower-case hexadecimal digits; cr_digest_parse returns false for any
 * other text. */
#define CR_DIGEST_TEXT 16
void cr_digest_text(uint64_t digest, char out[CR_DIGEST_TEXT + 1]);
bool cr_digest_parse(const char *text, uint64_t *out);

/* cr_digest_file reads a whole file. It does not map the file, so that an error of the disk is
 * reported and raises no signal. size may be NULL. */
CR_CHECKED cr_code cr_digest_file(const char *path, int64_t *size, uint64_t *digest, cr_err *err);

#endif
