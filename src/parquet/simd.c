/*
 * simd.c - kernels in plain C.
 *
 * These define what a kernel does; simd_x86.c does the same with wide registers. A bit width that
 * is known at compile time lets the compiler unroll the shifts, so the C kernels use a switch too.
 */
#include <string.h>
#include <zlib.h>

#include "parquet/decode_int.h"
#include "parquet/simd_int.h"

static inline uint64_t load64(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}
static inline uint32_t load32(const uint8_t *p) {
    uint32_t x;
    memcpy(&x, p, 4);
    return x;
}

static void unpack8(const uint8_t *in, uint8_t *out, size_t n, int bw) {
    const uint64_t mask = (UINT64_C(1) << bw) - 1;
    for (size_t i = 0; i < n; i += 8, in += bw) {
        uint64_t x = load64(in);
        for (int j = 0; j < 8; j++, x >>= bw)
            out[i + (size_t)j] = (uint8_t)(x & mask);
    }
}

static inline __attribute__((always_inline)) void unpack32_bw(const uint8_t *in, uint32_t *out,
                                                              size_t n, const int bw) {
    const uint64_t mask = (UINT64_C(1) << bw) - 1;
    for (size_t i = 0; i < n; i += 8, in += bw) {
        for (int j = 0; j < 8; j++)
            out[i + (size_t)j] = (uint32_t)(load64(in + j * bw / 8) >> (j * bw % 8) & mask);
    }
}

static void unpack32(const uint8_t *in, uint32_t *out, size_t n, int bw) {
#define CASE(b)                                                                                    \
    case b: unpack32_bw(in, out, n, b); break;
    switch (bw) { CR_PQ_WIDTHS32(CASE) }
#undef CASE
}

void cr_pq_unpack64_c(const uint8_t *in, uint64_t *out, size_t n, int bw) {
    const uint64_t mask = bw < 64 ? (UINT64_C(1) << bw) - 1 : ~UINT64_C(0);
    if (bw <= 57) {
        for (size_t i = 0; i < n; i++) {
            size_t bit = i * (size_t)bw;
            out[i] = load64(in + bit / 8) >> bit % 8 & mask;
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t bit = i * (size_t)bw;
        const uint8_t *p = in + bit / 8;
        unsigned s = (unsigned)(bit % 8);
        uint64_t high = s ? (uint64_t)p[8] << (64 - s) : 0;
        out[i] = (load64(p) >> s | high) & mask;
    }
}

static size_t expand8(uint8_t *out, const uint8_t *in, const uint8_t *valid, size_t n) {
    size_t j = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = (uint8_t)(in[j] & (0 - valid[i]));
        j += valid[i];
    }
    return j;
}
static size_t expand32(uint32_t *out, const void *in, const uint8_t *valid, size_t n) {
    const uint8_t *p = in;
    size_t j = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = load32(p + 4 * j) & (0 - (uint32_t)valid[i]);
        j += valid[i];
    }
    return j;
}
static size_t expand64(uint64_t *out, const void *in, const uint8_t *valid, size_t n) {
    const uint8_t *p = in;
    size_t j = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = load64(p + 8 * j) & (0 - (uint64_t)valid[i]);
        j += valid[i];
    }
    return j;
}

/* two codes per load; the gather instructions of AVX2 and AVX-512 took 1.3 to 1.9 times as long */
#define GATHER(name, type)                                                                         \
    void name(type *out, const type *dict, const uint32_t *code, size_t n) {                       \
        size_t i = 0;                                                                              \
        for (; i + 4 <= n; i += 4) {                                                               \
            uint64_t a = load64((const uint8_t *)(code + i));                                      \
            uint64_t b = load64((const uint8_t *)(code + i + 2));                                  \
            out[i] = dict[(uint32_t)a];                                                            \
            out[i + 1] = dict[a >> 32];                                                            \
            out[i + 2] = dict[(uint32_t)b];                                                        \
            out[i + 3] = dict[b >> 32];                                                            \
        }                                                                                          \
        for (; i < n; i++)                                                                         \
            out[i] = dict[code[i]];                                                                \
    }
GATHER(cr_pq_gather32_c, uint32_t)
GATHER(cr_pq_gather64_c, uint64_t)

static uint32_t largest(const uint32_t *code, size_t n) {
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++)
        m = code[i] > m ? code[i] : m;
    return m;
}

static size_t count(const uint8_t *v, size_t n) {
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum;
}

static size_t equal(const uint8_t *in, uint8_t x, uint8_t *out, size_t n) {
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = in[i] == x;
        sum += out[i];
    }
    return sum;
}

static void reach(const uint8_t *in, uint8_t x, size_t n, uint64_t *out) {
    for (size_t i = 0; i < n; i += 64) {
        uint64_t m = 0;
        size_t last = n - i < 64 ? n - i : 64;
        for (size_t j = 0; j < last; j++)
            m |= (uint64_t)(in[i + j] >= x) << j;
        out[i / 64] = m;
    }
}

static size_t lists(const uint64_t *begins, const uint64_t *items, const uint64_t *there,
                    size_t words, int32_t first, int32_t *off, uint8_t *valid, size_t *n_items) {
    return cr_pq_lists_body(begins, items, there, words, first, off, valid, n_items);
}

static size_t bits_at(const uint64_t *bits, const uint64_t *where, size_t words, uint8_t *out) {
    size_t n = 0;
    for (size_t i = 0; i < words; i++) {
        for (uint64_t w = where[i]; w; w &= w - 1)
            out[n++] = bits[i] >> __builtin_ctzll(w) & 1;
    }
    return n;
}

static size_t walk(const uint8_t *page, size_t *at, size_t size, uint32_t base, uint32_t *beg,
                   uint32_t *end, size_t n) {
    size_t p = *at, i = 0;
    for (; i < n && size - p >= 4; i++) {
        size_t len = load32(page + p);
        if (len > size - p - 4) break;
        beg[i] = base + (uint32_t)(p + 4);
        p += 4 + len;
        end[i] = base + (uint32_t)p;
    }
    *at = p;
    return i;
}

static void split4(const uint8_t *in, size_t stride, uint8_t *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b < 4; b++)
            out[4 * i + b] = in[b * stride + i];
    }
}
static void split8(const uint8_t *in, size_t stride, uint8_t *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b < 8; b++)
            out[8 * i + b] = in[b * stride + i];
    }
}

static uint32_t crc(const uint8_t *in, size_t n) {
    return (uint32_t)crc32_z(0, in, n);
}

const cr_pq_kern cr_pq_kern_c = {unpack8,
                                 unpack32,
                                 cr_pq_unpack64_c,
                                 expand8,
                                 expand32,
                                 expand64,
                                 cr_pq_gather32_c,
                                 cr_pq_gather64_c,
                                 largest,
                                 count,
                                 equal,
                                 reach,
                                 lists,
                                 bits_at,
                                 walk,
                                 split4,
                                 split8,
                                 crc};
