/*
 * digest.c - XXH64 as its author specifies it (seed 0): four lanes take 8 bytes each of every
 * stripe of 32, then the lanes are merged, the rest of the text is folded in and the bits are
 * mixed.
 */
#include "base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define P1 UINT64_C(0x9E3779B185EBCA87)
#define P2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define P3 UINT64_C(0x165667B19E3779F9)
#define P4 UINT64_C(0x85EBCA77C2B2AE63)
#define P5 UINT64_C(0x27D4EB2F165667C5)

#define STRIPE     32
#define READ_BYTES ((size_t)1 << 20)

static uint64_t rotl(uint64_t x, int n) {
    return x << n | x >> (64 - n);
}

/* the specification says little endian; so are all machines that crank runs on */
static uint64_t load8(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t load4(const uint8_t *p) {
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t round1(uint64_t lane, uint64_t in) {
    return rotl(lane + in * P2, 31) * P1;
}

static const uint8_t *stripes(uint64_t lane[4], const uint8_t *p, size_t n) {
    uint64_t a = lane[0], b = lane[1], c = lane[2], d = lane[3];
    for (; n >= STRIPE; n -= STRIPE, p += STRIPE) {
        a = round1(a, load8(p));
        b = round1(b, load8(p + 8));
        c = round1(c, load8(p + 16));
        d = round1(d, load8(p + 24));
    }
    lane[0] = a, lane[1] = b, lane[2] = c, lane[3] = d;
    return p;
}

void cr_digest_init(cr_digest *d) {
    memset(d, 0, sizeof *d);
    d->lane[0] = P1 + P2;
    d->lane[1] = P2;
    d->lane[3] = 0 - P1;
}

void cr_digest_add(cr_digest *d, const void *data, size_t n) {
    const uint8_t *p = data;
    size_t waits = (size_t)(d->total % STRIPE);
    if (n == 0) return;
    d->total += n;
    if (waits > 0) {
        size_t k = STRIPE - waits < n ? STRIPE - waits : n;
        memcpy(d->wait + waits, p, k);
        if (waits + k < STRIPE) return;
        stripes(d->lane, d->wait, STRIPE);
        p += k;
        n -= k;
    }
    p = stripes(d->lane, p, n);
    memcpy(d->wait, p, n % STRIPE);
}

uint64_t cr_digest_end(const cr_digest *d) {
    const uint64_t *v = d->lane;
    const uint8_t *p = d->wait;
    size_t n = (size_t)(d->total % STRIPE);
    uint64_t h = v[2] + P5; /* lane 2 begins with the seed */
    if (d->total >= STRIPE) {
        h = rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18);
        for (int i = 0; i < 4; i++)
            h = (h ^ round1(0, v[i])) * P1 + P4;
    }
    h += d->total;
    for (; n >= 8; n -= 8, p += 8)
        h = rotl(h ^ round1(0, load8(p)), 27) * P1 + P4;
    for (; n >= 4; n -= 4, p += 4)
        h = rotl(h ^ load4(p) * P1, 23) * P2 + P3;
    for (; n > 0; n--, p++)
        h = rotl(h ^ *p * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}

uint64_t cr_digest_of(const void *data, size_t n) {
    cr_digest d;
    cr_digest_init(&d);
    cr_digest_add(&d, data, n);
    return cr_digest_end(&d);
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
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return cr_io_fail(err, path, "open", errno);
    uint8_t *block = cr_alloc(READ_BYTES, "a block of a file");
    cr_digest d;
    cr_digest_init(&d);
    ssize_t k;
    while ((k = read(fd, block, READ_BYTES)) > 0 || (k < 0 && errno == EINTR))
        if (k > 0) cr_digest_add(&d, block, (size_t)k);
    int why = errno;
    cr_free(block);
    close(fd);
    if (k < 0) return cr_io_fail(err, path, "read", why);
    if (size) *size = (int64_t)d.total;
    *digest = cr_digest_end(&d);
    return CR_OK;
}
