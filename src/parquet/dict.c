/*
 * dict.c - the dictionary of a chunk that is being written: each distinct value once, as PLAIN
 * (also the content of the dictionary page), and an open hash table of their numbers.
 *
 * A dictionary has a limit. When a value does not fit any more, or a page shows that codes save no
 * space, the writer goes on without a dictionary, and the entries of the last page are removed.
 */
#include <string.h>

#include "parquet/encode_int.h"

#define FIRST_SLOTS 1024

void cr_pq_wdict_init(cr_pq_wdict *d, size_t width, size_t limit) {
    memset(d, 0, sizeof(*d));
    cr_buf_init(&d->plain);
    d->width = width;
    d->limit = limit;
}

void cr_pq_wdict_clear(cr_pq_wdict *d) {
    cr_buf_clear(&d->plain);
    cr_free(d->at);
    cr_free(d->slot);
    d->at = d->slot = NULL;
}

void cr_pq_wdict_reset(cr_pq_wdict *d) {
    cr_buf_reset(&d->plain);
    d->n = d->mark_n = 0;
    d->mark_bytes = 0;
    if (d->slot) memset(d->slot, 0, sizeof(*d->slot) << d->bits);
}

void cr_pq_wdict_mark(cr_pq_wdict *d) {
    d->mark_n = d->n;
    d->mark_bytes = d->plain.n;
}

void cr_pq_wdict_back(cr_pq_wdict *d) {
    d->n = d->mark_n;
    d->plain.n = d->mark_bytes;
}

/* fold multiplies 64 x 64 bits and joins the two halves of the product. */
static uint64_t fold(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    wide x = (wide)a * b;
    return (uint64_t)x ^ (uint64_t)(x >> 64);
}

#define K0 0x9E3779B97F4A7C15u
#define K1 0xD1B54A32D192ED03u

static uint64_t load(const uint8_t *p, size_t n) {
    uint64_t x = 0;
    memcpy(&x, p, n);
    return x;
}

static uint64_t hash_bytes(const uint8_t *p, size_t n) {
    uint64_t h = n * K1;
    for (; n > 16; p += 16, n -= 16)
        h = fold(load(p, 8) ^ h ^ K0, load(p + 8, 8) ^ K1);
    uint64_t a, b;
    if (n >= 8) {
        a = load(p, 8);
        b = load(p + n - 8, 8);
    } else if (n >= 4) {
        a = load(p, 4);
        b = load(p + n - 4, 4);
    } else {
        a = n ? (uint64_t)p[0] << 16 | (uint64_t)p[n / 2] << 8 | p[n - 1] : 0;
        b = 0;
    }
    return fold(fold(a ^ K0, b ^ h ^ K1), K0);
}

static const uint8_t *entry(const cr_pq_wdict *d, uint32_t code, size_t *n) {
    const uint8_t *p = (const uint8_t *)d->plain.data;
    if (d->width) {
        *n = d->width;
        return p + (size_t)code * d->width;
    }
    uint32_t len;
    p += d->at[code];
    memcpy(&len, p, 4);
    *n = len;
    return p + 4;
}

/* hash_entry hashes values of 4 and 8 bytes as numbers, all others as bytes. */
static uint64_t hash_entry(const cr_pq_wdict *d, uint32_t code) {
    size_t n;
    const uint8_t *p = entry(d, code, &n);
    if (d->width == 4) return load(p, 4) * K0;
    if (d->width == 8) return load(p, 8) * K0;
    return hash_bytes(p, n);
}

static void grow(cr_pq_wdict *d) {
    int bits = d->bits ? d->bits + 2 : __builtin_ctz(FIRST_SLOTS);
    size_t n = (size_t)1 << bits, old = d->at ? (size_t)1 << d->bits : 0;
    cr_free(d->slot);
    d->slot = cr_alloc(n * sizeof(*d->slot), "a dictionary");
    if (!d->width)
        d->at = cr_realloc(d->at, old / 2 * sizeof(*d->at), n / 2 * sizeof(*d->at), "a dictionary");
    d->bits = bits;
    for (uint32_t c = 0; c < d->n; c++) {
        size_t s = hash_entry(d, c) >> (64 - bits);
        while (d->slot[s])
            s = (s + 1) & (n - 1);
        d->slot[s] = c + 1;
    }
}

