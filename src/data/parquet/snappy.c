/*
 * snappy.c - decompression of snappy, faster than the library on pages of short values.
 *
 * A stream is the decompressed size and then elements: literal bytes, or a copy of earlier output.
 * On columns of short strings and small numbers an element makes a handful of bytes and the next
 * one's kind cannot be guessed, so the time goes into mispredicted branches. Here literals and
 * copies of up to 64 bytes take one path: source, length and step are computed without branches,
 * and more bytes are moved than asked for where there is room. The rest (long literals, sources
 * that overlap their target closely, the last bytes) takes a careful path.
 */
#include <string.h>

#include "data/parquet/decode_int.h"

/* if_literal: a when the element is a literal, else b; if_one: a when it is a copy with one byte of
 * offset. No branches: compilers make jumps of the conditional operator here, which is what this
 * file is about. The chain from an element to the next is a load, a test and a move. */
static inline uint64_t if_literal(uint64_t word, uint64_t a, uint64_t b) {
#if defined(__x86_64__)
    __asm__("testb $3, %b[word]\n\tcmove %[a], %[b]"
            : [b] "+r"(b)
            : [word] "q"(word), [a] "r"(a)
            : "cc");
    return b;
#else
    return (word & 3) == 0 ? a : b;
#endif
}
static inline uint64_t if_one(uint64_t kind, uint64_t a, uint64_t b) {
#if defined(__x86_64__)
    __asm__("cmpl $1, %k[kind]\n\tcmove %[a], %[b]"
            : [b] "+r"(b)
            : [kind] "r"(kind), [a] "r"(a)
            : "cc");
    return b;
#else
    return kind == 1 ? a : b;
#endif
}

typedef uint64_t vec16 __attribute__((vector_size(16)));
static inline void copy32(uint8_t *to, const uint8_t *from) {
    vec16 a, b;
    memcpy(&a, from, 16);
    memcpy(&b, from + 16, 16);
    memcpy(to, &a, 16);
    memcpy(to + 16, &b, 16);
}

/* one element with every check; false: damaged */
static inline bool careful(const uint8_t **ip, const uint8_t *in_end, uint8_t *out, uint8_t **op,
                           uint8_t *out_end) {
    const uint8_t *p = *ip;
    uint8_t *q = *op;
    const uint32_t tag = *p++, kind = tag & 3;
    const size_t left = (size_t)(in_end - p), room = (size_t)(out_end - q);
    size_t len = (tag >> 2) + 1, off = 0;
    if (kind == 0) {
        if (len > 60) {
            size_t extra = len - 60;
            if (left < extra) return false;
            uint32_t x = 0;
            memcpy(&x, p, extra);
            len = (size_t)x + 1;
            p += extra;
        }
        if (len > (size_t)(in_end - p) || len > room) return false;
        memcpy(q, p, len);
        *ip = p + len;
        *op = q + len;
        return true;
    }
    const size_t width = kind == 3 ? 4 : kind;
    if (left < width) return false;
    if (kind == 1) {
        len = (tag >> 2 & 7) + 4;
        off = (size_t)(tag >> 5) << 8 | p[0];
    } else {
        uint32_t x = 0;
        memcpy(&x, p, width);
        off = x;
    }
    if (off == 0 || off > (size_t)(q - out) || len > room) return false;
    if (off >= len) {
        memcpy(q, q - off, len);
    } else {
        for (size_t i = 0; i < len; i++)
            q[i] = q[i - off];
    }
    *ip = p + width;
    *op = q + len;
    return true;
}

bool cr_pq_unsnappy(const uint8_t *in, size_t n, uint8_t *out, size_t out_n) {
    const uint8_t *ip = in, *in_end = in + n;
    uint64_t size = 0;
    for (int shift = 0;; shift += 7) {
        if (ip == in_end || shift > 28) return false;
        size |= (uint64_t)(*ip & 0x7f) << shift;
        if (*ip++ < 0x80) break;
    }
    if (size != out_n) return false;
    uint8_t *op = out, *out_end = out + out_n;
    /* an element of the short path reads up to 65 bytes of input and writes up to 64 */
    if (n >= 80 && out_n >= 64) {
        const uint8_t *in_safe = in_end - 80, *out_safe = out_end - 64;
        while (ip < in_safe && op <= out_safe) {
            uint64_t word;
            memcpy(&word, ip, 8);
            const uint64_t tag = word & 0xff, kind = tag & 3, six = tag >> 2;
            const uint64_t len = if_one(kind, (six & 7) + 4, six + 1);
            uint64_t off = if_one(kind, (tag >> 5) << 8 | (word >> 8 & 0xff), word >> 8 & 0xffff);
            const uint64_t from = if_literal(word, (uintptr_t)ip + 1, (uintptr_t)op - off);
            const uint64_t next =
                if_literal(word, (uintptr_t)ip + six + 2, (uintptr_t)ip + kind + 1);
            off = if_literal(word, 64, off);
            /* long, or a source that reaches into its target or lies before the begin */
            if (__builtin_expect((len > 32) | (kind == 3) | (off < len) |
                                     (off > (uint64_t)(op - out)),
                                 0))
                goto other;
            copy32(op, (const uint8_t *)(uintptr_t)from);
            op += len;
            ip = (const uint8_t *)(uintptr_t)next;
            continue;
        other:
            if (kind == 0 && six < 60) {
                copy32(op, ip + 1);
                copy32(op + 32, ip + 33);
                op += six + 1;
                ip += six + 2;
            } else if (!careful(&ip, in_end, out, &op, out_end)) {
                return false;
            }
        }
    }
    while (ip < in_end) {
        if (!careful(&ip, in_end, out, &op, out_end)) return false;
    }
    return op == out_end;
}
