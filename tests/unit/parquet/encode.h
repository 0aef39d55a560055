/*
 * encode.h - the encodings of Parquet written down in the most straightforward way, for tests of
 * the reader. Nothing here is shared with the library's writer.
 */
#ifndef CR_TESTS_PQ_ENCODE_H
#define CR_TESTS_PQ_ENCODE_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "harness.h"

static uint64_t e_key = 1, e_at;
static inline uint64_t e_rnd(void) {
    return cr_rng_u64(e_key, e_at++);
}
static inline size_t e_below(size_t n) {
    return (size_t)(e_rnd() % n);
}

static inline void e_byte(cr_buf *b, unsigned x) {
    cr_buf_char(b, (char)x);
}
static inline void e_u32(cr_buf *b, uint32_t x) {
    cr_buf_add(b, &x, 4);
}
static inline void e_varint(cr_buf *b, uint64_t x) {
    for (; x >= 0x80; x >>= 7)
        e_byte(b, (unsigned)(x & 0x7f) | 0x80);
    e_byte(b, (unsigned)x);
}
static inline void e_zigzag(cr_buf *b, int64_t x) {
    e_varint(b, (uint64_t)x << 1 ^ (uint64_t)(x >> 63));
}

/* n values of bw bits, the lowest bit first, the last byte filled up with zeros */
static inline void e_bits(cr_buf *b, const uint64_t *v, size_t n, int bw) {
    unsigned byte = 0, used = 0;
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < bw; k++) {
            byte |= (unsigned)(v[i] >> k & 1) << used;
            if (++used == 8) {
                e_byte(b, byte);
                byte = used = 0;
            }
        }
    }
    if (used) e_byte(b, byte);
}

/* the same, the highest bit first: levels of old files */
static inline void e_bits_high(cr_buf *b, const uint64_t *v, size_t n, int bw) {
    unsigned byte = 0, used = 0;
    for (size_t i = 0; i < n; i++) {
        for (int k = bw - 1; k >= 0; k--) {
            byte = byte << 1 | (unsigned)(v[i] >> k & 1);
            if (++used == 8) {
                e_byte(b, byte);
                byte = used = 0;
            }
        }
    }
    if (used) e_byte(b, byte << (8 - used));
}

/* Runs and bit-packed groups, as chance has it: equal values may become runs of any length,
 * anything may become packed. mode 0: mixed, 1: runs only, 2: packed only. */
static inline void e_rle(cr_buf *b, const uint64_t *v, size_t n, int bw, int mode) {
    for (size_t i = 0; i < n;) {
        size_t run = 1;
        while (i + run < n && v[i + run] == v[i])
            run++;
        if (mode == 1 || (mode == 0 && (run >= 8 || e_below(8) == 0))) {
            if (e_below(3) == 0) run = 1 + e_below(run);
            e_varint(b, run << 1);
            for (int k = 0; k < bw; k += 8)
                e_byte(b, (unsigned)(v[i] >> k & 0xff));
            i += run;
        } else {
            size_t groups = 1 + (e_below(4) ? e_below(4) : e_below(100));
            if (groups > (n - i + 7) / 8) groups = (n - i + 7) / 8;
            uint64_t *part = cr_alloc(groups * 8 * sizeof(*part), "test");
            size_t m = n - i < groups * 8 ? n - i : groups * 8;
            memcpy(part, v + i, m * sizeof(*part));
            e_varint(b, groups << 1 | 1);
            e_bits(b, part, groups * 8, bw);
            cr_free(part);
            i += m;
        }
    }
}

/* DELTA_BINARY_PACKED of values of `width` bytes; widths of unused miniblocks are garbage, as the
 * format allows. cut: the last miniblock is not filled up. */
static inline void e_delta(cr_buf *b, const uint64_t *v, size_t n, int width, size_t block,
                           size_t n_mini, bool cut) {
    const size_t mini = block / n_mini;
    e_varint(b, block);
    e_varint(b, n_mini);
    e_varint(b, n);
    e_zigzag(b, n ? (width == 4 ? (int64_t)(int32_t)v[0] : (int64_t)v[0]) : 0);
    for (size_t i = 1; i < n; i += block) {
        size_t m = n - i < block ? n - i : block;
        uint64_t *d = cr_alloc(block * sizeof(*d), "test");
        int64_t min = INT64_MAX;
        for (size_t j = 0; j < m; j++) {
            uint64_t x = v[i + j] - v[i + j - 1];
            int64_t s = width == 4 ? (int64_t)(int32_t)(uint32_t)x : (int64_t)x;
            d[j] = (uint64_t)s;
            min = s < min ? s : min;
        }
        e_zigzag(b, min);
        for (size_t j = 0; j < m; j++) {
            d[j] -= (uint64_t)min;
            if (width == 4) d[j] &= UINT32_MAX;
        }
        uint8_t *bw = cr_alloc(n_mini, "test");
        for (size_t k = 0; k < n_mini; k++) {
            if (k * mini >= m) {
                bw[k] = (uint8_t)e_rnd();
                continue;
            }
            for (size_t j = k * mini; j < m && j < (k + 1) * mini; j++) {
                while (bw[k] < 64 && d[j] >> bw[k])
                    bw[k]++;
            }
        }
        cr_buf_add(b, bw, n_mini);
        for (size_t k = 0; k * mini < m; k++) {
            size_t left = m - k * mini, some = cut && left < mini ? left : mini;
            e_bits(b, d + k * mini, some, bw[k]);
        }
        cr_free(bw);
        cr_free(d);
    }
}

#endif
