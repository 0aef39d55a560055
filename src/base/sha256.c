/*
 * sha256.c - SHA-256, computed by nettle.
 */
#include "base/sha256.h"

#include <assert.h>
#include <nettle/sha2.h>
#include <stdint.h>
#include <stdio.h>

static_assert(CR_SHA256_TEXT == 2 * SHA256_DIGEST_SIZE, "two digits per byte");

void cr_sha256_text(const void *data, size_t n, char out[CR_SHA256_TEXT + 1]) {
    struct sha256_ctx ctx;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&ctx);
    sha256_update(&ctx, n, data);
    sha256_digest(&ctx, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}
