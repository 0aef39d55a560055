/*
 * sha256.h - SHA-256 (FIPS 180-4), for content that must be exactly what the user approved.
 */
#ifndef CR_BASE_SHA256_H
#define CR_BASE_SHA256_H

#include <stddef.h>

/* cr_sha256_text writes the digest of n bytes as 64 lower-case hexadecimal digits, as `sha256sum`
 * prints it. */
#define CR_SHA256_TEXT 64
void cr_sha256_text(const void *data, size_t n, char out[CR_SHA256_TEXT + 1]);

#endif
