/*
 * hash.c - MurmurHash64A (Austin Appleby) as libstdc++ has it, and FarmHash's Fingerprint64 (Geoff
 * Pike) with its five length classes: 0-16, 17-32, 33-64 and blocks of 64.
 *
 * A trained model depends on both: a changed bit would move every embedding to another row. All
 * loads are little-endian and stay inside [s, s + n).
 */
#include "feat/hash.h"

#include <stdlib.h>
#include <string.h>

static uint64_t get64(const char *p) {
    uint64_t v;
    memcpy(&v, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static uint64_t get32(const char *p) {
    uint32_t v;
    memcpy(&v, p, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

static uint64_t get8(const char *p) {
    return (unsigned char)*p;
}

/* Reads 1..7 bytes as a little-endian number; overlapping loads agree on the shared bytes. */
static uint64_t get_tail(const char *p, size_t n) {
    if (n >= 4) return get32(p) | get32(p + n - 4) << (8 * (n - 4));
    return get8(p) | get8(p + n / 2) << (8 * (n / 2)) | get8(p + n - 1) << (8 * (n - 1));
}

uint64_t cr_hash_murmur(const char *s, size_t n) {
    const uint64_t m = 0xc6a4a7935bd1e995u;
    uint64_t h = 0xc70f6907u ^ ((uint64_t)n * m);
    const char *end = s + (n & ~(size_t)7);
    for (; s != end; s += 8) {
        uint64_t k = get64(s) * m;
        k ^= k >> 47;
        h = (h ^ (k * m)) * m;
    }
    if (n & 7) h = (h ^ get_tail(s, n & 7)) * m;
    h ^= h >> 47;
    h *= m;
    return h ^ (h >> 47);
}

/* FarmHash */

static const uint64_t K0 = 0xc3a5c85c97cb3127u, K1 = 0xb492b66fbe98f273u, K2 = 0x9ae16a3b2f90404fu;

static uint64_t rot(uint64_t x, int n) {
    return x >> n | x << (64 - n);
}

static uint64_t shift_mix(uint64_t x) {
    return x ^ (x >> 47);
}

static uint64_t mix16(uint64_t u, uint64_t v, uint64_t mul) {
    uint64_t a = shift_mix((u ^ v) * mul);
    return shift_mix((v ^ a) * mul) * mul;
}

static uint64_t farm_0_16(const char *s, size_t n) {
    uint64_t mul = K2 + 2 * (uint64_t)n;
    if (n >= 8) {
        uint64_t a = get64(s) + K2, b = get64(s + n - 8);
        return mix16(rot(b, 37) * mul + a, (rot(a, 25) + b) * mul, mul);
    }
    if (n >= 4) return mix16(n + (get32(s) << 3), get32(s + n - 4), mul);
    if (n == 0) return K2;
    uint64_t y = get8(s) + (get8(s + n / 2) << 8), z = n + (get8(s + n - 1) << 2);
    return shift_mix(y * K2 ^ z * K0) * K2;
}

static uint64_t farm_17_32(const char *s, size_t n) {
    uint64_t mul = K2 + 2 * (uint64_t)n;
    uint64_t a = get64(s) * K1, b = get64(s + 8);
    uint64_t c = get64(s + n - 8) * mul, d = get64(s + n - 16) * K2;
    return mix16(rot(a + b, 43) + rot(c, 30) + d, a + rot(b + K2, 18) + c, mul);
}

static uint64_t farm_33_64(const char *s, size_t n) {
    uint64_t mul = K2 + 2 * (uint64_t)n;
    uint64_t a = get64(s) * K2, b = get64(s + 8);
    uint64_t c = get64(s + n - 8) * mul, d = get64(s + n - 16) * K2;
    uint64_t y = rot(a + b, 43) + rot(c, 30) + d;
    uint64_t z = mix16(y, a + rot(b + K2, 18) + c, mul);
    uint64_t e = get64(s + 16) * mul, f = get64(s + 24);
    uint64_t g = (y + get64(s + n - 32)) * mul, h = (z + get64(s + n - 24)) * mul;
    return mix16(rot(e + f, 43) + rot(g, 30) + h, e + rot(f + a, 18) + g, mul);
}

typedef struct pair {
    uint64_t a, b;
} pair;

/* Folds 32 bytes into a pair. */
static pair fold32(const char *s, uint64_t a, uint64_t b) {
    uint64_t w = get64(s), x = get64(s + 8), y = get64(s + 16), z = get64(s + 24);
    a += w;
    b = rot(b + a + z, 21);
    uint64_t c = a;
    a += x + y;
    b += rot(a, 44);
    return (pair){a + z, b + c};
}

typedef struct farm_state {
    uint64_t x, y, z;
    pair v, w;
} farm_state;

/* Hashes one block of 64 bytes; `mul` and `nine` (1 or 9) tell the last block from the others. */
static void farm_block(farm_state *t, const char *s, uint64_t mul, uint64_t nine) {
    t->x = rot(t->x + t->y + t->v.a + get64(s + 8), 37) * mul;
    t->y = rot(t->y + t->v.b + get64(s + 48), 42) * mul;
    t->x ^= t->w.b * nine;
    t->y += t->v.a * nine + get64(s + 40);
    t->z = rot(t->z + t->w.a, 33) * mul;
    t->v = fold32(s, t->v.b * mul, t->x + t->w.a);
    t->w = fold32(s + 32, t->z + t->w.b, t->y + get64(s + 16));
    uint64_t swap = t->z;
    t->z = t->x;
    t->x = swap;
}

static uint64_t farm_long(const char *s, size_t n) {
    const uint64_t seed = 81;
    farm_state t = {.y = seed * K1 + 113};
    t.z = shift_mix(t.y * K2 + 113) * K2;
    t.x = seed * K2 + get64(s);
    size_t left = (n - 1) & 63; /* bytes of the last block, minus one */
    const char *end = s + (n - 1) / 64 * 64, *last = end + left - 63;
    for (; s != end; s += 64)
        farm_block(&t, s, K1, 1);
    uint64_t mul = K1 + ((t.z & 0xff) << 1);
    t.w.a += left;
    t.v.a += t.w.a;
    t.w.a += t.v.a;
    farm_block(&t, last, mul, 9);
    return mix16(mix16(t.v.a, t.w.a, mul) + shift_mix(t.y) * K0 + t.z,
                 mix16(t.v.b, t.w.b, mul) + t.x, mul);
}

uint64_t cr_hash_farm(const char *s, size_t n) {
    if (n <= 16) return farm_0_16(s, n);
    if (n <= 32) return farm_17_32(s, n);
    if (n <= 64) return farm_33_64(s, n);
    return farm_long(s, n);
}

static uint64_t python2_part(uint64_t x, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        x = (x * 1000003) ^ (unsigned char)s[i];
    return x;
}

int64_t cr_hash_python2(const char *before, size_t n_before, const char *s, size_t n,
                        const cr_mod *m) {
    size_t all = n_before + n;
    uint64_t x = all ? (uint64_t)(unsigned char)(n_before ? *before : *s) << 7 : 0;
    x = python2_part(python2_part(x, before, n_before), s, n) ^ (uint64_t)all;
    if (all && x == UINT64_MAX) x--; /* -1 tells an error there */
    if (x >> 63 == 0) return (int64_t)cr_mod_of(*m, x);
    uint64_t below = cr_mod_of(*m, 0 - x);
    return (int64_t)(below ? m->d - below : 0);
}

cr_hash_fn cr_hash_choose(bool farm) {
    return farm ? cr_hash_farm : cr_hash_murmur;
}

cr_mod cr_mod_make(uint64_t d) {
    /* floor(2^64 / d); for d = 1 that is 2^64, where 2^64 - 1 will do: the quotient is one less */
    uint64_t q = UINT64_MAX / d, r = UINT64_MAX % d;
    return (cr_mod){d, r == d - 1 && d > 1 ? q + 1 : q};
}