/* add_entry adds an entry; s is the empty slot that the search ended at. */
static uint32_t add_entry(cr_pq_wdict *d, const void *p, size_t n, size_t s) {
    size_t size = d->width ? n : n + 4;
    if (d->plain.n + size > d->limit) return CR_PQ_NO_CODE;
    if (!d->width) {
        uint32_t len = (uint32_t)n;
        d->at[d->n] = (uint32_t)d->plain.n;
        cr_buf_add(&d->plain, &len, 4);
    }
    cr_buf_add(&d->plain, p, n);
    d->slot[s] = ++d->n;
    if (d->n == (uint32_t)1 << (d->bits - 1)) grow(d);
    return d->n - 1;
}

/* Each block of values is walked twice, so that cache misses overlap: the first walk computes where
 * to look, the second looks. */
#define AHEAD 16
#define FIND_NUMBERS(T)                                                                            \
    static size_t find_##T(cr_pq_wdict *d, const T *v, size_t n, uint32_t *codes) {                \
        uint32_t at[AHEAD];                                                                        \
        for (size_t i = 0; i < n; i += AHEAD) {                                                    \
            size_t k = n - i < AHEAD ? n - i : AHEAD;                                              \
            int bits = d->bits; /* the table may grow below */                                     \
            const uint32_t *slot = d->slot;                                                        \
            for (size_t j = 0; j < k; j++) {                                                       \
                at[j] = (uint32_t)(v[i + j] * K0 >> (64 - bits));                                  \
                __builtin_prefetch(slot + at[j]);                                                  \
            }                                                                                      \
            for (size_t j = 0; j < k; j++) {                                                       \
                T x = v[i + j];                                                                    \
                const T *all = (const T *)(const void *)d->plain.data;                             \
                size_t mask = ((size_t)1 << d->bits) - 1;                                          \
                size_t s = d->bits == bits ? at[j] : (size_t)(x * K0 >> (64 - d->bits));           \
                uint32_t c;                                                                        \
                while ((c = d->slot[s]) != 0 && all[c - 1] != x)                                   \
                    s = (s + 1) & mask;                                                            \
                if (c == 0 && (c = 1 + add_entry(d, &x, sizeof(x), s)) == 0) return i + j;         \
                codes[i + j] = c - 1;                                                              \
            }                                                                                      \
        }                                                                                          \
        return n;                                                                                  \
    }
/* cppcheck-suppress uninitvar; the first of the two inner loops sets what the second one reads */
FIND_NUMBERS(uint32_t)
/* cppcheck-suppress uninitvar; the same */
FIND_NUMBERS(uint64_t)

uint32_t cr_pq_wdict_bytes(cr_pq_wdict *d, const void *p, size_t n) {
    if (!d->slot) grow(d);
    size_t mask = ((size_t)1 << d->bits) - 1, s = hash_bytes(p, n) >> (64 - d->bits), k;
    uint32_t c;
    while ((c = d->slot[s]) != 0) {
        const uint8_t *q = entry(d, c - 1, &k);
        if (k == n && (n == 0 || memcmp(p, q, n) == 0)) return c - 1;
        s = (s + 1) & mask;
    }
    return add_entry(d, p, n, s);
}

size_t cr_pq_wdict_fixed(cr_pq_wdict *d, const void *v, size_t n, uint32_t *codes) {
    if (!d->slot) grow(d);
    if (d->width == 4) return find_uint32_t(d, v, n, codes);
    if (d->width == 8) return find_uint64_t(d, v, n, codes);
    const uint8_t *p = v;
    for (size_t i = 0; i < n; i++, p += d->width)
        if ((codes[i] = cr_pq_wdict_bytes(d, p, d->width)) == CR_PQ_NO_CODE) return i;
    return n;
}

void cr_pq_wdict_expand(const cr_pq_wdict *d, const uint32_t *codes, size_t n, cr_buf *out) {
    for (size_t i = 0; i < n; i++) {
        size_t k;
        const uint8_t *p = entry(d, codes[i], &k);
        if (d->width)
            cr_buf_add(out, p, k);
        else
            cr_buf_add(out, p - 4, k + 4);
    }
}
