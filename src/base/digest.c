/*
 * digest.c - XXH64 with seed 0, computed by libxxhash. Its code is compiled into this file, so that
 * the state can lie in the caller's memory and nothing is allocated.
 */
#include "base/digest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/fs.h"
#include "base/mem.h"

#define READ_BYTES ((size_t)1 << 20)

static_assert(sizeof(XXH64_state_t) <= sizeof(cr_digest), "the state of libxxhash has grown");
static_assert(_Alignof(XXH64_state_t) <= _Alignof(cr_digest), "the state must be aligned");

void cr_digest_init(cr_digest *d) {
    XXH64_reset((XXH64_state_t *)d->state, 0);
}

void cr_digest_add(cr_digest *d, const void *data, size_t n) {
    if (n > 0) XXH64_update((XXH64_state_t *)d->state, data, n);
}

uint64_t cr_digest_end(const cr_digest *d) {
    return XXH64_digest((const XXH64_state_t *)d->state);
}

uint64_t cr_digest_of(const void *data, size_t n) {
    return data ? XXH64(data, n, 0) : XXH64("", 0, 0);
}

void cr_digest_text(uint64_t digest, char out[CR_DIGEST_TEXT + 1]) {
    snprintf(out, CR_DIGEST_TEXT + 1, "%016llx", (unsigned long long)digest);
}

bool cr_digest_parse(const char *text, uint64_t *out) {
    if (strlen(text) != CR_DIGEST_TEXT || strspn(text, "0123456789abcdef") != CR_DIGEST_TEXT)
        return false;
    *out = 0;
    for (; *text; text++)
        *out = *out << 4 | (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    return true;
}

cr_code cr_digest_file(const char *path, int64_t *size, uint64_t *digest, cr_err *err) {
    cr_fs *f;
    CR_TRY(cr_fs_open(&f, path, err));
    uint8_t *block = cr_alloc(READ_BYTES, "a block of a file");
    cr_digest d;
    cr_digest_init(&d);
    size_t k = READ_BYTES;
    int64_t total = 0;
    cr_code code = CR_OK;
    for (; code == CR_OK && k == READ_BYTES; total += (int64_t)k) {
        code = cr_fs_pread(f, total, block, READ_BYTES, &k, err);
        if (code == CR_OK) cr_digest_add(&d, block, k);
    }
    cr_free(block);
    cr_fs_close(f);
    if (code != CR_OK) return code;
    if (size) *size = total;
    *digest = cr_digest_end(&d);
    return CR_OK;
}
